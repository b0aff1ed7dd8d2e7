"""Write down one world of one shard."""

from afterdelete.stages.memory import make_worlds
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_worlds)
