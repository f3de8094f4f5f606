# SPDX-License-Identifier: Apache-2.0
"""Jobs in VLANs: the hosts' kernels tag their frames, and the aggregator applies quotas and priorities."""
import pytest
from lab import CHECK_TURNS, at_once, run, turns


def jobs(folder, options, vlans, starts=None, calls=240):
    """Runs jobs of check_turns on three hosts, each in a VLAN: (id, priority); `starts`: start times in seconds, by default all
    at the same time. Returns the counters of each, which are the same on all its ranks.
    """
    starts = starts or [0] * len(vlans)
    setup = "\n".join(f"""ip link add link vec0 name vlan{id} type vlan id {id} egress-qos-map 0:{priority} &&
ip addr add 10.0.{id}.$((INA_RANK + 1))/24 dev vlan{id} && ip link set vlan{id} up || exit 1""" for id, priority in sorted(set(vlans)))
    ids = " ".join(str(id) for id, _ in vlans)
    command = f"""{{ id=$(echo {ids} | cut -d" " -f$job); sleep $(echo {" ".join(map(str, starts))} | cut -d" " -f$job)
export INA_LOG=info INA_BIND=10.0.$id.$((INA_RANK + 1)) INA_ROOT=10.0.$id.1; {CHECK_TURNS} {calls} 50 1 | sed "s/^/job $job /"; }}"""
    bash = at_once(len(vlans), command)
    result = run(folder, 3, ["--virtual-time", *options], [*bash[:-1], setup + "\n" + bash[-1]])
    assert result.code == 0, result
    counters = turns(result)
    assert sorted(counters) == list(range(1, len(vlans) + 1)), result
    for ranks in counters.values():
        assert len(ranks) == 3 and len({rank["aggregated"] for rank in ranks}) == 1 and ranks[0]["fallbacks"] == 0, result
    return result, [counters[job][0] for job in sorted(counters)]


@pytest.mark.parametrize("aggregator,calls", [("model", 240), ("rtl", 100)])
def test_a_tenant_beyond_its_quota_takes_turns_with_itself(tmp_path, aggregator, calls):
    """One context for each VLAN: of two jobs in one VLAN, one at a time is aggregated; the job of the other VLAN always is."""
    result, counted = jobs(tmp_path, ["--aggregator", aggregator, "--vlan-quota", 1, "--trust-tags", "yes"], [(7, 0), (7, 0), (8, 0)], calls=calls)
    assert (counted[2]["aggregated"], counted[2]["yields"]) == (calls, 0), result
    assert all(job["yields"] > 0 and job["aggregated"] > 0.2 * calls for job in counted[:2]), result
    assert result.aggregator["jobs_broken"] == 0, result


def test_a_higher_priority_does_not_give_way(tmp_path):
    """One context. A job that comes later gets it, and keeps it, if its priority is higher, and never gets it if it is lower."""
    result, counted = jobs(tmp_path, ["--aggregator", "model", "--jobs", 1, "--trust-tags", "yes"], [(7, 2), (8, 5)], [0, 3])
    assert [job["yields"] for job in counted] == [1, 0], result
    assert 30 < counted[0]["aggregated"] < 140 and counted[1]["aggregated"] > 220, result
    result, counted = jobs(tmp_path, ["--aggregator", "model", "--jobs", 1, "--trust-tags", "yes"], [(7, 5), (8, 2)], [0, 3])
    assert counted[0]["yields"] == 0 and counted[0]["aggregated"] == 240, result
