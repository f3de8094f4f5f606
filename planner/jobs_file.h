/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the jobs, and the capacities of links and switches, from a JSON file (README.md). */
#ifndef INA_PLANNER_JOBS_FILE_H
#define INA_PLANNER_JOBS_FILE_H

#include "graph.h"

enum { PLAN_JOBS_MAX = 64, PLAN_JOB_NAME_BYTES = 64, PLAN_ERROR_BYTES = 512 };

struct plan_job {
	char name[PLAN_JOB_NAME_BYTES];
	unsigned hosts[TOPOLOGY_HOSTS_MAX];
	unsigned count;
	unsigned server; /* a host, or PLAN_NONE: the hosts all-reduce among themselves */
	double memory;   /* bytes that it takes in each switch that aggregates for it */
};

struct plan_jobs {
	unsigned count;
	struct plan_job jobs[PLAN_JOBS_MAX];
};

/*
 * Reads a file, or `text` if it is not NULL; then `path` only names it in messages. Also sets the
 * graph's capacities. Returns false, with one line in `error` that names file, field and value.
 */
bool plan_jobs_read(struct plan_jobs *jobs, struct plan_graph *graph,
                    const struct topology *topology, const char *path, const char *text,
                    char error[PLAN_ERROR_BYTES]);

#endif
