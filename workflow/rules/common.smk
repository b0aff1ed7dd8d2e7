# Loads and validates the configuration, plans the study, and says how its jobs are written down.
# Everything here reads; nothing is written while a Snakefile is parsed.
import json
import os
import shlex
import sys

from afterdelete.config.load import Config
from afterdelete.core.errors import AfterDeleteError
from afterdelete.plan.status import is_finished, refuse_damaged
from afterdelete.plan.study import plan_study

OVERRIDES = {name: value for name, value in config.items() if name != "config_dir"}
CONFIG_DIR = Path(config.get("config_dir", "config"))
SCRIPTS = Path(workflow.basedir) / "workflow" / "scripts"

try:
    CONFIG = Config(CONFIG_DIR, tuple(OVERRIDES.items()))
    PLAN = plan_study(CONFIG)
    # Jobs on other nodes parse this file too; only the process that plans looks at what is there.
    if workflow.is_main_process:
        refuse_damaged(PLAN)
except AfterDeleteError as error:
    print(f"afterdelete: {error}", file=sys.stderr)
    sys.exit(1)

RESULTS = Path(CONFIG.main.results)
MODELS = Path(CONFIG.main.models)
PROTECTED = Path(CONFIG.main.protected)
URGENT = {node.directory for node in PLAN.ancestors(PLAN.headline)}


wildcard_constraints:
    key="[0-9a-f]{16}",
    shard=r"\d{6}-\d{6}",


def node_of(stage, wildcards):
    """The planned node that an output path names."""
    return PLAN.node(f"{stage}/{wildcards.label}-{wildcards.key}")


def files(node, shard):
    """An artifact: its data file and its manifest."""
    data = RESULTS / node.path(shard)
    return [str(data), str(data.with_suffix(".json"))]


def made_from(stage, beside=lambda node, shard: []):
    """Input function of a stage.

    A finished artifact needs nothing, so that redoing one lost artifact redoes that one alone. Inputs are
    `ancient`: keys, not times, decide what is out of date.
    """

    def inputs(wildcards):
        node = node_of(stage, wildcards)
        shard = wildcards.get("shard", "all")
        if is_finished(PLAN, node, shard):
            return []
        upstream = [
            path
            for _, each, part in node.made_from(shard)
            for path in files(each, part)
        ]
        return [ancient(path) for path in upstream + beside(node, shard)]

    return inputs


def urgency(stage):
    """The headline cell and all it is made from go first."""

    def priority(wildcards):
        return 100 if node_of(stage, wildcards).directory in URGENT else 0

    return priority


def artifact(stage, shard="{shard}"):
    """The output paths of a stage."""
    data = RESULTS / stage / "{label}-{key}" / shard
    return [f"{data}.parquet", f"{data}.json"]


def script(name, stage, shard="{wildcards.shard}", python=shlex.quote(sys.executable)):
    """The command that makes one artifact. It can be run by hand as it stands."""
    settings = [
        str(SCRIPTS / f"{name}.py"),
        "--study",
        PLAN.name,
        "--config-dir",
        str(CONFIG_DIR),
    ]
    if OVERRIDES:
        settings += ["--overrides", json.dumps(OVERRIDES, sort_keys=True)]
    quoted = shlex.join(settings).replace("{", "{{").replace("}", "}}")
    target = f"{stage}/{{wildcards.label}}-{{wildcards.key}}/{shard}.parquet"
    return f"{python} {quoted} --threads {{threads}} {target}"


def command(name):
    """A call of the console command for this study, with the overrides of this run."""
    settings = [
        sys.executable,
        "-m",
        "afterdelete.cli",
        name,
        PLAN.name,
        "--config-dir",
        str(CONFIG_DIR),
    ]
    if OVERRIDES:
        settings += ["--overrides", json.dumps(OVERRIDES, sort_keys=True)]
    return shlex.join(settings).replace("{", "{{").replace("}", "}}")


def every_artifact(wildcards):
    return [
        path
        for node, shard in PLAN.artifacts()
        if node.stage != "report"
        for path in files(node, shard)
    ]


def report_files(wildcards):
    directory = RESULTS / PLAN.report.directory
    return [str(directory / name) for name in ("index.html", "summary.csv", "all.json")]
