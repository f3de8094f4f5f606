#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#     lab/debian-kernel.sh SUITE FOLDER        SUITE is bookworm, trixie, ...
#
# Unpacks the binary kernel of that Debian suite and its modules, for QEMU hosts, into FOLDER, unless they are there.
# Nothing is installed. Prints the path of the kernel.

set -euo pipefail

[ $# -eq 2 ] || {
	echo "usage: lab/debian-kernel.sh SUITE FOLDER" >&2
	exit 2
}
suite=$1 folder=$2
if [ ! -e "$folder/done" ]; then
	for program in mmdebstrap depmod; do
		PATH=$PATH:/usr/sbin:/sbin command -v $program >/dev/null || {
			echo "debian-kernel: $program is missing: run scripts/install-packages.sh qemu-kernels" >&2
			exit 1
		}
	done
	mkdir -p "$(dirname "$folder")"
	rm -rf "$folder" "$folder.new"
	mmdebstrap --quiet --variant=extract --include=linux-image-amd64 "$suite" "$folder.new" 2>"$folder.log" || {
		tail -5 "$folder.log" >&2
		echo "debian-kernel: mmdebstrap could not unpack the kernel of $suite; its last lines are above" >&2
		exit 1
	}
	[ -e "$folder.new/lib" ] || ln -s usr/lib "$folder.new/lib"
	PATH=$PATH:/usr/sbin:/sbin depmod -b "$folder.new" "$(basename "$folder.new"/lib/modules/*)"
	touch "$folder.new/done"
	mv "$folder.new" "$folder"
fi
echo "$folder"/boot/vmlinuz-*
