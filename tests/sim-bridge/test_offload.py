# SPDX-License-Identifier: Apache-2.0
"""Partial checksums and long frames: the result has the bytes that scapy makes, and those that this machine's kernel makes."""
import os
import select
import struct
import subprocess

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether

from namespaces import Namespace, cuts_udp

PROGRAM = os.path.join(os.path.dirname(os.environ.get("INA_BRIDGE", "build/ina-bridge")), "undo_offload")
NEEDS_CSUM = 1  # linux/virtio_net.h
NONE, TCPV4, TCPV6, UDP_L4, ECN = 0, 1, 4, 5, 0x80
ROOM = 9216

TAGS = {"untagged": [], "vlan": [Dot1Q(vlan=7, prio=5)], "zero": [Dot1Q(vlan=0, prio=0)],
        "two": [Dot1AD(vlan=100), Dot1Q(vlan=7, id=1)]}
ADDRESSES = {4: IP(src="10.0.0.1", dst="10.0.0.2", id=65534, tos=2),
             6: IPv6(src="fd00::1", dst="fd00::2", fl=0x12345, tc=2)}
OPTIONS = [("NOP", None), ("NOP", None), ("Timestamp", (7, 9))]


def work(kind=NONE, flags=0, header_bytes=0, segment_bytes=0, start=0, offset=0):
    return struct.pack("=BBHHHH", flags, kind, header_bytes, segment_bytes, start, offset)


