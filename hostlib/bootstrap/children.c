/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's children in the tree, during the bootstrap. */
#include "children.h"

#include "hostlib/control/exchange.h"

static struct ina_peer *child_at(const struct ina_children *children, int i)
{
	struct ina_peer *neighbour = &children->control->neighbours[i];

	return ina_is_child(neighbour->rank, children->control->rank) ? neighbour : NULL;
}

/* Ignores reports on ranks outside the child's subtree. */
static struct ina_ranks of_subtree(const struct ina_ranks *set, int rank, int ranks)
{
	struct ina_ranks heard = {{0}};
	int end = ina_subtree_end(rank, ranks);

	for (int r = rank; r < end; r++) {
		if (r == rank || ina_ranks_have(set, r))
			ina_ranks_add(&heard, r);
	}
	return heard;
}

static void read_child(struct ina_children *children, int i, struct ina_peer *child)
{
	static const struct ina_ranks nobody;

	while (child->link.fd >= 0) {
		enum ina_link_result result = ina_link_read(&child->link);

		if (result == INA_LINK_NOTHING)
			return;
		if (result == INA_LINK_FRAME && child->link.in.type == INA_CONTROL_GATHERED) {
			children->gathered[i] = of_subtree(&child->link.in.gathered, child->rank,
			                                   children->control->ranks);
			continue;
		}
		ina_link_close(&child->link);
		children->gathered[i] = nobody;
	}
}

void ina_children_step(struct ina_children *children)
{
	for (int i = 0; i < children->control->count; i++) {
		struct ina_peer *child = child_at(children, i);

		if (child)
			read_child(children, i, child);
	}
}

struct ina_ranks ina_children_come(const struct ina_children *children)
{
	struct ina_ranks come = {{0}};

	if (children->control->rank < children->control->ranks)
		ina_ranks_add(&come, children->control->rank);
	for (int i = 0; i < children->control->count; i++) {
		const struct ina_peer *child = child_at(children, i);

		if (!child || child->link.fd < 0)
			continue;
		ina_ranks_add(&come, child->rank);
		ina_ranks_unite(&come, &children->gathered[i]);
	}
	return come;
}

void ina_children_welcome(const struct ina_children *children, struct ina_control_frame *frame)
{
	for (int i = 0; i < children->control->count; i++) {
		const struct ina_peer *child = child_at(children, i);

		if (child)
			ina_control_send(children->control, child->rank, frame);
	}
}
