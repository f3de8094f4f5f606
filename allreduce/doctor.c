/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what the ranks need together: connections between neighbours, and the aggregator. */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>

#include "doctor_host.h"
#include "finding.h"
#include "pattern.h"
#include "perf_open.h"

/* Many full messages of the largest packets, to detect a path that lets only small ones through. */
#define PROBE_COUNT     (1u << 18)
#define PROBE_TIMEOUT_S 10

static const char *remedy(enum ina_status status)
{
	switch (status) {
	case INA_ERR_ARGUMENT:
		return "see ENVIRONMENT in `man 7 ina`, or start it with mpirun, srun or torchrun";
	case INA_ERR_MISMATCH:
		return "start all ranks with the same options";
	case INA_ERR_TIMEOUT:
		return "start --doctor on all hosts; let firewalls pass TCP between all of them "
		       "and UDP port 4791; give switches at least the hosts' MTU";
	case INA_ERR_PEER:
		return "see the output of that rank";
	case INA_ERR_DEVICE:
		return "see the lines above on all hosts; INA_BIND selects another address";
	case INA_ERR_MEMORY:
		return "raise the limit on locked memory: ulimit -l unlimited";
	case INA_ERR_AGGREGATOR:
		return "turn aggregation on in the switch between the hosts, with one rank per "
		       "port, or wait until it has room for another job (`ina-ctl why` there says "
		       "which); until then all-reduce uses the ring";
	default:
		return "see the message";
	}
}

static void tell_failure(const char *what, enum ina_status status, const char *text,
                         const char *advice)
{
	finding_print(FINDING_FAILED, what, "%s: %s -- remedy: %s", ina_status_name(status), text,
	              advice);
}

/*
 * Returns whether the aggregator summed all messages. If it was lost after it had admitted the
 * ranks, the ring has taken over, and this prints a failure.
 */
static bool by_algorithm(const char *what, const ina_comm *comm)
{
	struct ina_stats stats;

	ina_comm_stats(comm, &stats, sizeof(stats));
	if (stats.algorithm != INA_ALGORITHM_INA || stats.messages_ring == 0)
		return true;
	finding_print(FINDING_FAILED, what,
	              "the aggregator was lost: %llu messages used the ring -- remedy: see the log "
	              "of the switch",
	              (unsigned long long)stats.messages_ring);
	return false;
}

static enum ina_status add(ina_comm *comm, const struct pattern *pattern, int32_t *data,
                           size_t count)
{
	pattern_fill(pattern, ina_comm_rank(comm), data, count);
	return ina_allreduce(comm, data, data, count, INA_INT32, INA_SUM);
}

/*
 * Makes a small and a large all-reduce. Returns whether the large one's result was right, and
 * prints a failure if not.
 */
static bool probe(const char *what, enum ina_algorithm algorithm, ina_comm *comm)
{
	struct pattern pattern = {
	        .type = INA_INT32, .op = INA_SUM, .seed = 1, .ranks = ina_comm_ranks(comm)};
	int32_t *data = calloc(PROBE_COUNT, sizeof(*data));
	size_t first;
	uint64_t wrong = 0;
	enum ina_status status;
	const char *advice = NULL;
	bool fine = false;

	if (!data) {
		finding_print(FINDING_FAILED, what, "no memory for a buffer of 1 MiB");
		return false;
	}
	status = add(comm, &pattern, data, 1);
	if (status == INA_OK) {
		status = add(comm, &pattern, data, PROBE_COUNT);
		if (status == INA_ERR_TIMEOUT && algorithm == INA_ALGORITHM_RING)
			advice = "a small message arrived, but not 1 MiB: give all switches "
			         "between the hosts at least the hosts' MTU, or more time with "
			         "--timeout";
	}
	if (status == INA_OK)
		wrong = pattern_check(&pattern, data, PROBE_COUNT, &first, NULL);
	if (status != INA_OK)
		tell_failure(what, status, ina_error(comm), advice ? advice : remedy(status));
	else if (wrong > 0)
		finding_print(FINDING_FAILED, what,
		              "%llu of %u elements of a sum are wrong -- remedy: report this bug; "
		              "use --algorithm ring until it is fixed",
		              (unsigned long long)wrong, PROBE_COUNT);
	else
		fine = by_algorithm(what, comm);
	free(data);
	return fine;
}

/*
 * Opens a communicator with one algorithm, probes it, closes it and prints the result. Sets *ranks
 * to the number of ranks. Returns false if a step failed.
 */
static bool look_at(const struct perf_options *options, enum ina_algorithm algorithm,
                    const char *what, int *ranks)
{
	char why[INA_ERROR_SIZE];
	struct ina_stats stats;
	ina_comm *comm;
	int rank;
	bool fine;
	enum ina_status status =
	        perf_open(options, algorithm, options->schedule, &comm, why, sizeof(why));

	if (status != INA_OK) {
		tell_failure(what, status, why, remedy(status));
		return false;
	}
	rank = ina_comm_rank(comm);
	*ranks = ina_comm_ranks(comm);
	ina_comm_stats(comm, &stats, sizeof(stats));
	fine = probe(what, algorithm, comm);
	status = ina_close(comm);
	if (fine && status != INA_OK) {
		tell_failure(what, status, "the ranks did not all close their communicators",
		             remedy(status));
		return false;
	}
	if (!fine)
		return false;
	if (*ranks == 1)
		finding_print(FINDING_SKIPPED, what, "a single rank has no neighbours");
	else if (algorithm == INA_ALGORITHM_RING)
		finding_print(FINDING_OK, what,
		              "rank %d of %d: to rank %d and from rank %d on %s, path MTU %u", rank,
		              *ranks, (rank + 1) % *ranks, (rank + *ranks - 1) % *ranks,
		              stats.device, stats.path_mtu);
	else
		finding_print(FINDING_OK, what, "joined the %d ranks and summed 1 MiB", *ranks);
	return true;
}

int doctor(const struct perf_options *options)
{
	struct perf_options with_timeout = *options;
	bool host = doctor_host();
	bool aggregator = true;
	int ranks = 0;
	/* A host whose own checks fail still takes part, since the other ranks wait for it. */
	bool neighbours;

	with_timeout.timeout_s = options->timeout_s ? options->timeout_s : PROBE_TIMEOUT_S;
	neighbours = look_at(&with_timeout, INA_ALGORITHM_RING, "neighbours", &ranks);
	if (!neighbours)
		finding_print(FINDING_SKIPPED, "aggregator",
		              "not checked: the ranks do not reach each other");
	else if (options->algorithm == INA_ALGORITHM_RING)
		finding_print(FINDING_SKIPPED, "aggregator", "not checked: --algorithm ring");
	else if (ranks == 1)
		finding_print(FINDING_SKIPPED, "aggregator",
		              "not checked: a single rank needs no aggregator");
	else
		aggregator = look_at(&with_timeout, INA_ALGORITHM_INA, "aggregator", &ranks);
	return host && neighbours && aggregator ? EXIT_SUCCESS : EXIT_FAILURE;
}
