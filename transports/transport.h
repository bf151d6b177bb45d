/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport interface: between the NIC and the ways bytes move.
 *
 * Threads: everything but claim() and open() is called by the owner of the engine only (offload/own.c), so a
 * transport needs no lock.  open() may take 100 ms (libfabric) and therefore runs on a helper thread before the
 * transport is attached to an engine; ownership passes with an acquire/release pair.
 *
 * Errors are negative errno values.  -EAGAIN always means "not now, nothing happened", and so does -ENOBUFS, which
 * adds that the way is open and only full; the engine owns the retry queue, per peer and in order.  A transport never
 * blocks in any call but open() and close().
 */
#ifndef PORTALS_TRANSPORTS_TRANSPORT_H
#define PORTALS_TRANSPORTS_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/settings.h"

struct transport;
struct tuning;

/* A peer as its transport knows it; the number means nothing outside that transport. */
typedef uint64_t transport_address;
#define TRANSPORT_ADDRESS_UNKNOWN UINT64_MAX

/* Of send_line(): a cache line, without a word in which the transport says whether it is there. */
#define TRANSPORT_LINE_WORDS 7

/* Memory that RDMA can reach.  `region` belongs to the transport. */
struct memory_region {
	uint64_t address; /* what the other side passes as `remote`: virtual address or offset, the provider's choice */
	uint64_t key;
	void *region;
};

enum memory_region_use {
	REGION_READ = 1,  /* the other side reads it */
	REGION_LOCAL = 2, /* our own end of a read; needed only if limits.local_registration */
};

struct transport_limits {
	size_t short_max;     /* greatest message of send(): header and payload together, bytes; at least 1024 */
	size_t line_max;      /* greatest message of send_line(), bytes */
	uint64_t payload_max; /* greatest payload to be sent with its header; SETTING_AUTO: what fits (tuning.h) */
	size_t inline_max;    /* greatest message, as a rule, that a send() copies into no buffer of its own, bytes */
	size_t behind_max;    /* greatest payload worth a send() to a peer that is behind(); 0: as all others */
	size_t placed_min;    /* least payload worth a send_placed(), bytes; 0: there is none */
	size_t rma_chunk;     /* preferred size of one read, bytes */
	size_t rma_depth;     /* reads worth having in flight for one message */
	size_t stream_window; /* read.window is heeded up to here, bytes; 0: not at all */
	size_t stream_chunk;  /* preferred size of one read behind others in such a window, bytes */
	size_t list_max;      /* greatest read_list(), bytes; 0: there is none */
	bool payload_tuned;   /* payload_max is of the tuning file */
	bool local_registration; /* read() needs a memory region of the local buffer (FI_MR_LOCAL) */
	bool pins;         /* register_memory() pins pages by a system call: worth doing once in a descriptor's life */
	bool verified_uid; /* the transport proves the peer's uid */
	bool sleepable;    /* wait_fd() works; otherwise the engine polls with a back-off */
	bool compact;      /* arrivals name their sender beyond doubt: messages may leave out their source */
	uint32_t header_room;   /* of short_max, what limits of payload leave to headers (tuning.h), bytes */
	uint32_t poll_interval; /* sleepers look again after so many microseconds whatever wait_fd() says; 0: no need */
	uint64_t ping_pause;    /* ns between two PINGs at least: what answers may put off a lost packet's repetition */
	bool tells_gone;    /* peer_gone() is called for every peer that ends, though nothing is under way with it */
	bool late_doorbell; /* wait_fd() becomes readable for what has not been looked at for a while, armed or not */
};

/*
 * What an engine tells a peer of itself when a transport connects the two: what HELLO says, but for what the transport
 * proves.  Laid out as one process of a node hands it to another.
 */
struct transport_greeting {
	uint64_t incarnation[2];
	uint32_t jid;
	uint16_t version; /* of the wire format; 0: nothing is told */
	uint16_t tag;     /* of the conversation that begins with the connection; not 0 */
	uint16_t abilities;
	uint16_t unused[3];
};

struct transport_connection {
	uint32_t nid, pid; /* proven, and so is its uid: limits.verified_uid */
	struct transport_greeting ours, theirs;
};

