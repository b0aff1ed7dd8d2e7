"""Model YAMLs: what is refused, with which words, and what decides a key."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from afterdelete.config.model_spec import PLACEHOLDER, ModelSpec, load_model_spec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines.gguf import read_header

MODELS = Path(__file__).parents[2] / "config" / "models"
GOOD = """
name: m
license: MIT
engine: llamacpp
files:
  - name: m.gguf
    bytes: 4
    sha256: {sha}
""".format(sha="a" * 64)


def write(folder: Path, text: str) -> Path:
    path = folder / "m.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_committed_model_loads_or_says_that_it_must_be_pinned(path: Path) -> None:
    if PLACEHOLDER in path.read_text(encoding="utf-8"):
        with pytest.raises(AfterDeleteError, match=PLACEHOLDER) as caught:
            load_model_spec(path)
        assert "pin it" in caught.value.remedy
    else:
        spec = load_model_spec(path)
        assert spec.max_new_tokens == 96
        assert spec.name == path.stem


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (GOOD + "colour: red\n", "colour"),
        (GOOD.replace("a" * 64, "short"), "files.0.sha256"),
        (GOOD.replace("engine: llamacpp", "engine: magic"), "engine"),
        (GOOD.replace("m.gguf", "../m.gguf"), "files.0.name"),
        (GOOD.replace("a" * 64, "PIN-ME"), "files.0.sha256"),
        (GOOD + "revision: PIN-ME\n", "revision"),
        (GOOD + "revision: main\n", "revision"),
        ("name: m\nlicense: MIT\nengine: openai\n", "base_url"),
        ("name: m\nlicense: MIT\nengine: openai\nserved_model: x\nbase_url: 'http://u:p@h/v1'\n", "base_url"),
        ("- a list\n", "mapping"),
        ("name: [\n", "YAML"),
    ],
)
def test_errors_name_the_file_and_the_key(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(AfterDeleteError) as caught:
        load_model_spec(write(tmp_path, text))
    assert "m.yaml" in caught.value.problem
    assert word in caught.value.problem
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(AfterDeleteError, match=r"none\.yaml"):
        load_model_spec(tmp_path / "none.yaml")


def test_identity_ignores_where_a_model_is_but_not_what_it_is(tmp_path: Path) -> None:
    base = {"name": "m", "license": "x", "engine": "openai", "served_model": "q", "base_url": "http://a/v1"}
    here = ModelSpec.model_validate(base).identity()
    assert ModelSpec.model_validate({**base, "base_url": "http://b/v1"}).identity() == here
    assert ModelSpec.model_validate({**base, "system_role": "merge"}).identity() != here


def test_importing_the_package_loads_no_engine() -> None:
    code = (
        "import sys, afterdelete.engines; "
        "sys.exit(bool({'torch', 'transformers', 'xllamacpp'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_files_that_are_no_model_are_refused_in_words(tmp_path: Path) -> None:
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, 0)
    tensor = struct.pack("<Q", 1) + b"t" + struct.pack("<I", 1) + struct.pack("<QIQ", 8, 0, 4096)
    cases = {
        "empty": b"",
        "text": b"not a model at all",
        "old": b"GGUF" + struct.pack("<I", 1),
        "counts": b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0),
        "cut": header[:12],
        "short": header + tensor,
    }
    for name, data in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(AfterDeleteError, match=name):
            read_header(path)
    (tmp_path / "whole").write_bytes(header + tensor + bytes(8192))
    assert read_header(tmp_path / "whole").metadata == {}
