# SPDX-License-Identifier: Apache-2.0
"""Several switches in one bridge: raw frames through two and three of them, over named cables."""
import json
import time

import pytest
from scapy.layers.l2 import CookedLinuxV2  # noqa: F401 (reads link type LINUX_SLL2)
from scapy.utils import rdpcap

from bridge import BROADCAST, marker, spared_marker
from roce import DATA, INT32, JOIN, MARKED, SEND_ONLY, WRITE_ONLY, mac, message, packet, payload_of, plain, psn_of


TREE_PORT = 49152  # docs/protocol.md, Trees
ACKNOWLEDGE = 17  # the BTH's opcode


def introduce(bridge, hosts):
    """Makes every host known everywhere."""
    for host in hosts:
        bridge.send(host, BROADCAST + plain(host, 0)[6:])
        for other in hosts:
            if other != host:
                assert bridge.receive(other)[6:12] == mac(host)


def leaf_spine(start, *options, leaves=2, hosts=2):
    bridge = start(leaves * hosts, "--topology", f"leaf-spine:{leaves}x{hosts}", *options)
    introduce(bridge, range(leaves * hosts))
    return bridge


def test_to_another_leaf(start):
    """Over the spine, once, and to no other host; a frame between neighbours stays below the spine."""
    bridge = leaf_spine(start, "--aggregator", "off")
    before = b"\x88\xb5before"
    for source, destination in [(0, 3), (3, 0), (0, 1), (2, 3)]:
        frame = mac(destination) + mac(source) + before
        bridge.send(source, frame)
        assert bridge.receive(destination) == frame
    assert bridge.settle() == [[], [], [], []]
    stats = bridge.end()
    turns = bridge.turn  # of markers, which are flooded like the broadcasts
    # A broadcast from each host goes over both cables, once; then 0 -> 3 and 3 -> 0.
    for cable in stats["cables"].values():
        assert [cable[way]["frames"] for way in ("up", "down")] == 2 * [2 * (1 + turns) + 1]
        assert cable["up"]["bytes"] == 2 * (len(plain(0, 0)) + turns * len(marker(0, 0))) + 12 + len(before)
    assert set(stats["cables"]) == {"leaf0:up0", "leaf1:up0"} and set(stats["switches"]) == {"leaf0", "leaf1", "spine0"}
    assert stats["flooded_frames"] == 3 * 4 * (1 + turns)  # at each switch
    assert [port["rx_frames"] - turns for port in stats["ports"]] == [1 + 2, 1, 1 + 1, 1 + 1]


def test_unknown_destination(start):
    """It goes everywhere, once, even if there are loops."""
    bridge = start(4, "--topology", "clos:2x2x2", "--aggregator", "off")
    frame = mac(3) + mac(0) + b"\x88\xb5where?"
    bridge.send(0, frame)
    assert bridge.settle() == [[], [frame], [frame], [frame]]
    assert bridge.end()["filtered_frames"] == 0


def spread(start, flows, marked, tree=None, opcode=SEND_ONLY):
    """Sends flows from host 0 to host 2 of another leaf, five packets each. Returns the number of frames on each spine."""
    bridge = start(4, "--topology", "clos:2x2x2", "--aggregator", "off")
    introduce(bridge, range(4))
    for flow in range(flows):
        for psn in range(5):
            # The source port of a flow belongs to its source, or to its tree.
            frame = packet(flow, 2, psn, bytes(32), opcode, tos=MARKED if marked else 0, source_mac=mac(0))
            if tree is not None:
                frame = frame[:34] + (TREE_PORT + tree).to_bytes(2, "big") + frame[36:]
            bridge.send(0, frame)
        assert [psn_of(bridge.receive(2)) for _ in range(5)] == list(range(5))
    cables = bridge.end()["cables"]
    up = [cables["leaf0:up" + n]["up"]["frames"] for n in "01"]
    assert [cables["leaf1:up" + n]["down"]["frames"] for n in "01"] == up
    return up[0] - 2, up[1]  # the first one has the broadcasts too


