/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers over libfabric's shm, and the control messages by which they get to know each other (ofi_shm_control.c). */
#ifndef PORTALS_TRANSPORTS_OFI_SHM_CONTROL_H
#define PORTALS_TRANSPORTS_OFI_SHM_CONTROL_H

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_shm_page.h"

enum acquaintance { SHM_UNVERIFIED, SHM_SEEN, SHM_OPEN, SHM_FAILED };

/* What we know of the process at an address of the same index.  From SEEN on `page` is mapped. */
struct shm_peer {
	enum acquaintance state;
	uint32_t woken_from; /* the sleep it was last woken from */
	struct shm_page *page;
	uint64_t connect_at, due_at;
	uint64_t full_until; /* one of us cannot insert the other */
	uint64_t waits_from; /* for room with us; 0: it does not */
};

struct shm {
	struct shm_page *page;
	int lock, doorbell;
	struct shm_peer *peers;
	size_t peer_room;
	unsigned inserted, failed;
	uint32_t sleep;            /* number of the last one */
	bool asleep;               /* the page says so */
	uint32_t control_messages; /* of page->control_messages, looked for */
	uint64_t looked_at;        /* when find_room() did */
	bool told_full;
	bool told_version;
};

/* --- the doorbell, a datagram socket: an owner sleeps on it --- */

/* Descriptor or a negative error. */
int ofi_shm_make_doorbell(const struct shm_page *);
/* -ECONNREFUSED: this life of the peer is over. */
int ofi_shm_wake(const struct shm *, const struct shm_page *);

/* --- peers --- */

struct shm_peer *ofi_shm_make_room(const struct ofi *, transport_address);

/* NULL: no memory. */
static inline struct shm_peer *shm_peer_at(const struct ofi *ofi, transport_address index)
{
	return likely(index < ofi->shm->peer_room) ? &ofi->shm->peers[index] : ofi_shm_make_room(ofi, index);
}

/* Has the process that we know gone, or another one taken its place? */
bool ofi_shm_is_gone(const struct ofi *, transport_address, const struct shm_peer *);
/* Its process is gone: to be removed by ofi_shm_reap(). */
void ofi_shm_fail(struct shm *, struct shm_peer *);
void ofi_shm_reap(struct ofi *);

/* --- control messages --- */

/* Empties the doorbell.  Returns how many control messages there were. */
int ofi_shm_read_control_messages(struct ofi *);

static inline bool shm_control_pending(const struct shm *shm)
{
	return atomic_load_explicit(&shm->page->control_messages, memory_order_relaxed) != shm->control_messages;
}

/* To a peer that is not OPEN.  0: it is now; -EAGAIN; -ENOENT: no process is there; -EHOSTUNREACH. */
int ofi_shm_connect(struct ofi *, transport_address, struct shm_peer *);

#endif
