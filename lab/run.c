/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: boots all hosts, starts all commands together, relays their output, and ends when all
 * commands have ended or waiting is pointless.
 */
#include "run.h"
#include "bridge.h"
#include "common/clock.h"
#include "common/signals.h"
#include "host.h"
#include "parts.h"
#include "processors.h"
#include "qemu.h"
#include "reaper.h"
#include "resources.h"
#include "spinner.h"
#include "summary.h"
#include "workspace.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the bridge may take to write its counters and close the capture. */
#define BRIDGE_PATIENCE_S 10.0
/* How long the last output of a command may take to arrive after its host has ended. */
#define DRAIN_PATIENCE_S 5.0

#define POLLED(hosts) (2 + 3 * (size_t)(hosts))

struct run {
	const struct lab_options *options;
	struct lab_workspace workspace;
	struct lab_reaper reaper;
	struct lab_bridge bridge;
	struct lab_host *hosts;
	int host_count;        /* hosts that were started */
	struct pollfd *polled; /* POLLED(hosts) entries */
	int interrupt_fd;
	int child_fd;
	double started_s;   /* on the monotonic clock; the times below count from it */
	double up_s;        /* when the last host came up; NAN before that */
	double grace_end_s; /* end of the time of grace; INFINITY before the first failure */
	int exit_code;      /* the first one that was not 0 */
	bool stopping;      /* the run ends without waiting for the commands */
	bool muted;         /* output is dropped: no reader is left, or the run was interrupted */
};

static double elapsed_s(const struct run *run)
{
	return ina_now_s() - run->started_s;
}

/* Ends the run with this exit code, unless a rank has failed before. */
static void stop(struct run *run, int exit_code)
{
	if (!run->exit_code)
		run->exit_code = exit_code;
	run->stopping = true;
}

/* A rank has failed: the time of grace for the other ranks begins with the first failure. */
static void note_failure(struct run *run, int exit_code)
{
	if (run->exit_code)
		return;
	run->exit_code = exit_code;
	run->grace_end_s = elapsed_s(run) + run->options->grace_s;
}

static bool is_over(const struct lab_host *host)
{
	return host->state == LAB_HOST_FINISHED || host->state == LAB_HOST_DEAD;
}

static void describe_death(char *text, size_t size, int wait_status)
{
	if (WIFSIGNALED(wait_status))
		snprintf(text, size, "signal %d", WTERMSIG(wait_status));
	else
		snprintf(text, size, "exit code %d", WEXITSTATUS(wait_status));
}

/* Virtual time: the bridge has given up, perhaps because of a program that polls. */
static void name_spinners(const struct run *run)
{
	char name[PATH_MAX];

	for (int i = 0; i < run->host_count; i++)
		if (run->hosts[i].kernel_pid &&
		    lab_spinner_find(run->hosts[i].kernel_pid, name, sizeof(name)))
			fprintf(stderr, "ina-lab: host %d is busy with %s\n", i, name);
}

/*
 * If all hosts have ended, the bridge ends with exit code 0. Then the message should be about the
 * hosts, not about the bridge.
 */
static bool has_lost_its_hosts(const struct run *run)
{
	if (!WIFEXITED(run->bridge.wait_status) || WEXITSTATUS(run->bridge.wait_status) != 0)
		return false;
	for (int i = 0; i < run->host_count; i++)
		if (run->hosts[i].kernel_pid && lab_reaper_has_ended(run->hosts[i].kernel_pid))
			return true;
	return false;
}

/* If the bridge has ended too early, reports that and stops the run. */
static void look_at_bridge(struct run *run)
{
	char how[32];

	if (run->stopping || !run->bridge.pid || !lab_reaper_has_ended(run->bridge.pid))
		return;
	run->bridge.wait_status = lab_reaper_reap(&run->reaper, run->bridge.pid);
	run->bridge.pid = 0;
	if (has_lost_its_hosts(run))
		return;
	describe_death(how, sizeof(how), run->bridge.wait_status);
	fprintf(stderr, "ina-lab: the bridge exited (%s) before the hosts did\n", how);
	if (run->options->is_virtual)
		name_spinners(run);
	stop(run, LAB_EXIT_FAILED);
}

