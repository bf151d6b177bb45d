/* SPDX-License-Identifier: BSD-3-Clause */
/* How long memory stays exposed, where exposing pins it and where it does not, and what happens if it cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <portals3.h>
#include <portals3_nic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/report.h"
#include "offload/drive.h"
#include "offload/nic.h"
#include "offload/peer/peer.h"
#include "portals/process.h"
#include "tests/support/scripted.h"
#include "tests/unit/interfaces.h"

#define MIB ((size_t)1 << 20)
enum { INTERFACES = 3, MEMORY = 16384, LONG = 4096, SHORT = 8, BITS = 7 };

static ptl_handle_ni_t ni[INTERFACES];
static ptl_handle_eq_t eq[INTERFACES];
static ptl_process_id_t id[INTERFACES];
static char memory[INTERFACES][MEMORY], other_memory[MEMORY];

/* Of interface 0: how many events there were when something was deregistered last. */
static uint64_t posted_at_deregistration;

static uint64_t events_posted(unsigned which)
{
	uint32_t first = 0;
	const struct event_queue *queue = pool_next(&process_ni(ni[which])->objects.queues, &first);

	return atomic_load(&queue->posted);
}

static void see_deregistration(const struct scripted_memory_region *memory_region)
{
	if (memory_region->owner == 0 && process_ni(ni[0])) /* else it is being closed */
		posted_at_deregistration = events_posted(0);
}

static int open_interfaces(bool pins)
{
	static struct scripted_observer observer;
	const struct scripted_terms terms = {
		.short_max = 1024, .rma_chunk = 1000, .rma_depth = 4, .local_registration = true, .pins = pins};

	observer = scripted_blind;
	observer.deregistered = see_deregistration;
	setenv("PTL_LOG", "error", 1);
	open_scripted(&terms, &observer, INTERFACES, ni, id);
	for (unsigned i = 0; i < INTERFACES; i++) {
		assert_int_equal(PtlEQAlloc(ni[i], 64, PTL_EQ_HANDLER_NONE, &eq[i]), PTL_OK);
		for (unsigned at = 0; at < MEMORY; at++)
			memory[i][at] = (char)(at * 7 + at / 256 * 3 + i * 100);
	}
	memset(other_memory, 'o', sizeof(other_memory));
	return 0;
}

static int open_pinning(void **state)
{
	(void)state;
	return open_interfaces(true);
}

static int open_table(void **state)
{
	(void)state;
	return open_interfaces(false);
}

/* --- short ways --- */

/* All that is said arrives, and all that is read is read. */
static void settle(void)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned to = 0; to < INTERFACES; to++) {
			for (unsigned from = 0; from < INTERFACES; from++)
				moved |= scripted_deliver(from, to) && nic_call(process_ni(ni[to]), drive, NULL) == 0;
			moved |= scripted_complete(to, 0, 0) && nic_call(process_ni(ni[to]), drive, NULL) == 0;
			nic_call(process_ni(ni[to]), drive, NULL);
		}
	}
}

static ptl_md_t user_md(unsigned which, void *start, ptl_size_t length)
{
	return (ptl_md_t){.start = start,
			  .length = length,
			  .threshold = PTL_MD_THRESH_INF,
			  .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
			  .eq_handle = eq[which]};
}

static ptl_handle_md_t bind(unsigned which, ptl_md_t md, ptl_unlink_t unlink)
{
	ptl_handle_md_t handle;

	assert_int_equal(PtlMDBind(ni[which], md, unlink, &handle), PTL_OK);
	return handle;
}

static ptl_handle_md_t bind_memory(unsigned which)
{
	return bind(which, user_md(which, memory[which], MEMORY), PTL_RETAIN);
}

