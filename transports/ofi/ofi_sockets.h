/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets of the provider. */
#ifndef PORTALS_TRANSPORTS_OFI_SOCKETS_H
#define PORTALS_TRANSPORTS_OFI_SOCKETS_H

#include "transports/ofi/ofi.h"

void ofi_note_listener(struct ofi *);

/* Connections that came to our listener, by the number and the identity of their sockets. */
struct ofi_connections {
	const struct ofi *ofi;
	struct ofi_connection {
		int fd;
		ino_t inode;
	} * list;
	unsigned count, room;
};

struct ofi_connections ofi_note_connections(const struct ofi *); /* of memory that is not there: fewer */
/* After everything of libfabric's was closed; `forgotten`: successfully, so that nothing of it knows them any more. */
void ofi_end_leftovers(struct ofi *, struct ofi_connections *, bool forgotten);
void ofi_sever(struct transport *, transport_address);
void ofi_sever_unheard(struct transport *, const transport_address *, unsigned count);
/* The queue has been found empty: severs the suspects of those whose reads are under way still. */
void ofi_sever_only(struct ofi *);
void ofi_close_sockets(struct ofi *);            /* in a forked child */
unsigned ofi_count_backlogs(const struct ofi *); /* connections that have not delivered everything */

#endif
