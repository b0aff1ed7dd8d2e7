"""Run one Afterlife scenario on one system."""

import sys

from afterdelete.afterlife.stage import run_result

if __name__ == "__main__":
    sys.exit(run_result())
