"""Fill the gaps in multivariate time series, and say how sure you are."""

__version__ = "0.1.0"
