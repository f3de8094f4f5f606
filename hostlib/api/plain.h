/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain communicators, which show the speed of the hosts and a plain switch, to measure the cost of
 * an aggregator. They are not part of the API and not exported; benches link with libina.a.
 */
#ifndef INA_API_PLAIN_H
#define INA_API_PLAIN_H

#include "hostlib/include/ina.h"

/*
 * Like ina_open(), but asks no aggregator to sum. An all-reduce is sent to the successor in the
 * messages and through the code of an aggregated one. It returns the predecessor's elements, so
 * recv[i] is the send[i] of rank - 1; the two must not be the same memory. A rank may finish an
 * all-reduce before another rank has begun it: n - 1 all-reduces are a barrier of n ranks.
 * options->algorithm is ignored.
 */
enum ina_status ina_plain_open(const struct ina_options *options, ina_comm **comm, char *why,
                               size_t why_size);

#endif
