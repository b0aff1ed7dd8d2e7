"""Fetching the files of a model, once, and finding them again."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from afterdelete.config.model_spec import ModelSpec, load_model_spec
from afterdelete.core.atomic import write_text
from afterdelete.core.errors import AfterDeleteError


def receipt_path(models: Path, name: str) -> Path:
    """The receipt that says a model's files were fetched and accepted by sha256."""
    return models / name / "fetched.json"


def fetch_model(spec: ModelSpec, models: Path) -> None:
    """Fetch every file of a model and write the receipt. Raises AfterDeleteError."""
    from afterdelete.engines.fetch import fetch

    directory = models / spec.name
    files = fetch(spec, directory, log=lambda line: print(f"fetch: {line}", file=sys.stderr, flush=True))
    receipt = {
        name: {"bytes": path.stat().st_size, "mtime_ns": path.stat().st_mtime_ns, "path": path.name}
        for name, path in files.items()
    }
    write_text(receipt_path(models, spec.name), json.dumps(receipt, indent=1) + "\n")


def model_files(spec: ModelSpec, models: Path) -> dict[str, Path]:
    """Fetched files by name. They were hashed when fetched; here size and time must still match.

    Raises AfterDeleteError naming the file that is missing or was touched since.
    """
    path = receipt_path(models, spec.name)
    remedy = f"remove {path} and run again: the files are checked and, if need be, fetched anew"
    try:
        receipt = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise AfterDeleteError(f"model {spec.name} is not fetched ({path})", remedy) from None
    files = {}
    for name, seen in receipt.items():
        file = path.parent / seen["path"]
        try:
            now = file.stat()
        except OSError as error:
            raise AfterDeleteError(f"{file} is missing: {error.strerror}", remedy) from None
        if (now.st_size, now.st_mtime_ns) != (seen["bytes"], seen["mtime_ns"]):
            raise AfterDeleteError(f"{file} changed since it was fetched", remedy)
        files[name] = file
    return files


def main() -> None:
    """Command line of the fetch script."""
    from afterdelete.stages.runner import one_line_errors

    parser = argparse.ArgumentParser(description="Fetch one model.")
    parser.add_argument("model")
    parser.add_argument("--config-dir", default="config", type=Path)
    parser.add_argument("--models", default="models", type=Path)
    options = parser.parse_args()
    with one_line_errors():
        spec = load_model_spec(options.config_dir / "models" / f"{options.model}.yaml")
        fetch_model(spec, options.models)
