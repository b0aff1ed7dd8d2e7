# In:  audit, the deleted snapshots it was asked of, and with the gate on its descriptors
# Out: commit/<label>-<key>/<shard>: candidate, the gate's decision, and the store after it
def descriptors(node, shard):
    """With the gate on, the protected descriptors of the profiles."""
    profiles = node.inputs.get("profiles")
    if profiles is None:
        return []
    return [
        str(PROTECTED / "gate" / f"{profiles.label}-{profiles.key}" / f"{shard}.json")
    ]


rule commit:
    input:
        made_from("commit", beside=descriptors),
    output:
        artifact("commit"),
    priority: urgency("commit")
    shell:
        script("commit_write", "commit")
