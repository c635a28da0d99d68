# Two commands do everything: make demo, make test. make help lists the rest.
RUN ?= demo
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
STAGES := profile sample grade bucket select forecast export report
demo test test-trainers validate-forecast: export HF_HUB_OFFLINE = 1
# Another project's packages must not leak in from the shell that make is started from.
unexport PYTHONPATH PYTHONHOME PYTHONSAFEPATH

.PHONY: help setup model demo test test-trainers check bench fuzz validate-forecast first-contact clean $(STAGES)

help: ## list the targets
	@grep -hE '^[a-z %$$()A-Z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 19
	@echo "stages             make STAGE RUN=<run>, with pipelines/runs/<run>.toml: $(STAGES)"

setup: $(READY) ## make .venv with the package and the engine that fits this machine

$(READY): pyproject.toml pipelines/setup.sh pipelines/set_up.py pipelines/waiting.py pipelines/engine-cpu.txt
	@bash pipelines/setup.sh
	@touch $@

model: $(READY)
	@$(PY) -m pipelines.fetch_model

demo: model ## profile the committed sample set with a small real model
	$(PY) -m pipelines profile demo

test: model ## run the whole test suite
	$(PY) -m tests

test-trainers: model ## run the trainers' own loaders and reward calls on our exports (minutes, gigabytes)
	$(PY) -m bench.trainers

check: $(READY) ## lint and type-check
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

bench: $(READY) ## run the benchmarks but for the slow ones (bench/README.md)
	$(PY) -m bench.grading
	$(PY) -m bench.selection
	$(PY) -m bench.selection.duplicates
	$(PY) -m bench.sampling

fuzz: $(READY) ## grade 120,000 random and mutated replies, and long runs of one thing (minutes)
	$(PY) -m bench.grading.fuzz
	$(PY) -m bench.grading.sweep

validate-forecast: model ## the forecast against fresh groups and TRL's own metric (an hour; installs TRL)
	$(PY) -m bench.collapse.validate

first-contact: ## make demo in fresh clones: bare systems, killed set-ups, no network (an hour, 4 GB)
	python3 -m bench.pipelines.first_contact

$(STAGES): $(READY)
	$(PY) -m pipelines $@ $(RUN)

clean: ## remove the environments, the models and all runs
	rm -rf $(VENV) data/models data/runs data/trainers
