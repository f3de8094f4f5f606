/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive doubling among ranks of one process, whose queue pairs lead to each other. Messages and
 * acknowledgements come in any order that reliable connections allow, and any rank may be late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "common/random.h"
#include "hostlib/algorithms/doubling.h"

#define RANKS_MAX 64
#define CALLS     12
#define COUNT     5
#define LONGEST   (INA_HALVING_BYTES / 4)
#define POSTED    16

struct queue {
	struct ibv_qp qp; /* first, so that it leads to the queue */
	struct rdma_cm_id id;
	int rank;
	int number; /* of the queue at the partner */
	struct queue *other;
	struct ibv_sge sends[POSTED], receives[POSTED]; /* rings */
	unsigned int posted, delivered, acknowledged, awaiting, taken;
};

static struct ibv_context context;
static struct queue queues[RANKS_MAX][INA_PARTNERS_MAX];
static struct ina_transport transports[RANKS_MAX];
static struct ina_doubling ranks[RANKS_MAX];
static uint8_t *memories[RANKS_MAX];
static uint64_t seed;

static unsigned int draw(unsigned int below)
{
	return (unsigned int)(ina_random(&seed) >> 33) % below;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct queue *queue = (struct queue *)qp;

	(void)bad;
	assert_true(queue->posted - queue->acknowledged < POSTED);
	assert_int_equal(wr->wr_id, ina_work_id(INA_WORK_PARTNER_SEND, (uint32_t)queue->number));
	queue->sends[queue->posted++ % POSTED] = wr->sg_list[0];
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct queue *queue = (struct queue *)qp;

	(void)bad;
	assert_true(queue->awaiting - queue->taken < 2);
	queue->receives[queue->awaiting++ % POSTED] = wr->sg_list[0];
	return 0;
}

/* The device reads a message only now, and there must be a receive. */
static void deliver(struct queue *from)
{
	struct queue *to = from->other;
	const struct ibv_sge *source = &from->sends[from->delivered++ % POSTED];
	const struct ibv_sge *place = &to->receives[to->taken % POSTED];

	assert_true(to->taken < to->awaiting);
	assert_true(source->length <= place->length);
	to->taken++;
	memcpy((void *)(uintptr_t)place->addr, (const void *)(uintptr_t)source->addr,
	       source->length);
	ina_doubling_received(&ranks[to->rank], (uint32_t)to->number, source->length);
}

static void acknowledge(struct queue *queue)
{
	queue->acknowledged++;
	ina_doubling_sent(&ranks[queue->rank], (uint32_t)queue->number);
}

static struct queue *queue_to(int rank, int other)
{
	for (int i = 0; i < transports[rank].partner_count; i++) {
		if (transports[rank].partners[i].rank == other)
			return &queues[rank][i];
	}
	fail_msg("rank %d is no partner of rank %d", other, rank);
	return NULL;
}

static void open_ranks(int count)
{
	context.ops.post_send = post_send;
	context.ops.post_recv = post_recv;
	memset(queues, 0, sizeof(queues));
	for (int r = 0; r < count; r++) {
		struct ina_transport *transport = &transports[r];
		bool adds, is_added;
		int partners[INA_PARTNERS_MAX];

		*transport = (struct ina_transport){.rank = r, .ranks = count};
		transport->partner_count = ina_partners(r, count, partners, &adds, &is_added);
		for (int i = 0; i < transport->partner_count; i++) {
			struct queue *queue = &queues[r][i];

			*queue = (struct queue){.rank = r, .number = i};
			queue->qp = (struct ibv_qp){.context = &context};
			queue->id.qp = &queue->qp;
			transport->partners[i] =
			        (struct ina_partner){.rank = partners[i], .id = &queue->id};
		}
	}
	for (int r = 0; r < count; r++) {
		const struct ina_message_context messages = {
		        .job_id = 77, .rank_count = (uint16_t)count, .rank = (uint32_t)r};
		struct ina_failure failure;

		for (int i = 0; i < transports[r].partner_count; i++)
			queues[r][i].other = queue_to(transports[r].partners[i].rank, r);
		memories[r] = malloc(ina_doubling_memory(transports[r].partner_count));
		assert_non_null(memories[r]);
		assert_int_equal(ina_doubling_open(&ranks[r], &transports[r], &messages,
		                                   memories[r], 0, &failure),
		                 INA_OK);
	}
}

static void close_ranks(int count)
{
	for (int r = 0; r < count; r++)
		free(memories[r]);
}

/* One event that may come next on one of a rank's connections, or none. */
static void move(int rank)
{
	struct queue *queue = &queues[rank][draw((unsigned int)transports[rank].partner_count)];

	if (queue->delivered < queue->posted && draw(2) == 0)
		deliver(queue);
	else if (queue->acknowledged < queue->delivered && draw(4) == 0)
		acknowledge(queue);
}

