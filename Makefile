PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Compiled tests and modules are kept for the next run, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

KERNELS := $(wildcard src/kernels/*) CMakeLists.txt pyproject.toml

.PHONY: demo demo-first demo-modules demo-rest test test-all check docs packages bench sanitize sanitized fuzz fuzz-sanitized clean build

# uv installs in seconds what takes pip a minute. Where it cannot be had, or does not find a package, pip does the same.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL = sh -c 'test -x $(BIN)/uv && $(BIN)/uv pip install --quiet --python $(BIN)/python "$$@" || $(PIP) "$$@"' install

# What the build needs is installed first and stays where it is, so that only kernels that have changed are compiled again: an
# isolated build has new paths every time. An environment without pip is made in no time, and pip is needed for uv alone:
# that of $(PYTHON) will do, where it has one.
NEEDS = import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); print(*project
BUILD_NEEDS = $(NEEDS)["build-system"]["requires"], sep="\n")
RUN_NEEDS = $(NEEDS)["project"]["dependencies"], sep="\n")
PLOT_NEEDS = $(NEEDS)["project"]["optional-dependencies"]["plot"], sep="\n")
GET_UV = --python $(BIN)/python install --quiet --disable-pip-version-check --no-compile uv
$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	test -x $(BIN)/uv || $(PYTHON) -m pip $(GET_UV) 2> /dev/null || { $(PYTHON) -m venv $(VENV) && $(PIP) uv; } || \
		echo "uv cannot be had here; pip takes a minute longer"
	$(BIN)/python -c '$(BUILD_NEEDS)' > $(VENV)/build-needs.txt
	$(INSTALL) -r $(VENV)/build-needs.txt "cmake>=3.20" "ninja>=1.11" pip
	touch $@

# What the package cannot do without. What the first chapter of the demo imports is compiled while the kernels are, and not
# more: the first answer waits for whatever else the processors do.
AT_FIRST := src/tanager $(addprefix src/tanager/,encoding counts networks scoring learning)
$(VENV)/.needed: $(VENV)/.tools
	$(BIN)/python -c '$(RUN_NEEDS)' > $(VENV)/run-needs.txt
	$(INSTALL) -r $(VENV)/run-needs.txt
	$(BIN)/python -m compileall -q -l $(AT_FIRST)
	$(BIN)/python -c "import pyarrow.csv"
	touch $@

# And matplotlib and pandas, for the other chapters.
$(VENV)/.packages: $(VENV)/.needed
	$(BIN)/python -c '$(PLOT_NEEDS)' > $(VENV)/plot-needs.txt
	$(INSTALL) -r $(VENV)/plot-needs.txt "pandas>=2.2,<4"
	touch $@

# The package, to be changed where it is.
$(VENV)/.built: $(VENV)/.packages $(KERNELS)
	$(INSTALL) --no-build-isolation --no-deps -e .
	touch $@

# What the tests need beyond that.
$(VENV)/.ready: $(VENV)/.built
	$(INSTALL) --no-build-isolation -e ".[dev]"
	touch $@

build: $(VENV)/.ready

# The demo does not wait for all kernels. Its first chapter is shown once the first of the three modules is compiled, while the
# second is; the third is left to `make build`. Modules are compiled in the folder where the whole package is built later, and
# the package around them are links. Where all was built before, the demo takes that.
BUILT := $(wildcard $(VENV)/.built)
TAG = from scikit_build_core.builder.wheel_tag import WheelTag; print(f"build/{WheelTag.compute_best([])}")
PLACE = $(eval PLACE := $(shell $(BIN)/python -c '$(TAG)'))$(PLACE)
DEMO = $(if $(BUILT),,PYTHONPATH=build/demo) $(BIN)/python examples/demo.py
LINK = ln -sfn $(abspath src/tanager)/* $(abspath $(PLACE))/_*.so build/demo/tanager/

demo:
	@$(if $(BUILT),,echo "Installing packages and compiling kernels: first answers after about a minute, all of them after two.")
	@$(MAKE) --no-print-directory --silent -j 3 demo-rest

$(VENV)/.core: $(VENV)/.tools $(KERNELS)
	@$(BIN)/cmake -S . -B $(PLACE) -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
		-DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) > /dev/null
	@MAKEFLAGS= $(BIN)/cmake --build $(PLACE) --target _core > build/core.log || { cat build/core.log; exit 1; }
	@touch $@

$(VENV)/.learners: $(VENV)/.core
	@MAKEFLAGS= $(BIN)/cmake --build $(PLACE) --target _learners > build/learners.log || { cat build/learners.log; exit 1; }
	@touch $@

demo-first: $(VENV)/.needed $(or $(BUILT),$(VENV)/.core)
	@mkdir -p build/demo/tanager && $(LINK)
	@$(DEMO) --only first
	@$(if $(BUILT),,echo && echo "Meanwhile the kernels of the other chapters are compiled ...")

demo-modules: demo-first
	@$(MAKE) --no-print-directory $(VENV)/.packages
	@$(BIN)/python -c "import matplotlib.pyplot, sklearn.ensemble, sklearn.model_selection"

demo-rest: demo-first demo-modules $(or $(BUILT),$(VENV)/.learners)
	@$(LINK)
	@$(DEMO) --only rest

# Workers that run out of tests take over some of the others': a few tests take long, and no order suits all machines.
# One worker more than processors, as some tests wait for servers and for other processes.
WORKERS = $(shell $(BIN)/python -c "import os; print((os.cpu_count() or 1) + 1)")
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: build
	$(PYTEST)

check: build
	$(BIN)/clang-format --dry-run --Werror src/kernels/*.cpp src/kernels/*.hpp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST)

# All examples, long searches, every command in the documentation, many crashes, and the kernels under sanitizers.
test-all: check $(VENV)/.cluster $(VENV)/.export $(VENV)/.browser
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m "long or not long"
	$(MAKE) docs
	$(MAKE) sanitize
	$(MAKE) fuzz

# What exported models are run by; `make test` does without.
$(VENV)/.export: $(VENV)/.ready
	$(INSTALL) --no-build-isolation -e ".[onnx,duckdb]"
	touch $@

# What drives a browser and a notebook; the browser itself is Debian's chromium (see CONTRIBUTING.md).
$(VENV)/.browser: $(VENV)/.ready
	$(INSTALL) --no-build-isolation -e ".[browser,widget]"
	touch $@

# The site, in build/site/VERSION: warnings are errors, and every link inside is followed. `make test` does without.
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
$(VENV)/.docs: $(VENV)/.built
	$(INSTALL) --no-build-isolation -e ".[docs]"
	touch $@

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html -q -W --keep-going -j 2 -c docs . build/site/$(VERSION)
	$(BIN)/python docs/_site/finish.py build/site/$(VERSION)

# A source archive and a wheel in dist/, tried in an environment with nothing else; other Pythons with PYTHONS="python3.12 ...".
PYTHONS ?= $(PYTHON)
packages: $(VENV)/.built
	$(INSTALL) "build>=1.2"
	$(BIN)/python tools/packages.py $(PYTHONS)

# Dask and Spark, which `make test` does without; Spark needs Java 17 (see CONTRIBUTING.md). pyspark comes as a source archive,
# whose build needs wheel and does not say so.
$(VENV)/.cluster: $(VENV)/.ready
	$(INSTALL) setuptools wheel
	$(INSTALL) --no-build-isolation -e ".[dask,spark]"
	touch $@

# Random input of every kind, a minute each; more with MINUTES=60 (see fuzz/README.md).
FUZZERS := files tables calls
MINUTES ?= 1
fuzz: build
	@set -e; for name in $(FUZZERS); do $(BIN)/python -m fuzz.$$name --minutes $(MINUTES); done
	$(BIN)/python -m fuzz.requests --count 20000
	$(BIN)/python -m fuzz.state --cuts 200 --kills 30

# What the benchmarks are measured against, beyond what the tests need.
$(VENV)/.bench: $(VENV)/.ready
	$(INSTALL) --no-build-isolation -e ".[bench]"
	touch $@

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# The kernels with address and undefined-behaviour sanitizers, under the tests that drive them hardest. -S keeps the
# editable install out of the way, so that the package beside the sanitized extension is the one that is imported.
SANITIZED := build/sanitize
SANITIZED_TESTS ?= tests/kernels tests/counts tests/test_kernels_under_load.py tests/classifiers/test_views.py \
	tests/classifiers/test_forms.py tests/classifiers/test_marginal.py tests/streams/test_evolving_kernel.py \
	tests/classifiers/test_lbr.py tests/classifiers/test_trees.py tests/classifiers/test_tbmatan.py \
	tests/classifiers/test_ande.py tests/classifiers/test_ande_rows.py tests/classifiers/test_network_forest.py \
	tests/classifiers/test_selective_aode.py tests/classifiers/test_gaussian_columns.py tests/classifiers/test_anytime.py \
	tests/structure/test_open_network.py tests/streams/test_half_lives.py tests/streams/test_aode_side_by_side.py \
	tests/streams/test_moving_numbers.py tests/classifiers/test_semi_naive_bayes.py tests/classifiers/test_superparent.py
PRELOADED = $(shell gcc -print-file-name=libasan.so) $(shell gcc -print-file-name=libstdc++.so.6)
PACKAGES = $(shell $(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")
SANITIZED_PYTHON = LD_PRELOAD="$(PRELOADED)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	PYTHONMALLOC=malloc PYTHONPATH=$(SANITIZED)/site:$(PACKAGES) TANAGER_SANITIZED=$(abspath $(SANITIZED)) \
	$(BIN)/python -S

sanitized: build
	$(BIN)/cmake -S . -B $(SANITIZED) -G Ninja -DTANAGER_SANITIZE=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
		-DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) > /dev/null
	$(BIN)/cmake --build $(SANITIZED) --parallel 2
	rm -rf $(SANITIZED)/site && mkdir -p $(SANITIZED)/site/tanager
	ln -s $(abspath src/tanager)/* $(SANITIZED)/site/tanager/
	cp $(SANITIZED)/_*.so $(SANITIZED)/site/tanager/
	@$(SANITIZED_PYTHON) -c "from tanager import _core; print('testing', _core.__file__)"

sanitize: sanitized
	@$(SANITIZED_PYTHON) -m pytest -p no:cacheprovider $(SANITIZED_TESTS)

fuzz-sanitized: sanitized
	@set -e; for name in $(FUZZERS); do $(SANITIZED_PYTHON) -m fuzz.$$name --minutes $(MINUTES); done
	@$(SANITIZED_PYTHON) -m fuzz.requests --count 4000
	@$(SANITIZED_PYTHON) -m fuzz.state --cuts 200 --kills 22

clean:
	rm -rf build $(VENV)
