# SPDX-License-Identifier: Apache-2.0
"""Jobs share the aggregator's packet memory: each gets as much as it asks for, or as the reserve for further jobs allows."""
import re

import pytest
from lab import PERF, at_once, run


def jobs(folder, count, options, arguments):
    """Runs `count` jobs at the same time on two hosts. Returns rank 0's log of each job, and the wrong elements of all."""
    result = run(folder, 2, ["--virtual-time", *options],
                 at_once(count, f"INA_LOG=info {PERF} -b 256K -e 1M -f 4 -n 3 -w 1 {arguments}"))
    assert result.code == 0, result
    opened = re.findall(r"libina: rank 0 of 2: .*window (\d+): (.*)", result.err)
    assert len(opened) == count, result
    wrong = [line.split()[-1] for line in result.out.splitlines() if re.match(r"(\[0\])? +\d+ +\d+ +\w+ +\w+ ", line)]
    assert len(wrong) == 2 * count and set(wrong) == {"0"}, result
    return result, [how for _, how in opened]


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_sixteen_jobs_at_once(tmp_path, kind):
    """16 windows of 32 packets fill the whole memory."""
    result, how = jobs(tmp_path, 16, ["--aggregator", kind], "--window 8 --message 16K")
    assert how == ["aggregated, 32 of 32 packets granted"] * 16, result


def test_less_than_is_asked_for(tmp_path):
    """The aggregator grants each job at most 32 packets: sixteen messages of two packets, in place of eight of four."""
    result, how = jobs(tmp_path, 4, ["--aggregator", "model", "--window", "32"], "--window 8 --message 64K")
    assert how == ["aggregated, 32 of 128 packets granted"] * 4, result
    assert "messages of 8192 bytes, window 16" in result.err, result


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_memory_that_is_short(tmp_path, kind):
    """A job that asks for more than the memory has gets less, and is still aggregated."""
    result, how = jobs(tmp_path, 6, ["--aggregator", kind], "--window 8 --message 64K")
    assert sorted(int(line.split()[1]) for line in how) == [8, 8, 32, 128, 128, 128], result
    assert all(re.fullmatch(r"aggregated, \d+ of 128 packets granted", line) for line in how), result
