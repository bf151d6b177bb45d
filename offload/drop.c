/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a message was dropped, for people: with PTL_LOG=debug, or where drops are traced.  Portals tells the initiator nothing,
 * and the target nothing but a count.  Nothing of this is prepared while a message is matched: a second walk asks
 * again, and says what the first only answered.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/report.h"
#include "offload/drop.h"
#include "offload/flow.h"
#include "offload/operation.h"
#include "offload/peer/peer.h"
#include "offload/trace.h"

struct text {
	char bytes[384];
	size_t used;
};

static void add(struct text *, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
	va_list arguments;

	if (text->used >= sizeof(text->bytes))
		return;
	va_start(arguments, format);
	text->used += (size_t)vsnprintf(text->bytes + text->used, sizeof(text->bytes) - text->used, format, arguments);
	va_end(arguments);
}

static void add_id(struct text *text, ptl_process_id_t id)
{
	if (id.nid == PTL_NID_ANY)
		add(text, "any:");
	else
		add(text, "%" PRIu32 ":", id.nid);
	if (id.pid == PTL_PID_ANY)
		add(text, "any");
	else
		add(text, "%" PRIu32, id.pid);
}

static bool listened_to(const struct nic *nic)
{
	return nic->trace & PTL_DBG_DROP || report_wanted(LOG_DEBUG);
}

static void print(const struct nic *nic, const struct text *text)
{
	if (nic->trace & PTL_DBG_DROP)
		trace_print(nic, PTL_DBG_DROP, "%s", text->bytes);
	else
		report(LOG_DEBUG, "dropped: %s", text->bytes);
}

/* --- access control --- */

static void explain_refusal(struct text *text, const struct nic *nic, const struct peer *peer,
			    const struct wire_message *message)
{
	if (message->pt_index > nic->limits.max_pt_index) {
		add(text, "there is no index %" PRIu32 ", the largest is %d", message->pt_index,
		    nic->limits.max_pt_index);
		return;
	}
	if (message->ac_index > nic->limits.max_ac_index) {
		add(text, "there is no access control entry %" PRIu32 ", the largest is %d", message->ac_index,
		    nic->limits.max_ac_index);
		return;
	}
	const struct acl_entry *entry = &nic->objects.acl[message->ac_index];

	add(text, "access control entry %" PRIu32 " refuses it: ", message->ac_index);
	if (entry->uid != PTL_UID_ANY && entry->uid != peer->uid)
		add(text, "for uid %" PRIu32 ", not %" PRIu32, entry->uid, peer->uid);
	else if (entry->jid != PTL_JID_ANY && entry->jid != peer->jid)
		add(text, "for job %" PRIu32 ", not %" PRIu32, entry->jid, peer->jid);
	else if (entry->pt_index != PTL_PT_INDEX_ANY && entry->pt_index != message->pt_index)
		add(text, "for index %" PRIu32 " alone", entry->pt_index);
	else {
		add(text, "for process ");
		add_id(text, entry->id);
		add(text, " alone");
	}
}

/* --- match lists --- */

/* An entry matches, and its descriptor does not accept: the tests of descriptor_accepts(), in their order. */
static void explain_descriptor(struct text *text, const struct descriptor *md, const struct access *access)
{
	uint64_t offset = md->options & PTL_MD_MANAGE_REMOTE ? access->remote_offset : md->local_offset;
	uint32_t missing = access->operations & ~md->options;

	add(text, "its descriptor 0x%" PRIx32 " ", md->handle);
	if (!md->active && md->threshold == 0)
		add(text, "has threshold 0: used up, or never set");
	else if (!md->active)
		add(text, "is full: less than its max_size, %" PRIu64 " bytes, is left", md->max_size);
	else if (missing)
		add(text, "lacks %s%s%s", missing & PTL_MD_OP_PUT ? "PTL_MD_OP_PUT" : "",
		    missing == (PTL_MD_OP_PUT | PTL_MD_OP_GET) ? " and " : "",
		    missing & PTL_MD_OP_GET ? "PTL_MD_OP_GET" : "");
	else if (offset > md->region.length)
		add(text, "ends before offset %" PRIu64 ": it has %" PRIu64 " bytes", offset, md->region.length);
	else
		add(text, "has %" PRIu64 " bytes left at offset %" PRIu64 ", and no PTL_MD_TRUNCATE",
		    md->region.length - offset, offset);
}

