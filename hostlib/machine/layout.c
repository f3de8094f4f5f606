/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which ranks are on which machine. */
#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ina_layout_rank(const struct ina_layout *layout, int machine, int local)
{
	for (int r = 0; r < layout->ranks; r++) {
		if (layout->where[r].machine == machine && layout->where[r].local == local)
			return r;
	}
	return -1;
}

/* Numbers the machines, and the ranks of each machine, in the order of ranks. */
static void place(struct ina_layout *layout, const uint64_t *hosts, int counts[INA_MAX_RANKS])
{
	for (int r = 0; r < layout->ranks; r++) {
		int earlier = 0;

		while (earlier < r && hosts[earlier] != hosts[r])
			earlier++;
		layout->where[r].machine =
		        earlier < r ? layout->where[earlier].machine : layout->machines++;
		layout->where[r].local = counts[layout->where[r].machine]++;
	}
}

void ina_layout_make(struct ina_layout *layout, struct ina_location *where, const uint64_t *hosts,
                     int ranks, int rank, enum ina_schedule schedule)
{
	int counts[INA_MAX_RANKS] = {0};

	*layout = (struct ina_layout){.ranks = ranks, .where = where};
	place(layout, hosts, counts);
	layout->fewest = ranks;
	for (int m = 0; m < layout->machines; m++) {
		if (counts[m] < layout->fewest)
			layout->fewest = counts[m];
		if (counts[m] > layout->most)
			layout->most = counts[m];
	}
	layout->machine = where[rank].machine;
	layout->local = where[rank].local;
	layout->locals = counts[layout->machine];
	if (layout->most > 1 && schedule != INA_SCHEDULE_FLAT)
		layout->rails = schedule == INA_SCHEDULE_LEADER ? 1 : layout->fewest;
}

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
static uint64_t hash(uint64_t state, const void *data, size_t bytes)
{
	const unsigned char *from = data;

	for (size_t i = 0; i < bytes; i++)
		state = (state ^ from[i]) * 0x100000001B3u;
	return state;
}

/*
 * The boot id identifies the kernel until it boots again. In another network namespace the abstract
 * socket cannot be found, so that counts as another machine.
 */
enum ina_status ina_layout_identity(uint64_t *identity, struct ina_failure *failure)
{
	char boot[64];
	struct stat network;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, boot, sizeof(boot));

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return ina_fail(
		        failure, INA_ERR_SYSTEM,
		        "no file descriptor is left to open a communicator: %s; see `ulimit -n`",
		        strerror(errno));
	if (fd >= 0)
		close(fd);
	if (got <= 0 || stat("/proc/self/ns/net", &network) != 0)
		return ina_fail(failure, INA_ERR_SYSTEM,
		                "cannot tell from /proc which machine this is (%s); the schedule "
		                "INA_SCHEDULE_FLAT does not need to know",
		                strerror(errno));
	*identity = hash(0xCBF29CE484222325u, boot, (size_t)got);
	*identity = hash(*identity, &network.st_dev, sizeof(network.st_dev));
	*identity = hash(*identity, &network.st_ino, sizeof(network.st_ino));
	return INA_OK;
}
