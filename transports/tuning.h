/* SPDX-License-Identifier: BSD-3-Clause */
/* What tuning files hold (PTL_TUNING_FILE, PTL_TUNING_SAVE): which way long messages go within a node, and short limits. */
#ifndef PORTALS_TRANSPORTS_TUNING_H
#define PORTALS_TRANSPORTS_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct transport_limits;

/* --- long messages of the node transport (node/node_choice.c) --- */

/* How a long message travels, the cheapest for the processors first. */
enum node_way {
	NODE_UNCHOSEN,
	NODE_ALONE,  /* its reader reads the source's memory */
	NODE_SPLIT,  /* and the source's process writes into the reader's, if a host waits there */
	NODE_STAGED, /* through the source's slabs */
	NODE_WAYS
};

#define NODE_CLASSES     11 /* of lengths: from 4 KiB on, each twice as long as the one before; the last has no end */
#define NODE_CLASS_SHIFT 12 /* log2 of the first class's shortest length */

/* What a class of lengths takes in each of the ways, in ns (0: not known), and which one is taken. */
struct node_figures {
	uint32_t ns[NODE_WAYS];
	enum node_way way;
};

/* The shortest of a class. */
static inline uint64_t node_class_length(unsigned class)
{
	return UINT64_C(1) << (NODE_CLASS_SHIFT + class);
}

extern const char *const tuning_way_names[NODE_WAYS];

/* --- the file --- */

#define TUNING_SHORTS   12
#define TUNING_NAME_MAX 64

struct tuning {
	struct node_figures node[NODE_CLASSES]; /* NODE_UNCHOSEN: the file says nothing */
	struct {
		char transport[TUNING_NAME_MAX]; /* node, ofi:tcp, ... */
		uint32_t bytes;
	} shorts[TUNING_SHORTS];
	unsigned short_count;
};

/* What the file that PTL_TUNING_FILE names says.  What cannot be used is warned about and left out. */
void tuning_read(struct tuning *, const char *path);
/*
 * Writes this to the file that PTL_TUNING_SAVE names, if it says anything; what else that file says, if it is for this machine
 * and version, stays.  A file that is there and cannot be used otherwise is left as it is.  0, or a negative errno value, reported.
 */
int tuning_write(const struct tuning *, const char *path);

/* --- short limits (tuning_limit.c) --- */

/* The entry of a transport, new or not; NULL: there is room for no more. */
uint32_t *tuning_short(struct tuning *, const char *transport);
/* limits->payload_max of that transport: what PTL_SHORT_MAX says (`setting`), or the file (which may be NULL), or neither. */
void tuning_limit(const struct tuning *, uint64_t setting, const char *transport, struct transport_limits *);
/* Warns if the file wants more than limits->short_max, which is all there is, headers included. */
void tuning_check(const char *transport, const struct transport_limits *);
/* PTL_SHORT_MAX, if it was set, is what a file is to say of that transport. */
void tuning_note_limit(struct tuning *, const char *transport, const struct transport_limits *);
/* For humans, behind the greatest message: empty without a limit; returns what snprintf() would. */
int tuning_describe_limit(const struct transport_limits *, char *text, size_t size);

#endif
