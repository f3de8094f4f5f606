/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flat communicator has on the network: its connections and their
 * completions, registered memory, and the state of the algorithms that use these.
 */
#ifndef INA_ALGORITHMS_NETWORK_H
#define INA_ALGORITHMS_NETWORK_H

#include "apart.h"
#include "hosts.h"
#include "in_network.h"
#include "lookout.h"
#include "spread.h"

struct ina_network {
	struct ina_fabric fabric;
	struct ina_completions completions;
	struct ina_memory memory;
	struct ina_innet innet;
	struct ina_hosts hosts;     /* in place of the aggregator */
	struct ina_apart apart;     /* beside it */
	struct ina_lookout lookout; /* for it, while it is not in use */
	struct ina_doubling doubling;
	struct ina_tree tree;        /* of the switches; its arrays are in the memory */
	struct ina_spread spread;    /* how that was chosen */
	uint8_t *spare;              /* registered: the sums of a window, and 16 bytes */
	unsigned int window_packets; /* what a JOIN asks for */
	bool plain; /* api/plain.h: what comes back is the predecessor's, and no sum */
};

/*
 * After the connections are made: memory for messages, and both algorithms on them. control and
 * settings outlive the network; message_bytes of the settings is filled in.
 */
enum ina_status ina_network_open(struct ina_network *network, struct ina_control *control,
                                 struct ina_settings *settings, uint64_t job_id,
                                 struct ina_failure *failure);

/* The connections are gone when it returns, and then the memory. Safe at any stage. */
void ina_network_close(struct ina_network *network);

/* Waits until the lookout is over. */
void ina_network_await_trace(struct ina_network *network, int timeout_ms);

/*
 * Is the JOIN that was started over? It has come back, or no JOIN of this job can: this rank's or
 * another one's was refused, as what came back or another rank's vote says.
 */
bool ina_network_join_is_over(const struct ina_network *network);

/* A JOIN of this rank, until it is over: returns whether it came back as a sum of all ranks. */
bool ina_network_join(struct ina_network *network, int timeout_ms);

/* A LEAVE of this rank. */
void ina_network_leave(struct ina_network *network, int timeout_ms);

/*
 * All ranks' JOINs have come back as sums, which granted this at least: from here on, windows and
 * messages are of so many packets. Before the first message of data.
 */
void ina_network_take_grant(struct ina_network *network, uint32_t packets);

/* The window and the size of messages in use, by the aggregator or by the ring. */
void ina_network_describe(const struct ina_network *network, struct ina_stats *stats);

/*
 * The aggregated connections end; what they still complete is ignored. Transfers under way are
 * forgotten by drop, and stay as they were with end, for what is to be known of them.
 */
void ina_network_drop_aggregated(struct ina_network *network);
void ina_network_end_aggregated(struct ina_network *network);

/* Fresh aggregated connections have been made: in-network all-reduces are to use them. */
void ina_network_renew_aggregated(struct ina_network *network);

#endif
