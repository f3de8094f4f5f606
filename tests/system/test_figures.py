# SPDX-License-Identifier: Apache-2.0
"""Figures of virtual time that are the same on every machine.

After a change that is meant to change them, and for another release of the kernel, `make renew` writes the new figures into
figures.json and same_everywhere.json.
"""
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lab import by_rank, may_fix_addresses, perf, run

HERE = Path(__file__).parent
KERNEL = Path(os.environ.get("INA_KERNEL", HERE.parents[1] / ".kernel/linux"))
RENEW = os.environ.get("INA_RENEW")

sys.path.append(str(HERE.parents[1] / "allreduce"))
import demo  # noqa: E402


def kernel_release():
    return subprocess.run([KERNEL, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def figures(result):
    """The figures of the demo's table: times to a hundredth of a microsecond, and bytes on the wire."""
    return {str(row["size_bytes"]): {f"{kind}_{what}": round(row[key][name], 2)
                                     for kind, key in (("ina", "result"), ("ring", "ring"))
                                     for what, name in (("us", "time_us"), ("bytes", "wire_bytes"))}
            for row in result.report["rows"]}


def changes(found, expected, exactly):
    """Returns the figures that differ. With another kernel or other addresses, only those that are far off: there a poll may come
    a tenth of a microsecond earlier or later, and one ACK more or less is a hundred bytes."""
    return [f"{size} B, {name}: {found[size][name]}, not {value}"
            for size, row in expected.items() for name, value in row.items()
            if abs(found[size][name] - value) > (0 if exactly else 0.2 + 0.02 * value + 200 * name.endswith("bytes"))]


def test_the_demos_table(tmp_path):
    """Aggregator, libina and ina-perf, whose figures depend on nothing of the machine except the hosts' kernel. They are equal to
    the last digit for the release with which they were measured, and close for others."""
    result = perf(tmp_path, demo.HOSTS, ["--virtual-time", "--aggregator", "rtl"], [*demo.VIRTUAL, "-e", demo.LARGEST, *demo.ALWAYS])
    assert result.code == 0 and result.wrong() == 0, result
    assert result.count("fallbacks") == 0 == result.aggregator["joins_refused"], result
    found = {"kernel": kernel_release(), "packets_joined": result.aggregator["packets_joined"], "rows": figures(result)}
    path = HERE / "figures.json"
    if RENEW:
        path.write_text(json.dumps(found, indent=1) + "\n")
    expected = json.loads(path.read_text())
    assert found["packets_joined"] == expected["packets_joined"]
    assert found["rows"].keys() == expected["rows"].keys()
    exactly = found["kernel"] == expected["kernel"] and may_fix_addresses()
    changed = changes(found["rows"], expected["rows"], exactly)
    assert not changed, "\n".join(["make renew, and make charts, if this is meant", *changed])


def what_a_run_depends_on():
    """The versions of the programs that run on hosts and are not part of this project: the kernel's build stamp, the programs,
    the C library."""
    packages = subprocess.run(["dpkg-query", "--show", "--showformat=${Package} ${Version}\n", "dash", "ibverbs-providers", "ibverbs-utils",
                               "libc6", "libibverbs1"],
                              capture_output=True, text=True, check=True).stdout
    return f"{(KERNEL.parent / 'stamp').read_text().strip()}\n{packages}"


@pytest.mark.skipif(not may_fix_addresses(), reason="this machine forbids personality(2): runs may differ (lab/README.md)")
def test_the_same_on_every_machine(tmp_path):
    """A run of stock programs, with losses, has the same digest on every machine. The digest belongs to the versions with which
    it was measured, and changes if a change of the lab or the bridge is meant to show in a capture."""
    capture = tmp_path / "capture.pcap"
    result = run(tmp_path, 2, ["--virtual-time", "--aggregator", "off", "--loss-up", "0.01", "--reorder", "0.01", "--seed", "7",
                               "--pcap", capture],
                 ["/bin/sh", "-c", "p='/usr/bin/ibv_rc_pingpong -e -g 1 -m 1024 -s 8192 -n 100'; "
                                   "[ $INA_RANK = 0 ] && exec $p; /bin/sleep 1; exec $p $INA_ROOT"])
    assert result.code == 0, result
    del result.stats["capture"]["file"]
    del result.stats["virtual_time"]["host_runs"]  # it depends on the depth of the folder
    found = hashlib.sha256(by_rank(result.out).encode() + json.dumps(result.stats).encode() + capture.read_bytes()).hexdigest()
    versions = hashlib.sha256(what_a_run_depends_on().encode()).hexdigest()
    path = HERE / "same_everywhere.json"
    if RENEW:
        path.write_text(json.dumps({versions: found}, indent=1) + "\n")
    known = json.loads(path.read_text())
    if versions not in known:
        pytest.skip("no digest is known for these versions: make renew")
    assert found == known[versions], (found, result)
