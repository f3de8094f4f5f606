/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing stays behind: every process that a run starts leads a process group of its own, and a
 * guard process knows them all.
 *
 * A User Mode Linux kernel runs each of its guest's processes in a traced process of the machine.
 * Were the kernel killed alone, these would be let loose; killing the group ends them together.
 * Where ina-lab itself is killed, the guard sees its pipe close, kills the groups and removes the
 * workspace in its place.
 */
#ifndef INA_LAB_REAPER_H
#define INA_LAB_REAPER_H

#include <stdbool.h>
#include <sys/types.h>

struct lab_reaper {
	pid_t guard_pid;
	int guard_fd; /* the guard lives while this is open */
};

/* What a new process finds: `from[i]` of ours is its file descriptor i. */
struct lab_start {
	const char *path;
	char *const *argv;
	char *const *environment;
	const int *from;
	int fd_count;
	const char *directory; /* or NULL: ours */
	bool fixed_addresses;  /* its memory lies at the same addresses in every run */
};

/*
 * Makes this process the one that inherits orphans below it, and starts the guard, which removes
 * the folder `workspace` in the end. Returns false with errno set where that cannot be done.
 */
bool lab_reaper_open(struct lab_reaper *reaper, const char *workspace);

/*
 * Starts a program in a session, and so a process group, of its own. It dies when we do.
 * Returns its process id, or -1 with errno set if it could not be executed.
 */
pid_t lab_reaper_start(struct lab_reaper *reaper, const struct lab_start *start);

/*
 * Kills the group of a process from lab_reaper_start() that has not been reaped yet, so that its
 * number cannot be another's.
 */
void lab_reaper_kill(pid_t leader);

/*
 * Reaps the leader, which is dead or about to be, and returns its wait status. Kills what is left
 * of its group first.
 */
int lab_reaper_reap(struct lab_reaper *reaper, pid_t leader);

/* Whether the leader has ended and waits to be reaped. */
bool lab_reaper_has_ended(pid_t leader);

/*
 * Lets the guard do its work, and collects it and all orphans that came to us. Nothing of the run
 * is there afterwards.
 */
void lab_reaper_close(struct lab_reaper *reaper);

#endif
