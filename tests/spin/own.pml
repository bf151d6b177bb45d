/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ownership word of offload/own.c: two hosts that call, the NIC thread, and a thread that closes the interface.
 *
 *     (nothing)       shared mode: the NIC thread takes ownership now and then, as hosts do
 *     -DDEDICATED     the NIC thread keeps ownership, and sleeps with it (SLEEPING)
 *     -DCLAIM         host 1 needs ownership itself, as fork does: a claim
 *     -DMUTANT_...    one error, see the list in run.sh; verification has to fail
 *
 * Claimed: one owner at a time; every command runs exactly once, on the arguments its caller wrote and on the engine
 * as the previous owner left it; every caller returns, with its own result or because the interface is closed (no
 * invalid end state: all processes end); FREE never comes with a command; the NIC thread never falls asleep over a
 * command, and is woken at most once for each sleep.  An owner that gives back serves the waiting commands at most PATIENCE
 * times; after the first time (PTL_SPIN may be over at any moment) it may hand ownership on, and in the end it does.
 *
 * Memory.  Stores are buffered in their thread and flushed at any time, in any order: weaker than x86, where they
 * leave in order.  An operation with release semantics, and a system call, flushes the buffer of its thread first; a
 * relaxed or acquire operation does not.  Read-modify-writes act on memory.  So the model covers what release (and x86)
 * forbids, but not what acquire forbids: loads happen in program order.  `own` needs no buffer: only read-modify-writes
 * change it.
 */
#define HOSTS 2
#ifdef DEDICATED
#define CALLS(host) 1
#else
#define CALLS(host) (2 - (host)) /* the second of host 0 reuses its command's address (ABA) */
#endif
#define NIC HOSTS /* the NIC thread as a thread */
#define THREADS (HOSTS + 1)
#ifdef DEDICATED
#define PATIENCE 1
#else
#define PATIENCE 2
#endif

mtype = { FREE, HOST, THREAD, SLEEPING, DEAD };

/*
 * The word: state and newest command.  Command c + 1 belongs to thread c and is on its stack, which every call uses again.
 * The command of the NIC thread is a claim.
 */
mtype own = FREE;
byte head;

#ifdef CLAIM
#define IS_CLAIM(c) ((c) != 0)
#else
#define IS_CLAIM(c) ((c) == NIC)
#endif
#define OWNER_FOR(c) ((c) == NIC -> THREAD : HOST)

/* Commands taken and not run yet, oldest first. */
byte backlog[THREADS];
byte waiting;

/* --- memory --- */

#define ARGUMENT(c) (c)
#define RESULT(c) (HOSTS + (c))
#define NEXT(c) (2 * HOSTS + (c))
#define STATE(c) (2 * HOSTS + THREADS + (c))
#define ENGINE (2 * HOSTS + 2 * THREADS) /* stands for all that owners read and write: how often it was touched */
#define PLACES (2 * HOSTS + 2 * THREADS + 1)

byte memory[PLACES];
byte buffer[THREADS * PLACES]; /* value + 1, or 0 */

#define SLOT(t, place) buffer[(t)*PLACES + (place)]
#define LOAD(t, place) (SLOT(t, place) -> SLOT(t, place) - 1 : memory[place])

inline store(t, place, value)
{
	SLOT(t, place) = (value) + 1
}

inline flush(t, place)
{
	if
	:: SLOT(t, place) -> memory[place] = SLOT(t, place) - 1; SLOT(t, place) = 0
	:: else
	fi
}

inline flush_all(t)
{
	flush(t, ARGUMENT(0)); flush(t, ARGUMENT(1)); flush(t, NEXT(0)); flush(t, NEXT(1)); flush(t, NEXT(2));
	flush(t, STATE(0)); flush(t, STATE(1)); flush(t, STATE(2)); flush(t, RESULT(0)); flush(t, RESULT(1));
	flush(t, ENGINE)
}

#define FLUSHABLE(t, place) :: atomic { SLOT(t, place) -> flush(t, place) }

