/* SPDX-License-Identifier: BSD-3-Clause */
/* Ready pages: what processes that talk over libfabric's shm tell each other beside it (ofi_shm_page.c). */
#ifndef PORTALS_TRANSPORTS_OFI_SHM_PAGE_H
#define PORTALS_TRANSPORTS_OFI_SHM_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"

#define SHM_NAME_ROOM 64

/* Of the page and of control messages (ofi_shm_control.c): pages of another version are not ready. */
#define SHM_LAYOUT_VERSION 2

/* Values of shm_page.sleeping; any other is the number of the owner's present sleep. */
#define SHM_AWAKE  0u
#define SHM_CLOSED UINT32_MAX

struct shm_page {
	_Atomic uint32_t ready; /* in every version: SHM_READY as soon as the rest, and the segment, are there */
	uint32_t nid, port;
	uint64_t nonce;      /* another one in each life; in the doorbell's name too */
	uint64_t process[2]; /* Unix pid, and a number by chance: the same for all interfaces of a process */
	_Alignas(CACHE_LINE) _Atomic uint32_t sleeping;         /* written by the owner */
	_Alignas(CACHE_LINE) _Atomic uint32_t control_messages; /* sent to the owner; written by its peers */
};

/* As fi_av_insert() wants it. */
void ofi_shm_provider_name(uint32_t nid, uint16_t port, char name[SHM_NAME_ROOM]);

/*
 * Makes the names ours and removes what a dead owner has left there; *lock keeps them.  -EADDRINUSE: a process lives
 * there; -EPERM: files of another user are in the way.
 */
int ofi_shm_page_claim(uint32_t nid, uint16_t port, struct shm_page **, int *lock);
/* The provider's segment is there: others may come. */
void ofi_shm_page_publish(struct shm_page *);
/* Its owner is leaving: no peer is to come any more. */
void ofi_shm_page_retire(struct shm_page *);
/* Gives the names up.  Not before the provider has removed its segment. */
void ofi_shm_page_drop(struct shm_page *, int lock);

/*
 * The page of the process that lives there, mapped if `page` is not NULL, and its nonce.  -ENOENT: none; -EPERM: another user;
 * -EPROTONOSUPPORT: another version; or an error that may pass.
 */
int ofi_shm_page_find(uint32_t nid, uint16_t port, uint64_t *nonce, struct shm_page **page);
void ofi_shm_page_unmap(struct shm_page *);

/* Is the provider's segment there, and ours?  0, -ENOENT, -EPERM. */
int ofi_shm_segment_check(uint32_t nid, uint16_t port);

/* Removes what dead processes of this user have left, wherever they lived. */
void ofi_shm_pages_sweep(void);

#endif
