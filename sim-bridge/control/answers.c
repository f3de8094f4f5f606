/* SPDX-License-Identifier: Apache-2.0 */
/* One function makes each answer. */
#include "answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/headers.h"
#include "common/parse.h"
#include "protocol.h"
#include "why.h"

enum { MACS_A_PORT = 8 };

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *macs_of(const struct fabric *fabric, unsigned host)
{
	json_t *macs = json_array();

	for (unsigned i = 0; i < FORWARDING_SLOTS; i++) {
		const uint64_t mac = fabric->hosts.slots[i].mac;
		uint8_t b[sizeof(mac)];
		char text[18];

		if (!mac || fabric->hosts.slots[i].port != (int)host ||
		    json_array_size(macs) == MACS_A_PORT)
			continue;
		memcpy(b, &mac, sizeof(b));
		snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2],
		         b[3], b[4], b[5]);
		json_array_append_new(macs, json_string(text));
	}
	return macs;
}

static uint64_t dropped(const struct port_counts *counts)
{
	uint64_t sum = 0;

#define X(name, meaning) sum += strncmp(#name, "dropped_", 8) ? 0 : counts->name;
	PORT_COUNTS(X)
#undef X
	return sum;
}

static json_t *port_answer(const struct view *view, unsigned host)
{
	const struct port *port = &view->ports[host];
	const struct host_sights *seen = &view->fabric->sights.hosts[host];
	const struct topology *topology = view->fabric->topology;
	char address[VIEW_ADDRESS_BYTES];

	return json_pack("{si ss ss ss sI so ss so so so so so so}", "port", (int)host, "name",
	                 port->name, "switch", topology->switches[topology->host_switch[host]].name,
	                 "link",
	                 !port->is_open ? "closed"
	                 : port->is_up  ? "up"
	                                : "down",
	                 "mtu", (json_int_t)port->mtu, "macs", macs_of(view->fabric, host),
	                 "address", view_address(seen->address.ip, seen->address.bytes, address),
	                 "rx_frames", number(port->counts.rx_frames), "tx_frames",
	                 number(port->counts.tx_frames), "roce_frames", number(seen->roce.frames),
	                 "marked_sends", number(seen->marked.frames), "unmarked_sends",
	                 number(seen->sends.frames), "dropped", number(dropped(&port->counts)));
}

static json_t *ports_answer(const struct view *view)
{
	json_t *list = json_array();

	for (unsigned host = 0; host < view->fabric->topology->host_count; host++)
		json_array_append_new(list, port_answer(view, host));
	return list;
}

static json_t *member_answer(const struct view *view, const struct bridge *bridge,
                             const struct report_member *member, unsigned port)
{
	const enum ip_version ip = !member->key.source_port ? IP_NONE
	                           : member->key.is_ipv6    ? IP_V6
	                                                    : IP_V4;
	const int host = view_host(view, bridge->number, port);
	char address[VIEW_ADDRESS_BYTES];

	return json_pack("{so ss si ss si sb sb}", "rank", number(member->rank), "address",
	                 view_address(ip, member->key.source_ip, address), "port", (int)port,
	                 "name", host < 0 ? "" : view->ports[host].name, "waiting_packets",
	                 (int)member->waiting_packets, "from_above", (int)member->is_down, "left",
	                 (int)member->left);
}

static bool has_joined(const struct report_job *job, unsigned rank)
{
	for (unsigned port = 0; port < REPORT_PORTS_MAX; port++)
		if (job->members[port].joined && job->members[port].rank == rank)
			return true;
	return false;
}

/*
 * The ranks that the others wait for: those whose JOIN is missing, or whose packet is. If a child
 * is a switch, the ranks below it are not known.
 */
static json_t *late_ranks(const struct report_job *job, const char *state)
{
	json_t *ranks = json_array();

	if (!strcmp(state, "joining") && job->child_count == job->rank_count)
		for (unsigned rank = 0; rank < job->rank_count; rank++)
			if (!has_joined(job, rank))
				json_array_append_new(ranks, number(rank));
	for (unsigned port = 0; port < REPORT_PORTS_MAX && !strcmp(state, "waiting"); port++) {
		const struct report_member *member = &job->members[port];

		if (member->joined && !member->waiting_packets && !member->is_down)
			json_array_append_new(ranks, number(member->rank));
	}
	return ranks;
}

