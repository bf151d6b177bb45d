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
#ifndef PUTS
#define PUTS 0
#endif
#ifndef THIEF
#define THIEF 0
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

bool sleeper, sleeper_seen; /* a host sleeps for the engine: the truth, and what the NIC thread can see without owning */
bool nic_asleep;
bool sleep_until;           /* the sleeper knows of the timer */
bool host_bell, nic_bell;   /* eventfds */

byte hosts_waiting;
bool host_drove;            /* host_drives has moved since the NIC thread looked */

mtype = { OUT, TICKING, DEEP };
mtype lease = OUT, lease_buffer; /* the second: stored by the NIC thread, but not yet seen by others */
bool lease_buffered;
bool parked;                     /* in futex_wait(lease) without a timer */

/* struct waiter, by host */
bool registered[HOSTS], role[HOSTS], notified[HOSTS], collected[HOSTS], woken[HOSTS];
bool blocked[HOSTS]; /* in futex_wait(woken) */
bool timed[HOSTS];   /* the call has a deadline */

inline own()
{
	atomic { !owned -> owned = true; drove = false }
}

/* --- waking: under ownership --- */

#define WAITER(h, q) :: registered[h] && !notified[h] && WAITS(h, q) -> notified[h] = true

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
	:: registered[h] && notified[h] && !collected[h] ->
		collected[h] = true;
		if
		:: role[h] -> kick = true
		:: else -> woken[h] = true; wake[h] = true
		fi
	:: else
	fi
}

