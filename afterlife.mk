# Pinned environments of memory systems, one for each envs/memory-<name>.txt: `make env-memory-<name>`.
# Never part of the core environment. The stamp holds the hash of the pins that were installed; the tester compares it.
PYTHON ?= python3

.PRECIOUS: .venv-memory-%/.complete
env-memory-%: .venv-memory-%/.complete ;

.venv-memory-%/.complete: envs/memory-%.txt
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --no-deps --only-binary :all: -r $<
	$(@D)/bin/pip check
	sha256sum $< | cut -d ' ' -f 1 > $@
