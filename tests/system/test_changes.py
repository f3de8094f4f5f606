# SPDX-License-Identifier: Apache-2.0
"""A host whose network interface changes during a job: its rank reports the change to the others, and does not count as dead."""
import re
from pathlib import Path

import pytest
from lab import LAB, PERF, run

CHECK = Path(LAB).parent / "check_until"
N = 4
HOST = 1
REAL, VIRTUAL = [], ["--virtual-time"]
CALLS = 500  # 5 s or more of virtual time

# The change to the host after a second, and the report of its rank.
MTU = ("ip link set vec0 mtu 1500", "path MTU of rxe0 fell from 4096 to 1024")
DOWN = "ip link set vec0 down; sleep 1; ip link set vec0 up"
ADDRESS = ("ip addr del 192.0.2.2/16 dev vec0; sleep 0.5; ip addr add 192.0.2.2/16 dev vec0", "address 192.0.2.2")


@pytest.mark.parametrize("aggregator, algorithm", [("model", "ina"), ("off", "ring")])
def test_the_smallest_mtu_is_used_by_all(tmp_path, aggregator, algorithm):
    """Two hosts whose interfaces have smaller MTUs before the job: no rank sends larger packets, and each knows whom to blame."""
    command = ('case $INA_RANK in 1) ip link set vec0 mtu 700 ;; 2) ip link set vec0 mtu 1500 ;; esac; '
               'INA_LOG=info exec "$0" -b 4 -e 256K -f 256 -n 1 --algorithm "$1"')
    result = run(tmp_path, N, ["--aggregator", aggregator, *VIRTUAL], ["sh", "-c", command, PERF, algorithm])
    assert result.code == 0, result
    reason = "all ranks use path MTU 512: the network interface of rank 1, at 192.0.2.2, has MTU 700; 2 of 4 ranks have less than the largest path MTU, 4096"
    assert result.err.count(reason) == N, result
    assert len(re.findall(r"GID 1 ::ffff:192.0.2.\d, path MTU 512, ", result.err)) == N, result
    rows = [line.split() for line in result.out.splitlines() if re.match(r"\[0\] +\d+ ", line)]
    assert len(rows) == 3 and all(row[5] == algorithm and row[-1] == "0" for row in rows), result


def change(tmp_path, aggregator, what, time):
    command = f'if [ $INA_RANK = {HOST} ]; then (sleep 1; {what}) & fi; INA_LOG=info exec "$0" {CALLS}'
    return run(tmp_path, N, ["--aggregator", aggregator, *time], ["sh", "-c", command, CHECK])


def assert_ended_alike(result, time, reason):
    """The job has ended at all ranks, with that rank's reason; in real time the limit depends on the machine's load."""
    ends = re.findall(r"ended after ([0-9.]+) s: (.*)", result.out)
    assert len(ends) == N and (time == REAL or all(float(after) < 5 for after, _ in ends)), result
    assert all(f"rank {HOST}" in text and reason in text for _, text in ends), result


def assert_right(result):
    assert "WRONG" not in result.out and "disconnected" not in result.out, result


@pytest.mark.parametrize("aggregator", ["model", "off"])
@pytest.mark.parametrize("time, what, reason", [(REAL, *MTU), (VIRTUAL, *ADDRESS)], ids=["mtu", "address"])
def test_all_ranks_hear_the_reason(tmp_path, aggregator, time, what, reason):
    """Either the job ends within seconds, or it continues over the ring, with the reason in its log."""
    result = change(tmp_path, aggregator, what, time)
    assert_right(result)
    if "continued" not in result.out:
        assert_ended_alike(result, time, reason)
    else:
        assert result.out.count("continued") == N, result
        assert any(reason in line for line in result.err.splitlines() if "continues over the ring" in line), result


@pytest.mark.parametrize("time, what, reason", [
    (REAL, DOWN, "address 192.0.2.2"),
    (VIRTUAL, DOWN, "address 192.0.2.2"),
    (REAL, f"{MTU[0]}; sleep 1; ip link set vec0 mtu 4200", MTU[1]),
], ids=["down-real", "down-virtual", "mtu"])
def test_an_interface_comes_back(tmp_path, time, what, reason):
    """Whether the job notices depends on the packets that were on the way: when it looks for a reason, there may be none any
    more."""
    result = change(tmp_path, "model", what, time)
    assert_right(result)
    if result.out.count("continued") != N:
        assert_ended_alike(result, time, reason)


def test_a_smaller_mtu_in_virtual_time(tmp_path):
    """rdma_rxe retries packets that are too long without a pause. In virtual time, in which computing takes no time, the run
    ends."""
    result = change(tmp_path, "model", MTU[0], VIRTUAL)
    assert result.code == 125 and "without waiting" in result.err, result


def test_after_all_interfaces_were_down_the_next_job_is_aggregated(tmp_path):
    """And the job before it joins the aggregator again: while the interface was down, no message of the connection manager was
    sent."""
    command = (f'(sleep 1; {DOWN}) & INA_LOG=info "$0" {CALLS} || exit 1; wait; '
               f"INA_COOKIE=second exec {PERF} -b 64K -e 64K -n 3 --algorithm ina")
    result = run(tmp_path, N, ["--aggregator", "model", "--virtual-time"], ["sh", "-c", command, CHECK])
    assert result.code == 0, result
    rows = [line.split() for line in result.out.splitlines() if line.split()[1:2] == ["65536"]]
    assert [row[5] for row in rows] == ["ina"], result
    assert result.err.count("aggregated again") == N, result
