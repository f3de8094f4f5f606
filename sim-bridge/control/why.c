/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each question, from the cables up to the jobs. */
#include "why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim-bridge/switch/sources.h"
#include "wire/ina_wire.h"

enum { LINES_MAX = 64, MARK_DSCP = INA_WIRE_TRAFFIC_CLASS >> 2 };

/* A JOIN or an event that is older says nothing about the present. */
#define RECENT_NS UINT64_C(60000000000)

struct why {
	const struct view *view;
	const struct fabric *fabric;
	const struct sights *sights;
	uint64_t time_ns;
	json_t *lines;
};

__attribute__((format(printf, 2, 3))) static void say(struct why *why, const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (json_array_size(why->lines) < LINES_MAX)
		json_array_append_new(why->lines, json_string(line));
}

static double seconds_since(const struct why *why, uint64_t time_ns)
{
	return time_ns && why->time_ns > time_ns ? (double)(why->time_ns - time_ns) * 1e-9 : 0;
}

static bool is_recent(const struct why *why, uint64_t time_ns)
{
	return time_ns && why->time_ns - time_ns < RECENT_NS;
}

static const char *name_of(const struct why *why, unsigned host, char *text)
{
	return view_port_name(why->view, host, text);
}

static void ask_ports(struct why *why)
{
	for (unsigned host = 0; host < why->fabric->topology->host_count; host++) {
		const struct port *port = &why->view->ports[host];
		char name[VIEW_NAME_BYTES];

		name_of(why, host, name);
		if (port->is_in_loop)
			say(why,
			    "port %u%s is closed: frames that leave by the uplink come back there: "
			    "remove that cable, and start the ina-bridge again",
			    host, name);
		else if (!port->is_open)
			say(why, "port %u%s is closed: its host has gone", host, name);
		else if (!port->is_up)
			say(why,
			    "port %u%s: the link is down: set the interface up, or look at the "
			    "cable",
			    host, name);
		if (port->counts.dropped_send_error && port->mtu <= port->refused_mtu)
			say(why,
			    "port %u%s: the kernel has refused %" PRIu64 " frames, mostly because "
			    "they are longer than the MTU, %u: raise it, or lower that of the "
			    "hosts",
			    host, name, port->counts.dropped_send_error, port->mtu);
	}
}

/* A host that moves to another port once is no fault. */
static void ask_addresses(struct why *why)
{
	const struct mac_moves *moved = &why->sights->moved;
	const uint8_t *mac = moved->mac;
	char from[VIEW_NAME_BYTES], to[VIEW_NAME_BYTES];

	if (is_recent(why, moved->before_ns))
		say(why,
		    "MAC address %02x:%02x:%02x:%02x:%02x:%02x was seen at port %u%s and at port "
		    "%u%s in turn: two hosts have it, or frames go round: give each host its own, "
		    "and connect no switches in a ring",
		    mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], moved->from,
		    name_of(why, moved->from, from), moved->to, name_of(why, moved->to, to));
}

static void ask_aggregators(struct why *why)
{
	for (unsigned i = 0; i < why->fabric->topology->switch_count; i++) {
		const struct bridge *bridge = &why->fabric->bridges[i];
		const char *name = why->fabric->topology->switches[i].name;
		struct ina_counters counters;

		if (!bridge->engine) {
			say(why,
			    "switch %s has no aggregator: start ina-bridge with --aggregator model "
			    "or "
			    "rtl",
			    name);
			continue;
		}
		bridge->engine->operations->read_counters(bridge->engine, &counters);
		if (counters.icrc_dropped)
			say(why,
			    "switch %s: %" PRIu64
			    " packets had a wrong iCRC: a cable damages frames, "
			    "or a device on the way changes headers",
			    name, counters.icrc_dropped);
		if (!bridge->engine->operations->read_job && counters.contexts_lacked)
			say(why,
			    "switch %s: %" PRIu64
			    " JOINs found no free context: raise --jobs, or end "
			    "a job (the RTL does not tell which)",
			    name, counters.contexts_lacked);
	}
	if (why->fabric->network.is_draining)
		say(why, "the switch is draining and admits no new job: ina-ctl drain --off");
}

