#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#     scripts/install-packages.sh GROUP...
#     scripts/install-packages.sh --versions
#
# Installs those packages of these groups that are missing. If none is missing, it prints nothing and
# does not need root. On a distribution without a column in packages.txt it installs nothing: it looks
# for the programs and libraries themselves, and lists those that are missing.
# With --versions it prints what was found of all groups. Without an argument it lists the groups.

set -euo pipefail -f

# Name, use, packages. For more than the demo, name that group as well: `demo test`.
groups=(
	demo "compilers, the hosts and their kernel, verbs, the bridge and the simulated RTL"
	"build-essential cmake ninja-build pkg-config python3
	verilator clang lld libpcap-dev libjansson-dev libmicrohttpd-dev libsystemd-dev libdeflate-dev
	libibverbs-dev librdmacm-dev ibverbs-providers
	linux-source flex bison bc xz-utils patch iproute2 mount util-linux"

	unit "unit tests of libina and of the model"
	"build-essential cmake ninja-build pkg-config python3
	libibverbs-dev librdmacm-dev libjansson-dev libdeflate-dev zlib1g-dev libcmocka-dev python3-pytest"

	switch "the switch without its RTL"
	"libpcap-dev libjansson-dev libmicrohttpd-dev libsystemd-dev libdeflate-dev"

	quick "the tests of make test-quick, for which demo, unit, lint and plan are needed too"
	"git python3-scapy tshark tcpreplay mandoc"

	test "tests, fuzzers, third-party RDMA programs, launchers, memcheck; demo, unit and quick are needed too"
	"libclang-rt-dev llvm yosys iverilog
	rdma-core rdmacm-utils ibverbs-utils perftest openmpi-bin slurmctld slurmd valgrind"

	lint "checks of layout and of common faults: C and C++, Python, shell scripts"
	"clang-format flake8 shellcheck"

	bench "the all-reduces that ours is compared with, and their launchers"
	"libgloo-dev libopenmpi-dev openmpi-bin ibverbs-utils perftest zlib1g-dev"

	plan "the planner's linear-program solver"
	"libglpk-dev libjansson-dev"

	torch "PyTorch, the backend for it and its tests, pictures to train on"
	"cmake ninja-build g++ pkg-config libibverbs-dev librdmacm-dev
	python3-torch libtorch-dev pybind11-dev python3-pip python3-setuptools python3-wheel python3-pytest dataset-fashion-mnist"

	deb "Debian packages"
	"build-essential debhelper dh-python cmake ninja-build pkg-config
	libibverbs-dev librdmacm-dev libjansson-dev libpcap-dev libmicrohttpd-dev libsystemd-dev libdeflate-dev"

	deb-check "checks of Debian packages"
	"lintian"

	mpi "the interposers for MPI and their tests, third-party MPI programs"
	"openmpi-bin libopenmpi-dev mpich libmpich-dev python3-mpi4py python3-numpy python3-pytest
	scalapack-mpi-test netpipe-openmpi netpipe-mpich2 hpcc"

	formal "proofs of the RTL's modules"
	"yosys z3"

	synth "the cost of the RTL on an FPGA, and the report on it"
	"yosys python3-numpy"

	qemu "hosts that are QEMU machines with the distribution's own kernel: ina-lab run --hosts qemu"
	"qemu-system-x86 linux-image-amd64"

	qemu-kernels "such kernels of two Debian suites, for make test-qemu; qemu is needed too"
	"mmdebstrap kmod e2fsprogs"

	suites "root folders of other Debian suites, to test in"
	"mmdebstrap uidmap util-linux git"

	docs "manual pages, plots and waveforms"
	"mandoc gnuplot-nox zlib1g-dev"
)

fail() {
	echo "install-packages: $*" >&2
	exit 1
}

# The distribution: the column of packages.txt that has its packages' names.
distribution=
while IFS='=' read -r key value; do
	value=${value//[\"\']/}
	case $key in
	ID) id=$value ;;
	VERSION_ID) release=$value ;;
	esac
done <"${INA_OS_RELEASE:-/etc/os-release}"
case ${id:-} in
debian | fedora) distribution=$id ;;
ubuntu) [ "$release" != 24.04 ] && [ "$release" != 26.04 ] || distribution=ubuntu-$release ;;
esac

# Columns of packages.txt by Debian name.
declare -A looked_for tried names
while read -r package what releases ubuntu_24_04 ubuntu_26_04 fedora; do
	[ "$package" != "#" ] || continue
	looked_for[$package]=$what
	tried[$package]=$releases
	case $distribution in
	ubuntu-24.04) name=$ubuntu_24_04 ;;
	ubuntu-26.04) name=$ubuntu_26_04 ;;
	fedora) name=$fedora ;;
	*) name="=" ;;
	esac
	names[$package]=${name/#=/$package}
done < <(sed 's/^#.*/#/' "$(dirname "${BASH_SOURCE[0]}")/packages.txt")

# The paths that a pattern stands for. Everywhere else, set -f keeps patterns as they are.
paths() (
	set +f
	shopt -s globstar nullglob
	# shellcheck disable=SC2086
	printf '%s\n' $1
)

# Prints the release of something in the column "looked for", or nothing if it is not there.
release_of() {
	local found path

	case $1 in
	*.pc) pkg-config --modversion "${1%.pc}" 2>/dev/null || true ;;
	*.py) /usr/bin/python3 -c "import importlib.metadata as m; print(m.version('${1%.py}'))" 2>/dev/null || true ;;
	/usr/src/linux-source-*) find_sources "$1" ;;
	/*) [ -z "$(paths "$1")" ] || echo found ;;
	*)
		path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$1") || return 0
		# Several programs have an own option for it, and some none.
		for option in --version -V -v; do
			found=$(timeout 10 "$path" $option 2>&1 </dev/null | grep -Eom 1 '[0-9]+\.[0-9]+[0-9.]*' | head -1) || true
			[ -z "$found" ] || break
		done
		echo "${found:-found}"
		;;
	esac
}

# The column "looked for", a thing a line, with its * unexpanded.
things_of() {
	tr , '\n' <<<"${looked_for[$1]}"
}

find_sources() {
	if [ -n "${INA_LINUX:-}" ]; then
		echo "$INA_LINUX"
		return
	fi
	paths "$1" | sed 's/.*linux-source-//; s/\.tar.*//' | sort -V | tail -1
}

