/* SPDX-License-Identifier: BSD-3-Clause */
/* What contact.c keeps for all peers together.  Owner only. */
#ifndef PORTALS_OFFLOAD_STATE_CONTACT_H
#define PORTALS_OFFLOAD_STATE_CONTACT_H

#include <stdint.h>

struct contact {
	uint64_t severed_at; /* when we last looked for connections with peers given up */
	uint64_t tag_key;    /* of conversations' tags: new_tag() */
	uint16_t tags_given;
};

#endif
