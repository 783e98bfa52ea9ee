# The three commands: `make demo`, `make test` and `make paper`. All make `.venv` first, and install nothing outside it.
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
# demo: what `pip install fairshap[cli]` brings. dev: everything that tests and benchmarks need.
WITH ?= dev
BIN := .venv/bin

.PHONY: demo test quick test-oldest paper setup browser docs kernels lint types layers tests fuzz bench clean

setup:
	@test -n "$(PYTHON)" || { echo "fairshap needs Python 3.11 or later with venv; none was found on the PATH." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@stamp=.venv/.installed-$(WITH); \
	if [ ! -f $$stamp ] || [ pyproject.toml -nt $$stamp ]; then \
		echo "Installing fairshap ($(WITH)) into .venv"; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1" && \
		if [ "$(WITH)" = dev ]; then group="--group dev"; fi && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check $$group --editable ".[cli]" && \
		touch $$stamp; \
	fi

demo:
	@$(MAKE) --no-print-directory setup WITH=demo
	@$(BIN)/fairshap demo --out demo-output --force

test: setup lint types layers tests

# A developer's loop: the lint, and the folders whose tests take milliseconds.
QUICK := tests/attribution tests/edits tests/frames tests/kernels tests/metrics tests/problem tests/test_api.py tests/test_display.py
quick: lint layers kernels
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal $(QUICK) $(ARGS)

# The lower bounds of pyproject.toml, each as an exact version, in an environment of their own. Old packages use what
# newer ones below them deprecate, and LightGBM 4.6 warns of every array. The figures of the paper, the goldens and the
# documents are those of the newest versions. ARGS="tests/edits" runs those alone.
test-oldest: kernels
	@test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	$(PYTHON) tests/oldest.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --group test --editable ".[cli]" \
		--constraint .venv-oldest/constraints.txt
	OMP_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -rs -n 2 --dist worksteal --ignore paper --ignore tests/paper --ignore tests/goldens \
		--deselect tests/test_documents.py::test_code_prints_what_the_document_shows \
		-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning \
		-W "ignore:X does not have valid feature names:UserWarning" $(ARGS)

# The paper's experiments, into OUT; 48 minutes on two cores. An interrupted run resumes. ONLY="main ablation" runs
# those alone; ARGS="--settings german:sex --seeds 1" passes options on, see `python -m paper --help`.
OUT := results
paper: setup
	$(BIN)/python -m paper $(ONLY) --out $(OUT) $(ARGS)

# For the tests of the report in a real browser, which are skipped without one, and fail without one where CI is set.
browser:
	@if ! command -v chromedriver >/dev/null || ! { command -v chromium || command -v google-chrome; } >/dev/null; then \
		if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
			echo "chromium and chromium-driver are missing, and only root can install them, by apt-get." >&2; exit 1; \
		fi; \
		echo "Installing chromium and chromium-driver for the tests of the report"; \
		apt-get install -y -qq chromium chromium-driver >/dev/null 2>&1 || \
			{ apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } >/dev/null; \
	fi

# The compiler's cache does not notice a change in a file that a kernel's own file imports.
kernels:
	@find src -name '*.nbi' -o -name '*.nbc' | while read cached; do \
		if [ -n "$$(find src/fairshap/_kernels -name '*.py' -newer "$$cached" -print -quit)" ]; then rm -f "$$cached"; fi; done

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

# Two workers with one thread each: with more they wait for each other. CI also traces what the tests run: tracing takes
# half as long again. Compiled kernels cannot be traced, so they run as plain Python first.
tests: setup kernels
ifdef CI
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q tests/kernels --cov --cov-report= --cov-fail-under=0
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -rs -n 2 --dist worksteal --cov --cov-append --cov-report=term
else
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -rs -n 2 --dist worksteal
endif

# The properties alone, on 20 times as many examples, drawn anew; SEED=... repeats a run.
SEED := $(shell date +%s)
fuzz: setup kernels
	@echo "Drawing examples with SEED=$(SEED)"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m hypothesis --hypothesis-profile=fuzz --hypothesis-seed=$(SEED) tests

# The site, into docs/_build/html, offline; a warning is an error.
docs: setup kernels
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Writes benchmarks/RESULTS.md; takes about twenty minutes, with nothing else running. ONLY="repair growth" measures those again.
bench: setup
	$(BIN)/python benchmarks/write_results.py $(ONLY)

clean:
	rm -rf .venv .venv-oldest build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache demo-output docs/_build docs/auto_examples docs/generated
