"""Text tables: where their cells are, what they hold, and the same bytes back with only the gaps replaced."""

from t1.data.csv.read import read_csv

__all__ = ["read_csv"]
