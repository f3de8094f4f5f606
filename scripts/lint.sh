#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#     scripts/lint.sh [TOOL [FILE...]]
#
# Checks C and C++ with clang-format, Python with flake8 and shell scripts with shellcheck, and changes
# no file. Without a TOOL it runs all three, without a FILE on all files of the project. The tools are those
# of Debian 12: scripts/install-packages.sh lint. `make test` runs them as the test `lint`, and
# .pre-commit-config.yaml on the files of a commit.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Each release of clang-format has a slightly different layout; this is Debian 12's.
clang_format_major=14

fail() {
	echo "lint: $*" >&2
	exit 1
}

# Runs find on the project without its build folders, which also works without git.
find_sources() {
	find . \( -path './build*' -o -path ./demo -o -path ./.kernel -o -path ./.git \) -prune -o -type f "$@"
}

files_of() {
	case $1 in
	clang-format) find_sources -name '*.[ch]' -print0 -o -name '*.[ch]pp' -print0 ;;
	flake8) find_sources -name '*.py' -print0 ;;
	shellcheck) find_sources \( -perm -u+x -o -name '*.sh' \) -exec grep -lZE '^#!/.*(/| )(ba)?sh$' {} + ;;
	esac
}

check() {
	local tool=$1 files version
	shift
	command -v "$tool" >/dev/null || fail "$tool is missing: run scripts/install-packages.sh lint"
	if [ $# -gt 0 ]; then
		files=("$@")
	else
		cd "$root"
		mapfile -d '' files < <(files_of "$tool")
	fi
	case $tool in
	clang-format)
		version=$(clang-format --version | grep -Eo '[0-9]+' | head -1)
		[ "$version" = $clang_format_major ] ||
			fail "clang-format has version $version; this project uses version $clang_format_major"
		clang-format --style="file:$root/.clang-format" --dry-run --Werror "${files[@]}"
		;;
	flake8) flake8 --config "$root/.flake8" "${files[@]}" ;;
	shellcheck) shellcheck "${files[@]}" ;;
	esac
}

case ${1:-} in
'')
	code=0
	for tool in clang-format flake8 shellcheck; do
		"$0" "$tool" || code=1
	done
	exit $code
	;;
clang-format | flake8 | shellcheck) check "$@" ;;
*) fail "unknown tool $1; use clang-format, flake8 or shellcheck" ;;
esac
