/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves no process of a run: process groups, and a guard that outlives ina-lab. */
#include "reaper.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Process groups. An entry of 0 is free. */
struct groups {
	pid_t *leaders;
	int count;
};

/*
 * Adds the leader, or removes it if `message` is negative. If there is no memory for it, the guard
 * will not kill its group.
 */
static void note_group(struct groups *groups, pid_t message)
{
	const pid_t wanted = message > 0 ? 0 : -message;
	int i = 0;

	while (i < groups->count && groups->leaders[i] != wanted)
		i++;
	if (i == groups->count && message > 0) {
		pid_t *leaders = realloc(groups->leaders, (size_t)(i + 1) * sizeof(*leaders));
		if (!leaders)
			return;
		groups->leaders = leaders;
		groups->count++;
	}
	if (i < groups->count)
		groups->leaders[i] = message > 0 ? message : 0;
}

/*
 * The guard. It reads +leader for each group that begins and -leader for each that has ended, until
 * ina-lab closes the pipe or dies. It then kills the groups that are still listed. They are not its
 * children, so it sends signals until no process receives them any more; it gives up after 300 ms,
 * because dead processes that have not been reaped still count. Then it removes the folder.
 */
static void guard(int fd, const char *workspace)
{
	struct groups groups = {0};
	pid_t message;

	prctl(PR_SET_NAME, "ina-guard");
	while (read(fd, &message, sizeof(message)) == sizeof(message))
		note_group(&groups, message);
	for (int tries = 0; tries < 30; tries++) {
		bool alive = false;
		for (int i = 0; i < groups.count; i++)
			alive |= groups.leaders[i] && !kill(-groups.leaders[i], SIGKILL);
		if (!alive)
			break;
		pause_ms(10);
	}
	lab_workspace_remove(workspace);
	_exit(0);
}

static void become_guard(int fd, const char *workspace)
{
	sigset_t all;

	/* Signals of a terminal or a shell are for ina-lab; the guard ends after ina-lab. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* The guard must not keep descriptors open for whose end another process may wait. */
	const int null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	dup2(fd, 3);
	close_range(4, ~0u, 0);
	guard(3, workspace);
}

bool lab_reaper_open(struct lab_reaper *reaper, const char *workspace)
{
	int ends[2];

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) || pipe2(ends, O_CLOEXEC))
		return false;
	reaper->guard_pid = fork();
	if (reaper->guard_pid == 0)
		become_guard(ends[0], workspace);
	close(ends[0]);
	if (reaper->guard_pid < 0) {
		close(ends[1]);
		return false;
	}
	reaper->guard_fd = ends[1];
	return true;
}

static void tell_guard(struct lab_reaper *reaper, pid_t message)
{
	/* SIGPIPE is ignored, so a run continues even if a user has killed the guard. */
	if (write(reaper->guard_fd, &message, sizeof(message)) < 0)
		return;
}

/* Runs in the child. Returns only if the program could not be executed. */
static void become(const struct lab_start *start, pid_t parent)
{
	struct sigaction by_default = {.sa_handler = SIG_DFL};
	sigset_t none;
	/* Copies with higher numbers, so that dup2() to the final numbers spares them. */
	int *high = calloc((size_t)start->fd_count, sizeof(*high));

	if (!high)
		return;
	setsid();
	if (start->prepare && !start->prepare(start->prepare_context)) {
		errno = 0;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* other credentials would clear it */
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigaction(SIGPIPE, &by_default, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 0; i < start->fd_count; i++) {
		high[i] = fcntl(start->from[i], F_DUPFD_CLOEXEC, start->fd_count);
		if (high[i] < 0)
			return;
	}
	for (int i = 0; i < start->fd_count; i++)
		if (dup2(high[i], i) < 0)
			return;
	if (start->directory && chdir(start->directory))
		return;
	/* If this is not allowed, the run is valid but may differ from other runs. */
	if (start->fixed_addresses)
		personality(ADDR_NO_RANDOMIZE);
	execve(start->path, start->argv, start->environment);
}

pid_t lab_reaper_start(struct lab_reaper *reaper, const struct lab_start *start)
{
	/* A successful exec closes it; after a failed one it carries errno to the parent. */
	int failure[2];
	int error = 0;
	bool failed = false;

	if (pipe2(failure, O_CLOEXEC))
		return -1;
	const pid_t parent = getpid();
	const pid_t pid = fork();
	if (pid == 0) {
		failure[1] = fcntl(failure[1], F_DUPFD_CLOEXEC, start->fd_count);
		become(start, parent);
		error = errno;
		_exit(write(failure[1], &error, sizeof(error)) == sizeof(error) ? 0 : 1);
	}
	if (pid < 0)
		error = errno;
	else
		tell_guard(reaper, pid);
	close(failure[1]);
	failed = pid < 0 || read(failure[0], &error, sizeof(error)) == sizeof(error);
	if (pid > 0 && failed)
		lab_reaper_reap(reaper, pid);
	close(failure[0]);
	errno = error;
	return failed ? -1 : pid;
}

void lab_reaper_kill(pid_t leader)
{
	kill(-leader, SIGKILL);
}

int lab_reaper_reap(struct lab_reaper *reaper, pid_t leader)
{
	int status = 0;

	/* Until the leader is reaped, no other process or group can have its number. */
	lab_reaper_kill(leader);
	kill(leader, SIGKILL);
	while (waitpid(leader, &status, 0) < 0 && errno == EINTR)
		continue;
	tell_guard(reaper, -leader);
	return status;
}

bool lab_reaper_has_ended(pid_t leader)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)leader, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

void lab_reaper_close(struct lab_reaper *reaper)
{
	const pid_t guard_pid = reaper->guard_pid;
	bool guard_ended = false;

	close(reaper->guard_fd);
	/*
	 * ina-lab has inherited the processes that a guest kernel left, and the guard kills them.
	 * So all children end within a moment. The guard has its own limit; this limit is only a
	 * safeguard.
	 */
	for (int tries = 0; tries < 500; tries++) {
		pid_t pid;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			guard_ended |= pid == guard_pid;
		if (pid < 0)
			return;
		pause_ms(guard_ended ? 10 : 1);
	}
}
