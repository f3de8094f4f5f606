/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "service.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/signals.h"
#include "command_line.h"

enum { RELOAD_PATIENCE_S = 5 };

void service_tell(const char *state)
{
	(void)sd_notify(0, state);
}

static bool has_interface(const struct options *options)
{
	for (unsigned i = 0; i < options->port_count; i++)
		if (options->port_names[i])
			return true;
	return false;
}

/* Returns 0, or -1 with errno. */
static int become(const struct passwd *user, bool keeps_raw)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {0};

	if (keeps_raw)
		kept[0].effective = kept[0].permitted = 1u << CAP_NET_RAW;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 ||
	    initgroups(user->pw_name, user->pw_gid) != 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0 ||
	    syscall(SYS_capset, &head, kept) != 0)
		return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool service_drop_privileges(const struct options *options, char *error, size_t error_bytes)
{
	errno = 0;
	const struct passwd *user = getpwnam(options->user);

	if (!user)
		snprintf(error, error_bytes, "--user %s: %s", options->user,
		         errno ? strerror(errno) : "no such user");
	else if (become(user, has_interface(options)) != 0)
		snprintf(error, error_bytes, "--user %s: %s", options->user, strerror(errno));
	else
		return true;
	return false;
}

int service_open(struct service *service, struct loop *loop)
{
	service->signal_fd = ina_signals_open((const int[]){SIGHUP, 0});
	const struct loop_guest guest = {service->signal_fd, service_reload, service};

	return service->signal_fd < 0 ? -1 : loop_admit(loop, &guest);
}

void service_close(struct service *service)
{
	if (service->signal_fd > 0)
		close(service->signal_fd);
}

/* True if one value is 0 and the other is not: the engine is made for one of both. */
static bool turns(uint64_t before, uint64_t now)
{
	return (before == 0) != (now == 0);
}

/* Returns whether the bridges can take the new values of this option while they run. */
static bool can_change(const struct service *service, const struct options *fresh, const char *name)
{
	bool turned = false;

	for (unsigned i = 0; i < service->fabric->topology->switch_count; i++) {
		const struct bridge_config *of = &service->fabric->bridges[i].config;
		const struct bridge_config *now = &fresh->fabric.bridges[i];

		turned |= turns(of->job_ttl_ns, now->job_ttl_ns) ||
		          turns(of->quiet_ns, now->quiet_ns) ||
		          turns(of->patience_ns, now->patience_ns);
	}
	if (!strcmp(name, "log"))
		return true;
	return !turned && (!strcmp(name, "job-ttl") || !strcmp(name, "idle-ttl") ||
	                   !strcmp(name, "quiet") || !strcmp(name, "patience"));
}

static void report(const struct service *service, const char *name, const char *text)
{
	fprintf(stderr, "ina-bridge: %s: %s%s%s\n", service->options->config_path, name,
	        *name ? ": " : "", text);
}

/* Compares the setting with the one in effect; if it can change, keeps it as that. */
static bool take_change(struct service *service, const struct options *fresh, const char *name,
                        json_t *value)
{
	json_t *effective = service->options->effective;
	const bool is_live = can_change(service, fresh, name);

	if (json_equal(value, json_object_get(effective, name)))
		return false;
	report(service, name, is_live ? "applied" : "needs a restart");
	if (is_live && value)
		json_object_set(effective, name, value);
	else if (is_live)
		json_object_del(effective, name);
	return true;
}

static void apply(struct service *service, const struct options *fresh, const json_t *settings,
                  uint64_t time_ns)
{
	json_t *before = json_copy(service->options->effective);
	bool is_changed = false;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)settings, name, value)
	{
		is_changed |= take_change(service, fresh, name, value);
	}
	json_object_foreach(before, name, value)
	{
		if (!json_object_get(settings, name))
			is_changed |= take_change(service, fresh, name, NULL);
	}
	json_decref(before);
	if (!is_changed)
		report(service, "", "nothing has changed");
	const bool is_live = can_change(service, fresh, "quiet");

	for (unsigned i = 0; is_live && i < service->fabric->topology->switch_count; i++)
		bridge_set_times(&service->fabric->bridges[i], &fresh->fabric.bridges[i], time_ns);
	service->history->has_log = fresh->has_log || has_interface(service->options);
}

/*
 * Checks the file as at the start, which ends the process if the file is invalid. So a child does
 * it, and leaves the options in memory that it shares. Returns whether they are valid.
 */
static bool check(const struct service *service, struct options *fresh, json_t *file)
{
	int status = 0;
	const pid_t child = fork();

	if (child == 0) {
		alarm(RELOAD_PATIENCE_S);
		options_parse(fresh, service->argc, service->argv, file);
		_exit(EXIT_SUCCESS);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

void service_reload(void *context, uint64_t time_ns)
{
	struct service *service = context;
	struct options *fresh = mmap(NULL, sizeof(*fresh), PROT_READ | PROT_WRITE,
	                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct signalfd_siginfo signal;
	char error[512] = "", state[64];

	(void)!read(service->signal_fd, &signal, sizeof(signal));
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, ina_now_ns() / 1000);
	service_tell(state);
	json_t *file = config_read(service->options->config_path, error, sizeof(error));
	json_t *settings = options_settings(file, service->options->line);

	if (error[0])
		report(service, "", error);
	fflush(NULL); /* or the child would write it too */
	if (fresh != MAP_FAILED && file && check(service, fresh, file))
		apply(service, fresh, settings, time_ns);
	else
		report(service, "", "invalid, so nothing is changed");
	json_decref(settings);
	json_decref(file);
	if (fresh != MAP_FAILED)
		munmap(fresh, sizeof(*fresh));
	service_tell("READY=1");
}
