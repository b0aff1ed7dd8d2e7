"""Put every cell of a study into one table."""

from afterdelete.stages.runner import run
from afterdelete.stages.score import make_summary

if __name__ == "__main__":
    run(make_summary)
