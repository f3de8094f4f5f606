/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void progress_open(struct progress *progress, double total)
{
	const char *path = getenv("INA_PROGRESS");

	/* The reader is outside this kernel, so writes must not wait in the page cache. */
	*progress = (struct progress){
	        .fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_DSYNC, 0644) : -1,
	        .total = total,
	        .shown_percent = -1,
	};
}

void progress_add(struct progress *progress, double work)
{
	char line[8];
	int percent;

	progress->done += work;
	percent = progress->done < progress->total ? (int)(100 * progress->done / progress->total)
	                                           : 100;
	if (progress->fd < 0 || percent == progress->shown_percent)
		return;
	progress->shown_percent = percent;
	/* Every line has the same length, so each one overwrites the last. */
	snprintf(line, sizeof(line), "%3d%%\n", percent);
	if (pwrite(progress->fd, line, sizeof("100%\n") - 1, 0) < 0)
		progress_close(progress);
}

void progress_close(struct progress *progress)
{
	if (progress->fd >= 0)
		close(progress->fd);
	progress->fd = -1;
}
