# The front door. `make demo` and `make serve` are all that a new user needs; everything is installed inside the clone.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SAY := printf '%s\n' >&2

PORT ?= 8080
AGENT ?= functions.agents.freight:agent
AUTH ?= none
CHAOS ?= 10
GUARANTEE_TASKS ?= 10000
GUARANTEE_SEED ?= 1
GUARANTEE_RATE ?= 0.006
OUTAGE_TASKS ?= 1000
NUDGE_RATES ?= 5 20 200

# Tests of a served stack have processes of their own, and time limits: they go one after the other, behind the rest.
SERVED := tests/e2e tests/integration/local tests/integration/nudges

.PHONY: help
help: ## Say what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

$(VENV)/.ready: requirements/uv.txt requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { $(SAY) "python3 (3.11 or later) is needed"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { $(SAY) "python3 is $$($(PYTHON) --version 2>&1), and 3.11 or later is needed: make PYTHON=python3.13 ..."; exit 1; }
	@$(SAY) "[1/2] a virtual environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@$(SAY) "[2/2] the pinned packages (about two minutes the first time)"
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements/dev.txt
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The partner of the demo is a program of its own: its own environment, the receiver as a wheel, nothing of the kit.
.venv-partner/.ready: $(VENV)/.ready examples/partner/requirements.txt $(shell find shared/a2a_receiver -name '*.py' -o -name pyproject.toml 2>/dev/null)
	@$(SAY) "the partner's environment in .venv-partner"
	@test -x .venv-partner/bin/python || $(PYTHON) -m venv .venv-partner
	@VIRTUAL_ENV=.venv-partner $(BIN)/uv pip install --quiet --require-hashes -r examples/partner/requirements.txt
	@rm -rf build/receiver && $(BIN)/python -m build -qq --wheel --no-isolation --outdir build/receiver shared/a2a_receiver
	@VIRTUAL_ENV=.venv-partner $(BIN)/uv pip install --quiet --no-deps --reinstall build/receiver/*.whl
	@touch $@

# The 0.3 line of the official SDK cannot live beside the 1.0 line.
.venv-sdk03/.ready: $(VENV)/.ready requirements/sdk03.txt
	@$(SAY) "the 0.3 line of a2a-sdk in .venv-sdk03"
	@test -x .venv-sdk03/bin/python || $(PYTHON) -m venv .venv-sdk03
	@VIRTUAL_ENV=.venv-sdk03 $(BIN)/uv pip install --quiet --require-hashes -r requirements/sdk03.txt
	@touch $@

# The reference server of `make bench`, in an environment of its own, as one would deploy it.
.venv-bench/.ready: $(VENV)/.ready requirements/bench.txt
	@$(SAY) "the reference server in .venv-bench"
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	@VIRTUAL_ENV=.venv-bench $(BIN)/uv pip install --quiet --require-hashes -r requirements/bench.txt
	@touch $@

tests/e2e/js/node_modules/.ready: tests/e2e/js/package.json tests/e2e/js/package-lock.json
	@if command -v npm >/dev/null; then $(SAY) "the official JavaScript SDKs in tests/e2e/js"; \
		npm ci --prefix tests/e2e/js --silent --no-audit --no-fund --ignore-scripts && touch $@; \
		else $(SAY) "no npm: the tests of the JavaScript SDKs are skipped"; fi

.PHONY: setup
setup: $(VENV)/.ready ## Install what is needed, inside the clone

.PHONY: demo
demo: $(VENV)/.ready .venv-partner/.ready ## Drive one task from send through a human wait to a verified nudge
	@$(BIN)/python examples/demo.py

.PHONY: serve
serve: $(VENV)/.ready ## Serve AGENT on PORT until Ctrl-C (AGENT_SOURCE=folder, AUTH=none|dev, STRICT_IAM=1, STATE_DIR=folder)
	@PORT='$(PORT)' AGENT='$(AGENT)' AUTH='$(AUTH)' exec $(BIN)/python -m a2a_serverless.local.serve

.PHONY: test
test: $(VENV)/.ready .venv-partner/.ready .venv-sdk03/.ready .venv-bench/.ready tests/e2e/js/node_modules/.ready ## Run every test
	@status=0; \
	$(BIN)/python -m pytest -n auto --dist loadfile $(addprefix --ignore=,$(SERVED)) || status=$$?; \
	$(BIN)/python -m pytest $(SERVED) || status=$$?; \
	exit $$status

.PHONY: chaos
chaos: $(VENV)/.ready ## Every fault at every step, and 10,000 tasks while all fails (CHAOS=50, GUARANTEE_TASKS=, GUARANTEE_SEED= for others)
	@CHAOS='$(CHAOS)' HYPOTHESIS_PROFILE=chaos GUARANTEE_TASKS='$(GUARANTEE_TASKS)' GUARANTEE_SEED='$(GUARANTEE_SEED)' \
		GUARANTEE_RATE='$(GUARANTEE_RATE)' OUTAGE_TASKS='$(OUTAGE_TASKS)' $(BIN)/python -m pytest -n auto tests/guarantee \
		tests/faults tests/unit/core/test_machine.py tests/integration/aws/test_interleavings.py tests/e2e/test_machine.py
	@$(BIN)/python -m tests.guarantee.latency $(NUDGE_RATES)

.PHONY: bench
bench: $(VENV)/.ready .venv-bench/.ready ## Compare with the reference server: BENCH='--rounds 20 --json'
	@$(BIN)/python -m tests.bench $(BENCH)

.PHONY: lint
lint: $(VENV)/.ready ## Style, format and arrows
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports

.PHONY: types
types: $(VENV)/.ready ## mypy, strict
	@$(BIN)/mypy shared cdk functions

.PHONY: attacks
attacks: $(VENV)/.ready ## The hostile inputs of tests/data/webhooks, or of WEBHOOK_ATTACKS=FILE
	@$(BIN)/python -m pytest tests/unit/test_attack_format.py tests/receiver/test_attacks.py \
		tests/unit/webhook/test_attacks.py

.PHONY: conformance
conformance: $(VENV)/.ready ## The official kits: KIT10=checkout, KIT03=checkout, KIT_PYTHON=python with their needs
	@KIT10='$(KIT10)' KIT03='$(KIT03)' KIT_PYTHON='$(KIT_PYTHON)' $(BIN)/python -m tests.conformance

.PHONY: lock
lock: $(VENV)/.ready ## Pin the requirements anew, with hashes and without addresses
	@$(BIN)/uv pip compile -q pyproject.toml --all-extras --group dev --generate-hashes --no-emit-index-url \
		--no-emit-find-links --universal --python-version 3.11 --no-header -o requirements/dev.txt
	@$(BIN)/uv pip compile -q requirements/uv.in --generate-hashes --no-emit-index-url --universal \
		--python-version 3.11 --no-header -o requirements/uv.txt
	@$(BIN)/uv pip compile -q requirements/sdk03.in --generate-hashes --no-emit-index-url --universal \
		--python-version 3.11 --no-header -o requirements/sdk03.txt
	@$(BIN)/uv pip compile -q requirements/bench.in -c requirements/dev.txt --generate-hashes --no-emit-index-url \
		--no-emit-find-links --universal --python-version 3.11 --no-header -o requirements/bench.txt

.PHONY: clean
clean: ## Remove everything that was made inside the clone
	@rm -rf .venv .venv-partner .venv-sdk03 .venv-bench .local build cdk.out tests/e2e/js/node_modules
