# SPDX-License-Identifier: Apache-2.0
"""Ranks that disagree, and ranks that die: every rank gets one clear error, and nothing hangs."""
import re

import pytest
from lab import PERF, perf, run


@pytest.mark.parametrize("aggregator", ["rtl", "model", "off"])
def test_counts_that_differ(tmp_path, aggregator):
    """Rank 1 all-reduces 2,000 elements while the others have 1,000."""
    size = 'exec "$0" -c 1 -n 1 -w 0 -b $((INA_RANK == 1 ? 8000 : 4000)) -e $((INA_RANK == 1 ? 8000 : 4000))'
    result = run(tmp_path, 3, ["--aggregator", aggregator], ["sh", "-c", size, PERF], timeout_s=90)
    assert result.code not in (0, 124), result
    assert result.err.count("INA_ERR_MISMATCH") == 3, result
    assert "rank 1" in result.err and "2000" in result.err and "1000" in result.err, result


@pytest.mark.parametrize("aggregator", ["rtl", "off"])
def test_counts_that_differ_by_whole_messages(tmp_path, aggregator):
    """The shorter one is a whole number of messages: its rank must not take the rest of the other one for its next call."""
    size = 'exec "$0" -c 1 -n 1 -w 0 -b $((INA_RANK == 0 ? 130976 : 654880)) -e $((INA_RANK == 0 ? 130976 : 654880))'
    result = run(tmp_path, 2, ["--aggregator", aggregator], ["sh", "-c", size, PERF], timeout_s=90)
    assert result.err.count("INA_ERR_MISMATCH") == 2, result


@pytest.mark.parametrize("aggregator", ["rtl", "off"])
def test_types_that_differ(tmp_path, aggregator):
    kind = 'exec "$0" -c 1 -n 1 -w 0 -b 4000 -e 4000 -t $([ $INA_RANK = 0 ] && echo int32 || echo float)'
    result = run(tmp_path, 2, ["--aggregator", aggregator], ["sh", "-c", kind, PERF], timeout_s=90)
    assert result.err.count("INA_ERR_MISMATCH") == 2, result
    assert "int32" in result.err and "float32" in result.err, result


def test_rank_counts_that_differ(tmp_path):
    """Rank 1 believes that there are 3 ranks."""
    command = 'if [ $INA_RANK = 1 ]; then INA_RANKS=3; fi; export INA_RANKS; exec "$0" -b 4 -e 4'
    result = run(tmp_path, 2, ["--aggregator", "rtl"], ["sh", "-c", command, PERF], timeout_s=90)
    assert result.code not in (0, 124), result
    assert result.err.count("INA_ERR_MISMATCH") == 2, result


@pytest.mark.parametrize("failed, spoil, reason", [
    (2, "rdma link del rxe0", "RDMA device"), (0, "rdma link del rxe0", "RDMA device"),
    (2, "export INA_BIND=192.0.77.77", "192.0.77.77"), (3, "ip addr add 10.9.9.9/32 dev lo; export INA_BIND=10.9.9.9", "10.9.9.9"),
    (1, "unset INA_BIND; export INA_HCA=mlx5_0", '"mlx5_0" of INA_HCA or the option device; its devices: rxe0:1 can be used'),
    (0, "export INA_HCA=^rxe", "no RDMA device of this host is in the list"), (2, "export INA_HCA=rxe0:", "INA_HCA is \"rxe0:\"")])
def test_a_rank_that_cannot_take_part(tmp_path, failed, spoil, reason):
    """All ranks name it and its reason, after seconds of virtual time: none waits for the timeout of 60 s."""
    command = (f'if [ $INA_RANK = {failed} ]; then {spoil}; fi; start=$(date +%s); "$0" -b 4 -e 4; '
               'echo took $(($(date +%s) - start)) s; exit 1')
    result = run(tmp_path, 4, ["--aggregator", "off", "--virtual-time"], ["sh", "-c", command, PERF], timeout_s=120)
    took = [int(seconds) for seconds in re.findall(r"took (\d+) s", result.out)]
    assert len(took) == 4 and max(took) <= 8, result
    lines = [line for line in result.err.splitlines() if f"rank {failed}: " in line and reason in line]
    assert len(lines) == 4, result


def test_a_rank_that_dies(tmp_path):
    """Rank 1's process is killed while the others wait for it in an all-reduce, after 4 s of virtual time."""
    command = ('if [ $INA_RANK = 1 ]; then "$0" -b 64K -e 64K -n 1 -w 0 --late 1:60 & sleep 4; kill -9 $!; exit 9; fi; '
               'exec "$0" -b 64K -e 64K -n 1 -w 0')
    result = run(tmp_path, 3, ["--aggregator", "rtl", "--virtual-time"], ["sh", "-c", command, PERF], timeout_s=120)
    assert result.code not in (0, 124), result
    assert result.err.count("INA_ERR_PEER") == 2, result
    assert "rank 1" in result.err, result


@pytest.mark.parametrize("arguments, hint", [
    (["-b", "3"], "-b"), (["-t", "complex"], "-t"), (["-f", "1"], "-f"), (["--algorithm", "tree"], "--algorithm"),
    (["-b", "8", "-e", "4"], "-e"), (["--late", "x"], "--late"), (["surplus"], "surplus")])
def test_odd_options(tmp_path, arguments, hint):
    result = perf(tmp_path, 1, ["--aggregator", "off", "--quiet"], arguments)
    assert result.code not in (0, 124), result
    assert hint in result.err, result
    assert len(result.err.splitlines()) <= 2, result
