"""Fetch one model by its pinned sources; accept by sha256 alone."""

from afterdelete.stages.fetch import main

if __name__ == "__main__":
    main()
