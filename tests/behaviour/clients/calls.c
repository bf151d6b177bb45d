/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that other implementations have and Portals 3.3 has not. */
#include <p3api/debug.h>
#include <p3nal_ibng.h>
#include <p3nal_tcp.h>
#include <p3utils.h>
#include <stdlib.h>
#include <string.h>

#include "tests/behaviour/clients/clients.h"

static void me_md_attach_and_insert_post_both_in_one_call(void)
{
	ptl_handle_me_t me, before;
	ptl_handle_md_t md, other;
	static char bytes[2][8];
	ptl_handle_eq_t eq = new_eq(16);
	const ptl_md_t mine = md_over(bytes[0], 8, PTL_MD_OP_PUT, eq);
	CHECK_RC(PtlMEMDAttach(ni, 64, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, mine, PTL_RETAIN, &me, &md),
		 PTL_PT_INDEX_INVALID);
	CHECK_RC(PtlMEMDAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, mine, PTL_RETAIN, NULL, &md),
		 PTL_SEGV);
	CHECK_OK(PtlMEMDAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, mine, PTL_RETAIN, &me, &md));
	CHECK_RC(PtlMEMDInsert(ni, md, anyone, BITS, 0, PTL_RETAIN, PTL_INS_BEFORE, mine, PTL_RETAIN, &before, &other),
		 PTL_ME_INVALID);
	const ptl_md_t front = with_threshold(md_over(bytes[1], 8, PTL_MD_OP_PUT, eq), 1);
	CHECK_OK(
		PtlMEMDInsert(ni, me, anyone, BITS, 0, PTL_UNLINK, PTL_INS_BEFORE, front, PTL_UNLINK, &before, &other));
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	ptl_handle_md_t source = bind_md(md_over((void *)"fronted", 8, 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_START).md_handle, other);
	take(eq, PTL_EVENT_PUT_END);
	take(eq, PTL_EVENT_UNLINK);
	CHECK_STRING(bytes[1], "fronted");
	CHECK_OK(PtlPut(source, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_START).md_handle, md);
}

