# SPDX-License-Identifier: Apache-2.0
"""Forwarding: learning, flooding, filtering; and how the bridge ends."""
import signal
import socket

import pytest

from bridge import marker
from roce import mac, plain


def test_unknown_is_flooded_known_is_not(start):
    bridge = start(4)
    first = plain(0, 1)
    bridge.send(0, first)
    assert bridge.settle() == [[], [first], [first], [first]]
    answer = plain(1, 0)
    bridge.send(1, answer)
    assert bridge.settle() == [[answer], [], [], []]
    bridge.send(0, first)
    assert bridge.settle() == [[], [first], [], []]
    stats = bridge.end()
    turns = bridge.turn  # of markers, which are flooded
    assert stats["flooded_frames"] == 1 + 4 * turns
    assert [port["rx_frames"] - turns for port in stats["ports"]] == [2, 1, 0, 0]
    assert [port["tx_frames"] - 3 * turns for port in stats["ports"]] == [1, 2, 1, 1]
    assert stats["ports"][0]["rx_bytes"] == 2 * len(first) + turns * len(marker(0, 0))


@pytest.mark.parametrize("group", [b"\xff" * 6, b"\x01\x00\x5e\x00\x00\x01", b"\x33\x33" + bytes(4)])
def test_groups_are_flooded(start, group):
    bridge = start(3)
    # A host claims the group's address: the switch learns nothing from that.
    claim = mac(9) + group + b"\x88\xb5" + b"x"
    bridge.send(1, claim)
    assert bridge.settle() == [[claim], [], [claim]]
    frame = group + mac(0) + b"\x88\xb5" + b"x" * 50
    bridge.send(0, frame)
    assert bridge.settle() == [[], [frame], [frame]]


def test_a_host_that_moves(start):
    bridge = start(3)
    for port in (0, 2):
        bridge.send(port, plain(0, 9))
        bridge.settle()
    bridge.send(1, plain(1, 0))
    assert bridge.settle() == [[], [], [plain(1, 0)]]


def test_destination_on_its_own_port(start):
    bridge = start(3)
    bridge.send(0, plain(7, 9))
    bridge.settle()
    bridge.send(0, plain(0, 7))
    assert bridge.settle() == [[], [], []]
    assert bridge.end()["filtered_frames"] == 1


def test_many_addresses(start):
    """More addresses than the table has places: frames may be flooded, but they arrive."""
    bridge = start(2)
    for i in range(6000):
        source = b"\x06" + i.to_bytes(5, "big")
        bridge.send(0, mac(9) + source + b"\x88\xb5" + b"a")
        bridge.receive(1)
    bridge.send(1, b"\x06" + (5999).to_bytes(5, "big") + mac(1) + b"\x88\xb5" + b"back")
    assert bridge.receive(0)[14:] == b"back"
    bridge.end()


@pytest.mark.parametrize("size", [14, 15, 60, 1514, 4172, 9216])
def test_sizes(start, size):
    bridge = start(2, "--aggregator", "off")
    frame = plain(0, 1, bytes(range(256)) * 40)[:size]
    bridge.send(0, frame)
    assert bridge.receive(1) == frame
    assert bridge.end()["aggregator"] == {"kind": "off"}


def test_datagram_sockets(start):
    bridge = start(2, kind=socket.SOCK_DGRAM)
    bridge.send(0, plain(0, 1))
    assert bridge.receive(1) == plain(0, 1)
    bridge.end()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, None])
def test_ends(start, how):
    bridge = start(3)
    bridge.send(0, plain(0, 1))
    bridge.receive(1)
    stats = bridge.end(how)
    assert stats["ports"][0]["rx_frames"] == 1
    assert stats["seed"] == 1
    assert bridge.errors == ""


def test_one_host_goes(start):
    bridge = start(3)
    for port in range(3):
        bridge.send(port, plain(port, 9))
    for port in range(3):
        bridge.receive(port), bridge.receive(port)
    bridge.hosts[1].close()
    # Unknown again as soon as the switch has noticed; then frames to it are flooded to the remaining hosts. The next frame is for
    # this host anyway.
    heard = []
    while plain(0, 1) not in heard:
        assert len(heard) < 10000, "it is still known"
        bridge.send(0, plain(0, 1))
        bridge.send(0, plain(0, 2))
        heard.append(bridge.receive(2))
    assert bridge.receive(2) == plain(0, 2)
    assert bridge.process.poll() is None
    bridge.end()
