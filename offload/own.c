/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which thread owns the engine, which drives it, which sleeps, and why no wake-up is lost.
 *
 * OWNERSHIP.  One thread at a time owns an engine and everything in it: match lists, descriptors, peers, transports.
 * `own` is one word: a state, and the newest of the commands that wait for the owner (an intrusive stack; commands
 * live on the stacks of the threads that wait for them).  FREE implies that there is no command.
 *
 *     enter    FREE -> HOST by compare-and-swap (acquire: sees all that the last owner did); run the command; release.
 *              Owned by another: push the command by compare-and-swap (release: the owner sees the arguments) and
 *              wait until it is done.  The owner's state and the stack are the same word, so a command is pushed
 *              either before the owner looks for the last time, and then its release fails and it looks again, or
 *              after the word has become FREE, and then the push fails and the pusher owns.  Popping takes the whole
 *              stack by exchange, so a recycled command address (ABA) in a push is harmless: next is what head was.
 *     release  take and run commands until there is none, then HOST -> FREE by compare-and-swap (release).
 *     hand on  the owner leaves without passing through FREE: it tells the thread of the oldest command that it owns
 *              now, and commands taken but not run (`backlog`) pass on with everything else.
 *
 * An owner that releases serves others meanwhile, and they may come back faster than it can leave: after PTL_SPIN of this it
 * hands on.  It is the time that a thread waits awake because to sleep and be woken costs about as much, and handing on to
 * one that sleeps costs just that; so calls are held up for no longer, and at worst half of the time is lost.  A thread
 * that wants the engine itself, and not something done in it, pushes a command without a function, a claim: the owner hands on when
 * its turn comes (fork, the end, a dedicated NIC thread that has lost it so).
 *
 * Critical sections are bounded: a drive handles at most POLL_BUDGET arrivals of each transport.  No thread blocks while
 * owning.  A thread that is inside finds itself there again only in a signal handler: that call fails (-EDEADLK).
 *
 * DRIVING.  Something must poll the transports.  In `shared` mode it is a thread with nothing better to do: hosts that
 * wait in PtlEQWait or poll with PtlEQGet, else the NIC thread.  In `dedicated` mode the NIC thread takes ownership
 * once and keeps it; hosts hand it commands and read events.  In `host` mode there is no NIC thread.
 *
 * SLEEPING.  A transport can be slept on after arm() has said, under ownership, that nothing is pending; then its
 * descriptor becomes readable for whatever comes.  One role sleeps for the engine at a time:
 *     - a host in PtlEQWait (`sleeper` = HOST), the first that blocks; others wait on private futexes
 *       for their events or for the role (wait.c);
 *     - else the NIC thread (`nic_asleep`).
 * The NIC thread may still be asleep when a host takes the role; then both wake for an arrival, and the NIC thread
 * parks.  The two have a doorbell each, because a wake-up must reach the one it is meant for.  They use poll() on the
 * doorbell and the transports' descriptors: an epoll object, in the kernel's way even while all threads poll, costs
 * every message of tcp;ofi_rxm another walk through nested wait queues.  No wake-up is lost:
 *     (1) arrivals: arm() and the decision to sleep are one critical section.  A thread that drives after it, while the
 *         sleeper is still in poll(), may consume what the descriptor announced and leave the transport unarmed; it
 *         therefore arms again before it releases, and wakes the sleeper if that fails (rearm_sleeper()).  The same
 *         goes for what we send to ourselves, which no descriptor announces, and for a send that has taken in what others
 *         sent (transport.kept); and a transport that attaches wakes both, because neither sleeper watches its descriptor yet.
 *     (2) timers: each sleeper's `..._sleeps_until` is what it believes; a thread that sets an earlier timer wakes it.
 *         Timers that arm() finds due may post events, so it then says "drive again".
 *     (3) commands: the engine is FREE while a thread sleeps for it, so callers run their commands themselves.  Only
 *         in dedicated mode the sleeping NIC thread still owns: state SLEEPING.  It enters it by compare-and-swap
 *         from NIC_THREAD without commands, so either a push came first and the thread does not sleep, or the pusher
 *         finds SLEEPING, changes it to NIC_THREAD with its command, and wakes: exactly one wake-up for one sleep.
 *     (4) events: a waiter registers under ownership, after looking at its queues; events are posted under
 *         ownership.  So either it sees the event, or the poster sees the waiter.
 *
 * LEASES.  While hosts drive, the NIC thread would only be in their way: on two cores every wake-up of it costs the
 * host 30 us.  It parks and looks after PTL_NIC_TICK whether hosts still drive: no thread inside PtlEQWait and no drive
 * since the last look (asked a second time after LEASE_GLANCE_NS, because a host that polls with PtlEQGet leaves no
 * other trace) means that they compute, and it takes over.  That bounds how long a message waits for a host that has
 * just begun to compute.
 *
 * It need not wait so long on a transport with a late doorbell, whose descriptor becomes readable for what has not been
 * looked at for a while (limits.late_doorbell): while parked the NIC thread watches the descriptors of these, and if
 * one becomes readable with no host inside PtlEQWait it takes over at once.  (A host may have driven meanwhile and emptied the descriptor:
 * then there is nothing to do, no harm.)  If a host is inside, it will look, and the thread watches again a tick
 * later.  Late doorbells do not become a storm: a take-over that a host ended within a tick was in vain, and for twice
 * as many ticks as after the last such one, up to DEAF_TICKS, the thread does not listen.
 *
 * If a host sleeps for the engine, late doorbells are for that host, and the ticks would only burn power: after
 * DEEP_TICKS of them the thread parks without a timer (lease = DEEP), watching nothing but its doorbell and an alarm.  The host that
 * ends that sleep sets the alarm, to a tick from then, when the thread has to look: woken at once it would take the core from that host,
 * which has a message to handle, only to sleep for a tick.  The thread stores DEEP, then looks at `sleeper`; the host stores
 * `sleeper` = NONE, then looks at `lease`; a sequentially consistent fence between store and load on both sides makes it
 * impossible that both see the old value.  An alarm stays until it is read, so it does not matter whether it is set before or
 * after the thread sleeps on it; one that was set for a sleep that did not come to be ends the next one too soon, once.
 *
 * A drive and arm() are in drive.c, the NIC thread in thread.c, waiting hosts in wait.c and waiters.c, doorbells in doorbell.c.  Models of the
 * ownership word and of the hand-over between sleepers, with store buffers, are in tests/spin.
 */
