/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the program's all-gather, and the judgement of what it returned. */
#include "exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "credential.h"
#include "hello.h"

/* What a rank contributes: the same size in all versions, so that versions can be compared. */
union contribution {
	struct {
		uint64_t magic;  /* INA_CONTROL_MAGIC */
		uint64_t job_id; /* that of rank 0 becomes the communicator's */
		uint32_t rank;
		struct ina_hello hello;
	};
	uint8_t bytes[INA_EXCHANGE_BYTES];
};

static enum ina_status call_program(const struct ina_settings *settings,
                                    const union contribution *own, union contribution *all,
                                    struct ina_failure *failure)
{
	const struct ina_options *options = &settings->options;
	int code = options->exchange(options->exchange_context, own, all, sizeof(*own));

	if (code != 0)
		return ina_fail(failure, INA_ERR_SYSTEM,
		                "the program's exchange between the ranks failed with code %d",
		                code);
	for (int r = 0; r < options->ranks; r++) {
		if (all[r].magic != INA_CONTROL_MAGIC)
			return ina_fail(failure, INA_ERR_MISMATCH,
			                "rank %d has another version of libina, or the program's "
			                "exchange did not return its %zu bytes",
			                r, sizeof(*own));
		if (all[r].rank != (uint32_t)r)
			return ina_fail(failure, INA_ERR_ARGUMENT,
			                "the program's exchange returned rank %u's bytes in the "
			                "place of rank %d's",
			                all[r].rank, r);
	}
	if (memcmp(&all[options->rank], own, sizeof(*own)) != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the program's exchange returned other bytes than this rank, %d, "
		                "gave it",
		                options->rank);
	return INA_OK;
}

/* The first rank that cannot take part, or that has other options, ends the opening for all. */
static enum ina_status judge(const union contribution *all, int ranks, struct ina_failure *failure)
{
	for (int r = 0; r < ranks; r++) {
		const struct ina_hello *hello = &all[r].hello;

		if (hello->status != INA_OK)
			return ina_fail(failure, hello->status, "rank %d: %.*s", r,
			                INA_CONTROL_TEXT - 1, hello->text);
		if (ina_hello_compare(&all[0].hello, (uint32_t)r, hello, failure) != INA_OK)
			return failure->status;
	}
	return INA_OK;
}

enum ina_status ina_exchange(const struct ina_settings *settings, const struct ina_endpoint *local,
                             struct ina_roster *roster, struct ina_failure *failure)
{
	const int ranks = settings->options.ranks;
	union contribution *all = calloc((size_t)ranks, sizeof(*all));
	union contribution own = {.bytes = {0}};

	_Static_assert(sizeof(own) == INA_EXCHANGE_BYTES, "INA_EXCHANGE_BYTES is too small");
	if (!all)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for the exchange");
	if (settings->options.rank >= ranks) {
		free(all);
		return ina_fail(failure, INA_ERR_ARGUMENT, "rank %d of %d: ranks are 0 to %d",
		                settings->options.rank, ranks, ranks - 1);
	}
	own.magic = INA_CONTROL_MAGIC;
	own.rank = (uint32_t)settings->options.rank;
	if (ina_random_number(&own.job_id) != 0 && failure->status == INA_OK)
		ina_fail(failure, INA_ERR_SYSTEM, "cannot get a random number for the job: %s",
		         strerror(errno));
	own.hello = ina_hello_make(settings, local, failure);
	failure->status = INA_OK;
	if (call_program(settings, &own, all, failure) == INA_OK)
		judge(all, ranks, failure);
	roster->job_id = all[0].job_id;
	for (int r = 0; r < ranks && failure->status == INA_OK; r++)
		roster->endpoints[r] = all[r].hello.endpoint;
	free(all);
	return failure->status;
}
