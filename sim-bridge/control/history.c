/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	LINES_A_SECOND = 20,
	/* Hosts repeat a refused JOIN; the same refusal is not told again within this time. */
	REPEAT_S = 10,
};

#define SECOND_NS UINT64_C(1000000000)

const char *history_reason(enum report_reason reason)
{
	static const char *const texts[] = {
#define X(name, text) [REPORT_##name] = text,
	        REPORT_REASONS(X)
#undef X
	};

	return texts[reason];
}

static const struct history_event *event_at(const struct history *history, uint64_t number)
{
	return &history->events[number % HISTORY_EVENTS];
}

static uint64_t oldest(const struct history *history)
{
	return history->count > HISTORY_EVENTS ? history->count - HISTORY_EVENTS : 0;
}

const struct history_event *history_find(const struct history *history, enum report_kind kind,
                                         uint64_t job_id)
{
	for (uint64_t at = history->count; at-- > oldest(history);) {
		const struct history_event *one = event_at(history, at);

		if (one->event.kind == kind && (!job_id || one->event.job_id == job_id))
			return one;
	}
	return NULL;
}

static unsigned find_job(const struct history *history, unsigned number, uint64_t job_id)
{
	unsigned at = 0;

	while (at < HISTORY_JOBS &&
	       !(history->jobs[at].begin_ns && history->jobs[at].number == number &&
	         history->jobs[at].job_id == job_id))
		at++;
	return at;
}

uint64_t history_begin(const struct history *history, unsigned number, uint64_t job_id)
{
	const unsigned at = find_job(history, number, job_id);

	return at < HISTORY_JOBS ? history->jobs[at].begin_ns : 0;
}

/* Takes a free entry, or that of the oldest job. A reset of the aggregator ends jobs silently. */
static void begin_job(struct history *history, const struct bridge *bridge, uint64_t job_id)
{
	unsigned place = find_job(history, bridge->number, job_id);

	if (place == HISTORY_JOBS) {
		place = 0;
		for (unsigned at = 1; at < HISTORY_JOBS; at++)
			if (history->jobs[at].begin_ns < history->jobs[place].begin_ns)
				place = at;
	}
	history->jobs[place].job_id = job_id;
	history->jobs[place].number = bridge->number;
	history->jobs[place].begin_ns = bridge->time_ns ? bridge->time_ns : 1;
}

static void end_job(struct history *history, unsigned number, uint64_t job_id)
{
	const unsigned at = find_job(history, number, job_id);

	if (at < HISTORY_JOBS)
		history->jobs[at].begin_ns = 0;
}

/* Prints a line about a job, unless there were too many lines in this second. */
__attribute__((format(printf, 4, 5))) static void print(struct history *history,
                                                        const struct bridge *bridge,
                                                        uint64_t job_id, const char *format, ...)
{
	const struct topology *topology = bridge->network->routes->topology;
	va_list arguments;

	if (bridge->time_ns / SECOND_NS != history->second) {
		if (history->lines > LINES_A_SECOND)
			fprintf(stderr, "ina-bridge: %u more events of jobs\n",
			        history->lines - LINES_A_SECOND);
		history->second = bridge->time_ns / SECOND_NS;
		history->lines = 0;
	}
	if (++history->lines > LINES_A_SECOND)
		return;
	fprintf(stderr, "ina-bridge: ");
	if (topology->switch_count > 1)
		fprintf(stderr, "switch '%s': ", topology->switches[bridge->number].name);
	fprintf(stderr, "job 0x%016" PRIx64 ": ", job_id);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

static void print_joined(struct history *history, const struct bridge *bridge,
                         const struct report_event *event)
{
	struct report_job job;

	if (!bridge_find_job(bridge, event->job_id, &job) || job.members[event->port].is_down)
		return;
	if (job.joined_count == 1)
		print(history, bridge, event->job_id,
		      "admitted, with a JOIN of rank %u at port %u; it has %u ranks",
		      job.members[event->port].rank, event->port, job.rank_count);
	if (job.joined_count == job.child_count)
		print(history, bridge, event->job_id, "complete: all have joined; window %u",
		      job.window_packets);
}

static void print_ended(struct history *history, const struct bridge *bridge,
                        const struct report_event *event)
{
	const uint64_t begin_ns = history_begin(history, bridge->number, event->job_id);
	struct report_job job = {0};

	bridge_find_job(bridge, event->job_id, &job);
	print(history, bridge, event->job_id, "ended after %.1f s and %" PRIu64 " summed packets",
	      begin_ns ? (double)(bridge->time_ns - begin_ns) * 1e-9 : 0., job.packets);
}

static void print_broken(struct history *history, const struct bridge *bridge,
                         const struct report_event *event)
{
	char port[24] = "", bytes[48] = "";

	if (event->port != REPORT_NO_PORT)
		snprintf(port, sizeof(port), " (port %u)", event->port);
	if (event->reason == REPORT_LENGTHS)
		snprintf(bytes, sizeof(bytes), ": %u and %u bytes", event->bytes[0],
		         event->bytes[1]);
	print(history, bridge, event->job_id,
	      "broken, its hosts continue without the switch: %s%s%s",
	      history_reason(event->reason), bytes, port);
}

static void print_event(struct history *history, const struct bridge *bridge,
                        const struct report_event *event)
{
	switch (event->kind) {
	case REPORT_JOINED:
		print_joined(history, bridge, event);
		break;
	case REPORT_REFUSED:
	case REPORT_HELD:
		print(history, bridge, event->job_id, "JOIN at port %u %s: %s", event->port,
		      event->kind == REPORT_HELD ? "put off" : "refused",
		      history_reason(event->reason));
		break;
	case REPORT_BROKEN:
		print_broken(history, bridge, event);
		break;
	case REPORT_EXPIRED:
		print(history, bridge, event->job_id, "expired: %s", history_reason(event->reason));
		break;
	case REPORT_ENDED:
		print_ended(history, bridge, event);
		break;
	}
}

/* True if hosts ask again and get the same answer. */
static bool is_repeated(const struct history *history, const struct history_event *now)
{
	if (now->event.kind != REPORT_REFUSED && now->event.kind != REPORT_HELD)
		return false;
	for (uint64_t at = history->count; at-- > oldest(history);) {
		const struct history_event *one = event_at(history, at);

		if (now->time_ns - one->time_ns > REPEAT_S * SECOND_NS)
			return false;
		if (one->number == now->number && one->event.kind == now->event.kind &&
		    one->event.job_id == now->event.job_id &&
		    one->event.reason == now->event.reason)
			return true;
	}
	return false;
}

void history_tell(void *context, const struct bridge *bridge, const struct report_event *event)
{
	struct history *history = context;
	const struct history_event now = {bridge->time_ns, bridge->number, *event};
	struct report_job job;

	if (is_repeated(history, &now))
		return;
	if (event->kind == REPORT_JOINED && bridge_find_job(bridge, event->job_id, &job) &&
	    job.joined_count == 1)
		begin_job(history, bridge, event->job_id);
	if (history->has_log)
		print_event(history, bridge, event);
	if (event->kind == REPORT_ENDED)
		end_job(history, bridge->number, event->job_id);
	history->events[history->count++ % HISTORY_EVENTS] = now;
}
