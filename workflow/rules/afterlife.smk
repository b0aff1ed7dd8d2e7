# In:  the configuration named by config["afterlife"], the scenario table, what is installed of the systems
# Out: results/afterlife/<system>/<scenario>-<key>.json, and over all of them results/afterlife/table-<key>/:
#      table.parquet with its manifest, table.csv, report.json, report.html, junit.xml
#
# `snakemake afterlife` runs every system x scenario in parallel. Nothing here is read unless it is asked for.
import sys
from functools import cache
from pathlib import Path

AFTERLIFE_CONFIG = Path(config.get("afterlife", "config/afterlife/default.yaml"))
AFTERLIFE_RESULTS = Path("results") / "afterlife"
AFTERLIFE_TABLE = [
    "table.parquet",
    "table.json",
    "table.csv",
    "report.json",
    "report.html",
    "junit.xml",
]
AFTERLIFE_SCRIPTS = Path(workflow.current_basedir).parent / "scripts"


@cache
def afterlife_session():
    """The configuration, read on first use; a mistake in it is one line, as everywhere."""
    from afterdelete.afterlife.session import Session
    from afterdelete.core.errors import AfterDeleteError

    try:
        return Session.read(AFTERLIFE_CONFIG)
    except AfterDeleteError as error:
        print(f"afterdelete: {error}", file=sys.stderr)
        sys.exit(1)


def afterlife_results(wildcards):
    session = afterlife_session()
    return [
        AFTERLIFE_RESULTS / session.result_file(name, id)
        for name, id in session.chosen([], [])
    ]


def afterlife_table(wildcards):
    from afterdelete.core.canonical import content_key

    folder = (
        AFTERLIFE_RESULTS / f"table-{content_key(afterlife_session().table_recipe())}"
    )
    return [folder / name for name in AFTERLIFE_TABLE]


def afterlife_files(wildcards):
    """The system's programs and its environment, so that a change of either makes its results again.

    An environment that is built later makes a SKIPPED result run.
    """
    return afterlife_session().files(wildcards.system)


rule afterlife:
    input:
        afterlife_table,


rule afterlife_result:
    input:
        afterlife_files,
    output:
        AFTERLIFE_RESULTS / "{system}" / "{scenario}-{key}.json",
    wildcard_constraints:
        system="[a-z0-9][a-z0-9-]*",
        scenario="[A-Z0-9-]+",
        key="[0-9a-f]{16}",
    params:
        python=sys.executable,
        script=AFTERLIFE_SCRIPTS / "afterlife_run.py",
        config=AFTERLIFE_CONFIG,
    shell:
        "{params.python:q} {params.script:q} --config {params.config:q} "
        "--system {wildcards.system:q} --scenario {wildcards.scenario:q} {output:q}"


rule afterlife_table:
    input:
        afterlife_results,
    output:
        [AFTERLIFE_RESULTS / "table-{key}" / name for name in AFTERLIFE_TABLE],
    wildcard_constraints:
        key="[0-9a-f]{16}",
    params:
        python=sys.executable,
        script=AFTERLIFE_SCRIPTS / "afterlife_collect.py",
        config=AFTERLIFE_CONFIG,
        results=AFTERLIFE_RESULTS,
    shell:
        "{params.python:q} {params.script:q} --config {params.config:q} --results {params.results:q} {output[0]:q}"