/* Where the other interface's requests go. */
static ptl_handle_md_t attach(unsigned which, ptl_md_t md, ptl_unlink_t unlink)
{
	const ptl_process_id_t any = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t entry;
	ptl_handle_md_t handle;

	assert_int_equal(PtlMEAttach(ni[which], 0, any, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &entry), PTL_OK);
	assert_int_equal(PtlMDAttach(entry, md, unlink, &handle), PTL_OK);
	return handle;
}

static ptl_handle_md_t attach_memory(unsigned which)
{
	return attach(which, user_md(which, memory[which], MEMORY), PTL_RETAIN);
}

static void put_to(unsigned which, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length)
{
	assert_int_equal(PtlPutRegion(md, offset, length, PTL_ACK_REQ, id[which], 0, 0, BITS, offset, 0), PTL_OK);
}

static void put(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length)
{
	put_to(1, md, offset, length);
}

static void get(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length)
{
	assert_int_equal(PtlGetRegion(md, offset, length, id[1], 0, 0, BITS, offset), PTL_OK);
}

static void assert_event(unsigned which, ptl_event_kind_t kind, ptl_ni_fail_t failure)
{
	ptl_event_t event;

	assert_int_equal(PtlEQGet(eq[which], &event), PTL_OK);
	assert_string_equal(PtlEventKindStr(event.type), PtlEventKindStr(kind));
	assert_int_equal(event.ni_fail_type, failure);
}

static void assert_no_event(unsigned which)
{
	ptl_event_t event;

	assert_int_equal(PtlEQGet(eq[which], &event), PTL_EQ_EMPTY);
}

static void assert_put_went_well(void)
{
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	assert_event(0, PTL_EVENT_ACK, PTL_NI_OK);
	assert_event(1, PTL_EVENT_PUT_END, PTL_NI_OK);
	assert_no_event(0);
	assert_no_event(1);
}

static void assert_memory_region(uint64_t key, unsigned uses, const void *base, size_t length)
{
	const struct scripted_memory_region *memory_region = scripted_memory_region(key);

	assert_non_null(memory_region);
	assert_int_equal(memory_region->uses, uses);
	assert_ptr_equal(memory_region->base, base);
	assert_int_equal(memory_region->length, length);
}

/* Deregistered or not. */
static void assert_memory_region_was(uint64_t key, size_t length)
{
	assert_non_null(scripted_memory_region(key));
	assert_int_equal(scripted_memory_region(key)->length, length);
}

/* --- how long --- */

static void short_messages_expose_nothing(void **state)
{
	(void)state;
	attach_memory(1);
	put(bind_memory(0), 0, SHORT);
	settle();
	assert_put_went_well();
	assert_int_equal(scripted_exposed_ever(), 0);
}

static void the_operations_of_a_descriptor_share_what_the_first_one_exposed(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	attach_memory(1);
	for (unsigned i = 0; i < 3; i++) {
		put(source, i * LONG, LONG);
		settle();
		assert_put_went_well();
		assert_memory_equal(memory[1] + i * LONG, memory[0] + i * LONG, LONG);
		assert_int_equal(scripted_exposed_ever(), 2);
		assert_memory_region(1, REGION_READ, memory[0], MEMORY);
		assert_memory_region(2, REGION_LOCAL, memory[1], MEMORY);
	}
	assert_memory_not_equal(memory[1] + 3 * LONG, memory[0] + 3 * LONG, LONG);
}

static void gets_expose_their_two_ends_as_well(void **state)
{
	ptl_handle_md_t destination = bind_memory(0);

	(void)state;
	attach_memory(1);
	for (unsigned i = 0; i < 2; i++) {
		get(destination, i * LONG, LONG);
		settle();
		assert_event(0, PTL_EVENT_REPLY_END, PTL_NI_OK);
		assert_event(1, PTL_EVENT_GET_END, PTL_NI_OK);
		assert_memory_equal(memory[0] + i * LONG, memory[1] + i * LONG, LONG);
	}
	assert_int_equal(scripted_exposed_ever(), 2);
	assert_memory_region(1, REGION_READ, memory[1], MEMORY);
	assert_memory_region(2, REGION_LOCAL, memory[0], MEMORY);
}

