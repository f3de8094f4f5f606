/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a communicator: defaults, environment, checks. */
#include "settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "common/ack_timeout.h"
#include "common/deadline.h"
#include "wire/ina_wire.h"
#include "launch.h"

#define DEFAULT_WINDOW          8
#define DEFAULT_POLL_COUNT      64
#define DEFAULT_OPEN_TIMEOUT_MS 60000
#define LEAST_JOIN_TIMEOUT_MS   2000
#define INTRA_GBPS_MAX          1000000
#define DEFAULT_TIMEOUT_MS      300000
#define DEFAULT_PEER_TIMEOUT_MS 5000

#define FRAMING_BYTES (sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer))

#define MESSAGE_BYTES_MAX (INA_WINDOW_PACKETS_MAX * 4096u)

/* Limits for struct_size: at least the first three members, and at most a page. */
#define OPTIONS_BYTES_MIN offsetof(struct ina_options, bind)
#define OPTIONS_BYTES_MAX 4096u

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

void ina_options_init_size(struct ina_options *options, size_t size)
{
	const struct ina_options defaults = {
	        .struct_size = size,
	        .rank = -1,
	        .algorithm = INA_ALGORITHM_AUTO,
	        .window = DEFAULT_WINDOW,
	        .poll_count = DEFAULT_POLL_COUNT,
	        .open_timeout_ms = DEFAULT_OPEN_TIMEOUT_MS,
	        .timeout_ms = DEFAULT_TIMEOUT_MS,
	        .peer_timeout_ms = DEFAULT_PEER_TIMEOUT_MS,
	};

	/* Options of a newer program that this library does not know default to 0. */
	memset(options, 0, size);
	memcpy(options, &defaults, smaller(size, sizeof(defaults)));
}

/* Copies the program's options. Its struct may be shorter or longer than this library's. */
static enum ina_status take_options(struct ina_settings *settings,
                                    const struct ina_options *options, struct ina_failure *failure)
{
	ina_options_init(&settings->options);
	if (!options)
		return INA_OK;
	if (options->struct_size < OPTIONS_BYTES_MIN || options->struct_size > OPTIONS_BYTES_MAX)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the options were not made by ina_options_init()");
	for (size_t i = sizeof(*options); i < options->struct_size; i++) {
		if (((const uint8_t *)options)[i] != 0)
			return ina_fail(failure, INA_ERR_ARGUMENT,
			                "an option is set that libina %d.%d.%d does not know: the "
			                "program was built for a later version",
			                INA_VERSION_MAJOR, INA_VERSION_MINOR, INA_VERSION_PATCH);
	}
	memcpy(&settings->options, options, smaller(options->struct_size, sizeof(*options)));
	return INA_OK;
}

/*
 * Reads a value from the option or, if that is not set, from the variable. Sets *given if either of
 * them has a value.
 */
static enum ina_status read_own(const char *option, bool set, int option_value, const char *name,
                                int minimum, int maximum, int *value, bool *given,
                                struct ina_failure *failure)
{
	const char *text = getenv(name);

	*given = set || text;
	*value = option_value;
	if (set && (option_value < minimum || option_value > maximum))
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the option %s is %d: it must be from %d to %d", option,
		                option_value, minimum, maximum);
	if (!set && text && ina_parse_int(text, minimum, maximum, value) != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s is \"%.40s\": it must be a number from %d to %d", name, text,
		                minimum, maximum);
	return INA_OK;
}

/* If only one of rank and rank count is given, it must agree with the launcher's value. */
static enum ina_status check_half(const struct ina_launch *launch, bool has_rank, int rank,
                                  bool has_ranks, int ranks, struct ina_failure *failure)
{
	if (has_rank && rank != launch->rank)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "INA_RANK or the option rank is %d, but %s says %s=%d: give both "
		                "rank and rank count, or neither",
		                rank, launch->launcher, launch->rank_name, launch->rank);
	if (has_ranks && launch->ranks_name && ranks != launch->ranks)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "INA_RANKS or the option ranks is %d, but %s says %s=%d: give both "
		                "rank and rank count, or neither",
		                ranks, launch->launcher, launch->ranks_name, launch->ranks);
	return INA_OK;
}