def undo(records, room=ROOM):
    """Gives (work, frame) to the program. Returns for each the list of frames, or None if it was refused."""
    data = b"".join(work + struct.pack("=II", len(frame), room) + frame for work, frame in records)
    done = subprocess.run([PROGRAM], input=data, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    at, results = 0, []

    def number():
        nonlocal at
        at += 4
        return struct.unpack_from("=i", done.stdout, at - 4)[0]

    for _ in records:
        count = number()
        results.append(None if count < 0 else [])
        for _ in range(count):
            length = number()
            results[-1].append(done.stdout[at:at + length])
            at += length
    assert at == len(done.stdout)
    return results


def stack(tags, version, transport, payload):
    """The bytes of a frame, with all lengths and checksums by scapy."""
    frame = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
    for tag in TAGS[tags]:
        frame = frame / tag
    return bytes(frame / ADDRESSES[version].copy() / transport / payload)


def positions(tags, version):
    """The offsets of the IP header and of the transport header."""
    ip = 14 + 4 * len(TAGS[tags])
    return ip, ip + (20 if version == 4 else 40)


def sum16(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def partial(frame, tags, version, is_udp):
    """The frame as a kernel hands it to a device that completes checksums: the field has the sum of the pseudo-header."""
    ip, at = positions(tags, version)
    addresses = frame[ip + 12:ip + 20] if version == 4 else frame[ip + 8:ip + 40]
    pseudo = sum16(addresses + struct.pack("!II", len(frame) - at, 17 if is_udp else 6))
    field = at + (6 if is_udp else 16)
    return frame[:field] + struct.pack("!H", pseudo) + frame[field + 2:]


def tcp(sequence=0xFFFFF000, flags="A"):
    return TCP(sport=1234, dport=80, seq=sequence, ack=99, flags=flags, window=512, options=OPTIONS)


def long_frame(tags, version, is_udp, payload, size, flags="A"):
    """A frame to be cut into segments with `size` bytes of payload: (work, frame)."""
    _, at = positions(tags, version)
    transport = UDP(sport=1234, dport=80) if is_udp else tcp(flags=flags)
    frame = stack(tags, version, transport, payload)
    kind = UDP_L4 if is_udp else (TCPV4 if version == 4 else TCPV6) | (ECN if "C" in flags else 0)
    return (work(kind, NEEDS_CSUM, len(frame) - len(payload), size, at, 6 if is_udp else 16),
            partial(frame, tags, version, is_udp))


def segments_by_scapy(tags, version, is_udp, payload, size, flags="A"):
    frames = []
    for number, at in enumerate(range(0, len(payload), size)):
        is_last = at + size >= len(payload)
        mine = "".join(flag for flag in flags if (is_last or flag not in "FP") and (number == 0 or flag != "C"))
        transport = UDP(sport=1234, dport=80) if is_udp else tcp((0xFFFFF000 + at) % 2**32, mine)
        frame = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
        for tag in TAGS[tags]:
            frame = frame / tag
        ip = ADDRESSES[version].copy()
        if version == 4:
            ip.id = (ip.id + number) % 65536
        frames.append(bytes(frame / ip / transport / payload[at:at + size]))
    return frames


CASES = [(tags, version, is_udp) for tags in TAGS for version in (4, 6) for is_udp in (False, True)]


@pytest.mark.parametrize("tags,version,is_udp", CASES)
def test_segments_by_scapy(rng, tags, version, is_udp):
    records, wanted = [], []
    for size, count in ((1448, 1449), (1448, 14480), (1448, 60000), (1, 3), (999, 5000), (8000, 40000), (1448, 100)):
        for flags in ["A"] if is_udp else ["A", "APF", "ACE"]:
            payload = rng.randbytes(count)
            records.append(long_frame(tags, version, is_udp, payload, size, flags))
            wanted.append(segments_by_scapy(tags, version, is_udp, payload, size, flags))
    assert undo(records) == wanted


@pytest.mark.parametrize("tags,version,is_udp", CASES)
def test_checksums_by_scapy(rng, tags, version, is_udp):
    records, wanted = [], []
    _, at = positions(tags, version)
    for count in [0, 1, 2, 3, 100, 1447, 4096, 9000]:
        frame = stack(tags, version, UDP(sport=1, dport=2) if is_udp else tcp(), rng.randbytes(count))
        records += [(work(flags=NEEDS_CSUM, start=at, offset=6 if is_udp else 16), partial(frame, tags, version, is_udp)),
                    (work(), frame)]
        wanted += [[frame], [frame]]
    assert undo(records) == wanted


def test_a_checksum_of_zero():
    """In UDP, 0xFFFF stands for it."""
    checksum = stack("untagged", 4, UDP(sport=1, dport=2), bytes(2))[40:42]
    frame = stack("untagged", 4, UDP(sport=1, dport=2), checksum)
    assert frame[40:42] == b"\xff\xff"
    assert undo([(work(flags=NEEDS_CSUM, start=34, offset=6), partial(frame, "untagged", 4, True))]) == [[frame]]


@pytest.fixture
def kernel():
    """A function that gives a frame to a TAP device without offloads. It returns the frames that the kernel makes of it."""
    names = Namespace()
    try:
        tap = names.tap("tap0")
        names.set("net/ipv6/conf/all/disable_ipv6", 1)
        names.ip("link set tap0 mtu 9000")
        packets = names.packets("tap0", work=True)

        def frames(record, count):
            while select.select([tap], [], [], 0)[0]:
                os.read(tap, 70000)  # earlier frames, and those of the kernel itself
            packets.send(b"".join(record))
            made = []
            while len(made) < count and select.select([tap], [], [], 5)[0]:
                made.append(os.read(tap, 70000))
            return made

        yield frames
        packets.close()
        os.close(tap)
    finally:
        names.close()


@pytest.mark.parametrize("tags,version,is_udp", CASES)
def test_as_the_kernel_does(kernel, rng, tags, version, is_udp):
    _, at = positions(tags, version)
    records = []
    for size, count in ((1448, 14480), (1448, 40001), (999, 3000)):
        for flags in ["A"] * cuts_udp() if is_udp else ["A", "APF", "ACE"]:
            records.append(long_frame(tags, version, is_udp, rng.randbytes(count), size, flags))
    for count in 1, 100, 1447:
        frame = stack(tags, version, UDP(sport=1, dport=2) if is_udp else tcp(), rng.randbytes(count))
        records.append((work(flags=NEEDS_CSUM, start=at, offset=6 if is_udp else 16), partial(frame, tags, version, is_udp)))
    for record, ours in zip(records, undo(records)):
        assert ours == kernel(record, len(ours))


def refused():
    """Frames with an offload that cannot be undone."""
    one, frame = long_frame("untagged", 4, False, bytes(5000), 1448)
    _, frame6 = long_frame("untagged", 6, False, bytes(5000), 1448)
    _, inner = long_frame("untagged", 4, True, bytes(5000), 1448)
    outer = stack("untagged", 4, UDP(dport=4789), bytes(8) + inner)
    yield "no segments", (work(TCPV4, NEEDS_CSUM, 66, 0, 34, 16), frame)
    yield "no such kind", (work(3, NEEDS_CSUM, 66, 1448, 34, 16), frame)
    yield "another version", (work(TCPV6, NEEDS_CSUM, 66, 1448, 34, 16), frame)
    yield "another protocol", (work(UDP_L4, NEEDS_CSUM, 66, 1448, 34, 6), frame)
    yield "extension headers", (work(TCPV6, NEEDS_CSUM, 86, 1448, 54, 16), frame6[:20] + b"\x00" + frame6[21:])
    yield "a tunnel", (work(UDP_L4, NEEDS_CSUM, 92, 1448, 84, 6), outer)
    yield "a TCP header of 4 bytes", (one, frame[:46] + b"\x10" + frame[47:])
    yield "ARP", (work(TCPV4, NEEDS_CSUM, 66, 1448, 34, 16), frame[:12] + b"\x08\x06" + frame[14:])
    yield "longer than the room", (work(TCPV4, NEEDS_CSUM, 66, ROOM - 65, 34, 16), frame)
    yield "headers alone", (one, frame[:66])
    yield "cut off", (one, frame[:50])
    yield "SCTP", (work(flags=NEEDS_CSUM, start=34, offset=8), frame)
    yield "beyond the end", (work(flags=NEEDS_CSUM, start=34, offset=len(frame) - 35), frame)


@pytest.mark.parametrize("record", [pytest.param(record, id=name) for name, record in refused()])
def test_refused(record):
    assert undo([record]) == [None]


def test_garbage(rng):
    """Nothing is read or written out of bounds, which the program's sanitizers would find."""
    good = [long_frame(tags, version, is_udp, rng.randbytes(count), size)
            for tags, version, is_udp in CASES for count, size in ((1, 1448), (50, 1), (3000, 100), (3000, 1448))]
    records = []
    for _ in range(10000):
        header, frame = map(bytearray, rng.choice(good))
        for _ in range(rng.randrange(4)):
            frame[rng.randrange(min(80, len(frame)))] = rng.randrange(256)
        if rng.random() < 0.5:
            header[rng.randrange(len(header))] = rng.randrange(256)
        records.append((bytes(header), bytes(frame[:rng.choice([14, 15, 20, 34, 54, 60, len(frame), len(frame)])])))
    results = undo(records)
    assert all(len(frame) <= ROOM for result in results if result for frame in result if len(result) > 1)
