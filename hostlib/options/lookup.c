/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A separate thread waits for the resolver, and the caller waits for that thread until the
 * deadline. Whichever of the two ends last frees the memory that they share.
 */
#include "lookup.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/deadline.h"
#include "common/thread.h"

struct lookup {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_done;
	bool is_abandoned;
	bool is_found;
	struct in_addr address;
	char host[];
};

static void free_lookup(struct lookup *lookup)
{
	pthread_cond_destroy(&lookup->wake);
	pthread_mutex_destroy(&lookup->lock);
	free(lookup);
}

static void *resolve(void *context)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct lookup *lookup = context;
	struct addrinfo *found = NULL;
	bool is_abandoned;

	if (getaddrinfo(lookup->host, NULL, &hints, &found) != 0)
		found = NULL;
	pthread_mutex_lock(&lookup->lock);
	if (found)
		lookup->address =
		        ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr;
	lookup->is_found = found != NULL;
	lookup->is_done = true;
	is_abandoned = lookup->is_abandoned;
	pthread_cond_signal(&lookup->wake);
	pthread_mutex_unlock(&lookup->lock);
	if (found)
		freeaddrinfo(found);
	if (is_abandoned)
		free_lookup(lookup);
	return NULL;
}

static struct lookup *make(const char *host)
{
	size_t length = strlen(host) + 1;
	struct lookup *lookup = calloc(1, sizeof(*lookup) + length);
	pthread_condattr_t monotonic;

	if (!lookup)
		return NULL;
	memcpy(lookup->host, host, length);
	pthread_mutex_init(&lookup->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&lookup->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return lookup;
}

/* Returns 0 or an errno. */
static int start(struct lookup *lookup)
{
	pthread_t thread;
	int error = ina_thread_start(&thread, resolve, lookup);

	if (error == 0)
		pthread_detach(thread);
	return error;
}

static bool await(struct lookup *lookup, int64_t deadline_ms)
{
	const struct timespec end = {.tv_sec = deadline_ms / 1000,
	                             .tv_nsec = deadline_ms % 1000 * 1000000};
	bool is_done;

	pthread_mutex_lock(&lookup->lock);
	while (!lookup->is_done &&
	       pthread_cond_timedwait(&lookup->wake, &lookup->lock, &end) != ETIMEDOUT)
		continue;
	is_done = lookup->is_done;
	lookup->is_abandoned = !is_done;
	pthread_mutex_unlock(&lookup->lock);
	return is_done;
}

int ina_lookup(const char *host, int64_t deadline_ms, struct in_addr *address)
{
	struct lookup *lookup = make(host);
	int error = lookup ? start(lookup) : ENOMEM;

	if (error == 0 && !await(lookup, deadline_ms)) {
		errno = ETIMEDOUT;
		return -1;
	}
	if (error == 0 && !lookup->is_found)
		error = ENOENT;
	if (error == 0)
		*address = lookup->address;
	if (lookup)
		free_lookup(lookup);
	errno = error;
	return error == 0 ? 0 : -1;
}