/* Options take precedence over INA_*, and INA_* over the launcher. */
static enum ina_status make_ranks(struct ina_options *options, struct ina_launch *launch,
                                  struct ina_failure *failure)
{
	char half[100];
	bool has_rank;
	bool has_ranks;

	if (read_own("ranks", options->ranks != 0, options->ranks, "INA_RANKS", 1, INA_MAX_RANKS,
	             &options->ranks, &has_ranks, failure) != INA_OK ||
	    /*
	     * A rank that is not less than the rank count still connects to rank 0, so that every
	     * rank learns of the error.
	     */
	    read_own("rank", options->rank != -1, options->rank, "INA_RANK", 0, INT_MAX,
	             &options->rank, &has_rank, failure) != INA_OK)
		return failure->status;
	if (has_rank && has_ranks)
		return INA_OK;
	if (ina_launch_ranks(launch, failure) != INA_OK)
		return failure->status;
	if (launch->launcher && check_half(launch, has_rank, options->rank, has_ranks,
	                                   options->ranks, failure) != INA_OK)
		return failure->status;
	ina_launch_half(half, sizeof(half));
	if (!has_ranks && !launch->ranks_name)
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "the number of ranks is not given%s: set the option ranks, or "
		        "INA_RANKS in the environment, or start it with mpirun, srun or torchrun",
		        half);
	if (!has_rank && !launch->launcher)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the rank is not given%s: set the option rank, or INA_RANK in the "
		                "environment, or start it with mpirun, srun or torchrun",
		                half);
	if (!has_ranks && launch->ranks > INA_MAX_RANKS)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s says %s=%d: a job has at most %d ranks", launch->launcher,
		                launch->ranks_name, launch->ranks, INA_MAX_RANKS);
	options->ranks = has_ranks ? options->ranks : launch->ranks;
	options->rank = has_rank ? options->rank : launch->rank;
	return INA_OK;
}

static enum ina_status make_root(struct ina_settings *settings, struct ina_failure *failure)
{
	const struct ina_options *options = &settings->options;
	struct ina_launch_root launched = {.text = ""};
	struct sockaddr_in numeric;
	const char *root = options->root ? options->root : getenv("INA_ROOT");
	const char *name = options->root ? "option root" : "INA_ROOT";

	if (!root) {
		if (ina_launch_find_root(&launched, settings->deadline_ms, failure) != INA_OK)
			return failure->status;
		root = launched.text;
		name = launched.name;
	}
	if (!root[0] && options->ranks == 1)
		root = "127.0.0.1";
	if (!root[0])
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the address of rank 0 is not given: set the option root, or "
		                "INA_ROOT in the environment (mpiexec -genv INA_ROOT ADDRESS)");
	if (ina_address_parse(root, settings->deadline_ms, &settings->root) != 0)
		return errno == ETIMEDOUT
		               ? ina_fail(failure, INA_ERR_TIMEOUT,
		                          "the %s is \"%.60s\": the system's resolver did not find "
		                          "the address within "
		                          "%d ms; is the name server of /etc/resolv.conf up?",
		                          name, root, options->open_timeout_ms)
		               : ina_fail(failure, INA_ERR_ARGUMENT,
		                          "the %s is \"%.60s\": it must be an IPv4 address or the "
		                          "name of a host "
		                          "that has one, optionally followed by :port",
		                          name, root);
	settings->root_ports = 1;
	if (settings->root.sin_port == 0)
		settings->root.sin_port =
		        htons((uint16_t)ina_job_port(&settings->job, &settings->root_ports));
	/*
	 * /etc/hosts often maps a host's own name to 127.0.1.1, which other hosts could not reach.
	 */
	if (options->rank == 0 && ina_is_loopback(settings->root.sin_addr) &&
	    ina_address_parse_numeric(root, &numeric) != 0)
		settings->root.sin_addr.s_addr = INADDR_ANY;
	return INA_OK;
}

/* Reads the options that concern only this rank. */
static enum ina_status make_local(struct ina_settings *settings, struct ina_failure *failure)
{
	struct ina_options *options = &settings->options;
	const char *bind = options->bind ? options->bind : getenv("INA_BIND");

