# SPDX-License-Identifier: Apache-2.0
"""tests/bench/switch.py with a few frames: every part of it works, every packet arrives, and the sums are right. Times do not
count."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).with_name("switch.py")
BUILD = pathlib.Path(os.environ["INA_BRIDGE"]).parent
FORBIDDEN = "this machine forbids network namespaces"


def test_every_row_has_a_figure(tmp_path):
    result = tmp_path / "result.json"
    done = subprocess.run([sys.executable, BENCH, "--build", BUILD, "--seconds", "0.1", "--sets", "1", "--messages", "20", "--json",
                           result], capture_output=True, text=True, timeout=100, check=False)
    if FORBIDDEN in done.stderr:
        pytest.skip(FORBIDDEN)
    assert done.returncode == 0, done.stderr
    rows = json.loads(result.read_text())["rows"]
    ways = ["ceiling", "forwarding", "aggregating", "linux", "model alone"]
    assert [(row["payload"], row["switch"]) for row in rows] == [(payload, way) for payload in (1024, 4096) for way in ways]
    assert all(row["cpu_us_per_frame"] > 0 for row in rows)
    assert all(row["shortest_s"] >= 0.1 for row in rows if row["switch"] != "model alone")
    assert all((row["gbps_per_core"] is None) == (row["switch"] == "linux") for row in rows)


@pytest.mark.parametrize("way, switched", [("summed", "off"), ("forwarded", "model")])
def test_wrong_elements_are_found(way, switched, tmp_path):
    """Sums in place of forwarded elements, and the reverse, end the load with an error."""
    script = f"""
        for i in 0 1 2 3; do
            ip link add s$i mtu 4200 type veth peer name h$i mtu 4200
            for name in s$i h$i; do echo 1 > /proc/sys/net/ipv6/conf/$name/disable_ipv6; ip link set $name up; done
        done
        {BUILD}/ina-bridge --aggregator {switched} --port s0 --port s1 --port s2 --port s3 & bridge=$!
        sleep 0.5; timeout 20 {BUILD}/switch_load {way} 1024 0.02 h0 h1 h2 h3; code=$?
        kill $bridge; wait $bridge; exit $code"""
    done = subprocess.run(["unshare", "-Urn", "--kill-child", "--fork", "sh", "-c", script], capture_output=True, text=True, timeout=60,
                          check=False, cwd=tmp_path)
    if "unshare" in done.stderr:
        pytest.skip(FORBIDDEN)
    assert done.returncode == 1 and "wrong elements" in done.stderr, done.stderr
