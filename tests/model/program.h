/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random program as plain data: its circumstances and a list of steps, which are calls of the API and happenings of
 * the network.  Steps refer to objects by slots (the last object that was made there, alive or not), so whatever
 * steps are left out, the rest is a program.
 */
#ifndef PORTALS_TESTS_MODEL_PROGRAM_H
#define PORTALS_TESTS_MODEL_PROGRAM_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PROGRAM_INTERFACES 3
#define PROGRAM_MEMORY     2048 /* bytes of each interface */
#define PROGRAM_STEPS      4000
#define PROGRAM_PIECES     300 /* more than a descriptor may have */
#define PROGRAM_CHURN      300 /* more than the library keeps unused before it uses them again */
#define PROGRAM_ENTRIES    6   /* slots of each interface */
#define PROGRAM_MDS        10
#define PROGRAM_QUEUES     4
#define PROGRAM_NONE       99                 /* slot: PTL_EQ_NONE, or nothing to test */
#define PROGRAM_BAD        98                 /* slot: PTL_INVALID_HANDLE */
#define PROGRAM_LAST_BYTES (UINTPTR_MAX - 10) /* start and length of memory that wraps around */
#define PROGRAM_BEYOND     100

enum step_kind {
	STEP_EQ_ALLOC,
	STEP_EQ_FREE,
	STEP_EQ_GET,
	STEP_EQ_POLL, /* `count` queues from this one on */
	STEP_STATUS,
	STEP_AC_ENTRY,
	STEP_ME_ATTACH,
	STEP_ME_ATTACH_ANY,
	STEP_ME_INSERT,
	STEP_ME_UNLINK,
	STEP_MD_ATTACH,
	STEP_MD_BIND,
	STEP_MD_UPDATE,
	STEP_MD_UNLINK,
	STEP_POST,
	STEP_PUT,
	STEP_PUT_REGION,
	STEP_GET,
	STEP_GET_REGION,
	STEP_GETPUT,
	STEP_CHURN,        /* binds and unlinks so many descriptors that slots are used again */
	STEP_DELIVER,      /* the next message from peer to ni */
	STEP_COMPLETE,     /* one of the reads of ni */
	STEP_DRIVE,        /* the engine of ni looks, and finds nothing new */
	STEP_REFUSE_SENDS, /* the next sends of ni */
	STEP_REFUSE_READS,
	STEP_GONE,    /* ni and peer lose each other */
	STEP_RESTART, /* ni is closed and opened again */
	STEP_TIME,
	STEP_KINDS
};

/* Ids for matching and as targets; the first three are interfaces. */
enum who { WHO_ANY = PROGRAM_INTERFACES, WHO_ANY_PID, WHO_ANY_NID, WHO_ELSEWHERE, WHO_NOBODY, WHOS };

struct step_md {
	uint32_t offset, length; /* in bytes of the interface's memory */
	uint32_t pieces;         /* with PTL_MD_IOVEC: elements, */
	uint32_t scatter;        /* and how the bytes are spread over them; 0: evenly */
	uint32_t options;
	int32_t threshold;
	uint64_t max_size;
	uint32_t user;
	uint8_t queue, queue_ni;
	uint8_t wrong; /* states something illegal */
};

enum { RIGHT, NULL_START, TOO_MANY_PIECES, WRAPS_AROUND };

struct step {
	uint8_t kind, ni, peer;
	uint8_t me, base, md, put_md, queue; /* slots */
	uint8_t second_ni;                   /* of the second object: put_md, base, the test queue; mostly ni */
	uint8_t who, unlink, md_unlink, position, ack;
	uint8_t uid, jid; /* AC_ENTRY: whose: 0 ours, 1 any, 2 another's */
	uint32_t pt, ac, index;
	uint64_t bits, ignore;
	uint64_t offset, length, remote_offset, hdr_data;
	uint32_t count;
	int32_t status;
	struct step_md memory;
};

struct program {
	uint64_t seed;
	unsigned interfaces;
	uint32_t short_max, chunk, depth;
	bool local_registration, pins, anonymous;
	unsigned count;
	struct step steps[PROGRAM_STEPS];
};

struct program_piece {
	uint64_t offset, length; /* of the interface's memory */
};

/*
 * The pieces a descriptor's memory consists of; room for PROGRAM_PIECES.  Returns their number, for a wrong statement
 * that of the elements it claims.
 */
unsigned program_pieces(const struct step_md *, struct program_piece *);
/* The options as they are given to the library: a wrong statement has those with which it is wrong. */
unsigned program_options(const struct step_md *);

/* As C that compiles; the happenings are functions of the program that links it. */
void program_print(FILE *, const struct program *);

/* --- generating (generate.c) --- */

/* What a generator wants to know of the state of things, so that most of what it tries makes sense. */
struct outlook {
	unsigned waiting[PROGRAM_INTERFACES][PROGRAM_INTERFACES]; /* messages, from and to */
	unsigned reads[PROGRAM_INTERFACES];
};

struct generator {
	uint64_t state; /* of its random numbers */
	struct program *program;
	unsigned steps;                   /* it is going to make */
	unsigned weight[STEP_KINDS];      /* of calls */
	unsigned eager;                   /* of 100: how often what can happen does, before the next call */
	unsigned disable, iovec, failing; /* of 100: events disabled, descriptors in pieces, reads that fail */
	unsigned queue_size;              /* at most */
	uint32_t favourites[4];           /* lengths */
	unsigned portals, bits;           /* how many different ones */
	int attach;                       /* the entry just made, which is to get a descriptor, or -1 */
	/* What the slots were given, as far as it helps to hit it. */
	struct {
		uint32_t pt;
		uint64_t bits;
	} entry[PROGRAM_INTERFACES][PROGRAM_ENTRIES];
	uint32_t md_length[PROGRAM_INTERFACES][PROGRAM_MDS];
};

/* Chooses the circumstances; the same seed always makes the same program. */
void generator_begin(struct generator *, struct program *, uint64_t seed);
/* Appends a step.  False: the program is complete. */
bool generator_next(struct generator *, const struct outlook *);

#endif
