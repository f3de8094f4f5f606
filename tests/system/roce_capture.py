# SPDX-License-Identifier: Apache-2.0
"""Reads a capture of ina-bridge without any of the project's own code.

A capture has the link type LINUX_SLL2, as `tcpdump -i any` on the switch would write it. Each frame appears once as it came in
(packet type 0, to us) and once as it went out (packet type 4), with the port's number + 1 as interface index. scapy's RoCE
layer recomputes the iCRC.
"""
import struct
from collections import defaultdict
from dataclasses import dataclass

from scapy.contrib.roce import BTH
from scapy.layers.l2 import CookedLinuxV2
from scapy.utils import RawPcapReader

IN, OUT = 0, 4
SEND_OPCODES = (0x00, 0x01, 0x02, 0x04)
FIRST_OR_ONLY = (0x00, 0x04)
LAST_OR_ONLY = (0x02, 0x04)
AGGREGATION_DSCP = 43
SLL2_BYTES = 20


@dataclass
class RoceFrame:
    """One RoCEv2 frame over IPv4, as it passed one side of the switch."""
    direction: int
    port: int
    source: str
    destination: str
    dscp: int
    ecn: int
    opcode: int
    qpn: int
    psn: int
    payload: bytes
    packet: bytes  # from the link layer header on, for scapy

    @property
    def connection(self):
        return (self.source, self.destination, self.qpn)

    def icrc_is_right(self):
        """By scapy, which is independent of this project."""
        layer = CookedLinuxV2(self.packet)[BTH]
        return layer.compute_icrc(None) == self.packet[-4:]


def _address(raw):
    return ".".join(str(byte) for byte in raw)


def read(path):
    """All RoCEv2 frames of the file, in order."""
    frames = []
    for packet, _ in RawPcapReader(str(path)):
        protocol, _, interface, _, packet_type, _ = struct.unpack_from("!HHIHBB", packet)
        ip = packet[SLL2_BYTES:]
        if protocol != 0x0800 or len(ip) < 40 or ip[0] != 0x45 or ip[9] != 17:
            continue
        if struct.unpack_from("!H", ip, 22)[0] != 4791:
            continue
        ip = ip[:struct.unpack_from("!H", ip, 2)[0]]
        frames.append(RoceFrame(
            direction=packet_type, port=interface - 1,
            source=_address(ip[12:16]), destination=_address(ip[16:20]),
            dscp=ip[1] >> 2, ecn=ip[1] & 3,
            opcode=ip[28], qpn=int.from_bytes(ip[33:36], "big"), psn=int.from_bytes(ip[37:40], "big"),
            payload=ip[40:-4], packet=packet[:SLL2_BYTES] + ip))
    return frames


def wrong_icrcs(frames):
    return [frame for frame in frames if not frame.icrc_is_right()]


def sends(frames, direction, aggregated):
    """SEND packets of one side of the switch, by connection; `aggregated` selects connections by their DSCP."""
    streams = defaultdict(list)
    for frame in frames:
        if (frame.direction == direction and frame.opcode in SEND_OPCODES
                and (frame.dscp == AGGREGATION_DSCP) == aggregated):
            streams[frame.connection].append(frame)
    return streams


def accepted(stream):
    """The packets of a stream that an RC responder accepts: each PSN once, in order. Returns (packets, PSNs it never got)."""
    packets, expected = [], None
    for frame in stream:
        if expected is None or frame.psn == expected:
            packets.append(frame)
            expected = (frame.psn + 1) & 0xFFFFFF
    newest = max(((frame.psn - expected + (1 << 23)) & 0xFFFFFF) - (1 << 23) for frame in stream)
    return packets, max(0, newest + 1)