static struct ina_transfer transfer_of(const void *send, void *recv, enum ina_type type)
{
	return (struct ina_transfer){.send = send,
	                             .recv = recv,
	                             .total_bytes = COUNT * 4,
	                             .element_bytes = 4,
	                             .type = type,
	                             .number_type = (uint8_t)type,
	                             .op = INA_SUM};
}

/*
 * docs/protocol.md, Short messages between hosts. If n is not a power of two, n - p pairs of ranks
 * are added first (p is the next lower power of two). Then neighbours are added, then pairs of
 * neighbours, and so on.
 */
static float tree(const float *values, int count)
{
	float level[RANKS_MAX];
	int power = 1;
	int pairs, width = 0;

	while (2 * power <= count)
		power *= 2;
	pairs = count - power;
	for (int r = 0; r < count; width++) {
		level[width] = r < 2 * pairs ? values[r] + values[r + 1] : values[r];
		r += r < 2 * pairs ? 2 : 1;
	}
	for (; width > 1; width /= 2) {
		for (int i = 0; i < width / 2; i++)
			level[i] = level[2 * i] + level[2 * i + 1];
	}
	return level[0];
}

static float floats[CALLS][RANKS_MAX][LONGEST];

/*
 * `elements` in the odd calls, COUNT in the others. Some calls are in place, and any rank may be as
 * many calls ahead as the others allow.
 */
static void all_ranks_have_the_tree(int count, int elements)
{
	static float results[RANKS_MAX][LONGEST];
	int calls[RANKS_MAX] = {0};
	bool started[RANKS_MAX] = {false};
	int done = 0;

	open_ranks(count);
	for (int c = 0; c < CALLS; c++) {
		for (int r = 0; r < count; r++) {
			for (int i = 0; i < elements; i++)
				floats[c][r][i] = (float)((int)draw(2000001) - 1000000) /
				                  (float)(1 + draw(1000));
		}
	}
	while (done < count) {
		int r = (int)draw((unsigned int)count);
		struct ina_failure failure;
		int length;

		move(r);
		if (calls[r] == CALLS || draw(3) == 0)
			continue;
		length = calls[r] % 2 ? elements : COUNT;
		if (!started[r]) {
			const float *own = floats[calls[r]][r];
			struct ina_transfer transfer = transfer_of(
			        calls[r] % 4 < 2 ? results[r] : own, results[r], INA_FLOAT32);

			transfer.total_bytes = (uint64_t)length * 4;
			assert_true(ina_doubling_takes(&ranks[r], &transfer));
			if (transfer.send == transfer.recv)
				memcpy(results[r], own, transfer.total_bytes);
			ina_doubling_start(&ranks[r], &transfer, 0);
			started[r] = true;
		}
		assert_int_equal(ina_doubling_advance(&ranks[r], &failure), INA_OK);
		if (!ina_doubling_done(&ranks[r]))
			continue;
		for (int i = 0; i < length; i++) {
			float values[RANKS_MAX];
			float sum;

			for (int k = 0; k < count; k++)
				values[k] = floats[calls[r]][k][i];
			sum = tree(values, count);
			assert_memory_equal(&results[r][i], &sum, sizeof(sum));
		}
		started[r] = false;
		done += ++calls[r] == CALLS;
	}
	close_ranks(count);
}

static void any_number_of_ranks(void **state)
{
	(void)state;
	for (int count = 2; count <= RANKS_MAX; count += count < 20 ? 1 : 11)
		all_ranks_have_the_tree(count, COUNT);
	all_ranks_have_the_tree(RANKS_MAX, COUNT);
}

/* For powers of two: if a call is halved, the result has the same bits as with one message. */
static void long_ones_have_the_tree_too(void **state)
{
	(void)state;
	for (int count = 2; count <= RANKS_MAX; count *= 2)
		all_ranks_have_the_tree(count, INA_DOUBLING_BYTES / 4 + 3);
	all_ranks_have_the_tree(4, INA_DOUBLING_BYTES - 1);
	all_ranks_have_the_tree(8, LONGEST);
}

/* One byte more than the limit uses the ring, and so does a call that cannot be halved: all ranks
 * decide alike. */