/* Asks whether hosts send anything that an aggregator takes. */
static void ask_traffic(struct why *why)
{
	uint64_t frames = 0, roce = 0;

	for (unsigned host = 0; host < why->fabric->topology->host_count; host++) {
		const struct host_sights *seen = &why->sights->hosts[host];
		char name[VIEW_NAME_BYTES];

		frames += why->view->ports[host].counts.rx_frames;
		roce += seen->roce.frames;
		if (seen->sends.frames && !seen->marked.frames)
			say(why,
			    "port %u%s: %" PRIu64 " SENDs, none marked with DSCP %u (the last has "
			    "DSCP %u, %.0f s ago): they are no aggregation traffic, or a device "
			    "rewrites the DSCP: let it keep the DSCP",
			    host, name_of(why, host, name), seen->sends.frames, MARK_DSCP,
			    seen->unmarked_dscp, seconds_since(why, seen->sends.last_ns));
	}
	if (!frames)
		say(why, "no frame has come from any host: look at the cables and interfaces");
	else if (!roce)
		say(why,
		    "%" PRIu64 " frames came, but no RoCEv2 (UDP port %u): start the job, and let "
		    "its RDMA devices be those at this switch's ports",
		    frames, INA_WIRE_UDP_PORT);
}

/* The JOINs of a job, in the order of their places in `sights`. Returns the next one, or NULL. */
static const struct join_sight *next_join(const struct why *why, uint64_t job_id,
                                          const struct join_sight *join)
{
	const struct join_sight *end = why->sights->joins + SIGHTS_JOINS;

	for (join = join ? join + 1 : why->sights->joins; join < end; join++)
		if (join->frames && join->job_id == job_id)
			return join;
	return NULL;
}

static bool has_recent_join(const struct why *why, uint64_t job_id)
{
	const struct join_sight *join = NULL;

	while ((join = next_join(why, job_id, join)))
		if (is_recent(why, join->last_ns))
			return true;
	return false;
}

static bool is_served(const struct why *why, uint64_t job_id)
{
	struct report_job job;

	for (unsigned i = 0; i < why->fabric->topology->switch_count; i++)
		if (bridge_find_job(&why->fabric->bridges[i], job_id, &job))
			return true;
	return false;
}

/* Returns whether the JOIN has a sign of a router before or after this switch. */
static bool is_routed(const struct why *why, const struct join_sight *join)
{
	const struct join_sight *other = NULL;

	if (join->ttl != 64 && join->ttl != 128 && join->ttl != 255)
		return true;
	while ((other = next_join(why, join->job_id, other)))
		if (sights_are_equal(&join->destination, &other->source) &&
		    memcmp(join->destination_mac, other->source_mac, sizeof(other->source_mac)))
			return true;
	return false;
}

static void ask_join(struct why *why, const struct join_sight *join, const struct join_sight *first)
{
	char address[VIEW_ADDRESS_BYTES], name[VIEW_NAME_BYTES];

	view_address(join->source.ip, join->source.bytes, address);
	name_of(why, join->host, name);
	if (join->dscp != MARK_DSCP)
		say(why,
		    "job 0x%016" PRIx64
		    ": the JOIN of rank %u (%s, port %u%s) has DSCP %u, not %u: "
		    "a device on the way rewrites it: let it keep the DSCP",
		    join->job_id, join->rank, address, join->host, name, join->dscp, MARK_DSCP);
	if (join->is_foreign)
		say(why,
		    "job 0x%016" PRIx64
		    ": the JOIN of rank %u came from port %u%s, but %s was last "
		    "seen at another port: two hosts have the same address, or the host has moved "
		    "and must send another frame first",
		    join->job_id, join->rank, join->host, name, address);
	if (join->vlan_id != first->vlan_id)
		say(why,
		    "job 0x%016" PRIx64
		    ": rank %u is in VLAN %u, and rank %u in VLAN %u (0: none): "
		    "use one VLAN for all hosts",
		    join->job_id, first->rank, first->vlan_id, join->rank, join->vlan_id);
	if (is_routed(why, join))
		say(why,
		    "job 0x%016" PRIx64 ": a router is between rank %u (%s, port %u%s, TTL %u) and "
		    "its successor: a job needs all its hosts in one subnet",
		    join->job_id, join->rank, address, join->host, name, join->ttl);
}

