/* SPDX-License-Identifier: Apache-2.0 */
/* The agreements of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>

#include "common/deadline.h"
#include "hostlib/control/agreement.h"

#define RANKS 3

/* The vote of a rank other than 0 in the next agreement. */
struct voter {
	bool has_voted;
	uint32_t value;
	enum ina_status status;
};

static void vote_for(struct ina_control *control, int rank, const struct voter *voter)
{
	struct ina_value value = {.value = voter->value,
	                          .rank = voter->status == INA_OK ? (uint32_t)rank : UINT32_MAX};
	struct ina_votes votes = {.phase = control->phase, .least = value, .most = value};

	if (!voter->has_voted)
		return;
	ina_ranks_add(&votes.voted, rank);
	votes.status = voter->status;
	votes.failed_rank = (uint32_t)rank;
	ina_control_take_votes(control, &votes);
}

/* Rank 0's agreement on the path MTU. */
static void agreed(struct ina_control *control, const struct voter *voters, uint32_t mtu,
                   struct ina_failure *failed, enum ina_status status, const char *words)
{
	const struct ina_vote vote = {.what = "path MTU",
	                              .doing = "connect",
	                              .must_equal = true,
	                              .value = mtu,
	                              .failed = failed};
	struct ina_failure failure = {INA_OK, ""};
	uint32_t minimum;

	ina_agree_begin(control, &vote);
	for (int r = 1; r < RANKS; r++)
		vote_for(control, r, &voters[r]);
	assert_int_equal(ina_agree_poll(control, &vote, 0, &minimum, &failure),
	                 status == INA_OK ? INA_AGREED : INA_NOT_AGREED);
	assert_int_equal(failure.status, status);
	if (!strstr(failure.text, words))
		fail_msg("\"%s\" does not say \"%s\"", failure.text, words);
}

static void gone_while_connecting(void **state)
{
	struct voter voters[RANKS] = {{0}, {true, 1024, INA_OK}, {true, 1024, INA_OK}};
	struct ina_failure none = {INA_OK, ""};
	struct ina_failure failed = {INA_ERR_DEVICE, "connecting failed"};
	struct ina_control control;

	(void)state;
	ina_control_init(&control, 0, RANKS);
	agreed(&control, voters, 1024, &none, INA_OK, "");
	agreed(&control, voters, 4096, &none, INA_ERR_MISMATCH,
	       "rank 1 has path MTU 1024, rank 0 has 4096");
	/* Rank 0 has no value to compare: its own failure is the reason. */
	agreed(&control, voters, 0, &failed, INA_ERR_DEVICE, "rank 0: connecting failed");
	/* Rank 1 has given up because another rank has. */
	voters[1].status = INA_ERR_PEER;
	voters[2].status = INA_ERR_MEMORY;
	agreed(&control, voters, 1024, &none, INA_ERR_MEMORY, "rank 2: ");
	/* The others failed because rank 2 has died. */
	voters[1].status = INA_ERR_DEVICE;
	voters[2].status = INA_OK;
	agreed(&control, voters, 0, &failed, INA_ERR_DEVICE, "rank 1: ");
	voters[2].has_voted = false;
	ina_ranks_add(&control.gone, 2);
	agreed(&control, voters, 0, &failed, INA_ERR_PEER, "rank 2 disconnected");
	ina_control_close(&control);
}

/* Ranks 0 and 1, with a connection between them. */
static void meet(struct ina_control *two)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	for (int r = 0; r < 2; r++) {
		ina_control_init(&two[r], r, 2);
		ina_control_link(&two[r], 1 - r)->fd = fds[r];
	}
}

static enum ina_agreement poll_once(struct ina_control *control, const struct ina_vote *vote,
                                    uint32_t *minimum)
{
	struct ina_failure failure;

	return ina_agree_poll(control, vote, ina_now_ms() + 5000, minimum, &failure);
}

/*
 * Rank 0 ends one agreement and fails the next, before rank 1 looks at either. Each of them also
 * ends separately at rank 1.
 */
