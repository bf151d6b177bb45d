/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers by which we know our peers: 16 bits, which go into their records and, for peers that we send to, into our intent.
 * There are more processes in a year than numbers, so a number comes again when its holder is gone.
 *
 * WHY NO PEER IS TAKEN FOR ITS SUCCESSOR.  A number is in four places besides our own table:
 *   records of its holder in our queue: it is given back only when it is known that its holder will append no more under it
 *     (node_peer_lost()), together with our tail at that time, and given again when all before that tail is consumed;
 *   our intent, if we were the last time the sender to its holder: cleared when the holder is lost, because the peer that has the number next would take us for a sender about to write into its
 *     queue;
 *   control messages of its holder, which say that it has mapped our segment under that number: they name its incarnation too, and
 *     control messages of one name arrive in order, the successor's after all others;
 *   the holder's memory, if it lives and has not been told yet that we have forgotten it: then it keeps the number
 *     (`former`) until it shows that it has mapped our segment under another, or has gone.  One that is lost again before it
 *     has shown that other number may believe in either, and keeps both; but no control message names a number that is only kept:
 *     to a peer that believes in it, it would say that nothing is forgotten.
 * Besides, NODE_SPARE_NUMBERS others are given back before a number comes again.
 */
#include <stdlib.h>

#include "transports/node/node.h"
#include "transports/node/node_number.h"

#define NODE_SPARE_NUMBERS 1024

struct node_number {
	uint64_t until; /* of our queue: its former holder's records lie before */
	uint16_t next;  /* given back after this one */
};

/* Address space; what is never touched is no memory. */
static bool make_tables(struct node *node)
{
	if (!node->numbers.table && !(node->numbers.table = calloc(NODE_MAX_PEERS, sizeof(struct node_number))))
		return false;
	return node->senders || (node->senders = calloc(NODE_MAX_PEERS, sizeof(struct node_peer *)));
}

static bool first_may_come_again(const struct node *node)
{
	return node->numbers.spare > 0 && (int64_t)(node->head - node->numbers.table[node->numbers.first].until) >= 0;
}

static uint16_t take_first(struct node *node)
{
	uint16_t number = node->numbers.first;

	node->numbers.first = node->numbers.table[number].next;
	node->numbers.spare--;
	return number;
}

bool node_number_give(struct node *node, struct node_peer *peer)
{
	if (peer->number != NODE_NO_SENDER) {
		node->senders[peer->number] = peer; /* not so if it was lost before it had shown that number */
		return true;
	}
	if (!make_tables(node))
		return false;
	bool fresh = node->sender_count < NODE_MAX_PEERS && node->numbers.spare < NODE_SPARE_NUMBERS;

	if (!fresh && first_may_come_again(node))
		peer->number = take_first(node);
	else if (node->sender_count < NODE_MAX_PEERS)
		peer->number = (uint16_t)node->sender_count++;
	else
		return false;
	node->senders[peer->number] = peer;
	return true;
}

uint16_t node_number_shown(const struct node *node, const struct node_peer *peer)
{
	return peer->number != NODE_NO_SENDER && node->senders[peer->number] == peer ? peer->number : NODE_NO_SENDER;
}

void node_number_return(struct node *node, uint16_t number)
{
	uint64_t tail = atomic_load_explicit(&node->segment->tail, memory_order_relaxed);

	node->senders[number] = NULL;
	/* No honest tail is farther away. */
	node->numbers.table[number].until = tail - node->head <= NODE_SLOTS ? tail : node->head + NODE_SLOTS;
	if (node->numbers.spare++ == 0)
		node->numbers.first = number;
	else
		node->numbers.table[node->numbers.last].next = number;
	node->numbers.last = number;
}

void node_numbers_restart(struct node *node)
{
	uint16_t number = node->numbers.first;

	for (uint32_t i = 0; i < node->numbers.spare; i++, number = node->numbers.table[number].next)
		node->numbers.table[number].until = 0;
}

void node_numbers_free(struct node *node)
{
	free(node->senders);
	free(node->numbers.table);
}
