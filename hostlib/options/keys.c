/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the options. */
#include "keys.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/ack_timeout.h"
#include "wire/ina_wire.h"

#define INTRA_GBPS_MAX    1000000
#define FRAMING_BYTES     (sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer))
#define MESSAGE_BYTES_MAX (INA_WINDOW_PACKETS_MAX * 4096u)

static const char *const ALGORITHMS[] = {"auto", "ina", "ring"};
static const char *const SCHEDULES[] = {"auto", "flat", "leader", "parallel"};
static const char *const LOG_LEVELS[] = {"off", "warn", "info"};

#define OPTION(NAME, member, ...)                                                                  \
	[INA_KEY_##NAME] = {.variable = "INA_" #NAME,                                              \
	                    .option = #member,                                                     \
	                    .at = offsetof(struct ina_options, member),                            \
	                    __VA_ARGS__}

#define VARIABLE(NAME, member, ...)                                                                \
	[INA_KEY_##NAME] = {.variable = "INA_" #NAME,                                              \
	                    .at = offsetof(struct ina_variables, member),                          \
	                    __VA_ARGS__}

#define TEXT(NAME)        [INA_KEY_##NAME] = {.variable = "INA_" #NAME, .kind = INA_KEY_TEXT}
#define INT(least, most)  .kind = INA_KEY_INT, .minimum = (least), .maximum = (most)
#define UINT(least, most) .kind = INA_KEY_UNSIGNED, .minimum = (least), .maximum = (most)
#define NAMED(table)                                                                               \
	.kind = INA_KEY_NAMED, .names = (table), .maximum = sizeof(table) / sizeof(*(table)) - 1
#define SWITCH .kind = INA_KEY_SWITCH, .minimum = -1, .maximum = 1

const struct ina_key ina_keys[INA_KEY_COUNT] = {
        /*
         * A rank that is not less than the rank count still connects to rank 0, so that every rank
         * learns of the error.
         */
        OPTION(RANK, rank, INT(0, INT_MAX)),
        OPTION(RANKS, ranks, INT(1, INA_MAX_RANKS)),
        OPTION(ROOT, root, .kind = INA_KEY_TEXT),
        OPTION(COOKIE, cookie, .kind = INA_KEY_TEXT),
        TEXT(SECRET),
        TEXT(PORTS),
        OPTION(OPEN_TIMEOUT_MS, open_timeout_ms, INT(1, INT_MAX)),
        OPTION(PEER_TIMEOUT_MS, peer_timeout_ms, INT(1, INT_MAX)),

        OPTION(BIND, bind, .kind = INA_KEY_TEXT),
        OPTION(HCA, device, .kind = INA_KEY_TEXT),
        OPTION(ALGORITHM, algorithm, NAMED(ALGORITHMS)),
        OPTION(SCHEDULE, schedule, NAMED(SCHEDULES)),
        OPTION(CHANNELS, channels, INT(1, INA_MAX_CHANNELS)),
        OPTION(WINDOW, window, UINT(1, INA_WINDOW_PACKETS_MAX)),
        OPTION(MESSAGE_BYTES, message_bytes,
               UINT(FRAMING_BYTES + INA_WIRE_ALIGNMENT, MESSAGE_BYTES_MAX),
               .multiple = INA_WIRE_ALIGNMENT),
        OPTION(FIXED_POINT, fixed_point, SWITCH),
        OPTION(CONGESTION_CONTROL, congestion_control, SWITCH),
        OPTION(PROGRESS_THREAD, progress_thread, SWITCH),
        OPTION(POLL_COUNT, poll_count, UINT(0, UINT_MAX)),
        OPTION(ACK_TIMEOUT, ack_timeout, UINT(1, INA_ACK_TIMEOUT_MAX),
               .hint = "for 4.096 us * 2^n"),
        OPTION(JOIN_TIMEOUT_MS, join_timeout_ms, INT(1, INT_MAX)),
        OPTION(TIMEOUT_MS, timeout_ms, INT(1, INT_MAX)),
        VARIABLE(RETRY_COUNT, retry_count, UINT(1, INA_RETRY_COUNT_MAX)),
        VARIABLE(DSCP, dscp, UINT(0, 63)),
        VARIABLE(TRAFFIC_CLASS, traffic_class, UINT(0, 255)),
        VARIABLE(INTRA_GBPS, intra_gbps, UINT(1, INTRA_GBPS_MAX)),
        VARIABLE(LOG, log_level, NAMED(LOG_LEVELS)),
        TEXT(LOG_FILE),
};