static void two_decisions_at_once(void **state)
{
	struct ina_failure none = {INA_OK, ""};
	struct ina_failure failed = {INA_ERR_AGGREGATOR, "the aggregator refused this rank"};
	const struct ina_vote good = {.what = "", .doing = "vote", .value = 3, .failed = &none};
	const struct ina_vote bad = {.what = "", .doing = "vote", .value = 3, .failed = &failed};
	struct ina_control two[2];
	uint32_t minimum = 0;

	(void)state;
	meet(two);
	ina_agree_begin(&two[1], &good);
	ina_agree_begin(&two[0], &good);
	assert_int_equal(poll_once(&two[0], &good, &minimum), INA_AGREED);
	ina_agree_begin(&two[0], &bad);
	assert_int_equal(poll_once(&two[0], &bad, &minimum), INA_NOT_AGREED);

	assert_int_equal(poll_once(&two[1], &good, &minimum), INA_AGREED);
	assert_int_equal(minimum, 3);
	assert_true(ina_agree_has_failed(&two[1]));
	ina_agree_begin(&two[1], &good);
	assert_int_equal(poll_once(&two[1], &good, &minimum), INA_NOT_AGREED);

	/* And the next one is separate again. */
	assert_false(ina_agree_has_failed(&two[1]));
	ina_agree_begin(&two[0], &good);
	assert_int_equal(poll_once(&two[0], &good, &minimum), INA_PENDING);
	ina_agree_begin(&two[1], &good);
	assert_int_equal(poll_once(&two[1], &good, &minimum), INA_PENDING);
	assert_int_equal(poll_once(&two[0], &good, &minimum), INA_AGREED);
	assert_int_equal(poll_once(&two[1], &good, &minimum), INA_AGREED);
	for (int r = 0; r < 2; r++)
		ina_control_close(&two[r]);
}

static struct ina_call allreduce(uint64_t number)
{
	return (struct ina_call){.number = number,
	                         .count = 10,
	                         .kind = INA_CALL_ALLREDUCE,
	                         .type = INA_INT32,
	                         .op = INA_SUM};
}

/* A child of rank 0 in all-reduce `number`; `all`: and its whole subtree. */
/* The program stops the opening at one of the ranks. Only the others get that rank's number. */
static void a_rank_that_is_stopped_waits_no_longer(void **state)
{
	const char *const texts[2][2] = {
	        {"rank 0: the program stopped the opening",
	         "rank 0: the program stopped the opening"},
	        {"rank 1 disconnected", "the program stopped the opening"},
	};
	const struct ina_vote vote = {
	        .what = "", .doing = "vote", .failed = &(struct ina_failure){INA_OK, ""}};

	(void)state;
	for (int r = 0; r < 2; r++) {
		const int64_t end_ms = ina_now_ms() + 5000;
		struct ina_failure failures[2] = {{INA_OK, ""}, {INA_OK, ""}};
		atomic_bool stop = true;
		struct ina_control two[2];
		uint32_t least = 0;

		meet(two);
		two[r].stop = &stop;
		assert_true(ina_open_failed_elsewhere(&two[r], &failures[r]));
		assert_int_equal(failures[r].status, INA_ERR_ABORTED);
		ina_agree_begin(&two[r], &vote);
		assert_int_equal(ina_agree_poll(&two[r], &vote, end_ms, &least, &failures[r]),
		                 INA_NOT_AGREED);
		assert_int_equal(failures[r].status, INA_ERR_ABORTED);
		if (r == 1)
			ina_control_close(&two[1]);
		ina_agree_begin(&two[1 - r], &vote);
		two[1 - r].votes.voted = (struct ina_ranks){{0}}; /* rank 1's vote was lost */
		assert_int_equal(
		        ina_agree_poll(&two[1 - r], &vote, end_ms, &least, &failures[1 - r]),
		        INA_NOT_AGREED);
		for (int i = 0; i < 2; i++)
			assert_string_equal(failures[i].text, texts[r][i]);
		for (int i = 0; i < 2; i++)
			ina_control_close(&two[i]);
	}
}

static void stalled_in(struct ina_control *control, int child, uint64_t number, bool all)
{
	for (int i = 0; i < control->count; i++) {
		if (control->neighbours[i].rank == child)
			control->neighbours[i].stall =
			        (struct ina_stall){.call = allreduce(number), .is_all = all};
	}
}

/* Whichever all-reduce each rank is in, all have contributed to the sums of the earliest one. */
static void all_are_stalled(void **state)
{
	struct ina_control control;

	(void)state;
	ina_control_init(&control, 0, 6); /* 1, 2, 4: 5 is a child of 4 */
	stalled_in(&control, 1, 5, true);
	stalled_in(&control, 2, 5, true);
	assert_false(ina_all_stalled(&control)); /* one rank has not reported it */
	stalled_in(&control, 4, 4, true);
	assert_true(ina_all_stalled(&control));
	stalled_in(&control, 4, 7, true);
	assert_true(ina_all_stalled(&control));
	stalled_in(&control, 4, 7, false); /* rank 5 has continued, and may be outside the
	                                    * library */
	assert_false(ina_all_stalled(&control));
	ina_control_close(&control);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(gone_while_connecting),
	        cmocka_unit_test(two_decisions_at_once),
	        cmocka_unit_test(a_rank_that_is_stopped_waits_no_longer),
	        cmocka_unit_test(all_are_stalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
