/* SPDX-License-Identifier: Apache-2.0 */
/* By the flags of SIOCETHTOOL; other flags of the interface stay as they are. */
#define _GNU_SOURCE
#include "large_receive.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static int ask(int fd, const char *name, unsigned command, unsigned *flags)
{
	struct ethtool_value value = {.cmd = command, .data = *flags};
	struct ifreq request = {.ifr_data = (char *)&value};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	const int result = ioctl(fd, SIOCETHTOOL, &request);

	*flags = value.data;
	return result;
}

bool large_receive_turn_off(int fd, const char *name)
{
	unsigned flags = 0;

	if (ask(fd, name, ETHTOOL_GFLAGS, &flags) != 0 || !(flags & ETH_FLAG_LRO))
		return false;
	flags &= ~(unsigned)ETH_FLAG_LRO;
	const bool is_off = ask(fd, name, ETHTOOL_SFLAGS, &flags) == 0;

	if (is_off)
		fprintf(stderr, "ina-bridge: %s: large receive offload is off until the end\n",
		        name);
	else
		fprintf(stderr,
		        "ina-bridge: %s: large receive offload would merge frames, and cannot be "
		        "turned off: %s\n",
		        name, strerror(errno));
	return is_off;
}

void large_receive_turn_on(int fd, int index)
{
	char name[IF_NAMESIZE];
	unsigned flags = 0;

	if (!if_indextoname((unsigned)index, name) || ask(fd, name, ETHTOOL_GFLAGS, &flags) != 0)
		return;
	flags |= ETH_FLAG_LRO;
	(void)ask(fd, name, ETHTOOL_SFLAGS, &flags);
}
