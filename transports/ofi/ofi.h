/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libfabric transport, from the inside.
 *
 * Life: claim (ofi_address.c) -> open (ofi_open.c, on a helper thread) -> send, receive, RDMA, sleep -> close.
 * libfabric is loaded by open() (ofi_library.c): processes that stay on one node never see it.
 *
 * Whatever the provider holds is described by an ofi_operation that stays out of its free list until the provider has
 * reported the end: a dead peer's operations are thereby quarantined until they complete or the endpoint closes.
 */
#ifndef PORTALS_TRANSPORTS_OFI_H
#define PORTALS_TRANSPORTS_OFI_H

#include <errno.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <signal.h>

#include "base/arch.h"
#include "base/cancel.h"
#include "base/report.h"
#include "transports/transport.h"

#define OFI_API              FI_VERSION(1, 17)
#define OFI_CANDIDATES       8            /* ports under which a pid may be reachable */
#define OFI_BUFFERS          4            /* receive buffers posted at a time */
#define OFI_BUFFER_BYTES     (256u << 10) /* size of each */
#define OFI_BATCH            16           /* completions read at a time */
#define OFI_PEER_SENDS       64           /* sends the provider may hold for one peer, unless its profile says less */
#define OFI_INJECTED_MAX     32           /* injected sends to one peer between two whose end we are told */
#define OFI_REFUSAL_LENGTH   512
#define OFI_UNNUMBERED       UINT32_MAX
#define OFI_UNUSED_KEPT      512 /* addresses that the engine has forgotten and may ask for again soon (ofi_forget.c) */
#define OFI_WATCHED          8   /* descriptors that sleepers watch for the provider */
#define OFI_POLL_INTERVAL_US 100000 /* limits.poll_interval where waking was not seen to work in every case */

struct ofi_library;
struct ofi;

/* What we know of a provider that it does not tell. */
struct ofi_profile {
	const char *alias;     /* what users call it */
	const char *name;      /* what libfabric calls it */
	uint32_t protocol;     /* FI_PROTO_* it must speak, 0: any */
	uint32_t addresses;    /* FI_ADDR_* if they do not follow from (nid, pid), 0: sockets', which do */
	bool best;             /* worth trying when the user names no provider */
	bool owns_udp_port;    /* its endpoint binds our UDP port itself: no reservation beside it, no probes */
	bool tcp_sockets;      /* it listens on our TCP port, and its connections are sockets of this process */
	bool renames;          /* fi_av_insert() of an address renames its open connections (ofi_forget.c) */
	bool false_source;     /* its FI_SOURCE is a number of its own, not ours (rxd) */
	bool never_inject;     /* injected sends would escape peer_sends, which its correctness needs (rxd) */
	uint8_t peer_sends;    /* sends it may hold for one peer, 0: OFI_PEER_SENDS */
	bool named;            /* its addresses are names, FI_ADDR_STR; it has no sockets */
	bool scarce_receives;  /* unexpected messages take what posting a receive needs (ofi_receive.c) */
	bool places;           /* it sends from where the payload is, and copies none of it: worth a send_placed() */
	bool lone_rma;         /* a failed read or write does not say which: one at a time */
	size_t short_max;      /* default size of the greatest message, below any rendezvous of the provider */
	size_t short_greatest; /* what PTL_SHORT_MAX can raise it to */
	size_t rma_chunk;      /* bytes of one read or write */
	unsigned rma_depth;    /* of them in flight for one message */
	size_t rma_window;     /* bytes of reads and writes in flight per peer, 0: no limit */
	size_t rma_least;      /* of them one read or write counts at least */
	size_t stream_window;  /* see transport_limits */
	size_t stream_chunk;   /* likewise */
	uint64_t ping_pause;   /* see transport_limits */
};
#define OFI_HEADER_ALLOWANCE 256 /* PTL_SHORT_MAX counts payload; the engine's header travels in the same message */

enum ofi_operation_kind { OFI_RECEIVE, OFI_SEND, OFI_RMA, OFI_RESERVE };

/* Context of everything posted.  Providers write into the first member (FI_CONTEXT2). */
struct ofi_operation {
	struct fi_context2 context;
	enum ofi_operation_kind kind;
	bool posted;   /* RDMA, reserve: the provider has yet to report its end */
	uint32_t peer; /* index in ofi.addresses; sends and RDMA */
	union {
		struct ofi_operation *next; /* in a free list */
		void *owner_context;        /* posted: for rdma_done(), or sent(), NULL: the payload is in the slot */
	};
	union {
		char *bytes;   /* send: the slot's memory */
		size_t length; /* RDMA: what it takes of the window */
	};
	uint64_t began; /* RDMA */
};

