/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a receiver is woken: the attention of a segment (transports/node/node_queue.c, node.c, node_meet.c) between two senders
 * and a receiving process with two threads.  One thread sleeps for the engine, the other drives now and then.
 *
 *     -DHOST_POLLED=1 attention is HOST_POLLED, not AWAKE, unless ASLEEP: the thread that sleeps is the NIC thread, and
 *                     waits in a lease while the other drives; 0: it is a host in PtlEQWait, without a lease (host mode)
 *     -DTICK=0        wake-ups alone end a lease, no timer does when the host has stopped driving; then a sender that has
 *                     woken a sleeper checks later, too, whether its record was consumed, which the code does not do
 *     -DFALLS_ASLEEP=1  a sender wakes at most once for a deferred record, because it sleeps itself then
 *     -DWATCHED=0     no pidfd: the death of a sender causes no wake-up
 *     -DMESSAGES=n    messages of sender 1, which lives; sender 0 has one
 *     -DDRIVES=n      drives of the host
 *     -DMUTANT_...    one error, see run.sh; verification has to fail
 *
 * Modelled: reserve(), publish(), alert(), node_wake_deferred(); node_consume(), node_recover(), node_attend(), node_poll(),
 * node_arm(); control messages, which make the wait descriptor readable (the socket refuses a wake-up only if others are unread
 * there); reap() and let_go(); rearm_sleeper() and nic_wake() of the engine.  One sender may die at every step.  Not modelled:
 * room, records of several lines, forgetting a peer (node_queue.pml).  Ownership is a lock (see own.pml), and the same thread
 * sleeps always (see sleepers.pml).
 *
 * Claimed, whenever no process can take a step any more (process `rest`): the receiver has consumed or passed over everything
 * before the tail; without pidfds, everything of senders that live.
 *
 * Memory.  The store that publishes and the stores of attention are buffered.  Read-modify-writes of the tail, system
 * calls and, on the receiver's side, the fence and the release of ownership flush the buffers of their process.
 */
#ifndef HOST_POLLED
#define HOST_POLLED 1
#endif
#ifndef TICK
#define TICK 1
#endif
#ifndef FALLS_ASLEEP
#define FALLS_ASLEEP 0
#endif
#ifndef WATCHED
#define WATCHED 1
#endif
#ifndef MESSAGES
#define MESSAGES 1
#endif
#ifndef DRIVES
#define DRIVES 1
#endif
#define SENDERS 2
#define LINES   (1 + MESSAGES)
#define SENDS(s) ((s) == 0 -> 1 : MESSAGES)

/* --- the receiver's segment --- */

#define ATTENTION(epoch, asleep) ((epoch)*2 + (asleep))
#define ASLEEP(attention)        ((attention) % 2 == 1)

byte attention, attention_buffer; /* buffer: value + 1, or 0 */
byte tail, head;                  /* head: senders read it only to see what was consumed */
bool published[LINES];
byte publish_buffer[SENDERS]; /* position + 1, or 0 */
byte winner[LINES];

inline flush_sender(s)
{
	if
	:: publish_buffer[s] -> published[publish_buffer[s] - 1] = true; publish_buffer[s] = 0
	:: else
	fi
}

inline flush_attention()
{
	if
	:: attention_buffer -> attention = attention_buffer - 1; attention_buffer = 0
	:: else
	fi
}

active proctype flusher()
{
end:	do
	:: atomic { publish_buffer[0] -> flush_sender(0) }
	:: atomic { publish_buffer[1] -> flush_sender(1) }
	:: atomic { attention_buffer -> flush_attention() }
	od
}

/* --- the doorbell, and death --- */

bool wake;                /* there are unread wake-ups */
bool dead[SENDERS];
bool death_known[SENDERS]; /* the receiver has let it go and watches its pidfd no more */

#define DEATH_UNREAD(s) (WATCHED && dead[s] && !death_known[s])
#define READABLE        (wake || DEATH_UNREAD(0) || DEATH_UNREAD(1))

/* --- senders --- */

#ifdef MUTANT_WOKEN_BY_ONE_FOR_ALL
byte woken_from_any;
#define WOKEN_FROM woken_from_any
#else
#define WOKEN_FROM woken_from
#endif

#ifdef MUTANT_WAKES_WITHOUT_EPOCH
#define WOKEN_ALREADY (WOKEN_FROM != 0)
#else
#define WOKEN_ALREADY (WOKEN_FROM == seen)
#endif
#ifdef MUTANT_NOTHING_DEFERRED
#define DEFERS false
#else
#define DEFERS HOST_POLLED
#endif

/* The outcome is in `wakes`: the sender asks the kernel next to wake the receiver, if the sender lives. */
inline look_at_attention()
{
#ifndef MUTANT_ATTENTION_LOADED_FIRST
	seen = attention;
#endif
	if
	:: ASLEEP(seen) && !WOKEN_ALREADY ->
		WOKEN_FROM = seen;
		wakes = true;
#if !TICK && !defined(MUTANT_WAKES_OF_SLEEPERS_FORGOTTEN)
		deferred = (HOST_POLLED -> position + 1 : 0);
#endif
#ifdef MUTANT_SENDER_CLEARS
		attention = (attention == seen -> seen - 1 : attention)
#endif
	:: !ASLEEP(seen) && DEFERS -> deferred = position + 1
	:: else
	fi;
	seen = 0;
	position = 0
}

