/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that a read goes from and to.  A read of one piece at either end keeps it in itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "transports/node/node_copy.h"
#include "transports/node/node_list.h"

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