	if (bind && (strchr(bind, ':') || ina_address_parse_numeric(bind, &settings->bind) != 0))
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
	int exponent = INA_ACK_TIMEOUT_DEFAULT;

	if (options->ack_timeout > INA_ACK_TIMEOUT_MAX)
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "the option ack_timeout is %u: it must be from 1 to %d, for 4.096 us * 2^n",
		        options->ack_timeout, INA_ACK_TIMEOUT_MAX);
	if (options->ack_timeout != 0)
		return INA_OK;
	if (text && ina_parse_int(text, 1, INA_ACK_TIMEOUT_MAX, &exponent) != 0)
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "INA_ACK_TIMEOUT is \"%.40s\": it must be a number from 1 to %d, for "
		        "4.096 us * 2^n",
		        text, INA_ACK_TIMEOUT_MAX);
	options->ack_timeout = (unsigned int)exponent;
	return INA_OK;
}

int ina_losses_ms(const struct ina_options *options)
{
	return (int)(8 * ((int64_t)4096 << options->ack_timeout) / 1000000);
}

static void make_join_timeout(struct ina_options *options)
{
	int losses_ms = ina_losses_ms(options);

	if (options->join_timeout_ms == 0)
		options->join_timeout_ms =
		        losses_ms > LEAST_JOIN_TIMEOUT_MS ? losses_ms : LEAST_JOIN_TIMEOUT_MS;
}

static enum ina_status make_intra(struct ina_settings *settings, struct ina_failure *failure)
{
	bool given;
	int gbps;

	if (read_own("", false, 0, "INA_INTRA_GBPS", 1, INTRA_GBPS_MAX, &gbps, &given, failure) !=
	    INA_OK)
		return failure->status;
	settings->intra_gbps = (unsigned int)gbps;
	return INA_OK;
}

static enum ina_status make_congestion_control(struct ina_options *options,
                                               struct ina_failure *failure)
{
	const unsigned int times = INA_DEFAULT_MESSAGE_PACKETS / INA_SHORT_MESSAGE_PACKETS;
	bool given;
	int chosen;

	if (options->congestion_control < -1 || options->congestion_control > 1)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "the option congestion_control is %d: it must be -1, 0 or 1",
		                options->congestion_control);
	if (read_own("", false, options->congestion_control, "INA_CONGESTION_CONTROL", 0, 1,
	             &chosen, &given, failure) != INA_OK)
		return failure->status;
	if (options->congestion_control == 0)
		options->congestion_control = chosen;
	options->congestion_control = options->congestion_control == 1;
	/* Shorter messages: the same number of packets makes more messages. */
	if (options->congestion_control && options->message_bytes == 0 &&
	    options->window <= INA_WINDOW_PACKETS_MAX / INA_DEFAULT_MESSAGE_PACKETS)
		options->window *= times;
	return INA_OK;
}

static enum ina_status make_channels(struct ina_options *options, struct ina_failure *failure)
{
	bool given;
	int channels;

	if (read_own("channels", options->channels != 0, options->channels, "INA_CHANNELS", 1,
	             INA_MAX_CHANNELS, &channels, &given, failure) != INA_OK)
		return failure->status;
	options->channels = given ? channels : 1;
	return INA_OK;
}

static enum ina_status check_numbers(const struct ina_options *options, struct ina_failure *failure)
{
	if (options->algorithm != INA_ALGORITHM_AUTO && options->algorithm != INA_ALGORITHM_INA &&
	    options->algorithm != INA_ALGORITHM_RING)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "invalid algorithm %d: valid values are 0 to 2",
		                (int)options->algorithm);
	if (options->schedule != INA_SCHEDULE_AUTO && options->schedule != INA_SCHEDULE_FLAT &&
	    options->schedule != INA_SCHEDULE_LEADER && options->schedule != INA_SCHEDULE_PARALLEL)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "invalid schedule %d: valid values are 0 to 3",
		                (int)options->schedule);
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
	return INA_OK;
}

