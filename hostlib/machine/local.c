/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of one machine. */
#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/interrupted.h"
#include "local_socket.h"
#include "hostlib/control/agreement.h"

void ina_local_init(struct ina_local *local)
{
	local->ranks = NULL;
	local->life = -1;
	for (int i = 0; i < local->count; i++) {
		local->wake[i] = local->alive[i] = -1;
		local->gone[i] = false;
	}
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void ina_local_close(struct ina_local *local)
{
	if (local->ranks)
		munmap(local->ranks, local->map_bytes);
	for (int i = 0; i < local->count; i++) {
		close_fd(&local->wake[i]);
		close_fd(&local->alive[i]);
	}
	close_fd(&local->life);
	ina_local_init(local);
}

static size_t rail_bytes(const struct ina_local *local)
{
	return 2 * INA_LOCAL_DEPTH * local->segment_bytes;
}

static size_t rank_bytes(const struct ina_local *local)
{
	return INA_LOCAL_DEPTH * (size_t)local->rails * local->segment_bytes;
}

uint8_t *ina_local_rail_memory(const struct ina_local *local, int rail, size_t *bytes)
{
	*bytes = rail_bytes(local);
	return local->data + (size_t)rail * rail_bytes(local);
}

uint8_t *ina_local_reduced(const struct ina_local *local, int rail, uint64_t step)
{
	return local->data + (size_t)rail * rail_bytes(local) +
	       step % INA_LOCAL_DEPTH * local->segment_bytes;
}

uint8_t *ina_local_sum(const struct ina_local *local, int rail, uint64_t step)
{
	return ina_local_reduced(local, rail, step) + INA_LOCAL_DEPTH * local->segment_bytes;
}

uint8_t *ina_local_contribution(const struct ina_local *local, int index, int rail, uint64_t step)
{
	return local->data + (size_t)local->rails * rail_bytes(local) +
	       (size_t)index * rank_bytes(local) +
	       (step % INA_LOCAL_DEPTH * (size_t)local->rails + (size_t)rail) *
	               local->segment_bytes;
}

/* Creates this rank's eventfd for wakeups, and the pipe that shows that it is alive. */
static int make_own(struct ina_local *local)
{
	int ends[2];

	local->wake[local->index] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (local->wake[local->index] < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	local->alive[local->index] = ends[0];
	local->life = ends[1];
	return 0;
}

static enum ina_status map_memory(struct ina_local *local, int memory, struct ina_failure *failure)
{
	void *map = mmap(NULL, local->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	size_t head = (size_t)local->count * sizeof(struct ina_local_rank);

	if (map == MAP_FAILED)
		return ina_fail(
		        failure, INA_ERR_MEMORY,
		        "cannot map %zu bytes to share with the %d ranks of this machine: %s",
		        local->map_bytes, local->count, strerror(errno));
	local->ranks = map;
	local->data = (uint8_t *)map + (head + 4095) / 4096 * 4096;
	return INA_OK;
}

/*
 * The lowest rank creates the memory, gathers the descriptors of the others, and sends all
 * descriptors to all.
 */
static enum ina_status lead(struct ina_local *local, struct ina_local_meeting *meeting,
                            struct ina_failure *failure)
{
	int fds[2 * INA_MAX_RANKS + 1];
	int count = 0;
	int memory = memfd_create("ina", MFD_CLOEXEC);
	enum ina_status status = INA_OK;
	int sized = -1;

	if (memory >= 0)
		INA_UNINTERRUPTED(sized, ftruncate(memory, (off_t)local->map_bytes));
	if (sized != 0)
		status = ina_fail(
		        failure, INA_ERR_MEMORY,
		        "cannot allocate memory to share with the ranks of this machine: %s",
		        strerror(errno));
	if (status == INA_OK)
		status = ina_local_gather(meeting, local->wake, local->alive, failure);
	fds[count++] = memory;
	for (int i = 0; i < local->count; i++) {
		fds[count++] = local->wake[i];
		fds[count++] = local->alive[i];
	}
	if (status == INA_OK)
		status = ina_local_hand_out(meeting, fds, count, failure);
	if (status == INA_OK)
		status = map_memory(local, memory, failure);
	close_fd(&memory);
	return status;
}

static enum ina_status follow(struct ina_local *local, struct ina_local_meeting *meeting,
                              struct ina_failure *failure)
{
	const int own[2] = {local->wake[local->index], local->alive[local->index]};
	int fds[2 * INA_MAX_RANKS + 1];
	enum ina_status status = ina_local_attend(meeting, own, fds, 2 * local->count + 1, failure);

	if (status != INA_OK)
		return status;
	for (int i = 0; i < local->count; i++) {
		close_fd(&local->wake[i]);
		close_fd(&local->alive[i]);
		local->wake[i] = fds[1 + 2 * i];
		local->alive[i] = fds[2 + 2 * i];
	}
	status = map_memory(local, fds[0], failure);
	close_fd(&fds[0]);
	return status;
}

enum ina_status ina_local_open(struct ina_local *local, const struct ina_layout *layout,
                               uint64_t job_id, size_t segment_bytes, struct ina_control *control,
                               int64_t deadline_ms, struct ina_failure *failure)
{
	struct ina_local_meeting meeting = {
	        .job_id = job_id,
	        .index = layout->local,
	        .count = layout->locals,
	        .leader = ina_layout_rank(layout, layout->machine, 0),
	        .control = control,
	        .deadline_ms = deadline_ms,
	};
	enum ina_status status;

	local->index = layout->local;
	local->rails = layout->rails;
	local->segment_bytes = segment_bytes;
	local->map_bytes = (size_t)local->count * sizeof(struct ina_local_rank) + 4096 +
	                   (size_t)local->rails * rail_bytes(local) +
	                   (size_t)local->count * rank_bytes(local);
	if (make_own(local) != 0)
		return ina_fail(failure, INA_ERR_SYSTEM, "cannot create an eventfd or a pipe: %s",
		                strerror(errno));
	status = local->index == 0 ? lead(local, &meeting, failure)
	                           : follow(local, &meeting, failure);
	/* Close the read end of this rank's pipe, which is for the other ranks. */
	close_fd(&local->alive[local->index]);
	return status;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t ina_local_all_contributed(const struct ina_local *local)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < local->count; i++)
		least = smaller(least, atomic_load(&local->ranks[i].contributed));
	return least;
}

uint64_t ina_local_all_taken(const struct ina_local *local)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < local->count; i++)
		least = smaller(least, atomic_load(&local->ranks[i].taken));
	return least;
}

