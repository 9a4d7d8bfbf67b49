# Everything runs in this folder (from elsewhere: make -C FOLDER) and installs into .venv there.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
RUN := RAG_ASSETS_CONFIG="$(CURDIR)/rag_assets.yaml" .venv/bin/rag-assets
TEST_PROCESSES ?= 3
IS_SUPPORTED := import sys; sys.exit(None if (3, 11) <= sys.version_info < (3, 14) else \
    "rag_assets needs Python 3.11 to 3.13, and $(PYTHON) is " + sys.version.split()[0] + \
    ": name another one, as in make demo PYTHON=python3.12")

# No weights are fetched and nothing calls home: all that is needed comes with the packages.
export HF_HUB_OFFLINE := 1
export TRANSFORMERS_OFFLINE := 1
export HF_HUB_DISABLE_TELEMETRY := 1
export RUNTIME__DLTHUB_TELEMETRY := false
export GX_ANALYTICS_ENABLED := false
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Many processes are started: Python keeps what it has compiled for the next one.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo prove ui serve quick test nightly parsers clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' Makefile

install: .venv/installed ## Install the locked packages into .venv; the others do it too

demo: .venv/installed ## Build the index on data/, measure it, search and ask
	@$(RUN) demo .

prove: .venv/installed ## Edit and delete a file, kill a run, lose a source, swap the model: five lines
	@.venv/bin/python benchmarks/prove.py 2>/dev/null

ui: .venv/installed ## Open the Dagster UI and start its daemon on the same state (PORT=3000)
	@exec env $(RUN) ui $(PORT:%=--port %)

serve: .venv/installed ## Open the HTTP API and the page on the index of the demo (PORT=8000)
	@test -e data/.state/serving/current.json || $(MAKE) demo
	@exec env $(RUN) serve $(PORT:%=--port %)

quick: .venv/installed-dev ## Lint, types, and the tests that your change touches (or ROOM=retrieval)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/ty check
	.venv/bin/python -m rag_assets_tests.touched $(ROOM)

test: .venv/installed-dev ## Lint, check formatting and types, and run the tests
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/ty check
	.venv/bin/python -m pytest -p rag_assets_tests.each_change --no-loadscope-reorder \
	    --numprocesses $(TEST_PROCESSES) --dist loadfile --max-worker-restart 0

nightly: .venv/installed-dev ## All sweeps of kills and chaos, and a random search by all laws: an hour at most
	.venv/bin/python -m rag_assets_tests.nightly --processes $(TEST_PROCESSES) $(SEED:%=--seed %)

parsers: .venv-docling/installed .venv-marker/installed ## Install the PDF engines docling and Marker, each into its own environment
	@printf 'Set in rag_assets.yaml, under parsers:\n'
	@printf '  docling: {python: .venv-docling/bin/python}\n  marker: {python: .venv-marker/bin/python}\n'

clean: ## Remove everything that was built; sources and the environment stay
	rm -rf data/.state .pytest_cache .ruff_cache .hypothesis

# $(call environment,FOLDER): a sound environment there, made anew if what is there is none.
environment = $(1)/bin/python -c 'import pip; $(IS_SUPPORTED)' 2>/dev/null || \
    { $(PYTHON) -c '$(IS_SUPPORTED)' && $(PYTHON) -m venv --clear $(1); }

# Tests of one file share what is costly to set up, so they stay in one process: --dist loadfile.
# Tests wait for servers and for processes of their own, so two cores keep three of them busy.
# TEST_PROCESSES=0 runs all of them in one process, in their order. A process that dies ends the
# run with the name of its test: pytest-xdist would start another one and then wait for ever.

# The locks name what runs everywhere. A build of PyTorch for CUDA, which is what pip takes on Linux where
# it finds no other, needs packages of its own: they are installed after the lock.
.venv/installed: requirements.lock pyproject.toml
	@echo "Installing into .venv (some minutes, once)"
	@$(call environment,.venv)
	.venv/bin/python -m pip install --quiet --no-deps --requirement requirements.lock
	.venv/bin/python -m pip install --quiet --constraint requirements.lock torch
	.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.venv/installed-dev: .venv/installed requirements-dev.lock
	.venv/bin/python -m pip install --quiet --no-deps --requirement requirements-dev.lock
	touch $@

# The pins of these engines contradict ours and each other's.
.venv-%/installed: requirements-%.lock
	@echo "Installing into .venv-$* (some minutes and 2 GB, once)"
	@$(call environment,.venv-$*)
	.venv-$*/bin/python -m pip install --quiet --no-deps --requirement $<
	.venv-$*/bin/python -m pip install --quiet --constraint $< torch
	touch $@
