/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces, match lists and descriptors: making, changing and finding them. */
#include <stdlib.h>
#include <string.h>

#include "tests/model/reference_state.h"

/* --- the table of objects --- */

struct object *find(const struct reference *reference, enum reference_object kind, unsigned number)
{
	struct object *object = number < reference->objects ? reference->object[number] : NULL;

	return object && object->live && object->kind == kind ? object : NULL;
}

void *add(struct reference *reference, enum reference_object kind, unsigned ni, size_t size)
{
	struct object *object = zeroed(size);

	if (reference->objects == reference->object_room) {
		reference->object_room = 2 * reference->object_room + 64;
		reference->object = realloc(reference->object, reference->object_room * sizeof(struct object *));
	}
	*object = (struct object){.kind = kind, .number = reference->objects, .ni = ni, .live = true};
	reference->object[reference->objects++] = object;
	return object;
}

unsigned reference_next(const struct reference *reference, enum reference_object kind, unsigned ni, unsigned previous)
{
	for (unsigned i = previous + 1; i < reference->objects; i++)
		if (find(reference, kind, i) && reference->object[i]->ni == ni)
			return i;
	return 0;
}

bool reference_alive(const struct reference *reference, enum reference_object kind, unsigned number)
{
	return find(reference, kind, number) != NULL;
}

/* --- life --- */

void furnish(struct reference *reference, unsigned ni)
{
	struct interface *interface = &reference->interface[ni];

	*interface = (struct interface){.is = interface->is, .memory = interface->memory};
	for (unsigned i = 0; i < ACCESS; i++)
		interface->access[i] =
			(struct access){{PTL_NID_ANY, PTL_PID_ANY}, interface->is.uid, PTL_JID_ANY, PTL_PT_INDEX_ANY};
}

void reference_restart(struct reference *reference, unsigned ni)
{
	for (unsigned i = REFERENCE_INVALID + 1; i < reference->objects; i++)
		if (reference->object[i]->ni == ni)
			reference->object[i]->live = false;
	forget_requests(reference, ni);
	furnish(reference, ni);
}

struct reference *reference_new(unsigned interfaces, const struct reference_interface *is, uint64_t memory)
{
	struct reference *reference = zeroed(sizeof(*reference));

	while (reference->objects <= REFERENCE_INVALID) /* these numbers name nothing */
		add(reference, REFERENCE_NOTHING, 0, sizeof(struct object));
	enlist(reference, NULL); /* nor does request 0 */
	reference->interfaces = interfaces;
	reference->memory_size = memory;
	for (unsigned i = 0; i < interfaces; i++) {
		struct interface *ni = &reference->interface[i];

		ni->is = is[i];
		ni->memory = zeroed(memory);
		furnish(reference, i);
	}
	return reference;
}

static void request_free(struct request *request)
{
	free(request->data);
	free(request->reply_data);
	free(request->pull.copy);
	free(request->fetch.copy);
	free(request);
}

void reference_free(struct reference *reference)
{
	for (unsigned i = 0; i < reference->objects; i++) {
		if (reference->object[i]->kind == REFERENCE_QUEUE)
			free(((struct queue *)reference->object[i])->slots);
		free(reference->object[i]);
	}
	for (unsigned i = 1; i < reference->requests; i++)
		request_free(reference->request[i]);
	while (reference->terms) {
		struct terms *terms = reference->terms;

		reference->terms = terms->next;
		free(terms->piece);
		free(terms);
	}
	for (unsigned i = 0; i < reference->interfaces; i++)
		free(reference->interface[i].memory);
	free(reference->object);
	free(reference->request);
	free(reference);
}

uint8_t *reference_memory(struct reference *reference, unsigned ni)
{
	return reference->interface[ni].memory;
}

