/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a flat communicator: its connections and their completions, registered memory, and
 * the state of the algorithms that use these.
 */
#ifndef INA_ALGORITHMS_NETWORK_H
#define INA_ALGORITHMS_NETWORK_H

#include "apart.h"
#include "hosts.h"
#include "in_network.h"
#include "lookout.h"
#include "spread.h"

struct ina_network {
	struct ina_transport transport;
	struct ina_completions completions;
	struct ina_memory memory;
	struct ina_innet innet;
	struct ina_hosts hosts;     /* used in place of the aggregator */
	struct ina_apart apart;     /* for calls that bypass the aggregator */
	struct ina_lookout lookout; /* for aggregators, while none is in use */
	struct ina_doubling doubling;
	struct ina_tree tree;     /* of the switches; its arrays are in `memory` */
	struct ina_spread spread; /* how that tree was chosen */
	/* registered; room for the sums of a window, and 16 bytes more */
	uint8_t *spare;
	unsigned int window_packets; /* the window that a JOIN asks for, in packets */
	bool plain; /* api/plain.h: received messages are the predecessor's, and no sums */
};

/*
 * Allocates the memory for messages and opens the algorithms, after the connections were made.
 * control and settings must outlive the network; sets message_bytes of the settings if it is 0.
 */
enum ina_status ina_network_open(struct ina_network *network, struct ina_control *control,
                                 struct ina_settings *settings, uint64_t job_id,
                                 struct ina_failure *failure);

/* Closes the connections, and then frees the memory. Safe at any stage. */
void ina_network_close(struct ina_network *network);

/*
 * Has the JOIN that was started ended? It has come back, or no JOIN of this job can come back as a
 * sum: this rank's or another rank's was refused, as a received JOIN or another rank's vote shows.
 */
bool ina_network_join_is_over(const struct ina_network *network);

/* Sends a LEAVE, and waits up to timeout_ms for the predecessor's. */
void ina_network_leave(struct ina_network *network, int timeout_ms);

/*
 * Called when all ranks' JOINs have come back as sums. packets: the smallest grant of all ranks, to
 * which the window and the messages are fitted from now on. To be called before the first message
 * of data.
 */
void ina_network_take_grant(struct ina_network *network, uint32_t packets);

/* Reports the window and the message length in use, by the aggregator or by the ring. */
void ina_network_describe(const struct ina_network *network, struct ina_stats *stats);

/*
 * End the aggregated connections; their later completions are ignored.
 * ina_network_drop_aggregated() also forgets the transfers under way. ina_network_end_aggregated()
 * keeps their state, because the caller may still need it.
 */
void ina_network_drop_aggregated(struct ina_network *network);
void ina_network_end_aggregated(struct ina_network *network);

/* Prepares the in-network algorithm for fresh aggregated connections, which have just been made. */
void ina_network_renew_aggregated(struct ina_network *network);

#endif
