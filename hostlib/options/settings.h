/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a communicator, after defaults, environment and checks. */
#ifndef INA_OPTIONS_SETTINGS_H
#define INA_OPTIONS_SETTINGS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "device_list.h"
#include "error.h"
#include "job.h"
#include "sources.h"

#define INA_DEFAULT_MESSAGE_PACKETS 16u

/*
 * Packets of a message under congestion control: the window can shrink to one message, so messages
 * are short.
 */
#define INA_SHORT_MESSAGE_PACKETS 4u

/*
 * If the grant is smaller than the requested window, a window has this number of messages, provided
 * that it has as many packets. A window advances by whole messages: with few messages, a large part
 * of it would wait for the rest of a message.
 */
#define INA_FIT_MESSAGES 16u

struct ina_settings {
	/* Complete; a switch is 0 or 1. Its strings must not be used: they are NULL. */
	struct ina_options options;
	struct ina_variables variables;
	int64_t deadline_ms; /* until when ina_open() may wait for the ranks to meet */
	struct ina_job job;
	struct sockaddr_in root; /* with its port */
	/* rank 0 takes the first free port of these, from root's port on */
	int root_ports;
	struct ina_port_range ports;       /* INA_PORTS; count 0: any */
	struct sockaddr_in bind;           /* sin_addr is 0 if not given */
	char device[INA_DEVICE_LIST_SIZE]; /* "" if not given */
	char log_file[INA_LOG_FILE_SIZE];
	unsigned int receives; /* messages for which the window posts receives in advance */
	/* the tree of the aggregated connections (docs/protocol.md, Trees) */
	unsigned int tree;
	/* the number of this strand on its host, for its device of the list */
	unsigned int strand;
	bool keeps_tree; /* stay on that tree, and do not look for another one */
	/* rank, rank count, job and root are known, so rank 0 can learn of a failure */
	bool can_meet;
	/* the socket on which rank 0 already listens; -1: rank 0 has yet to open one at the root */
	int listener;
	const atomic_bool *stop; /* set when the program stops the opening; NULL: it cannot */
};

/*
 * Fills `settings` from `options` (NULL: all defaults); the environment and files supply values
 * that the options leave open. Returns INA_OK, INA_ERR_ARGUMENT, INA_ERR_MEMORY, or
 * INA_ERR_TIMEOUT if a name was not resolved in time. After an error, can_meet says whether the
 * other ranks can learn of it.
 */
enum ina_status ina_settings_make(struct ina_settings *settings, const struct ina_options *options,
                                  struct ina_failure *failure);

/*
 * The same without what needs other hosts: rank, rank count, job and root are as given, not as the
 * launcher says. The strings of settings->options are the caller's. Returns INA_OK or
 * INA_ERR_ARGUMENT.
 */
enum ina_status ina_settings_read(struct ina_settings *settings, struct ina_sources *sources,
                                  const struct ina_options *options, struct ina_failure *failure);

/*
 * 8 ACK timeouts, in milliseconds. A packet that is lost a few times in a row still arrives within
 * this time. With a shorter limit, one lost packet could make a rank give up the aggregator.
 */
int ina_losses_ms(const struct ina_options *options);

/*
 * Makes the checks that need the path MTU, and sets message_bytes if it is 0. Sets *window_packets
 * to the window that the JOIN asks for: the window rounded up to a power of two of packets, since
 * aggregators grant only powers of two. Returns INA_OK or INA_ERR_ARGUMENT.
 */
enum ina_status ina_settings_fit(struct ina_settings *settings, unsigned int path_mtu,
                                 unsigned int *window_packets, struct ina_failure *failure);

/* The largest number of messages that ina_window_fit() makes of a window of this length. */
unsigned int ina_window_most(unsigned int window);

/*
 * Makes a window of `*window` messages of at most `*message_bytes` bytes fit into granted_packets
 * packets (at least 1). If it does not fit yet, the messages become shorter: whole packets, and at
 * least INA_FIT_MESSAGES messages, but not more messages than packets. All ranks compute the same
 * result from the same arguments.
 */
void ina_window_fit(unsigned int *window, unsigned int *message_bytes, unsigned int path_mtu,
                    unsigned int granted_packets);

#endif
