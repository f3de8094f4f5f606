/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about what a communicator is at. */
#include "log.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostlib/engine/comm.h"

enum ina_status ina_log_open(struct ina_comm *comm, struct ina_failure *failure)
{
	const char *text = getenv("INA_LOG");

	comm->log_to_stderr = text && strcmp(text, "info") == 0;
	if (text && *text && !comm->log_to_stderr && strcmp(text, "off") != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "INA_LOG is \"%.40s\": it must be info or off", text);
	return INA_OK;
}

void ina_log(const struct ina_comm *comm, const char *format, ...)
{
	const struct ina_options *options = &comm->settings.options;
	char line[INA_ERROR_SIZE];
	va_list arguments;

	if (!options->log && !comm->log_to_stderr)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (options->log)
		options->log(options->log_context, line);
	else
		fprintf(stderr, "libina: rank %d of %d: %s\n", comm->rank, comm->ranks, line);
}

static const char *address_text(uint32_t address, char text[INET_ADDRSTRLEN])
{
	const struct in_addr in = {address};

	return inet_ntop(AF_INET, &in, text, INET_ADDRSTRLEN) ? text : "?";
}

void ina_log_opened(const struct ina_comm *comm)
{
	const struct ina_options *options = &comm->settings.options;
	const struct ina_fabric *fabric = &comm->fabric;
	char local[INET_ADDRSTRLEN];
	char previous[INET_ADDRSTRLEN];
	char next[INET_ADDRSTRLEN];
	char gid[INET6_ADDRSTRLEN] = "?";

	if (comm->ranks == 1) {
		ina_log(comm, "alone: sums are copies");
		return;
	}
	inet_ntop(AF_INET6, &fabric->gid, gid, sizeof(gid));
	ina_log(comm,
	        "%s %s, GID %d %s, path MTU %u, from rank %d at %s, to rank %d at %s, messages of "
	        "%u bytes, window %u: %s",
	        fabric->device, address_text(fabric->local.address, local), fabric->gid_index, gid,
	        fabric->path_mtu, ina_predecessor(comm->rank, comm->ranks),
	        address_text(fabric->previous.address, previous),
	        ina_successor(comm->rank, comm->ranks), address_text(fabric->next.address, next),
	        options->message_bytes, options->window, comm->how);
}
