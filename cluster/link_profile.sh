#!/usr/bin/env bash
# Makes the literal `snakemake --profile slurm` work: links profiles/slurm into the user's Snakemake folder.
set -euo pipefail
source="$(cd "$(dirname "$0")/.." && pwd)/profiles/slurm"
target="${XDG_CONFIG_HOME:-$HOME/.config}/snakemake/slurm"
if [ -e "$target" ] && [ ! -L "$target" ]; then
    echo "afterdelete: $target is there and is no link — move it away, then run this again" >&2
    exit 1
fi
mkdir -p "$(dirname "$target")"
ln -sfn "$source" "$target"
echo "$target -> $source"
