/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the work is done, for whoever waits. In a lab of virtual time INA_PROGRESS names a
 * file: its only line is the share, and ina-bridge says it beside the time (lab/README.md).
 */
#ifndef INA_PERF_PROGRESS_H
#define INA_PERF_PROGRESS_H

/* Work is in units of the caller's own. */
struct progress {
	int fd; /* -1: nobody asks */
	double total;
	double done;
	int shown_percent;
};

/* `total`: the work of all. Without INA_PROGRESS, or where it cannot be written, nothing is shown.
 */
void progress_open(struct progress *progress, double total);
void progress_add(struct progress *progress, double work);
void progress_close(struct progress *progress);

#endif
