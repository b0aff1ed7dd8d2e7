# In:  every artifact of the study
# Out: nothing that a later stage reads; `verify` writes verify/<study>.html and fails if anything differs,
#      `freeze` writes data/frozen/<study>.json
rule verify:
    input:
        every_artifact,
        report_files,
    shell:
        command("verify")


rule freeze:
    input:
        every_artifact,
        report_files,
    shell:
        command("freeze")