/* A job waits only if some rank's packets wait. */
static const char *state_of(const struct report_job *job)
{
	if (job->is_ending)
		return "ending";
	if (job->is_broken)
		return "broken";
	if (job->joined_count < job->child_count)
		return "joining";
	if (view_has_waiting(job))
		return "waiting";
	return job->above_packets ? "above" : "idle";
}

static json_t *job_answer(const struct view *view, const struct bridge *bridge,
                          const struct report_job *job, uint64_t time_ns)
{
	const uint64_t begin_ns = history_begin(view->history, bridge->number, job->job_id);
	const char *state = state_of(job);
	json_t *members = json_array();
	char id[20];

	for (unsigned port = 0; port < REPORT_PORTS_MAX; port++)
		if (job->members[port].joined)
			json_array_append_new(
			        members, member_answer(view, bridge, &job->members[port], port));
	snprintf(id, sizeof(id), "0x%016" PRIx64, job->job_id);
	return json_pack("{ss ss ss si si si si so sf si si so so}", "job", id, "switch",
	                 view->fabric->topology->switches[bridge->number].name, "state", state,
	                 "ranks", (int)job->rank_count, "children", (int)job->child_count, "joined",
	                 (int)job->joined_count, "window", (int)job->window_packets, "packets",
	                 number(job->packets), "age_s",
	                 begin_ns ? (double)(time_ns - begin_ns) * 1e-9 : 0., "priority",
	                 job->tag >> 13, "vlan", job->tag & PACKET_VLAN_ID_MASK, "members", members,
	                 "waits_for", late_ranks(job, state));
}

static json_t *error(const char *text)
{
	return json_pack("{si ss}", "version", CONTROL_VERSION, "error", text);
}

/* Returns whether all aggregators tell of their jobs; otherwise `reason` says which one does not.
 */
static bool has_jobs(const struct view *view, const char **reason)
{
	bool has_engine = false;

	*reason = NULL;
	for (unsigned i = 0; i < view->fabric->topology->switch_count; i++) {
		const struct engine *engine = view->fabric->bridges[i].engine;

		has_engine |= engine != NULL;
		if (engine && !engine->operations->read_job)
			*reason = "the RTL does not tell of its jobs: use --aggregator model, or "
			          "ask for contexts or counters";
	}
	if (!has_engine)
		*reason = "there is no aggregator (--aggregator off)";
	return !*reason;
}

static json_t *jobs_answer(const struct view *view, uint64_t time_ns)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < view->fabric->topology->switch_count; i++) {
		const struct bridge *bridge = &view->fabric->bridges[i];
		const struct engine *engine = bridge->engine;
		struct report_job job;

		for (unsigned index = 0; engine && index < engine->jobs; index++)
			if (engine->operations->read_job(engine, index, &job))
				json_array_append_new(list,
				                      job_answer(view, bridge, &job, time_ns));
	}
	return list;
}

static unsigned contexts_in_use(const struct engine *engine, const struct ina_counters *counters)
{
	struct report_job job;
	unsigned used = 0;

	if (!engine->operations->read_job)
		return (unsigned)(counters->jobs_opened - counters->jobs_closed);
	for (unsigned i = 0; i < engine->jobs; i++)
		used += engine->operations->read_job(engine, i, &job);
	return used;
}

/* Returns a quota's value, if 0 or a value beyond `most` stands for `most`. */
static unsigned quota_of(uint64_t quota, unsigned most)
{
	return quota && quota < most ? (unsigned)quota : most;
}

