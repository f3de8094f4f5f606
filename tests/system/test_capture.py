# SPDX-License-Identifier: Apache-2.0
"""An independent reader of the capture: scapy and tshark, and none of the project's code.

Every frame's iCRC is right. The PSNs of every connection are continuous, as its receiver saw them. Each payload that left the
switch is the sum of those that entered it.
"""
import struct
import subprocess

import pytest
from lab import assert_all_right, perf
from roce_capture import FIRST_OR_ONLY, IN, LAST_OR_ONLY, OUT, accepted, read, sends, wrong_icrcs

HEADER_LANES, TRAILER_LANES = 8, 4
N = 4
TYPE_INT32, TYPE_FLOAT32 = 1, 2
TYPE_TRACE = 4  # as the type of a message, not of numbers


@pytest.fixture(scope="module", params=["rtl", "model"])
def capture(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("capture")
    path = folder / "run.pcap"
    result = perf(folder, N, ["--aggregator", request.param, "--pcap", path],
                  ["-b", "128", "-e", "128K", "-f", "1024", "-t", "all", "-n", "1", "-w", "0"])
    assert_all_right(result, "ina")
    return path, read(path)


def test_every_icrc_is_right(capture):
    _, frames = capture
    assert len(frames) > 100
    assert wrong_icrcs(frames) == []


def test_a_damaged_frame_would_be_found(capture):
    """Shows that the reader itself can fail."""
    _, frames = capture
    frame = next(frame for frame in frames if frame.payload)
    damaged = bytearray(frame.packet)
    damaged[-8] ^= 1
    frame = type(frame)(**{**vars(frame), "packet": bytes(damaged)})
    assert not frame.icrc_is_right()


@pytest.mark.parametrize("side", [IN, OUT])
def test_psns_are_continuous(capture, side):
    _, frames = capture
    streams = sends(frames, side, aggregated=True)
    assert len(streams) == N
    for connection, stream in streams.items():
        _, missing = accepted(stream)
        assert missing == 0, f"{connection}: {missing} PSNs never came"


def lanes(payload, kind):
    return struct.unpack(f"<{len(payload) // 4}{kind}", payload)


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def tree_sum(values):
    """A sum of float32, by the balanced tree of docs/protocol.md (Elements): a double holds the sum of two numbers, or is rounded
    as they are."""
    while len(values) > 1:
        values = [single(a + b) for a, b in zip(values[::2], values[1::2])]
    return values[0]


def expected_elements(contributions, number_type):
    """The sum of N contributions, a power of two, in the order of their ports."""
    if number_type == TYPE_INT32:
        return [(sum(values) + (1 << 31)) % (1 << 32) - (1 << 31)
                for values in zip(*(lanes(part, "i") for part in contributions))]
    return [tree_sum(values) for values in zip(*(lanes(part, "f") for part in contributions))]


def test_payloads_are_sums(capture):
    """Packet k of each connection, counted after its TRACE: the packet from the switch is the sum of the n packets that went
    in."""
    _, frames = capture
    entered = {key: accepted(stream)[0] for key, stream in sends(frames, IN, aggregated=True).items()}
    left = {key: accepted(stream)[0] for key, stream in sends(frames, OUT, aggregated=True).items()}
    assert entered.keys() == left.keys()
    counts = {len(packets) for packets in (*entered.values(), *left.values())}
    assert len(counts) == 1, counts
    number_type, checked = None, 0
    for connection, (trace, *_) in entered.items():
        slot = struct.pack("<QII", 1, trace.port, 0)  # the switch's id, and the ingress port
        assert trace.payload[3] == TYPE_TRACE and trace.payload[32:-16] == bytes(3 * len(slot))
        assert left[connection][0].payload == trace.payload[:32] + slot + trace.payload[32 + len(slot):]
    for k in range(1, counts.pop()):
        before = sorted((entered[connection][k] for connection in entered), key=lambda packet: packet.port)
        after = [left[packet.connection][k] for packet in before]
        opcode = before[0].opcode
        assert {packet.opcode for packet in before + after} == {opcode}
        assert len({packet.payload for packet in after}) == 1, "all receivers get the same payload"
        assert all(b.psn == a.psn for b, a in zip(before, after)), "each connection keeps its own PSN"
        first = HEADER_LANES * 4 if opcode in FIRST_OR_ONLY else 0
        last = len(after[0].payload) - (TRAILER_LANES * 4 if opcode in LAST_OR_ONLY else 0)
        if opcode in FIRST_OR_ONLY:
            number_type = after[0].payload[4]
            assert {packet.payload[:28] for packet in before} == {after[0].payload[:28]}
        if opcode in LAST_OR_ONLY:
            contributors = struct.unpack_from("<I", after[0].payload, last)[0]
            assert contributors == N
            assert {struct.unpack_from("<I", packet.payload, last)[0] for packet in before} == {1}
        if number_type in (TYPE_INT32, TYPE_FLOAT32):
            kind = "i" if number_type == TYPE_INT32 else "f"
            got = lanes(after[0].payload[first:last], kind)
            assert list(got) == expected_elements([packet.payload[first:last] for packet in before], number_type)
            checked += len(got)
    assert checked > 60_000


def test_tshark_reads_it(capture):
    """Wireshark's dissector finds RC SENDs and AETH acknowledgements, and no malformed packet."""
    path, frames = capture
    listing = subprocess.run(["tshark", "-r", str(path), "-T", "fields", "-e", "infiniband.bth.opcode", "-e", "_ws.malformed"],
                             capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    opcodes = [line.split("\t")[0] for line in listing]
    assert sum(opcode == "17" for opcode in opcodes) == sum(frame.opcode == 17 for frame in frames) > 0
    assert not any(line.split("\t")[1] for line in listing if "\t" in line)
