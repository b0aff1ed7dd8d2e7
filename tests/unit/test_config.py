"""Configuration: what is shipped is valid, and every mistake names file, key and remedy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from afterdelete.config.load import Config
from afterdelete.config.model_spec import load_model_spec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.yamlfile import load_yaml
from afterdelete.plan.study import plan_study

SHIPPED = Path(__file__).resolve().parents[2] / "config"


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path / "config"))


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(yaml.safe_dump({**load_yaml(path), **changes}, sort_keys=False), encoding="utf-8")


def test_off_and_on_are_words_and_a_repeated_key_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("gate: [off, on, no, yes]\nflag: true\n")
    assert load_yaml(path) == {"gate": ["off", "on", "no", "yes"], "flag": True}
    path.write_text("a: 1\nb: 2\na: 3\n")
    with pytest.raises(AfterDeleteError, match=r"x\.yaml line 3.*'a' stands twice"):
        load_yaml(path)


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.yaml", {"studdy": "quick"}, r"config\.yaml: unknown key `studdy`.*did you mean `study`"),
        ("config.yaml", {"seeds": {"idd": 1}}, r"unknown key `seeds\.idd`.*did you mean `iid`"),
        ("config.yaml", {"shard_profiles": 12}, r"`shard_profiles`: .*multiple of 8"),
        ("config.yaml", {"bootstrap": {"resamples": "many"}}, r"`bootstrap\.resamples`"),
        ("studies/quick.yaml", {"models": []}, r"quick\.yaml: `models`"),
        ("studies/quick.yaml", {"modles": ["x"]}, r"did you mean `models`"),
        ("studies/quick.yaml", {"models": ["gpt-9"]}, r"gpt-9\.yaml does not exist.*known there: .*smollm2"),
        ("studies/quick.yaml", {"max_requests": 10}, r"could ask \d+ model requests"),
        ("studies/quick.yaml", {"panels": {"iid": "quick-iid"}}, r"no panel is given for: ood"),
        (
            "studies/quick.yaml",
            {"panels": {"iid": "nowhere", "ood": "quick-ood"}},
            r"unknown panel 'nowhere'",
        ),
        ("studies/quick.yaml", {"panels": {"iid": "quick-ood", "ood": "quick-iid"}}, r"is of split ood"),
        ("contracts/aligned.yaml", {"request": ""}, r"aligned\.yaml: `request`"),
        ("operators.yaml", {"activation_probe": "What is my {attribute}?"}, r"have the same text"),
        ("operators.yaml", {"operators": {"direct": "What is my {attribute}?"}}, r"`operators`"),
        ("auditors.yaml", {"direct": {"strategy": "fixed_script", "max_queries": 11}}, r"`max_queries`"),
        ("auditors.yaml", {"direct": {"strategy": "oracle"}}, r"unknown auditor strategy 'oracle'"),
        (
            "auditors.yaml",
            {"direct": {"strategy": "fixed_script", "options": {"order": ["direct"], "luck": 1}}},
            r"auditor fixed_script: .*luck",
        ),
        (
            "auditors.yaml",
            {"direct": {"strategy": "fixed_script", "options": {"order": ["dirct"]}}},
            r"asks unknown operators: dirct.*known in .*operators\.yaml: direct",
        ),
        (
            "panels.yaml",
            {"mine": {"split": "iid", "start": 192, "stop": 208}},
            r"primary-iid and mine overlap",
        ),
        (
            "panels.yaml",
            {"mine": {"split": "iid", "start": 20008, "stop": 20000}},
            r"stop must be above start",
        ),
    ],
)
def test_each_mistake_is_one_clear_line(config_dir: Path, file: str, changes: dict, message: str) -> None:  # type: ignore[type-arg]
    _edit(config_dir / file, **changes)
    with pytest.raises(AfterDeleteError, match=message) as caught:
        plan_study(Config(config_dir), "quick")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("audit_contract", ["polite"], r"polite\.yaml does not exist.*known there: aligned, legacy"),
        ("auditor", ["oracle"], r"unknown auditor 'oracle'.*direct, paraphrase, expert"),
        ("memory", ["graph"], r"`cells\.0\.memory\.0`"),
        ("gate", ["ajar"], r"`cells\.0\.gate\.0`"),
        ("activation_contract", [], r"go together"),
    ],
)
def test_mistakes_in_a_block(config_dir: Path, key: str, value: list[str], message: str) -> None:
    path = config_dir / "studies" / "quick.yaml"
    cells = load_yaml(path)["cells"]
    cells[0][key] = value
    _edit(path, cells=cells)
    with pytest.raises(AfterDeleteError, match=message):
        plan_study(Config(config_dir), "quick")


def test_an_unknown_study_names_the_known_ones(config_dir: Path) -> None:
    with pytest.raises(AfterDeleteError, match=r"known there: .*quick"):
        plan_study(Config(config_dir), "quik")


def test_a_headline_that_is_no_cell_is_refused(config_dir: Path) -> None:
    path = config_dir / "studies" / "quick.yaml"
    _edit(path, headline={**load_yaml(path)["headline"], "memory": "flat", "auditor": "expert"})
    with pytest.raises(AfterDeleteError, match="its headline is none of its cells"):
        plan_study(Config(config_dir), "quick")


def test_the_reference_is_what_the_models_say() -> None:
    from afterdelete.config.reference import reference

    stale = "python -m afterdelete.config.reference > config/README.md"
    assert (SHIPPED / "README.md").read_text(encoding="utf-8") == reference(), stale


@pytest.mark.parametrize(
    "value", ["2001-13-45", "!!int x", "!!bool x", "!!timestamp x", "? [a]\n: 1", "[" * 3000]
)
def test_values_that_yaml_itself_cannot_build_are_one_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(value if value.startswith("?") else f"a: {value}\n")
    with pytest.raises(AfterDeleteError, match=r"x\.yaml.*not valid YAML"):
        load_yaml(path)


@pytest.mark.parametrize("order", ["direct", 5, ["direct", 5], [["direct"]], {"direct": 1}])
def test_an_order_must_be_a_list_of_names(config_dir: Path, order: Any) -> None:
    direct = {"strategy": "fixed_script", "options": {"order": order}}
    _edit(config_dir / "auditors.yaml", direct=direct)
    with pytest.raises(AfterDeleteError, match="order must be a list of operator names"):
        plan_study(Config(config_dir), "quick")


@pytest.mark.parametrize("name", ["../studies/tiny", "./tiny", "Quick", ""])
def test_a_study_name_is_a_name(config_dir: Path, name: str) -> None:
    if not name:
        assert plan_study(Config(config_dir), name).name == "quick"
        return
    with pytest.raises(AfterDeleteError, match="is no study name"):
        plan_study(Config(config_dir), name)


def test_a_key_in_the_place_of_its_variable_is_not_repeated(config_dir: Path) -> None:
    path = config_dir / "models" / "openai-endpoint.yaml"
    _edit(path, api_key_env="sk-SECRET 123")
    with pytest.raises(AfterDeleteError, match="api_key_env") as caught:
        load_model_spec(path)
    assert "SECRET" not in str(caught.value)
