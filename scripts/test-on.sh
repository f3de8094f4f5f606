#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#     scripts/test-on.sh SUITE FOLDER [TARGET...]        SUITE is bookworm or trixie
#
# Makes a root folder of that Debian suite with mmdebstrap in FOLDER, clones the committed state of this
# project into it, and calls `make TARGET...` there (demo test). The first of them installs all packages
# that it needs. It runs as root, or as an ordinary user if user namespaces and /etc/subuid allow. The
# clone's processes have separate namespaces and end with this script; the root folder is removed.
# Only the machine's kernel, network, /dev and /sys are shared. SKIPS is passed on. If no root folder can be made
# here, that is a skip: one line and exit code 0, or 1 with SKIPS=error. With ARCH=arm64 the root folder is
# one for that processor, whose programs qemu-user runs; binfmt_misc must know it (docs/distributions.md).

set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
inside=/srv/ina

fail() {
	echo "test-on: $*" >&2
	exit 1
}

skip() {
	echo "SKIPPED test-on: $*" >&2
	[ "${SKIPS:-tell}" != error ]
	exit
}

[ $# -ge 2 ] || fail "usage: scripts/test-on.sh SUITE FOLDER [TARGET...]"
suite=$1
mkdir -p "$2" || fail "cannot create $2"
folder=$(cd "$2" && pwd)
shift 2
targets=("$@")
[ $# -gt 0 ] || targets=(demo test)

case $suite in
bookworm | trixie) ;;
*) fail "unknown suite $suite: it must be bookworm or trixie" ;;
esac
architecture=${ARCH:-$(dpkg --print-architecture)}
command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing: run scripts/install-packages.sh suites"
git -C "$project" diff --quiet HEAD -- || echo "test-on: changes that are not committed are left out"

# An ordinary user becomes root in a user namespace with the ids of /etc/subuid, as in mmdebstrap. To remove the
# root folder, root must also be the user, to whom the folder around it belongs.
as_root=() as_both=() mode=root
if [ "$(id -u)" -ne 0 ]; then
	as_root=(--map-auto --setuid 0 --setgid 0) as_both=(--map-root-user --map-auto) mode=unshare
	unshare "${as_root[@]}" true 2>/dev/null ||
		skip "this user may not make a user namespace with the ids of /etc/subuid: run it as root"
fi
root=$folder/root
# shellcheck disable=SC2317 # called by traps
remove() {
	unshare "${as_both[@]}" --mount rm -rf --one-file-system "$root"
}
[ ! -e "$root" ] || fail "$root exists: another run uses it, or one was killed; remove it"
# The child ends before anything is removed. mmdebstrap ends when it is asked to. unshare blocks SIGTERM;
# when it is killed, --kill-child ends all that it has started.
child='' signal=TERM
# shellcheck disable=SC2317
end() {
	trap - EXIT INT TERM HUP
	[ -z "$child" ] || { kill -"$signal" "$child" 2>/dev/null && wait "$child"; } || true
	remove
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

echo "test-on: $suite, $architecture: making a root folder; about a minute"
mmdebstrap --mode=$mode --architectures="$architecture" --quiet --variant=minbase --dpkgopt=force-unsafe-io \
	--include=ca-certificates,git,make "$suite" "$root" >"$folder/log" 2>&1 &
child=$!
wait "$child" || {
	tail -5 "$folder/log" >&2
	skip "mmdebstrap could not make a root folder of $suite; its last lines are above"
}

# Run in the namespaces, by the machine's shell.
# shellcheck disable=SC2016
enter='
set -e
root=$1 project=$2 inside=$3 architecture=$4
shift 4
# rm must never reach what is mounted here: the mounts are private, and end with the namespace.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
git -c safe.directory="*" clone --quiet --no-hardlinks "$project" "$root$inside"
# A kernel of the machine, which is perhaps of another release, for hosts of two releases in one lab.
other=
if [ -x "$project/.kernel/linux" ] && [ "$architecture" = amd64 ]; then
	cp "$project/.kernel/linux" "$root$inside/other-linux"
	other=$inside/other-linux
fi
# Not chroot alone, in which nobody may make a user namespace.
cd "$root"
pivot_root . mnt
umount -l mnt
exec chroot . env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" \
	${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} \
	${other:+INA_OTHER_KERNEL="$other"} make -C "$inside" --no-print-directory "$@"
'
echo "test-on: $suite, $architecture: make ${targets[*]}"
signal=KILL
unshare "${as_root[@]}" --mount --pid --fork --kill-child=KILL bash -c "$enter" enter "$root" "$project" "$inside" "$architecture" \
	"${targets[@]}" SKIPS="${SKIPS:-tell}" </dev/null &
child=$!
code=0
wait "$child" || code=$?
child=
echo "test-on: $suite, $architecture: make ${targets[*]}: exit code $code, after $((SECONDS / 60)) minutes"
exit $code
