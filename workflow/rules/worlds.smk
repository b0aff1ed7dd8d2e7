# In:  profiles
# Out: worlds/<split>-<key>/<shard>: what one world's user told the agent
rule worlds:
    input:
        made_from("worlds"),
    output:
        artifact("worlds"),
    priority: urgency("worlds")
    shell:
        script("worlds_build", "worlds")
