/* SPDX-License-Identifier: BSD-3-Clause */
#include "gauge.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "peers.h"
#include "slots.h"

#define BATCHES       10
#define MOST_NS       10000000u /* where the two hardly ever run at the same time it is given up */
#define LOOKS         1000      /* at the line for one at the clock */
#define BATCHES_LEAST 3         /* one or two may all have been interrupted */
#define BATCH         100

struct gauge {
	struct gauge_line *shared;
	struct peers place;
	pid_t partner;
	int doorbell;
};

/* Loads and stores pair with those in bounce(). */
void gauge_answer(struct gauge_line *shared)
{
	uint64_t value;

	while (!atomic_load_explicit(&shared->over.value, memory_order_relaxed))
		if ((value = atomic_load_explicit(&shared->line.value, memory_order_acquire)) & 1)
			atomic_store_explicit(&shared->line.value, value + 1, memory_order_release);
}

static void __attribute__((noreturn)) be_partner(struct gauge *gauge, int doorbell)
{
	char token;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	gauge->place.role = TARGET;
	peers_pin(&gauge->place);
	while (read(doorbell, &token, 1) == 1)
		gauge_answer(gauge->shared);
	_exit(0);
}

struct gauge *gauge_open(void)
{
	struct gauge *gauge = calloc(1, sizeof(*gauge));
	int ends[2];

	if (!gauge)
		fail("no memory for the gauge");
	peers_prepare(&gauge->place);
	if (gauge->place.cpu[INITIATOR] == gauge->place.cpu[TARGET]) {
		free(gauge);
		return NULL;
	}
	gauge->shared = mmap(NULL, sizeof(*gauge->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (gauge->shared == MAP_FAILED || pipe(ends))
		fail("cannot make what the gauge shares: %s", strerror(errno));
	gauge->partner = fork();
	if (gauge->partner < 0)
		fail("cannot fork: %s", strerror(errno));
	if (!gauge->partner) {
		close(ends[1]);
		be_partner(gauge, ends[0]);
	}
	close(ends[0]);
	gauge->doorbell = ends[1];
	return gauge;
}

void gauge_close(struct gauge *gauge)
{
	if (!gauge)
		return;
	close(gauge->doorbell);
	waitpid(gauge->partner, NULL, 0);
	munmap(gauge->shared, sizeof(*gauge->shared));
	free(gauge);
}

void gauge_pin(const struct gauge *gauge)
{
	if (gauge)
		peers_pin(&gauge->place);
}

/* There and back, BATCH times.  False: the partner has not been there for too long. */
static bool bounce(struct gauge_line *shared, uint64_t until)
{
	_Atomic uint64_t *line = &shared->line.value;

	for (int i = 0; i < BATCH; i++, shared->turn += 2) {
		atomic_store_explicit(line, shared->turn, memory_order_release);
		for (unsigned looks = 1; atomic_load_explicit(line, memory_order_acquire) != shared->turn + 1; looks++)
			if (looks % LOOKS == 0 && monotonic_ns() > until)
				return false;
	}
	return true;
}

void gauge_reset(struct gauge_line *shared)
{
	atomic_store(&shared->over.value, 0);
}

double gauge_ask(struct gauge_line *shared)
{
	double least = NAN;
	int batch = 0;

	shared->turn |= 1;
	uint64_t until = monotonic_ns() + MOST_NS;
	bool there = bounce(shared, until); /* wakes it */
	while (there && batch < BATCHES) {
		uint64_t start = monotonic_ns();
		there = bounce(shared, until);
		batch += there;
		if (there)
			least = fmin(least, (double)(monotonic_ns() - start) / (2 * BATCH));
	}
	shared->turn += 2;
	atomic_store(&shared->over.value, 1);
	return batch < BATCHES_LEAST ? NAN : least;
}

double gauge_distance(struct gauge *gauge)
{
	if (!gauge)
		return NAN;
	gauge_reset(gauge->shared);
	if (write(gauge->doorbell, "", 1) != 1)
		fail("the gauge's partner has died");
	return gauge_ask(gauge->shared);
}
