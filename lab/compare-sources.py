#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
compare-sources.py ARCHIVE.tar.xz TREE: how a tree of sources differs from the archive that it was unpacked from, as diff -u
says it. A file that the archive does not have is compared with nothing. What was left out in unpacking is no difference.
"""
import difflib
import os
import subprocess
import sys
import tarfile
from pathlib import Path


def content(path):
    return os.readlink(path).encode() if path.is_symlink() else path.read_bytes()


def print_difference(name, old, new):
    old, new = (text.decode(errors="replace").splitlines(keepends=True) for text in (old, new))
    for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"):
        print(line.rstrip("\n"))


def main(archive, tree):
    names = set()
    with subprocess.Popen(["xz", "-dc", "-T0", archive], stdout=subprocess.PIPE) as unpacked:
        with tarfile.open(fileobj=unpacked.stdout, mode="r|", bufsize=1 << 20) as members:
            for member in members:
                name = member.name.partition("/")[2]
                path = tree / name
                names.add(name)
                if member.isdir() or not os.path.lexists(path):
                    continue
                if member.isfile():
                    original = members.extractfile(member).read()
                else:
                    original = member.linkname.encode()
                if content(path) != original:
                    print_difference(name, original, content(path))
    if unpacked.returncode:
        sys.exit(f"compare-sources: xz could not read {archive}")
    for folder, _, files in os.walk(tree):
        for file in sorted(files):
            name = str((Path(folder) / file).relative_to(tree))
            if name not in names:
                print_difference(name, b"", content(tree / name))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    main(sys.argv[1], Path(sys.argv[2]))
