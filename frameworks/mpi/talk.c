/* SPDX-License-Identifier: Apache-2.0 */
/* A single thread sends and receives all messages, so no other thread has to wait for MPI. */
#include "common/interrupted.h"
#include "common/thread.h"
#include "talk.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "op.h"
#include "queue.h"
#include "world.h"

/* How often the thread looks at the counterparts: while one is being opened, and otherwise. */
#define HURRIED_MS 1
#define IDLE_MS    250

enum kind { HERE, OPEN, TRIED, DECIDED, WAITING, ASTRAY };

struct word {
	uint64_t cookie; /* of the counterpart */
	enum kind kind;
	enum ina_status status;     /* TRIED, DECIDED */
	struct ina_mpi_place place; /* WAITING, ASTRAY: of the call in which a rank waits */
	int rank;                   /* the rank that waits */
	char text[INA_ERROR_SIZE];  /* the reason of a failure */
};

struct ina_mpi_counterparts ina_mpi_counterparts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_t thread;
static bool is_running;
static atomic_bool is_ending;
static int bell = -1;

static void hear(struct ina_mpi_counterpart *counterpart, const struct word *word);

/*
 * Called without the counterpart's lock, since a message to this rank itself is handled directly.
 */
static void say(struct ina_mpi_counterpart *counterpart, int to, struct word *word)
{
	word->cookie = counterpart->cookie;
	if (to == counterpart->rank)
		hear(counterpart, word);
	else
		PMPI_Send(word, sizeof(*word), MPI_BYTE, counterpart->world_ranks[to], 0,
		          ina_mpi_world.talk);
}

static void say_to_all(struct ina_mpi_counterpart *counterpart, struct word *word)
{
	for (int r = 0; r < counterpart->ranks; r++)
		say(counterpart, r, word);
}

static void say_to_successor(struct ina_mpi_counterpart *counterpart, struct word *word)
{
	say(counterpart, (counterpart->rank + 1) % counterpart->ranks, word);
}

/* Called with the lock held. True if this rank used MPI for this call or an earlier one. */
static bool went_to_mpi(const struct ina_mpi_counterpart *counterpart,
                        const struct ina_mpi_place *place)
{
	return (counterpart->place.calls >= place->calls || counterpart->is_closing) &&
	       counterpart->place.by_ina < place->by_ina;
}

static void hear_tried(struct ina_mpi_counterpart *counterpart, const struct word *word)
{
	struct word decided = {.kind = DECIDED};

	if (word->status != INA_OK && counterpart->worst == INA_OK) {
		counterpart->worst = word->status;
		snprintf(counterpart->reason, sizeof(counterpart->reason), "%s", word->text);
	}
	if (++counterpart->told < counterpart->ranks)
		return;
	decided.status = counterpart->worst;
	if (decided.status != INA_OK)
		ina_mpi_say_left(counterpart->reason);
	say_to_all(counterpart, &decided);
}

static void hear_waiting(struct ina_mpi_counterpart *counterpart, const struct word *word)
{
	struct word astray = {.kind = ASTRAY, .place = word->place};
	bool went;

	pthread_mutex_lock(&counterpart->lock);
	went = went_to_mpi(counterpart, &word->place) && !counterpart->is_astray;
	pthread_mutex_unlock(&counterpart->lock);
	if (!went)
		return;
	snprintf(astray.text, sizeof(astray.text),
	         "rank %d waits in collective %" PRIu64
	         " of the communicator, but rank %d used MPI for it or for an earlier one: do "
	         "their sizes differ across INA_MPI_THRESHOLD?",
	         word->rank, word->place.calls, counterpart->rank);
	say_to_all(counterpart, &astray);
}

static void hear_phase(struct ina_mpi_counterpart *counterpart, enum ina_mpi_phase phase, bool left)
{
	pthread_mutex_lock(&counterpart->lock);
	counterpart->phase = phase;
	counterpart->is_left = left && !counterpart->is_astray;
	pthread_cond_broadcast(&counterpart->wake);
	pthread_mutex_unlock(&counterpart->lock);
}

static void hear_astray(struct ina_mpi_counterpart *counterpart, const struct word *word)
{
	pthread_mutex_lock(&counterpart->lock);
	if (!counterpart->is_astray) {
		counterpart->astray = word->place;
		counterpart->is_stray = went_to_mpi(counterpart, &word->place);
	}
	ina_mpi_queue_lead_astray(counterpart, word->text);
	pthread_mutex_unlock(&counterpart->lock);
}

static void hear(struct ina_mpi_counterpart *counterpart, const struct word *word)
{
	struct word open = {.kind = OPEN};

	switch (word->kind) {
	case HERE:
		if (++counterpart->here == counterpart->ranks)
			say_to_all(counterpart, &open);
		break;
	case OPEN:
		hear_phase(counterpart, INA_MPI_OPENING, false);
		break;
	case TRIED:
		hear_tried(counterpart, word);
		break;
	case DECIDED:
		hear_phase(counterpart, INA_MPI_DECIDED, word->status != INA_OK);
		break;
	case WAITING:
		hear_waiting(counterpart, word);
		break;
	case ASTRAY:
		hear_astray(counterpart, word);
		break;
	}
}

/*
 * Handles all messages that have arrived. A message for an unknown counterpart is dropped: this
 * rank has made no call on that counterpart, and the sender repeats the message.
 */
