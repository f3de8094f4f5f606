# SPDX-License-Identifier: Apache-2.0
"""Jobs share the aggregator's packet memory: each has what it asks for, or what the jobs that may come leave."""
import re

import pytest
from lab import PERF, at_once, run


def jobs(folder, count, options, arguments):
    """So many jobs at once on two hosts: what the log of rank 0 says of each job, and the wrong elements of all."""
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
    """16 windows of 32 packets are all of the memory."""
    result, how = jobs(tmp_path, 16, ["--aggregator", kind], "--window 8 --message 16K")
    assert how == ["aggregated, 32 of 32 packets granted"] * 16, result


def test_less_than_is_asked_for(tmp_path):
    """The aggregator grants no job more than 32 packets: sixteen messages of two, in place of eight of four."""
    result, how = jobs(tmp_path, 4, ["--aggregator", "model", "--window", "32"], "--window 8 --message 64K")
    assert how == ["aggregated, 32 of 128 packets granted"] * 4, result
    assert "messages of 8192 bytes, window 16" in result.err, result


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_memory_that_is_short(tmp_path, kind):
    """What asks for more than there is has less, and is aggregated all the same."""
    result, how = jobs(tmp_path, 6, ["--aggregator", kind], "--window 8 --message 64K")
    assert sorted(int(line.split()[1]) for line in how) == [8, 8, 32, 128, 128, 128], result
    assert all(re.fullmatch(r"aggregated, \d+ of 128 packets granted", line) for line in how), result
