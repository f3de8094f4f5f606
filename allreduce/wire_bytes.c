/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from sysfs how many bytes are on the wire. */
#include "wire_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 64

static int read_line(const char *path, char *line, int size)
{
	FILE *file = fopen(path, "re");
	char *got;

	if (!file)
		return -1;
	got = fgets(line, size, file);
	fclose(file);
	if (!got)
		return -1;
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

int wire_bytes_read(const char *rdma_device, uint64_t *bytes)
{
	char path[256];
	char netdev[NAME_MAX_BYTES];
	char line[NAME_MAX_BYTES];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0",
	         rdma_device);
	if (read_line(path, netdev, sizeof(netdev)) != 0)
		return -1;
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/tx_bytes", netdev);
	if (read_line(path, line, sizeof(line)) != 0 || sscanf(line, "%" SCNu64, bytes) != 1)
		return -1;
	return 0;
}