/* Runs now and then, when a deferred record has become late. */
inline wake_deferred(s)
{
	do
	:: deferred == 0 -> break
	:: atomic { deferred && head >= deferred -> deferred = 0 }
#if FALLS_ASLEEP || defined(MUTANT_DEFERRED_WOKEN_ONCE)
	:: atomic { deferred && head < deferred -> flush_sender(s); wake = true; deferred = 0 }
#else
	:: atomic { deferred && head < deferred && !wake -> flush_sender(s); wake = true }
#endif
	od
}

proctype sender(byte me)
{
	byte position, seen, woken_from, deferred, sent;
	bool wakes;

	{
		do
		:: sent == SENDS(me) -> break
		:: atomic {
				sent < SENDS(me) -> sent++;
#ifdef MUTANT_ATTENTION_LOADED_FIRST
				seen = attention
			};
			atomic {
#endif
				flush_sender(me);
				position = tail;
				winner[tail] = me;
				tail++
			};
			atomic { publish_buffer[me] = position + 1 };
			atomic { look_at_attention() };
			if
			:: atomic { wakes -> flush_sender(me); wake = true; wakes = false }
			:: !wakes
			fi;
#if MESSAGES > 1
			if
			:: wake_deferred(me)
			:: true /* it sends the next one first */
			fi
#endif
		od;
		wake_deferred(me)
	} unless {
		dead[me]
	}
}

/* Sender 0 dies at any step, in the end at the latest. */
active proctype killer()
{
	skip;
	atomic { flush_sender(0); dead[0] = true }
}

/* --- the receiver: under ownership --- */

bool owned;
byte h, epoch;             /* private */
bool nic_asleep, nic_doorbell; /* of the thread that sleeps: the NIC thread, or the host in PtlEQWait */
bool host_done;

#define STUCK (h < tail && !published[h])

inline own()
{
	atomic { !owned -> owned = true }
}

inline release()
{
	atomic { flush_attention(); owned = false }
}

inline attend(asleep)
{
#ifdef MUTANT_REARMED_WITH_SAME_EPOCH
	epoch = (epoch == 0 -> 1 : epoch);
#else
	epoch = epoch + asleep;
#endif
	attention_buffer = ATTENTION(epoch, asleep) + 1
}

inline consume()
{
	if
	:: h < tail && published[h] -> h++; head = h
	:: else
	fi
}

inline let_go(s)
{
	if
#ifdef MUTANT_LET_GO_AT_ONCE
	:: DEATH_UNREAD(s) -> death_known[s] = true
#else
	:: DEATH_UNREAD(s) && h == tail -> death_known[s] = true
#endif
	:: else
	fi
}

inline read_control()
{
	wake = false;
	consume();
	let_go(0);
	let_go(1)
}

inline recover()
{
	if
	:: STUCK && dead[winner[h]] -> h++; head = h
	:: else
	fi
}

#define ATTENDS_ASLEEP ASLEEP((attention_buffer -> attention_buffer - 1 : attention))

/* One poll consumes some of the records, and perhaps reads the control messages. */
inline drive()
{
	atomic {
		if
		:: ATTENDS_ASLEEP -> attend(0)
		:: else
		fi;
		consume();
		recover()
	};
	if
	:: atomic { READABLE -> read_control() }
	:: true
	fi
}

#ifdef MUTANT_SLOT_LOOKED_AT_INSTEAD_OF_TAIL
#define EMPTY !(h < tail && published[h])
#else
#define EMPTY (h == tail)
#endif

/* The outcome is in `armed`. */
inline arm()
{
	if
	:: READABLE -> armed = false
	:: atomic {
			else -> attend(1);
#ifndef MUTANT_NO_FENCE
			flush_attention()
#endif
		};
		atomic {
			armed = EMPTY;
			if
			:: armed
			:: else -> attend(0)
			fi
		};
#ifdef MUTANT_CONTROL_READ_AFTER_ARMING
		wake = false
#endif
	fi
}

/* --- its threads --- */

/* Drives until there is nothing to do, or hosts poll.  Owner on entry, not on return.  The outcome is in `asleep`. */
inline serve()
{
	do
	:: h < tail && published[h] || READABLE || STUCK && dead[winner[h]] -> drive()
	:: h == tail && !READABLE -> /* while a line is missing, it polls until the line is there or its sender has died */
		arm();
		if
		:: armed -> nic_asleep = true; asleep = true; release(); break
		:: else
		fi
	:: HOST_POLLED && !host_done -> release(); break
	od;
	armed = false
}

proctype sleeper()
{
	bool armed, asleep;

	do
	:: own();
		serve();
		if
		:: asleep ->
end_asleep:		READABLE || nic_doorbell;
			atomic { nic_asleep = false; nic_doorbell = false; asleep = false }
		:: else ->
end_lease:		READABLE || TICK && host_done
		fi
	od
}

/* The sleeper may go on sleeping only if it is armed again. */
inline rearm_sleeper()
{
	if
	:: nic_asleep ->
#ifdef MUTANT_NO_REARMING
		armed = true;
#else
		arm();
#endif
		if
		:: armed
		:: else ->
#ifndef MUTANT_SLEEPER_NOT_WOKEN
			atomic { nic_asleep = false; nic_doorbell = true }
#else
			skip
#endif
		fi
	:: else
	fi;
	armed = false
}

active proctype host()
{
	bool armed;
	byte drives;

	do
	:: drives == DRIVES -> break
	:: drives < DRIVES ->
		drives++;
		own();
		drive();
		rearm_sleeper();
		release()
	od;
	host_done = true
}

active proctype rest()
{
	timeout;
#if WATCHED
	assert(h == tail)
#else
	do
	:: h < tail -> assert(winner[h] == 0); h++
	:: h == tail -> break
	od
#endif
}

init {
	atomic {
		run sender(0);
		run sender(1);
		run sleeper()
	}
}
