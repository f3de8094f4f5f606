#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh SOURCE BUILD PROGRAM...: builds these programs with sanitizers, in BUILD.
set -euo pipefail

source=$1 build=$2
shift 2
cmake -S "$source" -B "$build" -G Ninja --log-level=WARNING -DINA_SANITIZE=address,undefined \
	-DINA_PARTS="model;hostlib"
cmake --build "$build" --target "$@"
