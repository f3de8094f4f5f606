/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes a communicator: waits until all ranks call ina_close(), ends the flows with LEAVE, and
 * frees everything.
 */
#include <stdlib.h>
#include <unistd.h>

#include "common/deadline.h"
#include "communicator.h"
#include "fork.h"
#include "hostlib/channels/channels.h"
#include "hostlib/machine/parallel.h"

#define LEAVE_TIMEOUT_MS 5000
#define TICK_MS          200

static void begin_close(struct ina_comm *comm)
{
	comm->turn.previous = comm->turn.current;
	comm->turn.current = (struct ina_call){
	        .kind = INA_CALL_CLOSE,
	        .number = comm->turn.previous.number,
	};
}

/* Recovers, because another rank may need this one to get its last sums. */
static void help(struct ina_comm *comm)
{
	ina_comm_fault(comm, NULL);
	while (ina_comm_is_recovering(comm))
		ina_comm_recover(comm, INA_LOOK_MS);
}

/*
 * Waits for the other ranks, for a moment. Errors of connections no longer matter, but a rank may
 * still need this one's last messages, on a queue pair whose retries are used up.
 */
static void attend(struct ina_comm *comm)
{
	struct ina_failure ignored;
	int count;

	if (comm->parallel) {
		ina_parallel_attend(comm->parallel, INA_LOOK_MS);
	} else if (comm->channels) {
		ina_channels_attend(comm->channels, INA_LOOK_MS);
	} else {
		ina_completions_poll(&comm->network.completions, &count, &ignored);
		ina_control_pump(&comm->control, TICK_MS);
	}
}

/* Waits until all ranks have called ina_close(). */
static enum ina_status await_all(struct ina_comm *comm, struct ina_failure *failure)
{
	int timeout_ms = comm->settings.options.timeout_ms;
	int64_t deadline_ms = ina_now_ms() + timeout_ms;
	struct ina_failure none = {INA_OK, ""};
	uint32_t value = 0;
	const struct ina_vote vote = {
	        .what = "",
	        .doing = "call ina_close",
	        .call = comm->turn.current,
	        .failed = &none,
	};

	ina_agree_begin(&comm->control, &vote);
	for (;;) {
		switch (ina_agree_poll(&comm->control, &vote, deadline_ms, &value, failure)) {
		case INA_AGREED:
			return INA_OK;
		case INA_NOT_AGREED:
			return failure->status;
		case INA_DISTURBED:
			help(comm);
			if (comm->failure.status != INA_OK) {
				*failure = comm->failure;
				return failure->status;
			}
			/* repeat the same agreement */
			comm->control.phase--;
			deadline_ms = ina_now_ms() + timeout_ms;
			ina_agree_begin(&comm->control, &vote);
			break;
		case INA_PENDING:
			if (ina_comm_take_abort(comm)) {
				*failure = comm->failure;
				return failure->status;
			}
			attend(comm);
			break;
		}
	}
}

/* Ends the flows, and waits until all ranks have left. */
static void leave(struct ina_comm *comm, struct ina_failure *failure)
{
	uint32_t value = 0;

	if (ina_comm_is_aggregated(comm))
		ina_network_leave(&comm->network, LEAVE_TIMEOUT_MS);
	ina_agree_on(&comm->control, "", "leave", false, &value,
	             ina_now_ms() + 2 * LEAVE_TIMEOUT_MS, failure);
}

/*
 * All ranks close the strands in the same order, because they wait for each other in each strand.
 */
static void close_strands(struct ina_comm *comm, struct ina_failure *failure)
{
	for (int i = 0; i < comm->strands.count; i++) {
		struct ina_comm *strand = comm->strands.comms[i];
		struct ina_failure own = {INA_OK, ""};
		bool is_fine = comm->failure.status == INA_OK && failure->status == INA_OK &&
		               strand->failure.status == INA_OK;

		if (comm->channels && is_fine)
			ina_channels_finish(comm->channels, i);
		else if (comm->channels)
			ina_steps_drop(comm->channels);
		if (strand->failure.status == INA_OK)
			strand->failure = comm->failure.status != INA_OK ? comm->failure : *failure;
		ina_comm_close(strand, &own);
		free(strand);
		if (failure->status == INA_OK && comm->failure.status == INA_OK)
			*failure = own;
	}
	comm->strands.count = 0;
}

static void close_parallel(struct ina_comm *comm)
{
	ina_local_close(&comm->parallel->local);
	ina_intra_close(&comm->parallel->intra);
	free(comm->parallel);
	comm->parallel = NULL;
}

enum ina_status ina_comm_close(struct ina_comm *comm, struct ina_failure *failure)
{
	bool is_open = comm->failure.status == INA_OK && comm->algorithm && comm->ranks > 1;

	failure->status = INA_OK;
	if (is_open) {
		begin_close(comm);
		if (await_all(comm, failure) == INA_OK && !comm->parallel && !comm->channels)
			leave(comm, failure);
	}
	ina_fork_forget(comm);
	close_strands(comm, failure);
	if (comm->parallel)
		close_parallel(comm);
	free(comm->channels);
	comm->channels = NULL;
	/*
	 * If the communicator had failed before, the other ranks have been informed, or the end of
	 * its connections without a farewell informs them.
	 */
	if (comm->failure.status == INA_OK && comm->control.count > 0) {
		ina_control_farewell(&comm->control, failure);
		if (failure->status == INA_OK)
			ina_control_await_farewells(&comm->control);
	}
	ina_network_close(&comm->network);
	ina_control_close(&comm->control);
	ina_requests_free(comm);
	return failure->status;
}