static void each_piece_of_a_descriptor_is_exposed_once(void **state)
{
	ptl_md_iovec_t pieces[] = {
		{other_memory, 3000}, {memory[0], 0}, {memory[0] + 100, 5000}, {memory[0] + 9000, 90}};
	ptl_md_t md = user_md(0, pieces, 4);

	(void)state;
	md.options |= PTL_MD_IOVEC;
	ptl_handle_md_t source = bind(0, md, PTL_RETAIN);

	attach_memory(1);
	put(source, 2000, 6050); /* the rest of the first, all of the second and part of the third */
	put(source, 3500, 2000);
	settle();
	assert_memory_equal(memory[1] + 2000, other_memory, 1000);
	assert_memory_equal(memory[1] + 3000, memory[0] + 100, 5000);
	assert_memory_equal(memory[1] + 8000, memory[0] + 9000, 50);
	assert_int_equal(scripted_exposed_ever(), 4);
	assert_memory_region(1, REGION_READ, other_memory, 3000);
	assert_memory_region(2, REGION_READ, memory[0] + 100, 5000);
	assert_memory_region(3, REGION_READ, memory[0] + 9000, 90);
	assert_int_equal(PtlMDUnlink(source), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
}

static void where_nothing_is_pinned_a_memory_region_ends_with_its_operation(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	attach_memory(1);
	for (unsigned i = 0; i < 2; i++) {
		put(source, i * LONG, LONG);
		assert_int_equal(scripted_exposed_of(0), i == 0 ? 0 : 1); /* at first there is contact to be made */
		settle();
		assert_put_went_well();
		assert_int_equal(scripted_exposed(), 0);
	}
	assert_int_equal(scripted_exposed_ever(), 4);
	assert_int_equal(scripted_memory_region(3)->base == (uint8_t *)memory[0] + LONG, true);
	assert_int_equal(scripted_memory_region(3)->length, LONG);
}

static ptl_handle_md_t bind_pieces(ptl_md_iovec_t *pieces, ptl_size_t count)
{
	ptl_md_t md = user_md(0, pieces, count);

	md.options |= PTL_MD_IOVEC;
	attach_memory(1);
	return bind(0, md, PTL_RETAIN);
}

static void short_pieces_are_sent_as_one_though_others_are_long(void **state)
{
	ptl_md_iovec_t pieces[] = {{memory[0], MEMORY - 1536},
				   {other_memory, 512},
				   {other_memory + 1024, 512},
				   {other_memory + 2048, 512}};

	(void)state;
	put(bind_pieces(pieces, 4), MEMORY - 1536, 1536);
	settle();
	assert_put_went_well();
	assert_memory_equal(memory[1] + MEMORY - 1536, other_memory, 512);
	assert_memory_region_was(1, 1536);
}

static void long_pieces_are_named_though_others_are_short(void **state)
{
	ptl_md_iovec_t pieces[] = {{memory[0], 8192},
				   {other_memory, 512},
				   {other_memory + 1024, 512},
				   {other_memory + 2048, 512},
				   {other_memory + 3072, 512}};

	(void)state;
	put(bind_pieces(pieces, 5), 0, 8192 + 100);
	settle();
	assert_put_went_well();
	assert_memory_equal(memory[1], memory[0], 8192);
	assert_memory_equal(memory[1] + 8192, other_memory, 100);
	assert_memory_region_was(1, 8192);
	assert_memory_region_was(2, 100);
}

static void a_source_is_exposed_to_be_read_only(void **state)
{
	static const char constant[LONG] = "constant";
	ptl_md_t md = user_md(0, (void *)(uintptr_t)constant, LONG);

	(void)state;
	attach_memory(1);
	put(bind(0, md, PTL_RETAIN), 0, LONG);
	settle();
	assert_put_went_well();
	assert_memory_region(1, REGION_READ, constant, LONG);
}

static void a_descriptor_that_is_read_and_written_is_exposed_for_both_apart(void **state)
{
	ptl_handle_md_t md = bind_memory(0);

	(void)state;
	attach_memory(1);
	put(md, 0, LONG);
	get(md, LONG, LONG);
	settle();
	assert_int_equal(scripted_exposed_ever(), 4);
	assert_int_equal(scripted_exposed_of(0), 2);
	put(md, 0, LONG);
	get(md, LONG, LONG);
	settle();
	assert_int_equal(scripted_exposed_ever(), 4);
	assert_int_equal(PtlMDUnlink(md), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
}

/* --- the end --- */

static void nothing_is_exposed_when_an_unlink_returns(void **state)
{
	ptl_handle_md_t source = bind_memory(0), target = attach_memory(1);

	(void)state;
	put(source, 0, LONG);
	settle();
	assert_int_equal(scripted_exposed(), 2);
	assert_int_equal(PtlMDUnlink(target), PTL_OK);
	assert_int_equal(scripted_exposed_of(1), 0);
	assert_int_equal(scripted_exposed_of(0), 1);
	assert_int_equal(PtlMDUnlink(source), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
}

static void an_unlink_that_is_refused_leaves_everything_exposed(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	attach_memory(1);
	put(source, 0, SHORT);
	settle();
	put(source, 0, LONG);
	assert_int_equal(PtlMDUnlink(source), PTL_MD_IN_USE);
	assert_int_equal(scripted_exposed_of(0), 1);
	settle();
	assert_int_equal(PtlMDUnlink(source), PTL_OK);
}

static void nothing_is_exposed_when_the_unlink_event_comes(void **state)
{
	ptl_md_t md = user_md(0, memory[0], MEMORY);

	(void)state;
	md.threshold = 2;
	md.options |= PTL_MD_ACK_DISABLE;
	bind_memory(1);
	ptl_handle_md_t source = bind(0, md, PTL_UNLINK);

	attach_memory(1);
	put(source, 0, LONG);
	settle();
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	assert_event(0, PTL_EVENT_ACK, PTL_NI_OK);
	assert_event(0, PTL_EVENT_UNLINK, PTL_NI_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
	assert_true(posted_at_deregistration < events_posted(0)); /* UNLINK is the last */
}

static void an_update_with_nothing_under_way_deregisters_at_once(void **state)
{
	ptl_md_t md = user_md(0, memory[0], MEMORY);
	ptl_handle_md_t source = bind(0, md, PTL_RETAIN);

	(void)state;
	attach_memory(1);
	put(source, 0, LONG);
	settle();
	assert_int_equal(scripted_exposed_of(0), 1);
	/* The same address, which need not be the same pages any more. */
	assert_int_equal(PtlMDUpdate(source, NULL, &md, PTL_EQ_NONE), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
	put(source, 0, LONG);
	settle();
	assert_int_equal(scripted_exposed_of(0), 1);
}

static void operations_from_before_an_update_keep_what_they_had_exposed(void **state)
{
	ptl_md_t md = user_md(0, other_memory, MEMORY);
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	attach_memory(1);
	put(source, 0, LONG);
	settle();
	assert_put_went_well();
	put(source, 0, LONG);
	assert_int_equal(PtlMDUpdate(source, NULL, &md, PTL_EQ_NONE), PTL_OK);
	put(source, LONG, LONG);
	assert_int_equal(scripted_exposed_of(0), 2);
	assert_memory_region(1, REGION_READ, memory[0], MEMORY);
	settle();
	assert_memory_equal(memory[1], memory[0], LONG);
	assert_memory_equal(memory[1] + LONG, other_memory, LONG);
	assert_int_equal(scripted_exposed_of(0), 1); /* the old memory is no region's any more */
	assert_int_equal(scripted_memory_region(1)->uses, 0);
	assert_int_equal(PtlMDUnlink(source), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
}

static void an_interface_closes_with_everything_attached(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	attach_memory(1);
	put(source, 0, LONG);
	settle();
	put(source, 0, LONG);
	assert_true(scripted_deliver(0, 1));
	nic_call(process_ni(ni[1]), drive, NULL);
	assert_true(scripted_reads(1) > 0);
	assert_int_equal(PtlNIFini(ni[0]), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
	assert_int_equal(PtlNIFini(ni[1]), PTL_OK);
	assert_int_equal(scripted_exposed(), 0);
}

/* --- the end of a reader --- */

/* The transport says so; the engine looks at it. */
static void give_up(unsigned which)
{
	scripted_gone(0, which);
	nic_call(process_ni(ni[0]), drive, NULL);
}

/* The message has arrived, and the reads it brings about wait. */
static void put_that_is_being_read(unsigned reader, ptl_handle_md_t source)
{
	put_to(reader, source, 0, LONG);
	assert_true(scripted_deliver(0, reader));
	nic_call(process_ni(ni[reader]), drive, NULL);
	assert_true(scripted_reads(reader) > 0);
}

static void meet(unsigned which, ptl_handle_md_t source)
{
	attach_memory(which);
	put_to(which, source, 0, LONG);
	settle();
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_OK);
	assert_event(0, PTL_EVENT_ACK, PTL_NI_OK);
	assert_event(which, PTL_EVENT_PUT_END, PTL_NI_OK);
}

static void a_key_is_dead_when_its_reader_was_given_up(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	meet(1, source);
	put_that_is_being_read(1, source);
	assert_int_equal(scripted_exposed_of(0), 1);
	give_up(1);
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_PEER_DIED);
	assert_int_equal(scripted_exposed_of(0), 0);
	memset(memory[0], 'n', MEMORY); /* the user's again: not what the reader gets when it goes on */
	settle();
	assert_event(1, PTL_EVENT_PUT_END, PTL_NI_PROTOCOL);
	assert_memory_not_equal(memory[1], memory[0], LONG);
	meet(2, source); /* with another */
	assert_memory_equal(memory[2], memory[0], LONG);
	assert_int_equal(scripted_exposed_of(0), 1);
}

static void a_key_that_others_read_with_lives_until_they_are_done(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	meet(1, source);
	meet(2, source);
	assert_int_equal(scripted_exposed_of(0), 1);
	put_that_is_being_read(1, source);
	put_that_is_being_read(2, source);
	give_up(1);
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_PEER_DIED);
	assert_int_equal(scripted_exposed_of(0), 1);
	uint64_t ever = scripted_exposed_ever();
	put_to(2, source, LONG, LONG); /* does not keep the old one alive */
	assert_int_equal(scripted_exposed_ever(), ever + 1);
	assert_memory_region(ever + 1, REGION_READ, memory[0], MEMORY);
	settle();
	for (unsigned i = 0; i < 2; i++) {
		assert_event(0, PTL_EVENT_SEND_END, PTL_NI_OK);
		assert_event(0, PTL_EVENT_ACK, PTL_NI_OK);
	}
	assert_memory_equal(memory[2], memory[0], 2 * LONG);
	assert_int_equal(scripted_exposed_of(0), 1);
	assert_memory_region(ever + 1, REGION_READ, memory[0], MEMORY);
	assert_int_equal(PtlMDUnlink(source), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
}

/* --- other ways --- */

/* As when a better way to the peer is found while its queue waits for room. */
static void a_message_that_goes_another_way_is_exposed_there(void **state)
{
	ptl_handle_md_t source = bind_memory(0);
	struct nic *nic = process_ni(ni[0]);

	(void)state;
	attach_memory(1);
	put(source, 0, SHORT);
	settle();
	scripted_refuse_sends(0, 1);
	put(source, 0, LONG);
	assert_int_equal(scripted_exposed_of(0), 1);
	assert_false(scripted_memory_region(1)->own);
	peer_find(nic, id[1])->transport = nic->transports[PATH_SELF];
	nic_call(nic, drive, NULL);
	assert_int_equal(scripted_exposed_of(0), 2);
	assert_true(scripted_memory_region(2)->own);
	settle();
	assert_memory_equal(memory[1], memory[0], LONG);
	/* Each from where it was exposed, or the script complains. */
	assert_int_equal(PtlMDUnlink(source), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
}

/* --- what cannot be exposed --- */

static void a_region_too_great_to_be_registered_is_exposed_in_parts(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	attach_memory(1);
	scripted_limit_memory_regions(0, MEMORY - 1, -ENOMEM);
	scripted_limit_memory_regions(1, MEMORY - 1, -EFAULT);
	for (unsigned i = 0; i < 3; i++) {
		put(source, i * LONG, LONG);
		settle();
		assert_put_went_well();
		assert_memory_equal(memory[1] + i * LONG, memory[0] + i * LONG, LONG);
		assert_int_equal(scripted_exposed(), 0);
	}
	assert_int_equal(scripted_exposed_ever(), 6);
	assert_int_equal(scripted_memory_region(1)->length, LONG);
}

/* A window on everything: pinning it would commit memory that is untouched. */
static void a_huge_region_is_not_pinned(void **state)
{
	ptl_handle_md_t source = bind(0, user_md(0, memory[0], UINT64_C(1) << 40), PTL_RETAIN);

	(void)state;
	attach_memory(1);
	put(source, 0, LONG);
	settle();
	assert_put_went_well();
	assert_int_equal(scripted_exposed_of(0), 0);
	assert_int_equal(scripted_memory_region(1)->length, LONG);
}

/* Of interfaces 0 and 1, with the source bound. */
static ptl_handle_md_t bind_great(char **source, char **target, size_t length)
{
	*source = calloc(1, length);
	*target = calloc(1, length);
	assert_true(*source && *target);
	attach(1, user_md(1, *target, length), PTL_RETAIN);
	return bind(0, user_md(0, *source, length), PTL_RETAIN);
}

static void a_great_region_is_registered_for_who_moves_a_good_part_of_it(void **state)
{
	const size_t length = 20 * MIB;
	char *source, *target;
	ptl_handle_md_t md = bind_great(&source, &target, length);

	(void)state;
	put(md, 0, LONG);
	settle();
	assert_put_went_well();
	assert_int_equal(scripted_exposed(), 0);
	assert_memory_region_was(1, LONG);
	assert_memory_region_was(2, LONG);
	put(md, 0, length / 16 - 1);
	settle();
	assert_put_went_well();
	assert_int_equal(scripted_exposed(), 0);
	put(md, 0, length / 16);
	settle();
	assert_put_went_well();
	assert_memory_region(5, REGION_READ, source, length);
	assert_memory_region(6, REGION_LOCAL, target, length);
	put(md, 0, LONG); /* now it costs nothing */
	settle();
	assert_put_went_well();
	assert_int_equal(scripted_exposed_ever(), 6);
	PtlFini(); /* before the memory goes */
	free(source);
	free(target);
}

static void a_region_of_moderate_size_is_registered_for_anybody(void **state)
{
	char *source, *target;
	ptl_handle_md_t md = bind_great(&source, &target, 16 * MIB);

	(void)state;
	put(md, 0, LONG);
	settle();
	assert_put_went_well();
	assert_memory_region(1, REGION_READ, source, 16 * MIB);
	assert_memory_region(2, REGION_LOCAL, target, 16 * MIB);
	PtlFini();
	free(source);
	free(target);
}

static void what_no_operation_uses_makes_room(void **state)
{
	ptl_handle_md_t first = bind_memory(0), second = bind_memory(0);

	(void)state;
	attach_memory(1);
	scripted_limit_memory_regions(0, MEMORY + 100, -ENOMEM);
	put(first, 0, LONG);
	settle();
	assert_put_went_well();
	assert_memory_region(1, REGION_READ, memory[0], MEMORY);
	put(second, LONG, LONG);
	settle();
	assert_put_went_well();
	assert_int_equal(scripted_exposed_of(0), 0);
	put(second, LONG, LONG); /* there is room now, but what was tried once is not tried again */
	settle();
	assert_put_went_well();
	assert_int_equal(scripted_exposed_of(0), 0);
	put(first, 0, LONG); /* and exposes its region again */
	put(second, LONG, LONG);
	settle();
	assert_int_equal(scripted_exposed_of(0), 1);
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_FAIL); /* of the second: what is being read does not make room */
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_OK);
}

static void limit_locked_memory(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

extern FILE *p3_out;
static char *printed;
static size_t printed_length;

static void printed_begin(void)
{
	p3_out = open_memstream(&printed, &printed_length);
	assert_non_null(p3_out);
}

/* So many lines, the last of which says this. */
static void printed_end(unsigned lines, const char *expected)
{
	fclose(p3_out);
	p3_out = NULL;
	for (const char *at = printed; (at = strchr(at, '\n')); at++)
		lines--;
	assert_int_equal(lines, 0);
	assert_non_null(strstr(printed, expected));
	free(printed);
}

static void a_source_that_cannot_be_exposed_fails_its_put(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	limit_locked_memory();
	attach_memory(1);
	put(source, 0, SHORT);
	settle();
	assert_put_went_well();
	scripted_limit_memory_regions(0, 100, -ENOMEM);
	printed_begin();
	put(source, 0, LONG);
	assert_non_null(strstr(PtlNicErrorText(), "cannot register the 4096 bytes at offset 0"));
	assert_non_null(strstr(PtlNicErrorText(), "raise RLIMIT_MEMLOCK"));
	printed_end(1, "raise RLIMIT_MEMLOCK"); /* PtlPutRegion succeeded, so no caller would look for its text */
	settle();
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_FAIL);
	assert_no_event(0);
	assert_no_event(1);
	put(source, 0, SHORT);
	settle();
	assert_put_went_well();
	assert_int_equal(scripted_exposed_ever(), 0);
	assert_int_equal(PtlMDUnlink(source), PTL_OK);
}

static void put_in_vain(ptl_handle_md_t source)
{
	put(source, 0, LONG);
	settle();
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_FAIL);
}

/* Also for programs that have every error printed. */
static void what_cannot_be_exposed_is_printed_once_a_second(void **state)
{
	ptl_handle_md_t source = bind_memory(0);

	(void)state;
	attach_memory(1);
	put(source, 0, SHORT);
	settle();
	assert_put_went_well();
	report_set_level(LOG_INFO);
	scripted_limit_memory_regions(0, 100, -EFAULT);
	printed_begin();
	for (unsigned i = 0; i < 3; i++)
		put_in_vain(source);
	assert_non_null(strstr(PtlNicErrorText(), "is all of it mapped"));
	printed_end(1, "interface 0: memory");
	scripted_pass_time(UINT64_C(1000000000));
	printed_begin();
	put_in_vain(source);
	put_in_vain(source);
	printed_end(1, "(2 more since the last such line)");
}

static void a_destination_that_cannot_be_exposed_fails_the_put_at_both_ends(void **state)
{
	ptl_handle_md_t source = bind_memory(0), target = attach_memory(1);

	(void)state;
	scripted_limit_memory_regions(1, 100, -EFAULT);
	put(source, 0, LONG);
	settle();
	assert_event(1, PTL_EVENT_PUT_END, PTL_NI_FAIL);
	assert_non_null(strstr(PtlNicErrorText(), "is all of it mapped"));
	assert_event(0, PTL_EVENT_SEND_END, PTL_NI_PROTOCOL);
	assert_event(0, PTL_EVENT_ACK, PTL_NI_PROTOCOL);
	assert_int_equal(scripted_exposed_of(1), 0);
	assert_int_equal(PtlMDUnlink(target), PTL_OK);
	assert_int_equal(PtlMDUnlink(source), PTL_OK);
	assert_int_equal(scripted_exposed(), 0);
}

static void a_destination_that_cannot_be_exposed_fails_the_get_at_both_ends(void **state)
{
	ptl_handle_md_t destination = bind_memory(0);

	(void)state;
	attach_memory(1);
	scripted_limit_memory_regions(0, 100, -ENOMEM);
	get(destination, 0, LONG);
	settle();
	assert_event(0, PTL_EVENT_REPLY_END, PTL_NI_FAIL);
	assert_event(1, PTL_EVENT_GET_END, PTL_NI_PROTOCOL);
	assert_int_equal(PtlMDUnlink(destination), PTL_OK);
	assert_int_equal(scripted_exposed_of(0), 0);
}

static void an_answer_that_cannot_be_exposed_fails_its_get(void **state)
{
	ptl_handle_md_t destination = bind_memory(0);

	(void)state;
	attach_memory(1);
	scripted_limit_memory_regions(1, 100, -ENOMEM);
	get(destination, 0, LONG);
	settle();
	assert_event(1, PTL_EVENT_GET_END, PTL_NI_FAIL);
	assert_event(0, PTL_EVENT_REPLY_END, PTL_NI_FAIL);
	assert_int_equal(scripted_exposed_ever(), 0);
	assert_int_equal(PtlMDUnlink(destination), PTL_OK);
}

#define PINNING(name) cmocka_unit_test_setup_teardown(name, open_pinning, close_interfaces)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PINNING(short_messages_expose_nothing),
		PINNING(the_operations_of_a_descriptor_share_what_the_first_one_exposed),
		PINNING(gets_expose_their_two_ends_as_well),
		PINNING(each_piece_of_a_descriptor_is_exposed_once),
		cmocka_unit_test_setup_teardown(where_nothing_is_pinned_a_memory_region_ends_with_its_operation,
						open_table, close_interfaces),
		cmocka_unit_test_setup_teardown(short_pieces_are_sent_as_one_though_others_are_long, open_table,
						close_interfaces),
		cmocka_unit_test_setup_teardown(long_pieces_are_named_though_others_are_short, open_table,
						close_interfaces),
		PINNING(a_source_is_exposed_to_be_read_only),
		PINNING(a_descriptor_that_is_read_and_written_is_exposed_for_both_apart),
		PINNING(nothing_is_exposed_when_an_unlink_returns),
		PINNING(an_unlink_that_is_refused_leaves_everything_exposed),
		PINNING(nothing_is_exposed_when_the_unlink_event_comes),
		PINNING(an_update_with_nothing_under_way_deregisters_at_once),
		PINNING(operations_from_before_an_update_keep_what_they_had_exposed),
		PINNING(an_interface_closes_with_everything_attached),
		PINNING(a_key_is_dead_when_its_reader_was_given_up),
		PINNING(a_key_that_others_read_with_lives_until_they_are_done),
		PINNING(a_message_that_goes_another_way_is_exposed_there),
		PINNING(a_region_too_great_to_be_registered_is_exposed_in_parts),
		PINNING(a_huge_region_is_not_pinned),
		PINNING(a_great_region_is_registered_for_who_moves_a_good_part_of_it),
		PINNING(a_region_of_moderate_size_is_registered_for_anybody),
		PINNING(what_no_operation_uses_makes_room),
		PINNING(a_source_that_cannot_be_exposed_fails_its_put),
		PINNING(what_cannot_be_exposed_is_printed_once_a_second),
		PINNING(a_destination_that_cannot_be_exposed_fails_the_put_at_both_ends),
		PINNING(a_destination_that_cannot_be_exposed_fails_the_get_at_both_ends),
		PINNING(an_answer_that_cannot_be_exposed_fails_its_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