def test_multipath(start):
    """Flows spread over the spines, each stays on one, and the next time it takes the same one."""
    first, second = spread(start, 40, marked=False)
    assert first + second == 40 * 5 and first % 5 == second % 5 == 0
    assert 10 * 5 <= first <= 30 * 5
    assert spread(start, 40, marked=False) == (first, second)


@pytest.mark.parametrize("opcode", [SEND_ONLY, ACKNOWLEDGE])
@pytest.mark.parametrize("tree", range(4))
def test_aggregated_flows_follow_their_tree(start, tree, opcode):
    """The UDP source port of frames for aggregators chooses the path, whatever their addresses: the flows of a tree meet. So do
    their ACKs."""
    assert spread(start, 12, marked=True, tree=tree, opcode=opcode) == ((12 * 5, 0) if tree % 2 == 0 else (0, 12 * 5))


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_job_inside_a_leaf(start, kind):
    """Two jobs, one at each leaf, each summed there; the spine has no aggregator and sees nothing."""
    bridge = leaf_spine(start, "--aggregator", kind, "--at", "spine0,aggregator=off")
    for leaf in range(2):
        ranks = [2 * leaf, 2 * leaf + 1]
        for psn, (of, elements, number) in enumerate([(JOIN, b"", 0), (DATA, bytes([1, 0, 0, 0] * 64), INT32)]):
            for rank, host in enumerate(ranks):
                bridge.send(host, packet(host, ranks[1 - rank], psn, message(rank, 2, of, psn, elements, number, job=7 + leaf)))
            for host in ranks:
                frame = bridge.receive(host)
        assert payload_of(frame)[32:-16] == bytes([2, 0, 0, 0] * 64)
    stats = bridge.end()
    switches = stats["switches"]
    assert stats["aggregator"]["kind"] == "mixed" and switches["spine0"]["aggregator"] == {"kind": "off"}
    assert [switches[leaf]["aggregator"]["packets_joined"] for leaf in ("leaf0", "leaf1")] == [4, 4]
    assert stats["aggregator"]["packets_joined"] == 8 and stats["steered_frames"] == 8
    assert stats["cables"]["leaf0:up0"]["up"]["frames"] == 2  # the broadcasts
    if kind == "rtl":
        assert stats["rtl_clocks"] == sum(switches[leaf]["rtl_clocks"] for leaf in ("leaf0", "leaf1"))


def test_idle_switches_cost_nothing(start):
    """One leaf works; the clocks of the others stay where they were after their reset."""
    bridge = leaf_spine(start, "--aggregator", "rtl")
    for psn in range(50):
        for host in range(2):
            bridge.send(host, packet(host, 1 - host, psn, message(host, 2, JOIN, psn, b"", 0)))
        for host in range(2):
            bridge.receive(host)
    switches = bridge.end()["switches"]
    assert switches["leaf0"]["rtl_clocks"] > 500
    assert switches["leaf1"]["rtl_clocks"] < 10 > switches["spine0"]["rtl_clocks"]


def through(bridge, count=400):
    """Sends numbered packets from host 0 to host 2, of another leaf. Returns those that come."""
    for psn in range(count):
        bridge.send(0, packet(0, 2, psn, bytes(32), WRITE_ONLY, tos=0))
    return [psn_of(frame) for frame in bridge.settle(spared_marker)[2]]


def test_faults_of_a_named_cable(start):
    bridge = leaf_spine(start, "--aggregator", "off", "--at", "leaf0:up0,loss-up=0.2,duplicate=0.1", "--seed", 3)
    got = through(bridge)
    for psn in range(100):  # past that cable
        bridge.send(0, packet(0, 1, psn, bytes(32), tos=0))
    assert len(bridge.settle(spared_marker)[1]) == 100
    stats = bridge.end()
    faults = stats["cables"]["leaf0:up0"]["up"]["faults"]
    assert len(set(got)) == 400 - faults["lost"] and 40 < faults["lost"] < 120
    assert len(got) - len(set(got)) == faults["duplicated"] > 10
    others = [stats["cables"]["leaf0:up0"]["down"]["faults"], *(stats["cables"]["leaf1:up0"][side]["faults"] for side in ("up", "down")),
              *(port["faults"][side] for port in stats["ports"] for side in ("up", "down"))]
    assert not any(count for of in others for count in of.values())


