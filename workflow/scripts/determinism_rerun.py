"""Ask a sample of a study's requests again, and count the replies that flip."""

from afterdelete.stages.model import make_determinism
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_determinism)
