"""Delete from one shard, and verify the deletion."""

from afterdelete.stages.memory import make_deleted
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_deleted)
