/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a flat communicator has on the network: its connections and their
 * completions, registered memory, and the state of the two algorithms that use these.
 */
#ifndef INA_ALGORITHMS_NETWORK_H
#define INA_ALGORITHMS_NETWORK_H

#include "hosts.h"
#include "in_network.h"
#include "tree.h"

struct ina_network {
	struct ina_fabric fabric;
	struct ina_completions completions;
	struct ina_memory memory;
	struct ina_innet innet;
	struct ina_hosts hosts;
	struct ina_tree tree;        /* of the switches; its arrays are in the memory */
	uint8_t *spare;              /* registered: the sums of a window, and 16 bytes */
	unsigned int window_packets; /* what a JOIN says */
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

/* A JOIN or a LEAVE of this rank: returns whether it came back as a sum of all ranks. */
bool ina_network_exchange(struct ina_network *network, enum ina_wire_type type, int timeout_ms);

/*
 * Finds out where the ranks are: a TRACE on the aggregated connection, which is no flow yet, and an
 * all-reduce among the hosts of what all ranks' TRACEs have met. network->tree has it, the same on
 * all ranks. Gives up when another rank has failed.
 *
 * In two parts, all ranks having done the first before one begins the second: no aggregator holds
 * a TRACE back until its receiver is there, as it does with a JOIN, and what comes too early is
 * only sent again after the RNR timer, which rdma_rxe counts in jiffies. The first part does
 * nothing, and then the second one, where a TRACE is longer than a message may be.
 */
enum ina_status ina_network_expect_trace(struct ina_network *network, struct ina_failure *failure);
enum ina_status ina_network_trace(struct ina_network *network, int timeout_ms, int64_t deadline_ms,
                                  struct ina_failure *failure);

/* The aggregated connections end; what they still complete is ignored. */
void ina_network_drop_aggregated(struct ina_network *network);

/* Fresh aggregated connections have been made: in-network all-reduces are to use them. */
void ina_network_renew_aggregated(struct ina_network *network);

#endif