static enum ina_status check_timeouts(const struct ina_options *options,
                                      struct ina_failure *failure)
{
	if (options->open_timeout_ms <= 0 || options->join_timeout_ms < 0 ||
	    options->timeout_ms <= 0 || options->peer_timeout_ms <= 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "a timeout option is negative, or is 0 and is not join_timeout_ms: "
		                "every wait must end");
	return INA_OK;
}

/* Reads all that a rank needs to find the others. */
static enum ina_status make_meeting(struct ina_settings *settings, struct ina_failure *failure)
{
	struct ina_launch launch = {.job = ""};
	enum ina_status status = check_timeouts(&settings->options, failure);

	settings->deadline_ms = ina_now_ms() + settings->options.open_timeout_ms;
	if (status == INA_OK)
		status = make_ranks(&settings->options, &launch, failure);
	if (status == INA_OK)
		status =
		        ina_job_make(&settings->job, settings->options.cookie, launch.job, failure);
	if (status == INA_OK && settings->options.exchange && !settings->options.root)
		settings->root.sin_family = AF_INET; /* at no address */
	else if (status == INA_OK)
		status = make_root(settings, failure);
	settings->can_meet = status == INA_OK;
	return status;
}

static enum ina_status make_log(struct ina_settings *settings, struct ina_failure *failure)
{
	const char *text = getenv("INA_LOG");

	settings->logs_to_stderr = text && strcmp(text, "info") == 0;
	if (text && *text && !settings->logs_to_stderr && strcmp(text, "off") != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "INA_LOG is \"%.40s\": it must be info or off", text);
	return INA_OK;
}

enum ina_status ina_settings_make(struct ina_settings *settings, const struct ina_options *options,
                                  struct ina_failure *failure)
{
	enum ina_status status;

	memset(settings, 0, sizeof(*settings));
	status = take_options(settings, options, failure);
	if (status == INA_OK)
		status = make_meeting(settings, failure);
	if (status == INA_OK)
		status = make_local(settings, failure);
	if (status == INA_OK)
		status = make_ack_timeout(&settings->options, failure);
	if (status == INA_OK)
		status = make_intra(settings, failure);
	if (status == INA_OK)
		status = check_numbers(&settings->options, failure);
	if (status == INA_OK)
		make_join_timeout(&settings->options);
	if (status == INA_OK)
		status = make_congestion_control(&settings->options, failure);
	if (status == INA_OK)
		status = make_channels(&settings->options, failure);
	if (status == INA_OK)
		status = make_log(settings, failure);
	settings->receives = settings->options.window;
	settings->listener = -1;
	settings->options.root = NULL;
	settings->options.bind = NULL;
	settings->options.device = NULL;
	settings->options.cookie = NULL;
	return status;
}

enum ina_status ina_settings_fit(struct ina_settings *settings, unsigned int path_mtu,
                                 unsigned int *window_packets, struct ina_failure *failure)
{
	struct ina_options *options = &settings->options;
	unsigned int packets;

	if (options->message_bytes == 0)
		options->message_bytes =
		        path_mtu * (options->congestion_control ? INA_SHORT_MESSAGE_PACKETS
		                                                : INA_DEFAULT_MESSAGE_PACKETS);
	packets = (options->message_bytes + path_mtu - 1) / path_mtu;
	packets *= options->window;
	*window_packets = 1;
	while (*window_packets < packets)
		*window_packets *= 2;
	if (packets > INA_WINDOW_PACKETS_MAX)
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "a window of %u messages of %u bytes is %u packets at path MTU %u: more "
		        "than %u; make window or message_bytes smaller",
		        options->window, options->message_bytes, packets, path_mtu,
		        INA_WINDOW_PACKETS_MAX);
	return INA_OK;
}

unsigned int ina_window_most(unsigned int window)
{
	return window > INA_FIT_MESSAGES ? window : INA_FIT_MESSAGES;
}

void ina_window_fit(unsigned int *window, unsigned int *message_bytes, unsigned int path_mtu,
                    unsigned int granted_packets)
{
	unsigned int packets = (*message_bytes + path_mtu - 1) / path_mtu;

	if (*window * packets <= granted_packets)
		return;
	*window = ina_window_most(*window);
	if (*window > granted_packets)
		*window = granted_packets;
	*message_bytes = granted_packets / *window * path_mtu;
}
