"""The containers of other libraries, filled by T1: one small file for each library, imported by its user."""