/* What poll() hands to the engine, with the `owner` given to open().  Called under ownership, from poll() only, but for greet(). */
struct transport_sink {
	/*
	 * A message from `from` (TRANSPORT_ADDRESS_UNKNOWN if the provider cannot tell or does not know it).  The
	 * bytes belong to the transport and are valid until the call returns.  `body` is NULL, or what was sent as
	 * payload lies there instead of behind the header; its sender may then still write to it, so that whatever is
	 * to be believed has to be copied before it is checked.
	 */
	void (*arrived)(void *owner, transport_address from, const void *bytes, size_t length, const void *body,
			size_t body_length);
	/* The read started with `context` has ended: 0, or a negative errno value. */
	void (*rdma_done)(void *owner, void *context, int status);
	/*
	 * The payload given to send_placed() with `context` is the transport's no longer: it has been sent, or its connection
	 * is broken.
	 */
	void (*sent)(void *owner, void *context);
	/* The transport has proof that the peer behind the address is gone. */
	void (*peer_gone)(void *owner, transport_address peer);
	/* Does a thread of the application do nothing but wait for events, so that its core is ours to spend on a peer's transfer? */
	bool (*host_waits)(void *owner);
	/*
	 * The process that the last message was exchanged with polled last on that CPU (and 1; 0: not known): a hint, for a thread that waits
	 * for it.  Told when it changes.  Optional.
	 */
	void (*partner_seen)(void *owner, uint32_t place);
	/*
	 * A transport that has to meet a peer before it sends, and then knows beyond doubt which process that is, may
	 * exchange the engines' greetings on that occasion, so that they need no HELLO and no WELCOME.
	 * greet() is asked once for each connection what we tell (nid, pid), from poll() or from a send() to that peer.
	 * connected() is called from poll(): before the first message of the peer is handed over, at the latest when
	 * messages can be sent to it, and again when the peer tells something else, because it has forgotten us.
	 * Optional for both: engines that were told nothing greet by messages.
	 */
	void (*greet)(void *owner, uint32_t nid, uint32_t pid, struct transport_greeting *);
	void (*connected)(void *owner, transport_address, const struct transport_connection *);
};

/*
 * Where the processes of a job tell each other addresses that do not follow from (nid, pid).  To be had only where a
 * launcher started the job.
 */
#define ADDRESS_LENGTH_MAX 256 /* bytes */
#define ADDRESS_LIVES      8   /* so often a process can publish one for an interface */
struct address_book {
	/*
	 * Tells the job where we are from now on.  Returns which attempt of resolve() means it (how many have been
	 * published before), or a negative errno value, reported.  May wait: called by open() only.
	 */
	int (*publish)(struct address_book *, const void *address, size_t length);
	/*
	 * Where (nid, pid) said that time to be: the length of what is now in `address`, which has room for
	 * ADDRESS_LENGTH_MAX bytes.  Never waits: -EAGAIN means that the job has been asked, ask again later; it is all
	 * that is said of a process that has not come yet.  -EHOSTUNREACH: no process of the job has that id.
	 */
	int (*look_up)(struct address_book *, uint32_t nid, uint32_t pid, unsigned attempt, void *address);
};

struct transport_config {
	const struct settings *settings;
	const struct tuning *tuning; /* NULL: there is none; lives as long as the transport */
	const char *provider;        /* part after "ofi:", or NULL for the best */
	const char *iface;           /* device name, for messages to humans */
	uint32_t nid, pid;           /* pid 0xffffffff: claim() chooses */
	struct address_book *book;   /* NULL: this process was not launched */
	bool host_polled; /* hosts drive in turn with the NIC thread: at times none looks, though none sleeps */
	unsigned
		home; /* NUMA node, plus one, for memory that others write and we read; 0: the thread that touches it first decides */
	const struct transport_sink *sink;
	void *owner;
};

/* One read of exposed memory.  `memory_region` covers the local buffer, or is NULL unless limits.local_registration. */
struct transport_read {
	transport_address peer;
	void *local;
	size_t length;
	const struct memory_region *memory_region;
	uint64_t remote, key; /* as the peer's struct memory_region says */
	size_t window;        /* so many bytes may be in flight from the peer, if the transport's own bound is less */
	void *context;
};

