/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long messages that are copied through the source's slabs (transports/node/node_pull.c; node_copy.c ends a read): the reader
 * asks for a stretch at a time, the source copies it piece by piece into slabs, and the reader copies the pieces out of them.
 *
 *     -DCROSS=0        the reader cannot read the source's memory, so it has nothing to do instead of waiting
 *     -DREADS=n        messages under way at a time
 *     -DMESSAGES=n     messages in all
 *     -DMUTANT_...     one error, see run.sh; verification has to fail
 *
 * Modelled: node_read(), node_pull_ask(), node_pulled_piece(), node_read_alone(), node_read_end(), node_copies_peer_lost();
 * node_pull_asked(), send_piece(), send_refusal(), and which slabs are free.  The source computes (and refuses optional
 * requests), does something else for any time, stops for good or dies at any step.  The reader finds no room in the source's
 * queue, times out at any moment when it may, and fails by itself.  Not modelled: the queues (node_queue.pml), wake-ups
 * (node_attention.pml), help (node_split.pml), malformed messages of a peer.
 *
 * Claimed: a message that ended well has all of its bytes, each written once and right; it ends once; nothing is written to
 * its memory after it has ended; the source copies nothing that it has deregistered, keeps at most as many requests as
 * there are reads, and gives a peer at most AHEAD slabs; the reader refuses no piece of an honest source; and whenever no process
 * can take a step any more (process `rest`), all messages have ended, unless the source has stopped and CROSS is 0.
 *
 * Memory.  The source's writes into a slab become visible late, at the latest with the release store that publishes the
 * record that names the slab.  The reader stores its head, with release, after its copy.
 */
#ifndef CROSS
#define CROSS 1
#endif
#ifndef READS
#define READS 1
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define PIECES  3 /* of a message */
#define STRETCH 2 /* pieces that one request is for */
#define SLABS   3
#define AHEAD   2

#define VALUE(message, piece) ((message) * PIECES + (piece) + 1)

mtype = { FREE, READY, PULLING }; /* enum node_read_state */
mtype = { OK, COMPUTES, DEREGISTERED };

chan asked = [1] of { byte, byte, byte, byte, byte };     /* NODE_PULL: read, generation, message, from, until */
chan pulled = [SLABS + 1] of { byte, byte, mtype, byte }; /* NODE_PULLED: read, generation, status, slab */
chan finished = [MESSAGES] of { byte };                   /* how the source learns that a message has ended */

byte slabs[SLABS];
byte buffered_slab, buffered_value; /* 1 + a slab; 0: nothing */
bool used[SLABS];                   /* the reader's head has not passed the record that names it */

bool dead, stops;

/* --- what is claimed --- */

bool deregistered[MESSAGES], ended[MESSAGES];
byte copied[MESSAGES]; /* a bit for each piece */

inline flush_slab()
{
	if
	:: buffered_slab -> slabs[buffered_slab - 1] = buffered_value; buffered_slab = 0; buffered_value = 0
	:: else
	fi
}

active proctype flusher()
{
end:	do
	:: atomic { buffered_slab -> flush_slab() }
	od
}

active proctype killer()
{
	if
	:: dead = true
	:: stops = true /* it does not die later: that would be the case of a late death */
	:: true
	fi
}

/* --- the source --- */

typedef request {
	bool kept;
	byte generation, message, at, until;
};
request requests[READS];
byte surplus; /* requests for a read that has another request already */

#define IN_USE (used[0] + used[1] + used[2])
#ifdef MUTANT_AHEAD_NOT_BOUNDED
#define ROOM (IN_USE < SLABS && nfull(pulled))
#else
#define ROOM (IN_USE < AHEAD && nfull(pulled))
#endif

inline hear(r)
{
	atomic {
#ifdef MUTANT_OLDER_REQUEST_KEPT
		if
		:: requests[r].kept -> surplus++
		:: else
		fi;
#endif
		assert(surplus == 0);
		requests[r].kept = true;
		requests[r].generation = generation;
		requests[r].message = message;
		requests[r].at = at;
		requests[r].until = until;
		generation = 0;
		message = 0;
		at = 0;
		until = 0
	}
}

