/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring next to the aggregator, whole and by halves. The ranks are in one process, and their
 * queue pairs lead to each other. The ring is connected when it is first needed. Messages and
 * acknowledgements come in any order that reliable connections allow, and any rank may be late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "common/deadline.h"
#include "common/random.h"
#include "fake_device.h"
#include "reference.h"

#define RANKS_MAX 33
#define CALLS     9
#define WINDOW    3
#define PATH_MTU  64u
#define LIMIT     80u /* bytes of elements in a message: two packets, or one short packet */
#define COUNT_MAX (RANKS_MAX * 40)
#define POSTED    48      /* receives for two windows of at most 16 messages each, and credits */
#define TURNS_MAX 1000000 /* a test that has not ended by then hangs */

struct work {
	uint64_t id;
	uint32_t imm;
	int count;
	struct ibv_sge sges[INA_MESSAGE_SGES];
};

/* One end of a connection between neighbours. */
struct queue {
	struct ibv_qp qp; /* first, so that it leads to the queue */
	struct rdma_cm_id id;
	int rank;
	bool is_apart;
	struct queue *other;
	struct work sends[POSTED], receives[POSTED]; /* rings */
	unsigned int posted, delivered, acknowledged, awaiting, taken;
};

static struct rank {
	struct ibv_context context;
	struct ibv_cq cq;
	struct ibv_comp_channel channel;
	struct ibv_pd pd;
	struct rdma_cm_id listener;
	struct rdma_event_channel events;
	struct ina_endpoint endpoints[RANKS_MAX];
	struct queue tx[INA_PURPOSE_COUNT], rx[INA_PURPOSE_COUNT], partner;
	struct ibv_wc wcs[4 * POSTED]; /* a ring */
	unsigned int wc_first, wc_end;
	struct ina_network network;
	struct ina_control control;
	struct ina_settings settings;
	struct ina_turn turn;
	/* memory of a call of this kind is not registered */
	bool copies_send, copies_recv, copies_wide;
} ranks[RANKS_MAX];

struct buffers {
	uint8_t send[COUNT_MAX * 8];
	uint8_t recv[COUNT_MAX * 8 + 8]; /* and a guard */
	uint8_t wide[COUNT_MAX * 4];
};

static struct buffers buffers[RANKS_MAX];

static const struct ina_algorithm_row *const ROW = &ina_apart_algorithm;
static uint64_t seed;

static unsigned int draw(unsigned int below)
{
	return (unsigned int)(ina_random(&seed) >> 33) % below;
}

/* The device. */

static bool lies_in(const void *buffer, size_t bytes, const struct ibv_sge *sge)
{
	return sge->length > 0 && sge->addr - (uintptr_t)buffer < bytes;
}

/* The device cannot use memory that is not registered. */
static void check_registered(int rank, const struct ibv_sge *sge)
{
	const struct buffers *own = &buffers[rank];

	assert_false(ranks[rank].copies_send && lies_in(own->send, sizeof(own->send), sge));
	assert_false(ranks[rank].copies_recv && lies_in(own->recv, sizeof(own->recv), sge));
	assert_false(ranks[rank].copies_wide && lies_in(own->wide, sizeof(own->wide), sge));
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct queue *queue = (struct queue *)qp;

	(void)bad;
	assert_true(queue->is_apart);
	for (; wr; wr = wr->next) {
		struct work *work = &queue->sends[queue->posted++ % POSTED];

		assert_true(queue->posted - queue->acknowledged <= POSTED);
		*work = (struct work){.id = wr->wr_id, .imm = wr->imm_data, .count = wr->num_sge};
		for (int i = 0; i < wr->num_sge; i++) {
			check_registered(queue->rank, &wr->sg_list[i]);
			work->sges[i] = wr->sg_list[i];
		}
	}
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct queue *queue = (struct queue *)qp;
	struct work *work = &queue->receives[queue->awaiting++ % POSTED];

	(void)bad;
	assert_true(queue->awaiting - queue->taken <= POSTED);
	*work = (struct work){.id = wr->wr_id, .count = wr->num_sge};
	for (int i = 0; i < wr->num_sge; i++) {
		check_registered(queue->rank, &wr->sg_list[i]);
		work->sges[i] = wr->sg_list[i];
	}
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	struct rank *own = cq->cq_context;
	int count = 0;

	while (count < room && own->wc_first < own->wc_end)
		wc[count++] = own->wcs[own->wc_first++ % (4 * POSTED)];
	return count;
}

