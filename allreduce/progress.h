/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress, for whoever waits: in a lab of virtual time INA_PROGRESS names a file, whose only line
 * is the share of the work that is done. ina-bridge shows it beside the time (lab/README.md).
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