static void what_is_halved(void **state)
{
	struct ina_transfer transfer = transfer_of(NULL, NULL, INA_FLOAT32);

	(void)state;
	open_ranks(8);
	transfer.total_bytes = INA_HALVING_BYTES;
	assert_true(ina_doubling_takes(&ranks[0], &transfer));
	transfer.part = INA_SCATTER;
	assert_false(ina_doubling_takes(&ranks[0], &transfer));
	transfer.part = INA_WHOLE;
	transfer.type = INA_BFLOAT16;
	assert_false(ina_doubling_takes(&ranks[0], &transfer));
	transfer.op = INA_MAX; /* not rounded */
	assert_true(ina_doubling_takes(&ranks[0], &transfer));
	transfer.total_bytes += 2;
	assert_false(ina_doubling_takes(&ranks[0], &transfer));
	close_ranks(8);
	open_ranks(4);
	transfer.total_bytes = 4 * INA_DOUBLING_BYTES;
	assert_true(ina_doubling_takes(&ranks[0], &transfer));
	transfer.total_bytes += 2;
	assert_false(ina_doubling_takes(&ranks[0], &transfer));
	close_ranks(4);
	open_ranks(6);
	transfer.total_bytes = INA_DOUBLING_BYTES + 2;
	for (int r = 0; r < 6; r++)
		assert_false(ina_doubling_takes(&ranks[r], &transfer));
	close_ranks(6);
}

/* One call on all ranks, which take turns in their order until all have completed it. */
static void call_all(int count, const struct ina_transfer *transfers, uint32_t flags_of_0)
{
	struct ina_failure failure;
	bool all = false;

	for (int r = 0; r < count; r++)
		ina_doubling_start(&ranks[r], &transfers[r], r == 0 ? flags_of_0 : 0);
	while (!all) {
		all = true;
		for (int r = 0; r < count; r++) {
			move(r);
			assert_int_equal(ina_doubling_advance(&ranks[r], &failure), INA_OK);
			all = all && ina_doubling_done(&ranks[r]);
		}
	}
}

