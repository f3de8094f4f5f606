# SPDX-License-Identifier: Apache-2.0
"""Checks that the random faults happened as often as requested. The check is over all runs together, because a single one may
have too few frames."""
import math
import struct

# Option of ina-lab: the counter, and on which sides of the switch.
OPTIONS = {"--loss-up": ("lost", ["up"]), "--loss-down": ("lost", ["down"]), "--duplicate": ("duplicated", ["up", "down"]),
           "--reorder": ("reordered", ["up", "down"]), "--corrupt": ("corrupted", ["up", "down"])}
KINDS = ("lost", "duplicated", "reordered", "corrupted")
# In standard deviations: by chance alone one check in 30 million fails.
DEVIATIONS = 5

PCAP_HEADER_BYTES, RECORD_BYTES, SLL2_BYTES = 24, 16, 20
UDP, ROCE_PORT, RC_OPCODES = 17, 4791, 0x20


def rc_frames(capture, hosts):
    """RC frames over IPv4 from the hosts' cables to a switch, and those to the hosts (packet type 4). Their cables are the
    capture's first interfaces, from 1 on."""
    counts = {"up": 0, "down": 0}
    at = PCAP_HEADER_BYTES
    while at + RECORD_BYTES <= len(capture):
        length, = struct.unpack_from("<I", capture, at + 8)
        packet = capture[at + RECORD_BYTES:at + RECORD_BYTES + length]
        at += RECORD_BYTES + length
        ip = packet[SLL2_BYTES:]
        interface, = struct.unpack_from("!I", packet, 4)
        if interface <= hosts and packet[:2] == b"\x08\0" and len(ip) > 28 and ip[0] == 0x45 and ip[9] == UDP \
                and struct.unpack_from("!H", ip, 22)[0] == ROCE_PORT and ip[28] < RC_OPCODES:
            counts["down" if packet[10] == 4 else "up"] += 1
    return counts


class Chances:
    def __init__(self):
        self.found = dict.fromkeys(KINDS, 0)
        self.expected = dict.fromkeys(KINDS, 0.0)

    def add(self, schedule, stats, capture):
        if not schedule.options or "ports" not in stats or not stats["capture"]["complete"]:
            return
        frames = rc_frames(capture, schedule.hosts)
        for option, value in zip(schedule.options[::2], schedule.options[1::2]):
            name, sides = OPTIONS.get(option, (None, []))
            for side in sides:
                self.found[name] += sum(port["faults"][side][name] for port in stats["ports"])
                self.expected[name] += float(value) * frames[side]

    def wrong(self):
        """Fewer faults than expected, by more than chance. A tenth is allowed for copies, which are not subject to random
        faults."""
        return [f"{self.found[name]} frames were {name}, and {expected:.0f} are to be expected"
                for name, expected in self.expected.items()
                if self.found[name] < 0.9 * expected - DEVIATIONS * math.sqrt(expected)]
