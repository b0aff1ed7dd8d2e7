"""Run one auditor over one shard on the evaluated model."""

from afterdelete.stages.model import make_audit
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_audit)
