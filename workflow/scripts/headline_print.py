"""Print and keep the line of the headline cell."""

from afterdelete.stages.runner import run
from afterdelete.stages.score import make_headline

if __name__ == "__main__":
    run(make_headline)
