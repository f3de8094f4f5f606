/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a buffer that a call registers itself, next to that of copying it: the median of nine
 * rounds, each of 100 registrations or copies, since reading the clock is slow in a lab's host.
 *
 *   ina-lab run -q -n 2 -- build/registration
 */
#include <infiniband/verbs.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

enum { ROUNDS = 9, REPEATS = 100 };

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *times)
{
	qsort(times, ROUNDS, sizeof(*times), compare);
	return times[ROUNDS / 2];
}

/* Returns us for each registration and deregistration, or -1 with errno. */
static double register_us(struct ibv_pd *pd, void *buffer, size_t bytes)
{
	const double begin_s = ina_now_s();

	for (int i = 0; i < REPEATS; i++) {
		struct ibv_mr *region = ibv_reg_mr(pd, buffer, bytes, IBV_ACCESS_LOCAL_WRITE);

		if (!region || ibv_dereg_mr(region) != 0)
			return -1;
	}
	return (ina_now_s() - begin_s) * 1e6 / REPEATS;
}

static double copy_us(void *to, const void *from, size_t bytes)
{
	const double begin_s = ina_now_s();

	for (int i = 0; i < REPEATS; i++) {
		memcpy(to, from, bytes);
		__asm__ volatile("" ::"r"(to) : "memory"); /* the compiler must not drop the copy */
	}
	return (ina_now_s() - begin_s) * 1e6 / REPEATS;
}

static int measure(struct ibv_pd *pd, size_t bytes)
{
	double registering[ROUNDS], copying[ROUNDS];
	char *from = malloc(bytes), *to = malloc(bytes);
	int failed = !from || !to;

	if (!failed)
		memset(from, 1, bytes);
	for (int i = 0; i < ROUNDS && !failed; i++) {
		registering[i] = register_us(pd, from, bytes);
		copying[i] = copy_us(to, from, bytes);
		failed = registering[i] < 0;
	}
	if (failed)
		perror("registration");
	else
		printf("%7zu bytes: register and deregister %.1f us, copy %.2f us\n", bytes,
		       median(registering), median(copying));
	free(from);
	free(to);
	return failed;
}

int main(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *device = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
	struct ibv_pd *pd = device ? ibv_alloc_pd(device) : NULL;
	int failed = 0;

	if (!pd) {
		fprintf(stderr, "registration: no RDMA device can be opened\n");
		return 1;
	}
	for (size_t bytes = 4096; bytes <= 1 << 20; bytes *= 4)
		failed |= measure(pd, bytes);
	return failed;
}
