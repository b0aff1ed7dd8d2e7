"""Fetch the models of a study on a node that has a network, before jobs run where there is none.

    .venv/bin/python cluster/stage_models.py primary [more studies]

The workflow's own rule does the same when Snakemake runs on such a node; this is for sites where it does not,
and for fetching early. Same code, same pinned revisions, same sha256: a file that does not match is refused.
Run it again at any time: every file is hashed once more.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from afterdelete.config.load import Config
from afterdelete.config.model_spec import load_model_spec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.stages.fetch import fetch_model, receipt_path
from afterdelete.stages.runner import one_line_errors


def main() -> None:
    """Fetch every model that the named studies ask; one line of result a model."""
    parser = argparse.ArgumentParser(description="Fetch the models of studies and check every byte.")
    parser.add_argument("study", nargs="+", help="a file in config/studies")
    parser.add_argument("--config-dir", default="config", type=Path)
    options = parser.parse_args()
    with one_line_errors():
        if os.environ.get("HF_HUB_OFFLINE"):
            raise AfterDeleteError("HF_HUB_OFFLINE is set", "unset it on this node: models come by network")
        config = Config(options.config_dir)
        models = Path(config.main.models)
        for name in dict.fromkeys(name for study in options.study for name in config.study(study).models):
            spec = load_model_spec(options.config_dir / "models" / f"{name}.yaml")
            fetch_model(spec, models)
            print(f"{name}: accepted, {receipt_path(models, name)}")


if __name__ == "__main__":
    sys.exit(main())
