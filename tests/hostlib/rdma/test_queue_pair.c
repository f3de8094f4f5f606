/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue pair whose retries are used up, on a device that only writes down its calls. The numbers
 * of packets are counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hostlib/rdma/queue_pair.h"

#define PATH_MTU  1024
#define NUMBER    17
#define FIRST_PSN 0xFFFFFEu /* so that the numbers of packets wrap round */
#define LABEL     16385u

static struct ibv_context context;
static struct ibv_qp qp;
static struct rdma_cm_id id;
static struct ina_queue_pairs pairs;
static char told[600]; /* the calls of the device */
static int manager_errno;

static void tell(const char *format, ...)
{
	size_t length = strlen(told);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(told + length, sizeof(told) - length, format, arguments);
	va_end(arguments);
}

static int post_send(struct ibv_qp *to, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	assert_ptr_equal(to, &qp);
	(void)bad;
	for (; wr; wr = wr->next)
		tell("send %u of %u bytes; ", (unsigned int)wr->wr_id,
		     wr->num_sge > 0 ? wr->sg_list[0].length : 0);
	return 0;
}

static int post_recv(struct ibv_qp *to, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	assert_ptr_equal(to, &qp);
	(void)bad;
	tell("receive %u; ", (unsigned int)wr->wr_id);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *of, struct ibv_qp_attr *attributes, int mask)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	assert_ptr_equal(of, &qp);
	tell("%s", names[attributes->qp_state]);
	if (mask & IBV_QP_PATH_MTU)
		assert_int_equal(attributes->path_mtu, IBV_MTU_1024);
	if (mask & IBV_QP_AV)
		tell(" label %u", attributes->ah_attr.grh.flow_label);
	if (mask & IBV_QP_RQ_PSN)
		tell(" %u", attributes->rq_psn);
	if (mask & IBV_QP_SQ_PSN)
		tell(" %u", attributes->sq_psn);
	tell("; ");
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *of, struct ibv_qp_attr *attributes, int *mask)
{
	assert_ptr_equal(of, &id);
	errno = manager_errno;
	if (manager_errno != 0)
		return -1;
	if (attributes->qp_state == IBV_QPS_RTR)
		*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER;
	if (attributes->qp_state == IBV_QPS_RTS)
		*mask |= IBV_QP_SQ_PSN;
	attributes->rq_psn = attributes->sq_psn = FIRST_PSN;
	return 0;
}

static int open_pair(void **state)
{
	(void)state;
	context.ops.post_send = post_send;
	context.ops.post_recv = post_recv;
	qp = (struct ibv_qp){.context = &context, .qp_num = NUMBER};
	id = (struct rdma_cm_id){.qp = &qp};
	memset(&pairs, 0, sizeof(pairs));
	manager_errno = 0;
	told[0] = 0;
	return ina_queue_pair_add(&pairs, &id, 4, 3, LABEL, PATH_MTU);
}

static int close_pair(void **state)
{
	(void)state;
	ina_queue_pair_remove(&pairs, &qp);
	return pairs.count;
}

/* The lower half of the wr_id is the name of the request in this test. */
static int try_send(uint32_t name, uint32_t bytes)
{
	struct ibv_sge sge = {.length = bytes};
	struct ibv_send_wr request = {.wr_id = ina_work_id(INA_WORK_RING_SEND, name),
	                              .sg_list = &sge,
	                              .num_sge = bytes > 0};

	return ina_queue_pair_send(&qp, &request);
}

static int try_receive(uint32_t name)
{
	struct ibv_recv_wr request = {.wr_id = ina_work_id(INA_WORK_CREDIT_RECEIVE, name)};

	return ina_queue_pair_receive(&qp, &request);
}

static bool complete(enum ina_work work, uint32_t name, enum ibv_wc_status status, uint32_t bytes)
{
	struct ibv_wc wc = {.wr_id = ina_work_id(work, name),
	                    .status = status,
	                    .byte_len = bytes,
	                    .qp_num = NUMBER};

	return ina_queue_pairs_take(&pairs, &wc);
}

static bool sent(uint32_t name, enum ibv_wc_status status)
{
	return complete(INA_WORK_RING_SEND, name, status, 0);
}

static bool received(uint32_t name, enum ibv_wc_status status, uint32_t bytes)
{
	return complete(INA_WORK_CREDIT_RECEIVE, name, status, bytes);
}

static void post(void)
{
	assert_int_equal(try_receive(1), 0);
	assert_int_equal(try_receive(2), 0);
	assert_int_equal(try_send(1, 1025), 0); /* 2 packets */
	assert_int_equal(try_send(2, 1024), 0); /* 1 packet */
	assert_int_equal(try_send(3, 0), 0);    /* 1 packet */
	told[0] = 0;
}

/* The other end expects the first packet of send 3, and the other end's next packet is its fifth.
 */
static void it_goes_on_with_the_packets_that_it_had(void **state)
{
	(void)state;
	post();
	assert_false(sent(1, IBV_WC_SUCCESS));
	assert_false(sent(2, IBV_WC_SUCCESS));
	assert_false(received(1, IBV_WC_SUCCESS, 4096));
	assert_true(sent(3, IBV_WC_RETRY_EXC_ERR));
	assert_string_equal(told, "");
	assert_true(received(2, IBV_WC_WR_FLUSH_ERR, 0));
	assert_string_equal(told, "RESET; INIT; receive 2; RTR label 16385 2; RTS 1; "
	                          "send 3 of 0 bytes; ");
	/* And again. */
	told[0] = 0;
	assert_int_equal(try_send(4, 5000), 0);
	assert_false(sent(3, IBV_WC_SUCCESS));
	assert_true(received(2, IBV_WC_WR_FLUSH_ERR, 0));
	assert_true(sent(4, IBV_WC_RETRY_EXC_ERR));
	assert_string_equal(told, "send 4 of 5000 bytes; RESET; INIT; receive 2; "
	                          "RTR label 16385 2; RTS 2; send 4 of 5000 bytes; ");
}

