#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the User Mode Linux kernel of the lab's hosts from the distribution's package linux-source:
#
#     lab/build-kernel.sh [OUTPUT_FOLDER]        default: .kernel in the project's folder
#
# INA_LINUX names other sources of Linux 6.1 to 6.12: a tree, which is copied, or an archive.
#
# The results are OUTPUT_FOLDER/linux, OUTPUT_FOLDER/stamp and OUTPUT_FOLDER/sources.diff, which lists
# the differences between the sources that were built and the original ones. The stamp depends on the
# configuration, the patches and the original sources. If it is current, the script does nothing.
# The sources are unpacked in OUTPUT_FOLDER and removed again, also after an error.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=$here/build-kernel.sh
output=${1:-$(dirname "$here")/.kernel}
config=$here/uml.config
patches=("$here"/*.patch)
# The releases of Linux that were tried as hosts.
oldest=6.1 newest=6.12
# The number of object files in this configuration; only the percentage depends on it.
expected_steps=745
free_needed_mib=2500

fail() {
	echo "build-kernel: $*" >&2
	exit 1
}

# Rewrites one line if stdout is a terminal; otherwise prints each new text on a line.
shown=
show_progress() {
	[ "$1" != "$shown" ] || return 0
	shown=$1
	if [ -t 1 ]; then
		printf '\r\033[K%s' "$1"
	else
		echo "$1"
	fi
}
end_progress() {
	[ ! -t 1 ] || [ -z "$shown" ] || echo
	shown=
}

[ $# -le 1 ] || fail "takes at most one argument, the output folder"
[ "$(uname -m)" = x86_64 ] ||
	fail "User Mode Linux needs an x86_64 machine, but this one is $(uname -m)"
# The newest package that is not newer than $newest.
find_package() {
	local path
	for path in /usr/src/linux-source-*.tar.*; do
		[ -r "$path" ] || continue
		printf '%s %s\n' "$(basename "$path" | sed 's/^linux-source-//; s/\.tar\..*//')" "$path"
	done | sort -V | awk -v newest="$newest" '
		{ split($1, is, "."); split(newest, most, ".") }
		is[1] < most[1] || (is[1] == most[1] && is[2] <= most[2]) { found = $2 }
		END { print found }'
}
source=${INA_LINUX:-$(find_package)}
[ -n "$source" ] || fail "/usr/src has no linux-source-$oldest to $newest: run scripts/install-packages.sh demo," \
	"or set INA_LINUX to a tree or an archive of Linux $oldest to $newest"
[ -r "$source" ] || fail "cannot read INA_LINUX=$source"
source=$(realpath "$source")
for tool in make gcc flex bison bc xz tar patch python3; do
	command -v "$tool" >/dev/null || fail "$tool is missing: run scripts/install-packages.sh demo"
done

# Sources are large, so size and time of a file stand for its content: a hash would take longer.
identify_source() {
	if [ -d "$source" ]; then
		find "$source" -name .git -prune -o -type f -printf '%P %s %T@\n' | LC_ALL=C sort
	else
		stat -c '%s %Y' "$source"
	fi
}
stamp=$({
	identify_source
	cat "$config" "${patches[@]}"
} | sha256sum | cut -d' ' -f1)
is_built() {
	[ -x "$output/linux" ] && [ "$(cat "$output/stamp" 2>/dev/null)" = "$stamp" ]
}
if is_built && [ "$(head -1 "$output/sources.diff" 2>/dev/null)" = "stamp $stamp" ]; then
	echo "build-kernel: $output/linux is up to date"
	exit 0
fi

mkdir -p "$output" || fail "cannot create $output"
output=$(cd "$output" && pwd)
case $output in
*[[:space:]:]*) fail "the kernel's makefiles do not accept spaces or colons in '$output': move the project" ;;
esac
exec 9>"$output/lock"
flock -n 9 || {
	echo "build-kernel: waiting for another build to finish"
	for ((waited_s = 0; waited_s < 1800; waited_s++)); do
		! flock -w 1 9 || break
		show_progress "$(cat "$output/progress" 2>/dev/null || true)"
	done
	end_progress
	[ $waited_s -lt 1800 ] || fail "the other build did not finish within 30 minutes"
	exec "$self" "$output" 9>&-
}
free_mib=$(df -Pm "$output" | awk 'NR == 2 { print $4 }')
[ "$free_mib" -ge "$free_needed_mib" ] ||
	fail "$output needs $free_needed_mib MiB of free space while building, but has $free_mib"

