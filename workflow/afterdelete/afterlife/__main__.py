"""`python -m afterdelete.afterlife`: the same commands as `afterdelete afterlife`."""

from __future__ import annotations

import argparse
import sys

from afterdelete.afterlife import cli

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="afterdelete afterlife", description=cli.__doc__)
    cli.add_commands(parser)
    sys.exit(cli.run(parser.parse_args()))