static void complete(int rank, struct ibv_wc wc)
{
	struct rank *own = &ranks[rank];

	assert_true(own->wc_end - own->wc_first < 4 * POSTED);
	own->wcs[own->wc_end++ % (4 * POSTED)] = wc;
}

/* The device reads a message only now. The ring may send no data before there is a receive. */
static void deliver(struct queue *from)
{
	struct queue *to = from->other;
	const struct work *source = &from->sends[from->delivered % POSTED];
	const struct work *place = &to->receives[to->taken % POSTED];
	uint8_t message[LIMIT + sizeof(struct ina_slot)];
	uint32_t length = 0, taken = 0;

	if (source->count == 0 && to->taken == to->awaiting)
		return; /* a credit, and the rank has no receive yet: it is sent again */
	assert_true(to->taken < to->awaiting);
	for (int i = 0; i < source->count; i++) {
		const struct ibv_sge *sge = &source->sges[i];

		assert_true(length + sge->length <= sizeof(message));
		memcpy(message + length, (const void *)(uintptr_t)sge->addr, sge->length);
		length += sge->length;
	}
	for (int i = 0; i < place->count && taken < length; i++) {
		const struct ibv_sge *sge = &place->sges[i];
		uint32_t part = sge->length < length - taken ? sge->length : length - taken;

		memcpy((void *)(uintptr_t)sge->addr, message + taken, part);
		taken += part;
	}
	from->delivered++;
	to->taken++;
	complete(to->rank,
	         (struct ibv_wc){.wr_id = place->id,
	                         .status = taken == length ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR,
	                         .byte_len = length,
	                         .imm_data = source->imm});
}

static void acknowledge(struct queue *queue)
{
	const struct work *work = &queue->sends[queue->acknowledged++ % POSTED];

	complete(queue->rank, (struct ibv_wc){.wr_id = work->id, .status = IBV_WC_SUCCESS});
}

static void make_queue(struct queue *queue, int rank)
{
	struct rank *own = &ranks[rank];

	*queue = (struct queue){.rank = rank};
	queue->qp = (struct ibv_qp){.context = &own->context};
	queue->id = (struct rdma_cm_id){.verbs = &own->context, .qp = &queue->qp};
}

/* The connection manager: the ring only ever asks for the successor's connection. */

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space space)
{
	struct rank *own = (struct rank *)((uint8_t *)channel - offsetof(struct rank, events));

	(void)context;
	(void)space;
	*id = &own->tx[INA_PURPOSE_APART].id;
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to,
                      int timeout_ms)
{
	(void)id;
	(void)from;
	(void)to;
	(void)timeout_ms;
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask,
                 struct ibv_qp_init_attr *init)
{
	(void)qp;
	(void)mask;
	(void)init;
	attributes->path_mtu = IBV_MTU_4096;
	return 0;
}

/* The successor accepts, whatever step it is in itself. */
static void connect_to_successor(int rank, int count)
{
	struct ina_connection *own = &ranks[rank].network.transport.connections[INA_PURPOSE_APART];
	struct rank *next = &ranks[(rank + 1) % count];
	struct ina_connection *others = &next->network.transport.connections[INA_PURPOSE_APART];

	assert_ptr_equal(own->tx, &ranks[rank].tx[INA_PURPOSE_APART].id);
	others->rx = &next->rx[INA_PURPOSE_APART].id;
	own->tx_ready = others->rx_ready = true;
}

/* Ranks that have opened a communicator, and have all connections except this ring. */

static void link_controls(int count)
{
	for (int r = 0; r < count; r++) {
		for (int other = r + 1; other < count; other++) {
			struct ina_link *link = ina_control_link(&ranks[r].control, other);
			int ends[2];

			if (!link)
				continue;
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends),
			                 0);
			link->fd = ends[0];
			ina_control_link(&ranks[other].control, r)->fd = ends[1];
		}
	}
}

