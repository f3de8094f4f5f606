#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the User Mode Linux kernel of the lab's hosts from Debian's linux-source package:
#
#     lab/build-kernel.sh [OUTPUT_FOLDER]        default: .kernel in the project's folder
#
# The results are OUTPUT_FOLDER/linux, OUTPUT_FOLDER/stamp and OUTPUT_FOLDER/sources.diff, which lists
# the differences between the sources that were built and the archive's. The stamp depends on the
# configuration, the patches and the archive. If it is current, the script does nothing.
# The sources are unpacked in OUTPUT_FOLDER and removed again, also after an error.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=$here/build-kernel.sh
output=${1:-$(dirname "$here")/.kernel}
config=$here/uml.config
patches=("$here"/*.patch)
archive=/usr/src/linux-source-6.1.tar.xz
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
[ -r "$archive" ] ||
	fail "$archive is missing: run scripts/install-packages.sh demo"
for tool in make gcc flex bison bc xz tar patch python3; do
	command -v "$tool" >/dev/null || fail "$tool is missing: run scripts/install-packages.sh demo"
done

# The archive is 130 MB, so its size and time stand for its content: a hash would take longer.
stamp=$({
	stat -c '%s %Y' "$archive"
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
echo "build-kernel: unpacking $(basename "$archive")"
# Most of the archive is C files of other architectures, and of drivers that User Mode Linux cannot
# use. They are not unpacked; Kconfig files and Makefiles are, since the build reads all of them.
mkdir "$work/linux"
unused=()
for files in 'arch/[!Kux]*.[chS]' 'arch/*.dts' 'arch/*.dtsi' 'sound/*.[ch]' 'drivers/gpu/*.[ch]' \
	'drivers/media/*.[ch]' 'drivers/net/ethernet/*.[ch]' 'drivers/net/wireless/*.[ch]' \
	'drivers/staging/*.[ch]' 'drivers/scsi/*.[ch]'; do
	unused+=("--exclude=linux-source-*/$files")
done
xz -dc -T0 "$archive" | tar -x -C "$work/linux" --strip-components=1 "${unused[@]}" ||
	fail "could not unpack $archive"

cd "$work/linux"
for patch in "${patches[@]}"; do
	patch -p1 --silent --forward <"$patch" || fail "$patch does not apply to $archive"
done
# This compares the sources with the archive before the build generates files among them.
echo "build-kernel: comparing the sources with $(basename "$archive")"
{ echo "stamp $stamp" && python3 "$here/compare-sources.py" "$archive" .; } >"$output/sources.new" ||
	fail "could not compare the sources with $archive"
mv -f "$output/sources.new" "$output/sources.diff"
if is_built; then
	echo "build-kernel: $output/linux is up to date"
	exit 0
fi
# Variables of the caller's make, above all its job server, must not reach this build.
unset MAKEFLAGS MFLAGS MAKELEVEL
# The kernel must not depend on the user and the machine that build it.
export KBUILD_BUILD_USER=ina KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1
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
