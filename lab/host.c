/* SPDX-License-Identifier: Apache-2.0 */
/* One host: starting its kernel, exchanging messages with lab/guest-init, ending it. */
#include "host.h"
#include "qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARGUMENT_BYTES  (PATH_MAX + 64)
#define LOG_SHOWN_LINES 12

static void log_path(char *path, size_t size, const struct lab_workspace *workspace, int rank)
{
	snprintf(path, size, "%.3900s/log.%d", workspace->path, rank);
}

/* Starts User Mode Linux; `linux --help` of such a kernel lists its arguments. */
static pid_t start_uml(const struct lab_host *host, struct lab_reaper *reaper,
                       const struct lab_workspace *workspace, const struct lab_options *options,
                       const int from[GUEST_FD_COUNT])
{
	char memory[32], init[ARGUMENT_BYTES], folder[ARGUMENT_BYTES], rank[32];
	char umid_folder[ARGUMENT_BYTES], umid[32], network[96];
	char temporary[ARGUMENT_BYTES], home[ARGUMENT_BYTES], mhz[32], clock[64], seed[64];
	const char *kernel = options->kernels[host->rank];

	snprintf(mhz, sizeof(mhz), "ina_mhz=%.3f", lab_workspace_machine_mhz());
	snprintf(memory, sizeof(memory), "mem=%dM", options->memory_mib);
	snprintf(init, sizeof(init), "init=%s/init", workspace->path);
	snprintf(folder, sizeof(folder), "ina_dir=%s", workspace->path);
	snprintf(rank, sizeof(rank), "ina_rank=%d", host->rank);
	snprintf(umid_folder, sizeof(umid_folder), "uml_dir=%s/", workspace->path);
	snprintf(umid, sizeof(umid), "umid=host%d", host->rank);
	snprintf(clock, sizeof(clock), "time-travel=ext:%d:" LAB_CLOCK_SOCKET, host->rank);
	/*
	 * The number differs between hosts and between seeds: a seed has a row of eight consecutive
	 * numbers, and each group of eight hosts has separate rows.
	 */
	snprintf(seed, sizeof(seed), "random.seed=%" PRIu64,
	         options->seed * 8 + (uint64_t)(host->rank % 8) +
	                 ((uint64_t)(host->rank / 8) << 32));
	if (options->is_virtual)
		snprintf(network, sizeof(network), "virtio_uml.device=" LAB_NETWORK_SOCKET ":1",
		         host->rank);
	else /* without this MTU, the device starts with 1500, and rxe with a path MTU of 1024 */
		snprintf(network, sizeof(network),
		         "vec0:transport=fd,fd=%d,depth=128,mtu=%d,gro=0%s", GUEST_FD_NETWORK,
		         lab_workspace_device_mtu(options),
		         options->has_taps ? ",vec=0" : ""); /* a TAP device has no recvmmsg() */
	snprintf(temporary, sizeof(temporary), "TMPDIR=%s", workspace->memory_path);
	snprintf(home, sizeof(home), "HOME=%s", workspace->path);

	char *const argv[] = {
	        (char *)kernel, memory, umid_folder, umid, "root=/dev/root", "rootfstype=hostfs",
	        "rootflags=/", "rw", init, folder, rank, mhz, network, "con=null", "con0=null,fd:1",
	        "con1=null,fd:4", "con2=null,fd:5", "con3=fd:6",
	        /* Without this, programs wait long for their first random number. */
	        "random.trust_cpu=1",
	        /* The arguments from here on are for virtual time. Sent packets are freed when
	         * later ones are sent, so no interrupt is needed for them. */
	        options->is_virtual ? clock : NULL, seed, "ina_virtual=1", "virtio_net.napi_tx=0",
	        /* Some IP identifiers depend on memory that the kernel does not clear. */
	        "init_on_alloc=1", NULL};
	char *const environment[] = {temporary, home, "PATH=/usr/bin:/bin", NULL};
	return lab_reaper_start(reaper, &(struct lab_start){
	                                        .path = kernel,
	                                        .argv = argv,
	                                        .environment = environment,
	                                        .from = from,
	                                        .fd_count = GUEST_FD_COUNT,
	                                        .directory = workspace->path,
	                                        .fixed_addresses = options->is_virtual,
	                                });
}