/* A piece of a peer's exposed memory, as its struct memory_region says. */
struct transport_segment {
	uint64_t address, key, length;
};

/* One read of many pieces, none of them empty: as many bytes at both ends, each end in its own order. */
struct transport_read_list {
	transport_address peer;
	const struct iovec *local;
	const struct transport_segment *remote;
	unsigned local_count, remote_count; /* at least 1 */
	size_t length;                      /* of all together, at most limits.list_max */
	void *context;
};

#define TRANSPORT_PIECES_MAX 256 /* of a read_list(), at either end */

/* Everything is there but for what is called optional, which may be NULL. */
struct transport_ops {
	const char *name;

	/*
	 * Make (nid, pid) ours on this node, or choose a free pid and store it in the config.  Fast, no library is
	 * loaded.  -EADDRINUSE if another live process holds it.  On success *out must be closed.
	 */
	int (*claim)(struct transport_config *config, struct transport **out);

	/* The slow part of starting: opens the provider.  After it limits are valid and messages can arrive. */
	int (*open)(struct transport *);

	/*
	 * Deregisters everything; contexts of unfinished operations are forgotten.  Works at any stage after claim().
	 */
	void (*close)(struct transport *);

	/* In a forked child: closes our own descriptors there, so that the parent's claim ends with the parent. */
	void (*forked)(struct transport *);

	/*
	 * The NIC thread calls it, as owner, before anything else: that thread ends before close(), or with its process.  Optional.
	 */
	void (*threaded)(struct transport *);

	/*
	 * Address of a peer that need not exist yet; no traffic.  A peer may be reachable under several addresses
	 * (candidate ports): attempt = 0, 1, ... yields them, the most likely first; -ENOENT when there are no more.
	 * As long as an address is in use, the same (nid, pid, attempt) yields the same one; each success is one more use.
	 */
	int (*resolve)(struct transport *, uint32_t nid, uint32_t pid, unsigned attempt, transport_address *);

	/*
	 * Takes back one success of resolve().  An address that is in use no longer is the transport's own again: it may
	 * recycle the entry and the number, at once, later (an engine that answers an unverified peer, or tries one
	 * candidate after the other, resolves it again soon: keep what is connecting) or never, and while it keeps it, resolve()
	 * may yield it as before.  The engine remembers nothing of it and asks nothing of it.
	 *
	 * What the transport still says of an address in use no longer is legal and finds no peer: messages may arrive
	 * from it, to be answered within that call, and peer_gone() may name it.  But all that it has to say of one
	 * owner is said before the number is another's: what was on the way from the former is never said to be from
	 * the latter.
	 *
	 * May be called from within the sink, also for the `from` of the message that is being handed over, which has to
	 * stay valid until that call returns, and while reads and sends to it have yet to end, which keep it.
	 * Optional: without it addresses are never recycled.
	 */
	void (*forget)(struct transport *, transport_address);

	/* Which attempt other processes must use to reach us (goes into our HELLO). */
	unsigned (*own_attempt)(const struct transport *);

	/*
	 * Append a message to the peer's queue: header and payload, together at most limits.short_max bytes, copied
	 * before the call returns.  Messages to one address arrive in call order.
	 * 0; -ENOBUFS: connected and full, and to find out whether it still is costs next to nothing, so the engine asks
	 * at every drive; -EAGAIN: connecting, refused, dead or full, indistinguishably, and asking may cost something,
	 * so the engine asks less and less often; -EMSGSIZE; -EHOSTUNREACH (for good); -ENOENT: there is certainly no
	 * such process within this transport's reach now.
	 */
	int (*send)(struct transport *, transport_address, const void *header, size_t header_length,
		    const struct iovec *payload, int count);

	/*
	 * The same for a payload that may stay where it is until it has left, which a peer that does not read puts off.
	 * 0 and errors: as send(), nothing of it is needed any more; -EINPROGRESS: taken, and the payload, though not the
	 * list of its pieces, is the transport's until sent(context).  Needed if limits.placed_min is set.
	 */
	int (*send_placed)(struct transport *, transport_address, const void *header, size_t header_length,
			   const struct iovec *payload, int count, void *context);

