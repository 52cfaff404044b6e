# The one front door. Needs Python 3.11 or newer, make and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: venv demo test check audit bench docs clean

venv: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

demo: venv  ## the main job on bundled data: release, card and picture in demo-output/
	$(BIN)/dpfda demo --out demo-output

# Else every worker compiles all tests anew, with their assertions, and every process the package.
unexport PYTHONDONTWRITEBYTECODE

# Tests of the ledger on PostgreSQL start a private server where Debian's package postgresql is installed, and say in
# the last lines if it is not; with DPFDA_REQUIRE_POSTGRES=1 that is a failure.
test: venv check  ## format, lint, types, then all tests but the slow statistics
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not audit" -q

check: venv  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

audit: venv  ## slow statistics: samplers, coverage, attacks on whole releases
	$(BIN)/python -m pytest -n auto -m audit -q

DATA ?= $(firstword $(wildcard data ../data ../*/data))
bench: venv  ## error and speed against named peers, in one run; DATA names the folder of dti_cca.csv
	$(BIN)/python -m bench $(if $(DATA),--data $(DATA))

docs: venv  ## regenerate the command line reference
	$(BIN)/python scripts/make_docs.py

clean:
	rm -rf $(VENV) demo-output bench-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
