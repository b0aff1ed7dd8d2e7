# In:  commit, a fetched model
# Out: activate/<label>-<key>/<shard>: the raw reply to the fixed probe in a fresh session
rule activate:
    input:
        made_from("activate", beside=fetched),
    output:
        artifact("activate"),
    priority: urgency("activate")
    # A model job takes every core (two at once on one machine starve each other) and counts as one `model`.
    threads: 64
    resources:
        model=1,
        gres=gpus("activate"),
    params:
        python=model_python("activate"),
    shell:
        script("activate_run", "activate", python=OFFLINE_PYTHON)
