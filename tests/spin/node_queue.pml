/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of a receiving NIC (transports/node/node_queue.c): two senders append records of one or two lines to four slots.
 *
 *     -DRECORDS=n     records of a sender, at most
 *     -DLINES=n       lines of all records together, about: how many laps
 *     -DDEATHS=n      senders that die, at any step, in the end at the latest; the others live
 *     -DMUTANT_...    one error, see run.sh; verification has to fail
 *
 * Modelled: reserve(), look_at_head(), append_lines(), publish(); consume_one(), copy_record(), node_recover(), and that the
 * receiver lets a peer go (node_meet.c).  Not modelled: the fair share; repair of the tail, which honest peers do not need;
 * slabs, which are free when the head has passed, as lines are; wake-ups of the receiver (node_attention.pml).  STUCK_NS is
 * any time at all.  A sender that finds no room may try again or give up; after a record it may append to the queue of another
 * receiver, and its intent moves there.
 *
 * Claimed: a record that was appended is delivered once, in its sender's order, whole and unmixed, even if the sender died
 * afterwards; the receiver passes over no line but one that a dead sender has not published; it finds no honest peer corrupt;
 * and whenever no process can take a step any more (process `rest`), the receiver has reached the tail: neither the line of a
 * dead sender nor the intent of a living one that appends elsewhere stops it.
 *
 * Memory.  Stores are buffered in their thread and flushed at any time in any order, as in own.pml.  An operation with
 * release semantics flushes the earlier ones first, and so does death, before a pidfd reports it.  Loads happen in order.
 * Two stores have no buffer: of an intent, and of a body whose line is published by a release store.  No step between the
 * store and its flush could tell a late store from a slow sender.
 */
#ifndef RECORDS
#define RECORDS 2
#endif
#ifndef LINES
#define LINES 8
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define SLOTS   4
#define SENDERS 2

/* --- memory --- */

/* Words of a slot and of an intent, each in a byte; no record ends behind position LINES. */
#define SEQUENCE(position, lines) (((position) + 1) * 4 + (lines))
#define POSITION_OF(sequence)     ((sequence) / 4 - 1)
#define LINES_OF(sequence)        ((sequence) % 4)
#define INTENT(position, lines)   (((position) + 1) * 4 + (lines))
#define ELSEWHERE                 0
#define BODY(sender, record, line) (1 + (sender)*2 * (RECORDS + 1) + (record)*2 + (line))

byte sequence[SLOTS], body[SLOTS];
byte intent[SENDERS];
byte tail, head;

/* Of the two lines that sender s is writing; 0: nothing.  The value of a body contains its slot. */
#define TWO(s, line) (2 * (s) + (line))
byte sequence_buffer[2 * SENDERS], body_buffer[2 * SENDERS];
byte intent_buffer[SENDERS]; /* value + 1, or 0 */

#define SLOT_AT(position) ((position) % SLOTS)
#define FLUSH_BODY(s, line) \
	body_buffer[TWO(s, line)] -> body[body_buffer[TWO(s, line)] / 64] = body_buffer[TWO(s, line)] % 64; \
	body_buffer[TWO(s, line)] = 0
#define FLUSH_SEQUENCE(s, line) \
	sequence_buffer[TWO(s, line)] -> \
	sequence[SLOT_AT(POSITION_OF(sequence_buffer[TWO(s, line)]))] = sequence_buffer[TWO(s, line)]; \
	sequence_buffer[TWO(s, line)] = 0
#define FLUSH_INTENT(s) intent_buffer[s] -> intent[s] = intent_buffer[s] - 1; intent_buffer[s] = 0

inline flush_lines(s)
{
	if
	:: FLUSH_BODY(s, 1)
	:: else
	fi;
	if
	:: FLUSH_BODY(s, 0)
	:: else
	fi;
	if
	:: FLUSH_SEQUENCE(s, 1)
	:: else
	fi;
	if
	:: FLUSH_SEQUENCE(s, 0)
	:: else
	fi
}

inline flush_all(s)
{
	flush_lines(s);
	if
	:: FLUSH_INTENT(s)
	:: else
	fi
}

#define FLUSHABLE(s) \
	:: atomic { FLUSH_BODY(s, 0) } \
	:: atomic { FLUSH_BODY(s, 1) } \
	:: atomic { FLUSH_SEQUENCE(s, 0) } \
	:: atomic { FLUSH_SEQUENCE(s, 1) } \
	:: atomic { FLUSH_INTENT(s) }

active proctype flusher()
{
end:	do
	FLUSHABLE(0)
	FLUSHABLE(1)
	od
}

#ifdef MUTANT_PUBLISH_RELAXED
#define PUBLISH_RELEASE(s) skip
#else
#define PUBLISH_RELEASE(s) flush_all(s)
#endif
#ifdef MUTANT_INTENT_RELAXED
#define INTENT_RELEASE(s) skip
#else
#define INTENT_RELEASE(s) flush_lines(s)
#endif
#ifdef MUTANT_RESERVE_RELAXED
#define RESERVE_RELEASE(s) flush_lines(s)
#else
#define RESERVE_RELEASE(s) flush_all(s)
#endif