static void get_put_region_swaps_parts(void)
{
	static char here[32] = "abcdefghijklmnopqrstuvwxyz", there[16] = "0123456789";
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	ptl_handle_eq_t eq = new_eq(16);
	open_window(BITS, md_over(there, 10, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	ptl_handle_md_t md = bind_md(md_over(here, 26, PTL_MD_EVENT_START_DISABLE, eq));
	CHECK_OK(PtlGetPutRegion(md, 20, md, 2, 4, self, INDEX, 0, BITS, 3, 0));
	CHECK_EQUAL(take(eq, PTL_EVENT_SEND_END).offset, 2);
	ptl_event_t reply = take(eq, PTL_EVENT_REPLY_END);
	CHECK_EQUAL(reply.offset, 20);
	CHECK_EQUAL(reply.mlength, 4);
	CHECK_STRING(there, "012cdef789");
	CHECK_STRING(here, "abcdefghijklmnopqrst3456yz");
	CHECK_RC(PtlGetPutRegion(md, 23, md, 0, 4, self, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	CHECK_RC(PtlGetPutRegion(md, 0, md, 23, 4, self, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	CHECK_RC(PtlGetPutRegion(md, 0, md, 0, UINT64_MAX, self, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
}

static void md_md_copy_stays_in_the_process(void)
{
	static char to[8];
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	ptl_handle_eq_t eq = new_eq(8);
	open_window(BITS, md_over(to, 8, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq));
	ptl_handle_md_t md = bind_md(md_over((void *)"copy", 5, 0, PTL_EQ_NONE));
	CHECK_RC(PtlMDMDCopy(md, nobody(), INDEX, 0, BITS, 0), PTL_PROCESS_INVALID);
	CHECK_OK(PtlMDMDCopy(md, self, INDEX, 0, BITS, 2));
	take(eq, PTL_EVENT_PUT_START);
	CHECK_EQUAL(take(eq, PTL_EVENT_PUT_END).hdr_data, 0);
	CHECK_STRING(to + 2, "copy");
}

static void eq_peek_leaves_the_event(void)
{
	ptl_event_t event, again;
	ptl_handle_eq_t eq = new_eq(8);
	CHECK_RC(PtlEQPeek(eq, &event), PTL_EQ_EMPTY);
	CHECK_RC(PtlEQPeek(eq, NULL), PTL_SEGV);
	CHECK_RC(PtlEQPeek(ni, &event), PTL_EQ_INVALID);
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	open_door();
	ptl_handle_md_t md = bind_md(md_over((void *)"x", 1, 0, eq));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX_SIDE, 0, BITS, 0, 0));
	CHECK_OK(PtlEQPeek(eq, &event));
	CHECK_OK(PtlEQPeek(eq, &again));
	CHECK_EQUAL(event.sequence, again.sequence);
	CHECK_EQUAL(take(eq, PTL_EVENT_SEND_START).sequence, event.sequence);
}

/* Where no thread does it, PtlProgress is what lets a message arrive. */
static void progress_moves_messages_along(void)
{
	static uint32_t arrived, word = 7;
	CHECK_RC(PtlProgress(PTL_INVALID_HANDLE, 0), PTL_HANDLE_INVALID);
	ptl_handle_eq_t eq = new_eq(8);
	if (am_target())
		open_window(BITS, md_over(&arrived, sizeof(arrived), PTL_MD_OP_PUT, eq));
	barrier();
	if (am_initiator())
		put(bind_md(md_over(&word, sizeof(word), 0, PTL_EQ_NONE)), PTL_NO_ACK_REQ, BITS);
	if (am_target()) {
		ptl_event_t event;
		const uint64_t deadline = now_ns() + PATIENCE * 1000000ull;
		while (PtlEQPeek(eq, &event) == PTL_EQ_EMPTY && now_ns() < deadline)
			CHECK_OK(PtlProgress(eq, 1));
		take(eq, PTL_EVENT_PUT_START);
		take(eq, PTL_EVENT_PUT_END);
		CHECK_EQUAL(arrived, 7);
	}
}

static void interfaces_have_their_old_names(void)
{
	ptl_handle_ni_t same;
	CHECK_EQUAL(PtlNIInitialized(PTL_IFACE_DEFAULT), 1);
	CHECK_EQUAL(PtlNIInitialized(PTL_IFACE_UTCP1), 0);
	CHECK_OK(PtlNIInit(PTL_IFACE_UTCP, PTL_PID_ANY, NULL, NULL, &same));
	CHECK(PtlHandleIsEqual(same, ni));
	CHECK_OK(PtlNIInit(PTL_IFACE_UTCP0, PTL_PID_ANY, NULL, NULL, &same));
	CHECK(PtlHandleIsEqual(same, ni));
	CHECK_OK(PtlNIInit(PTL_IFACE_IBNG, PTL_PID_ANY, NULL, NULL, &same));
	CHECK(PtlHandleIsEqual(same, ni));
	CHECK_OK(PtlNIInit(PTL_IFACE_TCP0, PTL_PID_ANY, NULL, NULL, &same));
	CHECK(PtlHandleIsEqual(same, ni));
	CHECK_RC(PtlNIInit(PTL_NALTYPE_UTCP3 + 1, PTL_PID_ANY, NULL, NULL, &same), PTL_IFACE_INVALID);
}

/* PTL_IFACE names a device that is not there, PTL_IFACE1 and 3 the loopback. */
static void interfaces_have_devices_of_their_own(void)
{
	static const ptl_interface_t named[] = {PTL_IFACE_UTCP1, PTL_IFACE_UTCP3, 1, 3},
				     others[] = {PTL_IFACE_DEFAULT, PTL_IFACE_UTCP2, 4};
	int interfaces;
	ptl_process_id_t id;
	CHECK_OK(PtlInit(&interfaces));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK_RC(PtlNIInit(others[i], PTL_PID_ANY, NULL, NULL, &ni), PTL_IFACE_INVALID);
	CHECK(strstr(PtlNicErrorText(), "no-such-device0") != NULL);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		CHECK_OK(PtlNIInit(named[i], PTL_PID_ANY, NULL, NULL, &ni));
		CHECK_OK(PtlGetId(ni, &id));
		CHECK_EQUAL(id.nid, 0x7f000001);
	}
}

static void time_limits_pass(void)
{
	timeout_val_t now, later, much_later;
	set_timeout(&now, 0);
	const uint64_t start = now_ns();
	set_timeout(&later, 30);
	set_timeout(&much_later, 3600999);
	CHECK_EQUAL(test_timeout(&now), 1);
	CHECK_EQUAL(test_timeout(&much_later), 0);
	CHECK_LESS(3599, much_later.tv_sec - now.tv_sec);
	CHECK_LESS(much_later.tv_sec - now.tv_sec, 3610);
	CHECK(much_later.tv_usec < 1000000);
	while (!test_timeout(&later))
		;
	CHECK_LESS(29000000, now_ns() - start);
}

static void a_cleared_time_limit_never_passes(void)
{
	timeout_val_t limit;
	set_timeout(&limit, 0);
	CHECK_EQUAL(timeout_set(&limit), 1);
	CHECK_EQUAL(test_timeout(&limit), 1);
	clear_timeout(&limit);
	CHECK_EQUAL(timeout_set(&limit), 0);
	CHECK_EQUAL(test_timeout(&limit), 0);
	set_timeout(&limit, 0);
	CHECK_EQUAL(test_timeout(&limit), 1);
}

static void the_node_id_of_a_device_is_known_before_init(void)
{
	unsigned nid = 5;
	CHECK_EQUAL(p3tcp_my_nid("no-such-device0", &nid), -1);
	CHECK_EQUAL(nid, 5);
	CHECK_EQUAL(p3tcp_my_nid(NULL, &nid), -1);
	CHECK_EQUAL(p3tcp_my_nid("lo", NULL), -1);
	CHECK_EQUAL(p3tcp_my_nid("lo", &nid), 0);
	CHECK_EQUAL(nid, 0x7f000001);
}

static void the_debug_stream_is_stderr_unless_the_program_has_one(void)
{
	int interfaces;
	CHECK(p3_out == NULL);
	CHECK_OK(PtlInit(&interfaces));
	CHECK(p3_out == stderr);
	PtlFini();
	p3_out = stdout;
	CHECK_OK(PtlInit(&interfaces));
	CHECK(p3_out == stdout);
}

static void dumps_show_what_there_is(void)
{
	static char bytes[8];
	char *text = NULL;
	size_t size = 0;
	ptl_process_id_t self;
	ptl_handle_eq_t eq = new_eq(5);
	struct window window = open_window(BITS, md_over(bytes, 8, PTL_MD_OP_PUT, eq));
	CHECK_RC(PtlTblDump(PTL_INVALID_HANDLE, 0), PTL_NI_INVALID);
	CHECK_RC(PtlTblDump(ni, 64), PTL_PT_INDEX_INVALID);
	CHECK_RC(PtlTblDump(ni, -1), PTL_PT_INDEX_INVALID);
	CHECK_RC(PtlMEDump(window.md), PTL_ME_INVALID);
	CHECK_RC(PtlNIEqDump(PTL_INVALID_HANDLE), PTL_NI_INVALID);
	CHECK_OK(PtlGetId(ni, &self));
	ptl_handle_md_t md = bind_md(md_over(bytes, 1, 0, PTL_EQ_NONE));
	for (int i = 0; i < 5; i++) /* two events each */
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS + 1, 0, 0));
	await_drops(1);
	p3_out = open_memstream(&text, &size);
	CHECK_OK(PtlTblDump(ni, INDEX));
	CHECK_OK(PtlMEDump(window.me));
	CHECK_OK(PtlNIEqDump(ni));
	CHECK(fclose(p3_out) == 0);
	p3_out = NULL;
	CHECK(strstr(text, "0x000000005ca1ab1e") != NULL);
	CHECK(strstr(text, "room for 8 events, 8 unread, 2 lost") != NULL);
	free(text);
}

static void debug_masks_trace_what_happens(void)
{
	char *text = NULL;
	size_t size = 0;
	static uint32_t word = 7, sink;
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	CHECK_EQUAL(PtlNIDebug(ni, PTL_DBG_MOVE | PTL_DBG_EVENT | PTL_DBG_DROP), PTL_DBG_NONE);
	CHECK_EQUAL(PtlNIDebug(PTL_EQ_NONE, PTL_DBG_ALL), 0);
	p3_out = open_memstream(&text, &size);
	ptl_handle_eq_t eq = new_eq(8);
	open_window(BITS, md_over(&sink, sizeof(sink), PTL_MD_OP_PUT, eq));
	ptl_handle_md_t md = bind_md(md_over(&word, sizeof(word), 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS + 1, 0, 0));
	take(eq, PTL_EVENT_PUT_START);
	take(eq, PTL_EVENT_PUT_END);
	await_drops(1);
	CHECK_EQUAL(PtlNIDebug(ni, PTL_DBG_NONE), PTL_DBG_MOVE | PTL_DBG_EVENT | PTL_DBG_DROP);
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS + 0xbad, 0, 0));
	await_drops(2);
	CHECK(fclose(p3_out) == 0);
	p3_out = NULL;
	CHECK(strstr(text, "move: put to") && strstr(text, "event: PTL_EVENT_PUT_END") && strstr(text, "drop: PUT"));
	CHECK(!strstr(text, "bad") && !strstr(text, "eq: "));
	free(text);
}

static void debug_masks_wait_for_interfaces(void)
{
	int interfaces;
	CHECK_EQUAL(PtlNIDebug(PTL_INVALID_HANDLE, PTL_DBG_ALL), 0);
	CHECK_OK(PtlInit(&interfaces));
	CHECK_EQUAL(PtlNIDebug(PTL_INVALID_HANDLE, PTL_DBG_SETUP | PTL_DBG_NI_01), 0);
	CHECK_EQUAL(PtlNIDebug(PTL_INVALID_HANDLE, PTL_DBG_EQ | PTL_DBG_NI_00), PTL_DBG_SETUP | PTL_DBG_NI_01);
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK_EQUAL(PtlNIDebug(ni, PTL_DBG_NONE), PTL_DBG_EQ);
}

/* A little of everything that can be traced, by an interface of its own. */
static void do_everything(void)
{
	static char word, sink;
	ptl_handle_ni_t none;
	ptl_process_id_t self;
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlGetId(ni, &self));
	ptl_handle_eq_t eq = new_eq(8);
	struct window window = open_window(BITS, md_over(&sink, 1, PTL_MD_OP_PUT, PTL_EQ_NONE));
	ptl_handle_md_t md = bind_md(md_over(&word, 1, QUIET, eq));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS + 1, 0, 0));
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	take(eq, PTL_EVENT_ACK);
	CHECK_RC(PtlNIInit(99, PTL_PID_ANY, NULL, NULL, &none), PTL_IFACE_INVALID);
	close_window(window);
	CHECK_OK(PtlNIFini(ni));
}

