/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the tree switch by switch, from the top down, in the order of the connections. */
#include "tree_draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The text. Characters that do not fit are counted, but not stored. */
struct text {
	char *start;
	size_t size;
	size_t used;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *text, const char *format, ...)
{
	size_t left = text->used < text->size ? text->size - text->used : 0;
	va_list arguments;

	va_start(arguments, format);
	text->used += (size_t)vsnprintf(left > 0 ? text->start + text->used : NULL, left, format,
	                                arguments);
	va_end(arguments);
}

static bool is_below(const struct ina_tree *tree, int rank, const struct ina_wire_trace_slot *at,
                     unsigned int level)
{
	return ina_tree_slot(tree, rank, level)->id == at->id;
}

/* The rank below a switch whose connection leaves it upward; -1 if no connection does. */
static int border_of(const struct ina_tree *tree, const struct ina_wire_trace_slot *at,
                     unsigned int level)
{
	for (int r = 0; r < tree->ranks; r++) {
		if (is_below(tree, r, at, level) &&
		    !is_below(tree, ina_tree_successor(tree, r), at, level))
			return r;
	}
	return -1;
}

/* Adds a line with the role of a switch in the job. */
static void add_duty(struct text *text, const struct ina_tree *tree, int rank, unsigned int level)
{
	const struct ina_wire_trace_slot *at = ina_tree_slot(tree, rank, level);
	unsigned int children = ina_tree_children(tree, rank, level);

	add(text, "switch %" PRIx64 ", level %u", at->id, level);
	if (tree->verdict != INA_TREE_SUMS)
		add(text, ": sums nothing\n");
	else if (level == tree->top)
		add(text, ", the top: sums %u ports for all %d ranks\n", children, tree->ranks);
	else
		add(text, ": sums %u port%s, and sends the sum up as rank %d\n", children,
		    children == 1 ? "" : "s", border_of(tree, at, level));
}

/* The level of this rank's highest switch below a level; 0 if the rank is directly below. */
static unsigned int next_below(const struct ina_tree *tree, int rank, unsigned int level)
{
	while (--level > 0 && ina_tree_slot(tree, rank, level)->id == 0)
		;
	return level;
}

/* Does an earlier rank in the order arrive at the switch by the same port? */
static bool is_drawn(const struct ina_tree *tree, int place, unsigned int level)
{
	const struct ina_wire_trace_slot *at = ina_tree_slot(tree, tree->order[place], level);

	for (int p = 0; p < place; p++) {
		if (is_below(tree, tree->order[p], at, level) &&
		    ina_tree_slot(tree, tree->order[p], level)->port == at->port)
			return true;
	}
	return false;
}

/* Draws a switch and, for each port, the part below it. The recursion has at most three levels. */
static void add_switch(struct text *text, const struct ina_tree *tree, int rank, unsigned int level,
                       int indent)
{
	const struct ina_wire_trace_slot *at = ina_tree_slot(tree, rank, level);

	add_duty(text, tree, rank, level);
	for (int p = 0; p < tree->ranks; p++) {
		int r = tree->order[p];
		unsigned int below = next_below(tree, r, level);

		if (!is_below(tree, r, at, level) || (below > 0 && is_drawn(tree, p, level)))
			continue;
		add(text, "%*sport %u: ", indent + 4, "", ina_tree_slot(tree, r, level)->port);
		if (below > 0)
			add_switch(text, tree, r, below, indent + 4);
		else
			add(text, "rank %d\n", r);
	}
}

/* Draws each tree, from the highest switch that is known for a rank. */
static void add_forest(struct text *text, const struct ina_tree *tree)
{
	for (int p = 0; p < tree->ranks; p++) {
		int r = tree->order[p];
		unsigned int level = next_below(tree, r, INA_WIRE_LEVELS + 1);
		bool drawn = false;

		for (int q = 0; q < p && level > 0; q++)
			drawn |= is_below(tree, tree->order[q], ina_tree_slot(tree, r, level),
			                  level);
		if (level == 0)
			add(text, "rank %d\n", r);
		else if (!drawn)
			add_switch(text, tree, r, level, 0);
	}
}

int ina_tree_draw(const struct ina_tree *tree, char *text, size_t size)
{
	struct text out = {text, size, 0};

	if (size > 0)
		text[0] = '\0';
	if (tree->verdict != INA_TREE_UNKNOWN)
		add_forest(&out, tree);
	return (int)out.used;
}