inline wake_one(h)
{
	if
	:: wake[h] -> wake[h] = false; blocked[h] = false
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

inline give_back()
{
	atomic {
		settle_sleeper();
		collect_one(0);
		collect_one(1);
#if HOSTS > 2
		collect_one(2);
#endif
	};
	atomic {
		if
		:: kick && sleeper -> host_bell = true
		:: kick && !sleeper && nic_asleep -> nic_bell = true
		:: else
		fi;
		kick = false;
		owned = false
	};
	d_step {
		wake_one(0);
		wake_one(1);
#if HOSTS > 2
		wake_one(2);
#endif
	}
}

/* --- waiting hosts --- */

#define READY(h) (WAITS(h, 0) && unread[0] > 0 || WAITS(h, 1) && unread[1] > 0)

inline take(h)
{
	atomic {
		if
		:: WAITS(h, 0) && unread[0] > 0 -> unread[0]--; got = true
		:: !(WAITS(h, 0) && unread[0] > 0) && WAITS(h, 1) && unread[1] > 0 -> unread[1]--; got = true
		:: else
		fi
	}
}

inline drive_once()
{
	work = false;
	if
	:: atomic { !owned -> owned = true; drove = false };
		atomic { drive() };
		give_back()
	:: owned
	fi
}

inline wait_enter(h)
{
#ifdef MUTANT_ENTER_BLIND
	if
	:: false
#else
	if
	:: READY(h) -> again = true
#endif
	:: else ->
		work = false;
		drive();
		if
#ifndef MUTANT_ENTER_BLIND_AFTER_DRIVE
		:: work || READY(h) -> again = true
#endif
		:: else ->
			if
			:: !sleeper ->
#ifdef MUTANT_SLEEP_UNARMED
				armed = true; readable = false;
#else
				arm();
#endif
				if
				:: armed ->
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

#define HEIR(h) :: registered[h] && !notified[h] -> notified[h] = true

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
	drove = true;
	if
	:: role[h] ->
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
	:: role[h] -> hand_on()
	:: else
	fi
#endif
}

inline nic_end_deep()
{
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
	d_step { role[h] = false; notified[h] = false; collected[h] = false; woken[h] = false };
	own();
	atomic { wait_enter(h) };
	give_back();
	if
	:: again -> again = false
	:: else ->
		if
		:: role[h] ->
end_sleeper:		readable || host_bell || until && due || timed[h];
			host_bell = false
		:: else ->
			atomic { blocked[h] = !woken[h] };
end_blocked:		!blocked[h] || timed[h]
		fi;
		own();
		atomic { wait_leave(h) };
		give_back();
		if
		:: role[h] -> nic_end_deep()
		:: else
		fi;
		waited = true
	fi
}

/* PtlEQWait, once. */
proctype host(byte me)
{
	bool got, work, kick, again, waited, ended, until;
	bool wake[HOSTS];

	hosts_waiting++;
	do
	:: take(me);
		if
		:: got -> break
		:: else
		fi;
		drive_once();
		if
		:: work -> work = false
		:: !work && timed[me] -> take(me); break
		:: !work -> block(me)
		:: !work /* looks again */
		fi
	od;
#if !defined(MUTANT_ROLE_PASSED_ON_ONCE) && !defined(MUTANT_ROLE_NOT_HANDED_ON)
	if
	:: waited ->
		own();
		atomic { hand_on() };
		give_back()
	:: else
	fi;
#endif
	hosts_waiting--
}

/* PtlEQGet, now and then, by threads that mostly compute. */
#if THIEF
active proctype thief()
{
	bool got, work, kick;
	bool wake[HOSTS];
	byte looks;

	do
	:: looks == THIEF -> break
	:: looks < THIEF ->
		looks++;
		got = false;
		take(0);
		if
		:: got
		:: else ->
			host_drove = true;
			drive_once();
			take(0)
		fi
	od
}
#endif

/* Puts of threads that never wait, to their own process. */
#if PUTS
active proctype putter()
{
	bool kick;
	bool wake[HOSTS];
	byte puts;

	do
	:: puts == PUTS -> break
	:: puts < PUTS ->
		puts++;
		own();
		atomic {
			if
			:: pending[0]++
			:: pending[1]++
			fi;
#ifndef MUTANT_PUT_TELLS_NOBODY
			drove = true
#endif
		};
		give_back()
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
	atomic { timer -> due = true }
end:	false
}
#endif

/* --- the NIC thread --- */

#if NIC

inline hosts_drive()
{
	atomic { driven = host_drove || hosts_waiting > 0; host_drove = false }
}

inline store_lease(value)
{
	atomic { lease_buffer = value; lease_buffered = true }
}

inline flush_lease()
{
	d_step {
		if
		:: lease_buffered -> lease = lease_buffer; lease_buffered = false
		:: else
		fi
	}
}

inline go_deep()
{
	store_lease(DEEP);
#ifndef MUTANT_NO_FENCE_IN_GO_DEEP
	flush_lease();
#endif
#ifdef MUTANT_DEEP_BLINDLY
	deep = true;
#else
	deep = sleeper_seen;
#endif
	if
	:: deep
	:: else -> store_lease(TICKING)
	fi
}

/* Owner on entry, not on return. */
inline serve()
{
	host_drove = false;
	do
	:: hosts_drive();
		if
		:: driven -> give_back(); break
		:: else
		fi;
		work = false;
		atomic { drive() };
		if
		:: work ->
			atomic {
				collect_one(0);
				collect_one(1);
#if HOSTS > 2
				collect_one(2);
#endif
				host_bell = host_bell || kick;
				kick = false
			};
			d_step {
				wake_one(0);
				wake_one(1);
#if HOSTS > 2
				wake_one(2);
#endif
			}
		:: else ->
			atomic { arm() };
			if
			:: armed ->
				atomic { until = timer; sleep_until = timer; drove = false; nic_asleep = true };
				give_back();
end_asleep:			readable || nic_bell || until && due;
				nic_bell = false;
				nic_asleep = false;
				break
			:: else
			fi
		fi
	od
}

inline run_lease()
{
	host_drove = false;
	store_lease(TICKING);
	do
	:: deep = false;
		if
		:: go_deep() /* after DEEP_TICKS */
		:: true
		fi;
		flush_lease();
		if
		:: deep ->
			atomic { parked = (lease == DEEP) };
end_parked:		!parked;
			store_lease(TICKING)
		:: else ->
end_ticking:		hosts_waiting == 0 || host_drove || sleeper_seen
		fi;
		hosts_drive();
		if
		:: !driven -> break
		:: driven && hosts_waiting > 0
		:: driven && hosts_waiting == 0 ->
			hosts_drive();
			if
			:: !driven -> break
			:: else
			fi
		fi
	od;
	store_lease(OUT)
}

active proctype nic()
{
	bool work, kick, until, driven, deep;
	bool wake[HOSTS];

	do
	:: host_drove = false;
		hosts_drive();
		if
		:: atomic { !driven && !owned -> owned = true; drove = false }; serve()
		:: driven || owned -> run_lease()
		fi
	od
}

active proctype flusher()
{
end:	do
	:: atomic { lease_buffered -> lease = lease_buffer; lease_buffered = false }
	:: atomic { sleeper_seen != sleeper -> sleeper_seen = sleeper }
	od
}

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
		byte h = 0;
		do
		:: h < HOSTS ->
			if
			:: timed[h] = true
			:: true
			fi;
			h++
		:: h == HOSTS -> break
		od;
		run host(0);
		run host(1)
#if HOSTS > 2
		;
		run host(2)
#endif
	}
}
