#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#     tests/debian/packages.sh BUILD
#
# Builds the Debian packages in BUILD/deb, then installs, uses and purges them on this very machine. `make test-deb` calls it in a
# new root folder. The packages that only the build needs are purged before the installation, so a missing dependency shows.

set -euo pipefail

build=$1
deb=$build/deb
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "test-deb: $*" >&2
	exit 1
}

step() {
	echo "test-deb: $*"
}

# Runs a command quietly; its output is shown if it fails.
quietly() {
	"$@" >"$work/log" 2>&1 || {
		tail -30 "$work/log" >&2
		fail "failed: $*"
	}
}

apt() {
	quietly apt-get --yes --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
}

installed() {
	# shellcheck disable=SC2016 # dpkg-query's names
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | LC_ALL=C sort
}

# Files and users. Package managers keep lists, logs and caches; each boot makes /run anew.
state() {
	find / -xdev \( -path /tmp -o -path /run -o -path /srv -o -path /root -o -path /var/log -o -path /var/cache \
		-o -path /var/lib/dpkg -o -path /var/lib/apt \) -prune -o -print | LC_ALL=C sort
	cat /etc/passwd /etc/group
}

[ "$(id -u)" -eq 0 ] || fail "only root can install packages"
! installed | grep -E '^(libina|ina-|python3-torch-ina)' || fail "the packages are installed here already; this test would purge them"

step "building the packages"
installed >"$work/before"
quietly make BUILD="$build" deb
! grep -q -e -march "$deb/log" || fail "something is compiled for this processor alone"
quietly scripts/install-packages.sh deb-check
# No bug of Debian asks for these packages.
quietly lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$deb"/*.changes
mapfile -t build_only < <(installed | LC_ALL=C comm -13 "$work/before" -)
apt purge "${build_only[@]}"

mapfile -t files < <(find "$PWD/$deb" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*')
[ ${#files[@]} -eq 5 ] || fail "there are ${#files[@]} packages instead of 5: ${files[*]}"
names=()
for file in "${files[@]}"; do
	names+=("$(dpkg-deb -f "$file" Package)")
done
step "installing what ${names[*]} depend on, and the tools of this test"
apt-get --no-install-recommends --simulate install "${files[@]}" | sed -n 's/^Inst \([^ ]*\).*/\1/p' >"$work/needed"
mapfile -t needed < <(grep -vxF -f <(printf '%s\n' "${names[@]}") "$work/needed")
apt install "${needed[@]}"
# Without libc6-dev and cmake, libina-dev's users could not build; systemd has systemd-analyze.
apt install gcc libc6-dev pkgconf cmake make systemd
state >"$work/state"

step "installing the packages"
apt install "${files[@]}"
[ -z "$(find /etc/systemd/system -name 'ina-bridge*')" ] || fail "the service is enabled"

step "using the packages"
cat >"$work/sum.c" <<'END_OF_C'
#include <ina.h>
#include <stdio.h>

int main(void)
{
	float gradient[3] = {0.5f, 1, 2}, sum[3];
	char why[INA_ERROR_SIZE];
	ina_comm *comm;

	if (ina_open(NULL, &comm, why, sizeof(why)) != INA_OK ||
	    ina_allreduce(comm, gradient, sum, 3, INA_FLOAT32, INA_SUM) != INA_OK)
		return fprintf(stderr, "%s\n", comm ? ina_error(comm) : why), 1;
	printf("%g %g %g\n", sum[0], sum[1], sum[2]);
	return ina_close(comm) != INA_OK;
}
END_OF_C
cat >"$work/CMakeLists.txt" <<'END_OF_CMAKE'
cmake_minimum_required(VERSION 3.25)
project(sum LANGUAGES C)
find_package(ina 0.3 REQUIRED)
foreach(library ina ina_static)
  add_executable(sum-${library} sum.c)
  target_link_libraries(sum-${library} ina::${library})
endforeach()
END_OF_CMAKE
read -ra flags < <(pkg-config --cflags --libs ina)
quietly gcc -o "$work/sum" "$work/sum.c" "${flags[@]}"
quietly cmake -S "$work" -B "$work/cmake"
quietly cmake --build "$work/cmake"
export INA_RANK=0 INA_RANKS=1
for program in sum cmake/sum-ina cmake/sum-ina_static; do
	[ "$("$work/$program")" = "0.5 1 2" ] || fail "$program: wrong sum"
done
[[ $(ldd "$work/cmake/sum-ina") == *libina.so.0* ]] || fail "sum-ina is not linked with the shared library"
[[ $(ldd "$work/cmake/sum-ina_static") != *libina* ]] || fail "sum-ina_static is linked with the shared library"

quietly ina-perf --help
ina-perf -e 4 >"$work/one"
grep -q "^# ina-perf: 1 ranks" "$work/one" || fail "ina-perf -e 4 prints no table"
INA_RANK=1 INA_RANKS=2 INA_ROOT=127.0.0.1 timeout 60 ina-perf -e 4 &
INA_RANKS=2 INA_ROOT=127.0.0.1 timeout 60 ina-perf -e 4 >"$work/two" || fail "two ranks on this machine do not add"
wait $! || fail "rank 1 failed"
grep -q "^# ina-perf: 2 ranks" "$work/two" || fail "two ranks print no table: $(cat "$work/two")"
# This root folder shows no RDMA device.
code=0
ina-perf --doctor >"$work/doctor" || code=$?
grep -q "^FAIL  device .* remedy: " "$work/doctor" || fail "ina-perf --doctor: $(cat "$work/doctor")"
[ $code -eq 1 ] || fail "ina-perf --doctor: exit code $code"

quietly ina-bridge --check /etc/ina/bridge.json
quietly ina-ctl --help
quietly systemd-analyze verify --man=no ina-bridge.service
! grep -q ina-bridge "$work/log" || fail "$(cat "$work/log")"

quietly python3 - "$work/store" <<'END_OF_PYTHON'
import sys
import torch
import torch.distributed as dist
import torch_ina
import torch_ina_hook

dist.init_process_group("ina", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
sums = torch.arange(4.0)
dist.all_reduce(sums)
assert sums.tolist() == [0, 1, 2, 3] and torch_ina.stats()["calls"] == 1
torch_ina_hook.State()
dist.destroy_process_group()
END_OF_PYTHON
for page in man1/ina-perf.1 man1/ina-bridge.1 man1/ina-ctl.1 man3/ina_open.3 man7/ina.7; do
	dpkg-query -S "/usr/share/man/$page.gz" >/dev/null || fail "no package has the page $page"
done

step "removing and purging the packages"
echo '{ "port": ["a", "b"] }' >/etc/ina/bridge.json
apt remove "${names[@]}"
grep -q '"a"' /etc/ina/bridge.json || fail "a removal removes the edited configuration"
quietly dpkg --purge "${names[@]}"
state | diff "$work/state" - || fail "the packages leave something behind; see above"
step "all passed"
