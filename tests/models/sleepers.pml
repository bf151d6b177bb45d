/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who sleeps for the engine, and who takes over: offload/wait.c and the sleeping part of offload/nic.c.
 *
 * Hosts wait for events of two queues, each once and each with a deadline or without; then they compute for ever.
 * Messages arrive for either queue at any time; other threads steal an event, or put to their own process; a timer is
 * set by some drive and posts an event (a put that found nobody) when it is due.  Ownership is a lock here, and what
 * is done under it takes a step or two: own.pml is about the word.
 *
 *     -DHOSTS=1|2|3   threads in PtlEQWait
 *     -DNIC=0|1|2     modes host, shared, dedicated
 *     -DMESSAGES=n -DOTHERS=n -DTIMER=0|1 -DBUFFERS=0|1
 *     -DMUTANT_...               one thing wrong, see run.sh; verification has to fail
 *
 * Claimed, whenever nobody can do anything any more (process `rest`): no message is pending in a transport and no
 * timer is due; no waiter is blocked over an unread event of its queues; the NIC thread is parked without a timer only
 * while a host sleeps for the engine; the word `sleeper` tells the truth.  Messages may arrive at the last moment,
 * so this says that there is always somebody who will be woken by them.
 *
 * Endless loops are no rest, so all that can only repeat is cut off: a tick after which the NIC thread would park
 * again without having changed anything does not happen; a NIC thread that finds nothing to do sleeps.
 *
 * Memory.  The stores to `lease` and `sleeper` are buffered: the first until the next fence, system call or
 * compare-and-swap of the NIC thread; the second, for the one thread that reads it without being the owner (the NIC
 * thread in go_deep()), until a fence of the host that stored it: neither its being sequentially consistent nor the
 * release of ownership, which both flush it on x86, is relied on.  Everything else that is read without ownership is
 * written by read-modify-writes or is a futex, which the kernel compares under its lock.
 */
#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef NIC
#define NIC 1
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef OTHERS
#define OTHERS 0
#endif
#ifndef BUFFERS
#define BUFFERS 0
#endif
#ifndef TIMER
#define TIMER 0
#endif

/* The queues of each host's call, as a bit mask: both, the second, the first. */
#define WAITS(h, q) ((h) == 0 || (h) == 1 && (q) == 1 || (h) == 2 && (q) == 0)

/* --- the engine --- */

bool owned;
bool pushed;          /* a command for a NIC thread that never gives ownership back */
bool unsettled;       /* by this owner: nobody knows who will hear of what is pending */
byte pending[2];      /* in the transport, by the queue they are for */
bool armed, readable; /* the transport's descriptor: will announce what comes; has announced it */
byte unread[2];       /* events */
bool timer, due, was_set; /* one timer: it is set; its time has come; it was set before */

bool sleeper; /* a host sleeps for the engine */
#if BUFFERS
bool sleeper_seen; /* what the NIC thread can see of it without owning */
#else
#define sleeper_seen sleeper
#endif
bool nic_asleep;
bool host_believes;         /* the host that sleeps knows of the timer */
#ifdef MUTANT_ONE_BELIEF
#define nic_believes host_believes
#else
bool nic_believes;          /* so does the NIC thread */
#endif
bool host_bell, nic_bell;   /* eventfds */

#if NIC == 1
#define HOST_DROVE host_drove = true
#else
#define HOST_DROVE skip
#endif
byte hosts_waiting;
bool host_drove;            /* host_drives has moved since the NIC thread looked */

mtype = { TICKING, DEEP };     /* OUT is like TICKING for all who look */
mtype lease = TICKING;
#if BUFFERS
mtype lease_buffer;              /* stored by the NIC thread, not yet seen by others; 0: nothing */
#endif
bool parked;                     /* in futex_wait(lease) without a timer */

/* struct waiter, by host */
bool registered[3], role[3], notified[3];
bool fresh[3];   /* notified by this owner: not yet collected */
bool blocked[3]; /* in futex_wait(woken) */

/*
 * Guard of a command, which is one atomic step.  Only the NIC thread owns for longer; it lets commands in where it
 * drains, and what they leave to be woken or settled is its business then.
 */
#if NIC == 1
bool draining, served;
#define OWN (!owned || draining)
#else
#define OWN !owned
#endif

/* --- waking: under ownership --- */

#define WAITER(h, q) :: registered[h] && !notified[h] && WAITS(h, q) -> notified[h] = true; fresh[h] = true

inline notify(q)
{
	if
	WAITER(0, q)
	WAITER(1, q)
	WAITER(2, q)
	:: else
	fi
}

inline post(q)
{
	unread[q]++;
	notify(q)
}

