"""Certify that the worlds of one condition do not interfere."""

from afterdelete.stages.memory import make_certified
from afterdelete.stages.runner import run

if __name__ == "__main__":
    run(make_certified)
