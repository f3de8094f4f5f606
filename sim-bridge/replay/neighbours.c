/* SPDX-License-Identifier: Apache-2.0 */
#include "neighbours.h"

#include <stdbool.h>
#include <string.h>

enum {
	ETHERTYPE_ARP = 0x0806,
	/* RFC 826, for Ethernet and IPv4; from the start of the ARP packet, in bytes. */
	ARP_OPERATION_AT = 6,
	ARP_TARGET_MAC_AT = 18,
	ARP_BYTES = 28,
	ARP_REPLY = 2,

	IPV6_DESTINATION_AT = PACKET_IPV6_SOURCE_AT + NEIGHBOURS_IP_BYTES,
};

/* Returns the index of the entry for the frame's source or destination; or the count. */
static unsigned find(const struct neighbours *neighbours, const struct frame *frame, bool of_source,
                     struct neighbour *wanted)
{
	const uint8_t *ip = frame->bytes + frame->roce.ip_at;
	unsigned at = 0;

	*wanted = (struct neighbour){.version = frame->roce.ip, .vlan_id = frame->roce.vlan_id};
	if (frame->roce.ip == IP_V4)
		memcpy(wanted->ip,
		       ip + (of_source ? PACKET_IPV4_SOURCE_AT : PACKET_IPV4_DESTINATION_AT), 4);
	if (frame->roce.ip == IP_V6)
		memcpy(wanted->ip, ip + (of_source ? PACKET_IPV6_SOURCE_AT : IPV6_DESTINATION_AT),
		       NEIGHBOURS_IP_BYTES);
	while (at < neighbours->count) {
		const struct neighbour *here = &neighbours->list[at];

		if (here->version == wanted->version && here->vlan_id == wanted->vlan_id &&
		    !memcmp(here->ip, wanted->ip, sizeof(here->ip)))
			break;
		at++;
	}
	return at;
}

void neighbours_learn(struct neighbours *neighbours, const struct frame *frame)
{
	struct neighbour wanted;
	const unsigned at = find(neighbours, frame, true, &wanted);

	if (frame->roce.ip == IP_NONE || at < neighbours->count || at == NEIGHBOURS_MAX)
		return;
	memcpy(wanted.mac, frame->bytes + PACKET_SOURCE_MAC_AT, PACKET_MAC_BYTES);
	neighbours->list[neighbours->count++] = wanted;
}

static bool is_arp_reply(const struct frame *frame)
{
	const uint8_t *arp = frame->bytes + frame->roce.ip_at;

	return packet_be16(arp - 2) == ETHERTYPE_ARP &&
	       frame->length >= frame->roce.ip_at + (unsigned)ARP_BYTES &&
	       packet_be16(arp + ARP_OPERATION_AT) == ARP_REPLY;
}

void neighbours_address(const struct neighbours *neighbours, struct frame *frame)
{
	struct neighbour wanted;

	if (is_arp_reply(frame)) {
		memcpy(frame->bytes, frame->bytes + frame->roce.ip_at + ARP_TARGET_MAC_AT,
		       PACKET_MAC_BYTES);
		return;
	}
	const unsigned at = find(neighbours, frame, false, &wanted);

	if (frame->roce.ip != IP_NONE && at < neighbours->count)
		memcpy(frame->bytes, neighbours->list[at].mac, PACKET_MAC_BYTES);
}