active proctype flusher()
{
end:	do
	FLUSHABLE(0, ARGUMENT(0))
	FLUSHABLE(0, NEXT(0))
	FLUSHABLE(0, STATE(0))
	FLUSHABLE(1, ARGUMENT(1))
	FLUSHABLE(1, NEXT(1))
	FLUSHABLE(1, STATE(1))
	FLUSHABLE(NIC, NEXT(NIC))
	FLUSHABLE(NIC, STATE(NIC))
	FLUSHABLE(0, RESULT(1))
	FLUSHABLE(1, RESULT(0))
	FLUSHABLE(NIC, RESULT(0))
	FLUSHABLE(NIC, RESULT(1))
	FLUSHABLE(0, ENGINE)
	FLUSHABLE(1, ENGINE)
	FLUSHABLE(NIC, ENGINE)
	od
}

/* The release semantics of read-modify-writes, which mutants weaken. */
#ifdef MUTANT_PUSH_RELAXED
#define PUSH_RELEASE(t) skip
#else
#define PUSH_RELEASE(t) flush_all(t)
#endif
#ifdef MUTANT_GIVE_BACK_RELAXED
#define GIVE_BACK_RELEASE(t) skip
#else
#define GIVE_BACK_RELEASE(t) flush_all(t)
#endif
#ifdef MUTANT_COMPLETE_RELAXED
#define COMPLETE_RELEASE(t) skip
#else
#define COMPLETE_RELEASE(t) flush_all(t)
#endif
#ifdef MUTANT_HAND_ON_RELAXED
#define HAND_ON_RELEASE(t) skip
#else
#define HAND_ON_RELEASE(t) flush_all(t)
#endif

/* --- what is claimed --- */

byte owners;         /* threads that believe to own */
byte touched;        /* true value of ENGINE */
byte asked[HOSTS];   /* argument of the command under way */
bool ran[HOSTS];     /* it has run */
bool wake_due;       /* the NIC thread sleeps and no host is about to wake it */
bool early;          /* the interface is closed while hosts still call */

#define FREE_MEANS_EMPTY assert(own != FREE || (head == 0 && waiting == 0))

inline now_owner()
{
	owners++;
	assert(owners == 1)
}

/* --- futex and doorbell --- */

#define PENDING 0
#define DONE 1
#define SLEEPER 2
#define GRANTED 3

bool blocked[THREADS]; /* in futex_wait() on the state of its command */
bool doorbell;           /* the NIC thread's eventfd */
bool stop, nic_ended, dead;
byte returned;       /* hosts that have made all their calls */

/* --- owner's side --- */

inline touch_engine(t)
{
	assert(LOAD(t, ENGINE) == touched);
	touched++;
	store(t, ENGINE, touched)
}

inline execute(t, c)
{
	assert(LOAD(t, ARGUMENT(c)) == asked[c] && !ran[c]);
	ran[c] = true;
	touch_engine(t);
	store(t, RESULT(c), asked[c] + 10)
}

inline complete(t, c)
{
#ifdef MUTANT_COMPLETE_BY_STORE
	woke = (LOAD(t, STATE(c)) == SLEEPER);
	atomic { flush_all(t); memory[STATE(c)] = DONE };
#else
	atomic {
		COMPLETE_RELEASE(t);
		woke = (memory[STATE(c)] == SLEEPER);
		memory[STATE(c)] = DONE
	};
#endif
	atomic {
		if
		:: woke -> blocked[c] = false; woke = false
		:: else
		fi;
		chosen = 0
	}
}

inline append(c)
{
	if
	:: c != 0 -> backlog[waiting] = c; waiting++
	:: else
	fi
}

#define WANTED (waiting > 0 || head != 0)

/* The stack is newest first, and has three at most. */
inline take_waiting(t, owner)
{
	if
	:: waiting == 0 && head != 0 ->
#ifdef MUTANT_DRAIN_BY_STORE
		newest = head;
		head = 0;
#else
		atomic { newest = head; own = owner; head = 0 };
#endif
		atomic {
			older = LOAD(t, NEXT(newest - 1));
			if
			:: older != 0 -> oldest = LOAD(t, NEXT(older - 1))
			:: else
			fi;
			append(oldest);
			append(older);
			append(newest);
			newest = 0; older = 0; oldest = 0
		}
	:: else
	fi
}

inline shift(c)
{
	c = backlog[0] - 1;
	backlog[0] = backlog[1];
	backlog[1] = backlog[2];
	backlog[2] = 0;
	waiting--
}

