#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#     scripts/install-packages.sh GROUP...
#
# Installs those Debian packages of these groups that are missing. If none is missing, it prints
# nothing and does not need root. Without an argument it lists the groups.

set -euo pipefail

# Name, use, packages. For more than the demo, name that group as well: `demo test`.
groups=(
	demo "compilers, the hosts and their kernel, verbs, the bridge and the simulated RTL"
	"build-essential cmake ninja-build pkg-config python3
	verilator clang-14 lld libpcap-dev libjansson-dev libdeflate-dev
	libibverbs-dev librdmacm-dev ibverbs-providers
	linux-source-6.1 flex bison bc xz-utils patch iproute2 mount util-linux"

	unit "unit tests of libina and of the model"
	"build-essential cmake ninja-build pkg-config python3
	libibverbs-dev librdmacm-dev libjansson-dev libdeflate-dev zlib1g-dev libcmocka-dev python3-pytest"

	quick "the tests of make test-quick, for which demo, unit, lint and plan are needed too"
	"git yosys python3-scapy tshark mandoc"

	test "tests, fuzzers, third-party RDMA programs, launchers, memcheck; demo, unit and quick are needed too"
	"iverilog libclang-rt-14-dev llvm-14
	rdma-core rdmacm-utils ibverbs-utils perftest openmpi-bin slurmctld slurmd valgrind"

	lint "checks of layout and of common faults: C and C++, Python, shell scripts"
	"clang-format flake8 shellcheck"

	bench "the all-reduces that ours is compared with, and their launchers"
	"libgloo-dev libopenmpi-dev openmpi-bin ibverbs-utils perftest"

	plan "the planner's linear-program solver"
	"libglpk-dev libjansson-dev"

	torch "PyTorch, the backend for it and its tests, pictures to train on"
	"cmake ninja-build g++ pkg-config libibverbs-dev librdmacm-dev
	python3-torch libtorch-dev pybind11-dev python3-pip python3-setuptools python3-wheel python3-pytest dataset-fashion-mnist"

	mpi "the interposers for MPI and their tests, third-party MPI programs"
	"openmpi-bin libopenmpi-dev mpich libmpich-dev python3-mpi4py python3-numpy python3-pytest
	scalapack-mpi-test netpipe-openmpi netpipe-mpich2 hpcc"

	formal "proofs of the RTL's modules"
	"yosys z3"

	synth "the cost of the RTL on an FPGA, and the report on it"
	"yosys python3-numpy"

	docs "manual pages, plots and waveforms"
	"mandoc gnuplot-nox zlib1g-dev"
)

fail() {
	echo "install-packages: $*" >&2
	exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	fail "this script supports only Debian's apt; install the packages that it lists by hand: $0"
fi

if [ $# -eq 0 ]; then
	for ((i = 0; i < ${#groups[@]}; i += 3)); do
		printf '%-7s %s\n' "${groups[i]}" "${groups[i + 1]}"
		printf '%s' "${groups[i + 2]}" | tr -s '[:space:]' ' ' | fold -s -w 92 | sed 's/^/        /; s/ *$//'
		echo
	done
	exit 0
fi

missing=()
reasons=()
for name in "$@"; do
	for ((i = 0; i < ${#groups[@]}; i += 3)); do
		[ "${groups[i]}" != "$name" ] || break
	done
	[ $i -lt ${#groups[@]} ] || fail "$name: no such group; without an argument, this script lists them"
	missing_here=()
	for package in ${groups[i + 2]}; do
		status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
		[ "$status" = installed ] || missing_here+=("$package")
	done
	[ ${#missing_here[@]} -gt 0 ] || continue
	missing+=("${missing_here[@]}")
	reasons+=("  $name (${groups[i + 1]}): ${missing_here[*]}")
done

[ ${#missing[@]} -gt 0 ] || exit 0

echo "install-packages: missing"
printf '%s\n' "${reasons[@]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	# sudo may ask for a password only if there is a terminal.
	if ! command -v sudo >/dev/null || { ! sudo -n true 2>/dev/null && ! [ -t 0 ]; }; then
		fail "this user is not root and sudo is missing; ask an administrator to run:" \
			"apt-get install --no-install-recommends ${missing[*]}"
	fi
	as_root=(sudo)
fi

# If Debian's package lists are missing or old, the installation fails, and is tried again with new
# lists. DEBIAN_FRONTEND keeps tshark from asking a question.
install() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 \
		--no-install-recommends "${missing[@]}" </dev/null >/dev/null
}
echo "install-packages: installing ${#missing[@]} packages and their dependencies; a minute or two"
if ! install; then
	echo "install-packages: trying again with fresh package lists"
	"${as_root[@]}" apt-get update -q </dev/null || fail "apt-get update failed; see above"
	install || fail "could not install: ${missing[*]}"
fi
echo "install-packages: installed ${#missing[@]} packages"
