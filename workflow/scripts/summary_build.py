"""Put every cell of a study into one table."""

from afterdelete.stages.score import make_summary
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_summary)
