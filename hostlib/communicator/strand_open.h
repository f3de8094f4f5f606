/* SPDX-License-Identifier: Apache-2.0 */
/* Opens strands: communicators that carry another communicator's elements (channels/strands.h). */
#ifndef INA_COMMUNICATOR_STRAND_OPEN_H
#define INA_COMMUNICATOR_STRAND_OPEN_H

#include "opening.h"

/* The parameters of one strand. */
struct ina_strand {
	int rank;
	int ranks;
	const struct ina_endpoint *leader; /* endpoint of the strand's rank 0 */
	/* for rank 0 of the strand, which takes it over; otherwise -1 */
	int listener;
	int count;          /* number of strands on the same link */
	unsigned int trees; /* number of trees that earlier strands use */
	int channels;       /* channels of the strand itself */
};

/*
 * The messages under way on a strand. All strands of a machine share one link, and each needs some
 * messages on their way while the others use the link. Twice its share of a window keeps the link
 * busy. More messages would only wait in queues until they count as lost.
 */
unsigned int ina_strand_window(unsigned int window, int strands);

/*
 * Opens the next strand. *own: on entry, an earlier error of this rank; on return, the error with
 * which it failed. connect: how the ranks of the strand connect.
 */
enum ina_status ina_strand_open(struct ina_comm *comm, const struct ina_strand *strand,
                                ina_connect *connect, struct ina_failure *own);

/* Closes the communicator's network, because its strands have their own. */
void ina_strand_replace_network(struct ina_comm *comm);

#endif
