/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An RDMA device for unit tests: it keeps the posted work requests, and gives completions when the
 * test says so. This file's own ibv_reg_mr() makes registrations, without any library.
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "hostlib/algorithms/network.h"

#define FAKE_POSTED 512

struct fake_queue {
	struct ibv_qp qp; /* first, so that it leads to the queue */
	struct rdma_cm_id id;
	uint64_t ids[FAKE_POSTED]; /* wr_ids of the work requests, in order */
	struct ibv_sge sges[FAKE_POSTED][INA_MESSAGE_SGES];
	int posted;
};

struct fake_device {
	struct ibv_context context;
	struct ibv_cq cq;
	struct ibv_comp_channel channel;
	struct ibv_pd pd;
	struct fake_queue tx[INA_PURPOSE_COUNT];
	struct fake_queue rx[INA_PURPOSE_COUNT];
	struct rdma_cm_id listener;
	struct rdma_event_channel events;
	int channel_ends[2]; /* the reading end is that of the completion channel */
	int other_ends[2];   /* the reading end is that of all other events */
	/* The event that is reported next; NULL: no event. */
	struct rdma_cm_event *manager_event;
	const struct ibv_async_event *device_event;
	/* Completions for the next looks, oldest first, at most `batch` in one look. */
	struct ibv_wc wcs[FAKE_POSTED];
	int wc_first;
	int wc_end;
	int batch;
	int looks;             /* looks at the completion queue */
	int deregister_errors; /* this many calls of ibv_dereg_mr() fail */
	int register_errno;    /* not 0: calls of ibv_reg_mr() fail with this errno */
	enum ibv_mtu active_mtu;
	union ibv_gid gid;
	uint32_t gid_type; /* enum ibv_gid_type */
};

/* There is one device. fake_open() gives a fresh one, and a transport of `ranks` that is connected
 * through it. */
extern struct fake_device fake;
void fake_open(struct ina_transport *transport, int rank, int ranks);
void fake_close(void);

/* The device and the connection manager report the events that are set. */
void fake_tell(void);

/* Adds a completion for the next look. */
void fake_complete(uint64_t wr_id, enum ibv_wc_status status, uint32_t byte_len);

/*
 * The message that was sent last comes back on the aggregated connection as a sum of all ranks. It
 * goes into the oldest unused receive, whose number is `receive`.
 */
void fake_sum(int receive, int ranks);

#endif
