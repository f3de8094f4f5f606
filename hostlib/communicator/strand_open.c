/* SPDX-License-Identifier: Apache-2.0 */
/* Opens one strand of a communicator: one channel, or the rail of a machine with several ranks. */
#include "strand_open.h"

#include <stdlib.h>
#include <string.h>

#include "common/deadline.h"

unsigned int ina_strand_window(unsigned int window, int strands)
{
	unsigned int share = (2 * window + (unsigned int)strands - 1) / (unsigned int)strands;

	return share < window ? share : window;
}

enum ina_status ina_strand_open(struct ina_comm *comm, const struct ina_strand *strand,
                                ina_connect *connect, struct ina_failure *own)
{
	struct ina_settings settings = comm->settings;
	struct ina_options *options = &settings.options;
	struct ina_comm *made = calloc(1, sizeof(*made));

	options->rank = strand->rank;
	options->ranks = strand->ranks;
	options->schedule = INA_SCHEDULE_FLAT;
	options->channels = strand->channels;
	options->exchange = NULL; /* the ranks know the leader's address */
	options->window = settings.receives = ina_strand_window(options->window, strand->count);
	settings.tree = (comm->settings.tree + strand->trees) % INA_WIRE_TREES;
	settings.strand = comm->settings.strand + strand->trees;
	settings.keeps_tree = true; /* strands use different trees by their numbers */
	settings.root = (struct sockaddr_in){.sin_family = AF_INET,
	                                     .sin_addr.s_addr = strand->leader->address,
	                                     .sin_port = strand->leader->tcp_port};
	settings.root_ports = 1;
	settings.listener = strand->listener;
	settings.deadline_ms = ina_now_ms() + options->open_timeout_ms;
	if (!made) {
		ina_fail(own, INA_ERR_MEMORY, "no memory for a communicator");
		ina_comm_cannot_open(&settings, own);
		return own->status;
	}
	comm->strands.comms[comm->strands.count++] = made;
	ina_comm_init(made, &settings);
	made->log.outlet = comm->log.outlet ? comm->log.outlet : &comm->log;
	if (ina_comm_open_by(made, connect, own) != INA_OK)
		made->failure = *own; /* so that closing does not wait for other ranks */
	return own->status;
}

void ina_strand_replace_network(struct ina_comm *comm)
{
	memcpy(comm->stats.device, comm->network.transport.device, sizeof(comm->stats.device));
	ina_network_close(&comm->network);
	memset(&comm->network, 0, sizeof(comm->network));
	comm->recovery.context.network = NULL;
}