static void open_rank(int rank, int count, bool doubles)
{
	struct rank *own = &ranks[rank];
	struct ina_transport *transport = &own->network.transport;
	struct ina_options options;
	struct ina_failure failure;

	memset(own, 0, sizeof(*own));
	own->context.ops.post_send = post_send;
	own->context.ops.post_recv = post_recv;
	own->context.ops.poll_cq = poll_cq;
	own->cq = (struct ibv_cq){.context = &own->context, .cq_context = own};
	own->pd.context = own->channel.context = &own->context;
	own->channel.fd = own->context.async_fd = own->events.fd = -1;
	own->listener.verbs = &own->context;
	*transport = (struct ina_transport){.events = &own->events,
	                                    .listener = &own->listener,
	                                    .pd = &own->pd,
	                                    .channel = &own->channel,
	                                    .cq = &own->cq,
	                                    .endpoints = own->endpoints,
	                                    .path_mtu = PATH_MTU,
	                                    .device = "fake0",
	                                    .rank = rank,
	                                    .ranks = count};
	for (int p = 0; p < INA_PURPOSE_COUNT; p++) {
		make_queue(&own->tx[p], rank);
		make_queue(&own->rx[p], rank);
		own->tx[p].is_apart = own->rx[p].is_apart = p == INA_PURPOSE_APART;
		ina_transport_set_rank_order(transport, (enum ina_purpose)p);
		if (p != INA_PURPOSE_APART)
			transport->connections[p] = (struct ina_connection){.tx = &own->tx[p].id,
			                                                    .rx = &own->rx[p].id,
			                                                    .tx_ready = true,
			                                                    .rx_ready = true,
			                                                    .wanted = true};
	}
	make_queue(&own->partner, rank);
	own->partner.is_apart = doubles;
	if (doubles)
		transport->partners[transport->partner_count++] = (struct ina_partner){
		        .rank = 1 - rank, .id = &own->partner.id, .ready = true};
	ina_options_init(&options);
	options.rank = rank;
	options.ranks = count;
	options.root = "127.0.0.1";
	options.window = WINDOW;
	options.message_bytes = (unsigned int)INA_MESSAGE_FRAMING + LIMIT;
	assert_int_equal(ina_settings_make(&own->settings, &options, &failure), INA_OK);
	ina_control_init(&own->control, rank, count);
	assert_int_equal(
	        ina_network_open(&own->network, &own->control, &own->settings, 7, &failure),
	        INA_OK);
	own->network.apart.turn = &own->turn;
	own->turn.deadline_ms = ina_now_ms() + 60000;
}

static void open_ranks(int count, bool doubles)
{
	for (int r = 0; r < count; r++)
		open_rank(r, count, doubles);
	for (int r = 0; r < count; r++) {
		struct queue *tx = &ranks[r].tx[INA_PURPOSE_APART];
		struct queue *rx = &ranks[(r + 1) % count].rx[INA_PURPOSE_APART];

		tx->other = rx;
		rx->other = tx;
	}
	link_controls(count);
}

static void close_ranks(int count)
{
	for (int r = 0; r < count; r++) {
		ina_memory_close(&ranks[r].network.apart.memory);
		ina_memory_close(&ranks[r].network.memory);
		ina_control_close(&ranks[r].control);
	}
}

static struct ina_apart *apart_of(int rank)
{
	return &ranks[rank].network.apart;
}

static enum ina_status start(int rank, const struct ina_transfer *transfer,
                             struct ina_failure *failure)
{
	struct ina_turn *turn = &ranks[rank].turn;

	turn->current.kind = INA_CALL_ALLREDUCE;
	turn->current.number++;
	return ROW->start(apart_of(rank), transfer, failure);
}

