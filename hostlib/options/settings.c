/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a communicator: defaults, environment, checks. */
#include "settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "common/ack_timeout.h"
#include "common/deadline.h"
#include "common/parse.h"
#include "launch.h"
#include "sources.h"
#include "wire/ina_wire.h"

#define DEFAULT_WINDOW          8
#define DEFAULT_POLL_COUNT      64
#define DEFAULT_OPEN_TIMEOUT_MS 60000
#define LEAST_JOIN_TIMEOUT_MS   2000
#define DEFAULT_TIMEOUT_MS      300000
#define DEFAULT_PEER_TIMEOUT_MS 5000

/* Limits for struct_size: at least the first three members, and at most a page. */
#define OPTIONS_BYTES_MIN offsetof(struct ina_options, bind)
#define OPTIONS_BYTES_MAX 4096u

static const struct ina_settings DEFAULTS = {
        .variables.retry_count = INA_RETRY_COUNT_MAX,
        .variables.dscp = INA_WIRE_TRAFFIC_CLASS >> 2,
        .listener = -1,
};

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

/*
 * Copies the program's options over the defaults. Its struct may be shorter or longer than this
 * library's.
 */
static enum ina_status take_options(struct ina_settings *settings,
                                    const struct ina_options *options, struct ina_failure *failure)
{
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

/* If only one of rank and rank count is given, it must agree with the launcher's value. */
static enum ina_status check_half(const struct ina_sources *sources, enum ina_key_id id, int value,
                                  const struct ina_launch *launch, const char *launch_name,
                                  int launch_value, struct ina_failure *failure)
{
	char name[INA_SOURCE_NAME_MAX];

	if (!ina_is_given(sources, id) || !launch_name || value == launch_value)
		return INA_OK;
	return ina_fail(failure, INA_ERR_ARGUMENT,
	                "%s is %d, but %s says %s=%d: give both rank and rank count, or neither",
	                ina_source_name(sources, id, name), value, launch->launcher, launch_name,
	                launch_value);
}

/* Options take precedence over the launcher. */
static enum ina_status make_ranks(const struct ina_sources *sources, struct ina_options *options,
                                  struct ina_launch *launch, struct ina_failure *failure)
{
	bool has_rank = ina_is_given(sources, INA_KEY_RANK);
	bool has_ranks = ina_is_given(sources, INA_KEY_RANKS);
	char half[100];

	if (has_rank && has_ranks)
		return INA_OK;
	if (ina_launch_ranks(launch, failure) != INA_OK ||
	    check_half(sources, INA_KEY_RANK, options->rank, launch, launch->rank_name,
	               launch->rank, failure) != INA_OK ||
	    check_half(sources, INA_KEY_RANKS, options->ranks, launch, launch->ranks_name,
	               launch->ranks, failure) != INA_OK)
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

/* The cookie or the secret. An empty one is a variable that was forgotten. */
static enum ina_status take_text(const struct ina_sources *sources, enum ina_key_id id,
                                 const char **text, struct ina_failure *failure)
{
	const char *given = sources->of[id].text;
	char name[INA_SOURCE_NAME_MAX];

	if (given && !*given)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s is empty: unset it, or give all ranks of the job the same text",
		                ina_source_name(sources, id, name));
	*text = given ? given : *text;
	return INA_OK;
}

static enum ina_status make_job(const struct ina_sources *sources, struct ina_job *job,
                                const char *launched, struct ina_failure *failure)
{
	const char *cookie = launched;
	const char *secret = "";

	if (take_text(sources, INA_KEY_COOKIE, &cookie, failure) != INA_OK ||
	    take_text(sources, INA_KEY_SECRET, &secret, failure) != INA_OK)
		return failure->status;
	ina_job_make(job, cookie, secret);
	return INA_OK;
}

static enum ina_status make_ports(const struct ina_sources *sources, struct ina_port_range *ports,
                                  struct ina_failure *failure)
{
	const char *text = sources->of[INA_KEY_PORTS].text;
	char name[INA_SOURCE_NAME_MAX];
	uint64_t first, last;
	const char *rest = text ? ina_scan_whole(text, 1, 65534, &first) : NULL;

	if (!text)
		return INA_OK;
	if (!rest || *rest != '-' || !ina_parse_whole(rest + 1, first + 1, 65535, &last))
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "%s is \"%.40s\": it must be FIRST-LAST, two ports or more from 1 to "
		        "65535",
		        ina_source_name(sources, INA_KEY_PORTS, name), text);
	*ports = (struct ina_port_range){(int)first, (int)(last - first + 1)};
	return INA_OK;
}