/* A bit for each of the ranks below 64 whose JOIN has come. */
static uint64_t joined_ranks(const struct why *why, uint64_t job_id)
{
	const struct join_sight *join = NULL;
	uint64_t ranks = 0;

	while ((join = next_join(why, job_id, join)))
		if (join->rank < 64)
			ranks |= UINT64_C(1) << join->rank;
	return ranks;
}

/* True if a switch of this bridge has the JOINs of all its children. */
static bool is_complete(const struct why *why, uint64_t job_id)
{
	struct report_job job;

	for (unsigned i = 0; i < why->fabric->topology->switch_count; i++)
		if (bridge_find_job(&why->fabric->bridges[i], job_id, &job) &&
		    job.joined_count >= job.child_count)
			return true;
	return false;
}

/* Of the ranks at other bridges, not every JOIN comes to this one. */
static void ask_missing_of_part(struct why *why, const struct join_sight *first)
{
	if (!is_complete(why, first->job_id))
		say(why,
		    "job 0x%016" PRIx64 ": JOINs of %d of %u ranks have come here, for %.0f s: ask "
		    "the other bridges of the fabric too",
		    first->job_id, __builtin_popcountll(joined_ranks(why, first->job_id)),
		    first->rank_count, seconds_since(why, first->first_ns));
}

/* In ranks' order, the predecessor's connection leads to the rank that is missing. */
static void ask_missing(struct why *why, const struct join_sight *first)
{
	const uint64_t joined = joined_ranks(why, first->job_id);
	const struct join_sight *join = NULL;
	unsigned missing = 0;

	while (missing < first->rank_count && missing < 64 && joined >> missing & 1)
		missing++;
	if (missing == first->rank_count || missing == 64)
		return;
	const unsigned before = (missing + first->rank_count - 1) % first->rank_count;

	while ((join = next_join(why, first->job_id, join)) && join->rank != before)
		;
	char address[VIEW_ADDRESS_BYTES] = "";
	bool is_here = true;

	if (join) {
		view_address(join->destination.ip, join->destination.bytes, address);
		is_here = sources_find(&why->fabric->sources, join->vlan_id, join->destination.ip,
		                       join->destination.bytes) != FORWARDING_FLOOD;
	}
	say(why,
	    "job 0x%016" PRIx64 ": JOINs of %d of %u ranks have come, for %.0f s; rank %u%s%s is "
	    "missing%s",
	    first->job_id, __builtin_popcountll(joined), first->rank_count,
	    seconds_since(why, first->first_ns), missing, join ? ", at " : "", address,
	    is_here ? ": look whether its process runs"
	            : ": no frame has come from there: is the host at a port of this switch?");
}

