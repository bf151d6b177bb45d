/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which thread sleeps for the engine, and which takes over: waiting hosts (offload/wait.c), the NIC thread
 * (offload/thread.c), arming (offload/own.c) and waking (offload/doorbell.c).
 *
 * Hosts wait for events of two queues, each once and each with a deadline or without; then they compute and call no more.
 * Messages arrive for either queue at any time.  Other threads take an event for which a waiter was woken, drive once, or
 * put to their own process.  A timer, set by some drive, posts an event when it is due (a put to a process that does not
 * exist).  Ownership is a lock here, and a critical section is one step: own.pml models the word.
 *
 *     -DNIC=0|1|2     no NIC thread (host mode), shared mode, dedicated mode
 *     -DHOSTS=1|2|3   threads in PtlEQWait
 *     -DMESSAGES=n    that arrive from elsewhere
 *     -DOTHERS=n      actions of other threads
 *     -DTIMER=1       there is a timer
 *     -DLATE=1        the network's transport is attached when a thread may be asleep already
 *     -DSTOP=1        the NIC thread is told to end (shared mode)
 *     -DLOOP=1        a thread sleeps in an epoll of its own, on the first queue's descriptor (offload/event_fd.c)
 *     -DALARM=0       the system has no timer to spare: the NIC thread's doorbell is written instead (nic_set_alarm())
 *     -DBUFFERS=1     stores to `lease` and `sleeper` are buffered, see below
 *     -DMUTANT_...    one error, see run.sh; verification has to fail
 *
 * Claimed, whenever no process can take a step any more (process `rest`): no message is pending in a transport and no
 * timer is due, unless there is no NIC thread and no host waits; no waiter is blocked over an unread event of its
 * queues; if waiters are blocked, one of them sleeps for the engine, and `sleeper` is true; the NIC thread is parked
 * without a timer only while `sleeper` is true; a queue is empty while a thread sleeps on its descriptor.  A message may
 * be the last step, so the claim includes that a message always wakes a thread.
 *
 * A process that repeats steps for ever never comes to rest, so the model cuts repetitions off: the NIC thread does not
 * tick where it would park again without a change, and a thread that finds nothing to do may always sleep.
 *
 * Memory.  With BUFFERS other threads see a store to `lease` after the next fence, system call or read-modify-write of
 * the NIC thread, or earlier.  One thread reads `sleeper` without ownership, the NIC thread in lease(); it sees a store
 * after the next fence of the host that stored it, or earlier.  The model does not rely on the store's sequential
 * consistency or on the release of ownership, which both flush it on x86.  Everything else that is read without
 * ownership is changed by read-modify-writes, or is a futex, which the kernel compares under its lock, or delays
 * something only for a while.
 */
#ifndef NIC
#define NIC 1
#endif
#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef MESSAGES
#define MESSAGES 1
#endif
#ifndef OTHERS
#define OTHERS 0
#endif
#ifndef TIMER
#define TIMER 0
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef STOP
#define STOP 0
#endif
#ifndef LOOP
#define LOOP 0
#endif
#ifndef ALARM
#define ALARM 1
#endif
#ifndef BUFFERS
#define BUFFERS 0
#endif

/* Host 0 waits for both queues, host 1 for the second, host 2 for the first. */
#define WAITS(h, q) ((h) == 0 || (h) == 1 && (q) == 1 || (h) == 2 && (q) == 0)

/* --- the engine --- */

bool owned;               /* by the NIC thread for more than one step */
bool needs_rearm;           /* since ownership was taken something happened that needs another arm() */
byte pending[2];          /* in the transport, by the queue they are for */
bool armed, readable;     /* the transport's descriptor: becomes readable by the next arrival; is readable */
byte unread[2];           /* events */
bool timer, due, was_set; /* a timer is set; its time has come; it was set once */
#if LATE
bool attached;
#else
#define attached true
#endif
#define NOTHING_PENDING (!attached || pending[0] + pending[1] == 0)

#if LOOP
bool announced = true;    /* the first queue's descriptor is readable, as it is at first */
bool polled;              /* the loop drives, and polls that queue next */
#endif