#include "offload/nic.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/hot.h"
#include "base/report.h"
#include "base/tsan.h"
#include "offload/doorbell.h"
#include "offload/drive.h"
#include "offload/futex.h"
#include "offload/operation.h"
#include "offload/own.h"
#include "offload/peer/peer.h"
#include "offload/waiters.h"

#define REARM_DRIVES 4  /* drives a sleeping NIC thread stays asleep for; then hosts are active */
#define WAKE_BATCH   16 /* futex words gathered before they are woken */

struct command {
	_Alignas(CACHE_LINE) struct command *next;
	nic_command *run; /* NULL: a claim */
	void *arguments;
	int result;
	struct report_texts *texts; /* the caller's: where the command reports */
	enum nic_owner owner;       /* what the caller owns as, should it be told to */
	_Atomic uint32_t state;     /* COMMAND_*; a futex */
};

enum {
	COMMAND_PENDING,
	COMMAND_SLEEPER,
	COMMAND_DONE,
	COMMAND_GRANTED /* not done: its thread is the owner now */
};

_Static_assert(_Alignof(struct command) > NIC_OWNER_MASK, "a command's address leaves room for the state");

/* The engine this thread is inside of, set before it takes ownership: a signal handler must not find less than that. */
static HOT_THREAD_LOCAL const struct nic *volatile inside;

