/* SPDX-License-Identifier: BSD-3-Clause */
#include "transports/node/node_tuning.h"

#include <string.h>

#include "transports/tuning.h"

void node_tuning_apply(struct node_copies *copies, const struct tuning *tuning)
{
	for (unsigned class = 0; class < NODE_CLASSES; class ++) {
		copies->fixed[class] = tuning->node[class].way != NODE_UNCHOSEN;
		if (copies->fixed[class])
			copies->figures[class] = tuning->node[class];
	}
}

void node_tuning_save(const struct node_copies *copies, const struct transport_limits *limits, const char *path)
{
	struct tuning tuning = {0};

	memcpy(tuning.node, copies->figures, sizeof(tuning.node));
	tuning_note_limit(&tuning, "node", limits);
	tuning_write(&tuning, path);
}