/* A call that names no interface has asked for nothing. */
static void a_debug_mask_for_no_interface_prints_nothing(void)
{
	int interfaces;
	char *text = NULL;
	size_t size = 0;
	ptl_handle_ni_t none;
	CHECK_OK(PtlInit(&interfaces));
	p3_out = open_memstream(&text, &size);
	CHECK_EQUAL(PtlNIDebug(PTL_EQ_NONE, PTL_DBG_ALL), 0);
	CHECK_RC(PtlNIInit(99, PTL_PID_ANY, NULL, NULL, &none), PTL_IFACE_INVALID);
	CHECK(fclose(p3_out) == 0);
	p3_out = stderr;
	CHECK_EQUAL(size, 0);
	free(text);
}

static void every_debug_mask_traces_its_own(void)
{
	static const struct {
		unsigned mask;
		const char *tag;
	} masks[] = {
		{PTL_DBG_API, "error: interface 99"},
		{PTL_DBG_PARSE, " parse: PUT"},
		{PTL_DBG_MOVE, " move: put"},
		{PTL_DBG_DROP, " drop: PUT"},
		{PTL_DBG_REQUEST, " request: PUT"},
		{PTL_DBG_DELIVERY, " delivery: ACK"},
		{PTL_DBG_MD, " md: "},
		{PTL_DBG_ME, " me: "},
		{PTL_DBG_UNLINK, " unlink: "},
		{PTL_DBG_EQ, " eq: "},
		{PTL_DBG_EVENT, " event: PTL_EVENT_ACK"},
		{PTL_DBG_SETUP, " setup: "},
		{PTL_DBG_SHUTDOWN, " shutdown: "},
	};
	const size_t count = sizeof(masks) / sizeof(masks[0]);
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	for (size_t i = 0; i <= count; i++) {
		char *text = NULL;
		size_t size = 0;
		PtlNIDebug(PTL_INVALID_HANDLE, i < count ? masks[i].mask : PTL_DBG_NONE);
		p3_out = open_memstream(&text, &size);
		do_everything();
		CHECK(fclose(p3_out) == 0);
		p3_out = stderr;
		for (size_t k = 0; k < count; k++)
			if ((strstr(text, masks[k].tag) != NULL) != (k == i))
				FAIL("mask 0x%x, '%s': %s", i < count ? masks[i].mask : 0, masks[k].tag, text);
		free(text);
	}
}

