/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge of a run: the ina-bridge process, and its link to each host. */
#include "bridge.h"

#include "common/bridge_options.h"
#include "common/streams.h"
#include "cables.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define FIRST_PORT_FD 3

/* An argument that ina-lab adds for the bridge, such as "fd=3". */
typedef char argument_text[32];

/*
 * The bytes that a link can hold in flight, as the kernel counts them, if the machine allows it
 * (net.core.wmem_max). rxe has up to 128 packets of 4 KiB in flight on each connection, and a link
 * that overflows looks like one that loses packets.
 */
#define LINK_BUFFER_BYTES (8 << 20)

bool lab_bridge_find(char *path)
{
	const char *given = getenv("INA_BRIDGE");

	if (given && *given) {
		snprintf(path, PATH_MAX, "%s", given);
	} else {
		const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 16);
		if (length < 0)
			return false;
		path[length] = '\0';
		strcpy(strrchr(path, '/') + 1, "ina-bridge");
	}
	return !access(path, X_OK);
}

/* lab_bridge_find(), and prints one line on stderr if it fails. */
static bool find_bridge(char *path)
{
	if (lab_bridge_find(path))
		return true;
	fprintf(stderr, "ina-lab: no bridge found at %s: build it, or set INA_BRIDGE\n", path);
	return false;
}

/* A switch has at least two ports. With one host, ina-lab keeps the second link and ignores it. */
static int port_count(const struct lab_options *options)
{
	return options->host_count > 1 ? options->host_count : 2;
}