bool sleeper;             /* a host sleeps for the engine */
bool nic_asleep;
bool host_believes;       /* the host that sleeps knows of the timer */
#ifdef MUTANT_ONE_BELIEF
#define nic_believes host_believes
#else
bool nic_believes;        /* the NIC thread that sleeps knows of the timer */
#endif
bool host_doorbell, nic_doorbell; /* eventfds */

byte hosts_waiting;
bool host_drove;          /* host_drives has moved since the NIC thread looked */
mtype = { TICKING, DEEP }; /* readers treat OUT as TICKING */
mtype lease = TICKING;
bool parked;              /* the NIC thread waits for its doorbell and its alarm, without a timer of its own */
mtype { UNSET, SET, EXPIRED };
mtype alarm_state = UNSET; /* a timerfd: readable once it has expired; to set it makes it unreadable again */
#if STOP
bool stop, nic_ended;
#else
#define stop false
#endif
#if BUFFERS
mtype lease_buffer;       /* stored by the NIC thread, not visible to others yet; 0: nothing */
bool sleeper_seen;        /* `sleeper` as the NIC thread sees it without ownership */
#else
#define sleeper_seen sleeper
#endif

/* struct waiter, by host */
bool registered[3], role[3], notified[3];
bool fresh[3];   /* notified by this owner, not collected yet */
bool blocked[3]; /* in futex_wait(woken) */
bool claimed[3];
#define NONE 3
byte looking = NONE; /* the host that drives and polls its queues next */

/*
 * Guard of a command, which is one atomic step.  Only the NIC thread owns for longer.  It admits commands where it drains;
 * then the NIC thread rearms and wakes for them.
 */
#if NIC == 1
bool draining, served;
#define OWN (!owned || draining)
#else
bool served; /* dedicated mode: a command ran after the NIC thread drained last */
#define OWN true
#endif

/* --- waking: under ownership --- */

#define SLUMBERS(h, q) (registered[h] && !notified[h] && WAITS(h, q))
#define WAITER(h, q) :: SLUMBERS(h, q) && !LEFT_TO_LOOKER(q) -> notified[h] = true; fresh[h] = true
#define LEFT_TO_LOOKER(q) (looking != NONE && !claimed[looking % 3] && WAITS(looking, q))

inline notify(q)
{
	if
	WAITER(0, q)
	WAITER(1, q)
	WAITER(2, q)
	:: (SLUMBERS(0, q) || SLUMBERS(1, q) || SLUMBERS(2, q)) && LEFT_TO_LOOKER(q) -> claimed[looking % 3] = true
	:: else
	fi
}

inline post(q)
{
	unread[q]++;
#if LOOP && !defined(MUTANT_POST_ANNOUNCES_NOTHING)
	announced = announced || q == 0 && !polled;
#endif
	notify(q)
}

