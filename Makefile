# Every target sets up .venv by itself when needed; PYTHON picks the interpreter it is made from.
PYTHON ?= python3
BIN := .venv/bin
# the data and reference outputs that some tests use; they skip, with a reason, where these are absent
export T1_DATA_DIR ?= $(abspath ../shared/data)
export T1_GOLDEN_DIR ?= $(abspath ../shared/golden)

.PHONY: demo test check bench nightly adapters format clean
.DEFAULT_GOAL := test

.venv/ready: .venv/light
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	touch $@

# The demo needs the package only: much less to install than the tests and the benchmark do.
.venv/light: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "T1 needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

demo: .venv/light        ## fill a bundled table with real gaps, print a scorecard
	$(BIN)/python examples/airports.py

test: .venv/ready        ## all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2  # a core for each of two workers

check: .venv/ready       ## what must be green before a commit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) --no-print-directory test

bench: .venv/ready       ## speed and memory against a plain transcription
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/step.py --memory

nightly: .venv/ready     ## long versions: generated files, four Ray nodes of which one is killed, load and kills, a stream
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/live.py --soak 600 --rate 100 --engine onnx
	OMP_NUM_THREADS=1 T1_FUZZ=2000 $(BIN)/python -m pytest -q tests/test_fuzz.py
	OMP_NUM_THREADS=1 T1_RAY=400 $(BIN)/python -m pytest -q tests/test_bulk_ray.py
	OMP_NUM_THREADS=1 T1_LOAD=1 $(BIN)/python -m pytest -q -s tests/test_serve_load.py tests/test_serve_safety.py tests/test_serve_schema.py

# sktime allows no pandas 3.1 yet and darts brings numba: both are tested in an environment of their own.
.venv-adapters/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-adapters
	sed 's/^pandas==.*/pandas<3.1/' constraints.txt > .venv-adapters/constraints.txt
	.venv-adapters/bin/python -m pip install --quiet --constraint .venv-adapters/constraints.txt torch
	.venv-adapters/bin/python -m pip install --quiet --constraint .venv-adapters/constraints.txt --editable . \
	  darts hypothesis pytest sktime
	touch $@

adapters: .venv-adapters/ready  ## the adapters whose libraries are heavy: sktime, darts
	OMP_NUM_THREADS=1 .venv-adapters/bin/python -m pytest -q tests/test_adapters_sktime.py tests/test_adapters_darts.py

format: .venv/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-adapters demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
