# SPDX-License-Identifier: Apache-2.0
"""ina-bridge replay: captures of a live run, and captures that scapy has made, go through the switch again."""
import json
import os
import struct
import subprocess

import pytest
from scapy.layers.l2 import ARP, CookedLinuxV2, Ether
from scapy.utils import PcapNgWriter, PcapWriter, RawPcapReader, rdpcap

from bridge import BRIDGE
from roce import DATA, INT32, JOIN, icrc, mac, message, packet, payload_of, plain, segments, trailer_of

KINDS = ["model", "rtl"]
IN, OUT = 0, 4
START_S = 1_700_000_000  # any time
PCAP_HEADER = struct.pack("<IHHIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535)  # and the link type


def replay(*arguments):
    return subprocess.run([BRIDGE, "replay", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def job(rng, ranks, messages=3, count=700, mtu=1024):
    """The packets of a job, as (port, frame) in the order in which they come in; and the elements that sums have."""
    sent, sums, psn = [], [], 0
    for number in range(1 + messages):
        rows = [[rng.randrange(-2**28, 2**28) for _ in range(count)] for _ in range(ranks)]
        elements = [struct.pack(f"<{count}i", *row) if number else b"" for row in rows]
        cut = [segments(message(rank, ranks, DATA if number else JOIN, number, elements[rank], INT32 if number else 0), mtu)
               for rank in range(ranks)]
        for pieces in zip(*cut):
            sent += [(rank, packet(rank, (rank + 1) % ranks, psn, payload, opcode))
                     for rank, (opcode, payload) in enumerate(pieces)]
            psn += 1
        if number:
            sums.append(struct.pack(f"<{count}i", *(sum(column) for column in zip(*rows))))
    return sent, sums


def records(path):
    """(interface, direction, source MAC and bytes after the Ethernet header) of each record of a cooked capture."""
    return [(frame.ifindex, frame.pkttype, bytes(frame)[12:18] + bytes(frame)[20:]) for frame in rdpcap(str(path))]


def frames_out(path, port):
    return [frame for interface, direction, frame in records(path) if (interface, direction) == (port + 1, OUT)]


def check_sums(frames, sums, ranks):
    """The frames that a rank receives: the JOIN's, then the sums of its messages."""
    frames = [mac(0) + frame[:6] + b"\x08\x00" + frame[6:] for frame in frames if frame[6] == 0x45]
    assert all(frame[-4:] == icrc(frame) for frame in frames)
    whole = b"".join(payload_of(frame) for frame in frames)
    at = 48  # after the JOIN
    for number, elements in enumerate(sums, 1):
        length = 48 + -(-len(elements) // 16) * 16
        assert whole[at + 32:at + 32 + len(elements)] == elements
        assert trailer_of(whole[at:at + length])[:3] == (ranks, 0, number)
        at += length
    assert at == len(whole)


def live(start, path, sent, ports, *options):
    """Captures a run of the bridge with these frames."""
    bridge = start(ports, "--pcap", path, *options)
    for port in range(ports):
        bridge.send(port, plain(port, 99))
    for port in range(ports):
        for _ in range(ports - 1):
            bridge.receive(port)
    for port, frame in sent:
        bridge.send(port, frame)
        if port == ports - 1:
            for receiver in range(ports):
                bridge.receive(receiver)
    return bridge.end()


def write(path, frames, gap_s=1e-6, writer=PcapWriter, **options):
    with writer(str(path), **options) as capture:
        for number, frame in enumerate(frames):
            frame = Ether(frame)
            frame.time = START_S + number * gap_s
            capture.write(frame)


def test_live_run(start, rng, tmp_path):
    """The model takes no time, so the replay is the live run to the last byte, with its times."""
    sent, sums = job(rng, 3)
    counts = live(start, tmp_path / "in", sent, 3)["aggregator"]
    done = replay(tmp_path / "in", tmp_path / "out", "--aggregator", "model", "--stats", tmp_path / "stats")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes()
    stats = json.loads((tmp_path / "stats").read_text())
    assert stats["aggregator"] == counts
    assert [port["rx_frames"] for port in stats["ports"]] == [1 + len(sent) // 3] * 3
    assert stats["capture"] == {"file": str(tmp_path / "out"), "frames": len(records(tmp_path / "out")), "complete": True,
                                "bytes": (tmp_path / "out").stat().st_size}
    for port in range(3):
        check_sums(frames_out(tmp_path / "out", port), sums, 3)


def test_rtl_does_the_same(start, rng, tmp_path):
    """The same frames in the same order leave by each port, but later."""
    sent, _ = job(rng, 3)
    live(start, tmp_path / "in", sent, 3)
    done = replay(tmp_path / "in", tmp_path / "out", "--stats", tmp_path / "stats")
    assert (done.returncode, done.stderr) == (0, "")
    stats = json.loads((tmp_path / "stats").read_text())
    assert stats["aggregator"]["kind"] == "rtl" and 0 < stats["rtl_clocks"] < 100_000
    for port in range(3):
        assert frames_out(tmp_path / "out", port) == frames_out(tmp_path / "in", port)
    entered = [record for record in records(tmp_path / "in") if record[1] == IN]
    assert [record for record in records(tmp_path / "out") if record[1] == IN] == entered


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_ethernet(rng, tmp_path, kind, form):
    """Each source MAC address is a port. The frames of one rank come some microseconds after the other's."""
    sent, sums = job(rng, 2)
    frames = [plain(1, 77), plain(0, 77)] + [frame for _, frame in sent]
    write(tmp_path / "in", frames, writer=PcapNgWriter if form == "pcapng" else PcapWriter)
    done = replay(tmp_path / "in", tmp_path / "out", "--aggregator", kind)
    assert (done.returncode, done.stderr) == (0, "")
    port_of = {mac(1): 1, mac(0): 2}  # interfaces, in the order of appearance
    entered = [(interface, frame) for interface, direction, frame in records(tmp_path / "out") if direction == IN]
    assert entered == [(port_of[frame[6:12]], frame[6:12] + frame[14:]) for frame in frames]
    for port in range(2):
        check_sums(frames_out(tmp_path / "out", port), sums, 2)
    times = [(data.sec - START_S) * 10**9 + data.usec for _, data in RawPcapReader(str(tmp_path / "out"))]
    assert times == sorted(times) and times[0] == 0
    assert len(frames) * 1000 - 2000 < times[-1] < len(frames) * 1000 + 10_000


def test_both_kinds_after_faults(rng, tmp_path):
    """Packets that come damaged at first, twice, or once more after their sums: model and RTL send the same by each port."""
    sent, _ = job(rng, 3, messages=20, count=100)
    frames = [plain(rank, 77) for rank in range(3)]
    for number, (_, frame) in enumerate(sent):
        fate = rng.random()
        if fate < 0.1:
            at = rng.randrange(54, len(frame))
            frames.append(frame[:at] + bytes([frame[at] ^ 8]) + frame[at + 1:])
        if 0.1 < fate < 0.2 and number > 9:
            frames.append(sent[number - 9][1])
        frames += [frame] * (2 if fate > 0.9 else 1)
    write(tmp_path / "in", frames, gap_s=1e-4)
    for kind in KINDS:
        assert replay(tmp_path / "in", tmp_path / kind, "--aggregator", kind).returncode == 0
    for port in range(3):
        assert len(frames_out(tmp_path / "rtl", port)) > 20
        assert frames_out(tmp_path / "rtl", port) == frames_out(tmp_path / "model", port)


def test_destinations_of_a_cooked_capture(start, tmp_path):
    """LINUX_SLL2 has no destinations: the replay knows those of IP packets and ARP replies; it floods the rest."""
    def arp(source, target, operation):
        return bytes(Ether(src=mac(source).hex(":"), dst=mac(target).hex(":") if operation == 2 else "ff:ff:ff:ff:ff:ff")
                     / ARP(op=operation, hwsrc=mac(source).hex(":"), psrc=f"192.0.2.{source + 1}",
                           hwdst=mac(target).hex(":") if operation == 2 else "00:00:00:00:00:00",
                           pdst=f"192.0.2.{target + 1}"))

    to_neighbour = [(rank, packet(rank, (rank + 1) % 3, 0, bytes(32), tos=0, ipv6=ipv6, vlan=vlan))
                    for rank in range(3) for ipv6 in (False, True) for vlan in (None, 7)]
    # In another VLAN, host 2 has the IP address of host 0.
    to_neighbour += [(2, packet(0, 1, 0, bytes(32), tos=0, vlan=8, source_mac=mac(2))),
                     (1, mac(2) + packet(1, 0, 0, bytes(32), tos=0, vlan=8)[6:])]
    bridge = start(3, "--pcap", tmp_path / "in")
    for port, frame in [(0, arp(0, 1, 1)), (1, arp(1, 0, 2)), (2, arp(2, 0, 1))] + to_neighbour:
        bridge.send(port, frame)
    bridge.settle()
    bridge.end()
    done = replay(tmp_path / "in", tmp_path / "out", "--aggregator", "off", "--pcap-cable", f"1={tmp_path / 'ethernet'}")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes()
    whole = [bytes(frame) for frame in rdpcap(str(tmp_path / "ethernet"))]
    assert arp(1, 0, 2) in whole and arp(0, 1, 1) in whole and arp(2, 0, 1) in whole
    for _, frame in to_neighbour:
        assert (frame in whole) == (mac(1) in (frame[:6], frame[6:12]))


def test_fabric(start, tmp_path):
    """The frames that came in from other switches are not taken, because the replay makes them again."""
    options = ["--topology", "leaf-spine:2x2", "--aggregator", "off"]
    bridge = start(4, "--pcap", tmp_path / "in", *options)
    for source in range(4):
        bridge.send(source, packet(source, 77, 0, bytes(16), tos=0))
    bridge.settle()
    for source in range(4):
        bridge.send(source, packet(source, (source + 1) % 4, 1, bytes(16), tos=0))
    bridge.settle()
    bridge.end()
    done = replay(tmp_path / "in", tmp_path / "out", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(records(tmp_path / "out")) == sorted(records(tmp_path / "in"))


def test_options(rng, tmp_path):
    """Faults and times apply as in other runs."""
    sent, _ = job(rng, 2)
    write(tmp_path / "in", [plain(0, 77), plain(1, 77)] + [frame for _, frame in sent], gap_s=1e-3)
    model = ["--aggregator", "model"]
    replay(tmp_path / "in", tmp_path / "whole", *model)
    done = replay(tmp_path / "in", tmp_path / "lost", *model, "--loss-up", 1, "--stats", tmp_path / "stats")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(records(tmp_path / "lost")) == 4  # plain frames: in, out
    assert json.loads((tmp_path / "stats").read_text())["ports"][0]["faults"]["up"]["lost"] == len(sent) // 2
    # The longest delay: frames that are under way when the capture ends still arrive.
    replay(tmp_path / "in", tmp_path / "late", *model, "--delay", 10_000_000, "--switch-delay", "1us")
    for port in range(2):
        assert frames_out(tmp_path / "late", port) == frames_out(tmp_path / "whole", port)
    last = [rdpcap(str(tmp_path / name))[-1].time for name in ("whole", "late")]
    assert round(float(last[1] - last[0]) * 10**9) == 20_000_001_000
    # Without the quiet time the job would be aggregated.
    replay(tmp_path / "in", tmp_path / "quiet", *model, "--quiet", 1000, "--stats", tmp_path / "stats")
    assert json.loads((tmp_path / "stats").read_text())["aggregator"]["quiet_dropped"] == len(sent)


def test_one_port_and_equal_times(tmp_path):
    """A switch has two ports, even if the frames come in on one only. More frames at one time than a queue has room for."""
    frame = plain(0, 77, bytes(400))
    record = struct.pack("<IIII", START_S, 0, len(frame), len(frame)) + frame
    (tmp_path / "in").write_bytes(PCAP_HEADER + struct.pack("<I", 1) + record * 6000)
    done = replay(tmp_path / "in", tmp_path / "out", "--aggregator", "off", "--stats", tmp_path / "stats")
    assert (done.returncode, done.stderr) == (0, "")
    ports = json.loads((tmp_path / "stats").read_text())["ports"]
    assert [(port["rx_frames"], port["tx_frames"]) for port in ports] == [(6000, 0), (0, 6000)]


FRAMES = [plain(0, 1), plain(1, 0), plain(0, 1, bytes(500))]


@pytest.fixture
def good(tmp_path):
    write(tmp_path / "in", FRAMES)
    return tmp_path / "in"


def refused(done, out, what):
    assert done.returncode == 2, done
    assert done.stdout == "" and done.stderr.count("\n") == 1 and what in done.stderr, done.stderr
    assert not out.exists()


@pytest.mark.parametrize("content,what", [
    (b"", "not a capture that libpcap can read: truncated"),
    (b"no capture at all, but text that is long enough", "not a capture that libpcap can read: unknown file format"),
    (PCAP_HEADER + struct.pack("<I", 1), "no frame in it came in"),
    (PCAP_HEADER + struct.pack("<I", 1) + bytes(7), "took 0 frames; the rest cannot be read: truncated"),
    (PCAP_HEADER + struct.pack("<I", 113), "link type is LINUX_SLL (113): must be EN10MB or LINUX_SLL2"),
    (PCAP_HEADER + struct.pack("<I", 101), "link type is RAW"),
])
def test_no_capture(tmp_path, content, what):
    (tmp_path / "in").write_bytes(content)
    refused(replay(tmp_path / "in", tmp_path / "out"), tmp_path / "out", what)


def test_too_many_ports(tmp_path):
    write(tmp_path / "in", [bytes(6) + struct.pack(">HI", 512, number) + b"\x88\xb5" for number in range(257)])
    refused(replay(tmp_path / "in", tmp_path / "out", "--aggregator", "off"), tmp_path / "out", "more than the 256 ports")
    refused(replay(tmp_path / "in", tmp_path / "out", "--topology", "leaf-spine:2x2"), tmp_path / "out",
            "more than 4 source MAC addresses")
    write(tmp_path / "in", [bytes(6) + struct.pack(">HI", 512, number) + b"\x88\xb5" for number in range(33)])
    refused(replay(tmp_path / "in", tmp_path / "out", "--aggregator", "model"), tmp_path / "out", "32 ports at most, not 33")
    assert replay(tmp_path / "in", tmp_path / "out", "--aggregator", "off").returncode == 0


@pytest.mark.parametrize("arguments,what", [
    ([], "replay takes two files: ina-bridge replay IN OUT"),
    (["{in}"], "replay takes two files"),
    (["{in}", "{out}", "more"], "not 'more' too"),
    (["/nowhere/in", "{out}"], "'/nowhere/in': No such file or directory"),
    (["{folder}", "{out}"], "not a regular file"),
    (["{fifo}", "{out}"], "not a regular file"),
    (["{in}", "/nowhere/out"], "/nowhere/out: No such file or directory"),
    (["{in}", "{in}"], "IN and OUT name the same file"),
    (["{in}", "{link}"], "IN and OUT name the same file"),
    (["{in}", "{out}", "--stats", "{in}"], "IN and --stats name the same file"),
    (["{in}", "{out}", "--pcap-cable", "1={in}"], "IN and --pcap-cable name the same file"),
    (["{in}", "{out}", "--pcap-cable", "2={in}x"], "no such cable"),
    (["{in}", "{out}", "--pcap", "x"], "--pcap: a replay has OUT"),
    (["{in}", "{out}", "--port", "fd=3"], "--port: not in a replay"),
    (["{in}", "{out}", "--virtual-time", "fd=3"], "--virtual-time: not in a replay"),
    (["{in}", "{out}", "--check-hosts", "2"], "--check-hosts: not in a replay"),
    (["{in}", "{out}", "--progress"], "--progress: not in a replay"),
    (["{in}", "{out}", "--start-delay", "0:1s"], "--start-delay: not in a replay"),
    (["{in}", "{out}", "--kill", "0:1s"], "--kill: a replay has no hosts"),
    (["{in}", "{out}", "--cut", "0:1s"], "--cut: a replay has no hosts"),
    (["{in}", "{out}", "--at", "0,cut-at=1s"], "--cut-at: a replay has no hosts"),
    (["{in}", "{out}", "--reset-at", "1s"], "--reset-at: a replay has no hosts"),
    (["{in}", "{out}", "--host-byte-cost", "1"], "--host-byte-cost: a replay has no hosts"),
    (["{in}", "{out}", "--jobs", "3"], "the RTL is built with --jobs 16"),
])
def test_wrong_command_lines(tmp_path, good, arguments, what):
    names = {"in": good, "out": tmp_path / "out", "folder": tmp_path, "link": tmp_path / "link", "fifo": tmp_path / "fifo"}
    os.link(good, names["link"])
    os.mkfifo(names["fifo"])
    before = good.read_bytes()
    refused(replay(*(argument.format(**names) for argument in arguments)), names["out"], what)
    assert good.read_bytes() == before


def test_replay_is_the_first_word(tmp_path, good):
    done = subprocess.run([BRIDGE, "--aggregator", "off", "replay", good, tmp_path / "out"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and "'replay': not an option" in done.stderr and "first word" in done.stderr


def incomplete(done, what):
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1 and what in done.stderr, done.stderr


@pytest.mark.parametrize("writer", [PcapWriter, PcapNgWriter])
def test_truncated(tmp_path, writer):
    """The frames before the place where the file ends are replayed."""
    write(tmp_path / "in", FRAMES, writer=writer)
    (tmp_path / "in").write_bytes((tmp_path / "in").read_bytes()[:-100])
    done = replay(tmp_path / "in", tmp_path / "out", "--aggregator", "off")
    incomplete(done, "took 2 frames; the rest cannot be read: truncated")
    assert [(interface, direction) for interface, direction, _ in records(tmp_path / "out")] == [(1, IN), (2, OUT), (2, IN), (1, OUT)]


def test_frames_left_out(tmp_path):
    """A frame that the capture has cut short has no checksum; a frame must fit into the switch."""
    with PcapWriter(str(tmp_path / "in"), linktype=1) as capture:
        capture.write_header(None)
        for frame, length in [(plain(0, 1), None), (plain(0, 1), 100), (bytes(13), None), (plain(0, 1, bytes(9203)), None)]:
            capture.write_packet(frame, sec=START_S, usec=0, wirelen=length or len(frame), caplen=len(frame))
    incomplete(replay(tmp_path / "in", tmp_path / "out", "--aggregator", "off"),
               "took 1 frames; left out 1 cut short by the capture; left out 1 shorter than an Ethernet header; "
               "left out 1 longer than 9216 bytes")


def test_times(tmp_path):
    """A time that goes back counts as the one before. A gap of weeks is a damaged time: nothing after it is replayed."""
    for seconds, code, want in [([5, 3, 6], 0, [5, 5, 6]), ([5, 2_000_000_000, 6], 1, [5])]:
        with PcapWriter(str(tmp_path / "in"), linktype=1) as capture:
            capture.write_header(None)
            for frame, second in zip(FRAMES, seconds):
                capture.write_packet(frame, sec=second, usec=0, wirelen=len(frame), caplen=len(frame))
        done = replay(tmp_path / "in", tmp_path / "out", "--aggregator", "off")
        assert done.returncode == code and ("later than the first" in done.stderr) == (code == 1)
        assert [int(frame.time) for frame in rdpcap(str(tmp_path / "out")) if frame.pkttype == IN] == want


def test_cooked_frames_of_other_devices(tmp_path):
    """A capture of `tcpdump -i any` may have an interface that is not Ethernet."""
    with PcapWriter(str(tmp_path / "in"), linktype=276) as capture:
        capture.write(CookedLinuxV2(proto=0x88b5, ifindex=1, lladdrtype=1, pkttype=0, lladdrlen=6, src=mac(0)) / b"hello")
        capture.write(CookedLinuxV2(proto=0x88b5, ifindex=2, lladdrtype=512, pkttype=0, lladdrlen=0) / b"hello")
    incomplete(replay(tmp_path / "in", tmp_path / "out", "--aggregator", "off"), "took 1 frames; left out 1 not from an Ethernet interface")


def test_full_disk(good):
    incomplete(replay(good, "/dev/full", "--aggregator", "off"), "No space left on device")
