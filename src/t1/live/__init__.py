"""Rows that arrive one by one: each is filled at once, and the last few are filled again as later rows arrive."""
