/* SPDX-License-Identifier: Apache-2.0 */
/* Threads in processes that are not ours. */
#ifndef INA_COMMON_THREAD_H
#define INA_COMMON_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/*
 * pthread_create() of a thread that takes none of the program's signals: these are for the
 * program's own threads. Signals that come of what the thread itself does are not blocked, since
 * the kernel would end the process, whatever handler there is. Returns 0, or an errno.
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
