/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport on which nothing moves unless the test says so: every message waits until it is delivered, every read
 * until it is completed, every send or read may be refused, and peers are gone when the test wants it.  It stands in
 * for both transports of an interface, the network's and the one to itself.
 *
 * How it gets in: the program is linked with --wrap for the symbols below, so the library's references to them come
 * here, and go on to the real ones unless scripted_open() was called.  The clock is part of the script too (it stands
 * still), and so are random numbers: what a program does is a matter of its script alone.
 *
 *     transport_ofi transport_self clock_gettime getrandom
 *
 * One interface is one endpoint: endpoint i has pid SCRIPTED_PID + i.
 */
#ifndef PORTALS_TESTS_SCRIPTED_H
#define PORTALS_TESTS_SCRIPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/transport.h"

#define SCRIPTED_ENDPOINTS 3
#define SCRIPTED_PID       100u

struct scripted_message {
	struct scripted_message *next; /* sent after it on the same way */
	unsigned from, to;
	unsigned about; /* the observer's */
	size_t length;
	uint8_t bytes[];
};

struct scripted_memory_region {
	unsigned owner;
	bool own;      /* to itself */
	unsigned uses; /* 0: deregistered */
	uint8_t *base;
	size_t length;
	unsigned about; /* the observer's, and where in the message these bytes are */
	uint64_t offset;
};

struct scripted_read {
	struct scripted_read *next; /* asked for after it by the same endpoint */
	unsigned reader;
	const struct scripted_memory_region *source;
	uint64_t offset; /* in the memory region */
	void *local;
	size_t length;
	size_t window;
	void *context;
	bool own;    /* of the endpoint's own memory */
	uint64_t at; /* the observer's */
};

/* What the test sees; all inside a call of the library that takes the step. */
struct scripted_observer {
	/* A message is handed to the transport, which takes it or not (then it was refused: -EAGAIN). */
	void (*sending)(struct scripted_message *, bool taken);
	/* The endpoint is about to see it, and has seen it. */
	void (*arriving)(const struct scripted_message *);
	void (*arrived)(const struct scripted_message *);
	void (*reading)(struct scripted_read *, bool taken);
	/* The bytes are in place unless status is an error; the endpoint is about to hear of it. */
	void (*read_ended)(const struct scripted_read *, int status);
	/* The endpoint was told all that was for it in this step. */
	void (*polled)(unsigned endpoint);
	/* It asked for the address of a process that does not exist. */
	void (*unknown)(unsigned endpoint, uint32_t nid, uint32_t pid);
	/* May be NULL: what is exposed no longer. */
	void (*deregistered)(const struct scripted_memory_region *);
};

extern const struct scripted_observer scripted_blind; /* does nothing */

struct scripted_terms {
	size_t short_max, rma_chunk, rma_depth;
	size_t stream_window, stream_chunk;
	size_t placed_min;
	bool local_registration, pins;
	bool anonymous; /* it does not say which peer a message comes from */
	bool hostile;   /* messages may be made up, and with them keys: reads of what is not exposed fail */
	uint64_t seed;  /* of random numbers */
	uint64_t ping_pause;
};

/* From now on interfaces are opened on the script; to be closed when the last of them is. */
void scripted_open(const struct scripted_terms *, const struct scripted_observer *);
void scripted_close(void);

/* What may happen next. */
unsigned scripted_waiting(unsigned from, unsigned to); /* messages */
unsigned scripted_reads(unsigned reader);              /* reads in flight */
unsigned scripted_exposed(void);                       /* memory regions not deregistered */
unsigned scripted_exposed_of(unsigned owner);
unsigned scripted_exposed_ever(void); /* and those that were */
struct scripted_memory_region *scripted_memory_region(uint64_t key);

/* Bytes that no engine has made, behind what was sent before. */
void scripted_inject(unsigned from, unsigned to, const void *bytes, size_t length);

/*
 * Chooses what the endpoint's next poll hands out; without a choice it hands out nothing.  False: there is no such
 * thing.  A read of memory that is not exposed any more ends with -EACCES and moves nothing.
 */
bool scripted_deliver(unsigned from, unsigned to);
bool scripted_complete(unsigned reader, unsigned index, int status);
void scripted_gone(unsigned endpoint, unsigned peer);

/*
 * From now on a payload that may stay in its place is kept there, one at a time (else it leaves at once): the whole
 * message goes to its peer by scripted_pass_placed(), and the next poll gives the payload back after
 * scripted_let_placed_go(), also of a message that never went.  False: there is none.
 */
void scripted_keep_placed(unsigned endpoint, bool keep);
bool scripted_pass_placed(unsigned endpoint);
bool scripted_let_placed_go(unsigned endpoint);

/* From now on every send of a payload that may stay in its place takes in something from others, which the next poll is to handle. */
void scripted_arrive_while_placing(unsigned endpoint, bool arrives);

/* Messages on the way between the two are lost, in both directions. */
void scripted_lose(unsigned one, unsigned other);

/* So many bytes in all can be exposed at a time, as with RLIMIT_MEMLOCK; what is too much fails. */
void scripted_limit_memory_regions(unsigned endpoint, size_t most, int error);

/* How often the endpoint has resolved the peer's address and not given it back. */
int scripted_users(unsigned endpoint, unsigned peer);
/* No process holds the endpoint's port any more: probes say so. */
void scripted_close_port(unsigned endpoint);
void scripted_open_port(unsigned endpoint);
/* From now on it is to be found at another address (number: SCRIPTED_ENDPOINTS more).  Only with `anonymous`. */
void scripted_move(unsigned endpoint);
/* From now on it is to be found at the address of another one. */
void scripted_take_over(unsigned endpoint, unsigned former);
/* How often the engine looked for connections of given-up peers with dead hosts, whose was the last of them, of how many. */
unsigned scripted_severings(void);
unsigned scripted_severed_at_once(void); /* how often the engine broke what connects it with a peer */
unsigned scripted_severed_last(void);
unsigned scripted_severed_count(void);

/* So many sends or reads from now on are refused. */
void scripted_refuse_sends(unsigned endpoint, unsigned count);
/* The same, because the way is full. */
void scripted_fill_sends(unsigned endpoint, unsigned count);
/* The same, because there is no way. */
void scripted_fail_sends(unsigned endpoint, unsigned count);
void scripted_refuse_reads(unsigned endpoint, unsigned count);
/* So many addresses from now on are not found, because there is no memory for them. */
void scripted_starve_resolves(unsigned endpoint, unsigned count);

void scripted_pass_time(uint64_t ns);
uint64_t scripted_time(void); /* that has passed since scripted_open() */

#endif
