# SPDX-License-Identifier: Apache-2.0
"""What the hosts' kernel has of ours: patches that lab/README.md lists, and none of them where frames or RDMA go."""
import re
import subprocess
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parents[2] / "lab"
PATCHES = sorted(LAB.glob("*.patch"))
ELSEWHERE = re.compile(r"drivers/infiniband/|drivers/net/|net/|include/(uapi/)?(rdma|net|linux/(skbuff|netdevice))")


def changed(patch):
    """The files that it changes, from both lines of each header."""
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


def test_nothing_else_changes_the_sources():
    """build-kernel.sh writes to the unpacked tree by these patches, and by its makefiles."""
    script = (LAB / "build-kernel.sh").read_text()
    assert re.findall(r"\bpatch -p1[^|]*", script) == ['patch -p1 --silent --forward <"$patch" ']
    assert 'patches=("$here"/*.patch)' in script and 'for patch in "${patches[@]}"; do' in script
    assert not re.search(r"\b(sed -i|ed|git apply|perl -[pi]+)\b", script)
    subprocess.run(["bash", "-n", LAB / "build-kernel.sh"], check=True)
