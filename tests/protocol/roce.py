# SPDX-License-Identifier: Apache-2.0
"""RoCEv2 frames and the messages of docs/protocol.md, made byte by byte; zlib computes the iCRC."""
import struct
import zlib

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMMEDIATE, SEND_ONLY, SEND_ONLY_IMMEDIATE = range(6)
WRITE_ONLY, ACK = 10, 0x11
SEND_LAST_INVALIDATE, SEND_ONLY_INVALIDATE = 22, 23
MARKED = 0xAE
JOIN, DATA, LEAVE, TRACE = 1, 2, 3, 4
INT32, FLOAT32, BFLOAT16, FLOAT16 = 1, 2, 3, 4
SUM, MAX, MIN = 1, 2, 3
JOB = 0x1122334455667788
PROBE_PSN_OFFSET = 1 << 22


def mac(rank):
    return bytes([2, 0, 0, 0, 0, rank + 1])


def plain(source, destination, payload=b"hello"):
    """A frame of an unknown protocol (local experimental)."""
    return mac(destination) + mac(source) + b"\x88\xb5" + payload


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def layout(frame):
    """The offsets of IP and BTH, and whether IP is IPv6."""
    ip = 18 if frame[12:14] == b"\x81\x00" else 14
    ipv6 = frame[ip - 2:ip] == b"\x86\xdd"
    return ip, ip + (48 if ipv6 else 28), ipv6


def icrc(frame):
    ip, bth, ipv6 = layout(frame)
    masked = bytearray(frame[ip:-4])
    if ipv6:
        masked[0] |= 0x0F
    # Traffic class, flow label, hop limit; or TOS, TTL, checksum. UDP checksum, resv8a.
    for at in ((1, 2, 3, 7) if ipv6 else (1, 8, 10, 11)) + (bth - ip - 2, bth - ip - 1, bth - ip + 4):
        masked[at] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))


def with_icrc(frame):
    """The same frame, with a correct iCRC in its last four bytes."""
    return frame[:-4] + icrc(frame)


def packet(source, destination, psn, payload, opcode=SEND_ONLY, tos=MARKED, qpn=0x11, ipv6=False,
           vlan=None, ack=False, udp_checksum=0, source_mac=None, source_port=None, pad=0, pkey=0xFFFF):
    udp_length = 8 + 12 + len(payload) + 4
    if ipv6:
        ethertype = b"\x86\xdd"
        ip = struct.pack("!IHBB16s16s", 6 << 28 | tos << 20 | psn & 0xFFFFF, udp_length, 17, 64,
                         bytes([0xFE, 0x80] + [source + 1] * 14),
                         bytes([0xFE, 0x80] + [destination + 1] * 14))
    else:
        ethertype = b"\x08\x00"
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + udp_length, 0, 0x4000, 64, 17, 0,
                         bytes([192, 0, 2, source + 1]), bytes([192, 0, 2, destination + 1]))
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    udp = struct.pack("!HHHH", 49152 + source if source_port is None else source_port, 4791, udp_length,
                      udp_checksum)
    bth = struct.pack("!BBHII", opcode, 0x40 | pad << 4, pkey, qpn, ack << 31 | psn & 0xFFFFFF)
    frame = mac(destination) + (source_mac or mac(source)) + tag + ethertype + ip + udp + bth + payload
    return with_icrc(frame + bytes(4))


def headers_of(frame):
    """The headers from Ethernet to BTH."""
    return frame[:layout(frame)[1] + 12]


def payload_of(frame):
    return frame[layout(frame)[1] + 12:-4]


def psn_of(frame):
    bth = layout(frame)[1]
    return int.from_bytes(frame[bth + 9:bth + 12], "big")


def asks_for_ack(frame):
    return bool(frame[layout(frame)[1] + 8] & 0x80)


def traffic_class_of(frame):
    ip, _, ipv6 = layout(frame)
    return int.from_bytes(frame[ip:ip + 2], "big") >> 4 & 0xFF if ipv6 else frame[ip + 1]


def message(rank, ranks, kind, number, elements=b"", number_type=0, remaining=None, job=JOB,
            operation=None, exponent=None, magic=0x4E49, version=1, length=None, contributors=1, flags=0,
            trailer_number=None):
    if exponent is None:
        exponent = -128 if kind == JOIN else 0  # in a JOIN minus the window
    if operation is None:
        operation = SUM if kind == DATA else 0
    length = len(elements) if length is None else length
    header = struct.pack("<HBBBBHQIIIi", magic, version, kind, number_type, operation, ranks, job, number,
                         length, length if remaining is None else remaining, exponent)
    trailer = struct.pack("<IIII", contributors, flags,
                          number if trailer_number is None else trailer_number, rank)
    return header + elements + bytes(-len(elements) % 16) + trailer


def trailer_of(payload):
    contributors, flags, number, rank = struct.unpack("<IIII", payload[-16:])
    return contributors, flags, number, rank


def segments(whole, mtu):
    """Cuts a message into packets: a list of (opcode, payload)."""
    parts = [whole[at:at + mtu] for at in range(0, len(whole), mtu)]
    if len(parts) == 1:
        return [(SEND_ONLY, whole)]
    return ([(SEND_FIRST, parts[0])] + [(SEND_MIDDLE, part) for part in parts[1:-1]]
            + [(SEND_LAST, parts[-1])])
