/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a communicator: defaults, environment, checks. */
#include "options.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ina_wire.h"

#define DEFAULT_WINDOW          8
#define DEFAULT_POLL_COUNT      64
#define DEFAULT_CACHE_ENTRIES   32
#define DEFAULT_OPEN_TIMEOUT_MS 60000
#define DEFAULT_ACK_TIMEOUT     14 /* 4.096 us * 2^14 = 67 ms (IBTA vol. 1, 9.7.6.1.3) */
#define ACK_TIMEOUT_MAX         31
#define DEFAULT_JOIN_TIMEOUT_MS 2000
#define DEFAULT_TIMEOUT_MS      300000
#define DEFAULT_PEER_TIMEOUT_MS 5000

#define FRAMING_BYTES (sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer))

#define MESSAGE_BYTES_MAX (INA_WINDOW_PACKETS_MAX * 4096u)

void ina_options_init(struct ina_options *options)
{
	*options = (struct ina_options){
	        .struct_size = sizeof(*options),
	        .rank = -1,
	        .algorithm = INA_ALGORITHM_AUTO,
	        .window = DEFAULT_WINDOW,
	        .poll_count = DEFAULT_POLL_COUNT,
	        .cache_entries = DEFAULT_CACHE_ENTRIES,
	        .open_timeout_ms = DEFAULT_OPEN_TIMEOUT_MS,
	        .join_timeout_ms = DEFAULT_JOIN_TIMEOUT_MS,
	        .timeout_ms = DEFAULT_TIMEOUT_MS,
	        .peer_timeout_ms = DEFAULT_PEER_TIMEOUT_MS,
	};
}

static int parse_int(const char *text, int minimum, int maximum, int *value)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end == text || *end != '\0' || number < minimum || number > maximum)
		return -1;
	*value = (int)number;
	return 0;
}

/* An IPv4 "address" or "address:port"; the port is left alone if there is none. */
static int parse_address(const char *text, struct sockaddr_in *address)
{
	char host[INET_ADDRSTRLEN];
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);

	if (length >= sizeof(host))
		return -1;
	memcpy(host, text, length);
	host[length] = '\0';
	address->sin_family = AF_INET;
	if (inet_pton(AF_INET, host, &address->sin_addr) != 1)
		return -1;
	if (colon) {
		int port;

		if (parse_int(colon + 1, 1, 65535, &port) != 0)
			return -1;
		address->sin_port = htons((uint16_t)port);
	}
	return 0;
}

static enum ina_status make_ranks(struct ina_options *options, struct ina_failure *failure)
{
	const char *text;

	if (options->ranks == 0) {
		text = getenv("INA_RANKS");
		if (!text)
			return ina_fail(
			        failure, INA_ERR_ARGUMENT,
			        "the number of ranks is not given: set the option ranks, or "
			        "INA_RANKS in the environment");
		if (parse_int(text, 1, INA_MAX_RANKS, &options->ranks) != 0)
			return ina_fail(failure, INA_ERR_ARGUMENT,
			                "INA_RANKS is \"%.40s\": it must be a number from 1 to %d",
			                text, INA_MAX_RANKS);
	}
	if (options->ranks < 1 || options->ranks > INA_MAX_RANKS)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the option ranks is %d: it must be from 1 to %d", options->ranks,
		                INA_MAX_RANKS);
	if (options->rank == -1) {
		text = getenv("INA_RANK");
		if (!text)
			return ina_fail(
			        failure, INA_ERR_ARGUMENT,
			        "the rank is not given: set the option rank, or INA_RANK in "
			        "the environment");
		if (parse_int(text, 0, INT_MAX, &options->rank) != 0)
			return ina_fail(failure, INA_ERR_ARGUMENT,
			                "INA_RANK is \"%.40s\": it must be a number, 0 or more",
			                text);
	}
	/* A rank beyond the count goes on to rank 0, so that every rank hears of it. */
	if (options->rank < 0)
		return ina_fail(failure, INA_ERR_ARGUMENT, "the option rank is %d: it is negative",
		                options->rank);
	return INA_OK;
}

static enum ina_status make_addresses(struct ina_settings *settings, struct ina_failure *failure)
{
	struct ina_options *options = &settings->options;
	const char *root = options->root ? options->root : getenv("INA_ROOT");
	const char *bind = options->bind ? options->bind : getenv("INA_BIND");

