"""Collect Afterlife results into one table and its reports."""

import sys

from afterdelete.afterlife.stage import collect

if __name__ == "__main__":
    sys.exit(collect())
