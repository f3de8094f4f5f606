# SPDX-License-Identifier: Apache-2.0
# The project's main targets. Each runs one or two commands that can also be typed by hand.

SHELL := /bin/bash
BUILD := build

.PHONY: all lab-here check-versions kernel build programs install wheel deb demo demo-multigpu demo-training test test-all test-on test-unit test-here test-quick test-sanitize test-threads \
	test-deb test-deb-here test-deb-service torture soak scale lockstep four-state fabric new-seeds bench test-qemu bench-rtl bench-switch \
	bench-virtual bench-fabric bench-torch papers charts renew synth formal formal-mutants waves fuzz clean distclean help

all: build ## install missing packages, configure and build everything into build/ (25 minutes)

help: ## this list; times in brackets were measured on two cores
	@awk -F ':.*## ' '/^# == / { printf "\n%s\n", substr($$0, 6) } \
		/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Each step uses all processors, and only one apt may run at a time.
.NOTPARALLEL:

# A target depends on need-GROUP to install the packages that it needs; need-demo+test names two groups.
need-%:
	@scripts/install-packages.sh $(subst +, ,$*)

# The lab's hosts are User Mode Linux, which exists for x86 only.
lab-here:
	@[ "$$(uname -m)" = x86_64 ] || { echo "make: the lab's hosts need an x86_64 machine, but this one is $$(uname -m);" \
		"libina and ina-perf work here: make test-unit, make install" >&2; exit 1; }

# == To try it
# The kernel takes the longest to build. Its build starts before the programs are compiled and runs in the background at low
# priority. The second call waits for it and prints its progress.
demo: lab-here need-demo ## four hosts all-reduce through the RTL and over the ring, compared in a table (8 minutes the first time)
	@mkdir -p $(BUILD); nice -n 5 lab/build-kernel.sh .kernel >$(BUILD)/kernel.log 2>&1 & \
		trap "kill $$! 2>/dev/null" EXIT; $(MAKE) --no-print-directory programs && lab/build-kernel.sh .kernel
	@allreduce/demo.py $(BUILD)

demo-multigpu: need-demo+docs kernel programs ## 2 machines x 4 GPUs and 4 x 2: flat ring, leader only, parallel; draws a picture
	@allreduce/demo-multigpu.sh $(BUILD)

demo-training: need-demo+docs+torch kernel programs ## four hosts train on Fashion-MNIST with PyTorch, over gloo and in the network; draws a picture
	@cmake --build $(BUILD) --target torch_ina
	@frameworks/torch/demo/demo.py --build $(BUILD)

# == To build it
check-versions: ## the programs and libraries that were found, the releases in Debian 12 and 13, and what needs them (10 seconds)
	@scripts/install-packages.sh --versions

kernel: lab-here need-demo ## build the hosts' Linux kernel into .kernel/, once; INA_LINUX names other sources of Linux 6.1 to 6.12 (4 minutes)
	@lab/build-kernel.sh .kernel

# An existing build folder keeps its configuration, including whether it has the tests.
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja
QUIETLY = $(if $(wildcard $(BUILD)/build.ninja),>/dev/null)
programs: need-demo ## only the programs, without the tests: ina-lab, ina-bridge, ina-ctl, ina-perf (1 minute)
	@$(CONFIGURE) $(or $(QUIETLY),-DINA_TESTS=OFF)
	@echo "programs: ina-lab, ina-bridge, ina-ctl and ina-perf; about a minute on two cores"
	@cmake --build $(BUILD) --target ina-lab ina-bridge ina-ctl ina-perf $(if $(MAKE_TERMOUT),,-- --quiet)

build: need-demo+unit+quick+test+lint+plan+torch+mpi+formal+synth
	@$(CONFIGURE) -UINA_PARTS -UINA_QUICK -DINA_TESTS=ON -DINA_WERROR=ON $(QUIETLY)
	@cmake --build $(BUILD)

# `make install` is independent of the other targets: cmake, ninja, a C compiler, libibverbs-dev, librdmacm-dev and
# libjansson-dev are enough. ina-bridge, without the RTL, needs these libraries too.
PREFIX ?= /usr/local
BRIDGE_PARTS = $(shell pkg-config --exists libpcap libmicrohttpd libsystemd libdeflate && echo "model;sim-bridge;")
install: ## install libina, its manual, ina-perf, ina-bridge with its service, and torch_ina (in C++ if the packages for it are installed) under PREFIX=/usr/local, staged in DESTDIR=
	@[ -n "$(BRIDGE_PARTS)" ] || echo "install: ina-bridge and ina-ctl are left out: libpcap, libmicrohttpd, libsystemd or libdeflate is missing"
	@cmake -S . -B $(BUILD)/install -G Ninja --log-level=WARNING -DINA_PARTS="$(BRIDGE_PARTS)hostlib;allreduce;frameworks/torch" \
		-DINA_BRIDGE_RTL=OFF -DINA_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@cmake --build $(BUILD)/install
	@DESTDIR=$(abspath $(DESTDIR)) cmake --install $(BUILD)/install

