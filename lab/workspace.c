/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a run, with the instructions that lab/guest-init reads. */
#include "workspace.h"

#include "common/ack_timeout.h"
#include "common/parse.h"
#include "resources.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/*
 * The difference between a device's MTU and the RoCE path MTU. rxe subtracts 80 bytes for all
 * headers (RXE_MAX_HDR_LENGTH) and rounds the rest down to a power of two.
 */
#define DEVICE_MTU_MARGIN_BYTES 104

/* The addresses of the bridge itself, in virtual time (sim-bridge/virtual/muster.h). */
#define BRIDGE_ADDRESS "192.0.255.254"
#define BRIDGE_MAC     "02:00:00:00:ff:fe"

/*
 * The last two bytes of a host's IP address as a number: host 0 has 192.0.2.1, and 192.0.3.0 and
 * 192.0.3.1 follow 192.0.2.255. The last two bytes of its MAC address are 0x200 less.
 */
#define HOST_ADDRESS(host) (0x201 + (host))

/*
 * INA_ACK_TIMEOUT if up to four hosts share the processors: 4.096 us * 2^16 = 268 ms. Each time
 * that the number of hosts doubles, full windows of all hosts take twice as long.
 */
#define SHARED_ACK_TIMEOUT 16
#define SHARED_HOSTS       4

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void lab_workspace_remove(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/*
 * True if hosts can see the folder, which must not be below a path over which they mount, and if
 * its name has no special characters.
 */
static bool fits_guest(const char *path)
{
	static const char *const hidden[] = {"/dev", "/proc", "/sys", "/run"};
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                            "0123456789/._+-";

	if (path[0] != '/' || path[strspn(path, plain)])
		return false;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		const size_t length = strlen(hidden[i]);
		if (!strncmp(path, hidden[i], length) && (!path[length] || path[length] == '/'))
			return false;
	}
	return true;
}

static bool make_folder(struct lab_workspace *workspace)
{
	const char *base = getenv("TMPDIR");
	char real[PATH_MAX];

	if (!base || !realpath(base, real) || !fits_guest(real) || strlen(real) > 3000)
		strcpy(real, "/tmp");
	snprintf(workspace->path, sizeof(workspace->path), "%.3000s/ina-lab.XXXXXX", real);
	if (mkdtemp(workspace->path))
		return true;
	fprintf(stderr, "ina-lab: cannot create a folder in %s: %s\n", real, strerror(errno));
	return false;
}

static FILE *open_order(const struct lab_workspace *workspace, const char *name, int host)
{
	char path[PATH_MAX + 64];

	if (host < 0)
		snprintf(path, sizeof(path), "%s/%s", workspace->path, name);
	else
		snprintf(path, sizeof(path), "%s/%s.%d", workspace->path, name, host);
	return fopen(path, "we");
}

/* Closes `file`, which may be NULL. Returns true if everything was written. */
static bool close_order(FILE *file)
{
	if (!file)
		return false;
	const bool failed = ferror(file);
	return !fclose(file) && !failed;
}

static bool write_strings(const struct lab_workspace *workspace, const char *name,
                          char *const *strings)
{
	FILE *file = open_order(workspace, name, -1);
	for (; file && *strings; strings++)
		fwrite(*strings, 1, strlen(*strings) + 1, file);
	return close_order(file);
}

static bool begins_with_any(const char *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (!strncmp(text, *beginnings, strlen(*beginnings)))
			return true;
	return false;
}

int lab_workspace_ack_timeout(const struct lab_options *options)
{
	const char *given = getenv("INA_ACK_TIMEOUT");
	int exponent = SHARED_ACK_TIMEOUT;
	uint64_t number;

	if (given && ina_parse_whole(given, 1, INA_ACK_TIMEOUT_MAX, &number))
		return (int)number;
	if (options->is_virtual)
		return INA_ACK_TIMEOUT_DEFAULT;
	for (int many = SHARED_HOSTS; many < options->host_count; many *= 2)
		exponent++;
	return exponent;
}

/*
 * Writes the caller's environment and this rank's variables. In virtual time the language is left
 * out: the files that a C library reads for it differ between machines, and reading them takes some
 * nanoseconds. A command's stdout is a terminal, so that C libraries flush after each line, but one
 * without colours. If hosts share processors, a full window may take longer than libina's ACK
 * timeout, above all with the simulated RTL, and hosts would send it twice; so INA_ACK_TIMEOUT is
 * set.
 */
static bool write_environment(const struct lab_workspace *workspace, int host, int local, int rank,
                              int count, const struct lab_options *options)
{
	static const char *const ours[] = {"INA_RANK=", "INA_RANKS=",    "INA_ROOT=", "INA_COOKIE=",
	                                   "INA_BIND=", "INA_PROGRESS=", "TERM=",     NULL};
	static const char *const language[] = {"LANG", "LC_", NULL};
	char name[32];

	snprintf(name, sizeof(name), "environment.%d", host);
	FILE *file = open_order(workspace, name, local);

	for (char **entry = environ; file && *entry; entry++) {
		if (strchr(*entry, '=') && !begins_with_any(*entry, ours) &&
		    !(options->is_virtual && begins_with_any(*entry, language)))
			fwrite(*entry, 1, strlen(*entry) + 1, file);
	}
	if (file)
		fprintf(file,
		        "TERM=dumb%cINA_RANK=%d%cINA_RANKS=%d%cINA_ROOT=192.0.2.1%c"
		        "INA_COOKIE=ina-lab%cINA_BIND=192.0.%d.%d%c",
		        0, rank, 0, count, 0, 0, 0, HOST_ADDRESS(host) >> 8,
		        HOST_ADDRESS(host) & 0xff, 0);
	if (file && options->is_virtual)
		fprintf(file, "LC_ALL=C%c", 0);
	if (file && options->is_virtual && !rank)
		fprintf(file, "INA_PROGRESS=%s/%s%c", workspace->path, LAB_PROGRESS_FILE, 0);
	if (file && !options->is_virtual && !getenv("INA_ACK_TIMEOUT"))
		fprintf(file, "INA_ACK_TIMEOUT=%d%c", lab_workspace_ack_timeout(options), 0);
	return close_order(file);
}

