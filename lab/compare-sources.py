#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
compare-sources.py ORIGINAL TREE: how a tree of sources differs from the original, an archive or a tree, as diff -u says it. A file
that the original does not have is compared with nothing. A file that was not copied or unpacked is no difference.
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


def files(tree):
    """The names of a tree's files."""
    for folder, subfolders, names in os.walk(tree):
        subfolders[:] = [name for name in subfolders if name != ".git"]
        links = [name for name in subfolders if os.path.islink(os.path.join(folder, name))]
        for name in sorted(names + links):
            yield str((Path(folder) / name).relative_to(tree))


def originals(source):
    """Name and reader of each original file."""
    if source.is_dir():
        for name in files(source):
            yield name, lambda name=name: content(source / name)
        return
    # Several threads of xz decompress what several threads have compressed; Python has one.
    command = ["xz", "-dc", "-T0", source] if source.suffix == ".xz" else ["cat", source]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as unpacked:
        with tarfile.open(fileobj=unpacked.stdout, mode="r|*", bufsize=1 << 20) as members:
            for member in members:
                if not member.isdir():
                    yield member.name.partition("/")[2], lambda member=member: (
                        members.extractfile(member).read() if member.isfile() else member.linkname.encode())
    if unpacked.returncode:
        sys.exit(f"compare-sources: {command[0]} could not read {source}")


def main(source, tree):
    names = set()
    for name, read in originals(source):
        names.add(name)
        if os.path.lexists(tree / name):
            original = read()
            if content(tree / name) != original:
                print_difference(name, original, content(tree / name))
    for name in files(tree):
        if name not in names:
            print_difference(name, b"", content(tree / name))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    main(*map(Path, sys.argv[1:]))
