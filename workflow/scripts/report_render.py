"""Render the report of a study."""

from afterdelete.stages.report import render_report
from afterdelete.stages.runner import run_for_effect

if __name__ == "__main__":
    run_for_effect(render_report)