	/*
	 * The same as send() for a message of `length` bytes, 1 to limits.line_max, that begins in registers.  The words' little-endian bytes
	 * are four zeros, for the transport to fill, the first bytes of the message, as many as there is room for, and zeros.  The others
	 * are at `rest`, and copied before the call returns.  0, or as send(), and nothing has happened.  Optional: without it
	 * only send() is used; so it is where sending to ourselves is possible, of which arm() has to hear.
	 */
	int (*send_line)(struct transport *, transport_address, const uint64_t words[TRANSPORT_LINE_WORDS],
			 size_t length, const void *rest);

	/*
	 * Has the peer yet to consume data that were sent to it, or to read what was announced (`reading`), so that it is better served
	 * by a copy of the next message than by reading that too?  No process waits while we make it.  Needed if limits.behind_max is set.
	 */
	bool (*behind)(struct transport *, transport_address, bool reading);

	/*
	 * RDMA read of the peer's exposed memory; ends with rdma_done(context).  0 or -EAGAIN or an error, then no
	 * rdma_done.  The structure is not needed after the call.
	 */
	int (*read)(struct transport *, const struct transport_read *);

	/*
	 * The same for pieces that are too short to be read each by itself.  Structure and lists are not needed after the
	 * call.  Needed if limits.list_max is set.
	 */
	int (*read_list)(struct transport *, const struct transport_read_list *);

	/*
	 * Registers memory for the uses (enum memory_region_use).  0, -ENOMEM (RLIMIT_MEMLOCK), -EFAULT (not mapped)
	 * ..., but never -EAGAIN, which would be taken for a full queue.  The caller reports the failure, because it
	 * may try with less.
	 */
	int (*register_memory)(struct transport *, void *base, size_t length, unsigned uses, struct memory_region *);
	void (*deregister)(struct transport *, struct memory_region *);

	/* Hands at most about `budget` arrivals and completions to the sink.  Returns how many, or a negative errno. */
	int (*poll)(struct transport *, int budget);

	/*
	 * Prepare to sleep on wait_fd().  0: the descriptor will become readable for the next arrival or completion,
	 * and whatever is unfinished on the sending side will also make it readable when it can go on.
	 * 1: the same, but something is under way that nothing will announce: poll() again after a while.
	 * -EAGAIN: something is there already, poll() first.
	 */
	int (*arm)(struct transport *);

	/* Sends accepted by send() that have not left this process yet; 0: closing now loses nothing. */
	unsigned (*unsent)(const struct transport *);

	int (*wait_fd)(const struct transport *); /* pollable for input, or -1 */

	/*
	 * Is the process that (nid, pid, attempt) named still there?  Needs no help of its CPU, never blocks, may
	 * answer from the previous call's evidence.  0: it is, or that is not known; -ECONNREFUSED: certainly not.
	 */
	int (*probe)(struct transport *, transport_address);

	/*
	 * The engine has given up a peer: breaks whatever is known to connect us with it, so that reads of its memory
	 * end and the process that comes after it at that address is connected anew.  What may belong to a process that lives is
	 * never touched; sever_unheard(), to be called again and again, breaks of it what the peers' hosts have long
	 * ceased to acknowledge.  Both are optional: without them nothing connects that could stay.
	 */
	void (*sever)(struct transport *, transport_address);
	void (*sever_unheard)(struct transport *, const transport_address *, unsigned count);

	/* One line for humans: provider, version, address, what was refused and why.  Returns its length. */
	int (*describe)(const struct transport *, char *text, size_t size);
};

/* Every transport starts with this. */
struct transport {
	const struct transport_ops *ops;
	struct transport_limits limits;
	/* poll() would find nothing: kept by a transport to which nothing comes but what its own process sends; else never. */
	bool quiet;
	/*
	 * The last send_placed() has taken in more than its own end, which wait_fd() had announced or was to announce, and keeps it for
	 * poll(): the engine asks arm() again.
	 */
	bool kept;
};

extern const struct transport_ops transport_self;
extern const struct transport_ops transport_node;
extern const struct transport_ops transport_ofi;

#endif