# The packages of a group.
packages_of() {
	local i

	for ((i = 0; i < ${#groups[@]}; i += 3)); do
		if [ "${groups[i]}" = "$1" ]; then
			use=${groups[i + 1]} packages=${groups[i + 2]}
			return
		fi
	done
	fail "$1: no such group; without an argument, this script lists them"
}

print_groups() {
	local i

	for ((i = 0; i < ${#groups[@]}; i += 3)); do
		printf '%-7s %s\n' "${groups[i]}" "${groups[i + 1]}"
		printf '%s' "${groups[i + 2]}" | tr -s '[:space:]' ' ' | fold -s -w 92 | sed 's/^/        /; s/ *$//'
		echo
	done
}

print_versions() {
	local i package what found
	declare -A needed

	for ((i = 0; i < ${#groups[@]}; i += 3)); do
		for package in ${groups[i + 2]}; do
			needed[$package]="${needed[$package]:-} ${groups[i]}"
		done
	done
	printf '%-22s %-20s %-14s %-14s %s\n' "Debian package" "looked for" found "Debian 12, 13" "needed for"
	while read -r package; do
		for what in $(things_of "$package"); do
			found=$(release_of "$what")
			what=${what##*/}
			printf '%-22s %-20s %-14s %-14s%s\n' "$package" "${what%-\*.tar.\*}" "${found:-MISSING}" \
				"${tried[$package]/,/, }" "${needed[$package]}"
		done
	done < <(printf '%s\n' "${!needed[@]}" | LC_ALL=C sort)
}

is_installed() {
	case $distribution in
	fedora) rpm -q --quiet --whatprovides "$1" 2>/dev/null ;;
	*) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
	esac
}

# Adds a group's missing packages to `missing` and `reasons`, and to `absent` those without a name here.
find_missing() {
	local package name what here=()

	packages_of "$1"
	for package in $packages; do
		if [ -n "$distribution" ] && [ "${names[$package]}" != - ]; then
			for name in ${names[$package]//,/ }; do
				is_installed "$name" || here+=("$name")
			done
			continue
		fi
		for what in $(things_of "$package"); do
			[ -n "$(release_of "$what")" ] ||
				absent+=("$(printf '  %-24s %-44s %s' "$package" "$what" "${tried[$package]/,/, }")")
		done
	done
	[ ${#here[@]} -gt 0 ] || return 0
	missing+=("${here[@]}")
	reasons+=("  $1 ($use): ${here[*]}")
}

# If the lists of packages are missing or old, the installation fails, and is tried again with new lists.
# Only the second attempt shows what is wrong.
# DEBIAN_FRONTEND keeps tshark from asking a question.
install() {
	case $distribution in
	fedora) "${as_root[@]}" dnf install -y -q "${missing[@]}" </dev/null >/dev/null ;;
	*)
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 \
			--no-install-recommends "${missing[@]}" </dev/null >/dev/null
		;;
	esac
}

renew_lists() {
	case $distribution in
	fedora) "${as_root[@]}" dnf makecache -q </dev/null ;;
	*) "${as_root[@]}" apt-get update -q </dev/null ;;
	esac
}

case ${1:-} in
"")
	print_groups
	exit 0
	;;
--versions)
	[ $# -eq 1 ] || fail "--versions takes no argument"
	print_versions
	exit 0
	;;
esac

missing=() reasons=() absent=()
for group in "$@"; do
	find_missing "$group"
done

if [ ${#absent[@]} -gt 0 ]; then
	echo "install-packages: not found on ${id:-this distribution} ${release:-}; Debian's package, what was looked for, its releases in Debian 12 and 13:" >&2
	printf '%s\n' "${absent[@]}" | LC_ALL=C sort -u >&2
	[[ "${absent[*]}" != *linux-source* ]] ||
		echo "  Instead of linux-source, INA_LINUX=/path/to/linux names a tree or an archive of Linux 6.1 to 6.12." >&2
	fail "packages.txt names no packages for them; install them by hand"
fi
[ ${#missing[@]} -gt 0 ] || exit 0

echo "install-packages: missing"
printf '%s\n' "${reasons[@]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	# sudo may ask for a password only if there is a terminal.
	if ! command -v sudo >/dev/null || { ! sudo -n true 2>/dev/null && ! [ -t 0 ]; }; then
		case $distribution in
		fedora) command="dnf install" ;;
		*) command="apt-get install --no-install-recommends" ;;
		esac
		fail "this user is not root and sudo is missing; ask an administrator to run: $command ${missing[*]}"
	fi
	as_root=(sudo)
fi

echo "install-packages: installing ${#missing[@]} packages and their dependencies; a minute or two"
if ! install 2>/dev/null; then
	echo "install-packages: trying again with fresh package lists"
	renew_lists || fail "the package lists could not be renewed; see above"
	install || fail "could not install: ${missing[*]}"
fi
echo "install-packages: installed ${#missing[@]} packages"