wheel: need-torch ## build/torch_ina-*.whl, for pip: torch_ina with libina inside, for Debian's Python and its PyTorch
	@INA_BUILD=$(abspath $(BUILD))/wheel /usr/bin/python3 -m pip wheel -q --no-build-isolation --no-index --no-deps -w $(BUILD) frameworks/torch
	@ls $(BUILD)/torch_ina-*.whl

# From a clone, since dpkg-buildpackage leaves its results next to the sources' folder.
deb: need-deb ## the Debian packages of the committed state, into build/deb/ (2 minutes)
	@git diff --quiet HEAD -- || echo "deb: changes that are not committed are left out"
	@rm -rf $(BUILD)/deb && mkdir -p $(BUILD)/deb && git clone --quiet . $(BUILD)/deb/source
	@cd $(BUILD)/deb && (cd source && dpkg-buildpackage -us -uc -b) >log 2>&1 || { tail -20 log >&2; exit 1; }
	@ls $(BUILD)/deb/*.deb

# == To test it
# Skipped tests are listed at the end; with SKIPS=error they make the run fail.
SKIPS ?= tell
REPORT = $(abspath $(BUILD))/tests.xml
CTEST = ctest --test-dir $(BUILD) --output-on-failure --progress -j $$(nproc) --output-junit $(REPORT) --test-output-size-passed 1000000
LEAVE_OUT ?= torch|mpi|long|wide
test: kernel build ## the tests without the labels in LEAVE_OUT='torch|mpi|long|wide'; lists skipped tests last (SKIPS=error: they fail the run; 15 minutes after the build)
	@$(CTEST) $(if $(LEAVE_OUT),-LE '^($(LEAVE_OUT))$$'); code=$$?; tests/skips.py $(REPORT) $(SKIPS) && exit $$code

test-all: ## all tests, including PyTorch, two MPIs and the longest ones (hours)
	@$(MAKE) --no-print-directory test LEAVE_OUT=

test-unit: need-unit ## units of libina and of the model, without hosts and RTL: all that a change of them needs at first (1 minute, 2 the first time)
	@cmake -S . -B $(BUILD)/unit -G Ninja --log-level=WARNING -DINA_PARTS="wire;model;hostlib" -DINA_WERROR=ON
	@cmake --build $(BUILD)/unit
	@ctest --test-dir $(BUILD)/unit --output-on-failure --progress -j $$((2 * $$(nproc))) -LE wide

# ina-bridge has no RTL here, since Verilator's models take long to compile on an emulated processor.
test-here: need-unit+switch+torch+mpi ## ranks on this machine, which share memory, with libina, PyTorch and two MPIs: no RDMA device, hosts or RTL (1 minute after the build)
	@cmake -S . -B $(BUILD)/here -G Ninja --log-level=WARNING -DINA_PARTS="model;sim-bridge;hostlib;allreduce;frameworks/torch;frameworks/mpi" \
		-DINA_BRIDGE_RTL=OFF -DINA_WERROR=ON
	@cmake --build $(BUILD)/here
	@ctest --test-dir $(BUILD)/here --output-on-failure --progress -R '_here$$|^hostlib\.machine\.|^model\.'

QUICK_PARTS = wire;docs;model;rtl;sim-bridge;hostlib;allreduce;lab;planner;layers;scripts
test-quick: need-demo+unit+quick+lint+plan kernel ## a cross-section: units, small benches of the RTL, four small labs (3 minutes after the build)
	@$(CONFIGURE) -DINA_PARTS="$(QUICK_PARTS)" -DINA_QUICK=ON -DINA_TESTS=ON -DINA_WERROR=ON $(QUIETLY)
	@cmake --build $(BUILD)
	@$(CTEST) -L quick; code=$$?; tests/skips.py $(REPORT) $(SKIPS) && exit $$code

# A lab's hosts have too little address space for the address sanitizer, so their programs use UBSan and memcheck.
SANITIZED := $(abspath $(BUILD))/sanitize
test-sanitize: need-demo+unit+quick+test+plan kernel ## all tests except the RTL's under ASan and UBSan; on hosts UBSan and memcheck (60 minutes)
	@cmake -S . -B $(SANITIZED) -G Ninja --log-level=WARNING -DINA_WERROR=ON -DINA_SANITIZE=address,undefined \
		-DINA_PARTS="model;rtl;sim-bridge;hostlib;allreduce;lab;planner"
	@cmake --build $(SANITIZED)
	@cmake -S . -B $(SANITIZED)-hosts -G Ninja --log-level=WARNING -DINA_WERROR=ON -DINA_SANITIZE=undefined \
		-DINA_PARTS="hostlib;allreduce;lab;planner;system;torture" -DINA_BRIDGE=$(SANITIZED)/ina-bridge
	@cmake --build $(SANITIZED)-hosts
	@ctest --test-dir $(SANITIZED) --output-on-failure --progress
	@ctest --test-dir $(SANITIZED)-hosts --output-on-failure --progress

test-threads: need-unit ## libina's unit tests, and checks with its progress thread, under the thread sanitizer: ranks on this machine, no hosts (3 minutes)
	@cmake -S . -B $(SANITIZED)-threads -G Ninja --log-level=WARNING -DINA_WERROR=ON -DINA_SANITIZE=thread -DINA_PARTS=hostlib
	@cmake --build $(SANITIZED)-threads
	@ctest --test-dir $(SANITIZED)-threads --output-on-failure --progress

TESTS ?= qemu|qemu_checks|qemu_real_network
test-qemu: need-qemu+qemu-kernels kernel build ## QEMU hosts with the kernels of Debian 12 and 13, mixed and with User Mode Linux: libina's checks, the lab, docs/real-network.md (40 minutes; TESTS=qemu: one)
	@first=$$(lab/debian-kernel.sh bookworm $(BUILD)/kernels/bookworm) && last=$$(lab/debian-kernel.sh trixie $(BUILD)/kernels/trixie) && \
		INA_QEMU_KERNELS=$$first:$$last ctest --test-dir $(BUILD) --output-on-failure -R '^lab\.($(TESTS))$$'

SUITE ?= trixie
TARGETS ?= demo test
test-on: need-suites ## TARGETS='demo test' on SUITE=trixie or bookworm, without the labels in LEAVE_OUT: a clone of the committed state in a new root folder, which is removed (60 minutes)
	@scripts/test-on.sh $(SUITE) $(BUILD)/on-$(SUITE) $(TARGETS) 'LEAVE_OUT=$(LEAVE_OUT)'

test-deb: need-suites ## on SUITE=trixie or bookworm: builds the Debian packages, installs, uses and purges them, in a new root folder (20 minutes)
	@scripts/test-on.sh $(SUITE) $(BUILD)/deb-$(SUITE) test-deb-here

# Called by test-deb in the root folder, since it installs and purges packages.
test-deb-here:
	@tests/debian/packages.sh $(BUILD)

test-deb-service: need-deb+qemu+qemu-kernels deb ## ina-bridge as a service of systemd, from its Debian package, on a QEMU machine with this Debian (15 minutes)
	@tests/debian/service.sh $(BUILD)

SEEDS ?= 100
FIRST ?= 1
torture: kernel build ## SEEDS=100 schedules of faults from FIRST=1 on, PARALLEL at a time, in virtual time; all must pass (15 minutes)
	@tests/torture/torture.py --build $(BUILD) --seeds $(SEEDS) --first $(FIRST) --parallel $(or $(PARALLEL),$$(nproc))

MINUTES ?= 10
soak: kernel build ## MINUTES=10 of communicators with losses, duplicates and late ranks, of JOBS=1 concurrent jobs (CONTEXTS=4: in turns), in real time; memory must not grow
	@tests/torture/soak.py --build $(BUILD) --seconds $$(($(MINUTES) * 60)) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS)) $(if $(CONTEXTS),--contexts $(CONTEXTS))

scale: kernel build ## HOSTS=64 (or 16) around a plain switch, in real and in virtual time; then 16 ranks on each, with the RTL in a fabric
	@INA_HOSTS=$(or $(HOSTS),64) ctest --test-dir $(BUILD) -V -R '^(lab|system)\.scale$$'

lockstep: build ## RTL compared with the C model for 2,000,000 random packets, and as many through random fabrics (PACKETS=n, FIRST=seed; half an hour of a processor)
	@tests/rtl/lockstep.sh $(BUILD) $(or $(PACKETS),2000000) $(FIRST)

fabric: build ## the protocol in SEEDS=10000000 random fabrics with random faults; overnight
	@$(BUILD)/fabric --first $(or $(FIRST),1) --count $(or $(SEEDS),10000000)

four-state: build ## the whole RTL in four states for 100,000 random packets (PACKETS=n): no X may reach an output; overnight (60 minutes of a processor)
	@INA_PACKETS=$(or $(PACKETS),100000) $(BUILD)/test_ina_four_state

new-seeds: build ## benches of the RTL, units of model and library, each with a new random seed, ROUNDS=1 times; overnight
	@scripts/new-seeds.sh $(BUILD) $(or $(ROUNDS),1)

# == To measure it
bench: need-demo+bench kernel programs ## in wall-clock time: compared with our ring, Gloo and Open MPI; small sizes, CPU time, overlap (10 minutes)
	@cmake --build $(BUILD) --target bench-programs
	@tests/bench/wall.py --build $(BUILD) --json $(BUILD)/bench.json

bench-rtl: kernel build ## the RTL's speed: beats per clock, latency, and hosts' goodput through its simulation
	@cmake --build $(BUILD) --target bench-rtl-programs
	@scripts/bench-rtl.py $(BUILD)
	@tests/bench/sim_speed.py --build $(BUILD) --json $(BUILD)/sim-speed.json

bench-switch: need-demo+bench programs ## ina-bridge on veth pairs: frames and bytes a second of a core, forwarding and aggregating, next to a Linux bridge (2 minutes)
	@cmake --build $(BUILD) --target bench-switch-programs
	@tests/bench/switch.py --build $(BUILD) --json $(BUILD)/bench-switch.json

bench-virtual: need-demo+bench kernel programs ## in virtual time: 10 to 100 Gb/s, 2 to 8 hosts, compared with the ring; JSON in build/ (60 minutes)
	@cmake --build $(BUILD) --target gloo_ring
	@tests/bench/virtual.py --build $(BUILD) --json $(BUILD)/bench-virtual.json

bench-fabric: kernel build ## in virtual time: 16 and 64 hosts at several switches, compared with the ring; JSON in build/ (hours)
	@tests/bench/fabric.py --build $(BUILD) --json $(BUILD)/bench-fabric.json

bench-torch: need-demo+torch kernel programs ## DDP's buckets with ina and with gloo, in wall-clock time; the gain for known models, in virtual time
	@cmake --build $(BUILD) --target torch_ina
	@tests/bench/torch_buckets.py --build $(BUILD)
	@tests/bench/torch_models.py --build $(BUILD)

papers: need-demo+bench+plan kernel programs ## measures docs/papers.md anew: the claims of five papers, and the same measurements here (60 minutes)
	@cmake --build $(BUILD) --target bench-programs ina-plan
	@tests/bench/papers.py --build $(BUILD)

charts: need-demo+docs kernel programs ## measures docs/results.md's chart and first tables and README's picture anew, in virtual time (5 minutes)
	@tests/bench/virtual.py --build $(BUILD) --parts charts --json docs/pictures/results.json
	@docs/pictures/draw.py

renew: kernel build ## measure the virtual times that tests expect anew, after a change that is meant to change them (1 minute)
	@INA_RENEW=1 ctest --test-dir $(BUILD) --output-on-failure -R '^system\.figures$$'

waves: need-demo+docs kernel programs ## one all-reduce on two hosts, with every signal of the RTL for GTKWave (2 minutes)
	@$(CONFIGURE) -DINA_WAVES=ON $(QUIETLY)
	@cmake --build $(BUILD) --target ina-bridge-waves
	@scripts/waves.sh $(BUILD)

SECONDS ?= 60
fuzz: build ## fuzz the model and the bridge, SECONDS=60 for each of nine fuzzers; the inputs that are kept also run through the RTL; then hostile frames at full rate, and memory must not grow (15 minutes)
	@tests/fuzz/run.sh explore $(SECONDS) $(BUILD)

# == The RTL as hardware
synth: need-synth ## the cost of the aggregator on an FPGA, by module; JSON in build/synth/ (16 minutes of a processor)
	@scripts/synth/synth.py --out $(BUILD)/synth

formal: need-formal ## prove the RTL's modules: bounded, some unbounded, and that the proofs cover something (3 minutes)
	@tests/formal/prove.py --build $(BUILD)/formal

formal-mutants: need-formal ## break each proved module with hand-made mutants: the proofs must find all of them (50 minutes)
	@tests/formal/prove.py --mutants --build $(BUILD)/formal-mutants

# == To be rid of it
clean: ## remove build/ (the kernel stays)
	rm -rf $(BUILD)

distclean: clean ## remove the kernel as well
	rm -rf .kernel
