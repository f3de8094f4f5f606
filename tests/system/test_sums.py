# SPDX-License-Identifier: Apache-2.0
"""The sums are right, the aggregator made them, and all their bytes went through it."""
import pytest
from lab import assert_all_right, perf

MESSAGE_FRAMING_BYTES = 48
ALIGNMENT_BYTES = 16


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_rtl_sums_exactly(tmp_path, n):
    result = perf(tmp_path, n, ["--aggregator", "rtl"], ["-b", "4", "-e", "1M", "-f", "16", "-t", "all", "-n", "2"])
    assert_all_right(result, "ina")
    assert result.aggregator["kind"] == "rtl"
    assert result.aggregator["jobs_broken"] == 0, result
    assert result.aggregator["jobs_opened"] == result.aggregator["jobs_closed"] == 1, result


@pytest.mark.parametrize("n, ports", [(5, 8), (6, 8), (7, 8), (9, 16)])
def test_numbers_of_hosts_that_are_no_sizes_of_the_rtl(tmp_path, n, ports):
    """The bridge has the RTL at 2, 4, 8 and 16 ports: ports without a host take part in no sum."""
    result = perf(tmp_path, n, ["--virtual-time", "--aggregator", "rtl"], ["-b", "4", "-e", "64K", "-f", "16", "-t", "all", "-n", "1"])
    assert_all_right(result, "ina")
    assert (result.aggregator["kind"], result.aggregator["ports"]) == ("rtl", ports), result


@pytest.mark.parametrize("n", [4, 8])
def test_model_sums_exactly(tmp_path, n):
    result = perf(tmp_path, n, ["--aggregator", "model"], ["-b", "4", "-e", "4M", "-f", "32", "-t", "all", "-n", "2"])
    assert_all_right(result, "ina")
    assert result.aggregator["kind"] == "model"


@pytest.mark.parametrize("mtu", [256, 1024])
def test_smaller_packets(tmp_path, mtu):
    result = perf(tmp_path, 4, ["--aggregator", "rtl", "--mtu", mtu], ["-b", "4", "-e", "256K", "-f", "16", "-t", "all", "-n", "1"])
    assert_all_right(result, "ina")
    assert result.report["path_mtu"] == mtu


def test_in_place_and_odd_sizes(tmp_path):
    """Sizes that are no multiple of a message, of a packet or of 16 bytes."""
    result = perf(tmp_path, 3, ["--aggregator", "rtl"],
                  ["-b", "65484", "-e", "600000", "-f", "3", "-t", "all", "-n", "1", "--in-place"])
    assert_all_right(result, "ina")


def all_reduce_bytes(element_bytes, message_bytes):
    """The payload on the wire of one all-reduce of one host, by docs/protocol.md."""
    largest = message_bytes - MESSAGE_FRAMING_BYTES
    total = 0
    while element_bytes > 0:
        part = min(element_bytes, largest)
        total += MESSAGE_FRAMING_BYTES + -(-part // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        element_bytes -= part
    return total


def test_every_byte_is_accounted_for(tmp_path):
    """The acceptance run: the aggregator summed exactly the payload that the hosts must have sent.

    ina-perf synchronises with an all-reduce of one element before each measured one. At the end of each size it adds up #wrong
    and the ranks' times with one all-reduce each. With --json the ranks first agree, in one more, whether rank 0 can write the
    file.
    """
    sizes, iterations, warmups, n = [1 << 20, 1 << 22, 1 << 24], 2, 1, 4
    result = perf(tmp_path, n, ["--aggregator", "rtl"],
                  ["-b", "1M", "-e", "16M", "-f", "4", "-t", "float", "-n", iterations, "-w", warmups])
    assert_all_right(result, "ina")
    message = result.report["message_bytes"]
    one = all_reduce_bytes(4, message)
    host = sum((iterations + warmups) * (all_reduce_bytes(size, message) + one) + 2 * one for size in sizes) + one
    join_and_leave = 2 * MESSAGE_FRAMING_BYTES
    assert result.aggregator["bytes_joined"] == n * (host + join_and_leave), result
    assert result.aggregator["packets_raw"] == 0, result


def test_resnet50(tmp_path):
    """The 161 gradient tensors of ResNet-50, through the C model (the demo sends them through the RTL)."""
    result = perf(tmp_path, 4, ["--aggregator", "model"], ["-b", "4", "-e", "4", "-n", "1", "-w", "0", "--model", "resnet50"])
    assert_all_right(result, "ina")
    assert result.report["rows"][-1]["count"] == 25_557_032
