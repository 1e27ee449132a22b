# SPDX-License-Identifier: Apache-2.0
# Each target sets up what it needs, from nothing if need be.

# which Python .venv is made with
PYTHON ?= python3
export PYTHON
VENV   := .venv
BIN    := $(VENV)/bin
IMAGE  ?= rdcnlab
PROFILE ?= quick
SCRIPTS := $(shell grep -l "^.!/bin/sh" tools/*)
# what runs in the guest: plain modules without a package, so they are checked by themselves
INSIDE := lib/rdcnlab/engines/kernel/inside

.DEFAULT_GOAL := help
.PHONY: help setup kernel cluster models sdn ns3 demo test long core soak check reproduce site p4 bmv2 lab wheel image clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## Install everything and build the kernel
	@tools/setup cluster models sdn ns3 site dev

kernel: ## Install what every command needs, and build the kernel
	@tools/setup

cluster: ## Install what a worker of a campaign on many machines needs, with Dask
	@tools/system-packages
	@tools/install cluster

sdn: ## Install os-ken, which only the controller of switch: ovs needs
	@tools/install sdn

models: ## Install TensorFlow and Keras, which only the classifier of variants needs
	@tools/install models

ns3: ## Install the simulator ns-3, which only engine: ns3 needs
	@tools/install ns3

demo: kernel ## Run and reproduce figure 4 of aykurt, quick profile (1.5 minutes after the set-up)
	RDCNLAB_RESULTS=none $(BIN)/rdcnlab reproduce aykurt/fig4 --profile quick

# Each worker has a core and a guest at a time, and takes few tests at once, because quick ones come first; then what
# needs several cores runs alone.
test: setup ## Run all tests but the long ones
	$(BIN)/python -m pytest --numprocesses logical --dist load --maxschedchunk 4 --durations 20 -m "not alone and not long"
	$(BIN)/python -m pytest -m alone

long: setup ## Run the long tests: flipped bits, mutations, repetitions, a kernel that checks itself (two hours)
	$(BIN)/python -m pytest --numprocesses logical --dist load --maxschedchunk 1 -m long

core: kernel ## Run the quick tests of the laboratory in an environment without the papers and their libraries (5 minutes)
	@VENV=.venv-core PART=core tools/install dev sdn cluster
	.venv-core/bin/python -m pytest --numprocesses logical -m "not guest and not slow and not alone and not long" \
		--ignore tests/papers tests

soak: ## Random cases on a kernel that checks itself (half an hour; SEEDS=0-99)
	@tools/system-packages
	@tools/install
	$(BIN)/rdcnlab kernel soak --seeds $(or $(SEEDS),0-99)

check: ## Lint, types, layers
	@tools/install dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cd $(INSIDE) && MYPYPATH=. $(abspath $(BIN))/mypy --config-file= --strict --explicit-package-bases \
		--allow-subclassing-any --allow-untyped-decorators --ignore-missing-imports *.py
	$(BIN)/lint-imports
	$(BIN)/shellcheck $(SCRIPTS)

reproduce: ## Reproduce everything, and write the report (PROFILE=paper for all runs: many core-hours)
	@tools/setup models sdn ns3
	$(BIN)/rdcnlab reproduce --profile $(PROFILE)
	$(BIN)/rdcnlab report

site: ## Build the web site with the report, from stored results (out/site/index.html)
	@tools/setup models site
	$(BIN)/rdcnlab site

p4: ## Compile the P4 program (needs p4c-bm2-ss)
	p4/compile

bmv2: ## Install BMv2 and p4c, which only switch: bmv2 needs, from the P4 project's packages
	@tools/bmv2

lab: ## Open the notebooks in JupyterLab
	@tools/setup models
	$(BIN)/jupyter lab notebooks/index.ipynb

wheel: ## Build three wheels, which work without this tree: rdcnlab, its papers, and its kernel (out/*.whl)
	@tools/system-packages
	@tools/install
	rm -rf build lib/build
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir out . ./lib
	rm -rf build lib/build
	$(BIN)/python tools/kernel-wheel out

image: ## Build the container image
	docker build -t $(IMAGE) .

clean: ## Remove what was set up here; caches of kernels and runs stay
	rm -rf $(VENV) .venv-core out
