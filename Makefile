# SPDX-License-Identifier: Apache-2.0
# Front door; the build itself is CMake's (docs/building.md). Every target does its own set-up.
.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.PHONY: help setup setup-tools setup-gpu setup-packages setup-docs demo demo-multihost test test-multihost test-long test-all gpu packages docs bench format tidy clean

comma := ,
MPIS := mpich openmpi
RELEASE := $(addprefix release-,$(MPIS))
FLAG3 := $(addprefix flag3-,$(MPIS))
SANITIZED := $(addprefix asan-,$(MPIS)) $(addprefix tsan-,$(MPIS))
TREES := $(RELEASE) $(FLAG3) no-ofi-mpich $(SANITIZED)
BRIEF := asan-mpich tsan-mpich flag3-mpich
.PHONY: $(addprefix test-,$(TREES)) $(addprefix test-brief-,$(BRIEF))

# Open MPI's launcher refuses root, and more ranks than cores, without these.
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' Makefile | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'
	@printf '  make %-14s %s\n' test-TREE 'every suite in one tree: $(TREES)'
	@printf '  make %-14s %s\n' test-brief-TREE 'units and the suites of two ranks in one of $(BRIEF)'

setup: ## install the Debian packages that are missing
	@tools/setup

setup-tools:
	@tools/setup --tools

setup-gpu:
	@tools/setup --gpu

setup-packages:
	@tools/setup --packages

setup-docs:
	@tools/setup --docs

demo: setup ## Conway's Life over streams: verified, timed, drawn (build/demo)
	@apps/life/demo.sh $(addprefix build/,$(RELEASE))

demo-multihost: setup ## the same between four ranks on two hosts, which are namespaces of this machine (needs root)
	@for tree in $(RELEASE); do tools/build $$tree multihost || exit 1; done
	@apps/life/demo_multihost.sh $(addprefix build/,$(RELEASE))

# Units, command lines and what goes by libfabric know no MPI: one is enough for everyday. Jobs of three ranks, and the label seldom, are test-all's.
test: setup ## release builds for both MPIs, every suite; those that know no MPI with MPICH alone
	@tools/build release-mpich
	@tools/build release-openmpi everyday
	@tools/run_tests.py "release-mpich,-LE ranks3|seldom" "release-openmpi,-LE ofi|multihost|unit|command|layering|plot|foreign|ranks3|seldom"

test-multihost: setup ## of these the jobs on several hosts, which are namespaces of this machine (need root, else skipped)
	@for tree in $(RELEASE); do tools/build $$tree multihost || exit 1; done
	@tools/run_tests.py $(foreach tree,$(RELEASE),"$(tree)$(comma)-L multihost")

# One tree of those that test-all goes through.
$(addprefix test-,$(TREES)): test-%: setup
	@tools/build $*
	@tools/run_tests.py $*

# What continuous integration has time for, of one of them in each run.
$(addprefix test-brief-,$(BRIEF)): test-brief-%: setup
	@tools/build $* brief
	@tools/run_tests.py "$*,-L unit|brief"

test-long: setup ## the long forms: every order of the explorer, every variant of the litmus programs, a million epochs
	@for tree in $(RELEASE); do tools/build $$tree || exit 1; done
	@tools/run_tests.py $(foreach tree,$(RELEASE),"$(tree)$(comma)-C Long -L long")

gpu: setup setup-gpu ## CUDA and HIP code: compiled, and run where that needs no GPU
	@tools/build_gpu
	@mapfile -t suites <build/gpu-suites; [[ $${#suites[@]} == 0 ]] || tools/run_tests.py "$${suites[@]}"

test-all: setup setup-gpu docs packages ## docs, packages, test, gpu, every tree, no eager messages, and the long forms
	@for tree in $(TREES); do tools/build $$tree || exit 1; done
	@tools/build_gpu
	@mapfile -t suites <build/gpu-suites; tools/run_tests.py $(RELEASE) "$${suites[@]}" \
	  $(foreach tree,$(RELEASE),"$(tree)$(comma)PENSTOCK_EAGER_MAX=0$(comma)-L mpi") $(FLAG3) no-ofi-mpich $(SANITIZED) \
	  $(foreach tree,$(RELEASE),"$(tree)$(comma)-C Long -L long")

packages: setup setup-packages ## .deb packages for both MPIs, tried in a fresh Debian
	@for mpi in $(MPIS); do tools/package $$mpi --try || exit 1; done

docs: setup-docs ## the documentation as a site (build/docs/html), all links checked
	@tools/docs

bench: setup ## latency, bandwidth, message rate and halo beside plain MPI, on both MPIs
	@for tree in $(RELEASE); do tools/build $$tree penstock_command || exit 1; done
	@for mpi in $(MPIS); do for what in latency bw message-rate halo; do echo "== $$mpi: $$what"; \
	  mpiexec.$$mpi -n 2 build/release-$$mpi/bin/penstock bench $$what </dev/null || exit 1; done; done

format: setup-tools ## clang-format over all sources
	@git ls-files '*.c' '*.cpp' '*.cu' '*.cuh' '*.h' '*.hpp' | xargs clang-format -i

tidy: setup setup-tools ## clang-tidy over src
	@cmake --preset release-mpich -B build/tidy -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
	@run-clang-tidy -quiet -p build/tidy -extra-arg=-Wno-unknown-warning-option "$(CURDIR)/src/"

clean: ## remove build/
	rm -rf build