/* Sets the port of a root without one. With INA_PORTS, any other port must be one of these. */
static enum ina_status make_root_port(const struct ina_sources *sources,
                                      struct ina_settings *settings, struct ina_failure *failure)
{
	const struct ina_port_range usual = {INA_DEFAULT_PORT, INA_JOB_PORTS * INA_JOB_PORT_BLOCKS};
	/* Neighbours use the upper half, so that they do not take a port of another job's rank 0.
	 */
	const struct ina_port_range lower = {settings->ports.first, settings->ports.count / 2};
	const bool is_limited = settings->ports.count > 0;
	int port = ntohs(settings->root.sin_port);
	char names[2][INA_SOURCE_NAME_MAX];

	settings->root_ports = 1;
	if (port == 0) {
		struct ina_port_range own =
		        ina_job_ports(&settings->job, is_limited ? &lower : &usual);

		settings->root.sin_port = htons((uint16_t)own.first);
		settings->root_ports = own.count;
	} else if (is_limited && (port < lower.first || port >= lower.first + lower.count)) {
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "port %d of %s is not in the lower half of %s, %.40s", port,
		                ina_source_name(sources, INA_KEY_ROOT, names[0]),
		                ina_source_name(sources, INA_KEY_PORTS, names[1]),
		                sources->of[INA_KEY_PORTS].text);
	}
	return INA_OK;
}

static enum ina_status make_root(const struct ina_sources *sources, struct ina_settings *settings,
                                 struct ina_failure *failure)
{
	const struct ina_options *options = &settings->options;
	struct ina_launch_root launched = {.text = ""};
	struct sockaddr_in numeric;
	char source[INA_SOURCE_NAME_MAX];
	const char *root = sources->of[INA_KEY_ROOT].text;
	const char *name = ina_source_name(sources, INA_KEY_ROOT, source);

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
		                          "%s is \"%.60s\": the system's resolver did not find "
		                          "the address within "
		                          "%d ms; is the name server of /etc/resolv.conf up?",
		                          name, root, options->open_timeout_ms)
		               : ina_fail(failure, INA_ERR_ARGUMENT,
		                          "%s is \"%.60s\": it must be an IPv4 address or the "
		                          "name of a host "
		                          "that has one, optionally followed by :port",
		                          name, root);
	if (settings->ports.count > 0 && launched.text[0])
		settings->root.sin_port = 0; /* the launcher does not know INA_PORTS */
	/*
	 * /etc/hosts often maps a host's own name to 127.0.1.1, which other hosts could not reach.
	 */
	if (options->rank == 0 && ina_is_loopback(settings->root.sin_addr) &&
	    ina_address_parse_numeric(root, &numeric) != 0)
		settings->root.sin_addr.s_addr = INADDR_ANY;
	return make_root_port(sources, settings, failure);
}

static enum ina_status make_bind(const struct ina_sources *sources, struct ina_settings *settings,
                                 struct ina_failure *failure)
{
	const char *bind = sources->of[INA_KEY_BIND].text;
	const char *device = sources->of[INA_KEY_HCA].text;
	char name[INA_SOURCE_NAME_MAX];

	if (bind && (strchr(bind, ':') || ina_address_parse_numeric(bind, &settings->bind) != 0))
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s is \"%.60s\": it must be an IPv4 address",
		                ina_source_name(sources, INA_KEY_BIND, name), bind);
	if (!ina_device_list_is_valid(device ? device : ""))
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s is \"%.60s\": it must be a list of devices such as "
		                "mlx5_0:1,mlx5_1, =mlx5_0 or ^mlx5_2, shorter than %d characters",
		                ina_source_name(sources, INA_KEY_HCA, name), device,
		                INA_DEVICE_LIST_SIZE);
	strcpy(settings->device, device ? device : "");
	return INA_OK;
}

int ina_losses_ms(const struct ina_options *options)
{
	return (int)(8 * ((int64_t)4096 << options->ack_timeout) / 1000000);
}

/* Sets the options that nobody has given, and whose defaults are not in ina_options_init(). */
static void complete(struct ina_options *options)
{
	const unsigned int times = INA_DEFAULT_MESSAGE_PACKETS / INA_SHORT_MESSAGE_PACKETS;

	options->fixed_point = options->fixed_point == 1;
	options->congestion_control = options->congestion_control == 1;
	options->progress_thread = options->progress_thread == 1;
	if (options->channels == 0)
		options->channels = 1;
	if (options->ack_timeout == 0)
		options->ack_timeout = INA_ACK_TIMEOUT_DEFAULT;
	if (options->join_timeout_ms == 0) {
		options->join_timeout_ms = ina_losses_ms(options);
		if (options->join_timeout_ms < LEAST_JOIN_TIMEOUT_MS)
			options->join_timeout_ms = LEAST_JOIN_TIMEOUT_MS;
	}
	/* Shorter messages: the same number of packets makes more messages. */
	if (options->congestion_control && options->message_bytes == 0 &&
	    options->window <= INA_WINDOW_PACKETS_MAX / INA_DEFAULT_MESSAGE_PACKETS)
		options->window *= times;
}

