/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the variables that launchers set. */
#include "launch.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"

struct launcher {
	const char *name;
	const char *rank;
	const char *ranks; /* NULL: this launcher sets no rank count */
	/* if this variable is set, the launcher runs inside one that comes later in the table */
	const char *inner_by;
	const char *job[2]; /* variables that together identify the job */
};

/*
 * Inner launchers come first. Daemons of mpirun and mpiexec run in a step of srun, whose numbers
 * count the daemons and not the ranks. RANK and WORLD_SIZE may be torchrun's, or may be left over
 * in a shell. PMIX_RANK comes from Open MPI 5's prterun and from srun --mpi=pmix. A torchrun
 * without a rendezvous has the id "none", but its port differs from those of other jobs. MPICH has
 * no id for a job; its batch system may have one.
 */
static const struct launcher LAUNCHERS[] = {
        {"torchrun",
         "RANK",
         "WORLD_SIZE",
         "TORCHELASTIC_RUN_ID",
         {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
        {"Open MPI",
         "OMPI_COMM_WORLD_RANK",
         "OMPI_COMM_WORLD_SIZE",
         "SLURM_PROCID",
         {"PMIX_NAMESPACE"}},
        {"MPICH", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", {"PBS_JOBID"}},
        {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL, {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
        {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", NULL, {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
        {"PMIx", "PMIX_RANK", NULL, NULL, {"PMIX_NAMESPACE"}},
};

#define LAUNCHER_COUNT (sizeof(LAUNCHERS) / sizeof(LAUNCHERS[0]))

static enum ina_status read_number(const char *name, int minimum, int *value,
                                   struct ina_failure *failure)
{
	const char *text = getenv(name);

	if (ina_parse_int(text, minimum, INT_MAX, value) == 0)
		return INA_OK;
	return ina_fail(failure, INA_ERR_ARGUMENT,
	                "%s is \"%.40s\": it must be a number, %d or more; unset it, or set "
	                "INA_RANK and INA_RANKS",
	                name, text, minimum);
}

static bool speaks(const struct launcher *launcher)
{
	return getenv(launcher->rank) && (!launcher->ranks || getenv(launcher->ranks));
}

static void read_job(const struct launcher *launcher, struct ina_launch *launch)
{
	const char *first = getenv(launcher->job[0]);
	const char *second = launcher->job[1] ? getenv(launcher->job[1]) : "";

	if (first && second)
		snprintf(launch->job, sizeof(launch->job), "%s %.100s.%.60s", launcher->name, first,
		         second);
}

static enum ina_status read_launcher(const struct launcher *launcher, struct ina_launch *launch,
                                     struct ina_failure *failure)
{
	*launch = (struct ina_launch){.launcher = launcher->name,
	                              .rank_name = launcher->rank,
	                              .ranks_name = launcher->ranks};
	read_job(launcher, launch);
	if (launcher->ranks && read_number(launcher->ranks, 1, &launch->ranks, failure) != INA_OK)
		return failure->status;
	return read_number(launcher->rank, 0, &launch->rank, failure);
}

static enum ina_status compare(const struct ina_launch *a, const struct ina_launch *b,
                               struct ina_failure *failure)
{
	bool rank_differs = a->rank != b->rank;

	if (!rank_differs && (!a->ranks_name || !b->ranks_name || a->ranks == b->ranks))
		return INA_OK;
	return ina_fail(failure, INA_ERR_ARGUMENT,
	                "%s says %s=%d, but %s says %s=%d: unset the wrong ones, or set INA_RANK "
	                "and INA_RANKS",
	                a->launcher, rank_differs ? a->rank_name : a->ranks_name,
	                rank_differs ? a->rank : a->ranks, b->launcher,
	                rank_differs ? b->rank_name : b->ranks_name,
	                rank_differs ? b->rank : b->ranks);
}

enum ina_status ina_launch_ranks(struct ina_launch *launch, struct ina_failure *failure)
{
	bool innermost = false;

	*launch = (struct ina_launch){0};
	for (size_t i = 0; i < LAUNCHER_COUNT && !innermost; i++) {
		struct ina_launch next;

		if (!speaks(&LAUNCHERS[i]))
			continue;
		if (read_launcher(&LAUNCHERS[i], &next, failure) != INA_OK)
			return failure->status;
		if (launch->launcher && compare(launch, &next, failure) != INA_OK)
			return failure->status;
		if (!launch->launcher)
			*launch = next;
		else if (!launch->job[0])
			memcpy(launch->job, next.job, sizeof(launch->job));
		innermost = LAUNCHERS[i].inner_by && getenv(LAUNCHERS[i].inner_by);
	}
	return INA_OK;
}

void ina_launch_half(char *text, size_t size)
{
	text[0] = '\0';
	for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
		const struct launcher *launcher = &LAUNCHERS[i];
		bool says_rank = getenv(launcher->rank) != NULL;

		if (!launcher->ranks || says_rank == (getenv(launcher->ranks) != NULL))
			continue;
		snprintf(text, size, " (%s is set, but not %s)",
		         says_rank ? launcher->rank : launcher->ranks,
		         says_rank ? launcher->ranks : launcher->rank);
		return;
	}
}

/* Extracts the first name of a node list: "node[003-010,12]-ib,other" begins with node003-ib. */
static void first_node(const char *list, char *name, size_t size)
{
	size_t length = 0;

	for (const char *at = list; *at && *at != ',' && length + 1 < size; at++) {
		if (*at != '[') {
			name[length++] = *at;
			continue;
		}
		for (at++; isdigit((unsigned char)*at) && length + 1 < size; at++)
			name[length++] = *at;
		while (*at && *at != ']')
			at++;
		if (!*at)
			break;
	}
	name[length] = '\0';
}

static enum ina_status torch_root(struct ina_launch_root *root, struct ina_failure *failure)
{
	const char *address = getenv("MASTER_ADDR");
	const char *port_text = getenv("MASTER_PORT");
	int port;

	root->name = "MASTER_ADDR";
	snprintf(root->text, sizeof(root->text), "%.255s", address);
	if (!port_text)
		return INA_OK;
	if (ina_parse_int(port_text, 1, 65534, &port) != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "MASTER_PORT is \"%.40s\": it must be a number from 1 to "
		                "65534, since libina uses the port after it; or set INA_ROOT",
		                port_text);
	snprintf(root->text, sizeof(root->text), "%.255s:%d", address, port + 1);
	return INA_OK;
}

static void one_host_root(const char *here_name, const char *all_name, struct ina_launch_root *root)
{
	const char *here = getenv(here_name);
	const char *all = getenv(all_name);

	if (!here || !all || strcmp(here, all) != 0)
		return;
	root->name = here_name;
	snprintf(root->text, sizeof(root->text), "127.0.0.1");
}

/*
 * Open MPI 4 gives the address of mpirun's host:
 * "2101215232.0;tcp://192.0.2.2,10.0.0.2:60515;tcp6://[fd00::2]:40991". Open MPI 5 gives only its
 * name, in the middle of the job's name: "prterun-node7-4711@1".
 */
static void open_mpi_root(struct ina_launch_root *root)
{
	static const char prefix[] = "prterun-";
	const char *uri = getenv("OMPI_MCA_orte_hnp_uri");
	const char *tcp = uri ? strstr(uri, ";tcp://") : NULL;
	const char *job = getenv("PMIX_NAMESPACE");
	const char *end;

	if (tcp) {
		tcp += strlen(";tcp://");
		root->name = "OMPI_MCA_orte_hnp_uri";
		snprintf(root->text, sizeof(root->text), "%.*s", (int)strspn(tcp, "0123456789."),
		         tcp);
		return;
	}
	one_host_root("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE", root);
	if (root->name || !job || strncmp(job, prefix, strlen(prefix)) != 0)
		return;
	job += strlen(prefix);
	end = strrchr(job, '-');
	root->name = "PMIX_NAMESPACE";
	snprintf(root->text, sizeof(root->text), "%.*s", end ? (int)(end - job) : 0, job);
}

static void slurm_root(struct ina_launch_root *root, int64_t deadline_ms)
{
	static const char *const lists[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"};
	struct sockaddr_in ignored;

	for (size_t i = 0; i < 2; i++) {
		const char *list = getenv(lists[i]);

		if (!list)
			continue;
		root->name = lists[i];
		first_node(list, root->text, sizeof(root->text));
		if (ina_address_parse(root->text, deadline_ms, &ignored) == 0)
			return;
	}
	if (!getenv("SLURM_LAUNCH_NODE_IPADDR"))
		/* a name that does not resolve; the caller reports it when it parses the address */
		return;
	root->name = "SLURM_LAUNCH_NODE_IPADDR";
	snprintf(root->text, sizeof(root->text), "%s", getenv(root->name));
}

enum ina_status ina_launch_find_root(struct ina_launch_root *root, int64_t deadline_ms,
                                     struct ina_failure *failure)
{
	*root = (struct ina_launch_root){.text = ""};
	if (getenv("MASTER_ADDR"))
		return torch_root(root, failure);
	if (getenv("OMPI_COMM_WORLD_RANK"))
		open_mpi_root(root);
	if (!root->name && getenv("SLURM_PROCID"))
		slurm_root(root, deadline_ms);
	/* Hydra names only the host that the process runs on, and the number of ranks there. */
	if (!root->name && getenv("PMI_RANK"))
		one_host_root("MPI_LOCALNRANKS", "PMI_SIZE", root);
	return INA_OK;
}