/* One event that may come next on a rank's connections, or none. */
static void move(int rank, int count)
{
	struct ina_connection *made = &ranks[rank].network.transport.connections[INA_PURPOSE_APART];
	struct queue *queue =
	        draw(2) ? &ranks[rank].tx[INA_PURPOSE_APART] : &ranks[rank].rx[INA_PURPOSE_APART];

	if (made->tx && !made->tx_ready && draw(3) == 0)
		connect_to_successor(rank, count);
	if (queue->delivered < queue->posted && draw(2) == 0)
		deliver(queue);
	else if (queue->acknowledged < queue->delivered && draw(4) == 0)
		acknowledge(queue);
}

/* Calls, and their expected results. */

static struct call {
	struct ina_transfer transfer; /* the addresses are set later */
	int elements;
	reference_bits operands[COUNT_MAX][RANKS_MAX];
} calls[CALLS];

/* Cuts as docs/protocol.md says in The ring's connection: the block of an element. */
static int block_of(int index, int elements, int count)
{
	int end = 0;

	for (int block = 0;; block++) {
		end += elements / count + (block < elements % count);
		if (index < end)
			return block;
	}
}

static reference_bits any_number(enum ina_type type)
{
	double value = (double)((int)draw(2000001) - 1000000) / (double)(1 + draw(1000));
	reference_bits bits;

	switch (type) {
	case INA_FLOAT32:
	case INA_BFLOAT16:
	case INA_FLOAT16:
		return reference_round(type, value);
	case INA_FLOAT64:
		memcpy(&bits, &value, sizeof(bits));
		return bits;
	default:
		return ina_random(&seed) & (UINT64_MAX >> (64 - 8 * reference_bytes(type)));
	}
}

static void draw_call(struct call *call, enum ina_part part, int count)
{
	enum ina_type type = reference_type((int)draw(REFERENCE_TYPES));
	const int sizes[] = {0, 1, count - 1, count, 8 * count, 8 * count + 1};
	int elements = draw(2) ? (int)draw((unsigned int)count * 40) : sizes[draw(6)];
	uint32_t bytes = (uint32_t)reference_bytes(type);

	call->elements = elements;
	call->transfer = (struct ina_transfer){.total_bytes = (uint64_t)elements * bytes,
	                                       .element_bytes = bytes,
	                                       .type = type,
	                                       .op = (enum ina_op)(1 + draw(INA_PROD)),
	                                       .number_type = (uint8_t)type,
	                                       .mark = draw(3),
	                                       .part = part};
	for (int i = 0; i < elements; i++) {
		for (int r = 0; r < count; r++)
			call->operands[i][r] = any_number(type);
	}
}

/*
 * Chunk c of a whole ring starts at rank c, and block b of a reduce-scatter at rank b + 1. Block b
 * of an all-gather is that of rank b.
 */
static reference_bits wanted(const struct call *call, int index, int count)
{
	const struct ina_transfer *transfer = &call->transfer;
	reference_bits turned[RANKS_MAX];

	if (transfer->part == INA_GATHER)
		return call->operands[index][block_of(index, call->elements, count)];
	for (int r = 0; r < count; r++)
		turned[r] = call->operands[index][(r + (transfer->part == INA_SCATTER)) % count];
	return reference_ring(transfer->type, transfer->op, turned, count, (size_t)index,
	                      (size_t)call->elements);
}

/* In place, or not. In an all-gather, the blocks of other ranks are filled with anything. */
static struct ina_transfer fill(const struct call *call, int rank, int count, bool in_place)
{
	struct buffers *own = &buffers[rank];
	struct ina_transfer transfer = call->transfer;
	bool gathers = transfer.part == INA_GATHER;
	uint32_t bytes = transfer.element_bytes;

	in_place = in_place || gathers;
	memset(own, 0x5A, sizeof(*own));
	transfer.send = in_place ? own->recv : own->send;
	transfer.recv = own->recv;
	transfer.wide = own->wide;
	transfer.copies_recv = ranks[rank].copies_recv = draw(2);
	transfer.copies_send = ranks[rank].copies_send = in_place ? transfer.copies_recv : draw(2);
	transfer.copies_wide = ranks[rank].copies_wide = draw(2);
	for (int i = 0; i < call->elements; i++) {
		if (!gathers || block_of(i, call->elements, count) == rank)
			memcpy((in_place ? own->recv : own->send) + (size_t)i * bytes,
			       &call->operands[i][rank], bytes);
	}
	return transfer;
}

