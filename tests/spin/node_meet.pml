/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two processes of one node connect by control messages that may be lost (transports/node/node_meet.c), while each of them
 * may restart at any moment as another incarnation under the same name.
 *
 *     -DRESTARTS=n    restarts of each side
 *     -DLOSSES=n      control messages that are lost, besides those that find a full socket or a name that is not bound
 *     -DWATCHED=0     no pidfd: a side learns of the end of an incarnation from the control messages of its successor only
 *     -DRENEWS=n      renewals of each side: another incarnation that keeps name and socket, with the messages in it
 *                     (transports/node/node_renew.c); with WATCHED=0 only, because the process does not end
 *     -DFORGETS=n     times that a side gives up a peer that lives; then records may be dropped until the peer notices
 *     -DMUTANT_...    one error, see run.sh; verification has to fail
 *
 * Modelled: node_connect(), write_to_peer(), read_introduction() with is_over(), handle_connect() and advance(), let_go(), reap(),
 * node_nobody_there(), node_number_give(); records that carry a number instead of an identity; the greetings that go with the
 * segments, of which only the tag matters here: take_greeting(), node_report_connected(), and the engine's two tags, which are in
 * every record.  Each of these is one step.  Not modelled: the proof of identity and uid, other versions and users, DISCONNECT (a
 * process leaves without it), segments that cannot be mapped, reuse of numbers.  Time: a side sends a connection request again
 * when all control messages have been read, and CONNECTS times besides.
 *
 * Claimed: a side appends to the queue of a living incarnation only if that incarnation has mapped the side's own segment; every
 * record is attributed to the incarnation that sent it; no record is dropped, neither by the transport nor by the engine, which
 * drops a record unless both tags are right (but see FORGETS); and whenever neither side can take a step any more (process
 * `rest`), both sides are OPEN to each other's last incarnation and both engines know both tags, after at most ENOUGH connection
 * requests and ENOUGH numbers.
 */
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef WATCHED
#define WATCHED 1
#endif
#ifndef RENEWS
#define RENEWS 0
#endif
#ifndef FORGETS
#define FORGETS 0
#endif
#ifndef CONNECTS
#define CONNECTS 1
#endif
#define OTHER (1 - me)
#define ENOUGH (LOSSES + 4 + RENEWS)

mtype = { CONNECT, INTRODUCTION };
#define UNVERIFIED 0
#define MET      1
#define OPEN     2

/* The newest incarnation of each side (from 1), and whether it has bound its name yet. */
byte incarnation[2] = 1;
bool bound[2];
byte losses, forgets;
byte repeats; /* of connection requests, since the last step that may need some */

/* What each side knows of the other: struct node_peer. */
byte meeting[2], known[2]; /* known: its incarnation; 0: none */
byte segment[2];           /* the incarnation whose segment is mapped; 0: none */
byte sender[2];            /* the number by which it knows us */
byte number[2], numbers[2]; /* the number by which we know it; how many were given */
byte ours[2], theirs[2];    /* tags of the greetings; 0: none */
byte tags[2];               /* how many were given, by all incarnations */
bool unreported[2];         /* the engine does not know `theirs` yet */

/* What the engine knows: the tags of a conversation. */
byte local_tag[2], remote_tag[2];

/* kind, from, to, number, its number, open, with the segment, tag */
chan control[2] = [2] of { mtype, byte, byte, byte, byte, bool, bool, byte };
chan queue[2] = [2] of { byte, byte, byte, byte }; /* number, and the incarnation that sent it; source and target tag */

/* --- peers --- */

#define GONE (WATCHED && known[me] && !(bound[OTHER] && incarnation[OTHER] == known[me]))

inline report()
{
	unreported[me] = false;
	local_tag[me] = ours[me];
	remote_tag[me] = theirs[me]
}

inline consume()
{
	queue[me]?appender, from, source, target;
	assert(FORGETS > 0 && number[me] != appender || number[me] == appender && segment[me] == from);
	if
#ifndef MUTANT_REPORTED_WHEN_OPEN
	:: number[me] == appender && unreported[me] -> report()
#endif
	:: else
	fi;
	assert(FORGETS > 0 || local_tag[me] == target && remote_tag[me] == source);
	source = 0; target = 0
}