inline tell_granted(t, c)
{
	atomic {
		HAND_ON_RELEASE(t);
		woke = (memory[STATE(c)] == SLEEPER);
		memory[STATE(c)] = GRANTED
	};
	atomic {
		if
		:: woke ->
#ifndef MUTANT_SUCCESSOR_NOT_WOKEN
			blocked[c] = false;
#endif
			woke = false
		:: else
		fi;
		chosen = 0
	}
}

/* The state changes while others push; the new owner has the backlog, too. */
inline hand_on(t, owner)
{
	atomic { owners--; shift(chosen) };
#ifdef MUTANT_HAND_ON_BY_STORE
	atomic { own = OWNER_FOR(chosen); head = 0 };
#else
	atomic { assert(own == owner); own = OWNER_FOR(chosen) };
#endif
	tell_granted(t, chosen)
}

/* Serves the commands that wait now.  `lost`: one of them was a claim, and ownership is handed on. */
inline serve(t, owner)
{
	take_waiting(t, owner);
	do
	:: atomic { waiting == 0 -> break }
	:: atomic { waiting > 0 && IS_CLAIM(backlog[0] - 1) -> lost = true }; hand_on(t, owner); break
	:: atomic { waiting > 0 && !IS_CLAIM(backlog[0] - 1) -> shift(chosen); execute(t, chosen) };
		complete(t, chosen)
	od
}

inline give_back(t, owner)
{
	do
	:: WANTED && served > 0 -> take_waiting(t, owner); hand_on(t, owner); break
#ifdef MUTANT_SERVES_FOR_EVER
	:: atomic { WANTED -> served++; assert(served <= PATIENCE) };
#else
	:: atomic { WANTED && served < PATIENCE -> served++ };
#endif
		serve(t, owner);
		if
		:: lost -> break
		:: else
		fi
	:: !WANTED ->
#ifdef MUTANT_GIVE_BACK_BY_STORE
		atomic { flush_all(t); owners--; own = FREE; FREE_MEANS_EMPTY; head = 0; break }
#elif defined(MUTANT_GIVE_BACK_BLIND)
		atomic { flush_all(t); owners--; own = FREE; head = 0; break }
#else
		atomic {
			GIVE_BACK_RELEASE(t);
			if
			:: own == owner && head == 0 -> owners--; own = FREE; FREE_MEANS_EMPTY; break
			:: else
			fi
		}
#endif
	od;
	atomic { served = 0; lost = false }
}

/* --- caller's side --- */

inline await(c)
{
	if
	:: LOAD(c, STATE(c)) == DONE || LOAD(c, STATE(c)) == GRANTED
	:: true -> /* it has polled for long enough */
#ifdef MUTANT_AWAIT_BY_STORE
		atomic { flush_all(c); memory[STATE(c)] = SLEEPER };
#else
		atomic {
			flush_all(c);
			if
			:: memory[STATE(c)] == PENDING -> memory[STATE(c)] = SLEEPER
			:: else
			fi
		};
#endif
		do
		:: atomic { memory[STATE(c)] == DONE || memory[STATE(c)] == GRANTED -> break }
		:: atomic { memory[STATE(c)] == PENDING || memory[STATE(c)] == SLEEPER -> skip };
			atomic {
				if
				:: memory[STATE(c)] == SLEEPER -> blocked[c] = true
				:: else
				fi
			};
			!blocked[c]
		od
	fi;
	if
	:: LOAD(c, STATE(c)) == GRANTED -> now_owner()
	:: LOAD(c, STATE(c)) == DONE -> assert(ran[c] && LOAD(c, RESULT(c)) == asked[c] + 10)
	fi
}

/* `pushed` is true if the word was still as the caller had seen it. */
inline push(c)
{
	atomic { store(c, NEXT(c), seen_head) };
	atomic {
		PUSH_RELEASE(c);
		if
		:: own == seen && head == seen_head ->
			pushed = true;
			head = c + 1;
			if
			:: own == SLEEPING ->
				assert(wake_due);
				wake_due = false;
#ifndef MUTANT_PUSH_STAYS_ASLEEP
				own = THREAD;
#endif
				wakes = true
			:: else
			fi;
			FREE_MEANS_EMPTY
		:: else -> pushed = false
		fi
	};
	if
	:: wakes ->
#ifndef MUTANT_PUSH_WITHOUT_WAKE_UP
		doorbell = true;
#endif
		wakes = false
	:: else
	fi
}

