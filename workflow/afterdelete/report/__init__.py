"""The report a person reads: pages, figures and tables from scored units. No model, no network, no clock."""

from afterdelete.report.build import build_report

__all__ = ["build_report"]
