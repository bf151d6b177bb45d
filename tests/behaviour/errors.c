/* SPDX-License-Identifier: BSD-3-Clause */
/* PtlNicErrorText() tells what was wrong with the call that failed, not with an earlier one. */
#include "tests/behaviour/behaviour.h"

#include <p3rt/p3rt.h>
#include <p3utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/host.h"

#define SAYS(call, code, expected)                                                                                     \
	do {                                                                                                           \
		CHECK_RC(call, code);                                                                                  \
		if (!strstr(PtlNicErrorText(), expected))                                                              \
			FAIL(#call ": \"%s\" does not say: %s", PtlNicErrorText(), expected);                          \
	} while (0)

static void a_wrong_handle_is_told_by_its_kind(void)
{
	char byte = 0;
	ptl_event_t event;
	ptl_handle_md_t md = bind_md(md_over(&byte, 1, 0, PTL_EQ_NONE)), other;
	ptl_handle_eq_t eq = new_eq(8);
	SAYS(PtlMDUnlink(eq), PTL_MD_INVALID, "is one of an event queue; memory descriptor wanted");
	SAYS(PtlEQGet(md, &event), PTL_EQ_INVALID, "is one of a memory descriptor; event queue wanted");
	SAYS(PtlMDBind(ni, (ptl_md_t){.start = &byte, .length = 1}, PTL_RETAIN, &other), PTL_EQ_INVALID,
	     "0x0 is a handle of nothing; event queue wanted, or PTL_EQ_NONE");
	SAYS(PtlPut(PTL_INVALID_HANDLE, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID,
	     "0xffffffff (PTL_INVALID_HANDLE) is a handle of nothing; memory descriptor wanted");
	SAYS(PtlEQGet(PTL_EQ_NONE, &event), PTL_EQ_INVALID, "(PTL_EQ_NONE) is a handle of nothing; event queue wanted");
	CHECK_OK(PtlMDUnlink(md));
	SAYS(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID,
	     "this memory descriptor is gone");
}

static void what_does_not_fit_is_told_with_its_limit(void)
{
	char bytes[300] = {0};
	ptl_handle_me_t me;
	ptl_handle_md_t md = bind_md(md_over(bytes, 6, 0, PTL_EQ_NONE));
	ptl_handle_md_t longer = bind_md(md_over(bytes, 257, 0, PTL_EQ_NONE));
	ptl_handle_md_t used_up = bind_md(with_threshold(md_over(bytes, 6, 0, PTL_EQ_NONE), 0));
	SAYS(PtlPutRegion(md, 3, 4, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL,
	     "4 bytes from offset 3");
	SAYS(PtlGetPut(longer, longer, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL, "at most 256");
	SAYS(PtlPut(used_up, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID, "is inactive");
	SAYS(PtlPut(md, PTL_NO_ACK_REQ, anyone, INDEX, 0, BITS, 0, 0), PTL_PROCESS_INVALID,
	     "PTL_NID_ANY is a wildcard");
	SAYS(PtlMEAttach(ni, 64, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_PT_INDEX_INVALID, "at most 63");
	SAYS(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, NULL), PTL_SEGV,
	     "me_handle must not be NULL");
}

static void an_answer_that_explains_itself_keeps_no_old_text(void)
{
	char byte = 0;
	ptl_handle_eq_t eq = new_eq(8);
	ptl_md_t description = md_over(&byte, 1, PTL_MD_OP_PUT, eq);
	struct window window = open_window(BITS, description);
	SAYS(PtlEQGet(eq, NULL), PTL_SEGV, "event must not be NULL");
	ptl_handle_md_t md = bind_md(md_over(&byte, 1, 0, PTL_EQ_NONE));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
	int code;
	while ((code = PtlMDUpdate(window.md, NULL, &description, eq)) == PTL_OK)
		CHECK_RC(PtlProgress(ni, 1), PTL_OK);
	CHECK_RC(code, PTL_MD_NO_UPDATE);
	CHECK(strcmp(PtlNicErrorText(), "") == 0);
}

static void who_has_no_rank_is_told_how_to_get_one(void)
{
	unsigned rank, size;
	SAYS(PtlGetRank(ni, &rank, &size), PTL_NO_INIT, "PtlSetRank");
}

static void a_descriptor_without_threshold_is_told_apart_from_one_used_up(void)
{
	char byte = 0;
	ptl_event_t event;
	ptl_handle_eq_t eq = new_eq(8);
	ptl_md_t once = with_threshold(md_over(&byte, 1, 0, eq), 1);
	ptl_handle_md_t never = bind_md(with_threshold(md_over(&byte, 1, 0, PTL_EQ_NONE), 0)), used = bind_md(once);
	SAYS(PtlPut(never, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID,
	     "threshold was 0 from the start");
	CHECK_OK(PtlPut(used, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
	do
		CHECK_OK(PtlEQWait(eq, &event));
	while (event.type != PTL_EVENT_SEND_END);
	SAYS(PtlPut(used, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID, "threshold is used up");
	once.threshold = 0;
	CHECK_OK(PtlMDUpdate(used, NULL, &once, PTL_EQ_NONE));
	SAYS(PtlPut(used, PTL_NO_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0), PTL_MD_INVALID,
	     "threshold was 0 from the start");
}

static void the_bad_handle_of_several_queues_is_named(void)
{
	ptl_event_t event;
	int which;
	char expected[64];
	ptl_handle_eq_t freed = new_eq(8), queues[] = {new_eq(8), freed};
	CHECK_OK(PtlEQFree(freed));
	snprintf(expected, sizeof(expected), "eq_handles[1] of 2: handle 0x%x: this event queue is gone", freed);
	SAYS(PtlEQPoll(queues, 2, 0, &event, &which), PTL_EQ_INVALID, expected);
	snprintf(expected, sizeof(expected), "handle 0x%x: this event queue is gone", freed);
	SAYS(PtlEQWait(freed, &event), PTL_EQ_INVALID, expected);
	CHECK(strstr(PtlNicErrorText(), "eq_handles") == NULL);
}

static void what_needs_no_network_device_needs_none(void)
{
	if (!host_alone(false))
		skip_test("no network namespace can be made here");
	unsetenv("PTL_IFACE");
	open_interface(PTL_PID_ANY);
	char byte = 1, other = 0;
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	CHECK_EQUAL(self.nid, 0x7f000001u);
	ptl_handle_eq_t eq = new_eq(8);
	open_window(BITS, with_threshold(md_over(&other, 1, PTL_MD_OP_PUT, eq), 1));
	CHECK_OK(PtlPut(bind_md(md_over(&byte, 1, 0, PTL_EQ_NONE)), PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
	while (take_any(eq).type != PTL_EVENT_PUT_END)
		;
	CHECK_EQUAL(other, 1);
}

static void a_missing_network_device_is_told_with_its_cure(void)
{
	int interfaces;
	if (!host_alone(false))
		skip_test("no network namespace can be made here");
	const char *device = getenv("DEVICE");
	CHECK(device != NULL);
	setenv("PTL_IFACE", device, 1);
	CHECK_OK(PtlInit(&interfaces));
	bool there = strcmp(device, "nowhere0") != 0;
	SAYS(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_IFACE_INVALID,
	     there ? "ip link set lo up" : "no network device has the name or the IPv4 address nowhere0");
}

/* Opens with so many descriptors; the first code that is none of success. */
static int open_with_descriptors(rlim_t limit)
{
	struct rlimit descriptors;
	int interfaces, rc;
	CHECK(getrlimit(RLIMIT_NOFILE, &descriptors) == 0);
	descriptors.rlim_cur = limit;
	CHECK(setrlimit(RLIMIT_NOFILE, &descriptors) == 0);
	if ((rc = PtlInit(&interfaces)) || (rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni)))
		return rc;
	return PtlNicReady(ni);
}

/* From those that are in use, one more each time, until there are enough. */
static void too_few_descriptors_are_told_with_their_limit(void)
{
	int failed = 0, rc;
	for (rlim_t limit = 4; (rc = open_with_descriptors(limit)) != PTL_OK; limit++) {
		const char *text = PtlNicErrorText();
		if (rc != PTL_NO_SPACE)
			FAIL("%u descriptors: %s, \"%s\"", (unsigned)limit, PtlErrorStr(rc), text);
		if (!strstr(text, "RLIMIT_NOFILE") || strstr(text, "available") || strstr(text, "install"))
			FAIL("%u descriptors: \"%s\"", (unsigned)limit, text);
		PtlFini();
		failed++;
	}
	CHECK(failed > 0);
}

static int lines_with(const char *text, const char *part)
{
	int count = 0;
	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		count++;
	return count;
}

static void an_interface_introduces_itself_in_one_line(void)
{
	char *text = NULL, address[64];
	size_t length;
	ptl_process_id_t self;
	p3_out = open_memstream(&text, &length);
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlGetId(ni, &self));
	fflush(p3_out);
	snprintf(address, sizeof(address), "address %u.%u.%u.%u:%u, ", self.nid >> 24, self.nid >> 16 & 255,
		 self.nid >> 8 & 255, self.nid & 255, self.pid);
	CHECK_EQUAL(lines_with(text, "portals3: info: version "), 1);
	if (!strstr(text, address) || !strstr(text, "dialect cray") || !strstr(text, ", mode ") ||
	    !strstr(text, "transports self"))
		FAIL("no %s in \"%s\"", address, text);
}

static void who_cannot_be_reached_for_want_of_descriptors_is_told_so(void)
{
	char *text = NULL, byte = 0;
	size_t length;
	ptl_event_t event;
	p3_out = open_memstream(&text, &length);
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlNicReady(ni));
	ptl_handle_eq_t eq = new_eq(8);
	ptl_process_id_t nobody;
	CHECK_OK(PtlGetId(ni, &nobody));
	nobody.pid += 1u << 30;
	ptl_handle_md_t md = bind_md(md_over(&byte, 1, 0, eq));
	struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY}, before;
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none.rlim_max = before.rlim_max;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, nobody, INDEX, 0, BITS, 0, 0));
	do
		CHECK_OK(PtlEQWait(eq, &event));
	while (event.type != PTL_EVENT_SEND_END);
	CHECK_EQUAL(event.ni_fail_type, PTL_NI_UNREACHABLE);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	fflush(p3_out);
	if (!strstr(text, "failed: hardly a descriptor is left to connect with: raise RLIMIT_NOFILE"))
		FAIL("\"%s\" does not say why", text);
}

/* The classic of two hosts: each other's name for itself. */
static void a_peer_on_the_other_side_of_the_loopback_is_told(void)
{
	char *text = NULL, byte = 0;
	size_t length;
	ptl_event_t event;
	p3_out = open_memstream(&text, &length);
	open_interface(PTL_PID_ANY);
	ptl_handle_eq_t eq = new_eq(8);
	ptl_process_id_t self, elsewhere = {0xc6336401, 77}; /* 198.51.100.1, of the networks for examples */
	CHECK_OK(PtlGetId(ni, &self));
	CHECK_EQUAL(self.nid >> 24, 127);
	ptl_handle_md_t md = bind_md(md_over(&byte, 1, 0, eq));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, elsewhere, INDEX, 0, BITS, 0, 0));
	do
		CHECK_OK(PtlEQWait(eq, &event));
	while (event.type != PTL_EVENT_SEND_END);
	CHECK_EQUAL(event.ni_fail_type, PTL_NI_UNREACHABLE);
	fflush(p3_out);
	if (!strstr(text, "peer 198.51.100.1:77 failed: our interface is on the loopback"))
		FAIL("\"%s\" does not say why", text);
}

/* One event more than a queue holds, then take one. */
static void overflow(ptl_handle_eq_t eq, ptl_handle_md_t md, ptl_process_id_t self)
{
	ptl_event_t event;
	int code;
	for (int i = 0; i < 64; i++) {
		CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, self, INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlProgress(ni, 1));
	}
	while ((code = PtlEQGet(eq, &event)) == PTL_EQ_EMPTY)
		CHECK_OK(PtlProgress(ni, 1));
	CHECK_EQUAL(code, PTL_EQ_DROPPED);
	while (PtlEQGet(eq, &event) != PTL_EQ_EMPTY)
		;
}

static void a_queue_that_overflows_is_told_once(void)
{
	char *text = NULL, byte = 0;
	size_t length;
	p3_out = open_memstream(&text, &length);
	open_interface(PTL_PID_ANY);
	ptl_process_id_t self;
	CHECK_OK(PtlGetId(ni, &self));
	for (int queue = 1; queue <= 2; queue++) {
		ptl_handle_eq_t eq = new_eq(8);
		ptl_handle_md_t md = bind_md(md_over(&byte, 1, 0, eq));
		for (int again = 0; again < 3; again++)
			overflow(eq, md, self);
		fflush(p3_out);
		CHECK_EQUAL(lines_with(text, "has overflowed: it holds 8 events"), queue);
		CHECK_EQUAL(lines_with(text, "portals3: warning: "), queue);
	}
}

#define DEVICE(device)                                                                                                 \
	{                                                                                                              \
		.name = "a_missing_network_device_is_told_with_its_cure: " device,                                     \
		.run = a_missing_network_device_is_told_with_its_cure, .processes = 1,                                 \
		.traits = TRAIT_BARE | TRAIT_NETWORK, .environment = "PTL_TRANSPORT=auto DEVICE=" device               \
	}

#define OVER(transport)                                                                                                \
	{                                                                                                              \
		.name = "what_needs_no_network_device_needs_none: " transport,                                         \
		.run = what_needs_no_network_device_needs_none, .processes = 1, .traits = TRAIT_BARE,                  \
		.environment = "PTL_TRANSPORT=" transport                                                              \
	}

#define BARE(test)                                                                                                     \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1, .traits = TRAIT_BARE                                       \
	}

const struct test error_tests[] = {
	ALONE(a_descriptor_without_threshold_is_told_apart_from_one_used_up),
	ALONE(the_bad_handle_of_several_queues_is_named),
	OVER("self"),
	OVER("node"),
	DEVICE("auto"),
	DEVICE("lo"),
	DEVICE("nowhere0"),
	BARE(too_few_descriptors_are_told_with_their_limit),
	{.name = "an_interface_introduces_itself_in_one_line",
	 .run = an_interface_introduces_itself_in_one_line,
	 .processes = 1,
	 .traits = TRAIT_BARE,
	 .environment = "PTL_LOG=info PTL_DIALECT=cray"},
	{.name = "who_cannot_be_reached_for_want_of_descriptors_is_told_so",
	 .run = who_cannot_be_reached_for_want_of_descriptors_is_told_so,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NETWORK,
	 .environment = "PTL_LOG=info PTL_CONNECT_TIMEOUT=300ms"},
	{.name = "a_peer_on_the_other_side_of_the_loopback_is_told",
	 .run = a_peer_on_the_other_side_of_the_loopback_is_told,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NETWORK,
	 .environment = "PTL_LOG=info PTL_TRANSPORT=ofi:tcp PTL_IFACE=lo PTL_CONNECT_TIMEOUT=300ms"},
	{.name = "a_queue_that_overflows_is_told_once",
	 .run = a_queue_that_overflows_is_told_once,
	 .processes = 1,
	 .traits = TRAIT_BARE,
	 .environment = "PTL_LOG=warn"},
	ALONE(a_wrong_handle_is_told_by_its_kind),
	ALONE(what_does_not_fit_is_told_with_its_limit),
	ALONE(an_answer_that_explains_itself_keeps_no_old_text),
	ALONE(who_has_no_rank_is_told_how_to_get_one),
	{0},
};
