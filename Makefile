# Every command; CONTRIBUTING.md says when to use which.
CARGO ?= cargo
XSORT = target/release/xsort
# What `cargo test` has built anyway: slower, and there without another build.
TESTED = target/debug/xsort
# The store of the demo with objects, built as the program is.
SERVER = target/$(if $(filter $(TESTED),$(XSORT)),debug,release)/examples/s3_server
# Tests wait for drives and for processes half of the time.
TEST_THREADS ?= $(shell expr 2 \* $$(nproc))
# Where the demo's files go (about three times its size is needed), how much data it makes, and how much memory it may use.
DEMO_DIR ?= demo-data
DEMO_SIZE ?= 4GiB
DEMO_MEMORY ?= 256M
# Seeds of the simulated disk for `make simulate`.
SEEDS ?= 5000
# Seconds of `make soak`.
SOAK_SECONDS ?= 3600
# How often `make loom` lets a thread be interrupted.
LOOM_MAX_PREEMPTIONS ?= 3
# The uutils sort and du that `make bench` measures, and those that walk trees; the other rivals' versions are in bench/requirements.txt.
UUTILS = 0.12.0
WALKERS = diskus@0.9.0 du-dust@1.2.7 parallel-disk-usage@0.24.0
# Without its screen, which isn't measured.
DUA = 3.0.0
# A program for CSV.
XAN = 0.61.0
# Seconds for each target of `make fuzz`, and the driver's version.
FUZZ_SECONDS ?= 60
CARGO_FUZZ = 0.13.2
CARGO_DENY = 0.20.2
MKDOCS = 1.6.1

.PHONY: all demo demo-s3 test test-program test-crates test-long smoke test-arm test-portable check-macos lint format bench bench-test bench-smoke bench-tools bench-kernels fuzz fuzz-smoke fuzz-tools simulate soak loom miri asan tsan build doc dist site reproduce deny clean python test-python test-ray test-stores

all: build

build:
	$(CARGO) build --release --locked -p xsort-cli

target/release/xsort: build

$(TESTED):
	$(CARGO) build --locked -p xsort-cli

target/release/examples/s3_server: build
	$(CARGO) build --release --locked -p xsort-objects --example s3_server

target/debug/examples/s3_server:
	$(CARGO) build --locked -p xsort-objects --example s3_server

## Build, generate, sort, verify, report.
demo: build
	demo/run $(XSORT) $(DEMO_DIR) $(DEMO_SIZE) $(DEMO_MEMORY)

## The same from an object to an object, in a store that is started for it and stopped.
demo-s3: build $(SERVER)
	demo/s3 $(XSORT) $(SERVER) $(DEMO_DIR) $(DEMO_SIZE) $(DEMO_MEMORY)

## Everything that must hold, in minutes: format, lints, tests, and small runs of the demo and of the benchmark. What is built is linted on the way.
test: export RUSTC_WORKSPACE_WRAPPER = $(CURDIR)/lint/rustc
test:
	CARGO=$(CARGO) XSORT=$(TESTED) TEST_THREADS=$(TEST_THREADS) tests/run

## Of these the program's tests, those of the crates, or the examples in their documentation.
test-program:
	RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --workspace --locked --test program

test-crates:
	RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --workspace --locked --no-fail-fast --lib --bins --examples --test suite
	RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --workspace --locked --no-fail-fast --doc

## The workspace built for aarch64 Linux, and the tests of its crates under QEMU (half an hour, most of it building; says what to install).
test-arm:
	CARGO=$(CARGO) tests/arm $(ARGS)

## What other Unix systems get, built and tested on this one (lint/portable).
test-portable:
	CARGO=$(CARGO) tests/portable $(ARGS)

## The program compiled and linked for macOS, without running it (says what to install). TARGET=x86_64-apple-darwin for Intel's processors.
check-macos:
	CARGO=$(CARGO) tests/macos $(ARGS)

## The same with ten times the seeds, all sizes and thread counts, and the program as it ships (an hour).
test-long: lint build
	XSORT_LONG=1 RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --workspace --locked
	$(CARGO) test --workspace --locked --benches
	$(MAKE) --no-print-directory smoke

