# In:  summary, certificates, and every raw reply of the study
# Out: report/<study>-<key>/: index.html, summary.csv and breakdowns, figures, a page of replies a cell;
#      report/<study> points at the newest
rule report:
    input:
        made_from("report"),
    output:
        index=RESULTS / "report" / "{label}-{key}" / "index.html",
        summary=RESULTS / "report" / "{label}-{key}" / "summary.csv",
        manifest=RESULTS / "report" / "{label}-{key}" / "all.json",
    shell:
        script("report_render", "report", shard="all")