/* A host has failed: guest-init has reported it, or the kernel has ended. */
static void host_died(struct run *run, struct lab_host *host)
{
	char how[64] = "its set-up failed";
	const bool had_started =
	        host->state == LAB_HOST_RUNNING || host->state == LAB_HOST_FINISHED;

	look_at_bridge(run);
	if (run->stopping) /* without the bridge, all hosts end */
		return;
	if (lab_reaper_has_ended(host->kernel_pid)) {
		lab_host_end(host, &run->reaper);
		describe_death(how, sizeof(how), host->wait_status);
	}
	host->state = LAB_HOST_DEAD;
	fprintf(stderr, "ina-lab: host %d %s (%s) after %.1f s\n", host->rank,
	        had_started ? "died" : "did not come up", how, elapsed_s(run));
	lab_host_show_log(host, &run->workspace);
	if (had_started)
		note_failure(run, LAB_EXIT_FAILED);
	else
		stop(run, LAB_EXIT_FAILED);
}

static void listen_to(struct run *run, struct lab_host *host)
{
	const enum lab_host_state before = host->state;

	if (!lab_host_listen(host) || (host->state == LAB_HOST_DEAD && before != LAB_HOST_DEAD)) {
		host->state = before;
		host_died(run, host);
	} else if (host->state == LAB_HOST_FINISHED && before == LAB_HOST_RUNNING &&
	           host->exit_code) {
		fprintf(stderr, "ina-lab: rank %d ended with exit code %d after %.1f s\n",
		        host->rank, host->exit_code, elapsed_s(run));
		note_failure(run, host->exit_code);
	}
}

/* A child has ended: a kernel, the bridge, or an orphan, which lab_reaper_close() reaps. */
static void look_at_children(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->child_fd, &info, sizeof(info)) < 0)
		return;
	for (int i = 0; i < run->host_count; i++) {
		struct lab_host *host = &run->hosts[i];
		if (!host->kernel_pid || !lab_reaper_has_ended(host->kernel_pid))
			continue;
		if (host->state == LAB_HOST_DEAD)
			lab_host_end(host, &run->reaper);
		else
			host_died(run, host);
	}
	look_at_bridge(run);
}

static void look_at_interrupt(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->interrupt_fd, &info, sizeof(info)) != sizeof(info))
		return;
	fprintf(stderr, "ina-lab: interrupted by signal %u\n", info.ssi_signo);
	run->exit_code = 128 + (int)info.ssi_signo;
	run->stopping = run->muted = true;
}

static void relay(struct run *run, struct lab_console *console)
{
	switch (lab_console_relay(console, run->interrupt_fd)) {
	case LAB_CONSOLE_READER_GONE:
		run->muted = true;
		stop(run, 128 + SIGPIPE);
		break;
	case LAB_CONSOLE_FAILED:
		fprintf(stderr, "ina-lab: cannot write the commands' output: %s\n",
		        strerror(errno));
		run->muted = true;
		stop(run, LAB_EXIT_FAILED);
		break;
	case LAB_CONSOLE_MORE:
	case LAB_CONSOLE_ENDED:
	case LAB_CONSOLE_INTERRUPTED: /* the main loop reads that descriptor itself */
		break;
	}
}

/* Waits up to `wait_s` seconds for an event, and handles it. */
static void wait_once(struct run *run, double wait_s)
{
	struct pollfd *fds = run->polled;
	int count = 0;

	fds[count++] = (struct pollfd){.fd = run->interrupt_fd, .events = POLLIN};
	fds[count++] = (struct pollfd){.fd = run->child_fd, .events = POLLIN};
	for (int i = 0; i < run->host_count; i++) {
		const struct lab_host *host = &run->hosts[i];
		fds[count++] = (struct pollfd){.fd = host->output.from, .events = POLLIN};
		fds[count++] = (struct pollfd){.fd = host->errors.from, .events = POLLIN};
		fds[count++] = (struct pollfd){.fd = host->talk, .events = POLLIN};
	}
	const double wait_ms = fmin(fmax(ceil(wait_s * 1000), 0), 60000);
	if (poll(fds, (nfds_t)count, (int)wait_ms) <= 0)
		return;
	if (fds[0].revents)
		look_at_interrupt(run);
	for (int i = 0; i < run->host_count; i++) {
		struct lab_host *host = &run->hosts[i];
		const struct pollfd *seen = &fds[2 + 3 * i];
		if (seen[0].revents && !run->muted)
			relay(run, &host->output);
		if (seen[1].revents && !run->muted)
			relay(run, &host->errors);
		if (seen[2].revents)
			listen_to(run, host);
	}
	/* This comes last, so messages that a host sent before it died have been read. */
	if (fds[1].revents)
		look_at_children(run);
}

