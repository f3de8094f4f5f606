# SPDX-License-Identifier: Apache-2.0
"""Congestion control, in virtual time: two jobs, each with one host at each of two leaves, share a leaf's uplink."""
import re

import pytest

from lab import PERF, run

SIZE, TIMES = 1 << 20, 6
THRESHOLD = 40000


def two_jobs(folder, controlled, aggregator):
    """Returns the counters of leaf 0's uplink."""
    job = ("export INA_COOKIE=$((INA_RANK % 2)) INA_ROOT=192.0.2.$((INA_RANK % 2 + 1)) INA_RANK=$((INA_RANK / 2)) INA_RANKS=2 "
           f"INA_CONGESTION_CONTROL={int(controlled)}; exec {PERF} -t float -b {SIZE} -e {SIZE} -n {TIMES} -w 0")
    result = run(folder, 4, ["--virtual-time", "--topology", "leaf-spine:2x2", "--aggregator", aggregator, "--ecn-threshold", str(THRESHOLD)],
                 ["sh", "-c", job])
    assert result.code == 0, result
    rows = re.findall(rf"^\[\d\] +{SIZE} .* ina .* (\d+)$", result.out, re.M)
    assert rows == ["0", "0"], result  # no wrong elements, in both jobs
    return result.stats["cables"]["leaf0:up0"]["up"]


@pytest.mark.parametrize("aggregator", ["model", "rtl"])
def test_two_jobs_share_a_cable(tmp_path, aggregator):
    """With control, fewer packets find the queue above the threshold. At first both jobs send whole windows, which determines the
    longest queue."""
    ways = {}
    for controlled in (False, True):
        folder = tmp_path / str(controlled)
        folder.mkdir()
        ways[controlled] = two_jobs(folder, controlled, aggregator)
    assert 0 < ways[True]["marked"] < ways[False]["marked"], ways
