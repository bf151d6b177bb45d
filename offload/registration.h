/* SPDX-License-Identifier: BSD-3-Clause */
/* A descriptor's region known to a transport as a whole, so that an operation need not make it so. */
#ifndef PORTALS_OFFLOAD_REGISTRATION_H
#define PORTALS_OFFLOAD_REGISTRATION_H

#include "offload/memory_region.h"

/* A descriptor's region, exposed for as long as the descriptor lives. */
struct registration {
	struct registration *next; /* of the same descriptor */
	struct transport *transport;
	enum memory_region_use use;
	unsigned users;                       /* operations that rely on it */
	bool given_up;                        /* a peer that knows its key was: it is not taken any more */
	struct memory_regions memory_regions; /* nothing: the region cannot be registered as a whole */
};

/*
 * The descriptor's registration, made now if this is its first use, with one user more, which moves so many bytes; NULL:
 * there can be none, or it is not worth while.
 */
struct registration *registration_take(struct nic *, struct descriptor *, struct transport *, enum memory_region_use,
				       uint64_t moved);
/* given_up: the user was an operation whose peer will not be waited for any longer. */
void registration_leave(struct descriptor *, struct registration *, bool given_up);

/* No operation may use them any more. */
void registrations_deregister(struct descriptor *);

/* Those of all descriptors that no operation uses.  False: there was none. */
bool registrations_make_room(struct nic *);

#endif
