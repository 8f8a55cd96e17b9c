"""Pictures of a fill: one self-contained HTML page."""

from t1.report.page import check_report, write_report

__all__ = ["check_report", "write_report"]
