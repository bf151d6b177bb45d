/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One long message copied by two processes (transports/node/node_split.c; node_read.c ends a read): the reader takes chunks
 * from the front; the helper, which is the sender of the message, writes chunks from the back.
 *
 *     -DGENERATIONS=n  how often the claim is used
 *     -DMUTANT_...     one error, see run.sh; verification has to fail
 *
 * Modelled: the three words of a claim; node_split_open(), node_split_take(), node_split_close(), node_split_result(),
 * node_read_settle(); take_from_back(), help_with(), tell_reader(); and a reader that sleeps until the last chunk is written
 * (node_arm(), node_attend()).  Two processes help, each with any of the generations.  A helper reads the request late or
 * never, does something else instead of the next chunk, stops between taking and writing for some time or for good, or fails
 * to write; one helper dies at any step.  A read may fail: then the reader takes all chunks that are left, and waits as
 * usual.  Not modelled: the sizes of chunks and what a helper checks; the queue that carries requests (node_queue.pml,
 * node_attention.pml).
 *
 * Claimed: no chunk is written after the reader has ended that generation; none is written twice, unless the read has
 * failed; a generation that ended well has all of its chunks; a helper takes nothing of a generation that has ended; and
 * whenever no process can take a step any more (process `rest`), the reader has ended all generations, unless a living helper
 * has stopped over a chunk.
 *
 * Memory.  A helper's writes become visible late, at the latest with a release store, which flushes them.  `done` and the
 * reader's store of `asleep` are buffered where they are not sequentially consistent.  The record that asks for help publishes
 * the opened claim, which needs no buffer.
 */
#ifndef GENERATIONS
#define GENERATIONS 2
#endif
#define CHUNKS  3
#define HELPERS 2

/* --- struct node_claim: three words; a generation goes with each --- */

byte ends_generation, front, back;
byte done_generation, chunks_done;
byte failed_generation, failed; /* 1 + a chunk */

chan asked[HELPERS] = [GENERATIONS] of { byte }; /* NODE_HELP */
bool asleep, doorbell;                               /* the reader's attention, and its doorbell */

/* --- buffers --- */

byte written[HELPERS];                  /* 1 + a chunk that is not visible yet */
byte buffered_generation, buffered_done; /* of `done`; 0: nothing */
bool asleep_buffered;

bool copied[CHUNKS]; /* the chunk of this generation is at the destination */

inline flush_chunk(h)
{
	if
	:: written[h] -> copied[written[h] - 1] = true; written[h] = 0
	:: else
	fi
}

inline flush_done()
{
	if
	:: buffered_generation ->
		done_generation = buffered_generation;
		chunks_done = buffered_done;
		buffered_generation = 0;
		buffered_done = 0
	:: else
	fi
}

inline flush_asleep()
{
	if
	:: asleep_buffered -> asleep = true; asleep_buffered = false
	:: else
	fi
}

active proctype flusher()
{
end:	do
	:: atomic { written[0] -> flush_chunk(0) }
	:: atomic { written[1] -> flush_chunk(1) }
	:: atomic { buffered_generation -> flush_done() }
	:: atomic { asleep_buffered -> flush_asleep() }
	od
}

/* --- what is claimed --- */

byte open; /* the generation under way, or 0 */
bool dead[HELPERS], stopped[HELPERS], broken;

/* --- the helper --- */

#define FULL (front + back >= CHUNKS)
#ifdef MUTANT_GENERATION_NOT_COMPARED
#define SAME_GENERATION true
#else
#define SAME_GENERATION (ends_generation == mine)
#endif

inline take()
{
	assert(open == mine);
	back++;
	chunk = CHUNKS - back + 1
}

/* The outcome is in `chunk`: 1 + a chunk, or 0 for none. */
inline take_from_back()
{
#ifdef MUTANT_TAKEN_BY_STORE
	atomic { seen = SAME_GENERATION && !FULL; seen_front = front; seen_back = back };
	if
	:: seen -> atomic { front = seen_front; back = seen_back; take() }
	:: else
	fi;
	atomic { seen = false; seen_front = 0; seen_back = 0 }
#elif defined(MUTANT_GENERATION_COMPARED_BEFORE)
	seen = (ends_generation == mine);
	atomic {
		if
		:: seen && !FULL -> take()
		:: else
		fi;
		seen = false
	}
#else
	atomic { /* the compare-and-swap that succeeds, or a load that shows that there is nothing to take */
		if
		:: SAME_GENERATION && !FULL -> take()
		:: else
		fi
	}
#endif
}

inline write_chunk(h)
{
	atomic { assert(open == mine && (broken || !copied[chunk - 1])); flush_chunk(h); written[h] = chunk }
}

inline count_done(h)
{
	atomic {
		skip; /* a guard: an "else" at the beginning would be about the caller's other options too */
#ifndef MUTANT_DONE_RELAXED
		flush_chunk(h);
#endif
		count++;
#ifdef MUTANT_DONE_BY_RELEASE
		buffered_generation = mine;
		buffered_done = count
#else
		done_generation = mine;
		chunks_done = count
#endif
	}
}

