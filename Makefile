# Two commands do everything: `make demo` and `make test`. Both build .venv from the pinned requirements.txt.
PYTHON ?= python3
BIN := .venv/bin
# The tests start processes: let Python keep its bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tests test-long long-engines long-others test-all fuzz lint browser axe servers docs signatures kernels bench lock release clean

demo: kernels
	$(BIN)/cellguard demo --out build/demo --force

# Browsers and servers wait a lot, so one worker more than there are cores. Linting needs no tests and tests no linting, so
# they run at once; kernels keep one core busy until they are there.
WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
test: .venv/ready
	$(MAKE) --no-print-directory -j 4 lint tests

tests: kernels servers .venv/collected
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# In a new environment one process prepares the bytecode of tests, while kernels are built, that every worker would else prepare.
.venv/collected: | .venv/ready
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1; touch $@

# The same kinds of brute force as in `make test`, in larger numbers. Spark is large, so it is installed and tested beside
# all other tests.
test-long: kernels servers
	$(MAKE) --no-print-directory -j 2 long-engines long-others

ENGINES := tests/contracts/test_engines.py
long-engines: .venv/ready
	$(MAKE) --no-print-directory .venv/spark || echo "Cannot install Spark: tests that need it are skipped."
	$(BIN)/python -m pytest -m long $(ENGINES)

long-others: .venv/ready
	$(BIN)/python -m pytest -n auto --dist worksteal -m long tests --ignore=$(ENGINES)

# The whole of it, which takes an hour: before a release.
test-all: .venv/ready
	$(BIN)/python -m pytest -n auto --dist worksteal -m endless tests

# Random jobs, attacked through their released files, one in ten also with a rule about rows, and of ready-made counts; failing ones go to build/fuzz.
JOBS ?= 20000
SEED ?= 1
fuzz: .venv/ready
	PYTHONPATH=tests $(BIN)/python -m fuzz --jobs $(JOBS) --seed $(SEED) --out build/fuzz $(if $(RESUME),--resume)

# Install packages of the system, if there are any to install; say which, and what becomes of the tests that need them.
define install
	@if [ -n "$(strip $(1))" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing by apt-get, for tests: $(strip $(1))"; \
	    (apt-get update && apt-get install -y --no-install-recommends $(1)) || \
	      echo "Cannot install $(strip $(1)): tests that need it are skipped."; \
	  else \
	    echo "Not installed, for want of root or apt-get: $(strip $(1)). Tests that need it are skipped."; \
	  fi; \
	fi
endef

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The pages are tested in a real browser. Without root, or without apt, its tests are skipped.
BROWSER = $(if $(shell which chromium chromium-browser google-chrome 2>/dev/null),,chromium)
browser:
	$(call install,$(BROWSER))

# The checker of accessibility that tests of the studio use, where it is there; it is too large to be kept here.
axe:
	mkdir -p build/axe && cd build/axe && npm pack --silent axe-core@4 && tar xzf axe-core-*.tgz

# Records are read from real servers: PostgreSQL, and Spark, which needs Java. Without them their tests are skipped.
SERVERS = $(if $(wildcard /usr/lib/postgresql/*/bin/initdb),,postgresql) $(if $(shell command -v java),,default-jre-headless)
servers: | browser  # apt-get runs once at a time
	$(call install,$(SERVERS))

.venv/spark: .venv/ready requirements-spark.txt
	if command -v uv >/dev/null; then \
	  uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-spark.txt ; \
	else \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes \
	    -r requirements-spark.txt ; \
	fi
	touch $@

# A site of static pages in build/docs, which asks no network when read; its pictures and its page of commands are renewed first.
docs: .venv/ready browser
	$(BIN)/python -m cellguard.faces.cli.reference > docs/reference/commands.md
	$(BIN)/python docs/make_pictures.py
	$(BIN)/sphinx-build -q -W -b html docs build/docs
	@echo "Open build/docs/index.html"

# The types that kernels are called with, written down from the tests; what is compiled ahead of time. Then `make kernels`.
signatures: .venv/ready
	$(BIN)/python -m pytest --record-kernels

# Kernels are compiled ahead of time into this clone, as into a wheel, whenever their sources have changed.
kernels: .venv/ready
	$(BIN)/python hatch_build.py src/cellguard/kernels

bench: kernels
	$(BIN)/python benchmarks/run.py

.venv/ready: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cellguard needs Python 3.11 or newer")'
	if command -v uv >/dev/null; then \
	  uv venv --quiet --clear --python $(PYTHON) .venv && \
	  uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.txt && \
	  CELLGUARD_PURE=1 uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
	  $(PYTHON) -m venv --clear .venv && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt && \
	  CELLGUARD_PURE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	touch $@

# Renews the pins: versions and hashes, and no index address.
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-header --no-annotate --quiet
lock:
	$(LOCK) $(foreach extra,fast report excel statfiles geo postgres remote studio serve docs dev,--extra $(extra)) --output-file requirements.txt
	$(LOCK) --extra spark --constraints requirements.txt --output-file requirements-spark.txt

# A release in dist/, built twice and checked: see packaging/release.py. Afterwards: git tag, and twine upload dist/*.whl dist/*.tar.gz.
release: kernels
	$(BIN)/python packaging/release.py

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
