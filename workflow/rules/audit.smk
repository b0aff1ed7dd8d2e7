# In:  the deleted snapshots of a cell's worlds, a fetched model
# Out: audit/<label>-<key>/<shard>: every raw reply of every episode
rule audit:
    input:
        made_from("audit", beside=fetched),
    output:
        artifact("audit"),
    priority: urgency("audit")
    # A model job takes every core (two at once on one machine starve each other) and counts as one `model`.
    threads: 64
    resources:
        model=1,
        gres=gpus("audit"),
    params:
        python=model_python("audit"),
    shell:
        script("audit_run", "audit", python=OFFLINE_PYTHON)
