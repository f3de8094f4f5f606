# SPDX-License-Identifier: Apache-2.0
"""Forms of frames, frames that pass, marking, and the fields that an aggregator recomputes."""
import struct

import pytest

from flows import Flow, Job, check_made, check_probe, check_raw
from roce import (ACK, DATA, JOIN, SEND_ONLY, TRACE, WRITE_ONLY, checksum, icrc, layout, message, packet, payload_of,
                  traffic_class_of, trailer_of)

ELEMENTS = bytes(range(16))
FORMS = [{}, {"vlan": 7}, {"ipv6": True}, {"ipv6": True, "vlan": 0x6123}]
NAMES = ["IPv4", "IPv4 and VLAN", "IPv6", "IPv6 and VLAN"]
NOT_CAPABLE, ECT0, CE = 0xAC, 0xAE, 0xAF


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_each_form_is_summed(two, form):
    job = Job(two, 2, forms=[form, form]).join()
    assert job.is_summed()
    job.leave()


def test_connections_of_a_job_may_differ_in_form(start):
    job = Job(start(4), 4, forms=FORMS).join()
    assert job.is_summed()
    job.leave()


def test_priority_may_change_from_packet_to_packet(two):
    job = Job(two, 2, forms=[{"vlan": 7}] * 2).join()
    job.flows[0].form["vlan"] = 0xF007
    assert job.is_summed()


@pytest.mark.parametrize("change", [{"qpn": 0x12}, {"vlan": 8}, {"vlan": None}, {"ipv6": True}, {"source_port": 0xC123}],
                         ids=str)
def test_another_key_is_another_flow(two, change):
    flow = Job(two, 2, forms=[{"vlan": 7}] * 2).join().flows[0]
    frame = flow.packet(flow.message(DATA, ELEMENTS), **change)
    assert flow.put(frame) == [frame]


@pytest.mark.parametrize("pkey", [0x7FFF, 0x8001])
def test_packets_of_different_partitions_are_not_summed(two, pkey):
    job = Job(two, 2).join()
    sent = [flow.go_on(flow.message(DATA, ELEMENTS), pkey=own) for flow, own in zip(job.flows, (0xFFFF, pkey))]
    got = two.settle()
    check_raw([got[1][0], got[0][0]], sent)
    assert two.end()["aggregator"]["jobs_broken"] == 1


def test_a_job_may_be_of_any_partition(two):
    job = Job(two, 2, forms=[{"pkey": 0x8001}] * 2).join()
    assert job.is_summed()
    job.leave()


def in_other_form(frame, form):
    ip, _, _ = layout(frame)
    body = frame[ip:]
    if form == "802.1ad":
        return frame[:12] + struct.pack("!HH", 0x88A8, 7) + frame[12:]
    if form == "two tags":
        return frame[:12] + struct.pack("!HHHH", 0x8100, 7, 0x8100, 8) + frame[12:]
    if form == "fragment":
        head = body[:6] + b"\x20\x00" + body[8:10] + b"\0\0" + body[12:20]
    elif form == "fragment, not the first":
        head = body[:6] + b"\x00\x10" + body[8:10] + b"\0\0" + body[12:20]
    else:  # options
        head = b"\x46" + body[1:2] + struct.pack("!H", len(body) + 4) + body[4:10] + b"\0\0" + body[12:20]
        head += b"\x01\x01\x01\x00"
        return frame[:ip] + head + body[20:]
    return frame[:ip] + head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body[20:]


@pytest.mark.parametrize("form", ["802.1ad", "two tags", "fragment", "fragment, not the first", "options"])
def test_other_forms_pass(two, form):
    """Even if the form is the only difference from a flow's own packet."""
    flow = Job(two, 2).join().flows[0]
    frame = in_other_form(flow.packet(flow.message(DATA, ELEMENTS)), form)
    frame = frame[:-4] + icrc(frame) if form.startswith("fragment") else frame
    assert flow.put(frame) == [frame]


