# SPDX-License-Identifier: Apache-2.0
"""Hosts with two releases of Linux in one job. `make test-on` names the machine's kernel in INA_OTHER_KERNEL; the tests are skipped
if that has the release of the tests' own."""
import os

import pytest
from lab import assert_all_right, perf, run
from test_figures import demo

OTHER = os.environ.get("INA_OTHER_KERNEL")
pytestmark = pytest.mark.skipif(not OTHER or demo.kernel_release(OTHER) == demo.kernel_release(), reason="INA_OTHER_KERNEL names no other kernel")


def mixed(*hosts):
    return [word for host in hosts for word in ("--kernel", f"{host}:{OTHER}")]


def test_each_host_has_its_kernel(tmp_path):
    result = run(tmp_path, 2, mixed(1), ["uname", "-r"])
    assert result.code == 0, result
    assert sorted(result.out.splitlines()) == [f"[0] {demo.kernel_release()}", f"[1] {demo.kernel_release(OTHER)}"]


@pytest.mark.parametrize("time", [[], ["--virtual-time"]], ids=["real", "virtual"])
@pytest.mark.parametrize("aggregator", ["rtl", "model"])
def test_sums(tmp_path, time, aggregator):
    result = perf(tmp_path, 4, [*time, "--aggregator", aggregator, *mixed(0, 2)],
                  ["-b", "4", "-e", "256K", "-f", "16", "-t", "all", "-n", "1", "--compare"])
    assert result.code == 0 and result.wrong() == 0, result
    assert result.algorithms() >= {"ina", "ring"} and result.count("fallbacks") == 0, result


def test_losses(tmp_path):
    """Each release sends again what the other one has lost."""
    result = perf(tmp_path, 3, ["--virtual-time", "--aggregator", "rtl", "--loss-up", "0.005", "--loss-down", "0.005", *mixed(1)],
                  ["-b", "1M", "-e", "1M", "-t", "float", "-n", "4"])
    assert_all_right(result, "ina")


def test_pingpong(tmp_path):
    result = run(tmp_path, 2, ["--aggregator", "off", *mixed(1)],
                 ["sh", "-c", "p='ibv_rc_pingpong -g 1 -n 100'; [ $INA_RANK = 0 ] && exec $p; sleep 1; exec $p $INA_ROOT"])
    assert result.code == 0 and result.out.count("100 iters in") == 2, result