/* Makes the links. Returns false with errno set; the caller closes the ends listed by then. */
static bool make_links(struct lab_bridge *bridge, int *bridge_ends)
{
	const int bytes = LINK_BUFFER_BYTES;

	for (int i = 0; i < bridge->link_count; i++) {
		int ends[2];
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			return false;
		bridge_ends[i] = ends[0];
		bridge->host_ends[i] = ends[1];
		for (int k = 0; k < 2; k++)
			if (setsockopt(ends[k], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
				setsockopt(ends[k], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	}
	return true;
}

/*
 * Opens a listening socket, which hosts find in the workspace under this name. The address of a
 * socket must be short, so its path goes through a descriptor of the folder. Returns -1 with errno
 * set on failure.
 */
static int listen_at(const char *folder, const char *name, int backlog)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder_fd,
	         name);
	const bool listens = folder_fd >= 0 && fd >= 0 &&
	                     !bind(fd, (struct sockaddr *)&address, sizeof(address)) &&
	                     !listen(fd, backlog);
	const int error = errno;
	if (folder_fd >= 0)
		close(folder_fd);
	if (!listens && fd >= 0)
		close(fd);
	errno = error;
	return listens ? fd : -1;
}

/* Virtual time: opens a socket for the network device of each host, then one for the clocks. */
static bool listen_all(const struct lab_workspace *workspace, int count, int *bridge_ends)
{
	for (int i = 0; i <= count; i++) {
		char name[32];

		snprintf(name, sizeof(name), LAB_NETWORK_SOCKET, i);
		bridge_ends[i] = listen_at(workspace->path, i < count ? name : LAB_CLOCK_SOCKET,
		                           i < count ? 1 : count);
		if (bridge_ends[i] < 0)
			return false;
	}
	return true;
}

/* The arguments for virtual time, in which the bridge delays the start of ranks. */
static int add_virtual_arguments(const struct lab_bridge *bridge, const struct lab_options *options,
                                 char **argv, argument_text *texts)
{
	int count = 0;

	snprintf(texts[0], sizeof(texts[0]), "fd=%d", FIRST_PORT_FD + options->host_count);
	argv[count++] = "--virtual-time";
	argv[count++] = texts[0];
	if (!options->quiet)
		argv[count++] = (char *)bridge->progress_argument;
	for (int rank = 0; rank < options->host_count; rank++) {
		snprintf(texts[1 + rank], sizeof(texts[0]), "%d:%.9fs", rank,
		         options->delay_s[rank]);
		argv[count++] = "--start-delay";
		argv[count++] = texts[1 + rank];
	}
	return count;
}

/*
 * The aggregator's times that depend on the ACK timeout, if the bridge's defaults are too short:
 * its patience must be longer than two of them (docs/protocol.md, Suspects), and so must its
 * shorter time-to-live, or a job that only retransmits would expire.
 */
static int add_times(const struct lab_options *options, char **argv, argument_text *texts)
{
	const double timeouts_ms =
	        2.2 * 4.096e-3 * (double)(1u << lab_workspace_ack_timeout(options));
	int count = 0;

	snprintf(texts[0], sizeof(texts[0]), "%.0f", timeouts_ms);
	snprintf(texts[1], sizeof(texts[1]), "%.1f", timeouts_ms / 1000);
	if (timeouts_ms > BRIDGE_OPTIONS_PATIENCE_MS_DEFAULT) {
		argv[count++] = "--patience";
		argv[count++] = texts[0];
	}
	if (timeouts_ms > BRIDGE_OPTIONS_IDLE_TTL_MS_DEFAULT) {
		argv[count++] = "--idle-ttl";
		argv[count++] = texts[1];
	}
	return count;
}

/* Returns -1 with errno set on failure. */
static pid_t start_process(struct lab_bridge *bridge, struct lab_reaper *reaper, char *path,
                           const struct lab_options *options, const int *bridge_ends,
                           struct lab_cables *cables)
{
	const size_t ports = (size_t)bridge->link_count;
	const int fd_count =
	        FIRST_PORT_FD + (cables ? 0 : bridge->link_count + options->is_virtual);
	/* Each port has one, and a second one in virtual time; three more are for all hosts. */
	argument_text *texts = calloc(2 * ports + 3, sizeof(*texts));
	char **argv = calloc(4 * ports + 2 * LAB_BRIDGE_OPTIONS + 20, sizeof(*argv));
	int *from = calloc((size_t)fd_count, sizeof(*from));
	int count = 0;
	pid_t pid = -1;

	if (!texts || !argv || !from)
		goto out;
	from[0] = STDIN_FILENO;
	from[1] = from[2] = STDERR_FILENO;
	if (!cables)
		memcpy(from + FIRST_PORT_FD, bridge_ends,
		       (size_t)(fd_count - FIRST_PORT_FD) * sizeof(*from));
	argv[count++] = path;
	for (int i = 0; i < bridge->link_count; i++) {
		if (options->has_taps)
			snprintf(texts[i], sizeof(texts[i]), LAB_CABLE_NAME, i);
		else
			snprintf(texts[i], sizeof(texts[i]), "fd=%d", FIRST_PORT_FD + i);
		argv[count++] = "--port";
		argv[count++] = texts[i];
	}
	if (options->is_virtual)
		count += add_virtual_arguments(bridge, options, argv + count, texts + ports);
	count += add_times(options, argv + count, texts + 2 * ports + 1);
	for (int i = 0; i < options->bridge_argument_count; i++)
		argv[count++] = (char *)options->bridge_arguments[i];
	argv[count++] = "--stats";
	argv[count++] = bridge->stats_path;
	argv[count] = NULL;
	pid = lab_reaper_start(reaper, &(struct lab_start){
	                                       .path = path,
	                                       .argv = argv,
	                                       .environment = environ,
	                                       .from = from,
	                                       .fd_count = fd_count,
	                                       .prepare = cables ? lab_cables_make : NULL,
	                                       .prepare_context = cables,
	                               });
out:
	free(texts);
	free(argv);
	free(from);
	return pid;
}

/* Starts the process, which makes the TAP devices, and receives the hosts' ends. */
static pid_t start_with_taps(struct lab_bridge *bridge, struct lab_reaper *reaper, char *path,
                             const struct lab_options *options)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	struct lab_cables cables = {bridge->link_count, lab_workspace_device_mtu(options), ends[0]};
	pid = start_process(bridge, reaper, path, options, NULL, &cables);
	if (pid > 0 && !lab_cables_receive(ends[1], bridge->host_ends, bridge->link_count)) {
		lab_reaper_reap(reaper, pid);
		pid = -1;
	}
	const int error = errno;
	close(ends[0]);
	close(ends[1]);
	errno = error;
	return pid;
}

/* Makes the links or the sockets, and starts the process. Returns false with errno on failure. */
static bool connect_and_start(struct lab_bridge *bridge, struct lab_reaper *reaper, char *path,
                              const struct lab_workspace *workspace,
                              const struct lab_options *options)
{
	const int end_count = port_count(options) + 1;
	int *bridge_ends = malloc((size_t)end_count * sizeof(*bridge_ends));

	bridge->host_ends = malloc((size_t)end_count * sizeof(*bridge->host_ends));
	if (!bridge_ends || !bridge->host_ends) {
		free(bridge_ends);
		return false;
	}
	bridge->link_count = port_count(options);
	for (int i = 0; i < end_count; i++)
		bridge_ends[i] = bridge->host_ends[i] = -1;
	bridge->pid = -1;
	bridge->has_taps = options->has_taps;
	if (options->has_taps)
		bridge->pid = start_with_taps(bridge, reaper, path, options);
	else if (options->is_virtual ? listen_all(workspace, options->host_count, bridge_ends)
	                             : make_links(bridge, bridge_ends))
		bridge->pid = start_process(bridge, reaper, path, options, bridge_ends, NULL);
	const int error = errno;
	for (int i = 0; i < end_count; i++)
		if (bridge_ends[i] >= 0)
			close(bridge_ends[i]);
	free(bridge_ends);
	errno = error;
	return bridge->pid > 0;
}

