/* SPDX-License-Identifier: Apache-2.0 */
/* Summarises what the switch and the aggregator did in a run, for a reader. */
#ifndef INA_LAB_SUMMARY_H
#define INA_LAB_SUMMARY_H

/*
 * Reads the bridge's counters from `stats_path` and prints a few lines to stderr. `up_s` is the
 * time that the hosts took to come up, in seconds.
 */
void lab_summary_print(const char *stats_path, int host_count, double up_s);

#endif
