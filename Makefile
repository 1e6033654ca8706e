# The commands of everyday work. Each starts from nothing: packages, configuration, build.
#
# JOBS=4 make build          number of parallel compilations (default: all cores)
# SOAK_SECONDS=600 make soak time per fuzz target (default 60)
# SOAK_ROUNDS=20 make soak   seeds per sanitizer (default 3)
# BENCH_ROUNDS=7 make bench-runtime   measurements of which medians are taken (default 7)
# SOAK_SECONDS=60 SOAK_SEED=7 make soak-runtime   time in all (default 600) and seed (default: drawn)
# SOAK_SEED=7 make soak-scripts   seed of the events (default 1)
# SOAK_BLOWS=40 SOAK_SEED=7 make soak-blows   blows (default 200) and seed (default: drawn)
# SOAK_KILLS=20 SOAK_SEED=7 make soak-live   kills (default 100) and seed (default: drawn)
# SOAK_SECONDS=600 make bench-web   time of the live session (default 60)
# LINT_TESTS=1 make lint     clang-tidy also reads the tests

JOBS ?= $(shell nproc)
export JOBS
BEGAN := $(shell date +%s)

.DEFAULT_GOAL := help
.PHONY: help deps configure build demo demo-sim test unit bench bench-runtime bench-live bench-web \
        images experiments docs soak soak-runtime soak-scripts soak-blows soak-check soak-live \
        format lint clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

deps: ## Install the Debian packages that are missing
	@tools/deps.sh

configure: deps
	@cmake --preset release --log-level=WARNING >/dev/null

build: configure ## Build everything into build/
	@cmake --build --preset release -j $(JOBS)

demo: configure ## Train six real jobs on this machine under promises, about two minutes
	@cmake --build --preset release -j $(JOBS) --target rubato rubato_python fashion_mnist_cpp
	build/rubato demo --began $(BEGAN)

demo-sim: configure ## Compare seven schedulers in virtual time; the report is build/demo.html
	@cmake --build --preset release -j $(JOBS) --target rubato
	build/rubato demo --sim --html build/demo.html

test: deps ## Run all tests, the sanitizer build and the fuzz corpora
	@tools/test.sh

unit: build ## Run the unit tests alone
	@cmake --build --preset release -j $(JOBS) --target unit_tests
	@ctest --preset release -L unit -j $$((2 * $(JOBS)))  # Many wait: for processes, for timers.

bench: configure ## Measure the engine; numbers go to build/bench/engine.json
	@cmake --build --preset release -j $(JOBS) --target engine_bench
	@mkdir -p build/bench
	build/engine_bench --benchmark_out=build/bench/engine.json --benchmark_out_format=json
	@python3 -B tools/bench_growth.py build/bench/engine.json

bench-runtime: configure ## Compare the runtime with torchrun, DDP, gloo and OpenMPI
	@cmake --build --preset release -j $(JOBS) --target rubato rubato_python allreduce_bench
	@$$(sed -n 's/^RUBATO_PYTHON:FILEPATH=//p' build/CMakeCache.txt) -B bench/runtime/run.py \
	  build/bench/runtime.json

bench-live: configure ## Put load on a running platform; numbers go to build/bench/live.json
	@cmake --build --preset release -j $(JOBS) --target rubato live_load
	@python3 -B bench/live/run.py build/bench/live.json

bench-web: build ## Measure the dashboard with 10,000 jobs; fails if a session makes it grow
	RUBATO_BINARY=build/rubato node web/tests/many_jobs.mjs --seconds $(or $(SOAK_SECONDS),60)

images: build ## Take the pictures of the documents anew: of the demo, the dashboard and a report
	SCREENSHOTS=docs/images RUBATO_BINARY=build/rubato node --test web/tests/pictures.test.mjs

experiments: build ## Reproduce published figures beside the published values
	experiments/elasticflow/run.sh
	experiments/afs/run.sh
	experiments/elasticdl/run.sh
	experiments/pollux/run.sh
	experiments/oasis/run.sh
	experiments/dps/run.sh
	experiments/chronus/run.sh
	experiments/testbed/run.sh

docs: configure ## Write the documents that are made from the program
	@cmake --build --preset release -j $(JOBS) --target rubato
	build/rubato policy list --markdown > build/policies.md
	@cp build/policies.md docs/policies.md
	build/rubato openapi > build/openapi.json
	@cp build/openapi.json docs/openapi.json

soak: deps ## Fuzz for a minute each, then all tests under sanitizers with many seeds
	@tools/soak.sh

soak-runtime: configure ## Disturb elastic jobs at random; each must end as if nothing had happened
	@cmake --build --preset release -j $(JOBS) --target rubato counting_trainer
	python3 -B tools/soak_runtime.py --seconds $(or $(SOAK_SECONDS),600) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

soak-scripts: configure ## Run ordinary scripts alone and elastically; each must end as if it were alone
	@cmake --build --preset release -j $(JOBS) --target rubato rubato_python
	@tools/soak_scripts.sh $(or $(SOAK_SEED),1)

soak-blows: configure ## Resize, kill and suspend ten scripts at random, 200 times; results must not differ
	@cmake --build --preset release -j $(JOBS) --target rubato rubato_python
	@$$(sed -n 's/^RUBATO_PYTHON:FILEPATH=//p' build/CMakeCache.txt) -B tests/scripts/blows.py \
	  --blows $(or $(SOAK_BLOWS),200) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

soak-check: configure ## Run `rubato check` over ordinary scripts; no verdict may be wrong, none late
	@cmake --build --preset release -j $(JOBS) --target rubato rubato_python
	@$$(sed -n 's/^RUBATO_PYTHON:FILEPATH=//p' build/CMakeCache.txt) -B tests/scripts/check_all.py
	@$$(sed -n 's/^RUBATO_PYTHON:FILEPATH=//p' build/CMakeCache.txt) -B tests/scripts/check_all.py \
	  --control

soak-live: build ## Kill the live platform with -9 again and again while jobs train; nothing may be lost
	python3 -B tools/soak_live.py --kills $(or $(SOAK_KILLS),100) $(if $(SOAK_SEED),--seed $(SOAK_SEED))

format: deps ## Format every C++ file
	@tools/format.sh

lint: deps ## Check format, repository rules and clang-tidy
	@cmake --preset lint --log-level=WARNING >/dev/null
	@cmake --build --preset lint -j $(JOBS)
	@tools/lint.sh

clean: ## Remove all build directories
	rm -rf build build-asan build-tsan build-fuzz build-lint