/* From now on one process runs at a time, so all of them move to one processor. */
static void gather(const struct run *run)
{
	lab_processors_gather(0);
	lab_processors_gather(run->bridge.pid);
	for (int i = 0; i < run->host_count; i++)
		lab_processors_gather(run->hosts[i].kernel_pid);
}

/* Starts the commands that are due. Returns the seconds until the next one is due, or INFINITY. */
static double start_due(struct run *run)
{
	double next_s = INFINITY;

	if (isnan(run->up_s)) {
		for (int i = 0; i < run->host_count; i++)
			if (run->hosts[i].state != LAB_HOST_READY)
				return INFINITY;
		run->up_s = elapsed_s(run);
		if (run->options->is_virtual)
			gather(run);
	}
	for (int i = 0; i < run->host_count; i++) {
		struct lab_host *host = &run->hosts[i];
		if (host->state != LAB_HOST_READY)
			continue;
		const double delay_s = run->options->is_virtual ? 0 : run->options->delay_s[i];
		const double wait_s = run->up_s + delay_s - elapsed_s(run);
		if (wait_s <= 0)
			lab_host_go(host, run->options);
		else
			next_s = fmin(next_s, wait_s);
	}
	return next_s;
}

/* Ends a line with the numbers of the hosts that still run, as " 0 2". */
static void list_running(const struct run *run)
{
	for (int i = 0; i < run->host_count; i++)
		if (!is_over(&run->hosts[i]))
			fprintf(stderr, " %d", i);
	fputs("\n", stderr);
}

static void check_time(struct run *run)
{
	const double now_s = elapsed_s(run);

	if (now_s >= run->options->timeout_s) {
		fprintf(stderr, "ina-lab: timed out after %g s (--timeout), still running:",
		        run->options->timeout_s);
		list_running(run);
		stop(run, LAB_EXIT_TIMEOUT);
	} else if (now_s >= run->grace_end_s) {
		fprintf(stderr, "ina-lab: %g s after the first failure (--grace), ended ranks:",
		        run->options->grace_s);
		list_running(run);
		run->stopping = true;
	}
}

static void wait_for_all(struct run *run)
{
	for (;;) {
		bool all_over = true;
		for (int i = 0; i < run->host_count; i++)
			all_over &= is_over(&run->hosts[i]);
		if (all_over || run->stopping)
			return;
		check_time(run);
		if (run->stopping)
			return;
		const double due_s = start_due(run);
		const double end_s = fmin(run->options->timeout_s, run->grace_end_s);
		wait_once(run, fmin(due_s, end_s - elapsed_s(run)));
	}
}

/* Kills all hosts, and prints the output that they had written by then. */
static void end_hosts(struct run *run)
{
	run->stopping = true;
	for (int i = 0; i < run->host_count; i++)
		if (run->hosts[i].kernel_pid)
			lab_reaper_kill(run->hosts[i].kernel_pid);
	for (int i = 0; i < run->host_count; i++) {
		run->hosts[i].state = LAB_HOST_DEAD;
		lab_host_end(&run->hosts[i], &run->reaper);
		if (run->hosts[i].talk >= 0)
			close(run->hosts[i].talk);
		run->hosts[i].talk = -1;
	}
	const double end_s = elapsed_s(run) + DRAIN_PATIENCE_S;
	while (!run->muted && elapsed_s(run) < end_s) {
		bool open = false;
		for (int i = 0; i < run->host_count; i++)
			open |= run->hosts[i].output.from >= 0 || run->hosts[i].errors.from >= 0;
		if (!open)
			break;
		wait_once(run, end_s - elapsed_s(run));
	}
	for (int i = 0; i < run->host_count; i++)
		lab_host_close(&run->hosts[i]);
}

static void say_memory(const struct run *run)
{
	const struct lab_workspace *workspace = &run->workspace;

	if (!run->options->quiet)
		fprintf(stderr, "ina-lab: hosts of %d MiB: up to %.1f GiB of %.1f GiB in %s\n",
		        run->options->memory_mib, (double)workspace->memory_need_bytes / (1 << 30),
		        (double)workspace->memory_free_bytes / (1 << 30), workspace->memory_path);
}

static void try_kvm_with_first_qemu_host(struct run *run, struct lab_parts *parts)
{
	const struct lab_options *options = run->options;

	for (int i = 0; i < options->host_count; i++)
		if (options->is_qemu[i]) {
			parts->has_kvm = lab_qemu_kvm_works(parts, options->kernels[i],
			                                    &run->reaper, options);
			return;
		}
}

