/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces until one fails, while the test disturbs the hosts. To be run on every rank:
 *
 *	check_until CALLS
 *
 * There are ten milliseconds between two calls. Prints how it ended: "ended after 3.21 s: " with
 * the error, or "continued" if all calls completed. Exits with 1 if a sum was wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "ina.h"

#define COUNT    16384
#define PAUSE_US 10000

static int is_right(const int32_t *sum, int ranks)
{
	for (int32_t i = 0; i < COUNT; i++) {
		if (sum[i] != i * ranks * (ranks + 1) / 2)
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	static int32_t send[COUNT];
	static int32_t sum[COUNT];
	int calls = argc > 1 ? atoi(argv[1]) : 1;
	char why[INA_ERROR_SIZE];
	double start_s;
	ina_comm *comm;

	if (ina_open(NULL, &comm, why, sizeof(why)) != INA_OK) {
		printf("WRONG: ina_open: %s\n", why);
		return 1;
	}
	for (int32_t i = 0; i < COUNT; i++)
		send[i] = i * (ina_comm_rank(comm) + 1);
	start_s = ina_now_s();
	for (int call = 0; call < calls; call++) {
		enum ina_status status = ina_allreduce(comm, send, sum, COUNT, INA_INT32, INA_SUM);

		if (status != INA_OK) {
			printf("ended after %.2f s: %s: %s\n", ina_now_s() - start_s,
			       ina_status_name(status), ina_error(comm));
			ina_close(comm);
			return 0;
		}
		if (!is_right(sum, ina_comm_ranks(comm))) {
			printf("WRONG: a sum\n");
			return 1;
		}
		usleep(PAUSE_US);
	}
	printf("continued\n");
	ina_close(comm);
	return 0;
}
