/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dumps for people.  The text is made under ownership, so that it is one moment's state, and printed afterwards: a slow
 * terminal must not hold the engine up.
 */
#include <errno.h>
#include <inttypes.h>
#include <p3api/debug.h>
#include <p3utils.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/report.h"
#include "portals/dump.h"
#include "portals/process.h"
#include "portals/refuse.h"

struct dump {
	FILE *text;
	ptl_handle_any_t handle;
	int pt_index;
	uint32_t at_most; /* of match entries */
};

static void print_id(FILE *out, uint32_t number)
{
	if (number == PTL_NID_ANY)
		fprintf(out, "any");
	else
		fprintf(out, "%" PRIu32, number);
}

static void print_descriptor(FILE *out, const struct descriptor *md)
{
	fprintf(out,
		"    md 0x%08" PRIx32 ": %" PRIu64 " bytes at %p, options 0x%" PRIx32 ", threshold %d, offset %" PRIu64
		", pending %" PRIu32 ", %s, eq 0x%08" PRIx32 "\n",
		md->handle, md->region.length, md->user_start, md->options, md->threshold, md->local_offset,
		md->pending, md->active ? "active" : "inactive", md->eq ? md->eq->handle : PTL_EQ_NONE);
}

static void print_entry(FILE *out, const struct match_entry *me)
{
	fprintf(out, "  me 0x%08" PRIx32 ": match bits 0x%016" PRIx64 ", ignore bits 0x%016" PRIx64 ", nid ",
		me->handle, me->match_bits, ~me->must_match);
	print_id(out, me->source.nid);
	fprintf(out, ", pid ");
	print_id(out, me->source.pid);
	fprintf(out, "%s\n", me->unlink ? ", goes with its descriptor" : "");
	if (me->descriptor)
		print_descriptor(out, me->descriptor);
}

static int dump_list(struct nic *nic, void *argument)
{
	struct dump *dump = argument;
	const struct match_list *list = &nic->objects.portals[dump->pt_index];

	fprintf(dump->text, "portal table entry %d: %" PRIu32 " match entries, %" PRIu32 " at most so far\n",
		dump->pt_index, list->length, list->greatest_length);
	uint32_t shown = 0;

	for (const struct match_entry *me = list->head; me && shown < dump->at_most; me = me->next, shown++)
		print_entry(dump->text, me);
	if (shown < list->length)
		fprintf(dump->text, "  ... and %" PRIu32 " more\n", list->length - shown);
	return 0;
}

static int dump_entry(struct nic *nic, void *argument)
{
	struct dump *dump = argument;
	const struct match_entry *me = handle_me(nic, dump->handle);

	if (!me)
		return handle_refuse(PTL_ME_INVALID, dump->handle);
	print_entry(dump->text, me);
	return 0;
}

static int dump_queues(struct nic *nic, void *argument)
{
	struct dump *dump = argument;
	struct event_queue *eq;

	fprintf(dump->text, "%" PRIu32 " event queues\n", nic->objects.queues.live);
	for (uint32_t i = 0; (eq = pool_next(&nic->objects.queues, &i));) {
		const struct event_ring *ring = atomic_load_explicit(&eq->ring, memory_order_relaxed);
		uint64_t room = ring ? ring->size : 0, unread = event_unread(eq),
			 lost = unread > room ? unread - room : 0;

		fprintf(dump->text,
			"  eq 0x%08" PRIx32 ": room for %" PRIu64 " events, %" PRIu64 " unread, %" PRIu64
			" lost (overwritten before they were read), %" PRIu64 " operations under way, %" PRIu32
			" threads waiting\n",
			eq->handle, room, unread - lost, lost, eq->underway, eq->waiters - (eq->event_fd != 0));
	}
	return 0;
}

static int run(struct nic *nic, nic_command *command, struct dump *dump)
{
	UNCANCELLED;
	char *bytes = NULL;
	size_t size;

	dump->text = open_memstream(&bytes, &size);
	if (!dump->text)
		return process_code(report_error(-ENOMEM, "no memory for a dump"), PTL_FAIL);
	int code = process_code(nic_call(nic, command, dump), PTL_FAIL);

	if (fclose(dump->text) == 0 && code == PTL_OK)
		fputs(bytes, p3_out ? p3_out : stderr);
	free(bytes);
	return code;
}

static int dump_all(struct nic *nic, void *argument)
{
	struct dump *dump = argument;

	fprintf(dump->text, "interface %" PRIu32 ", " ID_TEXT ": %" PRIu64 " messages dropped\n", nic->index,
		ID_PARTS(nic->self.id), nic->counters.drops);
	dump_queues(nic, dump);
	for (dump->pt_index = 0; dump->pt_index < NIC_PORTALS; dump->pt_index++)
		if (nic->objects.portals[dump->pt_index].head)
			dump_list(nic, dump);
	dump_peers(nic, dump->text);
	return 0;
}

void dump_interface(struct nic *nic, FILE *out)
{
	struct dump dump = {.text = out, .at_most = DUMP_AT_MOST};

	nic_call(nic, dump_all, &dump);
}

int PtlTblDump(ptl_handle_ni_t ni_handle, int pt_index)
{
	struct dump dump = {.pt_index = pt_index, .at_most = UINT32_MAX};
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	if (pt_index < 0 || pt_index > nic->limits.max_pt_index)
		return refuse_pt_index(nic, (ptl_pt_index_t)pt_index);
	return run(nic, dump_list, &dump);
}

int PtlMEDump(ptl_handle_me_t me_handle)
{
	struct dump dump = {.handle = me_handle};
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(me_handle)))
		return refuse_handle(PTL_ME_INVALID, me_handle);
	return run(nic, dump_entry, &dump);
}

int PtlNIEqDump(ptl_handle_ni_t ni_handle)
{
	struct dump dump = {0};
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	return run(nic, dump_queues, &dump);
}
