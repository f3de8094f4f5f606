/* SPDX-License-Identifier: Apache-2.0 */
/* A link, modelled by the time until which it is busy. */
#include "intra.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"

#define NS_PER_S INT64_C(1000000000)

enum ina_status ina_intra_open(struct ina_intra *intra, unsigned int gbps,
                               struct ina_failure *failure)
{
	*intra = (struct ina_intra){.timer_fd = -1};
	if (gbps == 0)
		return INA_OK;
	intra->ns_per_byte = 8.0 / gbps;
	intra->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (intra->timer_fd < 0)
		return ina_fail(failure, INA_ERR_SYSTEM, "cannot create a timer: %s",
		                strerror(errno));
	return INA_OK;
}

void ina_intra_close(struct ina_intra *intra)
{
	if (intra->timer_fd >= 0)
		close(intra->timer_fd);
	intra->timer_fd = -1;
}

int64_t ina_intra_read(struct ina_intra *intra, size_t bytes)
{
	int64_t now;

	if (intra->ns_per_byte == 0)
		return 1;
	now = ina_now_ns();
	intra->free_ns = (intra->free_ns > now ? intra->free_ns : now) +
	                 (int64_t)(intra->ns_per_byte * (double)bytes);
	return intra->free_ns;
}

bool ina_intra_is_there(const struct ina_intra *intra, int64_t due_ns)
{
	return intra->ns_per_byte == 0 || ina_now_ns() >= due_ns;
}

void ina_intra_arm(struct ina_intra *intra, int64_t due_ns)
{
	const struct itimerspec time = {
	        .it_value = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S}};

	if (intra->timer_fd < 0 || due_ns == intra->armed_ns)
		return;
	intra->armed_ns = due_ns;
	timerfd_settime(intra->timer_fd, TFD_TIMER_ABSTIME, &time, NULL);
}
