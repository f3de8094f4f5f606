/* SPDX-License-Identifier: Apache-2.0 */
/* All steps that connect the ranks over TCP. */
#include "meeting.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap.h"
#include "hostlib/control/agreement.h"
#include "mesh.h"

/* How many ranks can call at the same time if there is no memory for more. */
#define FEW 16

/* Only ranks that are all on one machine need no device. All ranks see the same roster. */
static enum ina_status check_devices(const struct ina_roster *roster, int ranks,
                                     struct ina_failure *failure)
{
	const struct ina_endpoint *ends = roster->endpoints;
	bool is_one_machine = true;

	for (int r = 1; r < ranks; r++)
		is_one_machine &= memcmp(ends[r].host, ends[0].host, sizeof(ends[0].host)) == 0;
	for (int r = 0; r < ranks && !is_one_machine; r++)
		if (ends[r].port == 0)
			return ina_fail(failure, INA_ERR_DEVICE,
			                "rank %d: this host has no RDMA device: see `rdma link`",
			                r);
	return INA_OK;
}

enum ina_status ina_meet(struct ina_control *control, const struct ina_settings *settings,
                         const struct ina_endpoint *local, int listener, int64_t deadline_ms,
                         struct ina_roster *roster, struct ina_failure *failure)
{
	struct ina_visitor few[FEW];
	struct ina_visitor *visitors = malloc(INA_ACCEPTOR_PLACES * sizeof(*visitors));
	struct ina_acceptor acceptor;
	uint32_t nothing = 0;
	enum ina_status status;

	control->stop = settings->stop;
	if (!visitors && failure->status == INA_OK)
		ina_fail(failure, INA_ERR_MEMORY, "no memory for the bootstrap");
	ina_acceptor_open(&acceptor, listener, &settings->job, settings->options.peer_timeout_ms,
	                  visitors ? visitors : few, visitors ? INA_ACCEPTOR_PLACES : FEW);
	status = ina_bootstrap(control, settings, local, &acceptor, deadline_ms, roster, failure);
	if (status == INA_OK)
		status = check_devices(roster, control->ranks, failure);
	if (status == INA_OK)
		ina_mesh_connect(control, roster, &acceptor, deadline_ms, failure);
	ina_acceptor_close(&acceptor);
	control->unknown_peers += acceptor.unknown_peers;
	free(visitors);
	if (status != INA_OK)
		return status;
	return ina_agree_on(control, "", "connect to its neighbours over TCP", false, &nothing,
	                    deadline_ms, failure);
}
