# AfterDelete: after a user deletes something from an agent's memory, can the agent still reveal it?
# Pipeline order: profiles -> worlds -> consolidated -> deleted -> audit* -> commit -> activate* -> scored
# -> summary -> report (* = calls the evaluated model).
include: "workflow/rules/common.smk"


# On a cluster only jobs that call a model are submitted: everything else takes seconds on one core.
localrules:
    all,
    profiles,
    worlds,
    consolidated,
    deleted,
    certified,
    sealed,
    models,
    commit,
    scored,
    headline,
    summary,
    report,


rule all:
    input:
        every_artifact,
        report_files,


include: "workflow/rules/profiles.smk"
include: "workflow/rules/worlds.smk"
include: "workflow/rules/consolidated.smk"
include: "workflow/rules/deleted.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/commit.smk"
include: "workflow/rules/activate.smk"
include: "workflow/rules/scored.smk"
include: "workflow/rules/summary.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/verify.smk"
include: "workflow/rules/afterlife.smk"
