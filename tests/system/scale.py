# SPDX-License-Identifier: Apache-2.0
"""Many ranks, 16 on each host, with the RTL in every switch, in virtual time. ctest runs few hosts; `make scale` runs 64, with
1,024 ranks, or the number in INA_HOSTS."""
import os

from lab import assert_all_right, perf
from test_virtual_time import VIRTUAL

HOSTS = int(os.environ.get("INA_HOSTS", "4"))
FABRICS = {4: "leaf-spine:2x2", 16: "leaf-spine:4x4", 64: "leaf-spine:8x8"}
RANKS_PER_HOST = 16
MEMORY_MIB = 192  # for a host with many ranks, if its share would be smaller


def test_ranks(tmp_path):
    """One rank of each machine communicates for it. Every element of every sum is right on all ranks, and the sums come from the
    switches."""
    assert HOSTS in FABRICS, f"INA_HOSTS={HOSTS} is not one of {list(FABRICS)}"
    result = perf(tmp_path, HOSTS, [*VIRTUAL, "--topology", FABRICS[HOSTS], "--aggregator", "rtl", "--ranks-per-host", RANKS_PER_HOST,
                                    *(["--memory", MEMORY_MIB] if HOSTS > 16 else [])],
                  ["-b", "64K", "-e", "64K", "-n", 1, "-w", 0, "--schedule", "leader"], timeout_s=3000)
    assert_all_right(result, "ina")
    assert result.report["ranks"] == HOSTS * RANKS_PER_HOST, result
    switches = [switch["aggregator"] for switch in result.stats["switches"].values()]
    assert {switch["kind"] for switch in switches} == {"rtl"}, result
    assert len({switch["packets_joined"] for switch in switches}) == 1, result  # each leaf has the same number of hosts below
