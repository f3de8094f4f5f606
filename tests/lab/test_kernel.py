# SPDX-License-Identifier: Apache-2.0
"""The changes to the hosts' kernel: the patches that lab/README.md lists, and none of them in code for frames or RDMA."""
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parents[2] / "lab"
PATCHES = sorted(LAB.glob("*.patch"))
ELSEWHERE = re.compile(r"drivers/infiniband/|drivers/net/|net/|include/(uapi/)?(rdma|net|linux/(skbuff|netdevice))")


def changed(patch):
    """The files that a patch changes, from both lines of each header."""
    return set(re.findall(r"^(?:---|\+\+\+) (?:[ab]/)?(\S+)", patch.read_text(), re.M))


def test_the_readme_lists_them():
    rows = re.findall(r"^\| `(\S+\.patch)` \| `(\S+)` \|", (LAB / "README.md").read_text(), re.M)
    assert {(patch.name, file) for patch in PATCHES for file in changed(patch)} == set(rows)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_rdma_and_network_are_stock(patch):
    assert not [file for file in changed(patch) if ELSEWHERE.match(file)]


@pytest.mark.parametrize("file", ["drivers/infiniband/sw/rxe/rxe_resp.c", "net/ipv4/udp.c", "include/rdma/ib_verbs.h"])
def test_a_patch_there_would_be_found(tmp_path, file):
    patch = tmp_path / "new.patch"
    patch.write_text(f"Why.\n\n--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-a\n+b\n")
    assert changed(patch) == {file} and ELSEWHERE.match(file)


def changes(text):
    """The lines that a diff adds and removes, by file: the same however its hunks are divided."""
    files = {}
    for line in text.splitlines():
        header = re.match(r"(?:---|\+\+\+) (?:[ab]/)?(\S+)", line)
        if header:
            lines = files.setdefault(header[1], Counter())
        elif line[:1] in "+-" and line and files:
            lines[line[1:]] += 1 if line[0] == "+" else -1
    return {file: {line: count for line, count in lines.items() if count} for file, lines in files.items()}


def test_the_kernel_was_built_from_the_archive_and_these_patches():
    """sources.diff is the difference of the sources from Debian's archive when they were built."""
    kernel = Path(os.environ.get("INA_KERNEL", LAB.parent / ".kernel/linux")).parent
    record = kernel / "sources.diff"
    assert record.exists(), f"{record} is missing: run lab/build-kernel.sh"
    stamp, _, differences = record.read_text().partition("\n")
    assert stamp == "stamp " + (kernel / "stamp").read_text().strip(), "it belongs to another kernel"
    found = changes(differences)
    assert not [file for file in found if ELSEWHERE.match(file)]
    assert found == changes("".join(patch.read_text() for patch in PATCHES))


@pytest.fixture(params=["archive", "tree"])
def unpacked(request, tmp_path):
    """An archive or a tree, and its contents except one file."""
    for name in ("net/a.c", "drivers/infiniband/rxe.c", "left/out.c"):
        (tmp_path / "top" / name).parent.mkdir(parents=True)
        (tmp_path / "top" / name).write_text("one\ntwo\n")
    (tmp_path / "top/link").symlink_to("net/a.c")
    subprocess.run(["tar", "-cJf", "top.tar.xz", "top"], cwd=tmp_path, check=True)
    (tmp_path / "top/left/out.c").unlink()
    if request.param == "archive":
        return tmp_path / "top.tar.xz", tmp_path / "top"
    subprocess.run(["tar", "-xf", "top.tar.xz", "--xform=s/^top/original/"], cwd=tmp_path, check=True)
    return tmp_path / "original", tmp_path / "top"


def compare(archive, tree):
    command = [LAB / "compare-sources.py", archive, tree]
    return changes(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_sources_as_they_were(unpacked):
    assert not compare(*unpacked)


@pytest.mark.parametrize("name, old", [("drivers/infiniband/rxe.c", {"one": -1, "two": -1}), ("net/new.c", {}), ("new", {})])
def test_a_change_of_the_sources_is_seen(unpacked, name, old):
    (unpacked[1] / name).write_text("three\n")
    assert compare(*unpacked) == {name: {"three": 1, **old}}


def test_a_link_that_leads_elsewhere_is_seen(unpacked):
    (unpacked[1] / "link").unlink()
    (unpacked[1] / "link").symlink_to("left")
    assert compare(*unpacked) == {"link": {"net/a.c": -1, "left": 1}}


def test_an_archive_that_cannot_be_read(tmp_path):
    (tmp_path / "archive").write_bytes(b"no archive")
    assert subprocess.run([LAB / "compare-sources.py", tmp_path / "archive", tmp_path], capture_output=True).returncode


def test_nothing_else_changes_the_sources():
    """Only these patches and its own makefiles let build-kernel.sh write to the unpacked tree."""
    script = (LAB / "build-kernel.sh").read_text()
    assert re.findall(r"\bpatch -p1[^|]*", script) == ['patch -p1 --silent --forward --no-backup-if-mismatch <"$patch" ']
    assert 'patches=("$here"/*.patch)' in script and 'for patch in "${patches[@]}"; do' in script
    assert not re.search(r"\b(sed -i|ed|git apply|perl -[pi]+)\b", script)
    subprocess.run(["bash", "-n", LAB / "build-kernel.sh"], check=True)
