#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_exports.sh LIBRARY HEADER: the library defines what the header declares, and nothing else.
set -eu
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }' | sort)
declared=$(grep -o 'ina_[a-z_]*(' "$2" | tr -d '(' | sort -u)
for name in $exported; do
	echo "$declared" | grep -qx "$name" || { echo "$1 exports $name, which is not in $2"; exit 1; }
done
grep '^INA_API' "$2" | grep -o 'ina_[a-z_]*(' | tr -d '(' | while read -r name; do
	echo "$exported" | grep -qx "$name" || { echo "$2 declares $name, which $1 lacks"; exit 1; }
done