/* Sees to it that the thread that sleeps for the engine still may: see (1) and (2) above.  True: it has to be woken. */
static bool rearm_sleeper(struct nic *nic)
{
	bool host = atomic_load_explicit(&nic->sleep.sleeper, memory_order_relaxed) == SLEEPER_HOST;
	uint64_t believed = host ? nic->drive.host_sleeps_until : nic->drive.nic_sleeps_until, until;

	if (!host && !atomic_load_explicit(&nic->sleep.nic_asleep, memory_order_relaxed))
		return false;
	if (!nic->drive.needs_rearm)
		return nic->drive.timer < believed;
	if (!host && ++nic->drive.past_sleeper > REARM_DRIVES)
		return true;
	return nic_arm(nic, &until) || until < believed;
}

/* --- ownership --- */

/* The command's thread goes on, and the command is gone. */
static void tell(struct command *command, uint32_t news)
{
	_Atomic uint32_t *state = &command->state;

	tsan_release(command);
	/* Publishes the result, or the engine; pairs with the acquire loads in await(). */
	if (atomic_exchange_explicit(state, news, memory_order_acq_rel) == COMMAND_SLEEPER)
		futex_wake(state, 1);
}

static struct command *reverse(struct command *newest)
{
	struct command *oldest = NULL;

