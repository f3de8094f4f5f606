/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of each message, and their place in memory. */
#include "operation.h"

#include <assert.h>
#include <string.h>

#include "hostlib/elements/block_float.h"

int ina_operation_find(const struct ina_innet *innet, uint64_t number)
{
	for (unsigned int i = 0; i < innet->operation_count; i++) {
		unsigned int place = (innet->oldest + i) % INA_INNET_OPERATIONS;
		const struct ina_operation *operation = &innet->operations[place];

		if (number >= operation->first && number - operation->first < operation->count)
			return (int)place;
	}
	return -1;
}

struct ina_operation *ina_operation_of(struct ina_innet *innet, uint64_t number)
{
	int place = ina_operation_find(innet, number);

	assert(place >= 0);
	return &innet->operations[place];
}

bool ina_operation_is_lead(const struct ina_operation *operation, uint64_t number)
{
	return number - operation->first < operation->lead;
}

uint64_t ina_operation_offset(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number)
{
	return (number - operation->first - operation->lead) * innet->connection.limit_bytes;
}

uint32_t ina_operation_length(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number)
{
	if (ina_operation_is_lead(operation, number))
		return 0;
	return ina_message_length(operation->transfer.total_bytes, innet->connection.limit_bytes,
	                          number - operation->first - operation->lead);
}

uint32_t ina_operation_remaining(const struct ina_innet *innet,
                                 const struct ina_operation *operation, uint64_t number)
{
	uint64_t total = operation->transfer.total_bytes;

	if (operation->context.type == INA_WIRE_JOIN)
		return innet->place;
	if (!ina_operation_is_lead(operation, number))
		total -= ina_operation_offset(innet, operation, number);
	return (uint32_t)total + operation->transfer.mark;
}

static bool in_place(const struct ina_operation *operation)
{
	return operation->transfer.send == operation->transfer.recv;
}

uint8_t *ina_operation_staging(const struct ina_innet *innet, uint64_t number)
{
	return innet->connection.staging +
	       number % (2 * innet->connection.window) * innet->connection.limit_bytes;
}

uint8_t *ina_operation_result(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number)
{
	return operation->transfer.recv + ina_operation_offset(innet, operation, number);
}

bool ina_operation_is_staged(const struct ina_innet *innet, const struct ina_operation *operation,
                             uint64_t number)
{
	return in_place(operation) || operation->transfer.copies_recv ||
	       (innet->keeps &&
	        number + innet->connection.window >= operation->first + operation->count);
}

uint8_t *ina_operation_receive_buffer(const struct ina_innet *innet,
                                      const struct ina_operation *operation, uint64_t number,
                                      uint32_t *lkey)
{
	bool apart = ina_operation_is_staged(innet, operation, number);

	*lkey = apart ? innet->connection.lkey : operation->transfer.recv_lkey;
	if (ina_operation_length(innet, operation, number) == 0)
		return NULL;
	return apart ? ina_operation_staging(innet, number)
	             : ina_operation_result(innet, operation, number);
}

int32_t *ina_operation_exponent(struct ina_innet *innet, uint64_t number)
{
	return &innet->exponents[number % (2 * innet->connection.window)];
}

int32_t ina_operation_own_exponent(const struct ina_innet *innet,
                                   const struct ina_operation *operation, uint64_t number)
{
	uint64_t speaks_of = number + operation->lead;

	if (!operation->transfer.fixed)
		return operation->context.exponent;
	if (speaks_of >= operation->first + operation->count)
		return 0;
	return ina_block_float_exponent(
	        operation->transfer.send + ina_operation_offset(innet, operation, speaks_of),
	        ina_operation_length(innet, operation, speaks_of) / sizeof(float));
}

enum ina_wire_number_type ina_operation_number_type(struct ina_innet *innet,
                                                    const struct ina_operation *operation,
                                                    uint64_t number)
{
	if (!operation->transfer.fixed)
		return operation->context.number_type;
	if (ina_operation_is_lead(operation, number) ||
	    *ina_operation_exponent(innet, number) != INA_BLOCK_FLOAT_NONE)
		return INA_WIRE_INT32;
	return INA_WIRE_FLOAT32;
}

bool ina_operation_is_fixed(struct ina_innet *innet, const struct ina_operation *operation,
                            uint64_t number)
{
	return operation->transfer.fixed && !ina_operation_is_lead(operation, number) &&
	       ina_operation_number_type(innet, operation, number) == INA_WIRE_INT32;
}

const uint8_t *ina_operation_source(struct ina_innet *innet, const struct ina_operation *operation,
                                    uint64_t number, uint32_t *lkey)
{
	const struct ina_connection_context *connection = &innet->connection;
	uint8_t *copy = connection->copies + number % connection->window * connection->limit_bytes;
	uint32_t length = ina_operation_length(innet, operation, number);
	bool is_fixed = ina_operation_is_fixed(innet, operation, number);
	const uint8_t *elements;

	*lkey = operation->transfer.send_lkey;
	if (length == 0)
		return NULL;
	elements = operation->transfer.send + ina_operation_offset(innet, operation, number);
	if (!is_fixed && !operation->transfer.copies_send)
		return elements;
	if (is_fixed)
		ina_block_float_quantize(copy, elements, length / sizeof(float),
		                         *ina_operation_exponent(innet, number), connection->ranks);
	else
		memcpy(copy, elements, length);
	*lkey = connection->lkey;
	return copy;
}