const struct test call_tests[] = {
	ALONE(me_md_attach_and_insert_post_both_in_one_call),
	ALONE(get_put_region_swaps_parts),
	ALONE(md_md_copy_stays_in_the_process),
	ALONE(eq_peek_leaves_the_event),
	PAIR(progress_moves_messages_along),
	ALONE(interfaces_have_their_old_names),
	{.name = "interfaces_have_devices_of_their_own",
	 .run = interfaces_have_devices_of_their_own,
	 .processes = 1,
	 .traits = TRAIT_BARE,
	 .environment = "PTL_IFACE=no-such-device0 PTL_IFACE1=lo PTL_IFACE3=127.0.0.1"},
	ALONE(time_limits_pass),
	ALONE(a_cleared_time_limit_never_passes),
	{.name = "the_node_id_of_a_device_is_known_before_init",
	 .run = the_node_id_of_a_device_is_known_before_init,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	{.name = "the_debug_stream_is_stderr_unless_the_program_has_one",
	 .run = the_debug_stream_is_stderr_unless_the_program_has_one,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	ALONE(dumps_show_what_there_is),
	ALONE(debug_masks_trace_what_happens),
	{.name = "every_debug_mask_traces_its_own",
	 .run = every_debug_mask_traces_its_own,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	{.name = "a_debug_mask_for_no_interface_prints_nothing",
	 .run = a_debug_mask_for_no_interface_prints_nothing,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	{.name = "debug_masks_wait_for_interfaces",
	 .run = debug_masks_wait_for_interfaces,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	{0},
};
