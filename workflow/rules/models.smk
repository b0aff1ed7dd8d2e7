# In:  nothing; the sources that config/models/<model>.yaml lists, in order
# Out: models/<model>/<file> and a receipt; only bytes whose sha256 matches are accepted
rule models:
    output:
        MODELS / "{model}" / "fetched.json",
    wildcard_constraints:
        model="[a-z0-9][a-z0-9._-]*",
    params:
        python=sys.executable,
        script=SCRIPTS / "models_fetch.py",
        config_dir=CONFIG_DIR,
        models=MODELS,
    shell:
        "{params.python:q} {params.script:q} --config-dir {params.config_dir:q} "
        "--models {params.models:q} {wildcards.model:q}"


def fetched(node, shard):
    """The receipt of the model that a node asks."""
    return [str(MODELS / node.model / "fetched.json")]


def engine_of(stage, wildcards):
    """The engine of a model job's model."""
    return node_of(stage, wildcards).recipe["parameters"]["model"]["engine"]


def model_python(stage):
    """The interpreter of a model job: torch lives in an environment of its own."""

    def interpreter(wildcards):
        if engine_of(stage, wildcards) != "transformers":
            return sys.executable
        return os.environ.get(
            "AFTERDELETE_TRANSFORMERS_PYTHON",
            str(Path(workflow.basedir) / ".venv-transformers/bin/python"),
        )

    return interpreter


# A model job reads files that the rule `models` fetched and checked; it never asks the network for any.
OFFLINE_PYTHON = "HF_HUB_OFFLINE=1 {params.python:q}"


def gpus(stage):
    """What a cluster must give a model job: one GPU where torch runs, none for an engine on CPU or afar."""

    def gres(wildcards):
        return "gpu:1" if engine_of(stage, wildcards) == "transformers" else ""

    return gres