/* From `me` on. */
static const struct match_entry *first_match(const struct match_entry *me, ptl_process_id_t from, uint64_t bits)
{
	while (me && !match_entry_matches(me, from, bits))
		me = me->next;
	return me;
}

/* All that match refuse: says why the first does, and which others do. */
static void explain_entries(struct text *text, const struct match_entry *me, ptl_process_id_t from, uint64_t bits,
			    const struct access *access)
{
	unsigned others = 0;

	add(text, "match entry 0x%" PRIx32 " matches, but ", me->handle);
	if (me->descriptor)
		explain_descriptor(text, me->descriptor, access);
	else
		add(text, "has no descriptor");
	while ((me = first_match(me->next, from, bits)))
		others++;
	if (others > 0)
		add(text, "; nor do %u more that match accept it", others);
}

/* What was meant, perhaps: an entry for others with these bits, or one at another index. */
static void suggest(struct text *text, const struct nic *nic, ptl_process_id_t from, const struct wire_message *message)
{
	for (const struct match_entry *me = nic->objects.portals[message->pt_index].head; me; me = me->next) {
		if ((message->match_bits ^ me->match_bits) & me->must_match)
			continue;
		add(text, "; entry 0x%" PRIx32 " has these bits, but is for process ", me->handle);
		add_id(text, me->source);
		return;
	}
	for (uint32_t i = 0; i < NIC_PORTALS; i++) {
		if (!first_match(nic->objects.portals[i].head, from, message->match_bits))
			continue;
		add(text, "; at index %" PRIu32 " one would match", i);
		return;
	}
}

static void explain_no_match(struct text *text, const struct nic *nic, ptl_process_id_t from,
			     const struct wire_message *message)
{
	const struct match_list *list = &nic->objects.portals[message->pt_index];

	if (!list->head)
		add(text, "there is no match entry at index %" PRIu32, message->pt_index);
	else
		add(text,
		    "none of %" PRIu32 " match entries at index %" PRIu32 " matches; the first wants bits 0x%" PRIx64
		    ", ignoring 0x%" PRIx64,
		    list->length, message->pt_index, list->head->match_bits, ~list->head->must_match);
	suggest(text, nic, from, message);
}

/* --- */

void drop_explain(const struct nic *nic, const struct peer *peer, const struct wire_message *message,
		  const struct access *access, bool granted)
{
	struct text text = {.used = 0};
	const struct match_entry *me;

	if (likely(!listened_to(nic)))
		return;
	add(&text, "%s of %" PRIu64 " bytes from " ID_TEXT ", index %" PRIu32 ", bits 0x%" PRIx64 ": ",
	    wire_operation_name(message->operation), message->length, ID_PARTS(peer->id), message->pt_index,
	    message->match_bits);
	if (!granted)
		explain_refusal(&text, nic, peer, message);
	else if ((me = first_match(nic->objects.portals[message->pt_index].head, peer->id, message->match_bits)))
		explain_entries(&text, me, peer->id, message->match_bits, access);
	else
		explain_no_match(&text, nic, peer->id, message);
	print(nic, &text);
}

static void tell(const struct nic *nic, const struct peer *peer, const char *what, const char *way, const char *why)
{
	struct text text = {.used = 0};

	if (likely(!listened_to(nic)))
		return;
	add(&text, "%s %s " ID_TEXT ": %s", what, way, ID_PARTS(peer->id), why);
	print(nic, &text);
}

void drop_tell(const struct nic *nic, const struct peer *peer, enum wire_operation what, const char *why)
{
	tell(nic, peer, wire_operation_name(what), "from", why);
}

void drop_tell_answer(const struct nic *nic, const struct peer *peer, enum wire_operation what, const char *why)
{
	tell(nic, peer, wire_operation_name(what), "to", why);
}

void drop_count(struct nic *nic, uint64_t length)
{
	nic->counters.drops++;
	nic->lengths.drop += length;
	if (timing_on(&nic->timing))
		flow_dropped(nic);
}