/* --- what is claimed --- */

bool killed[SENDERS], dead[SENDERS]; /* dead: its pidfd is readable */
bool forgotten[SENDERS];             /* by the receiver, which drops records from there */
byte winner[SLOTS];                  /* of the line that is there or will be */
byte appended[SENDERS], delivered[SENDERS];

/* --- senders --- */

inline store_intent(s, value)
{
	INTENT_RELEASE(s);
#ifdef MUTANT_RESERVE_RELAXED
	intent_buffer[s] = (value) + 1
#else
	intent[s] = value
#endif
}

#define FITS(position) ((position) + k - head_seen >= 0 && (position) + k - head_seen <= SLOTS)

/* It reads the tail first: a head that is read later is at most the length of the queue behind it. */
inline has_room()
{
	atomic { fits = FITS(tail); tail_seen = tail };
	if
	:: fits
	:: else ->
#ifdef MUTANT_HEAD_BEFORE_TAIL
		head_seen = head;
		atomic { tail_seen = tail; assert(tail_seen - head_seen <= SLOTS); fits = FITS(tail) }
#else
		atomic { head_seen = head; assert(tail_seen - head_seen <= SLOTS); fits = FITS(tail) }
#endif
	fi
}

inline compare_and_swap(s)
{
	RESERVE_RELEASE(s);
	won = (tail == position);
	if
	:: won ->
		tail = position + k;
		tail_seen = 0;
		head_seen = 0;
		winner[SLOT_AT(position)] = s;
		winner[SLOT_AT(position + k - 1)] = s
	:: else -> position = tail; fits = FITS(position)
	fi
}

/* The outcome is in `won`. */
inline reserve(s)
{
	do
	:: !won ->
#ifdef MUTANT_NO_ROOM_ASKED_FOR
		fits = true;
#endif
		if
		:: fits
		:: else -> has_room()
		fi;
		if
		:: fits
		:: else ->
#ifndef MUTANT_INTENT_LEFT
			atomic { store_intent(s, ELSEWHERE) };
#endif
			break
		fi;
#ifndef MUTANT_INTENT_AFTER_RESERVING
		atomic { store_intent(s, INTENT(position, k)) };
#endif
		atomic { compare_and_swap(s) }
	:: else -> break
	od;
#ifdef MUTANT_INTENT_AFTER_RESERVING
	if
	:: won -> atomic { store_intent(s, INTENT(position, k)) }
	:: else
	fi
#endif
}

/* The receiver reads a body after its line is published, so an earlier flush makes no difference. */
inline publish(s, line, lines, number)
{
	atomic {
		body_buffer[TWO(s, line)] = SLOT_AT(position + line) * 64 + BODY(s, number, line);
		PUBLISH_RELEASE(s);
		sequence_buffer[TWO(s, line)] = SEQUENCE(position + line, lines);
		if
		:: line == 0 -> appended[s]++
		:: else
		fi
	}
}

inline publish_second(s)
{
#ifdef MUTANT_SEQUENCE_IN_FIRST_LINE_ONLY
	/* The second line has user data in its place, which may look like any number. */
	atomic {
		sequence_buffer[TWO(s, 1)] = SEQUENCE(position + 1, 1);
		body_buffer[TWO(s, 1)] = SLOT_AT(position + 1) * 64 + BODY(s, appended[s], 1)
	}
#else
	publish(s, 1, 0, appended[s])
#endif
}

inline publish_lines(s)
{
#ifdef MUTANT_FIRST_LINE_FIRST
	publish(s, 0, k, appended[s]);
	if
	:: k == 2 -> publish(s, 1, 0, appended[s] - 1)
	:: else
	fi
#else
	if
	:: k == 2 -> publish_second(s)
	:: else
	fi;
	publish(s, 0, k, appended[s])
#endif
}

proctype sender(byte me)
{
	byte k, position, head_seen, tail_seen;
	bool won, fits;

	{
		do
		:: atomic {
				appended[me] < RECORDS && tail + 1 <= LINES -> position = tail;
				if
				:: k = 1
				:: tail + 2 <= LINES -> k = 2
				fi;
				fits = FITS(position)
			};
			reserve(me);
			if
			:: won ->
				publish_lines(me);
				if
				:: atomic { skip; store_intent(me, ELSEWHERE) } /* it appends to the queue of another receiver */
				:: true
				fi;
				atomic { won = false; k = 0; position = 0 }
			:: else ->
				if
				:: atomic { head != head_seen -> head_seen = 0; tail_seen = 0 }
				:: break
				fi
			fi
		:: else -> break
		od
	} unless {
		dead[me]
	}
}