	while (newest) {
		struct command *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	return oldest;
}

static struct command *commands_of(uintptr_t word)
{
	return (struct command *)(word & ~(uintptr_t)NIC_OWNER_MASK);
}

/* The oldest command, or NULL; those that have come meanwhile are taken if there is no older one.  Owner only. */
static struct command *oldest_command(struct nic *nic, enum nic_owner owner)
{
	if (!nic->backlog && commands_of(atomic_load_explicit(&nic->own, memory_order_relaxed)))
		/* Takes them all; acquire pairs with the release of the push. */
		nic->backlog = reverse(commands_of(atomic_exchange_explicit(&nic->own, owner, memory_order_acquire)));
	return nic->backlog;
}

/* There is a command.  A thread that pushes one meanwhile leaves the state as it is. */
static void hand_on(struct nic *nic, enum nic_owner owner)
{
	struct command *successor = oldest_command(nic, owner);

	nic->backlog = successor->next;
	if (successor->owner != owner)
		atomic_fetch_add_explicit(&nic->own, (uintptr_t)successor->owner - (uintptr_t)owner,
					  memory_order_relaxed);
	tell(successor, COMMAND_GRANTED);
}

static void serve(struct nic *nic, struct command *command)
{
	nic->backlog = command->next;
	struct report_texts *own = report_into(command->texts);

	tsan_acquire(command);
	command->result = command->run(nic, command->arguments);
	report_into(own);
	tell(command, COMMAND_DONE);
	nic->counters.commands++;
}

bool own_wanted(const struct nic *nic)
{
	return nic->backlog || commands_of(atomic_load_explicit(&nic->own, memory_order_relaxed));
}

int own_serve(struct nic *nic, enum nic_owner owner)
{
	struct command *command;
	int count = 0;

	if (likely(!own_wanted(nic)))
		return 0;
	UNCANCELLED; /* the caller may have forbidden it in its own thread only */
	oldest_command(nic, owner);
	for (; (command = nic->backlog); count++) {
		if (!command->run) {
			hand_on(nic, owner);
			return -EOWNERDEAD;
		}
		serve(nic, command);
	}
	return count;
}

/* Taking and giving back ownership is part of the messages that were handled in between. */
static void note_released(struct nic *nic, uint64_t start)
{
	if (likely(start == 0) || nic->own_times.ticks == 0 ||
	    atomic_load_explicit(&nic->timing.messages, memory_order_relaxed) == nic->own_times.messages)
		return;
	uint64_t ticks = cycle_clock() - start;

	if (pthread_equal(nic->own_times.thread, pthread_self()))
		timing_record_span(&nic->timing, PTL_STAGE_OWN, nic->own_times.start,
				   nic->own_times.start + nic->own_times.ticks);
	else
		timing_record(&nic->timing, PTL_STAGE_OWN, nic->own_times.ticks);
	timing_record_span(&nic->timing, PTL_STAGE_RELEASE, start, start + ticks);
	timing_add_outside(&nic->timing, ticks + nic->own_times.ticks);
	nic->own_times.ticks = 0;
}

static inline bool take(struct nic *nic, enum nic_owner owner)
{
	uintptr_t free = NIC_FREE;

	/* Acquire pairs with the release in own_give_back(). */
	if (atomic_load_explicit(&nic->own, memory_order_relaxed) != NIC_FREE ||
	    !atomic_compare_exchange_strong_explicit(&nic->own, &free, owner, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	tsan_acquire(&nic->own);
	nic->drive.needs_rearm = false;
	return true;
}

/* Apart: clocks that are off keep nothing over the attempt. */
static __attribute__((noinline, cold)) bool take_timed(struct nic *nic, enum nic_owner owner)
{
	uint64_t start = timing_start(&nic->timing);

	if (!take(nic, owner))
		return false;
	if (start != 0) {
		nic->own_times.ticks = cycle_clock() - start;
		nic->own_times.start = start;
		nic->own_times.thread = pthread_self();
		nic->own_times.messages = atomic_load_explicit(&nic->timing.messages, memory_order_relaxed);
	}
	return true;
}

bool own_try(struct nic *nic, enum nic_owner owner)
{
	return timing_on(&nic->timing) ? take_timed(nic, owner) : take(nic, owner);
}

static void wake(_Atomic uint32_t **words, int count)
{
	for (int i = 0; i < count; i++)
		futex_wake(words[i], 1);
}

void own_wake_waiters(struct nic *nic)
{
	_Atomic uint32_t *words[WAKE_BATCH];

	if (nic->waiting.first)
		wake(words, waiters_collect(nic, words, WAKE_BATCH));
}

/* Serves the threads that wait, but not for ever.  False: another thread owns now. */
static bool serve_patiently(struct nic *nic, enum nic_owner owner, uint64_t *until)
{
	uint64_t now = monotonic_ns();

	if (*until == 0)
		*until = now + nic->settings->spin;
	else if (now >= *until) {
		hand_on(nic, owner);
		return false;
	}
	return own_serve(nic, owner) >= 0;
}

/* No thread wants anything of us: none has pushed a command, sleeps for the engine, or waits to be woken. */
static inline bool nothing_asked(const struct nic *nic)
{
	return !own_wanted(nic) && !nic->waiting.first &&
	       atomic_load_explicit(&nic->sleep.sleeper, memory_order_relaxed) != SLEEPER_HOST &&
	       !atomic_load_explicit(&nic->sleep.nic_asleep, memory_order_relaxed) && !timing_on(&nic->timing);
}

/* Release pairs with the acquire of the next owner; fails if a command came. */
static inline bool let_go(struct nic *nic, enum nic_owner owner)
{
	uintptr_t expected = owner;

	tsan_release(&nic->own);
	return atomic_compare_exchange_strong_explicit(&nic->own, &expected, NIC_FREE, memory_order_release,
						       memory_order_relaxed);
}

static __attribute__((noinline)) void settle_and_give_back(struct nic *nic, enum nic_owner owner)
{
	_Atomic uint32_t *words[WAKE_BATCH];
	uint64_t start = timing_start(&nic->timing), until = 0;
	int count = 0;

	do {
		if (unlikely(own_wanted(nic)) && !serve_patiently(nic, owner, &until))
			break; /* the present owner settles the rest */
		bool wake_sleeper = rearm_sleeper(nic);
		while (nic->waiting.first &&
		       (count += waiters_collect(nic, words + count, WAKE_BATCH - count)) == WAKE_BATCH) {
			wake(words, count);
			count = 0;
		}
		if (wake_sleeper)
			nic_wake(nic);
		note_released(nic, start);
	} while (!let_go(nic, owner));
	wake(words, count);
}

void own_give_back(struct nic *nic, enum nic_owner owner)
{
	if (unlikely(!nothing_asked(nic) || !let_go(nic, owner)))
		settle_and_give_back(nic, owner);
}

bool nic_inside(void)
{
	return inside != NULL;
}

bool nic_try_own(struct nic *nic)
{
	if (unlikely(inside != NULL))
		return false;
	inside = nic;
	if (own_try(nic, NIC_HOST))
		return true;
	inside = NULL;
	return false;
}

void nic_release(struct nic *nic)
{
	own_give_back(nic, NIC_HOST);
	inside = NULL;
}

/* Hands the command to the owner, which becomes `owner`.  False: there is none any more, or the engine is dead. */
static bool push(struct nic *nic, struct command *command, uintptr_t word, enum nic_owner owner)
{
	command->next = commands_of(word);
	tsan_release(command);
	/* Release: the owner sees the command's fields; pairs with the exchange in oldest_command(). */
	return atomic_compare_exchange_strong_explicit(&nic->own, &word, (uintptr_t)command | owner,
						       memory_order_release, memory_order_relaxed);
}

/*
 * As push(), to an owner that sleeps.  Something else may wake it before we do, and everything may end meanwhile: the
 * closer waits for the threads that have announced that they will write (nic_reap).  Announced before the command is handed
 * over, so a thread that has seen that, as the closer has by its turn, sees the announcement.
 */
static bool push_and_wake(struct nic *nic, struct command *command, uintptr_t word)
{
	atomic_fetch_add_explicit(&nic->doorbells.writers, 1, memory_order_relaxed);
	bool pushed = push(nic, command, word, NIC_THREAD);

	if (pushed)
		nic_write_doorbell(nic, nic->doorbells.nic);
	atomic_fetch_sub_explicit(&nic->doorbells.writers, 1, memory_order_release);
	return pushed;
}

static bool hand_over(struct nic *nic, struct command *command, uintptr_t word)
{
	enum nic_owner owner = word & NIC_OWNER_MASK;

	return owner == NIC_SLEEPING ? push_and_wake(nic, command, word) : push(nic, command, word, owner);
}

/* COMMAND_DONE or COMMAND_GRANTED. */
static uint32_t await(struct command *command)
{
	/* An owner on another core is done in a few hundred nanoseconds; one that was descheduled on this core needs
	 * the core; after that it is something long. */
	enum { PAUSES = 64, YIELDS = 50 };
	uint32_t state;

	for (int i = 0; i < PAUSES + YIELDS; i++) {
		if ((state = atomic_load_explicit(&command->state, memory_order_acquire)) >= COMMAND_DONE)
			return state;
		if (i < PAUSES)
			cpu_pause();
		else
			sched_yield();
	}
	state = COMMAND_PENDING;
	atomic_compare_exchange_strong_explicit(&command->state, &state, COMMAND_SLEEPER, memory_order_acq_rel,
						memory_order_acquire);
	while ((state = atomic_load_explicit(&command->state, memory_order_acquire)) < COMMAND_DONE)
		futex_wait(&command->state, COMMAND_SLEEPER, NIC_NEVER);
	return state;
}

/* COMMAND_DONE; COMMAND_GRANTED: not done, but the calling thread owns the engine; -ESHUTDOWN: it is dead. */
static int submit(struct nic *nic, struct command *command)
{
	for (;;) {
		uintptr_t word = atomic_load_explicit(&nic->own, memory_order_relaxed);

		if (word == NIC_DEAD)
			return -ESHUTDOWN;
		if (word == NIC_FREE) {
			if (own_try(nic, command->owner))
				return COMMAND_GRANTED;
		} else if (hand_over(nic, command, word)) {
			int state = (int)await(command);

			tsan_acquire(command);
			return state;
		}
	}
}

bool own_take(struct nic *nic, enum nic_owner owner)
{
	struct command claim = {.owner = owner};

	return submit(nic, &claim) == COMMAND_GRANTED;
}

static int run_and_release(struct nic *nic, nic_command *run, void *arguments)
{
	int rc = run(nic, arguments);

	own_give_back(nic, NIC_HOST);
	return rc;
}

/* Apart, because a command is aligned to a line, which costs its caller's every call. */
static __attribute__((noinline)) int call_owner(struct nic *nic, nic_command *run, void *arguments)
{
	struct command command = {.run = run, .arguments = arguments, .texts = report_texts(), .owner = NIC_HOST};

	switch (submit(nic, &command)) {
	case COMMAND_DONE:
		return command.result;
	case COMMAND_GRANTED:
		return run_and_release(nic, run, arguments);
	default:
		return report_error(-ESHUTDOWN, "interface %u is closed", nic->index);
	}
}

/*
 * The thread whose thread-local storage we run on: mostly our own.  The C library keeps its id there and tells it only as
 * part of the clock of the thread's CPU time (clock_getcpuclockid(3): the complement, above three bits of flags).
 */
static pid_t storage_owner(void)
{
	clockid_t clock;

	return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (pid_t) ~(clock >> 3) : 0;
}

int nic_refuse_reentry(void)
{
	static _Atomic bool told;
	const pid_t owner = storage_owner(), us = (pid_t)syscall(SYS_gettid);

	if (owner == us)
		return report_error(-EDEADLK,
				    "a Portals call interrupted another one of the same thread, or of one made by "
				    "clone() without CLONE_SETTLS, which shares its storage: use pthread_create()");
	report_error(
		-EDEADLK,
		"thread %d was made by clone() without CLONE_SETTLS and shares the storage of thread %d: it cannot "
		"call Portals while that one does, as little as a signal handler could: use pthread_create()",
		us, owner);
	if (!atomic_exchange_explicit(&told, true, memory_order_relaxed))
		report(LOG_ERROR, "%s", report_last_error());
	return -EDEADLK;
}

int nic_call(struct nic *nic, nic_command *run, void *arguments)
{
	int result;

	if (unlikely(inside != NULL))
		return nic_refuse_reentry();
	inside = nic;
	if (likely(own_try(nic, NIC_HOST)))
		result = run_and_release(nic, run, arguments);
	else
		result = call_owner(nic, run, arguments);
	inside = NULL;
	return result;
}

void nic_hold(struct nic *nic)
{
	inside = nic;
	own_take(nic, NIC_HOST);
}

void nic_let_go(struct nic *nic)
{
	own_give_back(nic, NIC_HOST);
}

bool nic_enter(const struct nic *nic)
{
	if (inside)
		return false;
	inside = nic;
	return true;
}

void nic_leave(void)
{
	inside = NULL;
}

void nic_reap(struct nic *nic)
{
	uintptr_t word = NIC_HOST;

	/* `closing` is set and every sleeper was woken: waiters leave, and new ones do not stay. */
	while (atomic_load_explicit(&nic->hosts.waiting, memory_order_acquire) > 0)
		sched_yield();
	/* In turn: others may call without end. */
	inside = nic;
	own_take(nic, NIC_HOST);
	while (own_serve(nic, NIC_HOST) ||
	       !atomic_compare_exchange_strong_explicit(&nic->own, &word, NIC_DEAD, memory_order_acq_rel,
							memory_order_relaxed))
		word = NIC_HOST;
	while (atomic_load_explicit(&nic->doorbells.writers, memory_order_acquire) > 0)
		sched_yield();
	inside = NULL;
}
