#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_exports.sh LIBRARY HEADER: checks that the library exports exactly the functions that the header
# declares, each with a version.
set -eu
exported=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort)
declared=$(grep '^INA_API' "$2" | grep -o 'ina_[a-z_]*(' | tr -d '(' | sort -u)
for symbol in $exported; do
	name=${symbol%@@INA_*}
	echo "$declared" | grep -qx "$name" || { echo "$1 exports $symbol: no call of $2 with a version"; exit 1; }
done
for name in $declared; do
	echo "$exported" | grep -q "^$name@@" || { echo "$2 declares $name, which $1 lacks"; exit 1; }
done
