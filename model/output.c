/* SPDX-License-Identifier: Apache-2.0 */
/* One buffer, which has room before the payload for the longest headers. */
#include "output.h"

#include <string.h>

#include "wire/ina_wire.h"
#include "icrc.h"
#include "rebuild.h"

uint8_t *output_payload(struct output *output)
{
	return output->frame + PACKET_HEADER_BYTES_MAX;
}

void output_seal(struct output *output, unsigned payload_bytes)
{
	output->payload_bytes = payload_bytes;
	output->payload_crc = icrc_of_payload(output_payload(output), payload_bytes);
}

void output_copy(struct output *output, const uint8_t *payload, unsigned payload_bytes)
{
	memcpy(output_payload(output), payload, payload_bytes);
	output_seal(output, payload_bytes);
}

void output_send(struct output *output, unsigned port, const struct packet_header *header,
                 bool mark)
{
	uint8_t *payload = output_payload(output);
	unsigned length =
	        rebuild_frame(payload, header, output->payload_bytes, output->payload_crc, mark);

	output->emit(output->context, port, payload - header->length_bytes, length);
}

void output_probe(struct output *output, unsigned port, const struct packet *packet)
{
	uint32_t psn = (packet->psn + INA_WIRE_PROBE_PSN_OFFSET) & PACKET_PSN_MASK;
	struct packet_header header = packet->header;
	uint8_t *at = header.bytes + header.bth_at + PACKET_BTH_PSN_AT;

	at[0] = (uint8_t)(psn >> 16);
	at[1] = (uint8_t)(psn >> 8);
	at[2] = (uint8_t)psn;
	memset(output_payload(output), 0, packet->payload_bytes);
	output_seal(output, packet->payload_bytes);
	output_send(output, port, &header, false);
}
