# Every target makes .venv when it is missing. `make help` lists them.
PYTHON ?= python3
PY := .venv/bin/python
READY := .venv/.ready
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check format catalogue wheel-test notes bench clean

help:  ## print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	@test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)

demo: $(READY)  ## train XOR by the hand-written backpropagation and print the truth table
	$(PY) examples/xor_by_hand.py

test: $(READY)  ## the default test suite, with shapes checked; then the compiled tests, without
	$(PY) -m pytest -n auto --ignore tests/compiled --jaxtyping-packages=lamina,shapes.check
	JAXTYPING_DISABLE=1 $(PY) -m pytest -n auto tests/compiled

test-slow: $(READY)  ## the slow tests only
	$(PY) -m pytest --ignore tests/compiled -m slow
	JAXTYPING_DISABLE=1 $(PY) -m pytest tests/compiled -m slow

check: $(READY)  ## formatting, lint, types, layering
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	.venv/bin/lint-imports

format: $(READY)  ## rewrite formatting and import order
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

catalogue: $(READY)  ## write the code and test columns of catalogue.toml and the page notes -> code -> test
	$(PY) tools/catalogue.py --write

clean:  ## remove .venv and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