static void check(const struct call *call, int rank, int count, bool in_place)
{
	const struct buffers *own = &buffers[rank];
	uint32_t bytes = call->transfer.element_bytes;

	for (int i = 0; i < call->elements; i++) {
		reference_bits bits = wanted(call, i, count);

		if (call->transfer.part != INA_SCATTER ||
		    block_of(i, call->elements, count) == rank)
			assert_memory_equal(own->recv + (size_t)i * bytes, &bits, bytes);
		if (!in_place && call->transfer.part != INA_GATHER)
			assert_memory_equal(own->send + (size_t)i * bytes, &call->operands[i][rank],
			                    bytes);
	}
	assert_int_equal(own->recv[call->transfer.total_bytes], 0x5A);
}

/* Any rank may be as many calls ahead as the others allow. */
static void all_ranks_have_it(int count)
{
	int done[RANKS_MAX] = {0};
	bool started[RANKS_MAX] = {false};
	bool in_place[RANKS_MAX];
	int ended = 0;
	int turns = 0;

	open_ranks(count, false);
	for (int c = 0; c < CALLS; c++)
		draw_call(&calls[c], (enum ina_part)((c + count) % 3), count);
	while (ended < count) {
		int r = (int)draw((unsigned int)count);
		struct ina_stats stats = {0};
		struct ina_failure failure;
		uint64_t until;
		bool moved;

		assert_true(++turns < TURNS_MAX);
		move(r, count);
		if (done[r] == CALLS || draw(3) == 0)
			continue;
		if (!started[r]) {
			struct ina_transfer transfer;

			in_place[r] = draw(2);
			transfer = fill(&calls[done[r]], r, count, in_place[r]);
			assert_int_equal(start(r, &transfer, &failure), INA_OK);
			started[r] = true;
		}
		assert_int_equal(ROW->advance(apart_of(r), false, &moved, &failure), INA_OK);
		if (!ROW->is_done(apart_of(r)))
			continue;
		ROW->end(apart_of(r), &stats, &until);
		assert_int_equal(stats.bytes_ring, calls[done[r]].transfer.total_bytes);
		check(&calls[done[r]], r, count, in_place[r]);
		started[r] = false;
		ended += ++done[r] == CALLS;
	}
	for (int r = 0; r < count; r++)
		assert_int_equal(ranks[r].control.phase, 1); /* they waited for all ranks only
		                                              * once */
	close_ranks(count);
}

static void any_number_of_ranks(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int count = 2; count <= 20; count++)
			all_ranks_have_it(count);
	}
	all_ranks_have_it(RANKS_MAX);
}

/* One call on all ranks, until all have completed it. */
static void call_all(int count, const struct ina_transfer *transfers)
{
	struct ina_failure failure;
	bool all = false;
	bool moved;
	int turns = 0;

	for (int r = 0; r < count; r++)
		assert_int_equal(start(r, &transfers[r], &failure), INA_OK);
	while (!all) {
		assert_true(++turns < TURNS_MAX);
		all = true;
		for (int r = 0; r < count; r++) {
			move(r, count);
			assert_int_equal(ROW->advance(apart_of(r), false, &moved, &failure),
			                 INA_OK);
			all = all && ROW->is_done(apart_of(r));
		}
	}
}

/* 16 bytes in each chunk: one message each. */
static void half_of_the_messages(void **state)
{
	static const uint64_t rings[] = {[INA_WHOLE] = 2, [INA_SCATTER] = 1, [INA_GATHER] = 1};
	struct ina_transfer transfers[RANKS_MAX];
	uint64_t until;

	(void)state;
	for (int count = 2; count <= 9; count++) {
		open_ranks(count, false);
		for (enum ina_part part = INA_WHOLE; part <= INA_GATHER; part++) {
			for (int r = 0; r < count; r++)
				transfers[r] =
				        (struct ina_transfer){.send = buffers[r].recv,
				                              .recv = buffers[r].recv,
				                              .total_bytes = (uint64_t)count * 16,
				                              .element_bytes = 4,
				                              .type = INA_INT32,
				                              .number_type = INA_INT32,
				                              .op = INA_SUM,
				                              .part = part};
			call_all(count, transfers);
			for (int r = 0; r < count; r++) {
				struct ina_stats stats = {0};

				ROW->end(apart_of(r), &stats, &until);
				assert_int_equal(stats.messages_ring,
				                 rings[part] * (uint64_t)(count - 1));
			}
		}
		close_ranks(count);
	}
}

