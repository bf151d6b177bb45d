/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids and addresses of a launched job's processes.
 *
 * There is no fence: every process publishes when it opens an interface, and others ask when they need it.  So PtlNIInit is not
 * collective, and a job may come up in any order.
 *
 * ADDRESSES.  A transport knows a peer as (nid, pid), the launcher as a rank.  A call of PtlGetRankId tells us
 * which rank that is; a greeting by a process whose rank is unknown does not: then all ranks are asked for their ids, once, some at a
 * time.  The NIC asks, and must not wait: a question goes to the launcher, its answer comes on one of the launcher's
 * threads, and the NIC, which repeats itself anyway, finds it the next time.  A launcher may keep a question until the
 * rank has said what is asked for (seen on one host), or answer at once that it has not (seen between hosts): then it
 * is asked again, less and less often.
 *
 * What was published once may be kept by launchers for ever, so an address has a key for each life of its interface.  An
 * id has not: a process that opens its interface again is expected to ask for the same pid.
 */
#include "portals/runtime/job.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arch.h"
#include "base/report.h"
#include "offload/handle.h"
#include "portals/runtime/launcher.h"
#include "transports/transport.h"

#define KEY_LENGTH      64
#define ID_LENGTH       8  /* nid and pid, least significant byte first */
#define ASKED_AT_A_TIME 16 /* ranks, by one call; each answer has the next one asked */
#define PAUSE_NS        5000000u
#define PAUSES          7 /* doublings, to 0.6 s */

struct question {
	enum { NOT_ASKED, ASKED, IN_VAIN, ANSWERED } state;
	unsigned pauses;
	uint64_t again_at;
	size_t length;
	uint8_t *answer;
};

struct member {
	struct book *book; /* since it was asked */
	struct question identity;
	ptl_process_id_t id;    /* once that is answered */
	struct question *where; /* ADDRESS_LIVES of them, since it was first looked for */
};
_Static_assert(sizeof(struct member) <= 64, "a rank that is never looked for costs at most 64 bytes");

struct book {
	struct address_book base;
	uint32_t interface;
	unsigned size, lives;   /* of the job; published by us */
	struct member *members; /* by rank */
	unsigned unknown;       /* members that have not told their ids */
	unsigned next;          /* to be asked for its id */
};

static struct book books[MAX_INTERFACES];

/* Of all of them.  Never held while the launcher is called: it answers on its own threads, or at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- ids --- */

static void name_id(uint32_t interface, char key[KEY_LENGTH])
{
	snprintf(key, KEY_LENGTH, "portals3.id.%u", interface);
}

