/* SPDX-License-Identifier: Apache-2.0 */
/* The text format of Prometheus, version 0.0.4; names and help come from the lists of counters. */
#define _GNU_SOURCE
#include "metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/parse.h"

enum { CLIENTS = 8, PATIENCE_S = 5, RUNS_MAX = 16 };

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_aggregators(FILE *out, const struct view *view)
{
	const struct topology *topology = view->fabric->topology;
	const struct bridge *bridges = view->fabric->bridges;
	struct ina_counters counts[TOPOLOGY_SWITCHES_MAX];

	for (unsigned i = 0; i < topology->switch_count; i++)
		if (bridges[i].engine)
			bridges[i].engine->operations->read_counters(bridges[i].engine, &counts[i]);
#define X(counter, meaning)                                                                        \
	head(out, "ina_aggregator_" #counter "_total", "counter", meaning);                        \
	for (unsigned i = 0; i < topology->switch_count; i++)                                      \
		if (bridges[i].engine)                                                             \
			fprintf(out,                                                               \
			        "ina_aggregator_" #counter "_total{switch=\"%s\"} %" PRIu64 "\n",  \
			        topology->switches[i].name, counts[i].counter);
	INA_COUNTERS(X)
#undef X
}

static void write_switches(FILE *out, const struct view *view)
{
	const struct topology *topology = view->fabric->topology;

#define X(counter, meaning)                                                                        \
	head(out, "ina_switch_" #counter "_total", "counter", meaning);                            \
	for (unsigned i = 0; i < topology->switch_count; i++)                                      \
		fprintf(out, "ina_switch_" #counter "_total{switch=\"%s\"} %" PRIu64 "\n",         \
		        topology->switches[i].name, view->fabric->bridges[i].counter);
	BRIDGE_COUNTS(X)
#undef X
	head(out, "ina_contexts", "gauge", "contexts of the aggregator");
	for (unsigned i = 0; i < topology->switch_count; i++) {
		const struct engine *engine = view->fabric->bridges[i].engine;

		fprintf(out, "ina_contexts{switch=\"%s\"} %u\n", topology->switches[i].name,
		        engine ? engine->jobs : 0);
	}
	head(out, "ina_draining", "gauge", "1 if no new job is admitted");
	fprintf(out, "ina_draining %d\n", view->fabric->network.is_draining);
}

/* Writes the labels of a port. The name of an interface may have any characters but these. */
static void write_labels(FILE *out, const struct port *port, unsigned number)
{
	fprintf(out, "{port=\"%u\",interface=\"", number);
	for (const char *at = port->name; *at; at++)
		fprintf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
	fputs("\"} ", out);
}

static void write_ports(FILE *out, const struct view *view)
{
	const unsigned count = view->fabric->topology->host_count;

	for (unsigned i = 0; i < count; i++)
		port_count_lost(&view->ports[i]);
#define X(counter, meaning)                                                                        \
	head(out, "ina_port_" #counter "_total", "counter", meaning);                              \
	for (unsigned i = 0; i < count; i++) {                                                     \
		fputs("ina_port_" #counter "_total", out);                                         \
		write_labels(out, &view->ports[i], i);                                             \
		fprintf(out, "%" PRIu64 "\n", view->ports[i].counts.counter);                      \
	}
	PORT_COUNTS(X)
#undef X
	head(out, "ina_port_up", "gauge", "1 if the link works");
	for (unsigned i = 0; i < count; i++) {
		fputs("ina_port_up", out);
		write_labels(out, &view->ports[i], i);
		fprintf(out, "%d\n", view->ports[i].is_open && view->ports[i].is_up);
	}
}

/* Returns the text, which the caller frees, or NULL without memory. */
static char *write_all(const struct view *view, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out)
		return NULL;
	write_aggregators(out, view);
	write_switches(out, view);
	write_ports(out, view);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
                             char *text, size_t bytes, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(bytes, text, mode);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* Implements MHD_AccessHandlerCallback. */
static enum MHD_Result take_request(void *context, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *upload, size_t *upload_bytes, void **of_request)
{
	static char lost[] = "the counters are at /metrics\n";
	static char wrong[] = "only GET and HEAD\n";
	const struct metrics *metrics = context;
	size_t bytes = 0;
	char *text;

	(void)version;
	(void)upload;
	if (!*of_request) { /* the first call: only the headers have come */
		*of_request = connection;
		return MHD_YES;
	}
	if (*upload_bytes) { /* an upload is ignored */
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", wrong,
		             strlen(wrong), MHD_RESPMEM_PERSISTENT);
	if (strcmp(url, "/metrics") != 0)
		return reply(connection, MHD_HTTP_NOT_FOUND, "text/plain", lost, strlen(lost),
		             MHD_RESPMEM_PERSISTENT);
	text = write_all(&metrics->view, &bytes);
	if (!text)
		return MHD_NO;
	return reply(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text,
	             bytes, MHD_RESPMEM_MUST_FREE);
}

/* Reads [ADDRESS:]PORT. */
static bool read_address(const char *where, struct sockaddr_in *address)
{
	const char *colon = strrchr(where, ':');
	char host[INET_ADDRSTRLEN] = "127.0.0.1";
	uint64_t port = 0;

	if (colon && (size_t)(colon - where) >= sizeof(host))
		return false;
	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	*address = (struct sockaddr_in){.sin_family = AF_INET};
	if (!ina_parse_whole(colon ? colon + 1 : where, 1, 65535, &port) ||
	    inet_pton(AF_INET, host, &address->sin_addr) != 1)
		return false;
	address->sin_port = htons((uint16_t)port);
	return true;
}

/* Returns the socket, or -1 with errno. */
static int open_socket(const struct sockaddr_in *address)
{
	const int on = 1;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
	    listen(fd, CLIENTS) == 0)
		return fd;
	const int error = errno;

	close(fd);
	errno = error;
	return -1;
}

/*
 * Returns 0, or -1 with errno. The daemon would leave any errno if it could not open its socket. So
 * it gets an open one, which it closes.
 */
static int open_daemon(struct metrics *metrics, const struct sockaddr_in *address)
{
	struct epoll_event event = {.events = EPOLLIN};
	const union MHD_DaemonInfo *info;
	const int fd = open_socket(address);

	if (fd < 0)
		return -1;
	metrics->daemon = MHD_start_daemon(
	        MHD_USE_EPOLL, 0, NULL, NULL, take_request, metrics, MHD_OPTION_LISTEN_SOCKET, fd,
	        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT,
	        (unsigned)PATIENCE_S, MHD_OPTION_END);
	if (!metrics->daemon) {
		errno = EIO;
		return -1;
	}
	info = MHD_get_daemon_info(metrics->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	metrics->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	metrics->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (metrics->timer_fd < 0 || metrics->epoll_fd < 0 || !info ||
	    epoll_ctl(metrics->epoll_fd, EPOLL_CTL_ADD, info->epoll_fd, &event) != 0)
		return -1;
	return epoll_ctl(metrics->epoll_fd, EPOLL_CTL_ADD, metrics->timer_fd, &event);
}

void metrics_init(struct metrics *metrics)
{
	*metrics = (struct metrics){.timer_fd = -1, .epoll_fd = -1};
}

bool metrics_open(struct metrics *metrics, const char *where, char *error, size_t error_bytes)
{
	struct sockaddr_in address;

	if (!read_address(where, &address)) {
		snprintf(error, error_bytes,
		         "--metrics %s: must be [ADDRESS:]PORT, with an IPv4 address", where);
		return false;
	}
	if (open_daemon(metrics, &address) == 0)
		return true;
	snprintf(error, error_bytes, "--metrics %s: %s", where, strerror(errno));
	return false;
}

void metrics_close(struct metrics *metrics)
{
	if (metrics->epoll_fd >= 0)
		close(metrics->epoll_fd);
	if (metrics->timer_fd >= 0)
		close(metrics->timer_fd);
	if (metrics->daemon)
		MHD_stop_daemon(metrics->daemon);
	metrics_init(metrics);
}

void metrics_run(void *context, uint64_t time_ns)
{
	struct metrics *metrics = context;
	struct itimerspec timer = {0}; /* disarmed */
	MHD_UNSIGNED_LONG_LONG wait_ms = 0;
	uint64_t expirations;
	bool has_timeout = true;

	(void)time_ns;
	(void)!read(metrics->timer_fd, &expirations, sizeof(expirations));
	for (unsigned run = 0; run < RUNS_MAX && has_timeout && wait_ms == 0; run++) {
		MHD_run(metrics->daemon);
		has_timeout = MHD_get_timeout(metrics->daemon, &wait_ms) == MHD_YES;
	}
	if (has_timeout) {
		timer.it_value.tv_sec = (time_t)(wait_ms / 1000);
		timer.it_value.tv_nsec = (long)(wait_ms % 1000) * 1000000 + 1;
	}
	timerfd_settime(metrics->timer_fd, 0, &timer, NULL);
}
