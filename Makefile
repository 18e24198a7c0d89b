# Every target sets up what it needs; a second run finds it there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.installed
# the longest file first, so that no worker waits for it at the end
TESTS := tests/test_docs.py src tests --ignore=tests/torch --ignore=tests/browser --numprocesses=auto --dist=loadfile
AXE := $(VENV)/axe/node_modules/axe-core/axe.min.js

.PHONY: demo evidence fuzz mutation test coverage lint types hooks test-torch test-compiled test-browser test-floors bench bench-compiled bench-search bench-large bench-peers docs examples reference reference-r build clean

demo: $(INSTALLED)-base
	@$(BIN)/fairstress demo

test: $(INSTALLED)-test
	$(BIN)/python -m pytest $(TESTS)

# which lines and branches no test reaches; fails below the floor in pyproject.toml
coverage: $(INSTALLED)-test
	$(BIN)/python -m pytest $(TESTS) --cov --cov-branch --cov-report=term-missing:skip-covered
	$(BIN)/python scripts/room_coverage.py

lint: $(INSTALLED)-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)-lint
	$(BIN)/mypy

# lint and types before every commit
hooks: $(INSTALLED)-hooks
	$(BIN)/pre-commit install

test-torch: $(INSTALLED)-torch
	$(BIN)/python -m pytest tests/torch

# sums over people that numba compiles; `make test` runs the same source as plain Python
test-compiled: $(INSTALLED)-fast $(INSTALLED)-test
	$(BIN)/python -m pytest tests/functionals/test_compiled.py tests/claim/test_grid.py tests/model/test_threshold_compiled.py

# the report's page in Chromium, offline
test-browser: $(INSTALLED)-browser $(AXE)
	@command -v chromedriver >/dev/null || $(call APT,chromium chromium-driver)
	AXE_CORE=$(VENV)/axe $(BIN)/python -m pytest tests/browser

# the oldest versions that pyproject.toml allows, in an environment of their own
test-floors: .venv-floors/.installed
	.venv-floors/bin/python -m pytest $(TESTS)

bench: $(INSTALLED)-torch
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/graph_texts.py
	$(BIN)/python benchmarks/newton_step.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/mixed_fit.py
	$(BIN)/python benchmarks/bands.py
	$(BIN)/python benchmarks/searches.py
	$(BIN)/python benchmarks/certificate.py
	$(BIN)/python benchmarks/limits.py
	$(BIN)/python benchmarks/growth.py --rows 1000000 --turns 2
	$(BIN)/python benchmarks/profile_against_torch.py

# what the extra `fast` brings
bench-compiled: $(INSTALLED)-fast
	$(BIN)/python benchmarks/compiled.py

# tool 2: slow, and measured against targets of its own
bench-search: $(INSTALLED)-torch
	$(BIN)/python benchmarks/robust_predictor.py
	$(BIN)/python benchmarks/ten_features.py
	$(BIN)/python benchmarks/worst_case_against_torch.py

# a million and ten million rows, in memory and from Parquet files: some ten minutes and 3 GB
bench-large: $(INSTALLED)-test
	$(BIN)/python benchmarks/large_data.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/streams.py 10000000

# other programs for sensitivity, in an environment of their own; one that does not install is named and left out
bench-peers: .venv-peers/.installed
	.venv-peers/bin/python benchmarks/peers.py

# the documentation as a site, in site/; warnings are errors, and the references leave nothing out
docs: $(INSTALLED)-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python scripts/check_reference.py

# whole audits of textbook tables; the tests run them too
examples: $(INSTALLED)-test
	for example in examples/*.py; do $(BIN)/python $$example || exit 1; done

# stored values of other programs; only needed to make them anew
reference: reference-r $(INSTALLED)-reference
	$(BIN)/python tests/reference/generate.py

# those of R; medsens is asked only where R has the package mediation too
reference-r: $(INSTALLED)-test
	@Rscript -e 'for (name in c("lavaan", "ordinal", "jsonlite")) loadNamespace(name)' >/dev/null 2>&1 || $(call APT,r-base-core r-cran-lavaan r-cran-ordinal r-cran-jsonlite)
	$(BIN)/python tests/reference/r_table.py
	Rscript tests/reference/values.R
	$(BIN)/python studies/r_programs.py

# a second program on many more problems than the tests have, from seed FIRST on, bad input, searches; an hour
FIRST ?= 0
COUNT ?= 20
evidence: $(INSTALLED)-test
	$(BIN)/python studies/second_program.py --first $(FIRST) --count $(COUNT)
	$(BIN)/python studies/bad_input.py
	$(BIN)/python studies/known_maxima.py
	$(BIN)/python studies/global_search.py --plain --people 300 --generations 60
	$(BIN)/python benchmarks/certificate.py --store

# every parser under a coverage-guided fuzzer, SECONDS each
SECONDS ?= 60
fuzz: $(INSTALLED)-fuzz
	$(BIN)/python studies/fuzz.py --seconds $(SECONDS)

# faults planted in the rooms that compute, a SHARE of those that could be; what was tried is not tried again; hours
SHARE ?= 0.02
mutation: $(INSTALLED)-test
	$(BIN)/python scripts/mutation.py --share $(SHARE) --again

# the source distribution and the wheel of a release, in dist/
build: $(INSTALLED)-release
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "fairstress needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED)-base: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(INSTALLED)-%: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[$*]'
	@touch $@ $(INSTALLED)-base

$(INSTALLED)-torch: pyproject.toml | $(BIN)/python
	$(PIP) torch==2.13.0
	$(PIP) -e '.[test]'
	@touch $@ $(INSTALLED)-base $(INSTALLED)-test

# an accessibility checker; never committed
$(AXE): | $(BIN)/python
	@command -v npm >/dev/null || $(call APT,npm)
	npm install --silent --no-fund --no-audit --prefix $(VENV)/axe axe-core@4.10.3

# what only root can install: others are told
APT = { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq $(1); } || { echo "this target needs $(1): install them and run it again" >&2; exit 2; }

.venv-floors/.installed: pyproject.toml tests/floors.txt
	$(PYTHON) -m venv .venv-floors
	.venv-floors/bin/python -m pip install --quiet --disable-pip-version-check -c tests/floors.txt -e '.[test]'
	@touch $@

# each by itself, so that one that does not install leaves the others
.venv-peers/.installed: pyproject.toml benchmarks/peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -e .
	for peer in $$(cat benchmarks/peers.txt); do .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check $$peer || echo "$$peer does not install here" >&2; done
	@touch $@

clean:
	rm -rf $(VENV) .venv-floors .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .coverage .coverage.* .mutation dist site
