/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that a read goes from and to.  A read of one piece at either end keeps it in itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_list.h"

/* The pieces of a place in node_copies.reads grow to what its reads have needed: TRANSPORT_PIECES_MAX at either end at most. */
#define ROOM_FIRST 16

static int make_room(struct node_read *read, uint32_t count)
{
	uint32_t room = read->piece_room ? read->piece_room : ROOM_FIRST;

	if (count <= read->piece_room)
		return 0;
	while (room < count)
		room *= 2;
	struct transport_segment *pieces = realloc(read->pieces, room * sizeof(*pieces));

	if (!pieces)
		return -ENOMEM;
	read->pieces = pieces;
	read->piece_room = room;
	return 0;
}

int node_read_pieces(struct node_read *read, const struct transport_read_list *wanted)
{
	if (make_room(read, wanted->local_count + wanted->remote_count))
		return report_error(-ENOMEM, "no memory for a read of %u pieces into %u", wanted->remote_count,
				    wanted->local_count);
	struct transport_segment *pieces = read->pieces;

	read->local = pieces;
	for (unsigned i = 0; i < wanted->local_count; i++)
		*pieces++ = (struct transport_segment){.address = (uintptr_t)wanted->local[i].iov_base,
						       .length = wanted->local[i].iov_len};
	read->remote = pieces;
	memcpy(pieces, wanted->remote, wanted->remote_count * sizeof(*pieces));
	return 0;
}
