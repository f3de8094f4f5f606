/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two channels on two spines, each with its tree. To be run by four ranks, two at each of two
 * leaves, in virtual time, where the second spine's aggregator
 *
 *	check_channels stays     stays
 *	check_channels fails     fails in the first hundred all-reduces, and stays away
 *	check_channels returns   fails then, and returns some time later
 *
 * Exits with 0 if every sum was right, and the statistics agree with ina.h.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ina.h"

#define COUNT     (1u << 16) /* 256 KiB: 5 messages of at most 64 KiB, one step */
#define BYTES     (COUNT * sizeof(int32_t))
#define CALLS     16
#define UNTIL_MAX 200
#define PAUSE_US  10000

/* On a channel when it fails: 8 steps of 4 messages. */
#define UNDER_WAY_BYTES (8 * 4 * 65536)

static int32_t send[COUNT];
static int32_t recv[COUNT];

static int complain(const struct ina_stats *s, const char *why)
{
	fprintf(stderr,
	        "check_channels: %s: %u channels of weights %u and %u, tops %" PRIu64
	        " and %" PRIu64 ", %" PRIu64 " and %" PRIu64 " bytes, %" PRIu64
	        " aggregated, %" PRIu64 " over the ring,  %" PRIu64 " fallbacks, %" PRIu64
	        " rejoins\n",
	        why, s->channels, s->channel_weights[0], s->channel_weights[1], s->channel_tops[0],
	        s->channel_tops[1], s->channel_bytes[0], s->channel_bytes[1], s->bytes_aggregated,
	        s->bytes_ring, s->fallbacks, s->rejoins);
	return -1;
}

static int reduce(ina_comm *comm, int calls, struct ina_stats *stats)
{
	int ranks = ina_comm_ranks(comm);

	for (int call = 0; call < calls; call++) {
		for (size_t i = 0; i < COUNT; i++)
			send[i] = (ina_comm_rank(comm) + 1) * (int32_t)(i + (size_t)call);
		if (ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM) != INA_OK) {
			fprintf(stderr, "check_channels: %s\n", ina_error(comm));
			return -1;
		}
		ina_comm_stats(comm, stats, sizeof(*stats));
		for (size_t i = 0; i < COUNT; i++) {
			if (recv[i] != ranks * (ranks + 1) / 2 * (int32_t)(i + (size_t)call))
				return complain(stats, "a wrong sum");
		}
	}
	return 0;
}

/* The second channel gets the weight at some time; all ranks see it after the same call. */
static int reduce_until(ina_comm *comm, unsigned int weight, struct ina_stats *stats)
{
	for (int call = 0; call < UNTIL_MAX; call++) {
		if (reduce(comm, 1, stats) != 0)
			return -1;
		if (stats->channel_weights[1] == weight)
			return 0;
		usleep(PAUSE_US);
	}
	return complain(stats, "the second channel's weight does not change");
}

/* The same number of elements as before is sent: all by the first channel, or half of them. */
static int check_pieces(ina_comm *comm, unsigned int weight)
{
	struct ina_stats before;
	struct ina_stats s;
	uint64_t first, second;

	/* The change takes effect a fixed number of steps later; each call has several steps. */
	if (reduce(comm, 8, &before) != 0 || reduce(comm, CALLS, &s) != 0)
		return -1;
	first = s.channel_bytes[0] - before.channel_bytes[0];
	second = s.channel_bytes[1] - before.channel_bytes[1];
	if (s.channel_weights[0] != 1 || s.channel_weights[1] != weight)
		return complain(&s, "other weights");
	if (s.bytes_ring != before.bytes_ring || s.fallbacks != before.fallbacks)
		return complain(&s, "some data used the ring");
	/* Tallies, of one word for each channel, count as bytes too. */
	if (first + second < CALLS * BYTES || first + second > CALLS * BYTES + 1000)
		return complain(&s, "elements that are not the calls'");
	if (weight == 0 ? second != 0
	                : first > second + CALLS * 32768 || second > first + CALLS * 32768)
		return complain(&s, "other pieces");
	return 0;
}

static int check(ina_comm *comm, const char *mode)
{
	bool fails = strcmp(mode, "stays") != 0;
	struct ina_stats s;

	if (!fails) {
		ina_comm_stats(comm, &s, sizeof(s));
		if (s.channels != 2 || s.channel_tops[0] == 0 || s.channel_tops[1] == 0 ||
		    s.channel_tops[0] == s.channel_tops[1])
			return complain(&s, "not two trees");
		return check_pieces(comm, 1);
	}
	if (reduce_until(comm, 0, &s) != 0 || check_pieces(comm, 0) != 0)
		return -1;
	ina_comm_stats(comm, &s, sizeof(s));
	if (s.fallbacks != 1 || s.bytes_ring == 0 || s.bytes_ring > UNDER_WAY_BYTES)
		return complain(&s, "more data used the ring than was in flight");
	if (strcmp(mode, "fails") == 0)
		return 0;
	if (reduce_until(comm, 1, &s) != 0 || check_pieces(comm, 1) != 0)
		return -1;
	ina_comm_stats(comm, &s, sizeof(s));
	return s.rejoins == 1 ? 0 : complain(&s, "other numbers of rejoins");
}

int main(int argc, char **argv)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	ina_comm *comm;
	int failed;

	if (argc != 2) {
		fprintf(stderr, "usage: check_channels stays|fails|returns\n");
		return 2;
	}
	ina_options_init(&options);
	options.channels = 2;
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_channels: %s\n", why);
		return 1;
	}
	failed = check(comm, argv[1]);
	if (ina_close(comm) != INA_OK) {
		fprintf(stderr, "check_channels: ina_close failed\n");
		failed = -1;
	}
	return failed != 0;
}
