# In:  consolidated
# Out: deleted/<split>-<memory>-<deletion>-<key>/<shard>: the verified post-deletion snapshot
rule deleted:
    input:
        made_from("deleted"),
    output:
        artifact("deleted"),
    priority: urgency("deleted")
    shell:
        script("deleted_build", "deleted")


# The non-interference certificate: fails, and writes nothing, if a world leaks into the other's prompt.
rule certified:
    input:
        made_from("certified"),
    output:
        artifact("certified"),
    shell:
        script("certified_check", "certified")


# The sealed gate's descriptors, made at deletion time. They live in protected state, outside the results,
# with mode 0600; the key beside them is made at first use.
rule sealed:
    input:
        lambda wildcards: [
            ancient(path)
            for path in files(node_of("profiles", wildcards), wildcards.shard)
        ],
    output:
        PROTECTED / "gate" / "{label}-{key}" / "{shard}.json",
    shell:
        script("deleted_seal", "profiles")
