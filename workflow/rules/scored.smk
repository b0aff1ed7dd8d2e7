# In:  profiles, audit, and for a lifecycle commit and activate
# Out: scored/<label>-<key>/<shard>: R, C, A, E and diagnostics of every (profile, world)
rule scored:
    input:
        made_from("scored"),
    output:
        artifact("scored"),
    priority: urgency("scored")
    shell:
        script("scored_score", "scored")
