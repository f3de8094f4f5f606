/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes sure that no process of a run remains. Every process that a run starts leads its own
 * process group, and a guard process has a list of them all.
 *
 * A User Mode Linux kernel runs each of its guest's processes in a traced process of the machine.
 * If only the kernel were killed, these processes would continue untraced; killing the group ends
 * all of them. If ina-lab itself is killed, its pipe to the guard closes. The guard then kills the
 * groups and removes the workspace.
 */
#ifndef INA_LAB_REAPER_H
#define INA_LAB_REAPER_H

#include <stdbool.h>
#include <sys/types.h>

struct lab_reaper {
	pid_t guard_pid;
	int guard_fd; /* the guard runs until this is closed */
};

/* A program to start: `from[i]` of this process becomes its file descriptor i. */
struct lab_start {
	const char *path;
	char *const *argv;
	char *const *environment;
	const int *from;
	int fd_count;
	const char *directory; /* its working directory; NULL: that of this process */
	bool fixed_addresses;  /* its memory is at the same addresses in every run */
	/*
	 * Runs in the new process before the program, or NULL. If it returns false, it has printed
	 * a line, and the start fails with errno 0.
	 */
	bool (*prepare)(void *context);
	void *prepare_context;
};

/*
 * Makes this process inherit the orphans of its descendants, and starts the guard, which removes
 * the folder `workspace` at the end. Returns false with errno set on failure.
 */
bool lab_reaper_open(struct lab_reaper *reaper, const char *workspace);

/*
 * Starts a program in its own session, and so in its own process group. It is killed if this
 * process dies. Returns its process id, or -1 with errno set if it could not be executed.
 */
pid_t lab_reaper_start(struct lab_reaper *reaper, const struct lab_start *start);

/*
 * Kills the group of a process from lab_reaper_start(). The process must not have been reaped, so
 * that no other process can have its number.
 */
void lab_reaper_kill(pid_t leader);

/*
 * Kills the rest of the leader's group and the leader, reaps the leader, and returns its wait
 * status.
 */
int lab_reaper_reap(struct lab_reaper *reaper, pid_t leader);

/* True if the leader has ended and waits to be reaped. */
bool lab_reaper_has_ended(pid_t leader);

/*
 * Lets the guard do its work, and reaps it and all orphans that this process has inherited.
 * Afterwards nothing of the run is left.
 */
void lab_reaper_close(struct lab_reaper *reaper);

#endif
