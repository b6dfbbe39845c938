# The commands of this project. `make` alone lists them. They call cargo, npm and the programs in scripts/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TARGET := $(or $(CARGO_TARGET_DIR),target)

# For `make run`; set them in the environment or on the command line.
LISTEN ?= 127.0.0.1:8080
DATA_DIR ?= ./data
PUBLIC_URL ?= http://$(LISTEN)

# For `make soak`.
MEDIA ?= 200
SECONDS ?= 120
KILL_EVERY ?= 5
# Uploads of the soak test: file size, number of interruptions, and megabytes per second.
MEGABYTES ?= 2000
INTERRUPTIONS ?= 50
RATE ?= 10
# Schemathesis requests per operation in the soak test.
API_EXAMPLES ?= 1400

.PHONY: help run test test-all build dist web check bench soak sources quality clean

help: ## List these commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 16

run: ## Install what is missing, build quickly, serve on 127.0.0.1:8080 and show a clip in it
	@scripts/install.sh run
	@$(MAKE) --no-print-directory web
	cargo build --profile quick --locked --package kinora-server
	@LISTEN='$(LISTEN)' DATA_DIR='$(DATA_DIR)' PUBLIC_URL='$(PUBLIC_URL)' scripts/run.sh '$(TARGET)/quick/kinora'

test: ## Install what the tests need and run what every change has to pass: about 50 minutes on 2 cores
	@scripts/install.sh test
	@$(MAKE) --no-print-directory web
	@scripts/test.sh

test-all: ## The same with the long suites and more crash injection
	@scripts/install.sh test
	@$(MAKE) --no-print-directory web
	@scripts/test.sh all

build: web ## Build the web part and the optimised binary, target/release/kinora
	cargo build --release --locked --package kinora-server

dist: web ## Build the binary for distribution, target/dist/kinora: smaller, and slower to build
	cargo build --profile dist --locked --package kinora-server

web: web/dist/embed.html ## Build the player page into web/dist

check: ## Formatting, lints and tidy: seconds once built
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings
	cargo xtask tidy

bench: ## Measure against the baselines and print the ratios
	@scripts/install.sh bench
	@$(MAKE) --no-print-directory build
	@KINORA='$(TARGET)/release/kinora' bench/run.sh

sources: ## Post a clip of every kind of source and write docs/sources.md
	@scripts/install.sh proof
	@$(MAKE) --no-print-directory build
	@KINORA='$(TARGET)/release/kinora' proof/run.sh sources

quality: ## Compare encoded renditions with one call of the encoder
	@scripts/install.sh proof
	@$(MAKE) --no-print-directory build
	@KINORA='$(TARGET)/release/kinora' proof/run.sh quality

soak: ## Kill processes, measure time limits and load, fuzz the API, interrupt an upload, fail each write
	@scripts/install.sh test
	@$(MAKE) --no-print-directory build
	@KINORA='$(TARGET)/release/kinora' soak/run.sh --media $(MEDIA) --seconds $(SECONDS) --kill-every $(KILL_EVERY)
	@KINORA='$(TARGET)/release/kinora' soak/run.sh time-limits
	@KINORA='$(TARGET)/release/kinora' soak/run.sh tenants
	@KINORA='$(TARGET)/release/kinora' KINORA_SCHEMATHESIS_EXAMPLES=$(API_EXAMPLES) KINORA_SCHEMATHESIS_NEW=1 scripts/schemathesis.sh
	@KINORA='$(TARGET)/release/kinora' soak/run.sh uploads --megabytes $(MEGABYTES) --interruptions $(INTERRUPTIONS) --rate $(RATE)
	@scripts/test.sh each

clean: ## Delete what was built; data and its media stay
	cargo clean
	rm -rf web/dist web/node_modules

# npm writes this file at the end of an installation.
web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@scripts/install.sh web
	npm --prefix web ci
	@touch $@

web/dist/embed.html: web/node_modules/.package-lock.json web/build.mjs web/tsconfig.json $(shell find web/src -type f)
	npm --prefix web run --silent build
