PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KERNELS := $(wildcard src/kernels/*) CMakeLists.txt pyproject.toml

.PHONY: demo test check bench sanitize clean build

# One stamp for set-up: rebuilt when the kernels or the project's metadata change.
$(VENV)/.ready: $(KERNELS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

build: $(VENV)/.ready

demo: build
	$(BIN)/python examples/demo.py

test: build
	$(BIN)/python -m pytest -n auto

check: build
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto

bench: build
	$(BIN)/python -m benchmarks

clean:
	rm -rf build $(VENV)
