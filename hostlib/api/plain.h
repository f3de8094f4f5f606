/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hosts and a plain switch can do, as the measure of what an aggregator costs. Not part of
 * the API, nor exported: for benches that link libina.a.
 */
#ifndef INA_API_PLAIN_H
#define INA_API_PLAIN_H

#include "hostlib/include/ina.h"

/*
 * As ina_open(), but no aggregator is asked to sum: an all-reduce is sent to the successor in the
 * messages, and through the code, of an aggregated one, and gives what the predecessor sent, so
 * recv[i] is the send[i] of rank - 1; the two must not be the same memory. A rank may be done while
 * another has not yet begun: n - 1 all-reduces are a barrier of n ranks. options->algorithm is not
 * looked at.
 */
enum ina_status ina_plain_open(const struct ina_options *options, ina_comm **comm, char *why,
                               size_t why_size);

#endif
