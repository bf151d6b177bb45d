/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing.  Values travel in words of a descriptor that is bound once; anything longer in a descriptor of its own,
 * over the caller's memory.  A put is over when its ACK says that the bytes are in the other's memory, a get with its reply,
 * a store when its bytes may change.
 */
#include "internal.h"

static uint64_t word_offset(const struct operation *operation)
{
	return (uint64_t)((const char *)&operation->word - (const char *)sc.words);
}

static void retire(struct operation *operation)
{
	sc.under_way--;
	operation->next = sc.free;
	sc.free = operation;
}

static void word_event(struct operation *operation, const ptl_event_t *event)
{
	if (event->type == PTL_EVENT_SEND_END && operation->ends_by_ack && event->ni_fail_type == PTL_NI_OK)
		return;
	if (event->type == PTL_EVENT_REPLY_END && operation->value)
		*operation->value = operation->word;
	retire(operation);
}

/* A bulk operation is over when its descriptor is: UNLINK is the last event. */
void sc_operation_event(const ptl_event_t *event)
{
	if (event->md.start == sc.words)
		word_event(&sc.words[event->offset / sizeof(*sc.words)], event);
	else if (event->type == PTL_EVENT_UNLINK)
		sc.under_way--;
}

static int take_word(struct operation **operation)
{
	while (!sc.free) {
		int rc = sc_progress();
		if (rc)
			return rc;
	}
	*operation = sc.free;
	sc.free = sc.free->next;
	sc.under_way++;
	return 0;
}

static int put_word(struct operation *operation, unsigned process, enum entry entry, uint64_t offset)
{
	operation->ends_by_ack = entry != STORES;
	return PtlPutRegion(sc.words_md, word_offset(operation), sizeof(operation->word),
			    operation->ends_by_ack ? PTL_ACK_REQ : PTL_NO_ACK_REQ, sc.ids[process], PT_INDEX, 0, entry,
			    offset, 0);
}

static int get_word(uint64_t *value, unsigned process, enum entry entry, uint64_t offset)
{
	struct operation *operation;
	int rc = take_word(&operation);
	if (rc)
		return rc;
	operation->value = value;
	if (PtlGetRegion(sc.words_md, word_offset(operation), sizeof(operation->word), sc.ids[process], PT_INDEX, 0,
			 entry, offset) == PTL_OK)
		return 0;
	retire(operation);
	return -EIO;
}

int sc_tell_word(unsigned process, enum entry entry, uint64_t offset, uint64_t value)
{
	struct operation *operation;
	int rc = take_word(&operation);
	if (rc)
		return rc;
	operation->word = value;
	operation->value = NULL;
	if (put_word(operation, process, entry, offset) == PTL_OK)
		return 0;
	retire(operation);
	return -EIO;
}

int sc_notify(unsigned process, unsigned round)
{
	struct operation *operation;
	int rc = take_word(&operation);
	if (rc)
		return rc;
	operation->value = NULL;
	operation->ends_by_ack = false;
	if (PtlPutRegion(sc.words_md, word_offset(operation), 0, PTL_NO_ACK_REQ, sc.ids[process], PT_INDEX, 0, ARRIVED,
			 0, round) == PTL_OK)
		return 0;
	retire(operation);
	return -EIO;
}

int sc_fetch_word(uint64_t *value, unsigned process, enum entry entry, uint64_t offset)
{
	int rc = get_word(value, process, entry, offset);
	return rc ? rc : sc_sync();
}

int sc_send_word(sc_global to, uint64_t value, enum entry entry)
{
	return sc_valid(to, sizeof(value)) ? sc_tell_word(to.process, entry, to.offset, value) : -EINVAL;
}

/* A put's descriptor is used up by its ACK: threshold 2; a store's by being sent, a get's by its reply. */
static int bind_bulk(const void *memory, size_t bytes, int threshold, ptl_handle_md_t *md)
{
	while (sc.under_way >= BULK) {
		int rc = sc_progress();
		if (rc)
			return rc;
	}
	ptl_md_t over = {.start = (void *)(uintptr_t)memory,
			 .length = bytes,
			 .threshold = threshold,
			 .options = PTL_MD_EVENT_START_DISABLE,
			 .eq_handle = sc.eq};
	return PtlMDBind(sc.ni, over, PTL_UNLINK, md) == PTL_OK ? 0 : -EIO;
}

static int issued(int code, ptl_handle_md_t md)
{
	if (code == PTL_OK) {
		sc.under_way++;
		return 0;
	}
	PtlMDUnlink(md);
	return -EIO;
}

int sc_send(sc_global to, const void *from, size_t bytes, enum entry entry)
{
	ptl_handle_md_t md;
	if (!sc_valid(to, bytes))
		return -EINVAL;
	bool acknowledged = entry != STORES;
	int rc = bind_bulk(from, bytes, acknowledged ? 2 : 1, &md);
	return rc ? rc
		  : issued(PtlPut(md, acknowledged ? PTL_ACK_REQ : PTL_NO_ACK_REQ, sc.ids[to.process], PT_INDEX, 0,
				  entry, to.offset, 0),
			   md);
}

int sc_sync(void)
{
	while (sc.under_way && !sc.failure)
		sc_progress();
	return sc.failure;
}

static int synchronously(int rc)
{
	return rc ? rc : sc_sync();
}

int sc_get(uint64_t *value, sc_global from)
{
	return sc_valid(from, sizeof(*value)) ? get_word(value, from.process, MEMORY, from.offset) : -EINVAL;
}

int sc_put(sc_global to, uint64_t value)
{
	return sc_send_word(to, value, MEMORY);
}

int sc_bulk_get(void *to, sc_global from, size_t bytes)
{
	ptl_handle_md_t md;
	if (!sc_valid(from, bytes))
		return -EINVAL;
	int rc = bind_bulk(to, bytes, 1, &md);
	return rc ? rc : issued(PtlGet(md, sc.ids[from.process], PT_INDEX, 0, MEMORY, from.offset), md);
}

int sc_bulk_put(sc_global to, const void *from, size_t bytes)
{
	return sc_send(to, from, bytes, MEMORY);
}

int sc_read(uint64_t *value, sc_global from)
{
	return synchronously(sc_get(value, from));
}

int sc_write(sc_global to, uint64_t value)
{
	return synchronously(sc_put(to, value));
}

int sc_bulk_read(void *to, sc_global from, size_t bytes)
{
	return synchronously(sc_bulk_get(to, from, bytes));
}

int sc_bulk_write(sc_global to, const void *from, size_t bytes)
{
	return synchronously(sc_bulk_put(to, from, bytes));
}
