/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote procedure calls of a file system.  The client puts its request and waits for all that follows, START, END, ACK
 * and UNLINK; the server gets the arguments, which needs one unit, and puts the result back.  Both poll in slices of 100 ms.
 */
#include <string.h>

#include "tests/behaviour/clients/clients.h"

#define CALLS     FEWER(200)
#define REQUESTS  INDEX
#define ARGUMENTS INDEX_SIDE
#define RESULTS   12
#define SLICE     100

struct request {
	uint64_t number;
	ptl_process_id_t client;
	uint64_t argument_bits, result_bits, argument_length;
};

static ptl_event_t next(ptl_handle_eq_t eq)
{
	ptl_event_t event;
	int which, rc = PTL_EQ_EMPTY;
	memset(&event, 0xee, sizeof(event));
	for (int waited = 0; rc == PTL_EQ_EMPTY && waited < PATIENCE; waited += SLICE)
		rc = PtlEQPoll(&eq, 1, SLICE, &event, &which);
	CHECK_RC(rc, PTL_OK);
	CHECK_STRING(ptl_err_str[rc], "PTL_OK");
	CHECK_EQUAL(event.ni_fail_type, PTL_NI_OK);
	return event;
}

/* Every one of these kinds comes, each once, in any order the specification allows. */
static void await(ptl_handle_eq_t eq, const ptl_event_kind_t *kinds, int count)
{
	unsigned wanted = 0, seen = 0;
	for (int i = 0; i < count; i++)
		wanted |= 1u << kinds[i];
	while (seen != wanted) {
		ptl_event_t event = next(eq);
		if (!(wanted & 1u << event.type) || seen & 1u << event.type)
			FAIL("%s, seen 0x%x", PtlEventKindStr(event.type), seen);
		seen |= 1u << event.type;
	}
}

static void put_and_wait(void *bytes, size_t length, ptl_process_id_t to, ptl_pt_index_t index, uint64_t bits)
{
	static const ptl_event_kind_t kinds[] = {PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_ACK,
						 PTL_EVENT_UNLINK};
	ptl_handle_eq_t eq = new_eq(4);
	ptl_handle_md_t md = bind_mortal_md(with_threshold(md_over(bytes, length, 0, eq), 2));
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, to, index, 0, bits, 0, 0));
	await(eq, kinds, 4);
	CHECK_RC(PtlMDUnlink(md), PTL_MD_INVALID);
	CHECK_OK(PtlEQFree(eq));
}

static void get_and_wait(void *bytes, size_t length, ptl_process_id_t from, ptl_pt_index_t index, uint64_t bits)
{
	static const ptl_event_kind_t kinds[] = {PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END, PTL_EVENT_UNLINK};
	ptl_handle_eq_t eq = new_eq(4);
	ptl_handle_md_t md = bind_mortal_md(with_threshold(md_over(bytes, length, 0, eq), 1));
	CHECK_OK(PtlGet(md, from, index, 0, bits, 0));
	await(eq, kinds, 3);
	CHECK_OK(PtlEQFree(eq));
}

static uint64_t sum(const unsigned char *bytes, size_t length)
{
	uint64_t total = 0;
	for (size_t i = 0; i < length; i++)
		total = total * 31 + bytes[i];
	return total;
}

static void call(uint64_t number, char *argument)
{
	ptl_process_id_t self;
	uint64_t result = 0;
	CHECK_OK(PtlGetId(ni, &self));
	struct request request = {number, self, 1000 + number, 2000 + number, number % 2 ? LONG : 40 + number};
	ptl_handle_eq_t eq = new_eq(8);
	fill_pattern(argument, request.argument_length, (unsigned)number);
	open_window_at(__FILE__, __LINE__, ARGUMENTS, request.argument_bits,
		       with_threshold(md_over(argument, request.argument_length, PTL_MD_OP_GET, eq), 1), PTL_UNLINK);
	open_window_at(__FILE__, __LINE__, RESULTS, request.result_bits,
		       with_threshold(md_over(&result, sizeof(result), PTL_MD_OP_PUT, eq), 1), PTL_UNLINK);
	put_and_wait(&request, sizeof(request), target_id(), REQUESTS, BITS);
	take(eq, PTL_EVENT_GET_START);
	take(eq, PTL_EVENT_GET_END);
	take(eq, PTL_EVENT_UNLINK);
	take(eq, PTL_EVENT_PUT_START);
	take(eq, PTL_EVENT_PUT_END);
	take(eq, PTL_EVENT_UNLINK);
	CHECK_EQUAL(result, sum((unsigned char *)argument, request.argument_length));
	CHECK_OK(PtlEQFree(eq));
}

static void serve(const struct request *request, unsigned char *argument)
{
	get_and_wait(argument, request->argument_length, request->client, ARGUMENTS, request->argument_bits);
	uint64_t result = sum(argument, request->argument_length);
	put_and_wait(&result, sizeof(result), request->client, RESULTS, request->result_bits);
}

static void remote_procedures_are_called(void)
{
	char *argument = memory(LONG);
	struct request *request = memory(sizeof(*request));
	ptl_handle_eq_t eq = new_eq(16);
	if (am_target())
		open_window_on(REQUESTS, BITS,
			       md_over(request, sizeof(*request), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq));
	barrier();
	for (uint64_t i = 0; i < CALLS; i++) {
		if (am_initiator()) {
			call(i, argument);
		} else {
			take(eq, PTL_EVENT_PUT_START);
			take(eq, PTL_EVENT_PUT_END);
			serve(request, (unsigned char *)argument);
		}
	}
}

/*
 * A client of the kind that gives up what is not acknowledged after 100 ms.  Its server is up when it starts, and it calls as
 * soon as its own interface is open, which may have to load a network library first.
 */
static void a_call_just_after_PtlNIInit_is_in_time(void)
{
	uint64_t word = 1;
	announce_ids(0);
	if (am_target()) {
		open_interface(target_id().pid);
		drive_while_waiting();
		open_window_on(REQUESTS, BITS,
			       md_over(&word, sizeof(word), PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	}
	barrier();
	if (am_initiator()) {
		ptl_event_t event;
		int which;
		open_interface(initiator_id().pid);
		ptl_handle_eq_t eq = new_eq(4);
		put(bind_md(md_over(&word, sizeof(word), QUIET, eq)), PTL_ACK_REQ, BITS);
		int rc = PtlEQPoll(&eq, 1, SLICE, &event, &which);
		if (rc == PTL_EQ_EMPTY)
			lose_race("others had the processors");
		CHECK_RC(rc, PTL_OK);
		CHECK_EQUAL(event.type, PTL_EVENT_ACK);
	}
	barrier();
}

const struct test rpc_tests[] = {
	TWO(remote_procedures_are_called),
	{.name = "a_call_just_after_PtlNIInit_is_in_time",
	 .run = a_call_just_after_PtlNIInit_is_in_time,
	 .processes = 2,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE},
	{0},
};
