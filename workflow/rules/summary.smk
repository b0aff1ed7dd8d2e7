# In:  scored and certified artifacts of every cell
# Out: headline/<study>-<key>/all: the first line of results; summary/<study>-<key>/all: every cell and endpoint
rule headline:
    input:
        made_from("headline"),
    output:
        artifact("headline", shard="all"),
    priority: urgency("headline")
    shell:
        script("headline_print", "headline", shard="all")


rule summary:
    input:
        made_from("summary"),
    output:
        artifact("summary", shard="all"),
    shell:
        script("summary_build", "summary", shard="all")
