/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of RDMA devices. */
#include "device_list.h"

#include <string.h>

#include "common/parse.h"

#define PORT_MAX 255

struct entry {
	const char *name;
	size_t length;
	uint64_t port; /* 0: all ports */
};

static const char *first_entry(const char *list, bool *excludes, bool *is_exact)
{
	*excludes = list[0] == '^';
	list += *excludes;
	*is_exact = list[0] == '=';
	return list + *is_exact;
}

/* Reads the entry at *text, and moves *text to the next one, or to NULL. */
static bool read_entry(const char **text, struct entry *entry)
{
	const char *start = *text;
	size_t length = strcspn(start, ",");
	const char *colon = memchr(start, ':', length);
	char port[8] = "";

	*text = start[length] ? start + length + 1 : NULL;
	*entry = (struct entry){.name = start, .length = colon ? (size_t)(colon - start) : length};
	if (!colon)
		return length > 0;
	length -= entry->length + 1;
	if (entry->length == 0 || length >= sizeof(port))
		return false;
	memcpy(port, colon + 1, length);
	return ina_parse_whole(port, 1, PORT_MAX, &entry->port);
}

bool ina_device_list_is_valid(const char *list)
{
	bool ignored;
	struct entry entry;
	const char *text = first_entry(list, &ignored, &ignored);

	if (!list[0])
		return true;
	if (strlen(list) >= INA_DEVICE_LIST_SIZE)
		return false;
	while (text) {
		if (!read_entry(&text, &entry))
			return false;
	}
	return true;
}

bool ina_device_list_includes(const char *list)
{
	return list[0] && list[0] != '^';
}

int ina_device_list_place(const char *list, const char *device, unsigned int port)
{
	bool excludes;
	bool is_exact;
	struct entry entry;
	const char *text = first_entry(list, &excludes, &is_exact);

	if (!list[0])
		return 0;
	for (int place = 0; text && read_entry(&text, &entry); place++) {
		if (strncmp(entry.name, device, entry.length) == 0 &&
		    (!is_exact || !device[entry.length]) &&
		    (entry.port == 0 || port == 0 || entry.port == port))
			return excludes ? -1 : place;
	}
	return excludes ? 0 : -1;
}
