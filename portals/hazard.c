/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a closed interface is freed, and why under no caller.
 *
 * Calls find an interface in the process's table without a lock, and use it then.  A thread may be preempted in between
 * for any time, and others close the interface meanwhile.  nic_close() waits for threads that have come inside; it cannot know
 * which are about to.  So closed interfaces are kept, and freed by hazard pointers (Michael 2004):
 *
 *     caller   writes the address it has read into its own record (`names`, by interface number), and reads the table again.
 *              If the address still stands there the caller may use it; else it names the other one.
 *     closer   takes the interface out of the table, and then reads all records.  What one of them names stays.
 *
 * Both have a sequentially consistent fence between their write and their read: the one in hazard_name(), its partner in
 * is_named().  So either the closer sees the name, or the caller sees that the interface is gone from the table.
 *
 * Names stay when the call is over.  A caller that finds in the table what it has named already needs neither fence nor store: name
 * and fence were before, so a closer that takes the interface out after this look sees them.  That holds for the address alone,
 * also if it was freed and is another interface by now; a stale name is never followed.  The price is that a thread keeps
 * one closed interface of each number until it calls the next one of that number, or ends.
 *
 * SIGNAL HANDLERS that interrupt a call between look-up and use write the same record.  There is a name for each number, so
 * only a handler that finds another life of the same interface, which was closed and opened meanwhile, takes the interrupted call's
 * name away.  For this, and for threads made by clone() that share their creator's record, the CLOSED_KEPT latest closed
 * interfaces stay anyway, and all for CLOSED_REST_NS: a hole is left for a call within whose interruption handlers see more lives,
 * and for longer.
 *
 * RECORDS come from mappings that are never given back, because threads remember theirs; nothing here allocates
 * otherwise or locks, for handlers come here too.  `owner` is the thread's id (0: free, and without names), and above it a count
 * that grows whenever it changes.  No destructor tells of a thread's end, for that would have to
 * be registered, with memory, by each: the system is asked instead whether the thread lives.  A closer disregards names
 * of threads that have ended.  A thread that finds no free record frees theirs, and if these were few doubles the records; so
 * there are at most a few times as many as there ever were threads at a time, and asking costs each of them little.
 * A thread that has the id of one that ended takes that one's record, with its names, which do no harm.  So does a
 * handler that interrupts its thread while that takes one: both have the same then.
 *
 * If there is no memory for a record, nothing is freed any more until PtlFini (`nameless`).
 *
 * FORK.  The child has one thread, with a new id, and its record.  Those of the others are free once asked about.
 */
#include "portals/hazard.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/report.h"
#include "portals/process_table.h"

#define LOOKS       2 /* at interfaces that were named, at each close: more than are added */
#define BLOCK_FIRST 4096
#define FREE        0    /* no thread's id */
#define SWEPT       (-1) /* nor this: a thread is taking the names away */

struct block {
	struct block *next;
	uint64_t count;
	struct hazard records[];
};

static struct hazard no_record;
HOT_THREAD_LOCAL _Atomic(struct hazard *) hazard_own = &no_record;
static _Atomic(struct block *) blocks;
static _Atomic bool nameless; /* some thread uses what it could not name */

/* --- threads --- */

static pid_t thread_of(uint64_t owner)
{
	return (pid_t)(uint32_t)owner;
}

static uint64_t next_owner(uint64_t before, pid_t thread)
{
	return ((before >> 32) + 1) << 32 | (uint32_t)thread;
}

static bool has_ended(uint64_t owner)
{
	int before = errno;
	bool ended = thread_of(owner) > 0 && syscall(SYS_tgkill, getpid(), thread_of(owner), 0) != 0 && errno == ESRCH;

	errno = before;
	return ended;
}

/* --- records --- */

/* Walks all of them: start with *block = the newest and *at = 0. */
static struct hazard *next_record(struct block **block, uint64_t *at)
{
	while (*block && *at == (*block)->count) {
		*block = (*block)->next;
		*at = 0;
	}
	return *block ? &(*block)->records[(*at)++] : NULL;
}

static struct block *newest_block(void)
{
	/* Pairs with the release in add_block(). */
	return atomic_load_explicit(&blocks, memory_order_acquire);
}

/* False: it is not that owner's any more, not even if its thread's id was. */
static bool take(struct hazard *record, uint64_t owner, pid_t thread)
{
	/* Acquire pairs with the release in free_record(). */
	return atomic_compare_exchange_strong_explicit(&record->owner, &owner, next_owner(owner, thread),
						       memory_order_acq_rel, memory_order_relaxed);
}

/* One that belongs to `from`, or is free. */
static struct hazard *take_from(pid_t from, pid_t thread)
{
	struct block *block = newest_block();
	struct hazard *record;

	for (uint64_t at = 0; (record = next_record(&block, &at));) {
		uint64_t owner = atomic_load_explicit(&record->owner, memory_order_relaxed);

		if (thread_of(owner) == from && take(record, owner, thread))
			return record;
	}
	return NULL;
}

static void free_record(struct hazard *record)
{
	for (int i = 0; i < MAX_INTERFACES; i++)
		atomic_store_explicit(&record->names[i], NULL, memory_order_relaxed);
	uint64_t owner = atomic_load_explicit(&record->owner, memory_order_relaxed);

	/* Pairs with the acquire in take(): the next one's names come after. */
	atomic_store_explicit(&record->owner, next_owner(owner, FREE), memory_order_release);
}

