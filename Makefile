# Every target makes .venv when it is missing. `make help` lists them.
PYTHON ?= python3
PY := .venv/bin/python
READY := .venv/.ready
# the packages whose functions take tensors: shapes are checked while testing
L := lamina
SHAPED := $(L).kernels,$(L).functional,$(L).layers,$(L).architectures,$(L).backprop,$(L).classical,$(L).data,$(L).training,$(L).populations,$(L).studies,$(L).inspection,$(L).experiments,$(L).export,shapes.check
# Python 3.11 reads where the package lies in the locale's encoding: LC_ALL=C would refuse a path with an umlaut, while
# LANG=C does not (PEP 538).
ifneq (,$(filter C POSIX,$(LC_ALL)))
unexport LC_ALL
endif
# Every command that a test starts would compile Lamina anew.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-pages check format catalogue notes docs bench results claims faults mutants audit dist wheel-test clean

help:  ## print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	@test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)

demo: $(READY)  ## train LeNet-5 on the embedded digits and say where the report is
	.venv/bin/lamina train lenet5

SHUFFLE = $(if $(SEED),--random-order --random-order-seed=$(SEED))
test: $(READY)  ## the default test suite, with shapes checked; then the compiled tests, without; SEED=N shuffles them
	$(PY) -m pytest -n auto --dist worksteal --ignore tests/compiled --jaxtyping-packages=$(SHAPED) $(SHUFFLE)
	JAXTYPING_DISABLE=1 $(PY) -m pytest -n auto tests/compiled $(SHUFFLE)

test-slow: $(READY)  ## the slow tests only
	$(PY) -m pytest --ignore tests/compiled -m slow
	JAXTYPING_DISABLE=1 $(PY) -m pytest tests/compiled -m slow

test-pages: $(READY)  ## the live pages in Chromium, which must be installed, with no network but loopback
	$(PY) tools/offline.py $(PY) -m pytest -q -m browser tests/browser

check: $(READY)  ## formatting, lint, types, layering
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -m mypy --platform win32 --cache-dir .mypy_cache/win32
	.venv/bin/lint-imports

format: $(READY)  ## rewrite formatting and import order
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

catalogue: $(READY)  ## write the code and test columns of catalogue.toml, docs/notes-to-code.md and the tables of README and docs
	$(PY) tools/catalogue.py --write
	$(PY) tools/readme.py --write

notes: $(READY)  ## open the executable notes in the browser
	.venv/bin/lamina notes

docs: $(READY)  ## build the documentation site in build/docs, with no network; a warning is an error
	$(PY) tools/offline.py $(PY) tools/docs.py build/docs

bench: $(READY)  ## run the benchmarks and write their records to benchmarks/records
	for file in $(filter-out $(addprefix benchmarks/,record.py peers.py claims.py rebuild.py fuzz.py kills.py soak.py damage.py),$(wildcard benchmarks/*.py)); do $(PY) $$file || exit 1; done

faults: $(READY)  ## all tests of faults, and the records of docs/faults.md (hours; what was interrupted continues)
	$(PY) -m pytest -q -m 'faults and not browser'
	$(PY) benchmarks/fuzz.py --inputs 1000000
	$(PY) benchmarks/kills.py --kills 200
	$(PY) benchmarks/damage.py
	$(PY) benchmarks/soak.py
	$(PY) benchmarks/hostile_visitors.py

results: $(READY)  ## run one row of docs/results.md, ROW=NAME as in results/rows.toml, with all of its seeds
	$(PY) tools/results.py $(ROW)

mutants: $(READY)  ## change sampled operators one by one and write which tests notice (resumes; about an hour)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[mutants]'
	$(PY) tools/mutants.py

claims: $(READY)  ## run every experiment with 20 fresh seeds and write benchmarks/records/claims.json (half an hour)
	$(PY) benchmarks/claims.py

audit: $(READY)  ## compare installed packages with known vulnerabilities; ADVISORIES=FILE (OSV, JSON or .zip) needs no network
	$(PY) tools/audit.py $(ADVISORIES)

clean:  ## remove .venv and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist

dist: $(READY)  ## build wheel and sdist, and check them as PyPI would
	rm -rf build/wheel build/elsewhere dist && $(PY) -m build --quiet --outdir dist
	$(PY) -m twine check --strict dist/*

wheel-test: dist  ## build the wheel and use it from another folder: its files, its command, and the work without any extra
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --target build/wheel dist/*.whl
	mkdir -p build/elsewhere && cd build/elsewhere && PYTHONPATH=../wheel ../../$(PY) -m pytest -q -c ../../pyproject.toml \
		--rootdir ../.. -p no:cacheprovider -m 'not browser' ../../tests/test_package.py ../../tests/test_installed.py