/* They die in the end at the latest: a sender that has ended can still die. */
active proctype killer()
{
	skip;
#if DEATHS > 0
	atomic { flush_all(0); dead[0] = true };
#endif
#if DEATHS > 1
	atomic { flush_all(1); dead[1] = true }
#endif
}

/* --- the receiver --- */

byte h; /* its private head; `head` follows */

#define PUBLISHED (sequence[SLOT_AT(h)] != 0 && POSITION_OF(sequence[SLOT_AT(h)]) == h)
#define COVERS(s) (intent[s] != ELSEWHERE && h >= POSITION_OF(intent[s]) && \
		   h < POSITION_OF(intent[s]) + LINES_OF(intent[s]))

inline deliver(from)
{
	assert(first == BODY(from, delivered[from], 0));
	assert(k == 1 || second == BODY(from, delivered[from], 1));
	assert(!forgotten[from]);
	delivered[from]++
}

/* The head is published before the next record, or after several. */
inline publish_head()
{
	if
	:: head = h
	:: PUBLISHED
	fi
}

/* No process reads it again; clearing it only makes fewer states. */
inline clear(position)
{
	sequence[SLOT_AT(position)] = 0;
	body[SLOT_AT(position)] = 0;
	winner[SLOT_AT(position)] = 0
}

inline copy(position)
{
	first = body[SLOT_AT(position)];
	clear(position);
	if
	:: k == 2 ->
#ifndef MUTANT_SEQUENCE_IN_FIRST_LINE_ONLY
		assert(sequence[SLOT_AT(position + 1)] == SEQUENCE(position + 1, 0));
#endif
		second = body[SLOT_AT(position + 1)];
		clear(position + 1)
	:: else
	fi;
	if
	:: first < BODY(1, 0, 0) -> deliver(0)
	:: else -> deliver(1)
	fi;
	first = 0;
	second = 0
}

/* A line without a number is of a sender that died before it had published the first line of its record. */
inline consume_one()
{
	atomic {
		PUBLISHED -> k = LINES_OF(sequence[SLOT_AT(h)]);
		if
		:: k == 0 -> assert(dead[winner[SLOT_AT(h)]]); clear(h); h++; head = h
		:: else
		fi
	};
	if
	:: k == 0
	:: else ->
#ifdef MUTANT_HEAD_BEFORE_COPY
		h = h + k;
		head = h;
		atomic { copy((h - k)); k = 0 }
#else
		atomic { copy(h); h = h + k; k = 0 }; publish_head()
#endif
	fi
}

#ifdef MUTANT_LIVING_PASSED_OVER
#define GONE(s) true
#elif defined(MUTANT_INTENT_NOT_LOOKED_AT)
#define GONE(s) dead[s]
#else
#define GONE(s) (!COVERS(s) || dead[s])
#endif

#ifdef MUTANT_PUBLISHED_LOOKED_AT_ONCE
#define PUBLISHED_MEANWHILE false
#else
#define PUBLISHED_MEANWHILE PUBLISHED
#endif

/* Repeated until a line has come or one is passed over.  Attempts that fail change nothing and are left out. */
inline recover()
{
#ifndef MUTANT_RECOVER_NEVER
	if
	:: PUBLISHED
	:: GONE(0) ->
		if
		:: PUBLISHED
		:: GONE(1) ->
			atomic {
				if
				:: PUBLISHED_MEANWHILE
				:: else ->
					assert(dead[winner[SLOT_AT(h)]] && !PUBLISHED);
#ifdef MUTANT_RECORD_PASSED_OVER
					h = h + (COVERS(0) && dead[0] -> LINES_OF(intent[0]) : 1)
#else
					clear(h);
					h++
#endif
;
					head = h
				fi
			}
		fi
	fi
#else
	PUBLISHED
#endif
}

/* The receiver forgets a dead peer when it has consumed everything that may be of that peer. */
#ifdef MUTANT_FORGOTTEN_AT_ONCE
#define NOTHING_FROM_IT true
#else
#define NOTHING_FROM_IT (tail == h)
#endif

#ifdef MUTANT_TAIL_NOT_LOOKED_AT
#define GIVEN_OUT true
#else
#define GIVEN_OUT (tail != h)
#endif

active proctype receiver()
{
	byte k, first, second;

end:	do
	:: consume_one()
	:: atomic { head == h && !PUBLISHED && GIVEN_OUT -> skip }; recover()
	:: atomic { dead[0] && !forgotten[0] && NOTHING_FROM_IT -> forgotten[0] = true }
	:: atomic { dead[1] && !forgotten[1] && NOTHING_FROM_IT -> forgotten[1] = true }
	od
}

active proctype rest()
{
	timeout;
	assert(h == tail);
	assert(delivered[0] == appended[0] && delivered[1] == appended[1])
}

init {
	atomic {
		run sender(0);
		run sender(1)
	}
}
