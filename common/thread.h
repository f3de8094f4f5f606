/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that a library starts in another program's process. */
#ifndef INA_COMMON_THREAD_H
#define INA_COMMON_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/*
 * Starts a thread by pthread_create(). The thread blocks the program's signals, which are for the
 * program's own threads. It does not block signals that it causes itself: if such a signal is
 * blocked, the kernel ends the process even if the program has a handler. Returns 0, or an errno.
 */
static inline int ina_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
	sigset_t signals;
	sigset_t before;
	int error;

	sigfillset(&signals);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&signals, own[i]);
	pthread_sigmask(SIG_SETMASK, &signals, &before);
	error = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

#endif