static void hear_all(void)
{
	const struct ina_mpi_world *world = &ina_mpi_world;
	MPI_Status status;
	int found;

	while (PMPI_Iprobe(MPI_ANY_SOURCE, 0, world->talk, &found, &status) == MPI_SUCCESS &&
	       found) {
		struct ina_mpi_counterpart *counterpart = ina_mpi_counterparts.first;
		struct word word;

		PMPI_Recv(&word, sizeof(word), MPI_BYTE, status.MPI_SOURCE, 0, world->talk,
		          MPI_STATUS_IGNORE);
		while (counterpart &&
		       (counterpart->why != INA_MPI_BY_INA || counterpart->cookie != word.cookie))
			counterpart = counterpart->next;
		if (counterpart)
			hear(counterpart, &word);
	}
}

bool ina_mpi_talk_knows(struct ina_mpi_counterpart *counterpart)
{
	int done = 1;

	if (counterpart->cookie_comes != MPI_REQUEST_NULL)
		PMPI_Test(&counterpart->cookie_comes, &done, MPI_STATUS_IGNORE);
	return done;
}

/* Called with the lock held. If this rank has reached a step that rank 0 must know, fills *word. */
static bool has_come_further(struct ina_mpi_counterpart *counterpart, struct word *word)
{
	if (counterpart->is_astray)
		return false;
	if (counterpart->phase == INA_MPI_BEGUN) {
		word->kind = HERE;
		counterpart->phase = INA_MPI_HERE;
		return true;
	}
	if (counterpart->phase == INA_MPI_TRIED) {
		word->kind = TRIED;
		word->status = counterpart->status;
		memcpy(word->text, counterpart->text, sizeof(word->text));
		counterpart->phase = INA_MPI_TOLD;
		return true;
	}
	return false;
}

/* Called with the lock held. If this rank has waited long enough to report it, fills *word. */
static bool has_waited(struct ina_mpi_counterpart *counterpart, int64_t now_ms, struct word *word)
{
	const struct ina_mpi_op *op = counterpart->first;
	uint64_t awaited = 0;

	if (op && !counterpart->is_left)
		awaited = op->plan.place.by_ina;
	if (counterpart->awaited != awaited) {
		counterpart->awaited = awaited;
		counterpart->since_ms = now_ms;
	}
	if ((awaited == 0 && !counterpart->is_astray) ||
	    now_ms - counterpart->since_ms < INA_MPI_PATIENCE_MS)
		return false;
	counterpart->since_ms = now_ms;
	word->rank = counterpart->rank;
	if (counterpart->is_astray) {
		word->kind = ASTRAY;
		word->place = counterpart->astray;
		memcpy(word->text, counterpart->text, sizeof(word->text));
	} else {
		word->kind = WAITING;
		word->place = op->plan.place;
	}
	return true;
}

/*
 * Called with the lock held. For a call for which others used libina, this rank used MPI. If it
 * waits for them there, that call cannot return an error, so this ends the program.
 */
static void end_if_stuck(struct ina_mpi_counterpart *counterpart, int64_t now_ms)
{
	struct ina_mpi_world *world = &ina_mpi_world;
	unsigned int entered = atomic_load(&world->entered);

	if (!counterpart->is_stray || atomic_load(&world->inside) == 0 ||
	    counterpart->seen_inside != entered) {
		counterpart->seen_inside = entered;
		counterpart->inside_since_ms = now_ms;
	} else if (now_ms - counterpart->inside_since_ms >= INA_MPI_PATIENCE_MS) {
		fprintf(stderr, "ina-mpi: rank %d waits in MPI forever: %s\n", world->rank,
		        counterpart->text);
		PMPI_Abort(counterpart->mpi, EXIT_FAILURE);
	}
}

/* Returns whether the counterpart should be looked at again soon. */
static bool look_at(struct ina_mpi_counterpart *counterpart)
{
	struct word further = {0};
	struct word waiting = {0};
	int64_t now_ms = ina_now_ms();
	bool has_further, has_waiting, is_hurried;

	pthread_mutex_lock(&counterpart->lock);
	if (counterpart->why != INA_MPI_BY_INA || !ina_mpi_talk_knows(counterpart)) {
		is_hurried = counterpart->phase != INA_MPI_UNBEGUN;
		pthread_mutex_unlock(&counterpart->lock);
		return is_hurried;
	}
	has_further = has_come_further(counterpart, &further);
	has_waiting = has_waited(counterpart, now_ms, &waiting);
	end_if_stuck(counterpart, now_ms);
	is_hurried = counterpart->phase != INA_MPI_UNBEGUN && !counterpart->is_opened;
	pthread_mutex_unlock(&counterpart->lock);
	if (has_further)
		say(counterpart, 0, &further);
	if (has_waiting)
		say_to_successor(counterpart, &waiting);
	return is_hurried;
}

static void *run(void *context)
{
	(void)context;
	while (!atomic_load(&is_ending)) {
		struct pollfd fd = {.fd = bell, .events = POLLIN};
		bool is_hurried = false;
		uint64_t rung;

		pthread_mutex_lock(&ina_mpi_counterparts.lock);
		for (struct ina_mpi_counterpart *c = ina_mpi_counterparts.first; c; c = c->next)
			is_hurried |= look_at(c);
		hear_all();
		pthread_mutex_unlock(&ina_mpi_counterparts.lock);
		if (ina_poll(&fd, 1, is_hurried ? HURRIED_MS : IDLE_MS) > 0)
			(void)!read(bell, &rung, sizeof(rung));
	}
	return NULL;
}

void ina_mpi_talk_hurry(void)
{
	const uint64_t one = 1;

	(void)!write(bell, &one, sizeof(one));
}

bool ina_mpi_talk_begin(void)
{
	bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell < 0)
		return false;
	is_running = ina_thread_start(&thread, run, NULL) == 0;
	return is_running;
}

void ina_mpi_talk_end(void)
{
	if (!is_running)
		return;
	atomic_store(&is_ending, true);
	ina_mpi_talk_hurry();
	pthread_join(thread, NULL);
	close(bell);
	is_running = false;
}