/* Everything that the peer has appended is consumed before. */
inline let_go()
{
#ifndef MUTANT_LET_GO_AT_ONCE
	do
	:: nempty(queue[me]) -> consume()
	:: empty(queue[me]) -> break
	od;
#endif
	meeting[me] = UNVERIFIED;
	known[me] = 0;
	segment[me] = 0;
	sender[me] = 0;
#ifndef MUTANT_GREETING_KEPT
	theirs[me] = 0;
	unreported[me] = false;
#endif
	ours[me] = 0;
	local_tag[me] = 0; /* the engine is told */
	remote_tag[me] = 0;
#ifndef MUTANT_NUMBER_KEPT
	number[me] = 0
#endif
}

/* --- sending --- */

inline number_peer()
{
	if
	:: number[me] == 0 -> numbers[me]++; number[me] = numbers[me]; assert(numbers[me] <= ENOUGH)
	:: else
	fi
}

/* The tag goes with the number, so that a peer that repeats the number has our tag. */
#ifdef MUTANT_TAG_WITH_SEGMENT_ONLY
#define TOLD_TAG (with_segment -> ours[me] : 0)
#else
#define TOLD_TAG (number[me] -> ours[me] : 0)
#endif

inline write_to_peer(kind, proven)
{
	with_segment = (proven && meeting[me] != OPEN && !GONE);
	if
	:: with_segment ->
		number_peer();
		if
		:: ours[me] == 0 -> tags[me]++; ours[me] = tags[me]
		:: else
		fi
	:: else
	fi;
	if
	:: !bound[OTHER] || full(control[OTHER])
	:: losses < LOSSES -> losses++
	:: bound[OTHER] && nfull(control[OTHER]) ->
		control[OTHER]!kind, incarnation[me], known[me], number[me], sender[me], meeting[me] == OPEN, with_segment,
			TOLD_TAG
	fi;
	with_segment = false
}

#ifdef MUTANT_CONNECTS_ONCE
#define MAY_CONNECT (connects < CONNECTS)
#else
#define MAY_CONNECT (connects < CONNECTS || bound[OTHER] && empty(control[0]) && empty(control[1]))
#endif

inline connect()
{
	if
	:: connects < CONNECTS -> connects++
	:: else -> repeats++; assert(repeats <= ENOUGH)
	fi;
	if
	:: !bound[OTHER] && segment[me] -> let_go() /* node_nobody_there() */
	:: else -> write_to_peer(CONNECT, meeting[me] == MET)
	fi
}

inline append()
{
	appended = true;
	if
	:: segment[me] == incarnation[OTHER] && bound[OTHER] ->
		assert(FORGETS > 0 || segment[OTHER] == incarnation[me]);
		queue[OTHER]!sender[me], incarnation[me], local_tag[me], remote_tag[me]
	:: else /* to a segment that no process reads */
	fi
}

/* --- reading --- */

#ifdef MUTANT_MAPPED_BY_ANY_INCARNATION
#define TO_US true
#else
#define TO_US (to == incarnation[me])
#endif
#ifdef MUTANT_ANY_NUMBER_SAYS_MAPPED
#define HAS_MAPPED_US (TO_US && its_number != 0)
#else
#define HAS_MAPPED_US (TO_US && number[me] != 0 && its_number == number[me])
#endif
#ifdef MUTANT_SUCCESSOR_TAKEN_FOR_THE_SAME
#define IS_OVER false
#elif defined(MUTANT_NEW_NUMBER_BELIEVED)
#define IS_OVER (segment[me] && from != known[me])
#elif defined(MUTANT_NEW_NUMBER_NEVER_BELIEVED)
#define IS_OVER (segment[me] && (from != known[me] || to_us != sender[me]))
#else
#define IS_OVER (segment[me] && (from != known[me] || meeting[me] == OPEN && to_us != sender[me]))
#endif

inline advance()
{
	if
	:: with_it && !segment[me] && to_us != 0 ->
		segment[me] = from;
		meeting[me] = MET;
		advanced = true
	:: else
	fi;
	if
	:: meeting[me] == MET -> sender[me] = to_us
	:: else
	fi;
	if
#ifdef MUTANT_OPEN_WHEN_MET
	:: meeting[me] == MET ->
#else
	:: meeting[me] == MET && to_us != 0 && HAS_MAPPED_US ->
#endif
		meeting[me] = OPEN;
		advanced = true
	:: else
	fi
}

