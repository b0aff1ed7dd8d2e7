# In:  every artifact of the study
# Out: nothing that a later stage reads; `verify` writes verify/<study>.html and fails if anything differs,
#      `freeze` writes data/frozen/<study>.json
rule verify:
    input:
        every_artifact,
        report_files,
    shell:
        command("verify")


rule freeze:
    input:
        every_artifact,
        report_files,
    shell:
        command("freeze")


# The determinism check of every model of the study: a sample of requests asked again in another order,
# without reuse, at batch 1. On request only, since it calls the model.
rule determinism:
    input:
        determinism_checks,


rule determinism_check:
    input:
        made_from("determinism", beside=fetched),
    output:
        artifact("determinism", shard="all"),
    threads: 64
    resources:
        model=1,
    params:
        python=model_python("determinism"),
    shell:
        script(
            "determinism_rerun", "determinism", shard="all", python="{params.python:q}"
        )
