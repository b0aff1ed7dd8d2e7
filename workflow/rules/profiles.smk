# In:  the inventories in data/inventories, the split's seed
# Out: profiles/<split>-<key>/<shard>: targets, attributes, records of every profile (evaluator-side)
rule profiles:
    input:
        made_from("profiles"),
    output:
        artifact("profiles"),
    priority: urgency("profiles")
    shell:
        script("profiles_generate", "profiles")