def test_faults_of_all_cables(start):
    """An option without a name applies to every cable on the way, each with a separate random stream."""
    bridge = leaf_spine(start, "--aggregator", "off", "--loss-up", "0.1", "--loss-down", "0.1")
    got = through(bridge)
    stats = bridge.end()
    lost = [stats["ports"][0]["faults"]["up"]["lost"], stats["cables"]["leaf0:up0"]["up"]["faults"]["lost"],
            stats["cables"]["leaf1:up0"]["down"]["faults"]["lost"], stats["ports"][2]["faults"]["down"]["lost"]]
    assert all(15 < one < 80 for one in lost) and len(set(lost)) > 1
    assert len(got) == 400 - sum(lost)


def test_rate_and_marks_of_a_cable(start):
    """A slow cable in real time: frames wait, and a long queue marks them."""
    bridge = leaf_spine(start, "--aggregator", "off", "--at", "leaf0:up0,link-rate=1M,ecn-threshold=50k,link-delay=20ms")
    begin = time.monotonic()
    for psn in range(100):
        bridge.send(0, packet(0, 2, psn, bytes(900), tos=2))
    got = [bridge.receive(2) for _ in range(100)]
    assert [psn_of(frame) for frame in got] == list(range(100))
    assert time.monotonic() - begin >= 0.020 + 100 * len(got[0]) * 8 / 1e6
    cable = bridge.end()["cables"]["leaf0:up0"]["up"]
    assert cable["marked"] == sum(frame[15] & 3 == 3 for frame in got) > 0
    assert 50_000 < cable["longest_queue_bytes"] <= 101 * (len(got[0]) + 24)  # preamble, FCS, gap


def test_full_queue_of_a_cable(start):
    """A frame that finds the queue full is dropped; later ones are not."""
    bridge = leaf_spine(start, "--aggregator", "off", "--at", "leaf0:up0,link-rate=1M,queue=10k")
    for psn in range(50):
        bridge.send(0, packet(0, 2, psn, bytes(900), tos=0))
    got, last = [], b""
    for turn in range(10000):  # until there is room again
        bridge.send(0, plain(0, 2, turn.to_bytes(4, "big")))
        bridge.send(0, plain(0, 1))
        bridge.receive(1)
        bridge.hosts[2].setblocking(False)
        try:
            while len(last := bridge.receive(2)) > 100:
                got.append(psn_of(last))
        except BlockingIOError:
            pass
        if last and len(last) < 100:
            break
    cable = bridge.end()["cables"]["leaf0:up0"]["up"]
    assert got == sorted(got) and 10 <= len(got) < 50
    assert cable["dropped_queue_full"] >= 50 - len(got)
    assert 9_000 < cable["longest_queue_bytes"] <= 10_000


def test_capture_of_a_named_cable(start, tmp_path):
    """Both ends of a cable: a frame leaves at one end and comes in at the other. Interfaces are counted from 1: first hosts, then
    two for each cable between switches, the lower end first."""
    path = tmp_path / "cable.pcap"
    bridge = leaf_spine(start, "--aggregator", "off", "--pcap", path, "--pcap-cable", "leaf1:up0", "--pcap-cable", "3")
    for source, destination in [(0, 3), (3, 0), (0, 1)]:
        bridge.send(source, mac(destination) + mac(source) + b"\x88\xb6hello")
        bridge.receive(destination)
    bridge.end()
    frames = [frame for frame in rdpcap(str(path)) if frame.proto == 0x88b6]
    assert [(frame.ifindex, frame.pkttype) for frame in frames] == [
        (8, 4), (7, 0), (4, 4),  # 0 -> 3: out of the spine, into leaf 1, out to the host
        (4, 0), (7, 4), (8, 0)]