uint64_t ina_local_all_reduced(const struct ina_local *local)
{
	uint64_t least = UINT64_MAX;

	for (int r = 0; r < local->rails; r++)
		least = smaller(least, atomic_load(&local->ranks[r].reduced));
	return least;
}

uint64_t ina_local_all_published(const struct ina_local *local)
{
	uint64_t least = UINT64_MAX;

	for (int r = 0; r < local->rails; r++)
		least = smaller(least, atomic_load(&local->ranks[r].published));
	return least;
}

/* How many steps all ranks have done; enough to decide whether a rank can make progress. */
struct progress {
	uint64_t contributed;
	uint64_t reduced;
	uint64_t published;
	uint64_t taken;
};

/*
 * Can the rank make progress? If there are few processors, a wakeup costs two context switches, so
 * a rank is not woken for a part of a step.
 */
static bool can_go_on(const struct ina_local_rank *rank, uint32_t wants, const struct progress *all)
{
	uint64_t reduced = atomic_load(&rank->reduced);

	if (all->published > atomic_load(&rank->taken))
		return true;
	if ((wants & INA_LOCAL_CONTRIBUTE) &&
	    ina_local_is_free(all->reduced, atomic_load(&rank->contributed)))
		return true;
	return (wants & INA_LOCAL_REDUCE) && all->contributed > reduced &&
	       ina_local_is_free(all->taken, reduced);
}

void ina_local_wake(struct ina_local *local)
{
	const uint64_t one = 1;
	const struct progress all = {
	        .contributed = ina_local_all_contributed(local),
	        .reduced = ina_local_all_reduced(local),
	        .published = ina_local_all_published(local),
	        .taken = ina_local_all_taken(local),
	};

	for (int i = 0; i < local->count; i++) {
		struct ina_local_rank *rank = &local->ranks[i];
		uint32_t wants = atomic_load(&rank->wants);

		if (i == local->index || wants == 0 || !can_go_on(rank, wants, &all) ||
		    !atomic_exchange(&rank->wants, 0))
			continue;
		/* If the counter is full, the descriptor is readable anyway. */
		if (write(local->wake[i], &one, sizeof(one)) < 0)
			continue;
	}
}

void ina_local_awake(struct ina_local *local, bool woken)
{
	uint64_t ignored;

	atomic_store(&local->ranks[local->index].wants, 0);
	if (woken && read(local->wake[local->index], &ignored, sizeof(ignored)) < 0)
		return;
}

int ina_local_pollfds(const struct ina_local *local, struct pollfd *fds)
{
	int count = 0;

	fds[count++] = (struct pollfd){.fd = local->wake[local->index], .events = POLLIN};
	for (int i = 0; i < local->count; i++) {
		if (local->alive[i] >= 0)
			fds[count++] = (struct pollfd){.fd = local->alive[i]};
	}
	return count;
}

int ina_local_look(struct ina_local *local)
{
	struct pollfd fds[INA_MAX_RANKS];
	int found = -1;

	for (int i = 0; i < local->count; i++)
		fds[i] = (struct pollfd){.fd = local->alive[i]};
	if (ina_poll(fds, (nfds_t)local->count, 0) < 0)
		return -1;
	for (int i = 0; i < local->count; i++) {
		if (local->alive[i] >= 0 && fds[i].revents) {
			local->gone[i] = true;
			close_fd(&local->alive[i]); /* so that no later wait ends because of it */
		}
		if (local->gone[i])
			found = i;
	}
	return found;
}