proctype host(byte me)
{
	byte newest, older, oldest, chosen, served, seen_head, calls;
	mtype seen;
	bool woke, lost, pushed, wakes;

	do
	:: calls == CALLS(me) || dead -> break
	:: else ->
		atomic {
			calls++;
			asked[me] = calls;
			ran[me] = false;
			store(me, ARGUMENT(me), calls);
			store(me, STATE(me), PENDING)
		};
		do
		:: atomic { seen = own; seen_head = head };
			if
			:: seen == DEAD -> break
			:: seen == FREE ->
#ifdef MUTANT_PUSH_ON_FREE
				push(me);
				if
				:: pushed -> await(me); break
				:: else
				fi
#else
				if
				:: atomic { own == FREE && head == 0 -> own = HOST; now_owner() }; break
				:: atomic { own != FREE || head != 0 -> skip }
				fi
#endif
			:: else ->
				push(me);
				if
				:: pushed -> await(me); break
				:: else
				fi
			fi
		od;
		if
		:: seen == DEAD
		:: seen != DEAD && pushed && LOAD(me, STATE(me)) == DONE
		:: else ->
			atomic { touch_engine(me); ran[me] = true };
			give_back(me, HOST)
		fi;
		atomic { seen = 0; seen_head = 0; pushed = false }
	od;
	returned++
}

/* --- the NIC thread --- */

#ifdef DEDICATED

inline sleep_as_owner()
{
#ifdef MUTANT_SLEEP_BY_STORE
	atomic { own = SLEEPING; wake_due = true };
	slept = true;
#else
	atomic {
		if
		:: own == THREAD && head == 0 -> own = SLEEPING; wake_due = true; slept = true
		:: else
		fi
	};
#endif
	if
	:: slept ->
		if
		:: doorbell -> doorbell = false
		:: arrival -> arrival = false /* the transport's descriptor */
		fi;
#ifdef MUTANT_WAKE_BY_STORE
		atomic { own = THREAD; head = 0; wake_due = false };
#else
		atomic {
			if
			:: own == SLEEPING && head == 0 -> own = THREAD; wake_due = false
			:: else
			fi
		};
#endif
		slept = false
	:: else
	fi
}

/* The NIC thread waits for its turn to own. */
inline claim()
{
	do
	:: atomic { own == FREE && head == 0 -> own = THREAD; now_owner(); break }
	:: atomic { own != FREE -> seen = own; seen_head = head; store(NIC, STATE(NIC), PENDING) };
		push(NIC);
		if
		:: pushed -> await(NIC); break
		:: else
		fi
	od;
	atomic { seen = 0; seen_head = 0; pushed = false; lost = false }
}

proctype nic()
{
	byte newest, older, oldest, chosen, served, seen_head;
	mtype seen;
	bool woke, lost, pushed, wakes, slept, arrival = true;

	claim();
	do
	:: stop -> break
	:: else ->
		serve(NIC, THREAD);
		if
		:: lost -> claim()
		:: else -> sleep_as_owner()
		fi
	od;
	give_back(NIC, THREAD);
	nic_ended = true
}

#else

proctype nic()
{
	byte newest, older, oldest, chosen, served, turns;
	bool woke, lost;

	do
	:: turns == 2 -> break
	:: turns < 2 ->
		turns++;
		if
		:: atomic { own == FREE && head == 0 -> own = THREAD; now_owner() };
			atomic { touch_engine(NIC) };
			serve(NIC, THREAD);
			if
			:: lost -> lost = false
			:: else -> give_back(NIC, THREAD)
			fi
		:: stop
		fi
	od;
	nic_ended = true
}

#endif

/*
 * nic_close() stops the NIC thread, then calls nic_reap(): while hosts call, or after their last calls, when the NIC thread may
 * sleep.
 */
active proctype closer()
{
	early || returned == HOSTS;
	stop = true;
	doorbell = true;
	nic_ended;
#ifdef MUTANT_REAP_BY_STORE
	atomic { own = DEAD; head = 0 };
#else
	/* The code claims first, as hosts do, and need not wait until the word is FREE; the model leaves that out. */
	atomic { own == FREE && head == 0 -> own = DEAD };
#endif
	dead = true;
	assert(owners == 0)
}

init {
	atomic {
		if
		:: early = true
		:: early = false
		fi;
		run host(0);
		run host(1);
		run nic()
	}
}