/* A multi-receive buffer: the provider fills it with messages one behind the other and releases it when full. */
struct ofi_buffer {
	struct ofi_operation operation;
	char *bytes;
	size_t received; /* bytes handed to the engine */
	size_t end;      /* where the last message ended, known once released */
	bool posted;
	bool released;
	struct fid_mr *mr;
	struct ofi_buffer *next_queued; /* posted, in order, or spare */
	struct ofi_buffer *next;        /* all of them, for close() */
};

struct ofi_region {
	struct fid_mr *mr;
	struct ofi_region *previous, *next;
};

/* One (nid, port), or published (nid, pid, life), that was resolved; its index is its transport_address. */
struct ofi_address {
	fi_addr_t number;   /* what the provider calls it now, FI_ADDR_NOTAVAIL: nothing */
	uint64_t rma_bytes; /* in flight */
	uint64_t rma_bound; /* what that may come to in a stream (ofi_rma.c); 0: not known yet */
	uint64_t suspect;   /* cookie of the connection on which its reads may hang; 0: none */
	uint32_t nid;
	uint32_t probe;      /* number of the last probe sent */
	uint32_t pid;        /* published addresses; else 0: a port may be several pids' */
	uint32_t uses;       /* of resolve() that were not taken back; counted where transport_ofi resolves */
	uint32_t next;       /* index + 1, in ofi.unused or among the free entries */
	uint32_t previous;   /* likewise, in ofi.unused */
	uint16_t port;       /* host byte order; published: of its claim, 0 until looked up */
	uint8_t life;        /* likewise */
	uint8_t sends;       /* held by the provider, at most ofi.peer_sends */
	uint8_t injected;    /* since the last send whose end we are told */
	bool placed;         /* the payload of one of them is not in its slot */
	bool heard;          /* a message came since the last probe left */
	bool refused : 1;    /* the last probe was refused and nothing was heard since */
	bool unreadable : 1; /* shm: the kernel refused the last read, or libfabric's test of reading */
	bool queued;         /* in ofi.unused: in use no longer */
};

/* Does the provider still read or write memory of the user's for this peer? */
static inline bool ofi_is_occupied(const struct ofi_address *address)
{
	return address->rma_bytes > 0 || address->placed;
}

/* An entry of an epoll set of the provider's. */
struct ofi_watched {
	int set, fd;
	uint64_t data;
	uint64_t inode; /* of what is watched; 0: this kernel does not tell */
};

struct ofi {
	struct transport base;

	/* What poll() touches for each message. */
	struct fid_cq *cq;
	struct fid_ep *ep;
	const struct transport_sink *sink;
	void *owner;
	struct ofi_address *addresses;
	uint32_t *numbered;                                /* the provider's number -> index, or OFI_UNNUMBERED */
	size_t address_count, address_room, numbered_room; /* the first: entries that have ever been in use */
	unsigned unused_count;
	bool watching;      /* since some arm(): see ofi_watch.c */
	unsigned polls;     /* since the last look at the listener */
	unsigned missing;   /* receive buffers that have yet to be posted */
	unsigned doubts;    /* addresses with a suspect */
	unsigned suspicion; /* polls since `suspect` lost something, 0: there is no suspect */
	uint32_t suspect;
	uint64_t received, receive_errors, send_errors;

	/* What send() and RDMA touch. */
	size_t inject_size; /* 0: never */
	uint8_t peer_sends;
	struct ofi_operation *free_slots;
	struct ofi_operation *free_rma, *failed_rma; /* the latter: not to be used yet, see ofi_rma_done() */
	struct ofi_operation *lone_rma;              /* profile.lone_rma: the one that is in flight */
	void *slot_descriptor;                       /* FI_MR_LOCAL */
	unsigned outstanding, outstanding_max;
	size_t rma_greatest, rma_window;

	/* Completions that arm() or a send from its place (ofi_completed_at_once()) found and poll() has yet to handle. */
	struct fi_cq_data_entry stash[OFI_BATCH];
	fi_addr_t stash_source[OFI_BATCH];
	int stashed;

