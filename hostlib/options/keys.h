/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that files and the environment may set, one row each. The variable of an option is
 * INA_ and the option's name in capitals, except INA_HCA for `device`.
 */
#ifndef INA_OPTIONS_KEYS_H
#define INA_OPTIONS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

/*
 * The most packets that may be under way on a connection: the most that an aggregator's history
 * holds, and rdma_rxe's RXE_MAX_UNACKED_PSNS.
 */
#define INA_WINDOW_PACKETS_MAX 128u

/* With this number rdma_rxe retransmits without limit, and cards 7 times. */
#define INA_RETRY_COUNT_MAX 7u

/* The numbers that only files and the environment set. */
struct ina_variables {
	unsigned int retry_count;   /* of a connection, for lost packets */
	unsigned int dscp;          /* of aggregated connections */
	unsigned int traffic_class; /* of all other RDMA connections; 0: the system's default */
	unsigned int intra_gbps;    /* Gb/s of a rank's link inside its machine; 0: not modelled */
	enum ina_log_level log_level;
};

enum ina_key_id {
	/* A rank needs these to find the others, who then learn of an error in a later one. */
	INA_KEY_RANK,
	INA_KEY_RANKS,
	INA_KEY_ROOT,
	INA_KEY_COOKIE,
	INA_KEY_SECRET,
	INA_KEY_PORTS,
	INA_KEY_OPEN_TIMEOUT_MS,
	INA_KEY_PEER_TIMEOUT_MS,
	INA_KEY_MEETING_COUNT, /* of the rows before this one */

	INA_KEY_BIND = INA_KEY_MEETING_COUNT,
	INA_KEY_HCA,
	INA_KEY_ALGORITHM,
	INA_KEY_SCHEDULE,
	INA_KEY_CHANNELS,
	INA_KEY_WINDOW,
	INA_KEY_MESSAGE_BYTES,
	INA_KEY_FIXED_POINT,
	INA_KEY_CONGESTION_CONTROL,
	INA_KEY_PROGRESS_THREAD,
	INA_KEY_POLL_COUNT,
	INA_KEY_ACK_TIMEOUT,
	INA_KEY_JOIN_TIMEOUT_MS,
	INA_KEY_TIMEOUT_MS,
	INA_KEY_RETRY_COUNT,
	INA_KEY_DSCP,
	INA_KEY_TRAFFIC_CLASS,
	INA_KEY_INTRA_GBPS,
	INA_KEY_LOG,
	INA_KEY_LOG_FILE,
	INA_KEY_COUNT,
};

enum ina_key_kind {
	INA_KEY_TEXT,
	INA_KEY_INT,
	INA_KEY_UNSIGNED,
	INA_KEY_NAMED,  /* an enum, one name for each value */
	INA_KEY_SWITCH, /* int: 1 on, -1 off, 0 not given; in texts 1 and 0 */
};

struct ina_key {
	const char *variable;
	const char *option; /* the member of struct ina_options; NULL: it is not an option */
	enum ina_key_kind kind;
	size_t at; /* of the member in struct ina_options or ina_variables; the other texts have
	              none */
	int64_t minimum;
	int64_t maximum;
	int64_t multiple;         /* 0: any number between the limits */
	const char *const *names; /* of an enum, from `minimum` to `maximum` */
	const char *hint;         /* NULL: none */
};

extern const struct ina_key ina_keys[INA_KEY_COUNT];

/* Finds the key of a variable, of `length` characters. Returns false if the variable is unknown. */
bool ina_key_find(const char *variable, size_t length, enum ina_key_id *id);

/* Does another part of this project read the variable, from the environment only? */
bool ina_key_is_foreign(const char *variable, size_t length);

/* The variable whose name is most similar. */
const char *ina_key_nearest(const char *variable, size_t length);

/* The name of a value of an enum; "unknown" for other values. */
const char *ina_key_value_name(enum ina_key_id id, int64_t value);

/*
 * Writes which values the option may have, in a text or in the program's struct: "auto, ina or
 * ring", or "a number from 1 to 8".
 */
void ina_key_limits(const struct ina_key *key, bool is_text, char *text, size_t size);

#endif
