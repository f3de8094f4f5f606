/* SPDX-License-Identifier: Apache-2.0 */
#include "sights.h"

#include <string.h>

#include "common/headers.h"
#include "wire/ina_wire.h"

enum { IPV6_DESTINATION_AT = PACKET_IPV6_SOURCE_AT + 16 };

static struct sight_address address_at(const struct frame *frame, unsigned ipv4_at,
                                       unsigned ipv6_at)
{
	const bool is_ipv6 = frame->roce.ip == IP_V6;
	struct sight_address address = {.ip = frame->roce.ip};

	memcpy(address.bytes, frame->bytes + frame->roce.ip_at + (is_ipv6 ? ipv6_at : ipv4_at),
	       is_ipv6 ? 16 : 4);
	return address;
}

static struct sight_address source_of(const struct frame *frame)
{
	return address_at(frame, PACKET_IPV4_SOURCE_AT, PACKET_IPV6_SOURCE_AT);
}

bool sights_are_equal(const struct sight_address *a, const struct sight_address *b)
{
	return a->ip == b->ip && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static unsigned dscp_of(const struct frame *frame)
{
	const uint8_t *ip = frame->bytes + frame->roce.ip_at;
	const unsigned traffic_class =
	        frame->roce.ip == IP_V6 ? packet_be16(ip) >> 4 & 0xFF : ip[PACKET_IPV4_TOS_AT];

	return traffic_class >> PACKET_ECN_BITS;
}

static void count(struct sight_count *of, uint64_t time_ns)
{
	of->frames++;
	of->last_ns = time_ns;
}

static bool is_same_join(const struct join_sight *a, const struct join_sight *b)
{
	return a->frames && a->host == b->host && a->job_id == b->job_id && a->rank == b->rank &&
	       a->vlan_id == b->vlan_id && a->dscp == b->dscp;
}

/* Returns the entry of the same rank, or the oldest one, which is reused. */
static struct join_sight *find_place(struct sights *sights, const struct join_sight *seen)
{
	struct join_sight *oldest = &sights->joins[0];

	for (unsigned i = 0; i < SIGHTS_JOINS; i++) {
		struct join_sight *entry = &sights->joins[i];

		if (is_same_join(entry, seen))
			return entry;
		if (entry->last_ns < oldest->last_ns)
			oldest = entry;
	}
	return oldest;
}

static void take_join(struct sights *sights, unsigned host, uint64_t time_ns, bool is_foreign,
                      const struct frame *frame)
{
	const uint8_t *payload = frame->bytes + frame->roce.payload_at;
	const uint8_t *ip = frame->bytes + frame->roce.ip_at;
	struct ina_wire_header header;
	struct ina_wire_trailer trailer;

	if (frame->length < frame->roce.payload_at + sizeof(header) + sizeof(trailer))
		return;
	memcpy(&header, payload, sizeof(header));
	memcpy(&trailer, payload + sizeof(header), sizeof(trailer));
	struct join_sight seen = {
	        .host = host,
	        .job_id = header.job_id,
	        .rank = trailer.rank,
	        .rank_count = header.rank_count,
	        .vlan_id = frame->roce.vlan_id,
	        .dscp = dscp_of(frame),
	        .is_foreign = is_foreign,
	        .ttl = ip[frame->roce.ip == IP_V6 ? PACKET_IPV6_HOPS_AT : PACKET_IPV4_TTL_AT],
	        .source = source_of(frame),
	        .destination = address_at(frame, PACKET_IPV4_DESTINATION_AT, IPV6_DESTINATION_AT),
	        .first_ns = time_ns,
	        .last_ns = time_ns,
	};
	struct join_sight *place = find_place(sights, &seen);

	memcpy(seen.destination_mac, frame->bytes, sizeof(seen.destination_mac));
	memcpy(seen.source_mac, frame->bytes + PACKET_SOURCE_MAC_AT, sizeof(seen.source_mac));
	if (is_same_join(place, &seen)) {
		seen.first_ns = place->first_ns;
		seen.frames = place->frames;
	}
	seen.frames++;
	*place = seen;
}

void sights_take_move(struct sights *sights, unsigned from, unsigned to, uint64_t time_ns,
                      const struct frame *frame)
{
	struct mac_moves *moved = &sights->moved;
	const uint8_t *mac = frame->bytes + PACKET_SOURCE_MAC_AT;

	if (memcmp(moved->mac, mac, sizeof(moved->mac)))
		*moved = (struct mac_moves){0};
	memcpy(moved->mac, mac, sizeof(moved->mac));
	moved->from = from;
	moved->to = to;
	moved->before_ns = moved->last_ns;
	moved->last_ns = time_ns;
}

void sights_take(struct sights *sights, unsigned host, uint64_t time_ns, bool is_foreign,
                 const struct frame *frame)
{
	struct host_sights *of = &sights->hosts[host];

	if (!frame->roce.is_roce)
		return;
	count(&of->roce, time_ns);
	if (!of->marked.frames || (frame->roce.is_send && frame->roce.is_marked))
		of->address = source_of(frame);
	if (frame->roce.is_send && frame->roce.is_marked) {
		count(&of->marked, time_ns);
	} else if (frame->roce.is_send) {
		count(&of->sends, time_ns);
		of->unmarked_dscp = dscp_of(frame);
	}
	if (frame->roce.is_join || frame->roce.lacks_mark)
		take_join(sights, host, time_ns, is_foreign, frame);
}