	/* Sleeping (ofi_sleep.c, ofi_watch.c). */
	int cq_fd, edge_fd; /* edge_fd: -1 unless fi_trywait is a stub */
	uint64_t stale_event;
	int watch_fd; /* the set of what was taken out of the provider's; -1: nothing was */
	uint64_t received_when_armed;
	unsigned watched_count;
	struct ofi_watched watched[OFI_WATCHED];

	/* Identity (ofi_address.c). */
	uint32_t nid, pid;
	unsigned attempt;
	uint16_t port;
	int name_fd, port_fd, probe_fd;
	int listener_fd;         /* the provider's: our TCP port is ours; -1: it is not, or has none */
	uint32_t *address_index; /* (nid, port) or (nid, pid, life) -> index + 1; open addressing */
	size_t address_index_size;

	/* Forgetting (ofi_forget.c). */
	fi_addr_t grave;                    /* FI_ADDR_NOTAVAIL: addresses are kept */
	bool half_reaped;                   /* the first unused one is, and nothing may be inserted */
	uint32_t unused_first, unused_last; /* index + 1 */
	uint32_t free_entries;              /* likewise */
	uint32_t probes;                    /* sent so far */

	int mappings; /* to look at before memory is exposed (mapping.h); -1: its pages are */

	/* Published addresses (ofi_published.c). */
	bool published;
	unsigned life;             /* which of our own is the present one */
	struct address_book *book; /* NULL: there is none */
	size_t name_length;        /* of what the provider calls its endpoints */

	struct shm *shm; /* ofi_shm_control.h */

	/* What opening does for addresses that are not sockets'; NULL: nothing. */
	int (*take_name)(struct ofi *); /* makes what our address needs; -EADDRINUSE: try another port */
	int (*publish)(struct ofi *);   /* the endpoint has been enabled */

	/* Made by open(). */
	const struct ofi_library *library;
	struct ofi_profile profile;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct ofi_buffer *buffers, *spare_buffers, *posted_first, *posted_last;
	struct ofi_operation reserve; /* keeps the place of one more receive, if they are scarce */
	struct ofi_operation *slots;
	char *slot_bytes;
	size_t slot_size, slot_count;
	struct fid_mr *slot_mr;
	struct ofi_rma_block *rma_blocks;
	struct ofi_region *regions, *free_regions;
	uint64_t keys[32]; /* random, drawn together; key_count are left */
	unsigned key_count;

	const struct settings *settings;
	const struct tuning *tuning; /* or NULL */
	uint64_t peer_timeout;       /* ns, 0: never */
	char provider[64], iface[32];
	char refusals[OFI_REFUSAL_LENGTH];
};

static inline struct ofi *ofi_of(struct transport *transport)
{
	return (struct ofi *)transport;
}

/* The address that the provider means. */
static inline transport_address ofi_source(const struct ofi *ofi, fi_addr_t number)
{
	uint32_t index = number < ofi->numbered_room ? ofi->numbered[number] : OFI_UNNUMBERED;

	return index == OFI_UNNUMBERED ? TRANSPORT_ADDRESS_UNKNOWN : index;
}

static inline uint32_t ofi_mix(uint32_t value)
{
	value ^= value >> 16;
	value *= 0x85ebca6bu;
	value ^= value >> 13;
	value *= 0xc2b2ae35u;
	return value ^ value >> 16;
}

/* What the provider calls it, where addresses are computed. */
static inline struct sockaddr_in ofi_socket_address(uint32_t nid, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(nid)};
}

/* An errno value for a libfabric code; its own codes start at 256. */
static inline int ofi_errno(ssize_t code)
{
	return code > -256 ? (int)code : -EIO;
}

/*
 * Before whatever may drive the provider's connections.  tcp and net of libfabric (1.17; net's successor in 2.1 as well) look into
 * errno when recv() of a greeting brings less than they want, also when it has found the end of the connection, which leaves
 * errno as it was.  An EAGAIN of another call, such as the last look of each of our probes, they take for the socket's: then
 * they neither close it nor look at it again (xnet_run_conn), and the descriptor is lost.
 */
static inline void ofi_clear_errno(void)
{
	errno = 0;
}

/* At most so many completions; what fi_cq_readfrom() says. */
static inline ssize_t ofi_read_queue(struct ofi *ofi, struct fi_cq_data_entry *entries, fi_addr_t *sources, size_t most)
{
	ofi_clear_errno();
	return fi_cq_readfrom(ofi->cq, entries, most, sources);
}

/* Chooses the table of operations for ofi->provider. */
void ofi_choose_ops(struct ofi *, const struct settings *);

#endif
