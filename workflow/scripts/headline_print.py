"""Print and keep the line of the headline cell."""

from afterdelete.stages.score import make_headline
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_headline)