bool lab_host_start(struct lab_host *host, struct lab_reaper *reaper,
                    const struct lab_workspace *workspace, const struct lab_options *options,
                    const struct lab_parts *parts, int network)
{
	int output[2] = {-1, -1}, errors[2] = {-1, -1}, talk[2] = {-1, -1};
	const int kind = SOCK_STREAM | SOCK_CLOEXEC;
	char path[PATH_MAX];

	log_path(path, sizeof(path), workspace, host->rank);
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (null >= 0 && log >= 0 && !socketpair(AF_UNIX, kind, 0, output) &&
	    !socketpair(AF_UNIX, kind, 0, errors) && !socketpair(AF_UNIX, kind, 0, talk)) {
		const int from[GUEST_FD_COUNT] = {
		        null,      log,       log,    network >= 0 ? network : null,
		        output[1], errors[1], talk[1]};
		host->kernel_pid = options->is_qemu[host->rank]
		                           ? lab_qemu_start(host->rank, reaper, workspace, options,
		                                            parts, from)
		                           : start_uml(host, reaper, workspace, options, from);
	} else {
		host->kernel_pid = -1;
	}
	const int error = errno;
	host->output =
	        (struct lab_console){.from = output[0], .to = STDOUT_FILENO, .rank = host->rank};
	host->errors =
	        (struct lab_console){.from = errors[0], .to = STDERR_FILENO, .rank = host->rank};
	host->talk = talk[0];
	const int passed_on[] = {null, log, output[1], errors[1], talk[1]};
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		if (passed_on[i] >= 0)
			close(passed_on[i]);
	if (host->kernel_pid > 0)
		return true;
	if (error)
		fprintf(stderr, "ina-lab: cannot start the kernel %s: %s\n",
		        options->kernels[host->rank], strerror(error));
	host->kernel_pid = 0;
	host->state = LAB_HOST_DEAD;
	return false;
}

/* Acts on one message from guest-init. Returns false if the message is invalid. */
static bool follow(struct lab_host *host, const char *line)
{
	char end;

	if (!strcmp(line, "up") && host->state == LAB_HOST_BOOTING)
		host->state = LAB_HOST_READY;
	else if (!strcmp(line, "failed"))
		host->state = LAB_HOST_DEAD;
	else if (sscanf(line, "exit %d%c", &host->exit_code, &end) == 1 &&
	         host->state == LAB_HOST_RUNNING)
		host->state = LAB_HOST_FINISHED;
	else
		return false;
	return true;
}

bool lab_host_listen(struct lab_host *host)
{
	const ssize_t got = read(host->talk, host->talk_line + host->talk_length,
	                         sizeof(host->talk_line) - host->talk_length);
	if (got <= 0) {
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			return true;
		close(host->talk);
		host->talk = -1;
		return true;
	}
	host->talk_length += (size_t)got;
	for (;;) {
		char *newline = memchr(host->talk_line, '\n', host->talk_length);
		if (!newline)
			return host->talk_length < sizeof(host->talk_line);
		*newline = '\0';
		if (!follow(host, host->talk_line))
			return false;
		host->talk_length -= (size_t)(newline + 1 - host->talk_line);
		memmove(host->talk_line, newline + 1, host->talk_length);
	}
}

void lab_host_go(struct lab_host *host, const struct lab_options *options)
{
	host->state = LAB_HOST_RUNNING;
	if (options->is_virtual)
		return;
	/* If this fails, the kernel is dead, and ina-lab notices that when it reaps it. */
	if (send(host->talk, "go\n", 3, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

void lab_host_end(struct lab_host *host, struct lab_reaper *reaper)
{
	if (!host->kernel_pid)
		return;
	host->wait_status = lab_reaper_reap(reaper, host->kernel_pid);
	host->kernel_pid = 0;
}

void lab_host_close(struct lab_host *host)
{
	int *const fds[] = {&host->talk, &host->output.from, &host->errors.from};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

void lab_host_show_log(const struct lab_host *host, const struct lab_workspace *workspace)
{
	char path[PATH_MAX], *lines[LOG_SHOWN_LINES] = {NULL};
	size_t size[LOG_SHOWN_LINES] = {0}, count = 0;

	log_path(path, sizeof(path), workspace, host->rank);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	while (getline(&lines[count % LOG_SHOWN_LINES], &size[count % LOG_SHOWN_LINES], file) > 0)
		count++;
	fclose(file);
	for (size_t i = count > LOG_SHOWN_LINES ? count - LOG_SHOWN_LINES : 0; i < count; i++) {
		const char *line = lines[i % LOG_SHOWN_LINES];
		fprintf(stderr, "ina-lab: host %d's log: %.*s\n", host->rank,
		        (int)strcspn(line, "\r\n"), line);
	}
	for (size_t i = 0; i < LOG_SHOWN_LINES; i++)
		free(lines[i]);
}
