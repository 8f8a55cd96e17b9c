"""Pictures of a fill: one self-contained HTML page."""

from t1.report.page import write_report

__all__ = ["write_report"]
