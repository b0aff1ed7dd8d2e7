# In:  worlds
# Out: consolidated/<split>-<memory>-<key>/<shard>: raw records and derived state
rule consolidated:
    input:
        made_from("consolidated"),
    output:
        artifact("consolidated"),
    priority: urgency("consolidated")
    shell:
        script("consolidated_build", "consolidated")