def test_extension_headers_pass(two):
    flow = Job(two, 2, forms=[{"ipv6": True}] * 2).join().flows[0]
    frame = flow.packet(flow.message(DATA, ELEMENTS))
    hop_by_hop = b"\x11\x00\x01\x04\0\0\0\0"
    length = struct.unpack_from("!H", frame, 18)[0] + 8
    frame = frame[:18] + struct.pack("!HB", length, 0) + frame[21:54] + hop_by_hop + frame[54:]
    assert flow.put(frame) == [frame]


@pytest.mark.parametrize("opcode,tos", [(ACK, ECT0), (WRITE_ONLY, ECT0), (0x64, ECT0)], ids=["ACK", "WRITE", "UD"])
def test_other_packets_of_unknown_flows_pass(two, opcode, tos):
    frame = packet(0, 1, 5, bytes(48), opcode, tos)
    assert Flow(two, 0, 1).put(frame) == [frame]


def test_acks_between_hosts_of_a_job_pass(two):
    flow = Job(two, 2).join().flows[0]
    for d in (0, -1, 1, 1000):
        frame = flow.packet(bytes(4), d, ACK)
        assert flow.put(frame) == [frame]


def test_unmarked_connections_are_not_aggregated(two):
    flow = Flow(two, 0, 1, ranks=2, tos=0)
    for kind in (JOIN, DATA):
        frame = flow.packet(flow.message(kind))
        flow.next_psn += 1
        assert flow.put(frame) == [frame]


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
@pytest.mark.parametrize("marks,want", [
    ((ECT0, ECT0), (ECT0, ECT0)), ((CE, ECT0), (CE, CE)), ((ECT0, CE), (CE, CE)), ((CE, 0xAD), (CE, CE)),
    ((CE, NOT_CAPABLE), (CE, NOT_CAPABLE)), ((NOT_CAPABLE, CE), (NOT_CAPABLE, CE)),
    ((NOT_CAPABLE, ECT0), (NOT_CAPABLE, ECT0))], ids=lambda marks: "-".join(f"{mark:x}" for mark in marks))
def test_congestion_is_ored_where_hosts_are_ecn_capable(two, form, marks, want):
    job = Job(two, 2, forms=[form, form]).join()
    sent = [flow.go_on(flow.message(DATA, ELEMENTS), tos=mark) for flow, mark in zip(job.flows, marks)]
    got = two.settle()
    got = [got[1][0], got[0][0]]
    assert tuple(traffic_class_of(frame) for frame in got) == want
    for frame, made_of in zip(got, sent):
        check_made(frame, made_of)
        ip, _, ipv6 = layout(frame)
        assert ipv6 or checksum(frame[ip:ip + 10] + b"\0\0" + frame[ip + 12:ip + 20]) == \
            struct.unpack_from("!H", frame, ip + 10)[0]


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_what_an_aggregator_makes_has_udp_checksum_0(two, form):
    """Also a right iCRC: check_made() checks both."""
    job = Job(two, 2, forms=[{**form, "udp_checksum": 0x1234}] * 2).join()
    sent, got = job.put([flow.message(DATA, ELEMENTS) for flow in job.flows])
    for flow, frame, made_of in zip(job.flows, got, sent):
        check_made(frame, made_of)
        again = flow.put(made_of)[0]  # an answer
        check_made(again, made_of)
        assert payload_of(again) == payload_of(frame)
        assert trailer_of(payload_of(again))[0] == 2


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_probes_raw_packets_and_filled_traces_have_udp_checksum_0(two, form):
    """A packet that passes unchanged keeps its checksum."""
    form = {**form, "udp_checksum": 0x1234}
    job = Job(two, 2, forms=[form] * 2).join()
    flow = job.flows[0]
    ahead = flow.packet(flow.message(DATA, ELEMENTS), 1)
    check_probe(flow.put(ahead), ahead)
    sent, got = job.put([flow.message(DATA, ELEMENTS, length=flow.rank, number=1) for flow in job.flows])
    check_raw(got, sent)
    assert [flow.put(frame) for flow, frame in zip(job.flows, sent)] == [[frame] for frame in sent]
    trace = packet(0, 1, 7, message(0, 2, TRACE, 0, bytes(48), job=0x7ACE), SEND_ONLY, qpn=0x7ACE, **form)
    filled, = flow.put(trace)
    assert payload_of(filled) != payload_of(trace)
    check_made(filled, trace)
