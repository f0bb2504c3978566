# Everything runs in .venv, which the first target that needs it makes. Nothing else is touched.

PYTHON ?= python3
WORKERS ?= auto

VENV := .venv
BIN := $(VENV)/bin

# Named for pip itself as well as on its command line, so that the build of the package is
# pinned too. Relative, because pip would split a path at its spaces.
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
INSTALL := $(BIN)/python -m pip install -qq --constraint constraints.txt --editable

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow bench reproduce docs schemas lint format venv clean

help:  ## Show this list
	@echo "Usage: make <target>   (PYTHON=python3.12 picks the Python that makes $(VENV))"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo  ## Run the demonstration; its report is demo/report.html
	@$(BIN)/proxyuse demo --report demo/report.html

test: lint  ## Run all checks and the quick tests
	@echo "pytest (quick tests)"
	@$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

# pytest ends with 5 when it found no test to run: worth saying, but no failure here.
test-slow: $(VENV)/.dev  ## Run the slow tests only, with many more examples
	@echo "pytest (slow tests)"
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-thorough} \
	    $(BIN)/python -m pytest -q -n $(WORKERS) -m slow; \
	status=$$?; \
	if [ $$status -eq 5 ]; then echo "No test is marked slow: nothing was run."; exit 0; fi; \
	exit $$status

bench: $(VENV)/.bench  ## Measure audits of deployed models, for docs/speed.md (ONLY="forest xgb" picks some)
	@$(BIN)/python -m benchmarks.run $(if $(ONLY),--only $(ONLY)) --write docs/speed.md

reproduce: $(VENV)/.dev  ## Repeat the paper's experiments and rewrite docs/paper (ONLY="student" picks some)
	@$(BIN)/python -m examples.paper.reproduce $(ONLY) --out docs/paper

# The theme would advertise its successor.
docs: $(VENV)/.docs  ## Build the documentation as a site into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Built in build/site. To read it, with search: $(PYTHON) -m http.server -d build/site"

schemas: $(VENV)/.dev  ## Write docs/schema from the types of the results
	@$(BIN)/python scripts/make_schemas.py

lint: $(VENV)/.dev  ## Run the checks that need no test: style, types, imports
	@echo "ruff check"
	@$(BIN)/ruff check --quiet
	@echo "ruff format --check"
	@$(BIN)/ruff format --check --quiet || { echo "Some files are not formatted; 'make format' does it."; exit 1; }
	@echo "mypy"
	@$(BIN)/mypy
	@echo "lint-imports"
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev  ## Rewrite the source in the house style
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

venv: $(VENV)/.dev  ## Make .venv with all that development needs

clean:  ## Remove .venv and everything else that make and the tools made
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} +

# The files below are stamps. Each is written only after its work has succeeded.

$(VENV)/.made:
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "There is no '$(PYTHON)' here. Name a Python of 3.11 or later: make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "proxyuse needs Python 3.11 or later; '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1)." >&2; \
	    echo "Name another: make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
	    echo "'$(PYTHON)' cannot make virtual environments: its venv or ensurepip module is missing." >&2; \
	    echo "On Debian and Ubuntu the package python3-venv holds them." >&2; exit 1; }
	@echo "Setting up $(VENV) (once, about half a minute) ..."
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing proxyuse and what the demonstration needs ..."
	@$(INSTALL) '.[demo]'
	@touch $@

# Development needs all that the demonstration needs, so this settles both.
$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing proxyuse and the tools for its development ..."
	@$(INSTALL) '.[dev]'
	@touch $(VENV)/.demo $@

$(VENV)/.bench: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing proxyuse and what it is compared with ..."
	@$(INSTALL) '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing proxyuse and what its documentation is built with ..."
	@$(INSTALL) '.[docs]'
	@touch $@
