"""Where to measure next: which missing cells, once measured, would tell most about the others."""
