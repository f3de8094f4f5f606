#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#     tests/debian/service.sh BUILD
#
# Boots a QEMU machine with this Debian and systemd. There in_machine.sh installs the packages of BUILD/deb, runs the service, and
# purges the packages. The machine keeps nothing, and its network devices have no way out. ACCEL=kvm is faster than tcg.

set -euo pipefail

build=$1
deb=$build/deb folder=$build/deb-service
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
boot_s=1200

fail() {
	echo "service: $*" >&2
	exit 1
}

[ "$(id -u)" -eq 0 ] || fail "only root can make the machine's root folder"
mkdir -p "$folder"
trap 'rm -rf --one-file-system "$folder/root" "$folder/image"' EXIT
rm -rf --one-file-system "$folder/root"

files=("$deb"/libina0_*.deb "$deb"/ina-tools_*.deb "$deb"/ina-bridge_*.deb)
needed=$(for file in "${files[@]}"; do dpkg-deb -f "$file" Depends; done |
	tr , '\n' | sed 's/ *(.*//; s/^ *//' | grep -vxF libina0 | sort -u | paste -sd,)
cat >"$folder/in-machine.service" <<'END'
[Unit]
After=multi-user.target
SuccessAction=poweroff
FailureAction=poweroff

[Service]
Type=oneshot
ExecStart=/bin/bash /root/in_machine.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
END

# The mounts of mmdebstrap end with its namespace.
echo "service: making a machine of $suite; a few minutes"
# shellcheck disable=SC2016 # mmdebstrap's shell has the root folder in $1
unshare --mount mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io \
	--include=linux-image-amd64,systemd-sysv,udev,kmod,iproute2,ibverbs-providers,"$needed" \
	--customize-hook="copy-in ${files[*]} $here/in_machine.sh /root" \
	--customize-hook="copy-in $folder/in-machine.service /etc/systemd/system" \
	--customize-hook='mkdir -p "$1/etc/systemd/system/multi-user.target.wants"' \
	--customize-hook='ln -s ../in-machine.service "$1/etc/systemd/system/multi-user.target.wants/"' \
	"$suite" "$folder/root" >"$folder/log" 2>&1 || {
	tail -5 "$folder/log" >&2
	fail "mmdebstrap could not make a root folder; its last lines are above"
}
truncate -s 2G "$folder/image"
mke2fs -q -F -t ext4 -d "$folder/root" "$folder/image"

echo "service: booting it"
timeout $boot_s qemu-system-x86_64 -accel "${ACCEL:-tcg}" -m 768 -nodefaults -nographic -no-reboot -serial "file:$folder/console" \
	-kernel "$folder/root/vmlinuz" -initrd "$folder/root/initrd.img" -append "root=/dev/vda rw console=ttyS0 quiet panic=-1" \
	-drive "file=$folder/image,format=raw,if=virtio,snapshot=on" || fail "the machine did not end in $boot_s s: see $folder/console"
grep -q "^in_machine: all passed" "$folder/console" || {
	tail -20 "$folder/console" >&2
	fail "failed; the last lines are above"
}
echo "service: all passed"