inline tell_reader()
{
#ifndef MUTANT_READER_NOT_TOLD
	if
	:: ends_generation == mine && FULL -> /* else the reader still has chunks to take */
		if
		:: asleep -> doorbell = true
		:: else
		fi
	:: else
	fi
#else
	skip
#endif
}

/* At most a part of the chunk was written. */
inline fail_to_write(h)
{
#ifdef MUTANT_FAILED_AFTER_DONE
	count_done(h);
	atomic { failed_generation = mine; failed = chunk }
#else
#ifndef MUTANT_FAILURE_NOT_SAID
	atomic { failed_generation = mine; failed = chunk };
#endif
	count_done(h)
#endif
}

inline help(h)
{
	do
	:: take_from_back();
		if
		:: chunk == 0 -> break
		:: else
		fi;
		if
		:: stopped[h] = true;
end_stopped:		false
#ifdef MUTANT_DONE_BEFORE_WRITING
		:: count_done(h); write_chunk(h); tell_reader()
#else
		:: write_chunk(h); count_done(h); tell_reader()
#endif
		:: fail_to_write(h); tell_reader(); break
		fi;
		chunk = 0
	:: break /* the reader has ended the generation, or newer requests have replaced this one */
	od;
	atomic { chunk = 0; count = 0; mine = 0 }
}

proctype helper(byte me)
{
	byte mine, chunk, count;
#if defined(MUTANT_TAKEN_BY_STORE) || defined(MUTANT_GENERATION_COMPARED_BEFORE)
	byte seen_front, seen_back;
	bool seen;
#endif

	{
end:		do
		:: asked[me]?mine -> help(me)
		od
	} unless {
		dead[me]
	}
}

active proctype killer()
{
	if
	:: atomic { flush_chunk(0); dead[0] = true }
	:: true
	fi
}

/* --- the reader --- */

inline start_generation()
{
	atomic {
		mine++;
		open = mine;
#ifndef MUTANT_DONE_NOT_RESET
		done_generation = mine;
		chunks_done = 0;
#endif
#ifndef MUTANT_FAILED_NOT_RESET
		failed_generation = mine;
		failed = 0;
#endif
		ends_generation = mine;
		front = 0;
		back = 0;
		if
		:: with = 0
		:: with = 1
		fi;
		asked[with]!mine
	}
}

inline read_chunk(chunk)
{
	assert(broken || !copied[chunk]);
	copied[chunk] = true
}

/* Copies until all chunks are taken. */
inline copy_front()
{
	do
	:: atomic { !FULL -> at = front; front++ };
		atomic { read_chunk(at); at = 0 }
#ifdef MUTANT_FAILED_READ_TAKES_NOTHING
	:: atomic { !FULL -> broken = true; break }
#else
	:: atomic { !FULL -> broken = true; front = CHUNKS - back } /* the read has failed */
#endif
	:: FULL -> break
	od
}

#ifdef MUTANT_ENDED_WHEN_TAKEN
#define ALL_DONE true
#else
#define ALL_DONE (chunks_done == back)
#endif

/* The reader goes to sleep until the doorbell is written to. */
inline sleep()
{
#ifdef MUTANT_ASLEEP_AFTER_LOOKING
	if
	:: ALL_DONE
	:: else ->
		asleep = true;
		doorbell || dead[with]
	fi;
#else
#ifdef MUTANT_NO_FENCE
	asleep_buffered = true;
#else
	asleep = true;
#endif
	if
	:: ALL_DONE
	:: else ->
		atomic { flush_asleep() }; /* the system call */
end_asleep:	doorbell || dead[with]
	fi;
#endif
	atomic { flush_asleep(); asleep = false; doorbell = false }
}

inline wait_for_helper()
{
	do
	:: ALL_DONE -> break
#ifdef MUTANT_ENDED_BY_TIMEOUT
	:: true -> broken = true; break
#endif
	:: dead[with] -> broken = true; break /* the rest of the message is lost */
	:: !ALL_DONE && !dead[with] -> sleep()
	od
}

inline settle()
{
	skip;
#ifndef MUTANT_FAILED_CHUNK_NOT_READ
	if
	:: failed && !broken -> atomic { read_chunk((failed - 1)) }
	:: else
	fi
#endif
}

inline end_generation()
{
	atomic {
		assert(done_generation == mine || broken);
		assert(broken || copied[0] && copied[1] && copied[2]);
		open = 0;
		copied[0] = false;
		copied[1] = false;
		copied[2] = false;
		broken = false;
		if
		:: dead[with] -> written[with] = 0
		:: else
		fi
	}
}

active proctype reader()
{
	byte mine, at, with;

	do
	:: mine == GENERATIONS -> break
	:: mine < GENERATIONS ->
		start_generation();
		copy_front();
		wait_for_helper();
		settle();
		end_generation()
	od
}

active proctype rest()
{
	timeout;
	assert(open == 0 || stopped[0] && !dead[0] || stopped[1])
}

init {
	atomic {
		run helper(0);
		run helper(1)
	}
}
