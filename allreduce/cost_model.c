/* SPDX-License-Identifier: Apache-2.0 */
/* The alpha-beta model of three ways to all-reduce. */
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

double cost_of(const struct cost_model *model, enum cost_schedule schedule, double bytes)
{
	double ranks = model->ranks;
	double between = model->machines == 1 ? 0
	                 : model->aggregated  ? 2
	                                      : 2 * (model->machines - 1);

	if (schedule == COST_FLAT)
		return 2 * (ranks - 1) * model->alpha_s +
		       2 * (ranks - 1) / ranks * bytes / model->inter;
	return between * model->alpha_s + cost_inside(model, schedule, bytes) +
	       cost_share(model) * bytes / model->inter;
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
