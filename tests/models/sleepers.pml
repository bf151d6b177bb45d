/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who sleeps for the engine, and who takes over: offload/wait.c and the sleeping part of offload/nic.c.
 *
 * Hosts wait for events of two queues, each once and each with a deadline or without; then they compute for ever.
 * Messages arrive for either queue at any time; other threads steal an event, or put to their own process; a timer is
 * set by some drive and posts an event (a put that found nobody) when it is due.  Ownership is a lock here, and what
 * is done under it takes a step or two: own.pml is about the word.
 *
 *     -DHOSTS=2|3 -DNIC=0|1      threads in PtlEQWait; is there a NIC thread?
 *     -DMESSAGES=n -DPUTS=n -DTHIEF=n -DTIMER=0|1
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
bool drove;           /* by this owner: nothing can be said about who will hear of what is pending */
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
bool sleep_until;           /* the sleeper knows of the timer */
bool host_bell, nic_bell;   /* eventfds */

#if NIC
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
bool registered[HOSTS], role[HOSTS], notified[HOSTS];
bool fresh[HOSTS];   /* notified by this owner: not yet collected */
bool blocked[HOSTS]; /* in futex_wait(woken) */

/* Guard of every critical section, which is one atomic step: only the NIC thread owns for longer. */
#define OWN !owned

/* --- waking: under ownership --- */

#define WAITER(h, q) :: registered[h] && !notified[h] && WAITS(h, q) -> notified[h] = true; fresh[h] = true

inline notify(q)
{
	if
	WAITER(0, q)
	WAITER(1, q)
#if HOSTS > 2
	WAITER(2, q)
#endif
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
		:: role[h] -> kick = true
		:: else -> wake[h] = true
		fi
	:: else
	fi
}

inline collect()
{
	collect_one(0);
	collect_one(1);
#if HOSTS > 2
	collect_one(2)
#endif
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

#if HOSTS > 2
#define TO_WAKE (wake[0] || wake[1] || wake[2])
#else
#define TO_WAKE (wake[0] || wake[1])
#endif

/* After the critical section. */
inline wake_up()
{
	if
	:: TO_WAKE ->
		d_step {
			wake_one(0);
			wake_one(1);
#if HOSTS > 2
			wake_one(2)
#endif
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
	drove = true;
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

inline settle_sleeper()
{
	if
	:: !sleeper && !nic_asleep
#ifdef MUTANT_NO_SETTLING
	:: else
#else
	:: else ->
		if
		:: !drove -> kick = (timer && !sleep_until)
#ifndef MUTANT_NEVER_KICK_NIC
		:: drove && !sleeper -> kick = true /* after REARM_DRIVES */
#endif
		:: drove ->
#ifdef MUTANT_NO_REARMING
			kick = (timer && !sleep_until)
#else
			arm();
#ifdef MUTANT_REARMING_FAILS_SILENTLY
			kick = (timer && !sleep_until)
#else
			kick = (!armed || timer && !sleep_until)
#endif
#endif
		fi
#endif
	fi;
#ifdef MUTANT_EARLIER_TIMER_KICKS_NOBODY
	kick = kick && !armed
#endif
}

/* The end of a critical section; what it has to wake up is woken later. */
inline give_back()
{
	settle_sleeper();
	collect();
	kick_sleeper();
	owned = false;
	drove = false
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
	if
	:: atomic { OWN; drive(); give_back() };
		wake_up()
	:: owned
	fi
}

inline wait_enter(h)
{
	if
#ifndef MUTANT_ENTER_BLIND
	:: READY(h) -> again = true
#endif
	:: else ->
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
					sleep_until = timer;
					drove = false;
					sleeper = true
				:: else -> again = true
				fi
			:: else
			fi
		fi
	fi;
	work = false;
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
#if HOSTS > 2
		HEIR(2)
#endif
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
	drove = true;
	if
	:: slept ->
		role[h] = false;
		sleeper = false;
#ifndef MUTANT_BELIEF_OUTLIVES_SLEEPER
		sleep_until = false
#endif
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
#if NIC && !defined(MUTANT_DEEP_NEVER_ENDED)
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
	bool wake[HOSTS];

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
#if !defined(MUTANT_ROLE_PASSED_ON_ONCE) && !defined(MUTANT_ROLE_NOT_HANDED_ON)
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
	bool wake[HOSTS];
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
			drove = true;
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

#if NIC

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

/* Owner on entry, not on return. */
inline serve()
{
	do
	:: atomic {
			hosts_drive();
			if
			:: driven -> give_back(); break
			:: else -> drive()
			fi;
			if
			:: work -> work = false; collect(); kick_sleeper()
			:: else ->
				arm();
				if
				:: armed ->
					until = timer;
					sleep_until = timer;
					drove = false;
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
	bool wake[HOSTS];

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

#define BLOCKED_OVER_EVENT(h) (registered[h] && READY(h))

active proctype rest()
{
	timeout;
	assert(!BLOCKED_OVER_EVENT(0) && !BLOCKED_OVER_EVENT(1));
#if HOSTS > 2
	assert(!BLOCKED_OVER_EVENT(2));
#endif
#if NIC
	assert(pending[0] + pending[1] == 0);
	assert(!(timer && due));
	assert(!parked || sleeper);
	assert(lease != DEEP || parked);
#else
	assert(hosts_waiting == 0 || pending[0] + pending[1] == 0 && !(timer && due));
#endif
#if HOSTS > 2
	assert(sleeper == (registered[0] && role[0] || registered[1] && role[1] || registered[2] && role[2]));
	assert(!registered[2] || sleeper);
#else
	assert(sleeper == (registered[0] && role[0] || registered[1] && role[1]));
#endif
	assert(!registered[0] && !registered[1] || sleeper)
}

init {
	atomic {
		run host(0);
		run host(1)
#if HOSTS > 2
		;
		run host(2)
#endif
	}
}