/* A receive may still succeed after a send has failed, even as the last request. */
static void a_success_may_be_the_last(void **state)
{
	(void)state;
	post();
	assert_false(sent(1, IBV_WC_SUCCESS));
	assert_true(sent(2, IBV_WC_RETRY_EXC_ERR));
	assert_true(sent(3, IBV_WC_WR_FLUSH_ERR));
	assert_false(received(1, IBV_WC_SUCCESS, 4096));
	assert_string_equal(told, "");
	assert_false(received(2, IBV_WC_SUCCESS, 1));
	assert_string_equal(told, "RESET; INIT; RTR label 16385 3; RTS 0; "
	                          "send 2 of 1024 bytes; send 3 of 0 bytes; ");
}

/* They must not reach the device before those that were posted earlier. */
static void later_requests_wait(void **state)
{
	(void)state;
	post();
	assert_true(sent(1, IBV_WC_RETRY_EXC_ERR));
	assert_int_equal(try_send(4, 8), 0);
	assert_int_equal(try_receive(3), 0);
	assert_true(received(1, IBV_WC_WR_FLUSH_ERR, 0));
	assert_true(sent(2, IBV_WC_WR_FLUSH_ERR));
	assert_true(sent(3, IBV_WC_WR_FLUSH_ERR));
	assert_string_equal(told, "");
	assert_true(received(2, IBV_WC_WR_FLUSH_ERR, 0));
	assert_string_equal(told, "RESET; INIT; receive 1; receive 2; receive 3; "
	                          "RTR label 16385 16777214; RTS 16777214; "
	                          "send 1 of 1025 bytes; send 2 of 1024 bytes; send 3 of 0 bytes; "
	                          "send 4 of 8 bytes; ");
}

/* The device does not know of a receive that was posted when it had completed all others. */
static void a_late_receive_is_flushed_once(void **state)
{
	(void)state;
	post();
	ina_queue_pairs_flush(&pairs);
	assert_string_equal(told, "");
	assert_true(sent(1, IBV_WC_RETRY_EXC_ERR));
	ina_queue_pairs_flush(&pairs);
	ina_queue_pairs_flush(&pairs);
	assert_string_equal(told, "ERR; ");
}

static void there_is_room_for_what_the_queue_pair_has(void **state)
{
	(void)state;
	post();
	assert_int_equal(try_receive(3), 0);
	assert_int_equal(try_receive(4), ENOMEM);
	assert_int_equal(try_send(4, 8), 0);
	assert_int_equal(try_send(5, 8), ENOMEM);
	assert_false(sent(1, IBV_WC_SUCCESS));
	assert_int_equal(try_send(5, 8), 0);
}

/* Such as a message that is too long for its receive. */
static void another_error_is_the_end(void **state)
{
	(void)state;
	post();
	assert_false(sent(1, IBV_WC_REM_INV_REQ_ERR));
	assert_false(sent(2, IBV_WC_WR_FLUSH_ERR));
	assert_false(sent(3, IBV_WC_WR_FLUSH_ERR));
	assert_false(received(1, IBV_WC_WR_FLUSH_ERR, 0));
	assert_string_equal(told, "");
}

static void a_stopped_one_stays_so(void **state)
{
	(void)state;
	post();
	ina_queue_pair_stop(&qp);
	assert_false(sent(1, IBV_WC_WR_FLUSH_ERR));
	assert_false(received(1, IBV_WC_WR_FLUSH_ERR, 0));
	assert_string_equal(told, "ERR; ");
}

/* The other end has disconnected, for example. The caller gets the error. */
static void it_cannot_go_on_without_the_connection(void **state)
{
	struct ibv_wc last = {.wr_id = ina_work_id(INA_WORK_CREDIT_RECEIVE, 1),
	                      .status = IBV_WC_WR_FLUSH_ERR,
	                      .qp_num = NUMBER};

	(void)state;
	assert_int_equal(try_receive(1), 0);
	assert_int_equal(try_send(1, 8), 0);
	manager_errno = EINVAL;
	assert_true(sent(1, IBV_WC_RETRY_EXC_ERR));
	assert_false(ina_queue_pairs_take(&pairs, &last));
	assert_int_equal(last.status, IBV_WC_RETRY_EXC_ERR);
}

static void completions_of_other_queue_pairs_pass(void **state)
{
	struct ibv_wc other = {.status = IBV_WC_RETRY_EXC_ERR, .qp_num = NUMBER + 1};

	(void)state;
	assert_false(ina_queue_pairs_take(&pairs, &other));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(it_goes_on_with_the_packets_that_it_had),
	        TEST(a_success_may_be_the_last),
	        TEST(later_requests_wait),
	        TEST(a_late_receive_is_flushed_once),
	        TEST(there_is_room_for_what_the_queue_pair_has),
	        TEST(another_error_is_the_end),
	        TEST(a_stopped_one_stays_so),
	        TEST(it_cannot_go_on_without_the_connection),
	        TEST(completions_of_other_queue_pairs_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
