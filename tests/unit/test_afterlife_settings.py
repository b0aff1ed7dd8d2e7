"""The configuration: each mistake is one clear error, and the committed files are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterdelete.afterlife.catalogue import scenarios
from afterdelete.afterlife.environments import SystemAbsent, interpreter
from afterdelete.afterlife.session import Session
from afterdelete.afterlife.settings import HttpSystem, load
from afterdelete.afterlife.systems.http import checked_base_url, token_from
from afterdelete.core.canonical import sha256_file
from afterdelete.core.errors import AfterDeleteError
from tests.afterlife_support import ROOT

GOOD = "systems:\n  store: {kind: builtin}\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "my.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("systems: {}\n", "systems: "),
        ("nothing\n", "no mapping"),
        ("systems: [unclosed\n", "not valid YAML"),
        (GOOD + "systems: {}\n", "stands twice"),
        (GOOD + "windw_ms: 5\n", "windw_ms: Extra inputs"),
        (GOOD + "times: {window_ms: fast}\n", "times.window_ms: "),
        (GOOD + "times: {window_ms: 1}\n", "times.window_ms: "),
        (GOOD + "scenarios: [MT-AF-009]\n", "no scenario MT-AF-009; there are MT-AF-001"),
        (GOOD + "scenarios: []\n", "scenarios: "),
        (GOOD + "seed: -1\n", "seed: "),
        ("systems: {Bad Name: {kind: builtin}}\n", "systems.Bad Name"),
        ("systems: {a: {kind: magic}}\n", "systems.a: "),
        ("systems: {a: {}}\n", "systems.a: "),
        ("systems: {a: {kind: builtin, defect: rust}}\n", "systems.a.defect: "),
        ("systems: {a: {kind: builtin, without: [FLYING]}}\n", "systems.a.without.0: "),
        ("systems: {a: {kind: process}}\n", "systems.a.command: "),
        ("systems: {a: {kind: process, command: []}}\n", "systems.a.command: "),
        ('systems: {a: {kind: process, command: ["a\\0b"]}}\n', "systems.a.command: "),
        ("systems: {a: {kind: process, command: ['']}}\n", "systems.a.command: "),
        ("systems: {a: {kind: http}}\n", "systems.a: give either base_url or launch"),
        (
            "systems: {a: {kind: http, base_url: 'http://x', launch: {command: [y]}}}\n",
            "either base_url or launch",
        ),
    ],
)
def test_a_mistake_names_the_file_and_the_key(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(AfterDeleteError) as caught:
        load(path)
    assert str(path) in caught.value.problem
    assert expected in caught.value.problem
    assert caught.value.remedy


def test_a_secret_in_the_file_is_not_repeated(tmp_path: Path) -> None:
    path = write(tmp_path, "systems: {a: {kind: http, base_url: 'https://x', token: hunter2}}\n")
    with pytest.raises(AfterDeleteError) as caught:
        load(path)
    assert "hunter2" not in str(caught.value)
    assert "token_env" in caught.value.remedy


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AfterDeleteError, match="does not exist"):
        load(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config" / "afterlife").glob("*.yaml")), ids=lambda path: path.name
)
def test_the_committed_configurations_are_right(path: Path) -> None:
    config = load(path)
    assert config.scenarios
    assert set(config.scenarios) <= set(scenarios())


def test_times_of_a_system_stand_over_those_of_the_run(tmp_path: Path) -> None:
    text = "times: {window_ms: 100, call_timeout_ms: 900}\nsystems:\n"
    text += "  a: {kind: builtin, times: {call_timeout_ms: 2000}}\n  b: {kind: builtin}\n"
    config = load(write(tmp_path, text))
    assert (config.limits("a").window, config.limits("a").call_timeout) == (0.1, 2.0)
    assert config.limits("b").call_timeout == 0.9


def test_unknown_names_on_the_command_line_are_errors(tmp_path: Path) -> None:
    session = Session.read(write(tmp_path, GOOD))
    with pytest.raises(AfterDeleteError, match="has no system other"):
        list(session.chosen(["other"], []))
    with pytest.raises(AfterDeleteError, match="no scenario AF-999"):
        list(session.chosen([], ["AF-999"]))


def test_a_key_changes_with_what_it_depends_on_alone(tmp_path: Path) -> None:
    text = "systems:\n  a: {kind: builtin}\n  b: {kind: builtin}\n"
    before = Session.read(write(tmp_path, text))
    after = Session.read(write(tmp_path, text.replace("b: {kind", "b: {defect: history_reingestion, kind")))
    assert before.key("a", "AF-003") == after.key("a", "AF-003")
    assert before.key("b", "AF-003") != after.key("b", "AF-003")
    assert before.table_recipe() != after.table_recipe()


@pytest.mark.parametrize(
    ("url", "with_token", "allow_plain", "problem"),
    [
        ("ftp://x/", False, False, "not a plain http"),
        ("https://", False, False, "not a plain http"),
        ("https://x/?q=1", False, False, "not a plain http"),
        ("https://x:port", False, False, "not a URL"),
        ("https://user:pass@x", False, False, "user name or password"),
        ("http://example.org", False, False, "in the clear"),
        ("http://example.org", True, True, "in the clear"),
        ("http://127.0.0.1.example.org", False, False, "in the clear"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(
    url: str, with_token: bool, allow_plain: bool, problem: str
) -> None:
    with pytest.raises(AfterDeleteError, match=problem):
        checked_base_url(url, with_token=with_token, allow_plain=allow_plain)


def test_addresses_that_are_fine() -> None:
    for url in ("https://example.org/api/", "http://127.0.0.1:8765", "http://localhost:1", "http://[::1]:2"):
        assert checked_base_url(url, with_token=True, allow_plain=False) == url.rstrip("/")
    assert checked_base_url("http://example.org", with_token=False, allow_plain=True)


def test_the_token_comes_from_the_environment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert token_from(None) is None
    monkeypatch.setenv("AFTERLIFE_TOKEN", "secret")
    assert token_from("AFTERLIFE_TOKEN") == "secret"
    monkeypatch.setenv("AFTERLIFE_TOKEN", "two words")
    with pytest.raises(AfterDeleteError) as caught:
        token_from("AFTERLIFE_TOKEN")
    assert "two words" not in str(caught.value)
    monkeypatch.delenv("AFTERLIFE_TOKEN")
    with pytest.raises(SystemAbsent, match="AFTERLIFE_TOKEN is not set"):
        token_from("AFTERLIFE_TOKEN")
    assert "token" not in HttpSystem.model_fields


def test_an_environment_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    (tmp_path / "envs").mkdir()
    with pytest.raises(SystemAbsent, match="no environment memory-x"):
        interpreter("memory-x", tmp_path)
    pins = tmp_path / "envs" / "memory-x.txt"
    pins.write_text("a==1\n", encoding="utf-8")
    with pytest.raises(SystemAbsent, match="install it with: make env-memory-x"):
        interpreter("memory-x", tmp_path)
    stamp = tmp_path / ".venv-memory-x" / ".complete"
    stamp.parent.mkdir()
    stamp.write_text(sha256_file(pins) + "\n", encoding="utf-8")
    assert interpreter("memory-x", tmp_path) == stamp.parent / "bin" / "python"
    pins.write_text("a==2\n", encoding="utf-8")
    with pytest.raises(SystemAbsent, match="built from other pins; rebuild it with: make env-memory-x"):
        interpreter("memory-x", tmp_path)
