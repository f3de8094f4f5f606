/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap: rank 0 gathers, the others call it and wait for its welcome. */
#include "bootstrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/deadline.h"
#include "caller.h"
#include "gather.h"

/* Until rank 0 has let this rank in. */
static enum ina_status call_root(struct ina_caller *caller, const struct ina_settings *settings,
                                 int64_t deadline_ms, struct ina_failure *failure)
{
	int timeout_ms = settings->options.open_timeout_ms;
	char where[INA_ROOT_TEXT];

	for (;;) {
		struct pollfd fd;

		caller->frame.hello.patience_ms = (uint32_t)ina_left_ms(deadline_ms, timeout_ms);
		if (ina_caller_step(caller, failure) != INA_OK)
			return failure->status;
		if (caller->state == INA_CALLER_IN)
			return INA_OK;
		if (ina_now_ms() >= deadline_ms)
			break;
		fd = ina_caller_pollfd(caller);
		poll(&fd, 1, ina_left_ms(deadline_ms, INA_CALLER_PAUSE_MS));
	}
	ina_root_text(settings, where);
	return ina_fail(failure, INA_ERR_TIMEOUT,
	                "rank 0 could not be reached at %s within %d ms: %s", where, timeout_ms,
	                caller->why[0] ? caller->why : "no answer");
}

static enum ina_status reach_root(struct ina_link *link, const struct ina_settings *settings,
                                  const struct ina_control_frame *hello, int64_t deadline_ms,
                                  struct ina_failure *failure)
{
	struct ina_caller *caller = malloc(sizeof(*caller));

	if (!caller)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for the bootstrap");
	ina_caller_open(caller, &settings->job, hello, &settings->root, settings->root_ports,
	                settings->options.peer_timeout_ms);
	if (call_root(caller, settings, deadline_ms, failure) == INA_OK) {
		*link = caller->link;
		caller->link.fd = -1;
	}
	ina_caller_close(caller);
	free(caller);
	return failure->status;
}

static enum ina_status await_welcome(struct ina_link *link, const struct ina_settings *settings,
                                     int64_t deadline_ms, struct ina_failure *failure)
{
	char where[INA_ROOT_TEXT];

	ina_root_text(settings, where);
	for (;;) {
		struct pollfd fd = {.fd = link->fd, .events = POLLIN};
		enum ina_link_result result = ina_link_read(link);

		if (result == INA_LINK_FRAME && link->in.type == INA_CONTROL_WELCOME)
			return INA_OK;
		if (result == INA_LINK_CLOSED)
			return ina_fail(failure, INA_ERR_PEER,
			                "rank 0 at %s closed the connection during the bootstrap",
			                where);
		if (result != INA_LINK_NOTHING)
			return ina_fail(failure, INA_ERR_PEER,
			                "rank 0 at %s said something else than a welcome", where);
		if (ina_now_ms() >= deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT,
			                "rank 0 at %s did not answer within %d ms", where,
			                settings->options.open_timeout_ms);
		poll(&fd, 1, ina_left_ms(deadline_ms, 1000));
	}
}

static enum ina_status join_bootstrap(struct ina_control *control,
                                      const struct ina_settings *settings,
                                      const struct ina_endpoint *local, int64_t deadline_ms,
                                      struct ina_roster *roster, struct ina_failure *failure)
{
	const struct ina_options *options = &settings->options;
	struct ina_link *link = &control->peers[0].link;
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_HELLO);
	enum ina_status status;

	failure->status = INA_OK;
	frame.hello = (struct ina_hello){
	        .ranks = (uint32_t)options->ranks,
	        .window = options->window,
	        .message_bytes = options->message_bytes,
	        .algorithm = options->algorithm,
	        .fixed_point = options->fixed_point != 0,
	        .schedule = options->schedule,
	        .endpoint = *local,
	};
	status = reach_root(link, settings, &frame, deadline_ms, failure);
	if (status != INA_OK)
		return status;
	/* Longer than rank 0 itself waits: it knows better who is missing. */
	status = await_welcome(link, settings, deadline_ms + INA_GATHER_GRACE_MS, failure);
	if (status != INA_OK)
		return status;
	if (link->in.welcome.status != INA_OK)
		return ina_fail(failure, link->in.welcome.status, "%s", link->in.welcome.text);
	roster->job_id = link->in.welcome.job_id;
	memcpy(roster->endpoints, link->in.welcome.endpoints, sizeof(roster->endpoints));
	return INA_OK;
}

enum ina_status ina_bootstrap(struct ina_control *control, const struct ina_settings *settings,
                              const struct ina_endpoint *local, int64_t deadline_ms,
                              struct ina_roster *roster, struct ina_failure *failure)
{
	memset(roster, 0, sizeof(*roster));
	if (control->rank == 0) {
		roster->endpoints[0] = *local;
		return ina_gather(control, settings, deadline_ms, roster, failure);
	}
	return join_bootstrap(control, settings, local, deadline_ms, roster, failure);
}
