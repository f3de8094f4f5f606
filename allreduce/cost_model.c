/* SPDX-License-Identifier: Apache-2.0 */
/* The alpha-beta model of three schedules for an all-reduce. */
#include "cost_model.h"

double cost_share(const struct cost_model *model)
{
	return model->aggregated ? 1 : 2.0 * (model->machines - 1) / model->machines;
}

double cost_inside(const struct cost_model *model, enum cost_schedule schedule, double bytes)
{
	double locals = model->locals;

	if (schedule == COST_FLAT || model->locals == 1 || model->intra <= 0)
		return 0;
	return (schedule == COST_LEADER ? locals : 2 * (locals - 1) / locals) * bytes /
	       model->intra;
}

int cost_steps(int ranks)
{
	int power = 1;
	int steps = 0;

	for (; 2 * power <= ranks; power *= 2)
		steps++;
	return power == ranks ? steps : steps + 2;
}

/* Seconds for an all-reduce among ranks that each have a link, or an equal part of one. */
static double among(const struct cost_model *model, int ranks, bool is_short, double bytes)
{
	if (is_short)
		return cost_steps(ranks) * (model->alpha_s + bytes / model->inter);
	return 2 * (ranks - 1) * (model->alpha_s + bytes / model->inter / ranks);
}

double cost_of(const struct cost_model *model, enum cost_schedule schedule, double bytes)
{
	int rails = schedule == COST_PARALLEL ? model->locals : 1;
	bool is_short = bytes / rails <= COST_SHORT_BYTES;

	if (schedule == COST_FLAT)
		return among(model, model->ranks, is_short, bytes);
	if (model->aggregated && model->machines > 1)
		return 2 * model->alpha_s + cost_inside(model, schedule, bytes) +
		       bytes / model->inter;
	return cost_inside(model, schedule, bytes) + among(model, model->machines, is_short, bytes);
}

enum cost_schedule cost_fastest(const struct cost_model *model, double bytes)
{
	enum cost_schedule best = COST_PARALLEL;

	for (int s = COST_LEADER; s >= COST_FLAT; s--) {
		if (cost_of(model, (enum cost_schedule)s, bytes) < cost_of(model, best, bytes))
			best = (enum cost_schedule)s;
	}
	return best;
}