static bool start_all(struct run *run, struct lab_parts *parts)
{
	try_kvm_with_first_qemu_host(run, parts);
	bool started = lab_bridge_start(&run->bridge, &run->reaper, &run->workspace, run->options);
	if (started) {
		say_memory(run);
		lab_processors_share(run->options, run->bridge.pid);
	}
	for (int i = 0; started && i < run->options->host_count; i++) {
		run->hosts[i].rank = i;
		run->host_count++;
		started = lab_host_start(&run->hosts[i], &run->reaper, &run->workspace,
		                         run->options, parts, run->bridge.host_ends[i]);
	}
	lab_bridge_close_host_ends(&run->bridge, run->options->host_count);
	return started;
}

/* Opens descriptors from which the signals that end a run, and those of its children, are read. */
static bool open_signals(struct run *run)
{
	struct sigaction hangup;
	int interrupts[] = {SIGINT, SIGTERM, 0, 0};

	/* Under nohup(1) SIGHUP stays ignored; blocking it would still queue it. */
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		interrupts[2] = SIGHUP;
	signal(SIGPIPE, SIG_IGN);
	run->interrupt_fd = ina_signals_open(interrupts);
	run->child_fd = ina_signals_open((const int[]){SIGCHLD, 0});
	return run->interrupt_fd >= 0 && run->child_fd >= 0;
}

static void close_run(struct run *run)
{
	if (!run)
		return;
	if (run->interrupt_fd > 0)
		close(run->interrupt_fd);
	if (run->child_fd > 0)
		close(run->child_fd);
	lab_bridge_close(&run->bridge);
	free(run->hosts);
	free(run->polled);
	free(run);
}

/* Opens everything but the processes. Returns NULL, with one line on stderr, on failure. */
static struct run *open_run(const struct lab_options *options, const struct lab_parts *parts)
{
	const size_t hosts = (size_t)options->host_count;
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	*run = (struct run){.options = options,
	                    .started_s = ina_now_s(),
	                    .up_s = NAN,
	                    .grace_end_s = INFINITY,
	                    .hosts = calloc(hosts, sizeof(*run->hosts)),
	                    .polled = calloc(POLLED(hosts), sizeof(*run->polled))};
	if (run->hosts && run->polled && open_signals(run) &&
	    lab_resources_raise_descriptors(options->host_count) &&
	    lab_workspace_create(&run->workspace, options, parts->guest_init)) {
		if (lab_reaper_open(&run->reaper, run->workspace.path))
			return run;
		fprintf(stderr, "ina-lab: cannot start the guard process: %s\n", strerror(errno));
		lab_workspace_remove(run->workspace.path);
	}
	close_run(run);
	return NULL;
}

static void end_bridge(struct run *run)
{
	const struct lab_options *options = run->options;

	if (!run->bridge.pid)
		return;
	if (!lab_bridge_end(&run->bridge, &run->reaper, BRIDGE_PATIENCE_S)) {
		fprintf(stderr, "ina-lab: the bridge failed\n");
		stop(run, LAB_EXIT_FAILED);
	} else if (!options->quiet && !run->muted && !isnan(run->up_s)) {
		lab_summary_print(run->bridge.stats_path, options->host_count, run->up_s);
	}
}

static bool check_parts(const struct lab_parts *parts, const struct lab_options *options)
{
	for (int i = 0; i < options->host_count; i++)
		if (!lab_parts_check(parts, options->kernels[i], options->is_qemu[i]))
			return false;
	return true;
}

int lab_run(const struct lab_options *options)
{
	struct lab_parts parts = lab_parts_find();
	const int checked =
	        check_parts(&parts, options) ? lab_bridge_check(options) : LAB_EXIT_FAILED;
	struct run *run = checked ? NULL : open_run(options, &parts);

	if (!run)
		return checked ? checked : LAB_EXIT_FAILED;
	if (start_all(run, &parts))
		wait_for_all(run);
	else
		stop(run, LAB_EXIT_FAILED);
	if (options->is_virtual && !run->stopping)
		lab_bridge_end_with_hosts(&run->bridge, BRIDGE_PATIENCE_S);
	end_hosts(run);
	end_bridge(run);
	lab_reaper_close(&run->reaper);
	const int exit_code = run->exit_code;
	close_run(run);
	return exit_code;
}