## The Python package: a wheel for CPython 3.11 and later with the program in it, for this machine's C library, in target/packages (needs python3 with venv).
python: build
	python/tools
	python/wheel $(XSORT) --profile release

## The Python package's tests, with the library that `make test` has built anyway.
test-python:
	$(CARGO) build --workspace --locked --quiet --lib --tests --examples
	python/test target/debug

## Sorts on clusters of Ray's on this machine, with nodes, workers and drivers killed in all phases; installs Ray, pinned, under target/ (needs python3 with venv; a quarter of an hour). ARGS go to pytest.
test-ray:
	$(CARGO) build --workspace --locked --quiet --lib --bins --examples
	python/test-ray target/debug $(ARGS)

## The program on S3 servers that others wrote, moto's and s3s-fs, which are installed, pinned, under target/ (needs python3 with venv). ARGS go to unittest.
test-stores: XSORT = $(firstword $(wildcard target/release/xsort target/debug/xsort))
test-stores:
	CARGO=$(CARGO) stores/test $(or $(XSORT),target/release/xsort) $(ARGS)

## The demo and all topics of the benchmark on little data, with the program that is there.
smoke: $(XSORT) $(SERVER)
	demo/run $(XSORT) target/demo-smoke 200MB 32M
	demo/s3 $(XSORT) $(SERVER) target/demo-smoke 200MB 128M
	@if command -v python3 >/dev/null; then $(MAKE) --no-print-directory bench-test bench-smoke; \
	else echo "NOTICE: python3 is missing: the benchmark's tests and its smoke run are skipped"; fi

## Format and lints, without building anything.
lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

format:
	$(CARGO) fmt --all

## Measure xsort as it is distributed, alone and beside its rivals, and write records (hours; ARGS go to bench/run).
bench: XSORT = target/dist/xsort
bench: bench-tools
	$(CARGO) build --profile dist --locked -p xsort-cli
	bench/run --xsort $(XSORT) $(ARGS)

## The benchmark's own tests.
bench-test:
	python3 -m unittest discover --quiet --start-directory bench/tests --top-level-directory bench

## All topics with tiny inputs, half a minute, so that they don't rot; with those rivals that are installed.
bench-smoke: $(XSORT)
	@mkdir -p target
	bench/run --xsort $(XSORT) --size 8MB --memory 4M --rounds 1 --probe 64M --probe-seconds 0.02 --keep-caches --no-touch --strict \
	--record target/bench-record $(ARGS) >target/bench-smoke.log || { cat target/bench-smoke.log; exit 1; }
	@echo "bench-smoke: all topics ran; their tables are in target/bench-record"

## Install the rivals, pinned, under target/.
bench-tools:
	python3 -m venv target/bench-venv
	target/bench-venv/bin/pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	$(CARGO) install --quiet --locked --root target/bench-tools uu_sort@$(UUTILS) uu_du@$(UUTILS) $(WALKERS) xan@$(XAN)
	$(CARGO) install --quiet --locked --root target/bench-tools --no-default-features dua-cli@$(DUA)
	$(CARGO) install --quiet --locked --root target/bench-tools --path bench/floor

## Measure the kernels, alone and beside their rivals, and the I/O engine (criterion; half an hour).
bench-kernels:
	$(CARGO) bench --workspace
	GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=4294967296 \
	$(CARGO) bench --locked --manifest-path bench/kernels/Cargo.toml \
	$$(pkg-config --atleast-version=1.1 libhwy-contrib && echo --features vqsort)

## Whole sorts on the simulated disk, over many seeds; also such whose files are tampered with between two attempts.
simulate:
	XSORT_SEEDS=$(SEEDS) $(CARGO) test --release --locked -p xsort-extsort --test suite -- simulation tampering
	XSORT_SEEDS=$(SEEDS) $(CARGO) test --release --locked -p xsort-objects --test suite -- simulation reading writing