inline collect_one(h)
{
	if
	:: fresh[h] ->
		fresh[h] = false;
		if
#ifdef MUTANT_SLEEPER_NOT_KICKED
		:: role[h]
#else
		:: role[h] -> kick = true
#endif
		:: else -> wake[h] = true
		fi
	:: else
	fi
}

inline collect()
{
	collect_one(0);
	collect_one(1);
	collect_one(2)
}

inline kick_sleeper()
{
	if
	:: kick && sleeper -> host_bell = true
	:: kick && !sleeper && nic_asleep -> nic_bell = true
	:: else
	fi;
	kick = false
}

inline wake_one(h)
{
	if
	:: wake[h] -> wake[h] = false; blocked[h] = false
	:: else
	fi
}

#define TO_WAKE (wake[0] || wake[1] || wake[2])

/* After the critical section. */
inline wake_up()
{
	if
	:: TO_WAKE ->
		d_step {
			wake_one(0);
			wake_one(1);
			wake_one(2)
		}
	:: else
	fi
}

/* --- driving and arming: under ownership --- */

inline run_timer()
{
	timer = false;
	post(0)
}

/* One message, or all of them, or some. */
inline drive()
{
	unsettled = true;
	armed = false;
	readable = false;
	do
	:: pending[0] > 0 -> pending[0]--; work = true; post(0)
	:: pending[1] > 0 -> pending[1]--; work = true; post(1)
	:: work || pending[0] + pending[1] == 0 -> break
	od;
#if TIMER
	if
	:: timer && due -> run_timer() /* every so many drives */
	:: !was_set -> timer = true; was_set = true
	:: true
	fi
#endif
}

/* The outcome is in `armed`; then the thread may sleep, if it wakes by `timer`. */
inline arm()
{
	armed = false;
	readable = false;
	if
	:: timer && due ->
		run_timer();
#ifdef MUTANT_ARM_FORGETS_WHAT_TIMERS_DID
		armed = (pending[0] + pending[1] == 0)
#endif
	:: else -> armed = (pending[0] + pending[1] == 0)
	fi
}

#ifdef MUTANT_EARLIER_TIMER_KICKS_NOBODY
#define EARLIER_TIMER false
#else
#define EARLIER_TIMER (timer && !(sleeper -> host_believes : nic_believes))
#endif

inline settle_sleeper()
{
	if
	:: !sleeper && !nic_asleep
	:: (sleeper || nic_asleep) && !unsettled -> kick = EARLIER_TIMER
	:: !sleeper && nic_asleep && unsettled -> kick = true /* after REARM_DRIVES */
	:: (sleeper || nic_asleep) && unsettled ->
#ifdef MUTANT_NO_REARMING
		kick = EARLIER_TIMER
#else
		arm();
#ifdef MUTANT_REARMING_FAILS_SILENTLY
		kick = EARLIER_TIMER
#else
		kick = (!armed || EARLIER_TIMER)
#endif
#endif
	fi
}

/* The end of a critical section; what it has to wake up is woken later. */
inline give_back()
{
#if NIC == 2
	pushed = true; /* it was the NIC thread that ran it, woken if it slept */
	nic_bell = nic_bell || nic_asleep;
	unsettled = false
#else
	if
#if NIC == 1
	:: draining -> served = true
#endif
	:: else ->
		settle_sleeper();
		collect();
		kick_sleeper();
		owned = false;
		unsettled = false
	fi
#endif
}

/* --- waiting hosts --- */

#define READY(h) (WAITS(h, 0) && unread[0] > 0 || WAITS(h, 1) && unread[1] > 0)

inline take(h)
{
	if
	:: WAITS(h, 0) && unread[0] > 0 -> unread[0]--; got = true
	:: !(WAITS(h, 0) && unread[0] > 0) && WAITS(h, 1) && unread[1] > 0 -> unread[1]--; got = true
	:: else
	fi
}

inline drive_once()
{
#if NIC == 2
	skip
#else
	if
	:: atomic { !owned -> drive(); give_back() };
		wake_up()
	:: owned
	fi
#endif
}

/* Of a host that drives: `again` if it must not sleep yet. */
inline become_sleeper(h)
{
	drive();
	if
#if !defined(MUTANT_ENTER_BLIND) && !defined(MUTANT_ENTER_BLIND_AFTER_DRIVE)
	:: work || READY(h) -> again = true
#endif
	:: else ->
		if
		:: !sleeper ->
			arm();
			if
			:: armed ->
#ifdef MUTANT_SLEEP_UNARMED
				armed = false;
#endif
				role[h] = true;
				until = timer;
				host_believes = timer;
				unsettled = false;
				sleeper = true
			:: else -> again = true
			fi
		:: else
		fi
	fi;
	work = false
}

inline wait_enter(h)
{
	if
#ifndef MUTANT_ENTER_BLIND
	:: READY(h) -> again = true
#endif
	:: else ->
#if NIC == 2
		skip
#else
		become_sleeper(h)
#endif
	fi;
	registered[h] = !again
}

