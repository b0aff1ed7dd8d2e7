# The Afterlife rules alone, as the main Snakefile includes them.
include: "../../workflow/rules/afterlife.smk"
