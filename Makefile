# SPDX-License-Identifier: Apache-2.0
# Each target sets up what it needs, from nothing if need be.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
IMAGE  ?= rdcnlab
# what runs in the guest: plain modules without a package, so they are checked by themselves
INSIDE := lib/rdcnlab/engines/kernel/inside

.DEFAULT_GOAL := help
.PHONY: help setup system kernel demo test soak check reproduce p4 lab image clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: kernel ## Install everything and build the kernel

system:
	@tools/system-packages

# One lock file with hashes; the package itself is used from this tree.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

kernel: system $(READY)
	$(BIN)/rdcnlab kernel build

demo: kernel ## Run and reproduce figure 4 of aykurt, quick profile (about two minutes after the set-up)
	RDCNLAB_RESULTS=none $(BIN)/rdcnlab reproduce aykurt/fig4 --profile quick

test: kernel ## Run all tests
	$(BIN)/python -m pytest

soak: system $(READY) ## Random cases on a kernel that checks itself (half an hour; SEEDS=0-99)
	$(BIN)/rdcnlab kernel soak --seeds $(or $(SEEDS),0-99)

check: $(READY) ## Lint, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cd $(INSIDE) && MYPYPATH=. $(abspath $(BIN))/mypy --config-file= --strict --explicit-package-bases \
		--allow-subclassing-any --ignore-missing-imports *.py
	$(BIN)/lint-imports

reproduce: kernel ## Reproduce everything, paper profile
	$(BIN)/rdcnlab reproduce --profile paper
	$(BIN)/rdcnlab report

p4: ## Compile the P4 program (needs p4c-bm2-ss)
	p4/compile

lab: kernel ## Open the notebooks in JupyterLab
	$(BIN)/jupyter lab notebooks/index.ipynb

image: ## Build the container image
	docker build -t $(IMAGE) .

clean: ## Remove what was set up here; caches of kernels and runs stay
	rm -rf $(VENV) out
