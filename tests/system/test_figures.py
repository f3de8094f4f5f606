# SPDX-License-Identifier: Apache-2.0
"""Figures of virtual time that are the same on every machine with the same release of the hosts' kernel.

Each release has a file in the folder figures. After a change that is meant to change them, and for another release, `make renew`
writes that file and same_everywhere.json.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from lab import by_rank, may_fix_addresses, perf, run

HERE = Path(__file__).parent
FIGURES = HERE / "figures"
RENEW = os.environ.get("INA_RENEW")

sys.path.append(str(HERE.parents[1] / "allreduce"))
import demo  # noqa: E402


def figures(result):
    """The figures of the demo's table: times to a hundredth of a microsecond, and bytes on the wire."""
    return {str(row["size_bytes"]): {f"{kind}_{what}": round(row[key][name], 2)
                                     for kind, key in (("ina", "result"), ("ring", "ring"))
                                     for what, name in (("us", "time_us"), ("bytes", "wire_bytes"))}
            for row in result.report["rows"]}


def changes(found, expected, exactly):
    """Returns the figures that differ. With other addresses, only those that are far off: there a poll may come a tenth of a
    microsecond earlier or later, and one ACK more or less is a hundred bytes."""
    return [f"{size} B, {name}: {found[size][name]}, not {value}"
            for size, row in expected.items() for name, value in row.items()
            if abs(found[size][name] - value) > (0 if exactly else 0.2 + 0.02 * value + 200 * name.endswith("bytes"))]


def speed_ups(rows):
    return {size: row["ring_us"] / row["ina_us"] for size, row in rows.items()}


def nearest(release, files):
    """The file of the release whose numbers are nearest."""
    def numbers(text):
        return [int(part) for part in re.findall(r"\d+", text)[:3]]
    return min(files, key=lambda file: [abs(a - b) for a, b in zip(numbers(file.stem), numbers(release))])


def test_the_demos_table(tmp_path):
    """Aggregator, libina and ina-perf, whose figures depend on nothing of the machine except the hosts' kernel. They are equal to
    the last digit for a release that has been measured; for others, the speed-ups are within 3% of the nearest release's."""
    result = perf(tmp_path, demo.HOSTS, ["--virtual-time", "--aggregator", "rtl"], [*demo.VIRTUAL, "-e", demo.LARGEST, *demo.ALWAYS])
    assert result.code == 0 and result.wrong() == 0, result
    assert result.count("fallbacks") == 0 == result.aggregator["joins_refused"], result
    found = {"packets_joined": result.aggregator["packets_joined"], "rows": figures(result)}
    release = demo.kernel_release()
    path = FIGURES / f"{release}.json"
    if RENEW:
        path.write_text(json.dumps(found, indent=1) + "\n")
    known = path if path.exists() else nearest(release, sorted(FIGURES.glob("*.json")))
    expected = json.loads(known.read_text())
    assert found["packets_joined"] == expected["packets_joined"]
    assert found["rows"].keys() == expected["rows"].keys()
    if known == path:
        changed = changes(found["rows"], expected["rows"], may_fix_addresses())
        assert not changed, "\n".join(["make renew, and make charts, if this is meant", *changed])
        return
    ours, theirs = speed_ups(found["rows"]), speed_ups(expected["rows"])
    assert ours == {size: pytest.approx(value, rel=0.03) for size, value in theirs.items()}, (release, known.stem)
    warnings.warn(f"no figures are known for hosts with Linux {release}: only the speed-ups were compared, with those of Linux {known.stem}")


@pytest.mark.parametrize("release, best", [("6.1.176", "6.1.192"), ("6.12.118", "6.12.117"), ("6.8.0", "6.12.117"), ("6.2.1", "6.1.192")])
def test_the_nearest_release(release, best):
    assert nearest(release, [Path("6.1.192.json"), Path("6.12.117.json")]).stem == best


def what_a_run_depends_on():
    """The versions of the programs that run on hosts and are not part of this project: the kernel's build stamp, the programs,
    the C library."""
    packages = subprocess.run(["dpkg-query", "--show", "--showformat=${Package} ${Version}\n", "dash", "ibverbs-providers", "ibverbs-utils",
                               "libc6", "libibverbs1"],
                              capture_output=True, text=True, check=True).stdout
    return f"{(demo.KERNEL.parent / 'stamp').read_text().strip()}\n{packages}"


def counted(stats):
    """The counters without those that are 0, so that a new one of them does not change the digest."""
    if isinstance(stats, dict):
        return {name: counted(value) for name, value in stats.items() if value != 0}
    return [counted(value) for value in stats] if isinstance(stats, list) else stats


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
    found = hashlib.sha256(by_rank(result.out).encode() + json.dumps(counted(result.stats)).encode() + capture.read_bytes()).hexdigest()
    versions = hashlib.sha256(what_a_run_depends_on().encode()).hexdigest()
    path = HERE / "same_everywhere.json"
    known = json.loads(path.read_text())
    if RENEW:
        known = {**(known if found in known.values() else {}), versions: found}
        path.write_text(json.dumps(known, indent=1) + "\n")
    if versions not in known:
        pytest.skip("no digest is known for these versions: make renew")
    assert found == known[versions], (found, result)
