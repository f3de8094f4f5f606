/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A communicator's RDMA transport: one device, one completion queue, and reliable connections.
 * Around the ring of ranks, each rank has one connection that a switch may aggregate, and one or
 * two for the ring algorithm. It also has one connection to each partner of recursive doubling.
 */
#ifndef INA_RDMA_TRANSPORT_H
#define INA_RDMA_TRANSPORT_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "hostlib/bootstrap/bootstrap.h"
#include "hostlib/control/control.h"
#include "hostlib/options/settings.h"
#include "partners.h"
#include "queue_pair.h"

enum ina_purpose {
	INA_PURPOSE_AGGREGATE, /* marked with the DSCP of aggregation */
	INA_PURPOSE_RING,
	/* another ring, for calls that bypass the aggregator; made on first use */
	INA_PURPOSE_APART,
	INA_PURPOSE_COUNT, /* the number of purposes whose connections go around the ring */
	INA_PURPOSE_PARTNER = INA_PURPOSE_COUNT, /* one queue pair for both directions */
};

/* Separate queue pairs to the successor and from the predecessor. */
struct ina_connection {
	struct rdma_cm_id *tx;
	struct rdma_cm_id *rx;
	bool tx_ready;
	bool rx_ready;
	bool wanted; /* it is being made, or exists */
	/* The queue pair of tx while librdmacm does not know it (label.h); otherwise NULL. */
	struct ibv_qp *hidden;
};

/* A neighbour in a ring of connections. */
struct ina_neighbour {
	int rank;
	struct ina_endpoint endpoint;
};

/* A partner of recursive doubling. The lower rank of the two connects. */
struct ina_partner {
	int rank;
	struct ina_endpoint endpoint;
	struct rdma_cm_id *id;
	struct ibv_qp *hidden; /* as of a connection that tx stands for */
	bool ready;
};

/*
 * libina makes no new connection while it keeps old ends, so these belong to one purpose at most.
 */
#define INA_TRANSPORT_KEPT_MAX 2

struct ina_transport {
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ina_connection connections[INA_PURPOSE_COUNT];
	struct ina_partner partners[INA_PARTNERS_MAX];
	int partner_count;
	struct ina_queue_pairs pairs; /* of all these connections */
	struct ina_endpoint local;
	struct ina_endpoint *endpoints; /* by rank; NULL before the ranks have met */
	/*
	 * The successor and predecessor for each purpose. Aggregated connections may have another
	 * order of ranks than the others.
	 */
	struct ina_neighbour next[INA_PURPOSE_COUNT];
	struct ina_neighbour previous[INA_PURPOSE_COUNT];
	union ibv_gid gid;
	int gid_index;
	unsigned int unacknowledged_events;
	/* The completions for which the channel is armed; it may have an event for them already. */
	enum {
		INA_TELL_NOTHING,
		INA_TELL_MESSAGES, /* the next message that arrives, but no completed send */
		INA_TELL_ALL,
	} told;
	struct ina_failure attempt; /* the first error of the connections that are being made */
	/* connection requests that came from none of this rank's neighbours and partners */
	uint64_t unknown_peers;
	unsigned int path_mtu; /* of all connections, in bytes: the smallest of all ranks */
	char device[64];
	/*
	 * Ends of connections that were dropped while the port was down. They are destroyed when
	 * the port is active again.
	 */
	struct rdma_cm_id *kept[INA_TRANSPORT_KEPT_MAX];
	int kept_count;
	/* Parameters of the connections. */
	int rank;
	int ranks;
	unsigned int window;     /* the most sends under way, in messages */
	unsigned int receives;   /* receives that the window posts in advance, in messages */
	uint8_t ack_timeout;     /* 4.096 us * 2^n */
	uint8_t retry_count;     /* 7: without limit on rdma_rxe, 7 on cards */
	uint8_t aggregate_class; /* traffic class of INA_PURPOSE_AGGREGATE */
	uint8_t other_class;     /* of all other connections; 0: the system's default */
	unsigned int tree;       /* tree of the aggregated connections (docs/protocol.md, Trees) */
	uint64_t job_id;
};

/*
 * Finds the device and listens for other ranks' connections. Returns INA_OK, INA_ERR_DEVICE,
 * INA_ERR_MEMORY or INA_ERR_SYSTEM. After INA_ERR_DEVICE the address of `local` is set if it was
 * found. ina_transport_close() is needed in any case.
 */
enum ina_status ina_transport_open(struct ina_transport *transport,
                                   const struct ina_settings *settings,
                                   struct ina_failure *failure);

/* The work requests, and their entries, for which each queue pair has room. */
struct ibv_qp_cap ina_transport_room(const struct ina_transport *transport);

/*
 * Fills in the descriptors of the completion channel, the device and the connection manager, in
 * this order.
 */
#define INA_TRANSPORT_FDS 3
int ina_transport_pollfds(const struct ina_transport *transport, struct pollfd *fds);

/* Does the first descriptor report completions, and no error? */
static inline bool ina_transport_is_completion(const struct pollfd *channel)
{
	return (channel->revents & ~POLLIN) == 0;
}

/*
 * Returns false while the device reports that its port is down. The caller then neither makes nor
 * ends a connection: if rdma_rxe cannot send a message of the connection manager, its queue pair 1
 * fails and receives nothing until the device is created again (Linux 6.1: ib_mad resets only the
 * send queue). Returns true if the device cannot be asked.
 */
bool ina_transport_is_up(const struct ina_transport *transport);

/*
 * Ends the connections of one purpose without waiting for other ranks. After the call, the device
 * does not write to memory for them any more. While the port is down only the queue pairs stop, and
 * the other end learns of it later.
 */
void ina_transport_drop(struct ina_transport *transport, enum ina_purpose purpose);

/* Stops all queue pairs: no connection sends or writes to memory any more. */
void ina_transport_silence(struct ina_transport *transport);

/*
 * ina_transport_disconnect() ends all connections without waiting for other ranks;
 * ina_transport_close() does that too, and frees the rest. Memory must be deregistered before
 * ina_transport_close().
 */
void ina_transport_disconnect(struct ina_transport *transport);
void ina_transport_close(struct ina_transport *transport);

static inline int ina_successor(int rank, int ranks)
{
	return (rank + 1) % ranks;
}

static inline int ina_predecessor(int rank, int ranks)
{
	return (rank + ranks - 1) % ranks;
}

#endif