#define HEIR(h) :: registered[h] && !notified[h] -> notified[h] = true; fresh[h] = true

/* If nobody sleeps for the engine any more, one of those who are blocked has to. */
inline hand_on()
{
	if
	:: !sleeper ->
		if
		HEIR(0)
		HEIR(1)
		HEIR(2)
		:: else
		fi
	:: else
	fi
}

inline wait_leave(h)
{
	registered[h] = false;
	notified[h] = false;
	blocked[h] = false;
	unsettled = true;
	if
	:: slept ->
		role[h] = false;
		sleeper = false
	:: else
	fi;
#ifndef MUTANT_EVENTS_NOT_PASSED_ON
	if
	:: WAITS(h, 0) && unread[0] > 0 -> notify(0)
	:: else
	fi;
	if
	:: WAITS(h, 1) && unread[1] > 0 -> notify(1)
	:: else
	fi;
#endif
#ifdef MUTANT_ROLE_PASSED_ON_ONCE
	if
	:: slept -> hand_on()
	:: else
	fi
#endif
}

inline nic_end_deep()
{
	skip;
#if NIC == 1 && !defined(MUTANT_DEEP_NEVER_ENDED)
#ifndef MUTANT_NO_FENCE_IN_END_DEEP
	sleeper_seen = sleeper;
#endif
	if
	:: lease == DEEP ->
		atomic {
			if
			:: lease == DEEP -> lease = TICKING; ended = true
			:: else
			fi
		};
#ifndef MUTANT_DEEP_ENDED_WITHOUT_WAKE
		if
		:: ended -> parked = false
		:: else
		fi;
#endif
		ended = false
	:: else
	fi
#endif
}

inline block(h)
{
	atomic {
		OWN;
		wait_enter(h);
		give_back()
	};
	wake_up();
	if
	:: again -> again = false
	:: else ->
		if
		:: late = true /* it will be its deadline that wakes it, unless something else does before */
		:: true
		fi;
		if
		:: role[h] ->
end_sleeper:		readable || host_bell || until && due || late;
			host_bell = false
		:: else ->
			atomic { blocked[h] = !notified[h] }; /* every notified waiter that is no sleeper was woken */
end_blocked:		!blocked[h] || late
		fi;
		atomic { OWN; slept = role[h]; wait_leave(h); give_back(); late = false; until = false };
		wake_up();
		if
		:: slept -> slept = false; nic_end_deep()
		:: else
		fi;
		waited = true
	fi
}

/* PtlEQWait, once. */
proctype host(byte me)
{
	bool got, work, kick, again, waited, ended, until, late, slept;
	bool wake[3];

	hosts_waiting++;
	do
	:: atomic {
			take(me);
			if
			:: got -> break
			:: else
			fi
		};
		drive_once();
		if
		:: work -> work = false
		:: !work -> atomic { take(me); break } /* it was its deadline */
		:: !work -> block(me)
		:: !work /* looks again */
		fi
	od;
#if NIC != 2 && !defined(MUTANT_ROLE_PASSED_ON_ONCE) && !defined(MUTANT_ROLE_NOT_HANDED_ON)
	if
	:: waited -> atomic { OWN; hand_on(); give_back() }; wake_up()
	:: else
	fi;
#endif
	hosts_waiting--
}

/* Threads that never wait.  PtlEQGet takes an event that somebody was woken for, or drives. */
#if OTHERS
active proctype others()
{
	bool work, kick;
	bool wake[3];
	byte acts;

	do
	:: acts == OTHERS -> break
	:: atomic { acts < OTHERS && unread[0] > 0 -> unread[0]--; acts++ }
	:: atomic { acts < OTHERS && unread[1] > 0 -> unread[1]--; acts++ }
	:: atomic { acts < OTHERS -> acts++; HOST_DROVE };
		drive_once();
		work = false
	:: atomic { /* a put to this process itself: in the transport, but no descriptor tells */
			acts < OTHERS && OWN;
			acts++;
			if
			:: pending[0]++
			:: pending[1]++
			fi;
#ifndef MUTANT_PUT_TELLS_NOBODY
			unsettled = true;
#endif
			give_back()
		};
		wake_up()
	od
}
#endif

active proctype network()
{
	byte sent;

	do
	:: sent == MESSAGES -> break
	:: atomic {
			sent < MESSAGES -> sent++;
			if
			:: pending[0]++
			:: pending[1]++
			fi;
			readable = readable || armed
		}
	od
}

#if TIMER
active proctype clock()
{
end_unset:
	atomic { timer -> due = true }
end:	false
}
#endif

/* --- the NIC thread --- */

#if NIC == 2