int reference_status(struct reference *reference, unsigned ni, ptl_sr_index_t index, ptl_sr_value_t *value)
{
	const struct interface *interface = &reference->interface[ni];
	const uint64_t registers[] = {
		[PTL_SR_DROP_COUNT] = interface->drops,    [PTL_SR_DROP_LENGTH] = interface->drop_length,
		[PTL_SR_RECV_COUNT] = interface->received, [PTL_SR_RECV_LENGTH] = interface->received_length,
		[PTL_SR_SEND_COUNT] = interface->sent,     [PTL_SR_SEND_LENGTH] = interface->sent_length,
	};

	if (index < sizeof(registers) / sizeof(registers[0]))
		*value = (ptl_sr_value_t)registers[index];
	else if (index >= PTL_SR_MLIST_LEN(0) && index < PTL_SR_MLIST_LEN(PORTALS))
		*value = interface->portals[index - PTL_SR_MLIST_LEN(0)].length;
	else if (index >= PTL_SR_MLIST_MAX(0) && index < PTL_SR_MLIST_MAX(PORTALS))
		*value = interface->portals[index - PTL_SR_MLIST_MAX(0)].greatest;
	else
		return PTL_SR_INDEX_INVALID;
	return PTL_OK;
}

int reference_ac_entry(struct reference *reference, unsigned ni, ptl_ac_index_t index, ptl_process_id_t id,
		       ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt_index)
{
	struct interface *interface = &reference->interface[ni];

	if (index > (unsigned)interface->is.limits.max_ac_index)
		return PTL_AC_INDEX_INVALID;
	if (pt_index != PTL_PT_INDEX_ANY && pt_index > (unsigned)interface->is.limits.max_pt_index)
		return PTL_PT_INDEX_INVALID;
	interface->access[index] = (struct access){id, uid, jid, pt_index};
	return PTL_OK;
}

/* --- match entries --- */

/* Puts a new entry where `at` points. */
static void insert(struct reference *reference, unsigned ni, struct portal *portal, struct entry **at,
		   const struct reference_entry *said, unsigned *number)
{
	struct entry *entry = add(reference, REFERENCE_ENTRY, ni, sizeof(*entry));

	entry->said = *said;
	entry->portal = portal;
	entry->next = *at;
	*at = entry;
	if (++portal->length > portal->greatest)
		portal->greatest = portal->length;
	*number = entry->object.number;
}

static struct entry **end_of(struct portal *portal)
{
	struct entry **at = &portal->head;

	while (*at)
		at = &(*at)->next;
	return at;
}

static struct entry **place_of(const struct entry *entry)
{
	struct entry **at = &entry->portal->head;

	while (*at != entry)
		at = &(*at)->next;
	return at;
}

int reference_me_attach(struct reference *reference, unsigned ni, ptl_pt_index_t pt, const struct reference_entry *said,
			ptl_ins_pos_t position, unsigned *me)
{
	struct interface *interface = &reference->interface[ni];

	if (pt > (unsigned)interface->is.limits.max_pt_index)
		return PTL_PT_INDEX_INVALID;
	struct portal *portal = &interface->portals[pt];

	insert(reference, ni, portal, position == PTL_INS_BEFORE ? &portal->head : end_of(portal), said, me);
	return PTL_OK;
}

int reference_me_attach_any(struct reference *reference, unsigned ni, ptl_pt_index_t *pt,
			    const struct reference_entry *said, unsigned *me)
{
	for (*pt = 0; *pt < PORTALS; ++*pt)
		if (!reference->interface[ni].portals[*pt].head)
			return reference_me_attach(reference, ni, *pt, said, PTL_INS_AFTER, me);
	return PTL_PT_FULL;
}

static void insert_at(struct reference *reference, struct entry *base, const struct reference_entry *said,
		      ptl_ins_pos_t position, unsigned *me)
{
	insert(reference, base->object.ni, base->portal, position == PTL_INS_BEFORE ? place_of(base) : &base->next,
	       said, me);
}

int reference_me_insert(struct reference *reference, unsigned number, const struct reference_entry *said,
			ptl_ins_pos_t position, unsigned *me)
{
	struct entry *base = (struct entry *)find(reference, REFERENCE_ENTRY, number);

	if (!base)
		return PTL_ME_INVALID;
	insert_at(reference, base, said, position, me);
	return PTL_OK;
}

static void remove_entry(struct entry *entry)
{
	*place_of(entry) = entry->next;
	entry->portal->length--;
	entry->object.live = false;
}

void unlink_md(struct md *md, bool entry_too)
{
	struct entry *entry = md->entry;

	md->object.live = false;
	if (!entry)
		return;
	entry->md = NULL;
	if (entry_too || entry->said.unlink == PTL_UNLINK)
		remove_entry(entry);
}