static json_t *contexts_answer(const struct view *view)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < view->fabric->topology->switch_count; i++) {
		const struct bridge *bridge = &view->fabric->bridges[i];
		const struct engine *engine = bridge->engine;
		struct ina_counters counters = {0};
		unsigned used = 0, jobs = 0;

		if (engine) {
			engine->operations->read_counters(engine, &counters);
			used = contexts_in_use(engine, &counters);
			jobs = engine->jobs;
		}
		json_array_append_new(
		        list,
		        json_pack("{ss ss si si si si si sb so so so}", "switch",
		                  view->fabric->topology->switches[i].name, "aggregator",
		                  engine ? engine->operations->kind : "off", "contexts", (int)jobs,
		                  "used", (int)used, "free", (int)(jobs - used), "port_quota",
		                  (int)quota_of(bridge->config.quota, jobs > 1 ? jobs - 1 : jobs),
		                  "vlan_quota", (int)quota_of(bridge->config.vlan_quota, jobs),
		                  "draining", (int)view->fabric->network.is_draining,
		                  "joins_refused", number(counters.joins_refused), "joins_held",
		                  number(counters.joins_held), "contexts_lacked",
		                  number(counters.contexts_lacked)));
	}
	return list;
}

static json_t *drain_answer(const struct view *view, const json_t *request)
{
	const json_t *on = json_object_get(request, "on");

	if (!json_is_boolean(on))
		return NULL;
	view->fabric->network.is_draining = json_is_true(on);
	return json_boolean(json_is_true(on));
}

/* Returns the number of contexts that the job has lost, or -1 if the request has no job. */
static int forget(const struct view *view, const json_t *request)
{
	const char *text = json_string_value(json_object_get(request, "job"));
	uint64_t job_id = 0;
	int count = 0;

	if (!text || !ina_parse_whole(text, 0, UINT64_MAX, &job_id))
		return -1;
	for (unsigned i = 0; i < view->fabric->topology->switch_count; i++) {
		struct engine *engine = view->fabric->bridges[i].engine;

		count += engine && engine->operations->forget(engine, job_id);
	}
	return count;
}

/* Returns the answer to a request that needs jobs, or an error. */
static json_t *with_jobs(const struct view *view, const char *ask, const json_t *request,
                         uint64_t time_ns, const char **reason)
{
	if (!has_jobs(view, reason))
		return NULL;
	if (!strcmp(ask, "jobs"))
		return jobs_answer(view, time_ns);
	if (!strcmp(ask, "drain")) {
		*reason = "a request to drain has \"on\": true or false";
		return drain_answer(view, request);
	}
	const int count = forget(view, request);

	*reason = count < 0 ? "a request to forget has \"job\": \"0x...\"" : "no such job";
	return count > 0 ? json_integer(count) : NULL;
}

static json_t *give(const struct view *view, const json_t *request, uint64_t time_ns)
{
	const char *ask = json_string_value(json_object_get(request, "ask"));
	const char *reason = "unknown request";
	json_t *answer = NULL;

	if (!json_is_object(request) || !ask)
		return error("a request is an object with \"version\" and \"ask\"");
	if (json_integer_value(json_object_get(request, "version")) != CONTROL_VERSION)
		return error("this ina-bridge speaks version 1 of the protocol: use the ina-ctl "
		             "that was built with it");
	for (unsigned i = 0; i < view->fabric->topology->switch_count; i++)
		bridge_update(&view->fabric->bridges[i], time_ns);
	if (!strcmp(ask, "ports"))
		answer = ports_answer(view);
	else if (!strcmp(ask, "contexts"))
		answer = contexts_answer(view);
	else if (!strcmp(ask, "counters"))
		answer = view->counters(view->counters_context);
	else if (!strcmp(ask, "why"))
		answer = why_give(view, time_ns);
	else if (!strcmp(ask, "jobs") || !strcmp(ask, "drain") || !strcmp(ask, "forget"))
		answer = with_jobs(view, ask, request, time_ns, &reason);
	return answer ? json_pack("{si so}", "version", CONTROL_VERSION, "answer", answer)
	              : error(reason);
}

json_t *answers_give(const struct view *view, const char *request, size_t bytes, uint64_t time_ns)
{
	json_t *object = json_loadb(request, bytes, 0, NULL);
	json_t *answer = give(view, object, time_ns);

	json_decref(object);
	return answer;
}