inline refuse(r, why)
{
	atomic {
		pulled!r, requests[r].generation, why, SLABS;
		slab = 0;
		requests[r].kept = false
	}
}

inline copy_to_slab(r)
{
	atomic {
		slab = (used[0] -> (used[1] -> 2 : 1) : 0);
#ifndef MUTANT_KEY_NOT_LOOKED_UP
		if
		:: !deregistered[requests[r].message] ->
#endif
			assert(!deregistered[requests[r].message]);
			flush_slab();
			buffered_slab = slab + 1;
			buffered_value = VALUE(requests[r].message, requests[r].at);
#ifndef MUTANT_SLAB_FREE_AT_ONCE
			used[slab] = true;
#endif
			assert(IN_USE <= AHEAD)
#ifndef MUTANT_KEY_NOT_LOOKED_UP
		:: else -> slab = SLABS
		fi
#endif
	}
}

inline publish(r)
{
	atomic {
		skip;
#ifndef MUTANT_PUBLISH_RELAXED
		flush_slab();
#endif
		pulled!r, requests[r].generation, OK, slab;
		requests[r].at++;
		if
		:: requests[r].at == requests[r].until -> requests[r].kept = false
		:: else
		fi;
		slab = 0
	}
}

inline serve(r)
{
	copy_to_slab(r);
	if
	:: slab == SLABS -> refuse(r, DEREGISTERED)
	:: else -> publish(r)
	fi
}

#define SERVES(r)  (requests[r].kept && ROOM)
#define REFUSES(r) (CROSS && requests[r].kept && nfull(pulled))

active proctype source()
{
	byte read, generation, message, at, until, slab;

	{
end:		do
		:: atomic { asked?read, generation, message, at, until -> hear(read); read = 0 }
		:: atomic { finished?message -> deregistered[message] = true; message = 0 }
		:: SERVES(0) -> serve(0)
		:: REFUSES(0) -> refuse(0, COMPUTES)
#if READS > 1
		:: SERVES(1) -> serve(1)
		:: REFUSES(1) -> refuse(1, COMPUTES)
#endif
#ifdef MUTANT_NO_ROOM_FORGOTTEN
		:: atomic { requests[0].kept && IN_USE >= AHEAD -> requests[0].kept = false }
#endif
		:: stops -> break
		od
	} unless {
		dead
	}
}

/* --- the reader --- */

typedef reading {
	mtype state = FREE;
	byte generation, message, at, until;
	bool alone;
};
reading reads[READS];
bool lost; /* the reader knows that the source is dead */

#define MESSAGE(r) reads[r].message

/* Copies a piece, out of a slab or from the source's memory. */
inline copy(r, value)
{
	assert(!ended[MESSAGE(r)]);
	assert(value == VALUE(MESSAGE(r), reads[r].at));
	assert((copied[MESSAGE(r)] & (1 << reads[r].at)) == 0);
	copied[MESSAGE(r)] = copied[MESSAGE(r)] | (1 << reads[r].at);
	reads[r].at++
}

inline end_read(r, well)
{
	assert(!ended[MESSAGE(r)]);
	assert(!(well) || copied[MESSAGE(r)] == (1 << PIECES) - 1);
	ended[MESSAGE(r)] = true;
	finished!MESSAGE(r);
	reads[r].generation++;
	reads[r].state = FREE;
	reads[r].at = 0;
	reads[r].until = 0;
	reads[r].alone = false
}

inline read_alone(r)
{
#ifndef MUTANT_GENERATION_STAYS
	reads[r].generation++;
#endif
#ifdef MUTANT_ALONE_FROM_THE_BEGINNING
	reads[r].at = 0;
#endif
#ifdef MUTANT_ALONE_BEHIND_THE_STRETCH
	reads[r].at = reads[r].until;
#endif
	reads[r].alone = true;
	reads[r].state = READY
}

inline start(r)
{
	atomic {
		MESSAGE(r) = started;
		started++;
		reads[r].generation++;
		reads[r].state = READY;
		if
		:: lost -> end_read(r, false)
		:: else
		fi
	}
}