# Removes the sources of a build that was killed. The lock file must stay: if it were replaced while
# another build waits for the old one, both builds could run at the same time.
rm -rf "$output"/source.*
work=$(mktemp -d "$output/source.XXXXXX")
build_pid=
cleanup() {
	trap - EXIT INT TERM HUP
	# make runs in a separate process group (set -m), so its compilers end with it.
	[ -z "$build_pid" ] || kill -- "-$build_pid" 2>/dev/null || true
	echo "build-kernel: removing the unpacked sources"
	rm -rf "$work" "$output/progress"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

started_s=$SECONDS
echo "build-kernel: unpacking $source"
# Most of the sources are C files of other architectures, and of drivers that User Mode Linux cannot
# use. They are not unpacked; Kconfig files and Makefiles are, since the build reads all of them.
mkdir "$work/linux"
unused=()
for files in 'arch/[!Kux]*.[chS]' 'arch/*.dts' 'arch/*.dtsi' 'sound/*.[ch]' 'drivers/gpu/*.[ch]' \
	'drivers/media/*.[ch]' 'drivers/net/ethernet/*.[ch]' 'drivers/net/wireless/*.[ch]' \
	'drivers/staging/*.[ch]' 'drivers/scsi/*.[ch]'; do
	unused+=("--exclude=*/$files")
done
unpack() {
	if [ -d "$source" ]; then
		tar -c -C "$source" --exclude=./.git "${unused[@]}" . | tar -x -C "$work/linux"
	else
		# Several threads of xz decompress what several threads have compressed.
		XZ_DEFAULTS=-T0 tar -x -C "$work/linux" --strip-components=1 "${unused[@]}" -f "$source"
	fi
}
unpack || fail "could not unpack $source"

cd "$work/linux"
release=$(sed -n 's/^VERSION = //p; s/^PATCHLEVEL = //p' Makefile | paste -sd.)
[ "$(printf '%s\n' "$oldest" "$release" "$newest" | sort -V | sed -n 2p)" = "$release" ] ||
	fail "$source is Linux $release; the hosts need $oldest to $newest: set INA_LINUX to a tree or an archive of one of them"
for patch in "${patches[@]}"; do
	patch -p1 --silent --forward --no-backup-if-mismatch <"$patch" || fail "$patch does not apply to $source"
done
# This compares the sources with the original ones before the build generates files among them.
echo "build-kernel: comparing the sources with $source"
{ echo "stamp $stamp" && python3 "$here/compare-sources.py" "$source" .; } >"$output/sources.new" ||
	fail "could not compare the sources with $source"
mv -f "$output/sources.new" "$output/sources.diff"
if is_built; then
	echo "build-kernel: $output/linux is up to date"
	exit 0
fi
# Variables of the caller's make, above all its job server, must not reach this build.
unset MAKEFLAGS MFLAGS MAKELEVEL
# The kernel must not depend on the user and the machine that build it.
export KBUILD_BUILD_USER=ina KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1
# A tree may have been configured, and compiled for another architecture.
[ ! -e .config ] || make ARCH=um mrproper >/dev/null || fail "could not remove what was compiled in $source"
if ! make ARCH=um allnoconfig KCONFIG_ALLCONFIG="$config" >"$work/log" 2>&1; then
	tail -20 "$work/log" >&2
	fail "could not configure the kernel; the last lines are above"
fi
while read -r symbol; do
	grep -q "^$symbol=" .config ||
		fail "this kernel source did not accept $symbol from $config"
done < <(sed -n 's/^\(CONFIG_[A-Z0-9_]*\)=.*/\1/p' "$config")

jobs=$(nproc)
echo "build-kernel: compiling with $jobs jobs; about four minutes on two cores"
set -m
make ARCH=um -j"$jobs" linux >>"$work/log" 2>&1 </dev/null 9>&- &
build_pid=$!
set +m
while kill -0 "$build_pid" 2>/dev/null; do
	sleep 1
	steps=$(grep -c '^  \(CC\|AS\) ' "$work/log" || true)
	# If stdout is not a terminal, print at most twenty lines.
	percent=$((steps * 100 / expected_steps))
	[ -t 1 ] || percent=$((percent / 5 * 5))
	text="build-kernel: compiling, $((percent < 99 ? percent : 99))%"
	echo "$text" >"$output/progress"
	show_progress "$text"
done
end_progress
if ! wait "$build_pid"; then
	build_pid=
	grep -n -i -A5 'error' "$work/log" | tail -30 >&2 || tail -30 "$work/log" >&2
	fail "the kernel did not compile; the errors are above"
fi
build_pid=

strip -o "$output/linux.new" linux
mv -f "$output/linux.new" "$output/linux"
echo "$stamp" >"$output/stamp.new"
mv -f "$output/stamp.new" "$output/stamp"
echo "build-kernel: $output/linux, $(($(stat -c %s "$output/linux") / 1024)) KiB," \
	"in $((SECONDS - started_s)) s"