/* In a whole ring, whichever rank sees it. */
static void all_hear_of_an_overflow(void **state)
{
	static int32_t values[RANKS_MAX][2 * RANKS_MAX];
	struct ina_transfer transfers[RANKS_MAX];
	struct ina_stats stats = {0};
	uint64_t until;

	(void)state;
	for (int count = 2; count <= 7; count++) {
		for (int element = 0; element < count; element++) {
			open_ranks(count, false);
			memset(values, 0, sizeof(values));
			for (int r = 0; r < count; r++) {
				values[r][element] = r < 2 ? INT32_MAX : 0;
				transfers[r] =
				        (struct ina_transfer){.send = (uint8_t *)values[r],
				                              .recv = (uint8_t *)values[r],
				                              .total_bytes = (uint64_t)count * 8,
				                              .element_bytes = 4,
				                              .type = INA_INT32,
				                              .number_type = INA_INT32,
				                              .op = INA_SUM};
			}
			call_all(count, transfers);
			for (int r = 0; r < count; r++) {
				assert_true(ROW->end(apart_of(r), &stats, &until));
				assert_int_equal(values[r][element], -2);
			}
			close_ranks(count);
		}
	}
}

static struct ina_transfer some_floats(int rank, uint64_t bytes)
{
	return (struct ina_transfer){.send = buffers[rank].recv,
	                             .recv = buffers[rank].recv,
	                             .total_bytes = bytes,
	                             .element_bytes = 4,
	                             .type = INA_FLOAT32,
	                             .number_type = INA_FLOAT32,
	                             .op = INA_SUM};
}

/* All have begun and are connected; no rank has received a message. */
static void begin_all(int count, const struct ina_transfer *transfers)
{
	struct ina_failure failure;
	bool moved;
	int turns = 0;

	for (int r = 0; r < count; r++)
		assert_int_equal(start(r, &transfers[r], &failure), INA_OK);
	for (bool all = false; !all;) {
		assert_true(++turns < TURNS_MAX);
		all = true;
		for (int r = 0; r < count; r++) {
			assert_int_equal(ROW->advance(apart_of(r), false, &moved, &failure),
			                 INA_OK);
			all = all && apart_of(r)->stage == INA_APART_OPEN;
			if (apart_of(r)->stage == INA_APART_CONNECTING)
				connect_to_successor(r, count);
		}
	}
	/* The successors' credits, and the messages that they allow. */
	for (int r = 0; r < count; r++)
		deliver(&ranks[r].rx[INA_PURPOSE_APART]);
	for (int r = 0; r < count; r++)
		assert_int_equal(ROW->advance(apart_of(r), false, &moved, &failure), INA_OK);
}

static void another_call_is_noticed(void **state)
{
	struct ina_failure failure = {INA_OK, ""};
	bool moved;

	(void)state;
	for (int what = 0; what < 4; what++) {
		struct ina_transfer transfers[2] = {some_floats(0, 64), some_floats(1, 64)};

		/* The length on the wire cannot show this, because the chunk of rank 0 has 8
		 * elements in both cases. */
		transfers[1].total_bytes -= what == 0 ? 4 : 0;
		transfers[1].number_type = what == 1 ? INA_WIRE_INT32 : INA_WIRE_FLOAT32;
		transfers[1].op = what == 2 ? INA_MAX : INA_SUM;
		transfers[1].mark = what == 3;
		open_ranks(2, false);
		begin_all(2, transfers);
		deliver(&ranks[0].tx[INA_PURPOSE_APART]);
		assert_int_equal(ROW->advance(apart_of(1), false, &moved, &failure),
		                 INA_ERR_MISMATCH);
		assert_non_null(strstr(failure.text, "rank 0"));
		close_ranks(2);
	}
}