/*
 * Writes the batch for ip(8) in the guest. It has the addresses of all other hosts, since asking
 * for them at the start of every connection would only add frames that may be lost.
 */
static bool write_network(const struct lab_workspace *workspace, int host,
                          const struct lab_options *options)
{
	FILE *file = open_order(workspace, "network", host);
	if (file && (options->is_virtual || options->is_qemu[host]))
		fputs("link set eth0 name vec0\n", file);
	if (file)
		fprintf(file,
		        "link set lo up\n"
		        "link set vec0 address 02:00:00:00:%02x:%02x mtu %d up\n"
		        "address add 192.0.%d.%d/16 dev vec0\n",
		        (host + 1) >> 8, (host + 1) & 0xff, lab_workspace_device_mtu(options),
		        HOST_ADDRESS(host) >> 8, HOST_ADDRESS(host) & 0xff);
	if (file && options->is_virtual)
		fprintf(file, "neighbour replace %s lladdr %s dev vec0 nud permanent\n",
		        BRIDGE_ADDRESS, BRIDGE_MAC);
	for (int peer = 0; file && peer < options->host_count; peer++)
		if (peer != host)
			fprintf(file,
			        "neighbour replace 192.0.%d.%d lladdr 02:00:00:00:%02x:%02x dev "
			        "vec0 nud permanent\n",
			        HOST_ADDRESS(peer) >> 8, HOST_ADDRESS(peer) & 0xff, (peer + 1) >> 8,
			        (peer + 1) & 0xff);
	return close_order(file);
}

/* Ranks are numbered host by host. */
static bool write_environments(const struct lab_workspace *workspace,
                               const struct lab_options *options)
{
	int count = 0, rank = 0;

	for (int host = 0; host < options->host_count; host++)
		count += options->rank_counts[host];
	for (int host = 0; host < options->host_count; host++)
		for (int local = 0; local < options->rank_counts[host]; local++)
			if (!write_environment(workspace, host, local, rank++, count, options))
				return false;
	return true;
}

static bool write_orders(const struct lab_workspace *workspace, const struct lab_options *options,
                         const char *guest_init)
{
	char here[PATH_MAX], path[PATH_MAX + 64];

	if (!getcwd(here, sizeof(here)))
		return false;
	snprintf(path, sizeof(path), "%s/init", workspace->path);
	if (symlink(guest_init, path))
		return false;
	if (!write_strings(workspace, "command", options->command) ||
	    !write_strings(workspace, "directory", (char *[]){here, NULL}))
		return false;
	for (int host = 0; host < options->host_count; host++)
		if (!write_network(workspace, host, options))
			return false;
	return write_environments(workspace, options);
}

double lab_workspace_machine_mhz(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];
	double mhz = 0;

	while (file && mhz <= 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "cpu MHz : %lf", &mhz) != 1)
			mhz = 0;
	if (file)
		fclose(file);
	return mhz > 0 ? mhz : 1000;
}

int lab_workspace_device_mtu(const struct lab_options *options)
{
	return options->path_mtu_bytes + DEVICE_MTU_MARGIN_BYTES;
}

static int count_qemu(const struct lab_options *options)
{
	int count = 0;

	for (int i = 0; i < options->host_count; i++)
		count += options->is_qemu[i];
	return count;
}

bool lab_workspace_create(struct lab_workspace *workspace, const struct lab_options *options,
                          const char *guest_init)
{
	const struct lab_memory memory = lab_resources_find_memory(
	        options->host_count, options->memory_mib, count_qemu(options));

	if (!memory.path) {
		fprintf(stderr,
		        "ina-lab: %d hosts of %d MiB need %llu MiB, but only %llu MiB are free: "
		        "free some in /dev/shm, or set TMPDIR to a folder with more space (not "
		        "mounted noexec), or see --memory\n",
		        options->host_count, options->memory_mib, memory.need_bytes >> 20,
		        memory.free_bytes >> 20);
		return false;
	}
	snprintf(workspace->memory_path, sizeof(workspace->memory_path), "%s", memory.path);
	workspace->memory_need_bytes = memory.need_bytes;
	workspace->memory_free_bytes = memory.free_bytes;
	if (!make_folder(workspace))
		return false;
	if (write_orders(workspace, options, guest_init))
		return true;
	fprintf(stderr, "ina-lab: cannot write the hosts' configuration to %s: %s\n",
	        workspace->path, strerror(errno));
	lab_workspace_remove(workspace->path);
	return false;
}
