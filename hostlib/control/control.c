/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the control channel: what this rank knows of the others. Nothing here sends. */
#include "control.h"

#include <string.h>

static const struct ina_votes NO_VOTES = {.least = {.rank = UINT32_MAX},
                                          .most = {.rank = UINT32_MAX}};

void ina_control_init(struct ina_control *control, int rank, int ranks)
{
	int neighbours[INA_NEIGHBOURS_MAX];

	memset(control, 0, sizeof(*control));
	control->rank = rank;
	control->ranks = ranks;
	control->votes = NO_VOTES;
	control->count = ina_neighbours(rank, ranks, neighbours);
	for (int i = 0; i < control->count; i++) {
		control->neighbours[i].rank = neighbours[i];
		control->neighbours[i].link.fd = -1;
	}
}

void ina_control_close(struct ina_control *control)
{
	for (int i = 0; i < control->count; i++)
		ina_link_close(&control->neighbours[i].link);
	control->count = 0;
}

struct ina_peer *ina_control_peer(struct ina_control *control, int rank)
{
	for (int i = 0; i < control->count; i++) {
		if (control->neighbours[i].rank == rank)
			return &control->neighbours[i];
	}
	return NULL;
}

struct ina_link *ina_control_link(struct ina_control *control, int rank)
{
	struct ina_peer *neighbour = ina_control_peer(control, rank);

	return neighbour ? &neighbour->link : NULL;
}

struct ina_control_frame ina_control_frame(const struct ina_control *control,
                                           enum ina_control_type type)
{
	return (struct ina_control_frame){
	        .magic = INA_CONTROL_MAGIC,
	        .type = type,
	        .rank = (uint32_t)control->rank,
	};
}

bool ina_control_reaches(const struct ina_control *control, const struct ina_peer *neighbour)
{
	return neighbour->link.fd >= 0 && !ina_control_is_absent(control, neighbour->rank);
}

enum ina_status ina_fail_gone(struct ina_failure *failure, const struct ina_ranks *gone, int ranks)
{
	char names[200];

	ina_ranks_list(names, sizeof(names), gone, ranks);
	return ina_fail(failure, INA_ERR_PEER, "%s disconnected", names);
}

bool ina_control_lost(const struct ina_control *control, struct ina_failure *failure)
{
	if (ina_ranks_count(&control->gone, control->ranks) > 0)
		ina_fail_gone(failure, &control->gone, control->ranks);
	else
		*failure = control->heard;
	return failure->status != INA_OK;
}

void ina_control_note_gone(struct ina_control *control, int rank)
{
	ina_ranks_add(&control->gone, rank);
	control->news_to_tell = true;
}

/* Only the first error counts, so each rank passes on no more than one. */
static void hear(struct ina_control *control, uint32_t status, const char *text)
{
	if (status == INA_OK || control->heard.status != INA_OK)
		return;
	ina_fail(&control->heard, status, "%s", text);
	control->news_to_tell = true;
}

void ina_control_take_farewell(struct ina_control *control, int from,
                               const struct ina_decision *word)
{
	ina_ranks_add(&control->left, from);
	hear(control, word->status, word->text);
	if (from == 0 && word->status != INA_OK && !control->has_diagnosis) {
		control->has_diagnosis = true;
		control->diagnosis = *word;
	}
}

void ina_control_take_news(struct ina_control *control, const struct ina_news *news)
{
	control->news_to_tell |= ina_ranks_unite(&control->gone, &news->gone);
	hear(control, news->status, news->text);
}

static bool is_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

void ina_control_take_votes(struct ina_control *control, const struct ina_votes *votes)
{
	/* Some rank has started a later agreement, so the earlier one has been decided. */
	if (is_later(votes->phase, control->votes.phase)) {
		control->votes = NO_VOTES;
		control->votes.phase = votes->phase;
		control->votes_told = (struct ina_telling){0};
	}
	if (votes->phase != control->votes.phase)
		return;
	control->votes_told.is_urgent |= votes->status != INA_OK && control->votes.status == INA_OK;
	control->votes_told.is_new |= ina_votes_merge(&control->votes, votes);
}

const struct ina_decision *ina_control_decision(const struct ina_control *control, uint32_t phase)
{
	const struct ina_decision *decision = &control->decisions[phase % INA_DECISIONS];

	return decision->phase == phase ? decision : NULL;
}

void ina_control_take_faults(struct ina_control *control, const struct ina_faults *faults)
{
	if (is_later(faults->round, control->faults.round)) {
		control->faults = (struct ina_faults){.round = faults->round};
		control->faults_told = (struct ina_telling){0};
	}
	if (faults->round == control->faults.round)
		control->faults_told.is_new |= ina_faults_merge(&control->faults, faults);
}

void ina_control_next_round(struct ina_control *control)
{
	control->round++;
	control->asked = false;
	if (is_later(control->round, control->faults.round)) {
		control->faults = (struct ina_faults){.round = control->round};
		control->faults_told = (struct ina_telling){0};
	}
}

bool ina_control_take_order(struct ina_control *control, const struct ina_control_frame *frame)
{
	struct ina_decision *decision;

	if (control->rank == 0 || frame->rank != 0)
		return false;
	switch (frame->type) {
	case INA_CONTROL_DECISION:
		decision = &control->decisions[frame->decision.phase % INA_DECISIONS];
		if (!is_later(frame->decision.phase, decision->phase))
			return false;
		*decision = frame->decision;
		if (!is_later(control->votes.phase, frame->decision.phase))
			control->votes_told.is_new = false;
		return true;
	case INA_CONTROL_DIAGNOSIS:
		if (control->has_diagnosis)
			return false;
		control->has_diagnosis = true;
		control->diagnosis = frame->decision;
		return true;
	case INA_CONTROL_PLAN: /* rank 0's answer to the reports of this round */
		if (frame->plan.round != control->round)
			return false;
		control->has_plan = true;
		control->plan = frame->plan;
		ina_control_next_round(control);
		return true;
	default:
		return false;
	}
}

bool ina_control_take_query(struct ina_control *control, const struct ina_control_frame *frame)
{
	if (control->asked || frame->round != control->round)
		return false;
	control->asked = true;
	return true;
}

bool ina_control_children_stall(const struct ina_control *control)
{
	for (int i = 0; i < control->count; i++) {
		const struct ina_peer *neighbour = &control->neighbours[i];

		if (ina_is_child(neighbour->rank, control->rank) && !neighbour->stall.is_all)
			return false;
	}
	return true;
}