/* A short call uses recursive doubling, which needs no ring. */
static void a_short_one_needs_no_ring(void **state)
{
	const struct ina_transfer shorts[2] = {some_floats(0, 16384), some_floats(1, 16384)};
	const struct ina_transfer longer = some_floats(0, 32772);
	struct ina_failure failure;

	(void)state;
	open_ranks(2, true);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(start(r, &shorts[r], &failure), INA_OK);
		assert_int_equal(ranks[r].partner.posted, 1);
		assert_int_equal(apart_of(r)->stage, INA_APART_CLOSED);
		assert_int_equal(ranks[r].control.phase, 0);
	}
	assert_int_equal(start(0, &longer, &failure), INA_OK);
	assert_int_equal(apart_of(0)->stage, INA_APART_GATHERING);
	close_ranks(2);
}

static void expect_timeout(int rank, const char *part)
{
	struct ina_failure failure = {INA_OK, ""};

	ROW->explain_timeout(apart_of(rank), 5, &failure);
	assert_int_equal(failure.status, INA_ERR_TIMEOUT);
	assert_non_null(strstr(failure.text, part));
}

/* Until all ranks have come, no rank connects; and a rank that waits says what it waits for. */
static void a_late_rank_is_waited_for(void **state)
{
	const struct ina_transfer transfers[3] = {some_floats(0, 96), some_floats(1, 96),
	                                          some_floats(2, 96)};
	struct ina_failure failure;
	bool moved;

	(void)state;
	open_ranks(3, false);
	for (int r = 0; r < 2; r++)
		assert_int_equal(start(r, &transfers[r], &failure), INA_OK);
	for (int i = 0; i < 10; i++) {
		for (int r = 0; r < 2; r++) {
			assert_int_equal(ROW->advance(apart_of(r), false, &moved, &failure),
			                 INA_OK);
			assert_false(ROW->is_done(apart_of(r)));
			assert_int_equal(apart_of(r)->stage, INA_APART_GATHERING);
		}
	}
	expect_timeout(0, "waiting for all ranks to enter the call");
	assert_int_equal(start(2, &transfers[2], &failure), INA_OK);
	for (int r = 0; r < 3; r++)
		assert_int_equal(ROW->advance(apart_of(r), false, &moved, &failure), INA_OK);
	assert_int_equal(apart_of(0)->stage, INA_APART_CONNECTING);
	expect_timeout(0, "connecting to its neighbours");
	close_ranks(3);

	open_ranks(3, false);
	begin_all(3, transfers);
	expect_timeout(1, "no message 0 of 8 from rank 0");
	close_ranks(3);
}

/* The engine handles a fault first, until rank 0 has sent the answer to all ranks. */
static void a_rank_that_ends_does_not_let_others_connect(void **state)
{
	const struct ina_transfer transfers[2] = {some_floats(0, 96), some_floats(1, 96)};
	struct ina_failure failure;
	bool moved;

	(void)state;
	open_ranks(3, false);
	for (int r = 0; r < 2; r++)
		assert_int_equal(start(r, &transfers[r], &failure), INA_OK);
	ina_control_close(&ranks[2].control);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ROW->advance(apart_of(1), false, &moved, &failure), INA_OK);
	assert_true(ina_disturbed(&ranks[1].control, &ranks[1].turn.current));
	for (int r = 0; r < 2; r++) {
		assert_int_equal(ROW->advance(apart_of(r), false, &moved, &failure), INA_ERR_PEER);
		assert_string_equal(failure.text, "rank 2 disconnected");
		assert_null(ranks[r].network.transport.connections[INA_PURPOSE_APART].tx);
	}
	close_ranks(3);
}

