# Every target runs in .venv, which is created on first use.

PYTHON ?= python3
WORKERS ?= auto

VENV := .venv
BIN := $(VENV)/bin

# Set as an environment variable too, so that build dependencies are also pinned. The path is
# relative, because pip splits the value at spaces.
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
INSTALL := $(BIN)/python -m pip install -qq --constraint constraints.txt --editable

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow bench reproduce docs schemas options lint format venv clean

help:  ## Show this list
	@echo "Usage: make <target>   (PYTHON=python3.12 sets the Python that creates $(VENV))"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo  ## Run the demo and write demo/report.html
	@$(BIN)/proxyuse demo --report demo/report.html

# The checks and the compilation of the loops take one core each.
test: $(VENV)/.dev  ## Run all checks and the quick tests
	@$(BIN)/python scripts/compile_loops.py & compiling=$$!; $(MAKE) --no-print-directory lint && wait $$compiling
	@echo "pytest (quick tests)"
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

test-slow: $(VENV)/.dev  ## Run the slow tests, and every property test with many more examples
	@echo "pytest (slow tests)"
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-thorough} \
	    $(BIN)/python -m pytest -q -n $(WORKERS) -m "slow or hypothesis"

bench: $(VENV)/.bench  ## Benchmark audits of deployed models and update docs/speed.md (ONLY="forest xgb" selects some)
	@$(BIN)/python -m benchmarks.run $(if $(ONLY),--only $(ONLY)) --write docs/speed.md

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
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
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

$(VENV)/.demo: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing proxyuse with the demo's dependencies ..."
	@$(INSTALL) '.[demo]'
	@touch $@

# The development dependencies include those of the demo.
$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing proxyuse with the development dependencies ..."
	@$(INSTALL) '.[dev]'
	@touch $(VENV)/.demo $@

$(VENV)/.bench: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing proxyuse with the benchmark dependencies ..."
	@$(INSTALL) '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing proxyuse with the documentation dependencies ..."
	@$(INSTALL) '.[docs]'
	@touch $@