static void ask_events(struct why *why, uint64_t job_id)
{
	const struct history *history = why->view->history;
	const struct history_event *broken = history_find(history, REPORT_BROKEN, job_id);
	const struct history_event *refused = history_find(history, REPORT_REFUSED, job_id);
	const struct history_event *held = history_find(history, REPORT_HELD, job_id);
	const struct history_event *no = refused ? refused : held;
	const char *advice = "";

	if (broken && is_recent(why, broken->time_ns)) {
		if (broken->event.reason == REPORT_LENGTHS)
			say(why,
			    "job 0x%016" PRIx64
			    " broke %.0f s ago: packets that belong together have "
			    "%u and %u bytes (port %u): give all hosts the same MTU, and let all "
			    "ranks call the same collective",
			    job_id, seconds_since(why, broken->time_ns), broken->event.bytes[0],
			    broken->event.bytes[1], broken->event.port);
		else
			say(why,
			    "job 0x%016" PRIx64 " broke %.0f s ago: %s: its hosts continue without "
			    "the switch, and JOIN again",
			    job_id, seconds_since(why, broken->time_ns),
			    history_reason(broken->event.reason));
	}
	if (!no || !is_recent(why, no->time_ns) || is_served(why, job_id))
		return;
	if (no->event.reason == REPORT_NO_CONTEXT)
		advice = ": raise --jobs, or end a job (ina-ctl jobs)";
	else if (no->event.reason == REPORT_VLAN_QUOTA)
		advice = ": raise --vlan-quota";
	else if (no->event.reason == REPORT_PORT_QUOTA)
		advice = ": raise --quota, or start the ranks that are missing";
	say(why, "job 0x%016" PRIx64 ": a JOIN at port %u was %s: %s%s", job_id, no->event.port,
	    no == held ? "put off" : "refused", history_reason(no->event.reason), advice);
}

/* Asks about each job whose JOINs have come recently. */
static void ask_joins(struct why *why)
{
	for (unsigned i = 0; i < SIGHTS_JOINS; i++) {
		const struct join_sight *first = &why->sights->joins[i], *join = NULL;

		if (!first->frames || next_join(why, first->job_id, NULL) != first ||
		    !has_recent_join(why, first->job_id))
			continue;
		while ((join = next_join(why, first->job_id, join)))
			ask_join(why, join, first);
		if (why->view->is_part)
			ask_missing_of_part(why, first);
		else
			ask_missing(why, first);
		ask_events(why, first->job_id);
	}
}

/* A complete job waits for the ranks without packets, if other ranks have some. */
static void ask_job(struct why *why, unsigned number, const struct report_job *job)
{
	if (!view_has_waiting(job) || job->is_broken || job->joined_count < job->child_count)
		return;
	for (unsigned port = 0; port < REPORT_PORTS_MAX; port++) {
		const struct report_member *member = &job->members[port];
		const int host = view_host(why->view, number, port);
		char name[VIEW_NAME_BYTES] = "";
		double silent_s = 0;

		if (!member->joined || member->is_down || member->waiting_packets)
			continue;
		if (host >= 0) {
			name_of(why, (unsigned)host, name);
			silent_s = seconds_since(why, why->sights->hosts[host].marked.last_ns);
		}
		say(why,
		    "job 0x%016" PRIx64
		    ": waits for rank %u at port %u%s, which has sent no marked "
		    "packet for %.1f s: look at that rank's process",
		    job->job_id, member->rank, port, name, silent_s);
	}
}

static void ask_jobs(struct why *why)
{
	unsigned count = 0;

	for (unsigned i = 0; i < why->fabric->topology->switch_count; i++) {
		const struct engine *engine = why->fabric->bridges[i].engine;
		struct report_job job;

		for (unsigned at = 0; engine && engine->operations->read_job && at < engine->jobs;
		     at++) {
			if (!engine->operations->read_job(engine, at, &job))
				continue;
			count++;
			ask_job(why, i, &job);
		}
	}
	if (json_array_size(why->lines) == 0)
		say(why,
		    count ? "nothing wrong was seen: %u contexts are in use, and no rank is late"
		          : "nothing wrong was seen",
		    count);
}

json_t *why_give(const struct view *view, uint64_t time_ns)
{
	struct why why = {
	        .view = view,
	        .fabric = view->fabric,
	        .sights = &view->fabric->sights,
	        .time_ns = time_ns,
	        .lines = json_array(),
	};

	ask_ports(&why);
	ask_addresses(&why);
	ask_aggregators(&why);
	ask_traffic(&why);
	ask_joins(&why);
	ask_jobs(&why);
	return why.lines;
}
