/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress display: in a lab in virtual time, INA_PROGRESS names a file whose only line is the
 * share of the work that is done. ina-bridge shows it next to the time (lab/README.md).
 */
#ifndef INA_PERF_PROGRESS_H
#define INA_PERF_PROGRESS_H

/* The caller chooses the unit of work. */
struct progress {
	int fd; /* -1: no display */
	double total;
	double done;
	int shown_percent;
};

/*
 * `total` is the total work. Without INA_PROGRESS, or if the file cannot be written, these
 * functions do nothing.
 */
void progress_open(struct progress *progress, double total);
void progress_add(struct progress *progress, double work);
void progress_close(struct progress *progress);

#endif