/* Replaces %h, %p and %% in the name of the log file. Returns false if it cannot. */
static bool expand(const char *pattern, char *path, size_t size)
{
	char host[HOST_NAME_MAX + 1] = "";
	size_t used = 0;

	gethostname(host, sizeof(host) - 1);
	for (const char *at = pattern; *at && used < size; at++) {
		const size_t left = size - used;

		if (*at != '%')
			used += (size_t)snprintf(path + used, left, "%c", *at);
		else if (*++at == 'h')
			used += (size_t)snprintf(path + used, left, "%s", host);
		else if (*at == 'p')
			used += (size_t)snprintf(path + used, left, "%d", (int)getpid());
		else if (*at == '%')
			used += (size_t)snprintf(path + used, left, "%%");
		else
			return false;
	}
	return used < size;
}

static enum ina_status make_log(const struct ina_sources *sources, struct ina_settings *settings,
                                struct ina_failure *failure)
{
	const char *pattern = sources->of[INA_KEY_LOG_FILE].text;
	char name[INA_SOURCE_NAME_MAX];

	if (pattern && !expand(pattern, settings->log_file, sizeof(settings->log_file)))
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s is \"%.60s\": it must be a path of less than %d characters, in "
		                "which %%h is the host, %%p the process id and %%%% a %%",
		                ina_source_name(sources, INA_KEY_LOG_FILE, name), pattern,
		                INA_LOG_FILE_SIZE);
	return INA_OK;
}

/* Reads all that a rank needs to find the others. */
static enum ina_status make_meeting(struct ina_sources *sources, const struct ina_values *values,
                                    struct ina_settings *settings, struct ina_failure *failure)
{
	struct ina_launch launch = {.job = ""};
	enum ina_status status =
	        ina_sources_apply(sources, 0, INA_KEY_MEETING_COUNT, values, failure);

	settings->deadline_ms = ina_now_ms() + settings->options.open_timeout_ms;
	if (status == INA_OK)
		status = make_ranks(sources, &settings->options, &launch, failure);
	/* Then the program's exchange tells the other ranks. */
	settings->can_meet = status == INA_OK && settings->options.exchange;
	if (status == INA_OK)
		status = make_job(sources, &settings->job, launch.job, failure);
	if (status == INA_OK)
		status = make_ports(sources, &settings->ports, failure);
	if (status == INA_OK && settings->options.exchange && !settings->options.root)
		settings->root.sin_family = AF_INET; /* at no address */
	else if (status == INA_OK)
		status = make_root(sources, settings, failure);
	settings->can_meet |= status == INA_OK;
	return status;
}

/* Reads all that a rank does not need to find the others. */
static enum ina_status make_rest(struct ina_sources *sources, const struct ina_values *values,
                                 struct ina_settings *settings, struct ina_failure *failure)
{
	if (ina_sources_apply(sources, INA_KEY_MEETING_COUNT, INA_KEY_COUNT, values, failure) !=
	            INA_OK ||
	    make_bind(sources, settings, failure) != INA_OK ||
	    make_log(sources, settings, failure) != INA_OK)
		return failure->status;
	complete(&settings->options);
	return INA_OK;
}

enum ina_status ina_settings_read(struct ina_settings *settings, struct ina_sources *sources,
                                  const struct ina_options *options, struct ina_failure *failure)
{
	struct ina_options defaults;
	const struct ina_values values = {&defaults, &settings->options, &settings->variables};

	ina_options_init(&defaults);
	*settings = DEFAULTS;
	settings->options = defaults;
	if (take_options(settings, options, failure) != INA_OK ||
	    ina_sources_read(sources, failure) != INA_OK ||
	    ina_sources_apply(sources, 0, INA_KEY_MEETING_COUNT, &values, failure) != INA_OK)
		return failure->status;
	return make_rest(sources, &values, settings, failure);
}

static enum ina_status make(struct ina_settings *settings, struct ina_sources *sources,
                            const struct ina_options *options, struct ina_failure *failure)
{
	struct ina_options defaults;
	const struct ina_values values = {&defaults, &settings->options, &settings->variables};
	struct ina_failure fault;
	enum ina_status status;

	ina_options_init(&defaults);
	settings->options = defaults;
	if (take_options(settings, options, failure) != INA_OK)
		return failure->status;
	/* A fault in a file or in a name is reported to the other ranks too, if that is possible.
	 */
	ina_sources_read(sources, &fault);
	status = make_meeting(sources, &values, settings, failure);
	if (fault.status != INA_OK) {
		*failure = fault;
		status = fault.status;
	}
	if (status == INA_OK)
		status = make_rest(sources, &values, settings, failure);
	settings->receives = settings->options.window;
	return status;
}

enum ina_status ina_settings_make(struct ina_settings *settings, const struct ina_options *options,
                                  struct ina_failure *failure)
{
	struct ina_sources *sources = malloc(sizeof(*sources));
	enum ina_status status;

	*settings = DEFAULTS;
	status = sources ? make(settings, sources, options, failure)
	                 : ina_fail(failure, INA_ERR_MEMORY, "no memory to read the options");
	free(sources);
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