static void a_connection_that_cannot_be_made_is_a_fault(void **state)
{
	const struct ina_transfer transfers[2] = {some_floats(0, 64), some_floats(1, 64)};
	struct ina_failure failure;
	bool moved;

	(void)state;
	open_ranks(2, false);
	for (int r = 0; r < 2; r++)
		assert_int_equal(start(r, &transfers[r], &failure), INA_OK);
	assert_int_equal(ROW->advance(apart_of(0), false, &moved, &failure), INA_OK);
	assert_int_equal(apart_of(0)->stage, INA_APART_CONNECTING);
	ina_fail(&ranks[0].network.transport.attempt, INA_ERR_DEVICE, "rejected");
	assert_int_equal(ROW->advance(apart_of(0), false, &moved, &failure), INA_ERR_DEVICE);
	assert_string_equal(failure.text, "rejected");
	close_ranks(2);
}

/* The connection manager's default may be RoCE v1, which no switch sums. */
static void a_connection_of_roce_v1_is_a_fault(void **state)
{
	const struct ina_transfer transfers[2] = {some_floats(0, 64), some_floats(1, 64)};
	struct ina_failure failure;
	bool moved;

	(void)state;
	open_ranks(2, false);
	for (int r = 0; r < 2; r++)
		assert_int_equal(start(r, &transfers[r], &failure), INA_OK);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(ROW->advance(apart_of(r), false, &moved, &failure), INA_OK);
		assert_int_equal(apart_of(r)->stage, INA_APART_CONNECTING);
	}
	for (int r = 0; r < 2; r++)
		connect_to_successor(r, 2);
	fake.gid_type = IBV_GID_TYPE_ROCE_V1;
	assert_int_equal(ROW->advance(apart_of(0), false, &moved, &failure), INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "cma_roce_mode"));
	fake.gid_type = IBV_GID_TYPE_ROCE_V2;
	assert_int_equal(ROW->advance(apart_of(1), false, &moved, &failure), INA_OK);
	close_ranks(2);
}

/* This is not the loss of an aggregator: after INA_ERR_AGGREGATOR the ranks would recover. */
static void a_connection_that_breaks_is_a_fault(void **state)
{
	const struct ina_transfer transfers[2] = {some_floats(0, 64), some_floats(1, 64)};
	struct ina_failure failure;
	bool moved;

	(void)state;
	open_ranks(2, false);
	begin_all(2, transfers);
	complete(0, (struct ibv_wc){.wr_id = ranks[0].tx[INA_PURPOSE_APART].sends[0].id,
	                            .status = IBV_WC_RETRY_EXC_ERR});
	assert_int_equal(ROW->advance(apart_of(0), false, &moved, &failure), INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "rank 1"));
	close_ranks(2);
}

/* After that the device writes to no memory. */
static void an_abort_silences_all_connections(void **state)
{
	const struct ina_transfer transfers[2] = {some_floats(0, 64), some_floats(1, 64)};

	(void)state;
	open_ranks(2, false);
	begin_all(2, transfers);
	ROW->abort(apart_of(0));
	for (int p = 0; p < INA_PURPOSE_COUNT; p++) {
		assert_int_equal(ranks[0].tx[p].qp.state, IBV_QPS_ERR);
		assert_int_equal(ranks[0].rx[p].qp.state, IBV_QPS_ERR);
	}
	close_ranks(2);
}

int main(void)
{
	const char *given = getenv("INA_SEED");
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(any_number_of_ranks),
	        cmocka_unit_test(half_of_the_messages),
	        cmocka_unit_test(all_hear_of_an_overflow),
	        cmocka_unit_test(another_call_is_noticed),
	        cmocka_unit_test(a_short_one_needs_no_ring),
	        cmocka_unit_test(a_late_rank_is_waited_for),
	        cmocka_unit_test(a_rank_that_ends_does_not_let_others_connect),
	        cmocka_unit_test(a_connection_that_cannot_be_made_is_a_fault),
	        cmocka_unit_test(a_connection_of_roce_v1_is_a_fault),
	        cmocka_unit_test(a_connection_that_breaks_is_a_fault),
	        cmocka_unit_test(an_abort_silences_all_connections),
	};

	seed = given ? strtoull(given, NULL, 0) : 1;
	print_message("INA_SEED=%llu\n", (unsigned long long)seed);
	reference_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
