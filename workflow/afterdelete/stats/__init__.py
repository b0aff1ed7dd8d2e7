"""Statistics: paired gaps with intervals, summary tables, the terminal table. Pure functions, one CPU."""

from afterdelete.stats.bootstrap import RESAMPLES, SEED, clopper_pearson, paired_intervals
from afterdelete.stats.csvtext import to_csv
from afterdelete.stats.interface import interface
from afterdelete.stats.summary import SUMMARY, breakdown, summarise
from afterdelete.stats.terminal import headline_line, terminal_table

__all__ = [
    "RESAMPLES",
    "SEED",
    "SUMMARY",
    "breakdown",
    "clopper_pearson",
    "headline_line",
    "interface",
    "paired_intervals",
    "summarise",
    "terminal_table",
    "to_csv",
]