#ifdef MUTANT_CONNECT_ANSWERED_BY_NEWS_ONLY
#define ANSWER (advanced && !its_open)
#else
#define ANSWER (kind == CONNECT || advanced && !its_open)
#endif

#ifdef MUTANT_REPORTED_ONCE
#define NEWS (theirs[me] == 0)
#else
#define NEWS (theirs[me] != tag)
#endif

inline take_greeting()
{
	if
	:: tag != 0 && NEWS -> theirs[me] = tag; unreported[me] = true
	:: else
	fi
}

inline handle_connect()
{
	if
	:: !segment[me] ->
		meeting[me] = UNVERIFIED;
#ifndef MUTANT_GREETING_KEPT
		if
		:: known[me] != from ->
			theirs[me] = 0;
#ifdef MUTANT_OWN_GREETING_CHANGED
			ours[me] = 0;
#endif
			unreported[me] = false
		:: else
		fi;
#endif
		known[me] = from
	:: else
	fi;
	if
	:: GONE && !segment[me] /* it has ended since */
	:: else ->
		take_greeting();
		advance();
		if
		:: ANSWER -> write_to_peer(INTRODUCTION, true)
		:: else
		fi;
		if
		:: unreported[me] && meeting[me] == OPEN -> report()
		:: else
		fi
	fi
}

inline read_control()
{
	control[me]?kind, from, to, to_us, its_number, its_open, with_it, tag;
	if
	:: IS_OVER ->
		spare = from; /* kept over let_go() */
		let_go();
		from = spare;
		spare = 0
	:: else
	fi;
	handle_connect();
	kind = 0; from = 0; to = 0; to_us = 0; its_number = 0; its_open = false; with_it = false; tag = 0;
	advanced = false; appender = 0
}

/* --- one side --- */

inline forget_all()
{
	do
	:: nempty(queue[me]) -> queue[me]?appender, from, source, target
	:: empty(queue[me]) -> break
	od;
	repeats = 0;
	incarnation[me]++;
	meeting[me] = UNVERIFIED; known[me] = 0; segment[me] = 0; sender[me] = 0; number[me] = 0; numbers[me] = 0;
	ours[me] = 0; theirs[me] = 0; unreported[me] = false; local_tag[me] = 0; remote_tag[me] = 0; source = 0; target = 0;
	kind = 0; from = 0; to = 0; to_us = 0; its_number = 0; its_open = false; with_it = false; tag = 0;
	appender = 0; connects = 0; appended = false
}

inline begin_anew()
{
	do
	:: nempty(control[me]) -> control[me]?kind, from, to, to_us, its_number, its_open, with_it, tag
	:: empty(control[me]) -> break
	od;
	bound[me] = false;
	forget_all()
}

/* Under the same name: the control messages for the former incarnation are there. */
inline renew()
{
	renewals++;
	forget_all()
}

proctype side(byte me)
{
	mtype kind;
	byte from, to, to_us, its_number, tag, appender, source, target, spare, connects, renewals;
	bool its_open, with_it, with_segment, advanced, appended;

end:	do
	:: atomic { !bound[me] -> bound[me] = true }
	:: atomic { bound[me] && nempty(control[me]) -> read_control() }
	:: atomic { bound[me] && nempty(queue[me]) -> consume(); appender = 0; from = 0 }
	:: atomic { bound[me] && meeting[me] != OPEN && MAY_CONNECT -> connect() }
	:: atomic { bound[me] && meeting[me] == OPEN && local_tag[me] && !appended && nfull(queue[OTHER]) -> append() }
	:: atomic { bound[me] && GONE -> let_go(); appender = 0; from = 0 } /* reap() */
	:: atomic { segment[me] && forgets < FORGETS -> forgets++; repeats = 0; let_go(); appender = 0; from = 0 } /* failed */
	:: atomic { incarnation[me] - renewals <= RESTARTS -> begin_anew() }
	:: atomic { bound[me] && renewals < RENEWS -> renew() }
	od
}

active proctype rest()
{
	timeout;
	assert(meeting[0] == OPEN && meeting[1] == OPEN);
	assert(segment[0] == incarnation[1] && segment[1] == incarnation[0]);
	assert(sender[0] == number[1] && sender[1] == number[0]);
	assert(local_tag[0] && local_tag[0] == remote_tag[1]);
	assert(local_tag[1] && local_tag[1] == remote_tag[0])
}

init {
	atomic {
		run side(0);
		run side(1)
	}
}