## Jobs by chance, side by side, some of them killed at any moment; `make test` does it for seconds.
soak:
	XSORT_SOAK_SECONDS=$(SOAK_SECONDS) $(CARGO) test --release --locked -p xsort-cli --test program soak -- --nocapture

## All fuzz targets (needs nightly Rust and a C++ compiler), under the address sanitizer.
fuzz: fuzz-tools
	fuzz/run $(FUZZ_SECONDS)

## A few seconds of each, quicker to build.
fuzz-smoke:
	FUZZ_SANITIZER=none FUZZ_BUILD=--dev FUZZ_JOBS=5 fuzz/run 2

## Install cargo-fuzz, pinned, under target/. It only starts others, so it needn't be fast.
fuzz-tools:
	$(CARGO) install --quiet --locked --debug --root target/fuzz-tools cargo-fuzz@$(CARGO_FUZZ)

## The shared memory's protocol under the model checker, further than `make test` goes.
loom:
	LOOM_MAX_PREEMPTIONS=$(LOOM_MAX_PREEMPTIONS) $(CARGO) test --release --locked -p xsort-shm --lib protocol::model

# The crates with unsafe code, and whole sorts above them.
UNSAFE = -p xsort-records -p xsort-kernels -p xsort-disk -p xsort-shm -p xsort-gnu
# Where sanitized builds go, and what they are for: their own host's target, named, leaves build scripts and macros as they are.
SANITIZED = target/sanitized
# What they find is said with its lines.
LINES = CARGO_PROFILE_DEV_DEBUG=line-tables-only
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

## Miri, the interpreter that knows undefined behaviour, over what doesn't call the system (needs nightly Rust with miri).
miri:
	$(CARGO) +nightly miri test -p xsort-kernels
	$(CARGO) +nightly miri test -p xsort-shm --lib

## The address sanitizer over the crates with unsafe code and whole sorts (needs nightly Rust). It looks for leaks from a process of its own, which a test
## has no processes left for. A test wants to see a process die of SIGSEGV.
asan:
	$(LINES) ASAN_OPTIONS=detect_leaks=0:handle_segv=0 RUSTFLAGS=-Zsanitizer=address $(CARGO) +nightly test --locked --target $(HOST) --target-dir $(SANITIZED) $(UNSAFE) -p xsort-extsort --tests --no-fail-fast

## The thread sanitizer over the same (needs nightly Rust with rust-src: the standard library must be watched, too). By way of the C library, or it would
## not see that memory was given back, and take who has those addresses next for a race. Few seeds, for all is ten times as slow;
## and no models, which run in one thread, for hours.
tsan:
	$(LINES) TSAN_OPTIONS=handle_segv=0 XSORT_SEEDS=6 RUSTFLAGS="-Zsanitizer=thread --cfg rustix_use_libc" $(CARGO) +nightly test -Zbuild-std --locked --target $(HOST) --target-dir $(SANITIZED) $(UNSAFE) -p xsort-extsort --tests --no-fail-fast -- --skip protocol::model

## What is released, in target/packages: a tarball and a Debian package that run on any glibc since 2.31, each tried in an empty root (as root), a wheel and a
## source distribution for Python, each tried in an empty environment. STATIC=1 adds a statically linked tarball.
dist:
	dist/build
	dist/try
	for package in target/packages/*.whl target/packages/xsort-*[0-9].tar.gz; do python/try $$package; done

## The README and the pages of docs/ as a static site with a search, in target/site (needs python3).
site:
	[ -x target/site-tools/bin/mkdocs ] || { python3 -m venv target/site-tools && target/site-tools/bin/pip install --quiet mkdocs==$(MKDOCS); }
	target/site-tools/bin/python dist/site

## Build the tarball and the Debian package twice in two folders, and compare their bytes.
reproduce:
	dist/reproduce

## Licences, sources, withdrawn versions and known holes of all dependencies.
deny:
	$(CARGO) install --quiet --locked --root target/deny-tools cargo-deny@$(CARGO_DENY)
	target/deny-tools/bin/cargo-deny --locked check

doc:
	$(CARGO) doc --workspace --no-deps --open

clean:
	$(CARGO) clean
	rm -rf demo-data
