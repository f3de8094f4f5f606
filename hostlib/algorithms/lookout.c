/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives TRACEs; no call waits for them. */
#include "lookout.h"

#include <string.h>

#include "hostlib/rdma/transport.h"

void ina_lookout_attach(struct ina_lookout *lookout,
                        const struct ina_connection_context *connection,
                        struct ina_lookout_memory *memory)
{
	*lookout = (struct ina_lookout){.connection = connection, .memory = memory};
	memset(memory, 0, sizeof(*memory));
}

void ina_lookout_renew(struct ina_lookout *lookout)
{
	lookout->has_come = lookout->has_failed = false;
	lookout->sends = 0;
}

void ina_lookout_end(struct ina_lookout *lookout)
{
	lookout->has_failed = true;
}

static struct ina_message_context context_of(const struct ina_lookout *lookout)
{
	struct ina_message_context context = lookout->connection->context;

	context.type = INA_WIRE_TRACE;
	context.number_type = INA_WIRE_NO_NUMBERS;
	context.operation = INA_WIRE_NO_OPERATION;
	context.exponent = 0;
	return context;
}

void ina_lookout_expect(struct ina_lookout *lookout)
{
	const struct ina_connection_context *connection = lookout->connection;
	struct ina_lookout_memory *memory = lookout->memory;

	lookout->has_come = false;
	if (!lookout->has_failed)
		lookout->has_failed =
		        ina_post_receive(connection, INA_WORK_LOOKOUT_RECEIVE, &memory->come_slot,
		                         memory->come, connection->lkey, sizeof(memory->come)) != 0;
}

void ina_lookout_send(struct ina_lookout *lookout)
{
	const struct ina_connection_context *connection = lookout->connection;
	const struct ina_message_context context = context_of(lookout);
	struct ina_lookout_memory *memory = lookout->memory;
	struct ina_batch batch = {.count = 0};

	if (lookout->has_failed)
		return;
	ina_message_frame(&memory->sent_slot, &context, 0, sizeof(memory->sent),
	                  sizeof(memory->sent), 0);
	ina_post_send(connection, &batch, INA_WORK_LOOKOUT_SEND, &memory->sent_slot, memory->sent,
	              connection->lkey, sizeof(memory->sent));
	lookout->sends++;
	lookout->has_failed = ina_post_batch(connection, &batch) != 0;
}

static bool is_trace(const struct ina_lookout *lookout, uint32_t byte_len)
{
	const struct ina_connection_context *connection = lookout->connection;
	const struct ina_message_context context = context_of(lookout);
	const struct ina_wire_header expected = ina_message_header(
	        &context, 0, sizeof(lookout->memory->come), sizeof(lookout->memory->come));
	int predecessor = ina_predecessor(connection->rank, connection->ranks);

	return ina_message_check(&lookout->memory->come_slot, byte_len, &expected, 1,
	                         (uint32_t)predecessor) == INA_MESSAGE_GOOD;
}

void ina_lookout_take(struct ina_lookout *lookout, const struct ibv_wc *wc)
{
	bool is_receive = wc->wr_id >> 32 == INA_WORK_LOOKOUT_RECEIVE;

	if (wc->status != IBV_WC_SUCCESS || (is_receive && !is_trace(lookout, wc->byte_len)))
		lookout->has_failed = true;
	else if (is_receive)
		lookout->has_come = true;
	else
		lookout->sends--;
}