bool lab_bridge_start(struct lab_bridge *bridge, struct lab_reaper *reaper,
                      const struct lab_workspace *workspace, const struct lab_options *options)
{
	char path[PATH_MAX];

	if (options->stats_path)
		snprintf(bridge->stats_path, sizeof(bridge->stats_path), "%s", options->stats_path);
	else
		snprintf(bridge->stats_path, sizeof(bridge->stats_path), "%s/stats.json",
		         workspace->path);
	snprintf(bridge->progress_argument, sizeof(bridge->progress_argument), "--progress=%s/%s",
	         workspace->path, LAB_PROGRESS_FILE);
	if (!find_bridge(path))
		return false;
	if (options->stats_path && !ina_streams_can_write("ina-lab", options->stats_path))
		return false;
	if (connect_and_start(bridge, reaper, path, workspace, options))
		return true;
	if (errno) /* 0: lab_cables_make() has printed a line */
		fprintf(stderr, "ina-lab: cannot start the bridge %s: %s\n", path, strerror(errno));
	bridge->pid = 0;
	return false;
}

static void close_host_ends(struct lab_bridge *bridge, int host_count)
{
	for (int i = 0; i < host_count && i < bridge->link_count; i++) {
		if (bridge->host_ends[i] >= 0)
			close(bridge->host_ends[i]);
		bridge->host_ends[i] = -1;
	}
}

void lab_bridge_close_host_ends(struct lab_bridge *bridge, int host_count)
{
	if (!bridge->has_taps)
		close_host_ends(bridge, host_count);
}

/* Runs `path` and waits for its end. Returns its exit code, or -1 with errno. */
static int run_to_end(const char *path, char **argv)
{
	pid_t pid;
	int status;

	errno = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	if (errno)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : LAB_EXIT_FAILED;
}

int lab_bridge_check(const struct lab_options *options)
{
	char path[PATH_MAX], hosts[16];
	char *argv[2 * LAB_BRIDGE_OPTIONS + 8] = {"ina-lab run", "--check-hosts", hosts};
	int count = 3, code;

	if (!find_bridge(path))
		return LAB_EXIT_FAILED;
	snprintf(hosts, sizeof(hosts), "%d", port_count(options));
	for (int i = 0; i < options->bridge_argument_count; i++)
		argv[count++] = (char *)options->bridge_arguments[i];
	if (options->stats_path) {
		argv[count++] = "--stats";
		argv[count++] = (char *)options->stats_path;
	}
	code = run_to_end(path, argv);
	if (code < 0)
		fprintf(stderr, "ina-lab: cannot start the bridge %s: %s\n", path, strerror(errno));
	return code < 0 ? LAB_EXIT_FAILED : code;
}

static void wait_for_end(const struct lab_bridge *bridge, double patience_s)
{
	for (int tries = 0; tries < patience_s * 200 && !lab_reaper_has_ended(bridge->pid); tries++)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

void lab_bridge_end_with_hosts(struct lab_bridge *bridge, double patience_s)
{
	if (!bridge->pid)
		return;
	kill(bridge->pid, SIGUSR1);
	wait_for_end(bridge, patience_s);
}

bool lab_bridge_end(struct lab_bridge *bridge, struct lab_reaper *reaper, double patience_s)
{
	if (!bridge->pid)
		return false;
	kill(bridge->pid, SIGTERM);
	wait_for_end(bridge, patience_s);
	bridge->wait_status = lab_reaper_reap(reaper, bridge->pid);
	bridge->pid = 0;
	return WIFEXITED(bridge->wait_status) && !WEXITSTATUS(bridge->wait_status);
}

void lab_bridge_close(struct lab_bridge *bridge)
{
	close_host_ends(bridge, bridge->link_count);
	free(bridge->host_ends);
	bridge->host_ends = NULL;
	bridge->link_count = 0;
}
