/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote memory over Portals 3.3, after two message layers of about 2001:
 *
 *   the test drivers of prototype InfiniBand cards (Schutt, SAND2001-3387): send and receive that match in order; then buffers registered
 *   under a tag, put and get between them, notices that tell once of an arrival or a departure, acknowledgements where they are asked for;
 *   GRIM (its chapter on host-to-host transfers): active messages and remote memory, cut into fragments that follow each other
 *   through host and network interface, injected by a copy or from where they are, delivered reliably and in order.
 *
 * One thread at a time may use a domain.  Functions return 0 or a negative errno value, unless they say otherwise:
 *   -EINVAL arguments   -EIO Portals refused, see PtlNicErrorText(), or messages to a process that lives fail time after time
 *   -EOVERFLOW events were lost: the domain is of no use
 *   -ENOSPC  messages came from more than RM_PEERS living processes, and the last were lost: the domain is of no use
 *   -EDEADLK called by a handler, where it would have to wait
 */
#ifndef EXAMPLES_RM_H
#define EXAMPLES_RM_H

#include <portals3.h>

#define RM_BUFFERS  64  /* of a domain */
#define RM_PEERS    256 /* that messages go to or come from; those that have ended do not count */
#define RM_HANDLERS 256
#define RM_PENDING  1 /* a status */

typedef struct rm_domain rm_domain;

/* How rm_write() gives data to the network interface. */
enum rm_injection {
	RM_BY_LENGTH, /* the one or the other */
	RM_COPY, /* fragment by fragment, through memory that the interface knows: one leaves while the next is copied */
	RM_DIRECT /* in one piece, from where it is */
};

struct rm_options {
	ptl_pt_index_t pt_index; /* the portal table entry, the same in all processes */
	enum rm_injection injection;
	size_t copy_limit; /* with RM_BY_LENGTH: what is longer goes directly */
	size_t fragment;   /* bytes; a multiple of 8; the same in all processes */
	unsigned slots;    /* fragments that may be under way */
	unsigned blocks;   /* receive memory for messages, 32 fragments each; at least 2 */
};

extern const struct rm_options rm_defaults;

/*
 * What became of something: RM_PENDING until it is over, then 0 or
 *   -ENXIO     no buffer of that tag is there, or it is shorter; or no receive was posted
 *   -EMSGSIZE  the receive that was next is shorter: its sender and its receiver are told, the bytes that fit have come
 *   -EHOSTDOWN the other process has died, or none is there (PTL_CONNECT_TIMEOUT)
 *   -ECANCELED the buffer was deregistered, or the domain closed
 * It must live until then, and may be used again.
 */
struct rm_notice {
	int status;
	uint64_t length; /* bytes moved */
	ptl_process_id_t peer;
};

/* `options` NULL: rm_defaults.  -ENOMEM. */
int rm_open(ptl_handle_ni_t ni, const struct rm_options *options, rm_domain **domain);
void rm_close(rm_domain *domain);

/* Updates notices and runs handlers.  Returns how many events there were. */
int rm_poll(rm_domain *domain);
/* Polls until the notice is no longer pending; returns its status, or -ETIMEDOUT after so many milliseconds without an event. */
int rm_wait(rm_domain *domain, const struct rm_notice *notice, ptl_time_t milliseconds);

/* ---- The first driver: both sides call ---- */

/* The next message of `from` comes here.  Several wait in the order of their calls. */
int rm_receive(rm_domain *domain, ptl_process_id_t from, void *data, size_t length, struct rm_notice *notice);
/* To the next receive for us that is posted there.  `data` may change when the notice says that it is over. */
int rm_send(rm_domain *domain, ptl_process_id_t to, const void *data, size_t length, struct rm_notice *notice);

/* ---- The second driver: one side calls ---- */

enum rm_direction { RM_INCOMING, RM_OUTGOING };

/* -EEXIST: the tag is in use; -ENOSPC: RM_BUFFERS are. */
int rm_register(rm_domain *domain, uint32_t tag, void *memory, size_t length);
/* -ENOENT; -EBUSY: operations of ours from or to this buffer will still be acknowledged. */
int rm_deregister(rm_domain *domain, uint32_t tag);
/*
 * Tells of the next operation, ours or another process's, that brings bytes into the buffer (RM_INCOMING) or after which those in
 * it may change (RM_OUTGOING).  Once; what was over before the call does not count.  -ENOENT; -EBUSY: a notice is pending.
 */
int rm_notify(rm_domain *domain, uint32_t tag, enum rm_direction direction, struct rm_notice *notice);
/*
 * From the beginning of our buffer `local` to that of the other's `remote`, or back.  `ack` says when the bytes are there, and is the only
 * way to hear of an error; NULL asks for none.  -ENOENT: `local` is not registered.
 */
int rm_put(rm_domain *domain, ptl_process_id_t to, uint32_t local, uint32_t remote, size_t length,
	   struct rm_notice *ack);
int rm_get(rm_domain *domain, ptl_process_id_t from, uint32_t local, uint32_t remote, size_t length,
	   struct rm_notice *ack);

/* ---- GRIM ---- */

/* A place in another process's memory, as its network interface finds it. */
struct rm_place {
	uint32_t tag;
	uint64_t offset;
};

/*
 * Where a virtual address of the other process is.  It asks that process's interface, so a process that writes there often keeps the place, as long as
 * the buffer is registered.  -ENXIO: so many bytes from that address are in no buffer; -EHOSTDOWN; -ETIMEDOUT: that process has no domain,
 * or takes longer to answer; -EBUSY: the question of an earlier call that timed out is still being sent or answered.
 */
int rm_translate(rm_domain *domain, ptl_process_id_t peer, uint64_t address, size_t length, ptl_time_t milliseconds,
		 struct rm_place *place);
/* Like rm_put(), from memory that need not be registered, and may change on return.  One incoming notice tells of it all. */
int rm_write(rm_domain *domain, ptl_process_id_t to, struct rm_place place, const void *data, size_t length,
	     struct rm_notice *ack);

/* Runs in rm_poll(), for messages of one process in the order they were sent.  It may send if there is room (-EAGAIN: there is not). */
typedef void rm_handler(rm_domain *domain, ptl_process_id_t from, void *data, size_t length);

int rm_handler_set(rm_domain *domain, unsigned number, rm_handler *handler);
/*
 * A copy is on its way on return, and is sent again until the other has room for it.  Polls while it waits for a slot.
 *   -EHOSTDOWN  the process has died, and messages may be lost: told once, the next is for a process that follows it; not told when
 *               RM_PEERS others have come since
 *   -EAGAIN     a handler calls, and there is no room, or a message to that process is being sent
 *   -ENOSPC     RM_PEERS
 */
int rm_message(rm_domain *domain, ptl_process_id_t to, unsigned handler, const void *data, size_t length);
/* Waits until all messages to that process have been accepted.  -EHOSTDOWN. */
int rm_flush(rm_domain *domain, ptl_process_id_t to);

/* Fragments of messages since rm_open(). */
struct rm_counters {
	uint64_t sent, refused;  /* refused ones were sent again */
	uint64_t arrived, early; /* early ones came before one that was sent before them */
	uint64_t unhandled;      /* messages for a handler that is not set */
};

void rm_read_counters(const rm_domain *domain, struct rm_counters *counters);

#endif
