/* SPDX-License-Identifier: Apache-2.0 */
/* An observer at each switch, who sees only the frames that enter and leave it, and checks that the
 * switch obeys the rules. */
#include <stdio.h>

#include "bed.h"

/* After a reset, SENDs pass again after this number of ticks. */
enum { QUIET_TICKS = 2 };

static struct seen *seen_of(struct node *node, const struct job *job)
{
	struct seen *seen = &node->seen[job->number];

	if (seen->generation != job->generation)
		*seen = (struct seen){.generation = job->generation};
	return seen;
}

static bool is_below(const struct node *node, unsigned host)
{
	return host >= node->first_host && host <= node->last_host;
}

static bool is_uplink(const struct node *node, unsigned port)
{
	return node->above && port == node->up_port;
}

static bool leads_to_host(const struct node *node, unsigned port)
{
	unsigned child = port - node->first_child_port;

	return child < node->child_count && !node->children[child];
}

void watch_in(struct node *node, unsigned port, const struct frame *frame)
{
	const struct rank *sender = frame_sender(node->bed, frame);

	if (!sender || !frame_is_intact(frame->bytes, frame->length))
		return;
	struct seen *seen = seen_of(node, sender->job);
	int32_t index = frame_index(sender, frame);

	seen->is_heard = seen->is_heard || node->quiet_ticks == 0;
	if (index == 0 && node->quiet_ticks == 0)
		seen->joins |= 1u << sender->index;
	/* After LEAVEs a switch forgets the job. If the job is broken, it does so before the
	 * switches above and below do. */
	if (index == (int32_t)sender->leave_at && !is_uplink(node, port))
		seen->may_forget = true;
}

/*
 * Does the switch take part in the job? It does not if only one of its children has ranks of the
 * job; then all packets that pass it are other switches' packets.
 */
static bool takes_part(const struct node *node, const struct job *job)
{
	uint32_t ports = 0;

	for (unsigned i = 0; i < job->rank_count; i++)
		if (is_below(node, job->ranks[i].host))
			ports |= 1u << node->route[job->ranks[i].host];
	return __builtin_popcount(ports) > 1;
}

/* Has this switch sent the packet with the sum of all ranks? If it does so now, the observer
 * remembers it. */
static bool was_sum(struct seen *seen, const struct rank *sender, uint32_t index, bool is_sum)
{
	bool was = seen->sums[sender->index] >> index & 1;

	seen->sums[sender->index] |= (uint64_t)is_sum << index;
	return was && !seen->may_forget;
}

static bool knows_nothing(const struct node *node, const struct seen *seen, const struct job *job)
{
	for (unsigned i = 0; i < job->rank_count; i++)
		if (is_below(node, job->ranks[i].host) && (seen->joins >> i & 1))
			return false;
	return true;
}

/* The grant of the switch now. The switch has forgotten the one before the reset. */
static void watch_grant(struct seen *seen, const struct frame *sum)
{
	unsigned packets = packet_window(sum);

	if (seen->granted == 0 || packets < seen->granted)
		seen->granted = packets;
}

/*
 * No frame may leave that its host could accept but that is not the sum. Before any fault that
 * holds for all frames to a host. After a fault it still holds for each packet whose sum this
 * switch has sent.
 */
void watch_out(struct node *node, const struct frame *frame)
{
	struct bed *bed = node->bed;
	struct rank *sender = frame_sender(bed, frame);

	if (!sender || sender->job->is_ending || !frame_is_intact(frame->bytes, frame->length))
		return;
	struct job *job = sender->job;
	const struct rank *receiver = &job->ranks[(sender->index + 1) % job->rank_count];
	struct seen *seen = seen_of(node, job);
	int32_t index = frame_index(sender, frame);
	unsigned port = node->route[frame_to(frame)];

	if (index == 0 && !is_uplink(node, port) && !is_below(node, sender->host))
		seen->has_passed_join = seen->has_passed_join || knows_nothing(node, seen, job);
	if (index == 0 && packet_is_sum(job, 0, frame))
		watch_grant(seen, frame);
	if (receiver->has_failed || index < (int32_t)receiver->expected ||
	    index > (int32_t)(job->messages * job->packets))
		return;
	bool is_sum = packet_is_sum(job, (uint32_t)index, frame);
	bool was = was_sum(seen, sender, (uint32_t)index, is_sum);
	bool must_be =
	        (was && takes_part(node, job)) || (bed->set.is_clean && leads_to_host(node, port));

	if (must_be && !is_sum) {
		bed->exposed++;
		if (bed->verbose)
			printf("%llu: level %u, hosts %u to %u: job %u, packet %d to rank %u is no "
			       "sum\n",
			       (unsigned long long)bed->now, node->level, node->first_host,
			       node->last_host, job->number, index, receiver->index);
	}
}

static void forget(struct seen *seen)
{
	seen->was_reset = seen->may_forget = true;
	seen->joins = 0;
	seen->granted = 0;
}

void watch_reset(struct node *node)
{
	node->quiet_ticks = QUIET_TICKS;
	for (unsigned i = 0; i < node->bed->job_count; i++)
		forget(seen_of(node, &node->bed->jobs[i]));
}

void watch_tick(struct node *node)
{
	if (node->quiet_ticks > 0)
		node->quiet_ticks--;
}

void watch_age(struct node *node)
{
	for (unsigned i = 0; i < node->bed->job_count; i++) {
		struct seen *seen = seen_of(node, &node->bed->jobs[i]);

		seen->may_forget = true;
		if (!seen->is_heard)
			forget(seen);
		seen->is_heard = false;
	}
}

/* Does the switch lack a JOIN since its reset, or has it refused one since, that never comes
 * again? */
static bool lacks_join(const struct node *node, const struct seen *seen, const struct job *job)
{
	for (unsigned i = 0; i < job->rank_count; i++) {
		const struct rank *rank = &job->ranks[i];
		unsigned to = job->ranks[(i + 1) % job->rank_count].host;
		bool comes_by = node->route[rank->host] != node->route[to];

		if (comes_by && rank->acknowledged > 0 && !(seen->joins >> i & 1))
			return true;
	}
	return false;
}

/*
 * All JOINs have come again to a switch that was reset after all ranks had read their sum. It had
 * less memory for the job then, and no rank reads its new grant, so its history is shorter than the
 * window.
 */
static bool grants_less(const struct seen *seen, const struct job *job)
{
	for (unsigned i = 0; i < job->rank_count; i++)
		if (seen->granted > 0 && seen->granted < job->ranks[i].window * job->packets)
			return true;
	return false;
}

/*
 * A reset near the JOIN is the only fault that may need the hosts' patience. There are three cases:
 * a JOIN that was acknowledged does not come again to the switch that waits for it; the JOIN from
 * above came while the switch did not know the job; or the new grant is smaller than the one that
 * the ranks have read.
 */
bool watch_may_stall(struct bed *bed, const struct job *job)
{
	for (unsigned i = 0; i < bed->node_count; i++) {
		struct node *node = &bed->nodes[i];
		const struct seen *seen = seen_of(node, job);

		if (seen->was_reset && (seen->has_passed_join || lacks_join(node, seen, job) ||
		                        grants_less(seen, job)))
			return true;
	}
	return false;
}
