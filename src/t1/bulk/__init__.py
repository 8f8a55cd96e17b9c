"""Many files: one command fills all of them, here in several processes or on a Ray cluster."""
