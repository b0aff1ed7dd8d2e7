"""Generate one shard of profiles."""

from afterdelete.stages.memory import make_profiles
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_profiles)
