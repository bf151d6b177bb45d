/* SPDX-License-Identifier: BSD-3-Clause */
/* A round as all know it: what each process attaches, and what it asks of the others (see free.c). */
#ifndef PORTALS_TESTS_MODEL_FREE_PROGRAM_H
#define PORTALS_TESTS_MODEL_FREE_PROGRAM_H

#include "tests/support/peers.h"

#define FREE_PROCESSES 3
#define LANES          9
#define LONGEST        (300u << 10)
#define MAX_PIECES     12
#define MAX_WORDS      8

/* ---- Chance ---- */

struct random {
	uint64_t state;
};

uint64_t draw_bits(struct random *);
uint32_t draw(struct random *, uint32_t below);
/* From low to high, both included. */
uint32_t draw_between(struct random *, uint32_t low, uint32_t high);
bool chance(struct random *, unsigned percent);

/* ---- The program ---- */

/* A lane is a receiver: what one process has attached for one purpose. */
enum lane_kind {
	LANE_WINDOW,   /* remotely managed; every put has a place of its own */
	LANE_SOURCE,   /* remotely managed; gets read a pattern */
	LANE_SWAP,     /* words that getputs exchange */
	LANE_FLOOD,    /* a window whose queue is too small */
	LANE_CHAIN,    /* locally managed descriptors, one behind the other, used up and replaced */
	LANE_RECEIVES, /* posted receives before a marker, a chain for the unexpected behind it */
	LANE_KINDS
};

struct lane {
	enum lane_kind kind;
	ptl_pt_index_t index;
	unsigned options;
	unsigned pieces;        /* of its memory; 1 without PTL_MD_IOVEC */
	bool mute;              /* no event queue */
	uint64_t size;          /* bytes of a window, a source or all words */
	uint64_t window_memory; /* where a window lies in the shared memory */
	/* SWAP */
	unsigned words, word_length;
	/* FLOOD */
	unsigned queue_length;
	/* CHAIN and RECEIVES */
	int threshold;
	ptl_size_t max_size;
	unsigned block, depth;
	bool catch_all;   /* behind all others a descriptor that accepts everything and keeps nothing */
	bool revive;      /* descriptors that are used up are not unlinked but updated */
	bool keeps_entry; /* ... are unlinked without their entry, which gets another */
};

enum operation_kind { OPERATION_PUT, OPERATION_GET, OPERATION_SWAP };

/* Which of the initiator's descriptors a request comes from. */
enum origin_kind {
	ORIGIN_POOL,    /* one for all, a region of it */
	ORIGIN_PIECES,  /* the same with PTL_MD_IOVEC */
	ORIGIN_COUNTED, /* one with a threshold, for as many as it lasts */
	ORIGIN_OWN,     /* its own, which unlinks itself */
	ORIGIN_KEPT,    /* its own, unlinked by us after the END */
	ORIGIN_HASTY,   /* its own, unlinked by us before the answer, perhaps */
	ORIGIN_MUTE,    /* one without an event queue */
};

/* Why no descriptor may accept a request. */
enum fate { FATE_NONE, FATE_BITS, FATE_INDEX, FATE_ACCESS, FATE_OPERATION, FATE_ROOM, FATES };

struct request {
	enum operation_kind kind;
	enum origin_kind origin;
	enum fate fate;
	unsigned target, lane, tag;
	unsigned quiet;    /* PTL_MD_EVENT_*_DISABLE of a descriptor of its own */
	unsigned pieces;   /* of a descriptor of its own */
	bool ack, tight;   /* tight: the descriptor has no unit for the ACK */
	bool second;       /* events go to the second queue */
	uint32_t length;   /* bytes */
	uint64_t place;    /* remote offset */
	uint64_t sink;     /* where the reply of a get or getput is kept */
	unsigned pause;    /* a hasty descriptor lives so many turns */
	unsigned patience; /* requests that a target gets in one of its turns */
};

/* What a round is drawn from; shrinking makes it smaller. */
struct round {
	uint64_t seed;
	unsigned processes;
	uint32_t operations;    /* per process */
	uint32_t first, beyond; /* of these only [first, beyond) */
	unsigned kinds;         /* a bit per enum lane_kind */
	bool terse;             /* a failure is not explained */
};

struct program {
	struct round round;
	const char *transport, *mode, *short_max;
	bool hurried; /* thousands of requests at once: until the engine's windows are full */
	struct lane lanes[FREE_PROCESSES][LANES];
	uint32_t count[FREE_PROCESSES];
	uint32_t base[FREE_PROCESSES]; /* of a process's records in the ledger */
	uint64_t sink_size[FREE_PROCESSES];
	uint64_t window_memory_size;
	struct request *requests[FREE_PROCESSES];
	uint32_t total;
};

extern struct program program;

void program_draw(const struct round *);
void program_free(void);
const struct request *request_at(unsigned initiator, uint32_t number);
const struct lane *lane_of(const struct request *);
ptl_match_bits_t bits_of(unsigned initiator, uint32_t number);
ptl_pt_index_t index_of(const struct request *);
ptl_ac_index_t access_of(const struct request *);
ptl_hdr_data_t word_of(unsigned initiator, uint32_t number);
#define LANE_BITS(lane) ((ptl_match_bits_t)(lane) << 40)
#define TAG_BITS(tag)   ((ptl_match_bits_t)(tag) << 32)
#define ANY_TAG         (((ptl_match_bits_t)1 << 40) - 1) /* ignore bits: tag, initiator and number */
#define ANY_NUMBER      (((ptl_match_bits_t)1 << 32) - 1) /* ... initiator and number */
/* Nothing of the lane's events tells which were accepted: everything meant for it is. */
bool accepts_by_rule(const struct lane *);
/* A descriptor of the lane is always ready for what is meant for it. */
bool never_refuses(const struct lane *);

void print_program(void);
/* The requests of a pair up to `last` and a few behind it, and what has become of them. */
void print_pair(unsigned initiator, unsigned target, uint32_t last);

#endif