	if (options->ranks == 1 && !root)
		root = "127.0.0.1";
	if (!root)
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "the address of rank 0 is not given: set the option root, or INA_ROOT "
		        "in the environment");
	settings->root.sin_port = htons(INA_DEFAULT_PORT);
	if (parse_address(root, &settings->root) != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the %s is \"%.60s\": it must be an IPv4 address, or address:port",
		                options->root ? "option root" : "INA_ROOT", root);
	if (bind && (parse_address(bind, &settings->bind) != 0 || strchr(bind, ':')))
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the %s is \"%.60s\": it must be an IPv4 address",
		                options->bind ? "option bind" : "INA_BIND", bind);
	if (options->device) {
		if (strlen(options->device) >= sizeof(settings->device))
			return ina_fail(failure, INA_ERR_ARGUMENT, "the option device is too long");
		strcpy(settings->device, options->device);
	}
	return INA_OK;
}

static enum ina_status make_ack_timeout(struct ina_options *options, struct ina_failure *failure)
{
	const char *text = getenv("INA_ACK_TIMEOUT");
	int exponent = DEFAULT_ACK_TIMEOUT;

	if (options->ack_timeout > ACK_TIMEOUT_MAX)
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "the option ack_timeout is %u: it must be from 1 to %d, for 4.096 us * 2^n",
		        options->ack_timeout, ACK_TIMEOUT_MAX);
	if (options->ack_timeout != 0)
		return INA_OK;
	if (text && parse_int(text, 1, ACK_TIMEOUT_MAX, &exponent) != 0)
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "INA_ACK_TIMEOUT is \"%.40s\": it must be a number from 1 to %d, for "
		        "4.096 us * 2^n",
		        text, ACK_TIMEOUT_MAX);
	options->ack_timeout = (unsigned int)exponent;
	return INA_OK;
}

static enum ina_status check_numbers(const struct ina_options *options, struct ina_failure *failure)
{
	if (options->algorithm != INA_ALGORITHM_AUTO && options->algorithm != INA_ALGORITHM_INA &&
	    options->algorithm != INA_ALGORITHM_RING)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the option algorithm is %d: there is none",
		                (int)options->algorithm);
	if (options->window < 1 || options->window > INA_WINDOW_PACKETS_MAX)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the option window is %u messages: it must be from 1 to %u",
		                options->window, INA_WINDOW_PACKETS_MAX);
	if (options->message_bytes != 0 &&
	    (options->message_bytes % INA_WIRE_ALIGNMENT != 0 ||
	     options->message_bytes <= FRAMING_BYTES || options->message_bytes > MESSAGE_BYTES_MAX))
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "the option message_bytes is %u: it must be a multiple of %u from %zu to "
		        "%u",
		        options->message_bytes, INA_WIRE_ALIGNMENT,
		        FRAMING_BYTES + INA_WIRE_ALIGNMENT, MESSAGE_BYTES_MAX);
	if (options->open_timeout_ms <= 0 || options->join_timeout_ms <= 0 ||
	    options->timeout_ms <= 0 || options->peer_timeout_ms <= 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "a timeout in the options is 0 or negative: every wait must end");
	return INA_OK;
}

enum ina_status ina_settings_make(struct ina_settings *settings, const struct ina_options *options,
                                  struct ina_failure *failure)
{
	enum ina_status status;

	memset(settings, 0, sizeof(*settings));
	if (options && options->struct_size != sizeof(*options))
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "the options were not made by ina_options_init(), or for another version "
		        "of libina");
	if (options)
		settings->options = *options;
	else
		ina_options_init(&settings->options);

	status = make_ranks(&settings->options, failure);
	if (status == INA_OK)
		status = make_addresses(settings, failure);
	if (status == INA_OK)
		status = make_ack_timeout(&settings->options, failure);
	if (status == INA_OK)
		status = check_numbers(&settings->options, failure);
	settings->receives = settings->options.window;
	settings->options.root = NULL;
	settings->options.bind = NULL;
	settings->options.device = NULL;
	return status;
}

enum ina_status ina_settings_fit(struct ina_settings *settings, unsigned int path_mtu,
                                 unsigned int *window_packets, struct ina_failure *failure)
{
	struct ina_options *options = &settings->options;
	unsigned int packets;

	if (options->message_bytes == 0)
		options->message_bytes = INA_DEFAULT_MESSAGE_PACKETS * path_mtu;
	packets = (options->message_bytes + path_mtu - 1) / path_mtu;
	*window_packets = options->window * packets;
	if (*window_packets > INA_WINDOW_PACKETS_MAX)
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "a window of %u messages of %u bytes is %u packets at path MTU %u: more "
		        "than %u; make window or message_bytes smaller",
		        options->window, options->message_bytes, *window_packets, path_mtu,
		        INA_WINDOW_PACKETS_MAX);
	return INA_OK;
}