active proctype nic()
{
	bool work, kick, until;
	bool wake[3];

	do
	:: atomic { pushed = false; drive(); collect() };
		wake_up();
		if
		:: work -> work = false
		:: else ->
			atomic { arm(); until = timer };
			if
			:: atomic { armed && !pushed -> nic_asleep = true };
end_asleep:			readable || nic_bell || until && due;
				nic_bell = false;
				nic_asleep = false
			:: !armed || pushed
			fi
		fi
	od
}

#elif NIC == 1

inline hosts_drive()
{
	driven = host_drove || hosts_waiting > 0;
	host_drove = false
}

inline store_lease(value)
{
#if BUFFERS
	lease_buffer = value
#else
	lease = value
#endif
}

inline flush_lease()
{
#if BUFFERS
	if
	:: lease_buffer != 0 -> lease = lease_buffer; lease_buffer = 0
	:: else
	fi
#else
	skip
#endif
}

#if BUFFERS

inline go_deep()
{
	atomic { store_lease(DEEP) };
#ifndef MUTANT_NO_FENCE_IN_GO_DEEP
	atomic { flush_lease() };
#endif
#ifdef MUTANT_DEEP_BLINDLY
	deep = true;
#else
	deep = sleeper_seen;
#endif
	if
	:: deep
	:: else -> atomic { store_lease(TICKING) }
	fi
}

#else

inline go_deep()
{
	atomic { sleeper -> deep = true; lease = DEEP }
}

#endif

/* Owner on entry, not on return.  C does not say whether serve() drains first or drives first: here it may do both. */
inline serve()
{
	do
	:: atomic {
			hosts_drive();
			if
			:: driven -> give_back(); break
			:: else -> draining = true
			fi
		};
		atomic { draining = false; drive() };
		draining = true;
		atomic {
			draining = false;
			if
			:: work || served -> work = false; served = false; collect(); kick_sleeper()
			:: else ->
				arm();
				if
				:: armed ->
					until = timer;
					nic_believes = timer;
					unsettled = false;
					nic_asleep = true;
					give_back()
				:: else
				fi
			fi
		};
		wake_up();
		if
		:: nic_asleep ->
end_asleep:		readable || nic_bell || until && due;
			nic_bell = false;
			atomic { nic_asleep = false; until = false };
			break
		:: else
		fi
	od;
	wake_up()
}

inline run_lease()
{
	atomic { host_drove = false; store_lease(TICKING) };
	do
	:: if
		:: go_deep() /* after DEEP_TICKS */
		:: true
		fi;
		if
		:: deep ->
			atomic { flush_lease(); parked = (lease == DEEP); deep = false }; /* the system call */
end_parked:		!parked;
			atomic { store_lease(TICKING) }
		:: else ->
end_ticking:		hosts_waiting == 0 || host_drove || sleeper_seen
		fi;
		atomic {
			hosts_drive();
			if
			:: !driven -> break
			:: else
			fi
		};
		if
		:: hosts_waiting > 0
		:: else ->
			atomic {
				hosts_drive();
				if
				:: !driven -> break
				:: else
				fi
			}
		fi
	od;
	atomic { store_lease(TICKING); driven = false }
}

active proctype nic()
{
	bool work, kick, until, driven, deep;
	bool wake[3];

	do
	:: atomic { hosts_waiting == 0 && !owned -> owned = true; host_drove = false }; serve()
	:: atomic { hosts_waiting > 0 || owned -> skip }; run_lease()
	od
}

#if BUFFERS
active proctype flusher()
{
end:	do
	:: atomic { lease_buffer != 0 -> lease = lease_buffer; lease_buffer = 0 }
	:: atomic { sleeper_seen != sleeper -> sleeper_seen = sleeper }
	od
}
#endif

#endif

/* --- what is claimed --- */

#define SLEEPS(h) (registered[h] && role[h])
#define OVERSLEEPS(h) (registered[h] && READY(h))

active proctype rest()
{
	timeout;
	assert(!OVERSLEEPS(0) && !OVERSLEEPS(1) && !OVERSLEEPS(2));
	assert(sleeper == (SLEEPS(0) || SLEEPS(1) || SLEEPS(2)));
#if NIC == 0
	assert(sleeper || !registered[0] && !registered[1] && !registered[2]);
	assert(hosts_waiting == 0 || pending[0] + pending[1] == 0 && !(timer && due))
#else
	assert(pending[0] + pending[1] == 0 && !(timer && due));
#if NIC == 1
	assert(sleeper || !registered[0] && !registered[1] && !registered[2]);
	assert(sleeper || !parked && lease != DEEP)
#else
	assert(!sleeper)
#endif
#endif
}

init {
	atomic {
		run host(0);
#if HOSTS > 1
		run host(1);
#endif
#if HOSTS > 2
		run host(2)
#endif
	}
}
