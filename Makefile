# Every target runs in .venv, which is created on first use.

PYTHON ?= python3
WORKERS ?= auto
VENV ?= .venv
BIN := $(VENV)/bin

# Set as an environment variable too, so that build dependencies are also pinned. The path is
# relative, because pip splits the value at spaces.
CONSTRAINTS ?= constraints.txt
export PIP_CONSTRAINT := $(CONSTRAINTS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
INSTALL := $(BIN)/python -m pip install -qq --editable

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow test-oldest test-python oldest smoke fuzz bench simulate reproduce docs schemas options lint format venv clean

help:  ## Show this list
	@echo "Usage: make <target>   (PYTHON=python3.12 sets the Python that creates $(VENV))"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo  ## Run the demo and write demo/report.html
	@$(BIN)/proxyuse demo --report demo/report.html

# The checks and the compilation of the loops take one core each.
test: $(VENV)/.dev  ## Run all checks and the quick tests
	@$(BIN)/python scripts/compile_loops.py & compiling=$$!; $(MAKE) --no-print-directory lint && wait $$compiling
	@echo "pytest (quick tests)"
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

# Tests take from milliseconds to minutes. With worksteal, a process that is done takes over some of
# another one's, and tests of a file, which share models and results, mostly stay in one process.
test-slow: $(VENV)/.dev  ## Run the slow tests, and every property test with many more examples
	@echo "pytest (slow tests)"
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-thorough} \
	    $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "slow or hypothesis"

test-oldest:  ## Run tests of every dependency with its oldest supported version (in .venv-oldest)
	@$(MAKE) --no-print-directory oldest VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt

test-python:  ## Run the same tests with another Python: make test-python PYTHON=python3.13
	@version=$$("$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])') && \
	    $(MAKE) --no-print-directory smoke VENV=.venv-$$version

# Tests of each dependency's API. numba does not share its cache between versions, so each environment
# has its own. One process, because several would all compile the same loops.
SMOKE := tests/test_package.py tests/test_signing.py tests/data/test_columns.py \
    tests/judge/test_records.py::test_a_process_that_keeps_the_file_locked_is_reported \
    tests/models/test_rule_lists.py::test_classes_of_any_type tests/models/test_native_categories.py \
    tests/models/lightgbm/test_lightgbm.py tests/report/render/test_figure.py \
    tests/report/render/html/test_page.py tests/cli/test_project.py

# What is different in old versions, and not a fault of proxyuse: pandas 2 has no dtype for strings;
# LightGBM 4.6 calls the columns of an array Column_0 and then warns that an array lacks these names,
# and has no eval_X; imodels 3.0.0 passes numbers where mlxtend wants booleans.
oldest: SMOKE += -W "ignore:X does not have valid feature names" -W "ignore:DataFrames with non-bool" \
    --deselect "tests/data/test_columns.py::test_a_typed_column_keeps_its_kind_when_all_is_missing[values0-category]" \
    --deselect tests/data/test_columns.py::test_libraries_agree_on_strings \
    --deselect tests/models/lightgbm/test_lightgbm.py::test_trees_after_the_best_round_are_omitted \
    --deselect tests/models/lightgbm/test_lightgbm.py::test_names_come_from_the_frame
oldest: smoke

smoke: $(VENV)/.test
	@$(BIN)/python -m proxyuse doctor
	@echo "pytest (a part of the quick tests, in $(VENV))"
	@NUMBA_CACHE_DIR=$(VENV)/numba $(BIN)/python -m pytest -q -p no:cacheprovider -m "not slow" $(SMOKE)

fuzz: $(VENV)/.dev  ## Read 100,000 damaged and crafted files of every format (about an hour; ARGS="--count 1000" for fewer)
	@$(BIN)/python -m scripts.fuzz $(ARGS)

bench: $(VENV)/.bench  ## Benchmark audits of deployed models and update docs/speed.md (ONLY="forest xgb" selects some)
	@$(BIN)/python -m benchmarks.run $(if $(ONLY),--only $(ONLY)) --write docs/speed.md

simulate: $(VENV)/.dev  ## Repeat the simulations of the statistics and update docs/validity-theory.md (about two hours)
	@$(BIN)/python -m scripts.noise_simulation docs
	@$(BIN)/python -m scripts.validity_simulation docs

reproduce: $(VENV)/.dev  ## Repeat the paper's experiments and update docs/paper (ONLY="student" selects some)
	@$(BIN)/python -m examples.paper.reproduce $(ONLY) --out docs/paper

# The variable silences the theme's advertisement for its successor.
docs: $(VENV)/.docs  ## Build the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Built build/site. To read it with search: $(PYTHON) -m http.server -d build/site"

schemas: $(VENV)/.dev  ## Write docs/schema from the types of the results
	@$(BIN)/python scripts/make_schemas.py

options: $(VENV)/.dev  ## Write the tables of docs/command-line.md from the declared options
	@$(BIN)/python scripts/make_option_tables.py

lint: $(VENV)/.dev  ## Check style, types and imports
	@echo "ruff check"
	@$(BIN)/ruff check --quiet
	@echo "ruff format --check"
	@$(BIN)/ruff format --check --quiet || { echo "Some files are not formatted. Run 'make format'."; exit 1; }
	@echo "mypy"
	@$(BIN)/mypy
	@echo "lint-imports"
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev  ## Format the source
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

venv: $(VENV)/.dev  ## Create .venv for development

clean:  ## Remove .venv and all generated files
	rm -rf .venv .venv-* build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} +

# The files below are stamps, written only after a step succeeds.

$(VENV)/.made:
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "'$(PYTHON)' was not found. Pass Python 3.11 or later: make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "proxyuse needs Python 3.11 or later; '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1)." >&2; \
	    echo "Pass another version: make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
	    echo "'$(PYTHON)' cannot create virtual environments: its venv or ensurepip module is missing." >&2; \
	    echo "On Debian and Ubuntu, install the package python3-venv." >&2; exit 1; }
	@echo "Creating $(VENV) (once, about 30 seconds) ..."
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	@echo "Installing proxyuse with the demo's dependencies ..."
	@$(INSTALL) '.[demo]'
	@touch $@

# The development dependencies include those of the demo.
$(VENV)/.dev: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	@echo "Installing proxyuse with the development dependencies ..."
	@$(INSTALL) '.[dev]'
	@touch $(VENV)/.demo $@

# Python compiles a module when it is first imported, which is less work than compiling all.
$(VENV)/.test: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	@echo "Installing proxyuse with the test dependencies in $(VENV) ..."
	@$(INSTALL) '.[test]' --no-compile
	@touch $@

$(VENV)/.bench: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	@echo "Installing proxyuse with the benchmark dependencies ..."
	@$(INSTALL) '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	@echo "Installing proxyuse with the documentation dependencies ..."
	@$(INSTALL) '.[docs]'
	@touch $@