int reference_me_unlink(struct reference *reference, unsigned number)
{
	struct entry *entry = (struct entry *)find(reference, REFERENCE_ENTRY, number);

	if (!entry)
		return PTL_ME_INVALID;
	if (entry->md && entry->md->pending > 0)
		return PTL_ME_IN_USE;
	if (entry->md)
		unlink_md(entry->md, true);
	else
		remove_entry(entry);
	return PTL_OK;
}

/* --- descriptors --- */

static bool describes_memory(const struct interface *ni, const ptl_md_t *md)
{
	if (!md->start)
		return md->length == 0;
	if (md->options & PTL_MD_IOVEC)
		return md->length <= (unsigned)ni->is.limits.max_md_iovecs;
	return (uintptr_t)md->start + md->length >= (uintptr_t)md->start;
}

/* A queue of another interface is no queue for this descriptor, but not an invalid one. */
static int find_queue(const struct reference *reference, unsigned ni, unsigned number, struct queue **queue)
{
	*queue = (struct queue *)find(reference, REFERENCE_QUEUE, number);
	if (number == REFERENCE_NO_QUEUE)
		return PTL_OK;
	if (!*queue)
		return PTL_EQ_INVALID;
	return (*queue)->object.ni == ni ? PTL_OK : PTL_MD_ILLEGAL;
}

/* What can be wrong with a statement. */
static int examine(const struct reference *reference, unsigned ni, const struct reference_md *said)
{
	struct queue *queue;
	int code = find_queue(reference, ni, said->queue, &queue);

	if (code)
		return code;
	return describes_memory(&reference->interface[ni], &said->stated) ? PTL_OK : PTL_MD_ILLEGAL;
}

static void set_terms(struct reference *reference, struct md *md, const struct reference_md *said)
{
	struct terms *terms = zeroed(sizeof(*terms));

	terms->next = reference->terms;
	reference->terms = md->terms = terms;
	terms->md = md;
	terms->stated = said->stated;
	find_queue(reference, md->object.ni, said->queue, &terms->queue);
	terms->pieces = said->stated.start ? said->pieces : 0;
	terms->piece = zeroed(terms->pieces * sizeof(*terms->piece));
	for (unsigned i = 0; i < terms->pieces; i++) {
		terms->piece[i] = said->piece[i];
		terms->length += said->piece[i].length;
	}
	terms->active = said->stated.threshold > 0 || said->stated.threshold == PTL_MD_THRESH_INF;
}

static int make(struct reference *reference, unsigned ni, struct entry *entry, const struct reference_md *said,
		ptl_unlink_t unlink, unsigned *number)
{
	int code = examine(reference, ni, said);

	if (code)
		return code;
	struct md *md = add(reference, REFERENCE_MD, ni, sizeof(*md));

	md->auto_unlink = unlink == PTL_UNLINK;
	md->entry = entry;
	if (entry)
		entry->md = md;
	set_terms(reference, md, said);
	*number = md->object.number;
	return PTL_OK;
}

int reference_md_attach(struct reference *reference, unsigned me, const struct reference_md *said, ptl_unlink_t unlink,
			unsigned *md)
{
	struct entry *entry = (struct entry *)find(reference, REFERENCE_ENTRY, me);

	if (!entry)
		return PTL_ME_INVALID;
	if (entry->md)
		return PTL_ME_IN_USE;
	return make(reference, entry->object.ni, entry, said, unlink, md);
}

int reference_md_bind(struct reference *reference, unsigned ni, const struct reference_md *said, ptl_unlink_t unlink,
		      unsigned *md)
{
	return make(reference, ni, NULL, said, unlink, md);
}

int reference_md_unlink(struct reference *reference, unsigned number)
{
	struct md *md = (struct md *)find(reference, REFERENCE_MD, number);

	if (!md)
		return PTL_MD_INVALID;
	if (md->pending > 0)
		return PTL_MD_IN_USE;
	unlink_md(md, false);
	return PTL_OK;
}

/* Is the test queue good, and empty? */
static int test_quiet(const struct reference *reference, unsigned ni, unsigned number, bool *quiet)
{
	struct queue *queue;
	int code = find_queue(reference, ni, number, &queue);

	*quiet = !code && (!queue || is_quiet(queue));
	return code ? PTL_EQ_INVALID : PTL_OK;
}