/* Frees what threads that have ended left.  True: that was enough for a while. */
static bool sweep(void)
{
	struct block *block = newest_block();
	uint64_t all = 0, swept = 0;
	struct hazard *record;

	for (uint64_t at = 0; (record = next_record(&block, &at)); all++) {
		uint64_t owner = atomic_load_explicit(&record->owner, memory_order_relaxed);

		if (!has_ended(owner) || !take(record, owner, SWEPT))
			continue;
		free_record(record);
		swept++;
	}
	return swept > all / 4;
}

/* As many records as there are, but a page at least.  Others may do the same meanwhile. */
static void add_block(void)
{
	struct block *newest = newest_block();
	size_t bytes = newest ? 2 * (sizeof(*newest) + newest->count * sizeof(struct hazard)) : BLOCK_FIRST;
	struct block *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		return;
	block->next = newest;
	block->count = (bytes - sizeof(*block)) / sizeof(struct hazard);
	/* Publishes the records; pairs with the acquire in newest_block(). */
	while (!atomic_compare_exchange_weak_explicit(&blocks, &block->next, block, memory_order_acq_rel,
						      memory_order_acquire))
		;
}

static struct hazard *claim(void)
{
	pid_t us = (pid_t)syscall(SYS_gettid);
	struct hazard *record = take_from(us, us);

	if (!record && !(record = take_from(FREE, us))) {
		if (!sweep())
			add_block();
		record = take_from(FREE, us);
	}
	return record;
}

/*
 * This thread's, or NULL.  A thread's first call comes here, and gets the place for the texts of its reports on the way, as a rule: else
 * the first of its calls that finds the engine owned, on the path of a short message perhaps, would map it.
 */
static struct hazard *own_record(void)
{
	struct hazard *own = atomic_load_explicit(&hazard_own, memory_order_relaxed), *record;

	if (own != &no_record)
		return own;
	report_prepare();
	if (!(record = claim()))
		return NULL;
	/* A handler may have come between. */
	if (atomic_compare_exchange_strong_explicit(&hazard_own, &own, record, memory_order_relaxed,
						    memory_order_relaxed) ||
	    own == record)
		return record;
	free_record(record);
	return own;
}

static void name(struct hazard *own, uint32_t interface, struct nic *nic)
{
	/* Release: what was done with the interface named before is done; pairs with the acquire in is_named(). */
	if (own)
		atomic_store_explicit(&own->names[interface], nic, memory_order_release);
	else
		atomic_store_explicit(&nameless, true, memory_order_release);
}

struct nic *hazard_name(_Atomic(struct nic *) *table, uint32_t interface)
{
	_Atomic(struct nic *) *place = &table[interface];
	struct nic *nic = atomic_load_explicit(place, memory_order_acquire), *named = NULL;
	struct hazard *own = nic ? own_record() : NULL;

	while (nic != named && nic) {
		named = nic;
		name(own, interface, nic);
		atomic_thread_fence(memory_order_seq_cst); /* its partner is in is_named() */
		nic = atomic_load_explicit(place, memory_order_acquire);
	}
	return nic;
}

void hazard_forked(void)
{
	struct hazard *own = atomic_load_explicit(&hazard_own, memory_order_relaxed);

	if (own == &no_record)
		return;
	uint64_t owner = atomic_load_explicit(&own->owner, memory_order_relaxed);

	atomic_store_explicit(&own->owner, next_owner(owner, (pid_t)syscall(SYS_gettid)), memory_order_relaxed);
}

/* --- closed interfaces: all under the process's lock --- */

/* First in, first out. */
struct fifo {
	struct nic *head, *tail;
	unsigned count;
};

static struct fifo latest; /* CLOSED_KEPT, and whatever has not rested */
static struct fifo older;  /* named when last looked at */

static void append(struct fifo *fifo, struct nic *nic)
{
	nic->closed.next = NULL;
	*(fifo->head ? &fifo->tail->closed.next : &fifo->head) = nic;
	fifo->tail = nic;
	fifo->count++;
}

static struct nic *take_first(struct fifo *fifo)
{
	struct nic *nic = fifo->head;

	if (nic) {
		fifo->head = nic->closed.next;
		fifo->count--;
	}
	return nic;
}

/* It has been taken out of the table. */
static bool is_named(const struct nic *nic)
{
	atomic_thread_fence(memory_order_seq_cst); /* its partner is in hazard_name() */
	struct block *block = newest_block();
	struct hazard *record;

	if (atomic_load_explicit(&nameless, memory_order_acquire))
		return true;
	for (uint64_t at = 0; (record = next_record(&block, &at));)
		/* Acquire pairs with the release in name(). */
		if (atomic_load_explicit(&record->names[nic->index], memory_order_acquire) == nic &&
		    !has_ended(atomic_load_explicit(&record->owner, memory_order_relaxed)))
			return true;
	return false;
}

static void free_unnamed(struct nic *nic)
{
	if (is_named(nic))
		append(&older, nic);
	else
		nic_free(nic);
}

void hazard_retire(struct nic *nic)
{
	nic->closed.at = monotonic_ns();
	append(&latest, nic);
	for (int i = 0; i < LOOKS && older.head; i++)
		free_unnamed(take_first(&older));
	while (latest.count > CLOSED_KEPT && nic->closed.at - latest.head->closed.at >= CLOSED_REST_NS)
		free_unnamed(take_first(&latest));
}

static void free_all(struct fifo *fifo)
{
	struct nic *nic;

	while ((nic = take_first(fifo)))
		nic_free(nic);
}

void hazard_free_all(void)
{
	free_all(&older);
	free_all(&latest);
	atomic_store_explicit(&nameless, false, memory_order_relaxed);
}