/*
 * Variables of this project that libina does not read itself: a rank may inherit them. The tests
 * compare this list with the sources.
 */
static const char *const FOREIGN[] = {
        "INA_CONF_FILE", /* libina's, but not an option */
        /* ina-perf, and the interposers for MPI and PyTorch */
        "INA_PROGRESS", "INA_MPI_THRESHOLD", "INA_MPI_VERBOSE", "INA_TORCH",
        /* the lab, the switch and the demos */
        "INA_KERNEL", "INA_GUEST_INIT", "INA_BRIDGE", "INA_QEMU", "INA_WAVES", "INA_AGGREGATOR",
        /* scripts and tests */
        "INA_AGGREGATORS", "INA_BUILD", "INA_FLOOD_S", "INA_HOSTS", "INA_LAB", "INA_LINUX",
        "INA_MPI_FOLDER", "INA_MPI_PER_HOST", "INA_OS_RELEASE", "INA_OTHER_KERNEL", "INA_PACKETS",
        "INA_PERF", "INA_PLAN", "INA_QEMU_KERNELS", "INA_REAL_BRIDGE", "INA_RENEW", "INA_SEED"};

#define FOREIGN_COUNT (sizeof(FOREIGN) / sizeof(FOREIGN[0]))

static bool is_same(const char *a, const char *b, size_t length)
{
	return strncmp(a, b, length) == 0 && a[length] == '\0';
}

bool ina_key_find(const char *variable, size_t length, enum ina_key_id *id)
{
	for (int i = 0; i < INA_KEY_COUNT; i++) {
		if (is_same(ina_keys[i].variable, variable, length)) {
			*id = (enum ina_key_id)i;
			return true;
		}
	}
	return false;
}

bool ina_key_is_foreign(const char *variable, size_t length)
{
	for (size_t i = 0; i < FOREIGN_COUNT; i++) {
		if (is_same(FOREIGN[i], variable, length))
			return true;
	}
	return false;
}

/*
 * The number of characters to insert, delete or replace (Levenshtein's distance). A neighbour swap
 * counts as two.
 */
static unsigned int distance(const char *a, size_t length, const char *b)
{
	enum { LONGEST = 40 };
	size_t b_length = strlen(b);
	unsigned int row[LONGEST + 1];

	for (unsigned int j = 0; j <= b_length && j <= LONGEST; j++)
		row[j] = j;
	for (size_t i = 0; i < length; i++) {
		unsigned int corner = row[0]++;

		for (size_t j = 0; j < b_length && j < LONGEST; j++) {
			unsigned int replaced = corner + (a[i] != b[j]);
			unsigned int other = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;

			corner = row[j + 1];
			row[j + 1] = replaced < other ? replaced : other;
		}
	}
	return row[b_length < LONGEST ? b_length : LONGEST];
}

const char *ina_key_nearest(const char *variable, size_t length)
{
	const char *nearest = NULL;
	unsigned int least = UINT_MAX;

	for (size_t i = 0; i < INA_KEY_COUNT + FOREIGN_COUNT; i++) {
		const char *name =
		        i < INA_KEY_COUNT ? ina_keys[i].variable : FOREIGN[i - INA_KEY_COUNT];
		unsigned int far = distance(variable, length, name);

		if (far < least) {
			least = far;
			nearest = name;
		}
	}
	return nearest;
}

const char *ina_key_value_name(enum ina_key_id id, int64_t value)
{
	const struct ina_key *key = &ina_keys[id];

	return value >= key->minimum && value <= key->maximum ? key->names[value] : "unknown";
}

void ina_key_limits(const struct ina_key *key, bool is_text, char *text, size_t size)
{
	size_t used = 0;

	if (key->kind == INA_KEY_SWITCH) {
		snprintf(text, size, is_text ? "0 or 1" : "-1, 0 or 1");
	} else if (key->kind == INA_KEY_NAMED) {
		for (int64_t i = 0; i <= key->maximum && used < size; i++)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
			                         i == 0              ? ""
			                         : i == key->maximum ? " or "
			                                             : ", ",
			                         key->names[i]);
	} else {
		used = (size_t)snprintf(text, size, "a number");
		if (key->multiple)
			used = (size_t)snprintf(text, size, "a multiple of %" PRId64,
			                        key->multiple);
		snprintf(text + used, size - used, " from %" PRId64 " to %" PRId64 "%s%s",
		         key->minimum, key->maximum, key->hint ? ", " : "",
		         key->hint ? key->hint : "");
	}
}