/* Operations that are pending keep their terms. */
int reference_md_update(struct reference *reference, unsigned number, ptl_md_t *old_md,
			const struct reference_md *new_md, unsigned test_queue)
{
	struct md *md = (struct md *)find(reference, REFERENCE_MD, number);
	bool quiet;
	int code;

	if (!md)
		return PTL_MD_INVALID;
	if ((code = test_quiet(reference, md->object.ni, test_queue, &quiet)))
		return code;
	if (old_md) {
		*old_md = md->terms->stated;
		if (!md->terms->queue)
			old_md->eq_handle = PTL_EQ_NONE; /* it may have been freed */
	}
	if (!new_md)
		return PTL_OK;
	if (!quiet)
		return PTL_MD_NO_UPDATE;
	if ((code = examine(reference, md->object.ni, new_md)))
		return code;
	set_terms(reference, md, new_md);
	md->unlink_due = false;
	return PTL_OK;
}

int reference_post(struct reference *reference, unsigned ni, const struct reference_post *post, unsigned *me,
		   unsigned *number)
{
	struct entry *base = (struct entry *)find(reference, REFERENCE_ENTRY, post->base);
	bool quiet;
	int code;

	if (!base || base->object.ni != ni)
		return PTL_ME_INVALID;
	if ((code = test_quiet(reference, ni, post->test_queue, &quiet)))
		return code;
	if (!quiet)
		return PTL_MD_NO_UPDATE;
	if ((code = examine(reference, ni, &post->md)))
		return code;
	insert_at(reference, base, &post->entry, post->position, me);
	return reference_md_attach(reference, *me, &post->md, post->unlink, number);
}

/* --- address translation --- */

static bool id_fits(ptl_process_id_t wanted, ptl_process_id_t id)
{
	return (wanted.nid == PTL_NID_ANY || wanted.nid == id.nid) &&
	       (wanted.pid == PTL_PID_ANY || wanted.pid == id.pid);
}

static bool is_admitted(const struct interface *ni, const struct reference_interface *from,
			const struct reference_move *move)
{
	if (move->pt_index > (unsigned)ni->is.limits.max_pt_index ||
	    move->ac_index > (unsigned)ni->is.limits.max_ac_index)
		return false;
	const struct access *access = &ni->access[move->ac_index];

	return id_fits(access->id, from->id) && (access->uid == PTL_UID_ANY || access->uid == from->uid) &&
	       (access->jid == PTL_JID_ANY || access->jid == from->jid) &&
	       (access->pt_index == PTL_PT_INDEX_ANY || access->pt_index == move->pt_index);
}

static bool accepts(const struct md *md, const struct reference_move *move, uint64_t *offset, uint64_t *mlength)
{
	static const unsigned needed[] = {
		[REFERENCE_PUT] = PTL_MD_OP_PUT,
		[REFERENCE_GET] = PTL_MD_OP_GET,
		[REFERENCE_GETPUT] = PTL_MD_OP_PUT | PTL_MD_OP_GET,
	};
	const struct terms *terms = md->terms;
	unsigned options = terms->stated.options;

	*offset = options & PTL_MD_MANAGE_REMOTE ? move->remote_offset : terms->local_offset;
	if (!responds(md) || (options & needed[move->kind]) != needed[move->kind] || *offset > terms->length)
		return false;
	uint64_t room = terms->length - *offset;

	*mlength = move->length < room ? move->length : room;
	return *mlength == move->length || options & PTL_MD_TRUNCATE;
}

struct md *translate(const struct reference *reference, const struct request *request, uint64_t *offset,
		     uint64_t *mlength)
{
	const struct interface *ni = &reference->interface[request->target];
	const struct reference_interface *from = &reference->interface[request->ni].is;
	const struct reference_move *move = &request->said;

	if (!is_admitted(ni, from, move))
		return NULL;
	for (struct entry *entry = ni->portals[move->pt_index].head; entry; entry = entry->next)
		if (id_fits(entry->said.match_id, from->id) &&
		    ((move->match_bits ^ entry->said.match_bits) & ~entry->said.ignore_bits) == 0 && entry->md &&
		    accepts(entry->md, move, offset, mlength))
			return entry->md;
	return NULL;
}
