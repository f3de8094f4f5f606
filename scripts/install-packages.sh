#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that building, testing and running the project take, as far as they
# are missing. Where none is, it says so, needs no root and touches nothing.

set -euo pipefail

# What a group is for, and its packages.
groups=(
	"building" "build-essential cmake ninja-build g++ pkg-config make git"
	"the RTL: simulation, synthesis and the report on it, proofs" "verilator yosys python3-numpy z3"
	"RDMA: verbs, connection manager, soft-RoCE, and programs to try them with"
	"libibverbs-dev librdmacm-dev rdma-core ibverbs-providers ibverbs-utils rdmacm-utils perftest"
	"the bridge and the model: captures, JSON, checksums"
	"libpcap-dev libjansson-dev libdeflate-dev zlib1g-dev"
	"tests, readers of captures and of manual pages" "libcmocka-dev python3 python3-pytest python3-scapy tshark mandoc"
	"the picture of make demo-multigpu" "gnuplot-nox"
	"memory errors on hosts, which have no room for the address sanitizer" "valgrind"
	"fuzzing, and the compiler and linker of the simulated RTL" "clang-14 libclang-rt-14-dev llvm-14 lld"
	"the all-reduces that ours is measured beside" "libgloo-dev libopenmpi-dev openmpi-bin"
	"a launcher that a test starts" "slurmctld slurmd"
	"the hosts' kernel" "linux-source-6.1 flex bison bc libelf-dev libssl-dev xz-utils patch"
	"the hosts' first process" "iproute2 mount util-linux"
)

fail() {
	echo "install-packages: $*" >&2
	exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	fail "this script knows Debian's apt alone; install by hand what it lists: $0"
fi

missing=()
reasons=()
for ((i = 0; i < ${#groups[@]}; i += 2)); do
	missing_here=()
	for package in ${groups[i + 1]}; do
		status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
		[ "$status" = installed ] || missing_here+=("$package")
	done
	[ ${#missing_here[@]} -gt 0 ] || continue
	missing+=("${missing_here[@]}")
	reasons+=("  for ${groups[i]}: ${missing_here[*]}")
done

if [ ${#missing[@]} -eq 0 ]; then
	echo "install-packages: all packages are there"
	exit 0
fi

echo "install-packages: missing"
printf '%s\n' "${reasons[@]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	# sudo may ask for a password where there is somebody to ask.
	if ! command -v sudo >/dev/null || { ! sudo -n true 2>/dev/null && ! [ -t 0 ]; }; then
		fail "neither root nor sudo; ask somebody who is to run:" \
			"apt-get install --no-install-recommends ${missing[*]}"
	fi
	as_root=(sudo)
fi

# Debian's lists of packages may be missing or old: then the installation fails, and is tried once
# more with new ones. tshark would ask a question.
install() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends "${missing[@]}" </dev/null
}
if ! install; then
	echo "install-packages: trying again with fresh package lists"
	"${as_root[@]}" apt-get update -q </dev/null || fail "apt-get update failed; see above"
	install || fail "could not install: ${missing[*]}"
fi
echo "install-packages: installed ${#missing[@]} packages"
