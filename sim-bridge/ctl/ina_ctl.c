/* SPDX-License-Identifier: Apache-2.0 */
/* ina-ctl: sends one request to a running ina-bridge, and prints its answer. */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/parse.h"
#include "common/streams.h"
#include "sim-bridge/control/protocol.h"
#include "tables.h"

enum {
	EXIT_USAGE = 2,
	PATIENCE_S = 10,
	ANSWER_BYTES = 64 << 20,
	KEY_CONTROL = 0x100,
	KEY_JSON,
	KEY_OFF,
};

#define DEFAULT_PATH "/run/ina-bridge/control"

struct options {
	const char *path;
	const char *ask;
	const char *job; /* of forget, or NULL */
	bool is_json;
	bool is_off; /* of drain */
};

static bool is_request(const char *word)
{
	static const char *const requests[] = {"ports", "jobs",   "contexts", "counters",
	                                       "drain", "forget", "why"};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (!strcmp(requests[i], word))
			return true;
	return false;
}

static void take_word(struct options *options, char *word, struct argp_state *state)
{
	uint64_t job;

	if (!options->ask) {
		if (!is_request(word))
			argp_error(state, "'%s': no such request", word);
		options->ask = word;
		return;
	}
	if (strcmp(options->ask, "forget") != 0 || options->job)
		argp_error(state, "'%s': one word too many", word);
	if (!ina_parse_whole(word, 0, UINT64_MAX, &job))
		argp_error(state,
		           "forget takes the id of a job, as `ina-ctl jobs` prints it, "
		           "not '%s'",
		           word);
	options->job = word;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_CONTROL:
		options->path = text;
		return 0;
	case KEY_JSON:
		options->is_json = true;
		return 0;
	case KEY_OFF:
		options->is_off = true;
		return 0;
	case ARGP_KEY_ARG:
		take_word(options, text, state);
		return 0;
	case ARGP_KEY_END:
		if (!options->ask)
			argp_error(state, "give a request: ports, jobs, contexts, counters, "
			                  "drain, forget JOB, or why");
		if (!strcmp(options->ask, "forget") && !options->job)
			argp_error(state, "forget takes the id of a job");
		if (options->is_off && strcmp(options->ask, "drain") != 0)
			argp_error(state, "--off is for drain");
		if (strlen(options->path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
			argp_error(state, "--control %s: the path is too long", options->path);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool complain(const struct options *options, const char *what)
{
	fprintf(stderr, "ina-ctl: %s: %s\n", options->path, what);
	return false;
}

/* Returns a socket, or -1 after one line on stderr. */
static int open_socket(const struct options *options)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, options->path);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0) {
		complain(options, strerror(errno));
	} else if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		complain(options, errno == ENOENT || errno == ECONNREFUSED
		                          ? "no ina-bridge listens there: start it with --control"
		                          : strerror(errno));
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static json_t *make_request(const struct options *options)
{
	json_t *request = json_pack("{si ss}", "version", CONTROL_VERSION, "ask", options->ask);

	if (options->job)
		json_object_set_new(request, "job", json_string(options->job));
	if (!strcmp(options->ask, "drain"))
		json_object_set_new(request, "on", json_boolean(!options->is_off));
	return request;
}

static bool send_request(const struct options *options, int fd)
{
	json_t *request = make_request(options);
	char *text = json_dumps(request, JSON_COMPACT);
	bool is_sent = false;

	json_decref(request);
	if (!text)
		return complain(options, strerror(ENOMEM));
	const size_t bytes = strlen(text);

	text[bytes] = '\n'; /* in place of the final 0 */
	is_sent = send(fd, text, bytes + 1, MSG_NOSIGNAL) == (ssize_t)(bytes + 1);
	free(text);
	return is_sent || complain(options, strerror(errno));
}

/* Returns the line that the bridge has sent, or NULL after one line on stderr. The caller frees. */
static char *receive_line(const struct options *options, int fd)
{
	const int64_t end_ns = ina_now_ns() + PATIENCE_S * INT64_C(1000000000);
	size_t room = 1 << 16, used = 0;
	char *line = malloc(room);
	ssize_t got = 0;

	while (line && used < ANSWER_BYTES && ina_now_ns() < end_ns) {
		got = recv(fd, line + used, room - used - 1, 0);
		if (got <= 0)
			break;
		used += (size_t)got;
		line[used] = 0;
		if (line[used - 1] == '\n')
			return line;
		if (room - used > 1)
			continue;
		char *larger = realloc(line, room *= 2);

		if (!larger)
			break;
		line = larger;
	}
	free(line);
	complain(options, got == 0 ? "it closed the connection without an answer"
	                           : "it did not answer in time");
	return NULL;
}

/* Returns what the bridge answers, or NULL after one line on stderr. The caller owns it. */
static json_t *ask(const struct options *options, int fd)
{
	char *line = send_request(options, fd) ? receive_line(options, fd) : NULL;
	json_t *object = line ? json_loads(line, JSON_DECODE_ANY, NULL) : NULL;
	const bool is_known =
	        json_integer_value(json_object_get(object, "version")) == CONTROL_VERSION;
	const char *error = json_string_value(json_object_get(object, "error"));
	json_t *answer = is_known ? json_incref(json_object_get(object, "answer")) : NULL;

	if (line && error)
		complain(options, error);
	else if (line && !answer)
		complain(options, "it is an ina-bridge of another version, or another program");
	json_decref(object);
	free(line);
	return answer;
}

static void print_answer(const struct options *options, const json_t *answer)
{
	if (options->is_json) {
		json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
		putchar('\n');
	} else if (!strcmp(options->ask, "drain")) {
		puts(json_is_true(answer) ? "draining: no new job is admitted"
		                          : "no longer draining");
	} else if (options->job) {
		printf("forgotten at %d switch%s\n", (int)json_integer_value(answer),
		       json_integer_value(answer) == 1 ? "" : "es");
	} else {
		tables_print(options->ask, answer);
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option list[] = {
	        {"control", KEY_CONTROL, "PATH", 0,
	         "The socket that ina-bridge has with --control. Default: " DEFAULT_PATH, 0},
	        {"json", KEY_JSON, NULL, 0, "Print the answer as JSON", 0},
	        {"off", KEY_OFF, NULL, 0, "End a drain", 0},
	        {0},
	};
	static const struct argp argp = {
	        .options = list,
	        .parser = parse_option,
	        .args_doc = "ports|jobs|contexts|counters|drain|forget JOB|why",
	        .doc = "Looks into a running ina-bridge.",
	};
	struct options options = {.path = DEFAULT_PATH};
	json_t *answer;

	ina_streams_open();
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	const int fd = open_socket(&options);

	if (fd < 0)
		return EXIT_FAILURE;
	answer = ask(&options, fd);
	close(fd);
	if (!answer)
		return EXIT_FAILURE;
	print_answer(&options, answer);
	json_decref(answer);
	return ina_streams_flush("ina-ctl") ? EXIT_SUCCESS : EXIT_FAILURE;
}
