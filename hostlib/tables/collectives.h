/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectives, one row each. The public calls, their checks, the way in which the engine makes
 * an all-reduce of each, the texts of errors, ina-perf and the adapter for MPI read these rows. To
 * add a collective, declare its two calls in ina.h, export them, and add a row.
 *
 * kind: the enumerator without INA_CALL_. Messages carry its number, that of the row from 1 on
 * (docs/protocol.md, Header, mark).
 * call: the name of the blocking call without ina_; the other one has _start after it.
 * name: as nccl-tests and PyTorch write it. title: as libina's texts do.
 * send, recv: how often `count` elements are at send and at recv (enum ina_extent). A rank may call
 * in place: send and recv are the same, or one is this rank's block of the other if that has ALL.
 * combines: applies an operation to the elements of all ranks; otherwise it only moves elements.
 * arguments: those that the calls take between comm and request.
 * half: the part of an all-reduce that is enough for it, if it has many bytes.
 */
#ifndef INA_TABLES_COLLECTIVES_H
#define INA_TABLES_COLLECTIVES_H

#include <stdbool.h>

#include "hostlib/include/ina.h"

/* clang-format off */
#define INA_COLLECTIVES(X)                                                                         \
	/* kind            call            name              title                                 \
	 *                                 send     recv     combines arguments     half */        \
	X(ALLREDUCE,       allreduce,      "all_reduce",     "all-reduce",                         \
	                                   ONE,     ONE,     true,    TYPE_OP,      WHOLE)         \
	X(REDUCE_SCATTER,  reduce_scatter, "reduce_scatter", "reduce-scatter",                     \
	                                   ALL,     ONE,     true,    TYPE_OP,      SCATTER)       \
	X(ALL_GATHER,      all_gather,     "all_gather",     "all-gather",                         \
	                                   ONE,     ALL,     false,   TYPE,         GATHER)        \
	X(BROADCAST,       broadcast,      "broadcast",      "broadcast",                          \
	                                   AT_ROOT, ONE,     false,   TYPE_ROOT,    WHOLE)         \
	X(REDUCE,          reduce,         "reduce",         "reduce",                             \
	                                   ONE,     AT_ROOT, true,    TYPE_OP_ROOT, WHOLE)         \
	X(BARRIER,         barrier,        "barrier",        "barrier",                            \
	                                   NOTHING, NOTHING, false,   NONE,         WHOLE)
/* clang-format on */

#define INA_CALL_KIND(kind, ...) INA_CALL_##kind,
/* NONE: in no call; CLOSE: in ina_close(). */
enum ina_call_kind { INA_CALL_NONE = 0, INA_COLLECTIVES(INA_CALL_KIND) INA_CALL_CLOSE };

enum ina_extent {
	INA_NOTHING,
	INA_ONE,     /* once */
	INA_ALL,     /* once for each rank, the block of rank 0 first */
	INA_AT_ROOT, /* once, at the root only */
};

/*
 * The part of an all-reduce that the ranks need. Half of the ring's steps is enough for a part; the
 * other algorithms always make the whole.
 */
enum ina_part {
	INA_WHOLE,
	INA_SCATTER, /* the elements are n blocks, and rank r needs the sum of block r */
	INA_GATHER,  /* rank r has block r of the result at recv, and every rank needs all blocks */
};

struct ina_call_row {
	const char *title;
	const char *name; /* NULL, and so are the fields below, for NONE and CLOSE */
	enum ina_extent send;
	enum ina_extent recv;
	bool combines;
	enum ina_part half;
};

#define INA_CALL_ROW(kind, call, name, title, send, recv, combines, arguments, half)               \
	[INA_CALL_##kind] = {title, name, INA_##send, INA_##recv, combines, INA_##half},
static inline const struct ina_call_row *ina_call_row(enum ina_call_kind kind)
{
	static const struct ina_call_row rows[] = {[INA_CALL_NONE] = {.title = "nothing"},
	                                           [INA_CALL_CLOSE] = {.title = "ina_close"},
	                                           INA_COLLECTIVES(INA_CALL_ROW)};

	return &rows[kind];
}

static inline bool ina_call_has_root(enum ina_call_kind kind)
{
	return ina_call_row(kind)->send == INA_AT_ROOT || ina_call_row(kind)->recv == INA_AT_ROOT;
}

static inline bool ina_call_has_elements(enum ina_call_kind kind)
{
	return ina_call_row(kind)->recv != INA_NOTHING;
}

/* A name such as "all-reduce", "nothing" or "ina_close". */
static inline const char *ina_call_name(enum ina_call_kind kind)
{
	return ina_call_row(kind)->title;
}

/* Of `count` elements that are at send or recv, the number at this rank. */
static inline size_t ina_extent_count(enum ina_extent extent, size_t count, int ranks, bool is_root)
{
	if (extent == INA_NOTHING || (extent == INA_AT_ROOT && !is_root))
		return 0;
	return extent == INA_ALL ? count * (size_t)ranks : count;
}

/* The arguments of the calls by the column `arguments`. */
#define INA_ARGUMENTS_NONE         comm
#define INA_ARGUMENTS_TYPE         INA_ARGUMENTS_NONE, send, recv, count, type
#define INA_ARGUMENTS_TYPE_ROOT    INA_ARGUMENTS_TYPE, root
#define INA_ARGUMENTS_TYPE_OP      INA_ARGUMENTS_TYPE, op
#define INA_ARGUMENTS_TYPE_OP_ROOT INA_ARGUMENTS_TYPE_OP, root

#define INA_CALL_CASE(kind, call, name, title, send, recv, combines, arguments, half)              \
	case INA_CALL_##kind:                                                                      \
		return ina_##call##_start(INA_ARGUMENTS_##arguments, request);

/* Starts a collective by its kind, with those of the arguments that it takes. */
static inline enum ina_status ina_call_start(enum ina_call_kind kind, ina_comm *comm,
                                             const void *send, void *recv, size_t count,
                                             enum ina_type type, enum ina_op op, int root,
                                             ina_request **request)
{
	switch (kind) {
		INA_COLLECTIVES(INA_CALL_CASE)
	case INA_CALL_NONE:
	case INA_CALL_CLOSE:
		break;
	}
	return INA_ERR_ARGUMENT;
}

#endif
