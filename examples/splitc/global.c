/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning, end, memory, and what happens with events. */
#include "internal.h"

/* What all others may have sent, and what this process has under way; room that is not used costs address space only. */
#define EVENTS (SC_PROCESSES * (WINDOW + ROUNDS) + 3 * (WORDS + BULK))

struct splitc sc;

static int attach(enum entry entry, ptl_md_t md)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_md_t handle;
	md.threshold = PTL_MD_THRESH_INF;
	md.options |= PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	if (PtlMEAttach(sc.ni, PT_INDEX, anyone, entry, 0, PTL_RETAIN, PTL_INS_AFTER, &sc.entries[entry]) != PTL_OK)
		return -EIO;
	return PtlMDAttach(sc.entries[entry], md, PTL_RETAIN, &handle) == PTL_OK ? 0 : -EIO;
}

static int open_entries(void)
{
	/* A dropped event would be a lost store: senders look how many have been counted, and the queue has room for the rest. */
	int rc = attach(MEMORY, (ptl_md_t){.start = sc.segment,
					   .length = sc.length,
					   .options = PTL_MD_OP_PUT | PTL_MD_OP_GET,
					   .eq_handle = PTL_EQ_NONE});
	if (rc == 0)
		rc = attach(STORES, (ptl_md_t){.start = sc.segment,
					       .length = sc.length,
					       .options = PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE,
					       .eq_handle = sc.eq});
	if (rc == 0)
		rc = attach(TAKEN, (ptl_md_t){.start = sc.taken,
					      .length = sizeof(sc.taken),
					      .options = PTL_MD_OP_GET,
					      .eq_handle = PTL_EQ_NONE});
	if (rc == 0)
		rc = attach(TOLD, (ptl_md_t){.start = sc.told,
					     .length = sizeof(sc.told),
					     .options = PTL_MD_OP_PUT,
					     .eq_handle = PTL_EQ_NONE});
	if (rc == 0)
		rc = attach(ARRIVED, (ptl_md_t){.options = PTL_MD_OP_PUT | PTL_MD_ACK_DISABLE, .eq_handle = sc.eq});
	return rc;
}

int sc_init(ptl_handle_ni_t ni, unsigned rank, unsigned size, const ptl_process_id_t *ids, size_t segment)
{
	if (size == 0 || size > SC_PROCESSES || rank >= size || segment == 0 || sc.segment)
		return -EINVAL;
	sc = (struct splitc){.ni = ni, .rank = rank, .size = size, .length = segment};
	memcpy(sc.ids, ids, size * sizeof(*ids));
	for (unsigned i = 0; i < ENTRIES; i++)
		sc.entries[i] = PTL_INVALID_HANDLE;
	for (unsigned i = 0; i < WORDS; i++) {
		sc.words[i].next = sc.free;
		sc.free = &sc.words[i];
	}
	sc.segment = calloc(1, segment);
	if (!sc.segment)
		return -ENOMEM;
	ptl_md_t words = {.start = sc.words,
			  .length = sizeof(sc.words),
			  .threshold = PTL_MD_THRESH_INF,
			  .options = PTL_MD_EVENT_START_DISABLE};
	int rc = PtlEQAlloc(ni, EVENTS, PTL_EQ_HANDLER_NONE, &sc.eq) == PTL_OK ? 0 : -EIO;
	words.eq_handle = sc.eq;
	if (rc == 0)
		rc = PtlMDBind(ni, words, PTL_RETAIN, &sc.words_md) == PTL_OK ? open_entries() : -EIO;
	if (rc)
		sc_end();
	else
		PtlNicPeerEvents(ni, sc.eq);
	return rc;
}

/* Operations that others have under way here end without an event. */
static void drive(void)
{
	ptl_event_t event;
	PtlEQGet(sc.eq, &event);
}

void sc_end(void)
{
	PtlNicPeerEvents(sc.ni, PTL_EQ_NONE);
	for (unsigned i = 0; i < ENTRIES; i++)
		while (PtlMEUnlink(sc.entries[i]) == PTL_ME_IN_USE)
			drive();
	while (PtlMDUnlink(sc.words_md) == PTL_MD_IN_USE)
		drive();
	PtlEQFree(sc.eq);
	free(sc.segment);
	sc.segment = NULL;
}

unsigned sc_rank(void)
{
	return sc.rank;
}

unsigned sc_size(void)
{
	return sc.size;
}

void *sc_alloc(size_t bytes)
{
	size_t rounded = (bytes + 63) & ~(size_t)63;
	if (rounded < bytes || rounded > sc.length - sc.used)
		return NULL;
	char *at = sc.segment + sc.used;
	sc.used += rounded;
	return at;
}

sc_global sc_at(unsigned process, const void *mine)
{
	return (sc_global){process, (uint64_t)((const char *)mine - sc.segment)};
}

sc_global sc_plus(sc_global at, uint64_t bytes)
{
	at.offset += bytes;
	return at;
}

bool sc_valid(sc_global at, size_t bytes)
{
	return at.process < sc.size && at.offset <= sc.length && bytes <= sc.length - at.offset;
}

static void sort(const ptl_event_t *event)
{
	if (event->type == PTL_NIC_EVENT_PEER_DIED || event->ni_fail_type != PTL_NI_OK)
		sc.failure = -EHOSTDOWN;
	if (event->type == PTL_NIC_EVENT_PEER_DIED)
		return;
	if (event->type != PTL_EVENT_PUT_END)
		sc_operation_event(event);
	else if (event->match_bits == ARRIVED)
		sc.arrived[event->hdr_data % ROUNDS]++;
	else
		sc_store_event(event);
}

/* Something is always under way when this is called, or comes from a process that has not died. */
int sc_progress(void)
{
	ptl_event_t event;
	int which, rc = PtlEQPoll(&sc.eq, 1, PTL_TIME_FOREVER, &event, &which);
	if (rc == PTL_EQ_DROPPED)
		sc.failure = -EOVERFLOW;
	if (rc == PTL_OK || rc == PTL_EQ_DROPPED)
		sort(&event);
	return sc.failure;
}
