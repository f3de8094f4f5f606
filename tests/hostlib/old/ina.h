/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina.h as it was for a program that was built with an older library: the first members of options
 * and statistics, and the calls of check_old_header.c.
 */
#ifndef INA_H
#define INA_H

#include <stddef.h>
#include <stdint.h>

#define INA_API

#define INA_VERSION    1000
#define INA_ERROR_SIZE 512

typedef struct ina_comm ina_comm;

enum ina_status { INA_OK = 0 };
enum ina_type { INA_INT32 = 1 };
enum ina_op { INA_SUM = 1 };
enum ina_algorithm { INA_ALGORITHM_AUTO = 0, INA_ALGORITHM_INA = 1, INA_ALGORITHM_RING = 2 };

struct ina_options {
	size_t struct_size;
	int rank;
	int ranks;
	const char *root;
	const char *bind;
	const char *device;
	enum ina_algorithm algorithm;
	int schedule;
	unsigned int window;
	unsigned int message_bytes;
};

struct ina_stats {
	enum ina_algorithm algorithm;
	unsigned int path_mtu;
	unsigned int message_bytes;
	unsigned int window;
	char device[64];
	uint64_t calls;
};

INA_API int ina_version(void);
INA_API void ina_options_init_size(struct ina_options *options, size_t size);
static inline void ina_options_init(struct ina_options *options)
{
	ina_options_init_size(options, sizeof(*options));
}
INA_API enum ina_status ina_open(const struct ina_options *options, ina_comm **comm, char *why,
                                 size_t why_size);
INA_API enum ina_status ina_close(ina_comm *comm);
INA_API enum ina_status ina_allreduce(ina_comm *comm, const void *send, void *recv, size_t count,
                                      enum ina_type type, enum ina_op op);
INA_API void ina_comm_stats(const ina_comm *comm, struct ina_stats *stats, size_t size);

#endif