inline ask(r)
{
	atomic {
		if
		:: nfull(asked) ->
			if
			:: reads[r].at + STRETCH < PIECES -> reads[r].until = reads[r].at + STRETCH
			:: else -> reads[r].until = PIECES
			fi;
			asked!r, reads[r].generation, MESSAGE(r), reads[r].at, reads[r].until;
			reads[r].state = PULLING;
			if
			:: true
			:: end_read(r, false) /* its own memory is not there */
			fi
		:: full(asked) && CROSS -> read_alone(r)
		fi
	}
}

inline copy_alone(r)
{
	atomic {
		if
		:: dead -> end_read(r, false)
		:: !dead ->
			assert(!deregistered[MESSAGE(r)]);
			copy(r, VALUE(MESSAGE(r), reads[r].at));
			if
			:: reads[r].at == PIECES -> end_read(r, true)
			:: else
			fi
		fi
	}
}

inline advance(r)
{
	if
	:: reads[r].at == PIECES -> atomic { end_read(r, true) }
	:: reads[r].at < PIECES && reads[r].alone -> copy_alone(r)
	:: reads[r].at < PIECES && !reads[r].alone -> ask(r)
	fi
}

/* A read is blocked without room for its request. */
#define ADVANCES(r) (reads[r].state == READY && (nfull(asked) || reads[r].alone || CROSS))

#ifdef MUTANT_GENERATION_NOT_COMPARED
#define BELATED(r) (reads[r].state != PULLING)
#else
#define BELATED(r) (generation < reads[r].generation)
#endif

inline take_piece(r)
{
	if
	:: BELATED(r)
	:: else ->
		assert(reads[r].state == PULLING);
#ifndef MUTANT_GENERATION_NOT_COMPARED
		assert(reads[r].generation == generation);
#endif
		if
		:: status == COMPUTES -> read_alone(r)
		:: status == DEREGISTERED -> end_read(r, false)
		:: status == OK ->
			copy(r, slabs[slab]);
			if
#ifdef MUTANT_ENDED_WITH_THE_STRETCH
			:: reads[r].at == reads[r].until -> end_read(r, true)
#else
			:: reads[r].at == PIECES -> end_read(r, true)
			:: reads[r].at == reads[r].until && reads[r].at < PIECES -> reads[r].state = READY
#endif
			:: else
			fi
		fi
	fi
}

/* The head passes the record: the source may use the slab again. */
inline free_slab()
{
	if
	:: slab < SLABS -> used[slab] = false
	:: else
	fi
}

inline consume()
{
	atomic {
		pulled?read, generation, status, slab;
#ifdef MUTANT_HEAD_BEFORE_COPY
		free_slab()
	};
	atomic {
		take_piece(read);
#else
		take_piece(read)
	};
	atomic {
		free_slab();
#endif
		read = 0;
		generation = 0;
		status = OK;
		slab = 0
	}
}

inline lose(r)
{
#ifdef MUTANT_LOST_WHAT_HAD_ENDED
	end_read(r, false)
#else
	if
	:: reads[r].state != FREE -> end_read(r, false)
	:: else
	fi
#endif
}

#ifdef MUTANT_PATIENT_FOR_EVER
#define IMPATIENT(r) false
#else
#define IMPATIENT(r) (CROSS && reads[r].state == PULLING)
#endif

active proctype reader()
{
	byte started, read, generation, slab;
	mtype status = OK;

end:	do
	:: nempty(pulled) -> consume()
	:: started < MESSAGES && reads[0].state == FREE -> start(0)
	:: ADVANCES(0) -> advance(0)
	:: atomic { IMPATIENT(0) -> read_alone(0) }
#if READS > 1
	:: started < MESSAGES && reads[1].state == FREE -> start(1)
	:: ADVANCES(1) -> advance(1)
	:: atomic { IMPATIENT(1) -> read_alone(1) }
#endif
#ifndef MUTANT_DEATH_NOT_TOLD
	/* After everything that the source has sent is consumed. */
	:: atomic { dead && empty(pulled) && !lost -> lost = true; lose(0);
#if READS > 1
		lose(1)
#endif
	   }
#endif
	od
}

active proctype rest()
{
	byte i;

	timeout;
	do
	:: i < MESSAGES -> assert(ended[i] || stops && !CROSS); i++
	:: else -> break
	od
}
