# Two commands matter: `make audit` and `make test`. Both build what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STUDY ?= quick
include afterlife.mk

PIP_INSTALL = $(1)/bin/pip install --quiet --disable-pip-version-check

.PHONY: audit test test-models lint verify determinism plan unlock bench bench-stages bench-bootstrap bench-inference env env-transformers

audit: env  ## run the audit (STUDY=quick) on a real model and leave results/report/$(STUDY)/index.html
	$(BIN)/afterdelete run $(STUDY)

test: env env-transformers env-memory-langgraph test-models  ## every test: library, workflow rules, end to end on small real models
	$(BIN)/python -m pytest

test-models: env  ## the two small models that tests ask, fetched and accepted by sha256
	for model in smollm2-135m qwen2.5-coder-0.5b; do \
		test -f models/$$model/fetched.json || $(BIN)/python workflow/scripts/models_fetch.py $$model || exit 1; \
	done

lint: env  ## linters and types, as CI runs them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/mypy

verify: env  ## recompute every checksum, key and link of STUDY, and compare with data/frozen
	$(BIN)/afterdelete verify $(STUDY)

determinism: env  ## ask a sample of STUDY's requests again: other order, no reuse, batch 1
	$(BIN)/snakemake --profile profiles/local --config study=$(STUDY) -- determinism

plan: env  ## what STUDY would do, without doing it
	$(BIN)/afterdelete plan $(STUDY)

unlock: env  ## release the lock of a run that was killed
	$(BIN)/snakemake --unlock

bench: bench-stages bench-bootstrap bench-inference  ## every benchmark, one after another

bench-stages: env  ## time and memory from profiles to deleted, 20,000 and 200,000 profiles
	$(BIN)/python benchmarks/bench_stages.py

bench-bootstrap: env  ## 400 cells x 10,000 resamples
	$(BIN)/python benchmarks/bench_bootstrap.py

bench-inference: env env-transformers  ## our engine against transformers; replies with reuse on, off, shuffled
	$(BIN)/python benchmarks/bench_inference.py --transformers-python .venv-transformers/bin/python
	$(BIN)/python benchmarks/bench_inference.py --exactness 210

.DEFAULT_GOAL := audit

env: $(VENV)/.installed

$(VENV)/.installed: envs/core.txt envs/inference.txt envs/slurm.txt envs/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(call PIP_INSTALL,$(VENV)) -r envs/core.txt -r envs/inference.txt -r envs/slurm.txt -r envs/dev.txt
	$(call PIP_INSTALL,$(VENV)) --no-deps -e .
	touch $@

env-transformers: .venv-transformers/.installed  ## the transformers engine's environment (torch)

.venv-transformers/.installed: envs/core.txt envs/transformers.txt envs/dev.txt pyproject.toml
	$(PYTHON) -m venv .venv-transformers
	$(call PIP_INSTALL,.venv-transformers) -r envs/core.txt -r envs/transformers.txt -r envs/dev.txt
	$(call PIP_INSTALL,.venv-transformers) --no-deps -e .
	touch $@