def test_ethernet_capture_of_a_named_cable(start, tmp_path):
    """A frame appears once, although it passes two switches' ports."""
    path = tmp_path / "cable.pcap"
    bridge = leaf_spine(start, "--aggregator", "off", "--pcap-cable", f"leaf1:up0={path}")
    sent = [mac(destination) + mac(source) + b"\x88\xb6hello" for source, destination in [(0, 3), (3, 0), (0, 1), (2, 3)]]
    for frame in sent:
        bridge.send(frame[11] - 1, frame)
        bridge.receive(frame[5] - 1)
    bridge.end()
    assert [bytes(frame) for frame in rdpcap(str(path)) if frame.type == 0x88b6] == sent[:2]


def test_capture_of_all(start, tmp_path):
    path = tmp_path / "all.pcap"
    bridge = leaf_spine(start, "--aggregator", "off", "--pcap", path)
    bridge.send(0, mac(3) + mac(0) + b"\x88\xb6hello")
    bridge.receive(3)
    bridge.end()
    frames = [frame for frame in rdpcap(str(path)) if frame.proto == 0x88b6]
    assert [(frame.ifindex, frame.pkttype) for frame in frames] == [(1, 0), (5, 4), (6, 0), (8, 4), (7, 0), (4, 4)]


def test_file(start, tmp_path):
    """A host at the spine; two cables in parallel."""
    path = tmp_path / "fabric.json"
    path.write_text(json.dumps({"switches": [{"name": "a", "hosts": [0, 2], "up": ["top", "top"]},
                                             {"name": "top", "hosts": [1], "aggregator": "model"}],
                                "cables": {"a:up1": {"loss-down": 1}}}))
    bridge = start(3, "--topology", path, "--aggregator", "off")
    introduce(bridge, range(3))
    for flow in range(20):
        bridge.send(1, packet(flow, 0, 0, bytes(16), tos=0, source_mac=mac(1)))
    got = bridge.settle(spared_marker)[0]
    stats = bridge.end()
    assert stats["switches"]["top"]["aggregator"]["kind"] == "model"
    assert 0 < stats["cables"]["a:up1"]["down"]["faults"]["lost"] == 20 - len(got) < 20


def test_a_host_that_moves(start):
    bridge = leaf_spine(start, "--aggregator", "off")
    bridge.send(3, mac(1) + mac(0) + b"\x88\xb5I am 0 now")
    bridge.receive(1)
    frame = mac(0) + mac(1) + b"\x88\xb5there?"
    bridge.send(1, frame)
    assert bridge.receive(3) == frame
    bridge.end()


@pytest.mark.parametrize("options,why", [
    (["--topology", "leaf-spine:2x3"], "it has 6 hosts, but 4 ports are given"),
    (["--topology", "leaf-spine:2x2x2"], "leaf-spine:LEAVESxHOSTS"),
    (["--topology", "none.json"], "none.json: not a readable file"),
    (["--topology", "leaf-spine:2x2", "--at", "leaf2:up0,queue=1"], "no cable or switch 'leaf2:up0'"),
    (["--topology", "leaf-spine:2x2", "--at", "leaf1:up0,queue=x"], "--queue takes"),
    (["--topology", "leaf-spine:2x2", "--at", "leaf1,queue=1"], "not an option of a switch"),
    (["--topology", "leaf-spine:2x2", "--pcap", "x.pcap", "--pcap-cable", "leaf1"], "no such cable"),
])
def test_wrong(start, tmp_path, options, why):
    with pytest.raises(AssertionError):
        bridge = start(4, *options)
        bridge.process.wait(timeout=20)
        bridge.end(how=None)
    assert bridge.process.returncode == 2
    assert why in bridge.errors and bridge.errors.count("\n") == 1, bridge.errors
