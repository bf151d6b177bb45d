/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that a read goes from and to.  A read of one piece at either end keeps it in itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "transports/node/node_copy.h"

bool node_walk_next(struct node_walk *walk, struct transport_segment *part)
{
	if (walk->left == 0)
		return false;
	while (walk->at >= walk->piece->length)
		walk->at -= walk->piece++->length;
	uint64_t rest = walk->piece->length - walk->at;

	*part = (struct transport_segment){walk->piece->address + walk->at, walk->piece->key,
					   rest < walk->left ? rest : walk->left};
	walk->left -= part->length;
	walk->at += part->length;
	return true;
}

unsigned node_walk_iovec(struct node_walk walk, struct iovec *iov)
{
	struct transport_segment part;
	unsigned count = 0;

	while (node_walk_next(&walk, &part))
		iov[count++] = (struct iovec){(void *)(uintptr_t)part.address, part.length};
	return count;
}

int node_read_pieces(struct node_read *read, const struct transport_read_list *wanted)
{
	struct transport_segment *pieces =
		malloc((wanted->local_count + wanted->remote_count) * sizeof(struct transport_segment));

	if (!pieces)
		return report_error(-ENOMEM, "no memory for a read of %u pieces into %u", wanted->remote_count,
				    wanted->local_count);
	read->pieces = pieces;
	read->local = pieces;
	for (unsigned i = 0; i < wanted->local_count; i++)
		*pieces++ = (struct transport_segment){.address = (uintptr_t)wanted->local[i].iov_base,
						       .length = wanted->local[i].iov_len};
	read->remote = pieces;
	memcpy(pieces, wanted->remote, wanted->remote_count * sizeof(*pieces));
	return 0;
}
