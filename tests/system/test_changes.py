# SPDX-License-Identifier: Apache-2.0
"""A host whose network interface changes during a job: its rank tells the others so, and is not taken for gone."""
import re
from pathlib import Path

import pytest
from lab import LAB, PERF, run

CHECK = Path(LAB).parent / "check_until"
N = 4
HOST = 1
CALLS = 500  # 5 s and more of virtual time

# What is done to the host after a second, and what its rank says of it.
MTU = ("ip link set vec0 mtu 1500", "path MTU of rxe0 fell from 4096 to 1024")
ADDRESS = ("ip addr del 192.0.2.2/16 dev vec0; sleep 0.5; ip addr add 192.0.2.2/16 dev vec0", "address 192.0.2.2")


def change(tmp_path, aggregator, what, time=("--virtual-time",)):
    command = f'if [ $INA_RANK = {HOST} ]; then (sleep 1; {what}) & fi; INA_LOG=info exec "$0" {CALLS}'
    return run(tmp_path, N, ["--aggregator", aggregator, *time], ["sh", "-c", command, CHECK])


def assert_all_know(result, reason):
    assert "WRONG" not in result.out and "is gone" not in result.out, result
    ends = re.findall(r"ended after ([0-9.]+) s: (.*)", result.out)
    if ends:
        assert len(ends) == N and all(float(after) < 5 for after, _ in ends), result
        assert all(f"rank {HOST}" in text and reason in text for _, text in ends), result
    else:
        assert result.out.count("went on") == N, result
        assert any(reason in line for line in result.err.splitlines() if "goes on by ring" in line), result


@pytest.mark.parametrize("aggregator", ["model", "off"])
@pytest.mark.parametrize("what, reason", [MTU, ADDRESS], ids=["mtu", "address"])
def test_all_ranks_hear_the_reason(tmp_path, aggregator, what, reason):
    """Either the job ends within seconds, at all ranks with that rank's reason; or it goes on over the ring, and its log has it."""
    assert_all_know(change(tmp_path, aggregator, what), reason)


@pytest.mark.parametrize("time", [[], ["--virtual-time"]], ids=["real", "virtual"])
@pytest.mark.parametrize("what, reason", [("ip link set vec0 down; sleep 1; ip link set vec0 up", "address 192.0.2.2"),
                                          ("ip link set vec0 mtu 1500; sleep 1; ip link set vec0 mtu 4200", "path MTU of rxe0 fell")],
                         ids=["down", "mtu"])
def test_an_interface_comes_back(tmp_path, what, reason, time):
    assert_all_know(change(tmp_path, "model", what, time), reason)


def test_after_all_interfaces_were_down_the_next_job_is_aggregated(tmp_path):
    command = (f'(sleep 1; ip link set vec0 down; sleep 1; ip link set vec0 up) & "$0" {CALLS} || exit 1; wait; '
               f"INA_COOKIE=second exec {PERF} -b 64K -e 64K -n 3 --algorithm ina")
    result = run(tmp_path, N, ["--aggregator", "model", "--virtual-time"], ["sh", "-c", command, CHECK])
    assert result.code == 0, result
    rows = [line.split() for line in result.out.splitlines() if line.split()[1:2] == ["65536"]]
    assert [row[5] for row in rows] == ["ina"], result