inline collect_one(h)
{
	if
	:: fresh[h] ->
		fresh[h] = false;
		if
#ifdef MUTANT_SLEEPER_NOT_WOKEN
		:: role[h]
#else
		:: role[h] -> wake_owed = true
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

inline wake_sleeper()
{
	if
	:: wake_owed && sleeper -> host_doorbell = true
	:: wake_owed && !sleeper && nic_asleep -> nic_asleep = false; nic_doorbell = true
	:: else
	fi;
	wake_owed = false
}

/* A host and the NIC thread may be asleep, and neither waits on a descriptor that is new. */
inline wake_all()
{
#if defined(MUTANT_ATTACH_WITHOUT_WAKE_UP)
	skip
#elif defined(MUTANT_ATTACH_WAKES_ONE)
	wake_owed = true;
	wake_sleeper()
#else
	host_doorbell = host_doorbell || sleeper;
	nic_doorbell = nic_doorbell || nic_asleep;
	nic_asleep = false
#endif
}

inline wake_one(h)
{
	if
	:: wake[h] -> wake[h] = false; blocked[h] = false
	:: else
	fi
}

#define TO_WAKE (wake[0] || wake[1] || wake[2])

/* Runs after the critical section. */
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

/* Delivers one message, or several, or all. */
inline drive()
{
	needs_rearm = true;
	armed = false;
	readable = false;
	do
	:: attached && pending[0] > 0 -> pending[0]--; work = true; post(0)
	:: attached && pending[1] > 0 -> pending[1]--; work = true; post(1)
	:: work || NOTHING_PENDING -> break
	od;
#if TIMER
	if
	:: timer && due -> run_timer() /* not at every drive */
	:: !was_set -> timer = true; was_set = true
	:: true
	fi
#endif
}

/* `h` polls its queues next, or is NONE. */
inline drive_and_look(h)
{
	looking = h;
	drive();
	looking = NONE
}

/* The outcome is in `armed`: the thread may sleep, if `timer` wakes it, too. */
inline arm()
{
	armed = false;
	readable = false;
	if
	:: timer && due ->
		run_timer();
#ifdef MUTANT_ARM_FORGETS_WHAT_TIMERS_DID
		armed = NOTHING_PENDING
#endif
	:: else -> armed = NOTHING_PENDING
	fi
}

#ifdef MUTANT_EARLIER_TIMER_WITHOUT_WAKE_UP
#define EARLIER_TIMER false
#else
#define EARLIER_TIMER (timer && !(sleeper -> host_believes : nic_believes))
#endif

inline rearm_sleeper()
{
	if
	:: !sleeper && !nic_asleep
	:: (sleeper || nic_asleep) && !needs_rearm -> wake_owed = EARLIER_TIMER
	:: !sleeper && nic_asleep && needs_rearm -> wake_owed = true /* after REARM_DRIVES */
	:: (sleeper || nic_asleep) && needs_rearm ->
#ifdef MUTANT_NO_REARMING
		wake_owed = EARLIER_TIMER
#else
		arm();
#ifdef MUTANT_REARMING_FAILS_SILENTLY
		wake_owed = EARLIER_TIMER
#else
		wake_owed = (!armed || EARLIER_TIMER)
#endif
#endif
	fi
}

/* The end of a critical section; wake_up() follows after it. */
inline give_back()
{
#if NIC == 2
	served = true; /* the NIC thread ran the command, and was woken if it slept */
	needs_rearm = false;
	if
	:: nic_asleep -> nic_asleep = false; nic_doorbell = true
	:: else
	fi
#else
	if
#if NIC == 1
	:: draining -> served = true
#endif
	:: else ->
		rearm_sleeper();
		collect();
		wake_sleeper();
		owned = false;
		needs_rearm = false
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

inline drive_once(h)
{
#if NIC == 2
	skip
#else
	if
	:: atomic { !owned -> drive_and_look(h); give_back() };
		wake_up()
	:: owned
	fi
#endif
}

/* For a host that drives; `again` if it must not sleep yet. */
inline become_sleeper(h)
{
	drive_and_look(h);
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
				needs_rearm = false;
				sleeper = true;
#ifdef MUTANT_ALARM_ENDED_BY_SLEEPER
				alarm_state = UNSET
#endif
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
	registered[h] = !again;
	claimed[h] = claimed[h] && again
}

#define SUCCESSOR(h) :: registered[h] && !notified[h] -> notified[h] = true; fresh[h] = true

#define WAKES_UP(h) (registered[h] && notified[h])

/* Without a sleeper one of the blocked waiters becomes it, unless a waiter is about to wake up, which will see to it. */
inline hand_on()
{
	if
	:: !sleeper && !WAKES_UP(0) && !WAKES_UP(1) && !WAKES_UP(2) ->
		if
		SUCCESSOR(0)
		SUCCESSOR(1)
		SUCCESSOR(2)
		:: else
		fi
	:: else
	fi
}

inline pass_on(h)
{
#ifdef MUTANT_EVENTS_NOT_PASSED_ON
	skip
#else
	if
	:: WAITS(h, 0) && unread[0] > 0 -> notify(0)
	:: else
	fi;
	if
	:: WAITS(h, 1) && unread[1] > 0 -> notify(1)
	:: else
	fi
#endif
}

/* The leaving host is responsible for the other blocked waiters until it sleeps again or returns. */
inline wait_leave(h)
{
	registered[h] = false;
	notified[h] = false;
	blocked[h] = false;
	needs_rearm = true;
	slept = role[h];
	role[h] = false;
	sleeper = sleeper && !slept;
	others_blocked = (registered[0] || registered[1] || registered[2]);
#ifdef MUTANT_ROLE_PASSED_ON_BY_SLEEPER_ONLY
	if
	:: slept -> hand_on()
	:: else
	fi;
	others_blocked = false
#endif
#ifdef MUTANT_ROLE_NOT_HANDED_ON
	others_blocked = false
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
#if ALARM
		:: ended -> alarm_state = SET
#else
		:: ended -> nic_doorbell = true
#endif
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
		:: late = true /* its deadline wakes it, unless something else does before */
		:: true
		fi;
		if
		:: role[h] ->
			watches = attached;
end_sleeper:		watches && readable || host_doorbell || until && due || late;
			host_doorbell = false
		:: else ->
			atomic { blocked[h] = !notified[h] }; /* each notified waiter but the sleeper was woken */
end_blocked:		!blocked[h] || late
		fi;
		atomic { OWN; wait_leave(h); give_back(); late = false; until = false; watches = false };
		wake_up();
		if
		:: slept -> slept = false; nic_end_deep()
		:: else
		fi
	fi
}

#ifdef MUTANT_CLAIM_FORGOTTEN
#define OWES(h) others_blocked
#else
#define OWES(h) (others_blocked || claimed[h])
#endif

inline leave_in_order(h)
{
#if NIC == 2
	if
	:: OWES(h) && READY(h) -> atomic { OWN; pass_on(h); give_back() }; wake_up()
	:: else
	fi
#else
	if
	:: OWES(h) -> atomic { OWN; pass_on(h); hand_on(); give_back() }; wake_up()
	:: else
	fi
#endif
}

/* PtlEQWait, once. */
proctype host(byte me)
{
	bool got, work, wake_owed, again, ended, until, watches, late, slept, others_blocked;
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
		drive_once(me);
		if
		:: work -> work = false
		:: !work -> atomic { take(me); break } /* its deadline has passed */
		:: !work -> block(me)
		:: !work /* it polls again */
		fi
	od;
	leave_in_order(me);
	hosts_waiting--
}

/* Threads that never wait.  PtlEQGet takes an event for which a waiter was woken, or drives. */
#if OTHERS
active proctype others()
{
	bool work, wake_owed;
	bool wake[3];
	byte acts;

	do
	:: acts == OTHERS -> break
	:: atomic { acts < OTHERS && unread[0] > 0 -> unread[0]--; acts++ }
	:: atomic { acts < OTHERS && unread[1] > 0 -> unread[1]--; acts++ }
	:: atomic { acts < OTHERS -> acts++; host_drove = (NIC == 1) };
		drive_once(NONE);
		work = false
	:: atomic { /* a put to this process itself: in the transport, but no descriptor becomes readable */
			acts < OTHERS && OWN;
			acts++;
			if
			:: pending[0]++
			:: pending[1]++
			fi;
#ifndef MUTANT_PUT_WITHOUT_REARMING
			needs_rearm = true;
#endif
			give_back()
		};
		wake_up()
	od
}
#endif

/*
 * A loop on the first queue: PtlEQGet, then sleep; after an event the loop may call again instead.  LOOP times something else
 * wakes it.
 */
#if LOOP

/* The queue was empty.  Under ownership, so that no event is posted before the descriptor is reset. */
inline look_at_announced()
{
#ifdef MUTANT_ARMED_WITHOUT_OWNERSHIP
	if
	:: unread[0] == 0 -> announced = false
	:: else
	fi
#else
	atomic {
		OWN;
		if
		:: unread[0] > 0 -> unread[0]--
		:: else -> announced = false
		fi;
		give_back()
	};
	wake_up()
#endif
}

inline look_by_driving()
{
#if NIC == 2
	skip
#else
	if
	:: atomic { !owned -> polled = true; drive(); polled = false;
			host_drove = (NIC == 1);
			work = false;
			if
			:: unread[0] > 0 -> unread[0]--; got = true
			:: else
			fi;
#ifndef MUTANT_REST_NOT_ANNOUNCED
			announced = announced || unread[0] > 0;
#endif
			give_back()
		};
		wake_up()
	:: owned
	fi
#endif
}

active proctype loop()
{
	bool work, wake_owed, got;
	bool wake[3];
	byte others;

	do
	:: atomic {
			if
			:: unread[0] > 0 -> unread[0]--; got = true
			:: else
			fi
		};
		if
		:: got
		:: !got && announced -> look_at_announced()
		:: else -> look_by_driving()
		fi;
		if
		:: atomic { got -> got = false }
		:: true ->
			got = false;
end_loop:		if
			:: others < LOOP -> others++
			:: announced
			fi
		fi
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

#if LATE
active proctype opener()
{
	bool wake_owed;
	bool wake[3];

	atomic {
		OWN;
		attached = true;
		needs_rearm = true;
		wake_all();
		give_back()
	};
	wake_up()
}
#endif

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
	bool work, wake_owed, until, watches;
	bool wake[3];

	do
	:: atomic { served = false; drive(); collect() };
		wake_up();
		if
		:: work -> work = false
		:: else ->
			atomic { arm(); until = timer };
			if
			:: atomic { armed && !served -> nic_asleep = true };
				watches = attached;
end_asleep:			watches && readable || nic_doorbell || until && due;
				nic_doorbell = false;
				atomic { nic_asleep = false; watches = false }
			:: !armed || served
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
	deep = deep && !stop;
	if
	:: deep
	:: else -> atomic { store_lease(TICKING) }
	fi
}

#else

inline go_deep()
{
	atomic { sleeper && !stop -> deep = true; lease = DEEP }
}

#endif

/* Owner on entry, not on return. */
inline serve()
{
	do
	:: atomic {
			hosts_drive();
			if
			:: driven || stop -> give_back(); break
			:: else -> drive()
			fi
		};
		draining = true;
		atomic {
			draining = false;
			if
			:: work || served -> work = false; served = false; collect(); wake_sleeper()
			:: else ->
				arm();
				if
				:: armed ->
					until = timer;
					nic_believes = timer;
					needs_rearm = false;
					nic_asleep = true;
					asleep = true;
					give_back()
				:: else
				fi
			fi
		};
		wake_up();
		if
		:: asleep ->
			watches = attached;
end_asleep:		watches && readable || nic_doorbell || until && due;
			nic_doorbell = false;
			atomic { nic_asleep = false; asleep = false; until = false; watches = false };
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
#ifdef MUTANT_STALE_ALARM_READ_BEFORE_SLEEP
			atomic {
				if
				:: alarm_state == EXPIRED -> alarm_state = UNSET
				:: else
				fi
			};
#endif
			atomic { flush_lease(); parked = true; deep = false }; /* the system call */
#ifdef MUTANT_ALARM_NOT_WATCHED
end_parked:		nic_doorbell;
#else
end_parked:		nic_doorbell || alarm_state == EXPIRED;
#endif
			atomic {
				parked = false;
				nic_doorbell = false;
				if /* nothing is read of a timer that was set anew meanwhile, or that poll() did not see */
				:: alarm_state == EXPIRED -> alarm_state = UNSET
				:: true
				fi
			};
			atomic { store_lease(TICKING) }
		:: else ->
end_ticking:		hosts_waiting == 0 || host_drove || sleeper_seen || stop || nic_doorbell;
			nic_doorbell = false;
			if
			:: hosts_waiting == 0 -> break /* a peer has written to the late doorbell */
			:: true
			fi
		fi;
		atomic {
			hosts_drive();
			if
			:: !driven || stop -> break
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
	bool work, wake_owed, until, watches, asleep, driven, deep;
	bool wake[3];

	do
#if STOP
	:: stop -> nic_ended = true; break
#endif
	:: atomic { !stop && hosts_waiting == 0 -> owned = true; host_drove = false }; serve()
	:: atomic { !stop && hosts_waiting > 0 -> skip }; run_lease()
	od
}

#if ALARM
/* A tick has passed. */
active proctype alarm_clock()
{
end:	do
	:: atomic { alarm_state == SET -> alarm_state = EXPIRED }
	od
}
#endif

#if STOP
active proctype stopper()
{
	stop = true;
#ifndef MUTANT_STOP_WITHOUT_WAKE_UP
	nic_doorbell = true
#endif
}
#endif

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
#if LOOP
	assert(unread[0] == 0);
#endif
	assert(sleeper == (SLEEPS(0) || SLEEPS(1) || SLEEPS(2)));
#if NIC == 0
	assert(sleeper || !registered[0] && !registered[1] && !registered[2]);
	assert(hosts_waiting == 0 || pending[0] + pending[1] == 0 && !(timer && due))
#elif STOP
	assert(!owned && nic_ended)
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