static uint32_t number_at(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static ptl_process_id_t id_at(const uint8_t *bytes)
{
	return (ptl_process_id_t){.nid = number_at(bytes), .pid = number_at(bytes + 4)};
}

int job_publish_id(uint32_t interface, ptl_process_id_t id)
{
	const uint64_t both = (uint64_t)id.pid << 32 | id.nid;
	uint8_t bytes[ID_LENGTH];
	char key[KEY_LENGTH];

	for (int i = 0; i < ID_LENGTH; i++)
		bytes[i] = (uint8_t)(both >> 8 * i);
	name_id(interface, key);
	return launcher_publish(key, bytes, sizeof(bytes));
}

/* Under the lock. */
static void note_member_id(struct book *book, struct member *member, ptl_process_id_t id)
{
	if (member->identity.state != ANSWERED)
		book->unknown--;
	member->identity.state = ANSWERED;
	member->id = id;
}

int job_look_up_id(uint32_t interface, unsigned rank, unsigned timeout_s, ptl_process_id_t *id)
{
	struct book *book = &books[interface];
	uint8_t bytes[ID_LENGTH];
	char key[KEY_LENGTH];

	name_id(interface, key);
	int length = launcher_look_up(rank, key, timeout_s, bytes, sizeof(bytes));
	if (length != sizeof(bytes))
		return report_error(length < 0 ? length : -EPROTO,
				    "rank %u of the job has not published its identity (%s); has it called PtlNIInit?",
				    rank, strerror(length < 0 ? -length : EPROTO));
	*id = id_at(bytes);
	pthread_mutex_lock(&lock);
	if (rank < book->size)
		note_member_id(book, &book->members[rank], *id);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* --- questions --- */

static bool may_be_asked(const struct question *question, uint64_t now)
{
	return question->state == NOT_ASKED || (question->state == IN_VAIN && now >= question->again_at);
}

/* Unless it has been answered otherwise meanwhile, by job_look_up_id().  Under the lock. */
static void ask_later(struct question *question)
{
	if (question->state != ASKED)
		return;
	question->state = IN_VAIN;
	question->again_at = monotonic_ns() + ((uint64_t)PAUSE_NS << question->pauses);
	if (question->pauses < PAUSES)
		question->pauses++;
}

/* Outside the lock; the question is ASKED. */
static void put_question(struct question *question, unsigned rank, const char *key, launcher_answered *answered,
			 void *context)
{
	if (launcher_ask(rank, key, answered, context) == 0)
		return;
	pthread_mutex_lock(&lock);
	ask_later(question);
	pthread_mutex_unlock(&lock);
}

/* --- which rank is it? --- */

static void ask_some(struct book *book, unsigned count);

static void told_identity(void *context, const void *bytes, size_t length)
{
	struct member *member = context;

	pthread_mutex_lock(&lock);
	if (length == ID_LENGTH)
		note_member_id(member->book, member, id_at(bytes));
	else
		ask_later(&member->identity);
	pthread_mutex_unlock(&lock);
	ask_some(member->book, 1);
}

/* The next member to be asked for its id, ASKED from now on, or NULL.  Under the lock. */
static struct member *choose(struct book *book)
{
	uint64_t now = monotonic_ns();

	for (unsigned i = 0; book->unknown > 0 && i < book->size; i++) {
		struct member *member = &book->members[book->next];

		book->next = book->next + 1 < book->size ? book->next + 1 : 0;
		if (may_be_asked(&member->identity, now)) {
			member->identity.state = ASKED;
			member->book = book;
			return member;
		}
	}
	return NULL;
}

/* An answer given at once, from within, asks no more: a large job would take the whole stack, and the NIC's time. */
static void ask_some(struct book *book, unsigned count)
{
	static _Thread_local bool asking;
	char key[KEY_LENGTH];

	if (asking)
		return;
	asking = true;
	name_id(book->interface, key);
	while (count-- > 0) {
		pthread_mutex_lock(&lock);
		struct member *member = choose(book);
		pthread_mutex_unlock(&lock);
		if (!member)
			break;
		put_question(&member->identity, (unsigned)(member - book->members), key, told_identity, member);
	}
	asking = false;
}

/* Under the lock. */
static struct member *find_member(struct book *book, uint32_t nid, uint32_t pid)
{
	for (unsigned rank = 0; rank < book->size; rank++) {
		struct member *member = &book->members[rank];

		if (member->identity.state == ANSWERED && member->id.nid == nid && member->id.pid == pid)
			return member;
	}
	return NULL;
}

/* --- where is it? --- */

static void name_address(uint32_t interface, unsigned life, char key[KEY_LENGTH])
{
	snprintf(key, KEY_LENGTH, "portals3.address.%u.%u", interface, life);
}

static void said_where(void *context, const void *bytes, size_t length)
{
	struct question *question = context;
	uint8_t *answer = length > 0 && length <= ADDRESS_LENGTH_MAX ? malloc(length) : NULL;

	pthread_mutex_lock(&lock);
	if (answer) {
		question->answer = memcpy(answer, bytes, length);
		question->length = length;
		question->state = ANSWERED;
	} else {
		ask_later(question);
	}
	pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static int read_answer(const struct question *question, void *address)
{
	if (question->state != ANSWERED)
		return -EAGAIN;
	memcpy(address, question->answer, question->length);
	return (int)question->length;
}

/* NULL: no memory.  Under the lock. */
static struct question *where_is(struct member *member, unsigned attempt)
{
	if (!member->where)
		member->where = calloc(ADDRESS_LIVES, sizeof(*member->where));
	return member->where ? &member->where[attempt] : NULL;
}

static int look_up(struct address_book *base, uint32_t nid, uint32_t pid, unsigned attempt, void *address)
{
	struct book *book = (struct book *)base;
	bool ask = false;
	char key[KEY_LENGTH];

	pthread_mutex_lock(&lock);
	struct member *member = find_member(book, nid, pid);
	struct question *where = member ? where_is(member, attempt) : NULL;
	int rc = where ? read_answer(where, address) : -EAGAIN;
	if (!member && book->unknown == 0)
		rc = -EHOSTUNREACH;
	if (where && (ask = may_be_asked(where, monotonic_ns())))
		where->state = ASKED;
	pthread_mutex_unlock(&lock);
	if (rc == -EHOSTUNREACH)
		return report_kept(rc, "no process of the job is %u:%u", nid, pid);
	name_address(book->interface, attempt, key);
	if (ask)
		put_question(where, (unsigned)(member - book->members), key, said_where, where);
	else if (!member)
		ask_some(book, ASKED_AT_A_TIME);
	return rc;
}

static int publish(struct address_book *base, const void *address, size_t length)
{
	struct book *book = (struct book *)base;
	char key[KEY_LENGTH];

	if (book->lives == ADDRESS_LIVES)
		return report_error(-ENOSPC,
				    "interface %u has published its address %d times, which is as often as a job may",
				    book->interface, ADDRESS_LIVES);
	name_address(book->interface, book->lives, key);
	int rc = launcher_publish(key, address, length);
	return rc ? rc : (int)book->lives++;
}

struct address_book *job_addresses(uint32_t interface, unsigned size)
{
	struct book *book = &books[interface];

	pthread_mutex_lock(&lock);
	if (!book->members && (book->members = calloc(size, sizeof(*book->members)))) {
		book->base = (struct address_book){.publish = publish, .look_up = look_up};
		book->interface = interface;
		book->size = book->unknown = size;
	}
	bool made = book->members != NULL;
	pthread_mutex_unlock(&lock);
	return made ? &book->base : NULL;
}