/* The elements of a single rank are only read. */
static void given_elements_are_only_read(void **state)
{
	static uint32_t others[8][LONGEST];
	struct ina_transfer transfers[8];
	uint32_t *given = mmap(NULL, INA_HALVING_BYTES, PROT_READ | PROT_WRITE,
	                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(given != MAP_FAILED);
	open_ranks(8);
	for (uint32_t i = 0; i < LONGEST; i++)
		given[i] = i * 7 + 1;
	assert_int_equal(mprotect(given, INA_HALVING_BYTES, PROT_READ), 0);
	memset(others, 0, sizeof(others));
	for (int r = 0; r < 8; r++) {
		transfers[r] = transfer_of(others[r], others[r], INA_UINT32);
		transfers[r].total_bytes = INA_HALVING_BYTES;
	}
	transfers[2] = transfer_of(given, given, INA_UINT32);
	transfers[2].total_bytes = INA_HALVING_BYTES;
	transfers[2].is_given = true;
	call_all(8, transfers, 0);
	for (int r = 0; r < 8; r++)
		assert_memory_equal(r == 2 ? given : others[r], given, INA_HALVING_BYTES);
	munmap(given, INA_HALVING_BYTES);
	close_ranks(8);
}

/* Whichever rank sees the overflow, and whichever step brings it to the others. */
static void all_hear_of_an_overflow_and_of_a_rejoin(void **state)
{
	static int32_t values[RANKS_MAX][COUNT];
	struct ina_transfer transfers[RANKS_MAX];

	(void)state;
	for (int count = 2; count <= 9; count++) {
		for (int one = 0; one < count; one++) {
			open_ranks(count);
			for (int r = 0; r < count; r++) {
				for (int i = 0; i < COUNT; i++)
					values[r][i] =
					        r == one || r == (one + 1) % count ? INT32_MAX : 0;
				transfers[r] = transfer_of(values[r], values[r], INA_INT32);
			}
			call_all(count, transfers, INA_WIRE_REJOIN);
			for (int r = 0; r < count; r++) {
				assert_int_equal(ranks[r].flags,
				                 INA_WIRE_OVERFLOW | INA_WIRE_REJOIN);
				assert_int_equal(values[r][0], -2);
			}
			close_ranks(count);
		}
	}
}

/* Worked out by hand: four ranks, whose partial sums would be rounded or infinite. */
static void sums_of_16_bits_are_rounded_once(void **state)
{
	static const struct {
		enum ina_type type;
		uint16_t operands[4];
		uint16_t sum;
	} rows[] = {
	        /* 2048 + 1 + 1 + 1 lies between 2050 and 2052: to even */
	        {INA_FLOAT16, {0x6800, 0x3C00, 0x3C00, 0x3C00}, 0x6802},
	        /* 40000 + 40000 - 40000 - 40000 */
	        {INA_FLOAT16, {0x78E2, 0x78E2, 0xF8E2, 0xF8E2}, 0x0000},
	        /* 256 + 1 + 1 + 1 lies between 258 and 260 */
	        {INA_BFLOAT16, {0x4380, 0x3F80, 0x3F80, 0x3F80}, 0x4382},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ina_transfer transfers[4];
		uint16_t values[4];

		open_ranks(4);
		for (int r = 0; r < 4; r++) {
			values[r] = rows[i].operands[r];
			transfers[r] = transfer_of(&values[r], &values[r], rows[i].type);
			transfers[r].total_bytes = transfers[r].element_bytes = 2;
		}
		call_all(4, transfers, 0);
		for (int r = 0; r < 4; r++)
			assert_int_equal(values[r], rows[i].sum);
		close_ranks(4);
	}
}

/* Two messages for each step of the binary logarithm of 64; a ring needs 126. */
static void few_messages(void **state)
{
	static int32_t values[RANKS_MAX][COUNT];
	struct ina_transfer transfers[RANKS_MAX];

	(void)state;
	open_ranks(RANKS_MAX);
	for (int r = 0; r < RANKS_MAX; r++)
		transfers[r] = transfer_of(values[r], values[r], INA_INT32);
	call_all(RANKS_MAX, transfers, 0);
	for (int r = 0; r < RANKS_MAX; r++) {
		assert_int_equal(transports[r].partner_count, 6);
		assert_int_equal(ranks[r].came, 6);
		assert_int_equal(ranks[r].flags, 0);
	}
	close_ranks(RANKS_MAX);
}

static void another_call_is_noticed(void **state)
{
	static float values[2][COUNT];
	struct ina_failure failure = {INA_OK, ""};

	(void)state;
	for (int what = 0; what < 4; what++) {
		struct ina_transfer transfer = transfer_of(values[0], values[0], INA_FLOAT32);

		open_ranks(2);
		ina_doubling_start(&ranks[0], &transfer, 0);
		transfer.total_bytes -= what == 0 ? 4 : 0;
		transfer.number_type = what == 1 ? INA_WIRE_INT32 : INA_WIRE_FLOAT32;
		transfer.mark = what == 3;
		transfer.op = what == 2 ? INA_MAX : INA_SUM;
		ina_doubling_start(&ranks[1], &transfer, 0);
		for (int r = 0; r < 2; r++)
			assert_int_equal(ina_doubling_advance(&ranks[r], &failure), INA_OK);
		deliver(&queues[0][0]);
		assert_int_equal(ina_doubling_advance(&ranks[1], &failure), INA_ERR_MISMATCH);
		close_ranks(2);
	}
}

/* If no message is acknowledged, the rank does not send without end. */
static void acknowledgements_may_be_late(void **state)
{
	static float values[2][COUNT];
	const struct ina_transfer transfers[2] = {transfer_of(values[0], values[0], INA_FLOAT32),
	                                          transfer_of(values[1], values[1], INA_FLOAT32)};
	struct ina_failure failure;
	int calls = 0;

	(void)state;
	open_ranks(2);
	for (;; calls++) {
		for (int r = 0; r < 2; r++) {
			ina_doubling_start(&ranks[r], &transfers[r], 0);
			assert_int_equal(ina_doubling_advance(&ranks[r], &failure), INA_OK);
		}
		if (queues[0][0].posted == queues[0][0].delivered)
			break;
		for (int r = 0; r < 2; r++) {
			assert_true(ina_doubling_awaits_message(&ranks[r]));
			deliver(&queues[r][0]);
		}
		for (int r = 0; r < 2; r++) {
			assert_int_equal(ina_doubling_advance(&ranks[r], &failure), INA_OK);
			assert_true(ina_doubling_done(&ranks[r]));
		}
	}
	assert_true(calls > 2 && calls < POSTED);
	assert_false(ina_doubling_awaits_message(&ranks[0]));
	acknowledge(&queues[0][0]);
	assert_int_equal(ina_doubling_advance(&ranks[0], &failure), INA_OK);
	assert_int_equal(queues[0][0].posted, queues[0][0].delivered + 1);
	close_ranks(2);
}

int main(void)
{
	const char *given = getenv("INA_SEED");
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(any_number_of_ranks),
	        cmocka_unit_test(long_ones_have_the_tree_too),
	        cmocka_unit_test(what_is_halved),
	        cmocka_unit_test(given_elements_are_only_read),
	        cmocka_unit_test(all_hear_of_an_overflow_and_of_a_rejoin),
	        cmocka_unit_test(sums_of_16_bits_are_rounded_once),
	        cmocka_unit_test(few_messages),
	        cmocka_unit_test(another_call_is_noticed),
	        cmocka_unit_test(acknowledgements_may_be_late),
	};

	seed = given ? strtoull(given, NULL, 0) : 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
