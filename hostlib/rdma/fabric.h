/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RDMA side: one device, one completion queue, and reliable connections: to a successor in a
 * ring, one that a switch may aggregate and one or two for the ring algorithm; and one to each
 * partner of recursive doubling.
 */
#ifndef INA_RDMA_FABRIC_H
#define INA_RDMA_FABRIC_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "hostlib/bootstrap/bootstrap.h"
#include "hostlib/control/control.h"
#include "hostlib/options/options.h"
#include "partners.h"

enum ina_purpose {
	INA_PURPOSE_AGGREGATE, /* marked with the traffic class of aggregation */
	INA_PURPOSE_RING,
	INA_PURPOSE_APART, /* another ring, for what an aggregator is not asked; when first needed
	                    */
	INA_PURPOSE_COUNT, /* of neighbours' connections */
	INA_PURPOSE_PARTNER = INA_PURPOSE_COUNT, /* of one queue pair, both ways */
};

/* To the successor and from the predecessor: different queue pairs. */
struct ina_connection {
	struct rdma_cm_id *tx;
	struct rdma_cm_id *rx;
	bool tx_ready;
	bool rx_ready;
	bool wanted; /* it is being made, or there */
	/* The one of tx, while that is being made by steps of our own: label.h; else NULL. */
	struct ibv_qp *labelled;
};

/* Of a ring of connections. */
struct ina_neighbour {
	int rank;
	struct ina_endpoint endpoint;
};

/* The lower rank of the two connects. */
struct ina_partner {
	int rank;
	struct ina_endpoint endpoint;
	struct rdma_cm_id *id;
	bool ready;
};

/* While ends are kept nothing is connected anew, so there are those of one purpose at most. */
#define INA_FABRIC_KEPT_MAX 2

struct ina_fabric {
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ina_connection connections[INA_PURPOSE_COUNT];
	struct ina_partner partners[INA_PARTNERS_MAX];
	int partner_count;
	struct ina_endpoint local;
	struct ina_endpoint *endpoints; /* by rank; NULL: not met yet */
	/* Successor and predecessor: aggregated connections may go another way round. */
	struct ina_neighbour next[INA_PURPOSE_COUNT];
	struct ina_neighbour previous[INA_PURPOSE_COUNT];
	union ibv_gid gid;
	int gid_index;
	unsigned int unacknowledged_events;
	/* What the channel will tell of, if it has not already. */
	enum {
		INA_TELL_NOTHING,
		INA_TELL_MESSAGES, /* the next that comes, but not what becomes of our sends */
		INA_TELL_ALL,
	} told;
	struct ina_failure attempt; /* what has become of the connections that are being made */
	uint64_t unknown_peers;     /* connection requests that were not our predecessor's */
	unsigned int path_mtu;      /* bytes, of the connection to the successor */
	char device[64];
	/* Ends of connections that were dropped while the port was down, until it is up. */
	struct rdma_cm_id *kept[INA_FABRIC_KEPT_MAX];
	int kept_count;
	/* What the connections are for. */
	int rank;
	int ranks;
	unsigned int window;   /* sends under way at most */
	unsigned int receives; /* posted ahead by the window */
	uint8_t ack_timeout;   /* 4.096 us * 2^n */
	unsigned int tree;     /* of the aggregated connections: docs/protocol.md, Trees */
	uint64_t job_id;
};

/* Finds the device and listens for the predecessor. INA_OK, _DEVICE, _MEMORY or _SYSTEM. */
enum ina_status ina_fabric_open(struct ina_fabric *fabric, const struct ina_settings *settings,
                                struct ina_failure *failure);

/* What tells of completions, the device and the connection manager, in this order. */
#define INA_FABRIC_FDS 3
int ina_fabric_pollfds(const struct ina_fabric *fabric, struct pollfd *fds);

/* Does the first descriptor tell of completions, and of nothing worse? */
static inline bool ina_fabric_is_completion(const struct pollfd *channel)
{
	return (channel->revents & ~POLLIN) == 0;
}

/*
 * Returns false while the device reports that its port is down. The caller then neither makes nor
 * ends a connection: if rdma_rxe cannot send a message of the connection manager, its queue pair 1
 * fails and receives nothing until the device is created again (Linux 6.1: ib_mad resets only the
 * send queue). Returns true if the device cannot be asked.
 */
bool ina_fabric_is_up(const struct ina_fabric *fabric);

/*
 * Ends one purpose's connections, without waiting for anybody: no memory is written to any more.
 * While the port is down the queue pairs stop, and the other end is told later.
 */
void ina_fabric_drop(struct ina_fabric *fabric, enum ina_purpose purpose);

/* No connection sends, or writes to memory, any more. */
void ina_fabric_silence(struct ina_fabric *fabric);

/* Disconnects without waiting for anybody, and frees all. Memory must be deregistered before. */
void ina_fabric_disconnect(struct ina_fabric *fabric);
void ina_fabric_close(struct ina_fabric *fabric);

static inline int ina_successor(int rank, int ranks)
{
	return (rank + 1) % ranks;
}

static inline int ina_predecessor(int rank, int ranks)
{
	return (rank + ranks - 1) % ranks;
}

#endif
