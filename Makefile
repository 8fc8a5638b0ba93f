# `make test` and `make atlas` do all set-up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed

.PHONY: all test atlas readme bench docs format lint types clean
all: test

$(SETUP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs,torch]'
	@touch $@

test: lint types $(SETUP)
	$(BIN)/pytest -n 2
	$(MAKE) --no-print-directory docs

lint: $(SETUP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(SETUP)
	$(BIN)/pyright

docs: $(SETUP)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

atlas: $(SETUP)
	$(BIN)/lineament atlas --out atlas

readme: atlas
	$(BIN)/python docs/readme.py

bench: $(SETUP)
	$(BIN)/python -m benchmarks

format: $(SETUP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) atlas docs/_build docs/gallery bench .pytest_cache .ruff_cache .hypothesis
