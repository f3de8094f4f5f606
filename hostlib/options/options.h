/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a communicator, after defaults, environment and checks. */
#ifndef INA_OPTIONS_OPTIONS_H
#define INA_OPTIONS_OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "error.h"
#include "job.h"

/* Packets under way on a connection: an aggregator's history, and rdma_rxe's RXE_MAX_UNACKED_PSNS.
 */
#define INA_WINDOW_PACKETS_MAX 128u

#define INA_DEFAULT_MESSAGE_PACKETS 16u

/* Where congestion is controlled: the least that can be under way is one message. */
#define INA_SHORT_MESSAGE_PACKETS 4u

/*
 * Messages in a window that is smaller than what was asked for, if it has as many packets. A window
 * moves on by whole messages, so with few of them much of it waits for the rest of one.
 */
#define INA_FIT_MESSAGES 16u

struct ina_settings {
	struct ina_options options; /* strings are not to be used any more */
	int64_t deadline_ms;        /* of all that ina_open() waits for until the ranks have met */
	struct ina_job job;
	struct sockaddr_in root; /* port filled in */
	int root_ports;          /* from that one on: rank 0 takes the first that is free */
	struct sockaddr_in bind; /* sin_addr 0: not given */
	char device[64];         /* "": not given */
	unsigned int receives;   /* posted ahead by the window, messages */
	unsigned int tree;       /* of aggregated connections (docs/protocol.md, Trees): */
	bool keeps_tree;         /* not only to begin with */
	unsigned int intra_gbps; /* of a rank's link inside its machine; 0: not modelled */
	bool can_meet; /* rank, rank count, job and root are known: a failure can be sent to rank 0
	                */
	int listener;  /* where rank 0 waits already; -1: it has yet to listen at the root */
};

/*
 * Fills `settings` from `options` (NULL: all defaults) and, where they leave a thing open, from
 * the environment. Returns INA_OK, INA_ERR_ARGUMENT or, where a name is not resolved,
 * INA_ERR_TIMEOUT; then can_meet says whether the other ranks can learn of the failure.
 */
enum ina_status ina_settings_make(struct ina_settings *settings, const struct ina_options *options,
                                  struct ina_failure *failure);

/*
 * 8 ACK timeouts: what is lost a few times in a row comes within it. Who gives the aggregator up
 * sooner loses it by a lost packet.
 */
int ina_losses_ms(const struct ina_options *options);

/*
 * Checks what can only be known with the path MTU, and fills in message_bytes if that is 0.
 * Sets *window_packets to what a JOIN asks for: the power of two in which the window has room, for
 * aggregators grant no other numbers. Returns INA_OK or INA_ERR_ARGUMENT.
 */
enum ina_status ina_settings_fit(struct ina_settings *settings, unsigned int path_mtu,
                                 unsigned int *window_packets, struct ina_failure *failure);

/* Messages of a window at most, whatever is granted. */
unsigned int ina_window_most(unsigned int window);

/*
 * Makes a window of messages, with message_bytes at most in each, fit into so many packets that
 * were granted, 1 at least: by shorter messages of whole packets, INA_FIT_MESSAGES of them or
 * more, but no more messages than packets. All ranks come to the same. Where it fits already, it
 * stays.
 */
void ina_window_fit(unsigned int *window, unsigned int *message_bytes, unsigned int path_mtu,
                    unsigned int granted_packets);

#endif
