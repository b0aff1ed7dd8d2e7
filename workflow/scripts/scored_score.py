"""Score one shard of one cell from stored raw replies."""

from afterdelete.stages.runner import run
from afterdelete.stages.score import make_scored

if __name__ == "__main__":
    run(make_scored)
