/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that can be put to before it has said where: with PTL_HOLD=1 what others send waits at its senders until it is ready.
 * Without that, a put that arrives before the match entry is dropped, and its initiator is not told.
 */
#include "hello.h"

#define INDEX 4
#define BITS  0x707u

static void target(FILE *address)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	ptl_handle_me_t entry;
	ptl_handle_md_t memory;
	ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY}, self;
	char window[64] = "";

	setenv("PTL_HOLD", "1", 1); /* settings are read by PtlInit */
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlGetId(ni, &self));
	print_address(address, self); /* from now on a peer may put, and nothing is attached */

	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));
	ptl_md_t md = {.start = window, .length = sizeof(window) - 1, .threshold = 1, .eq_handle = queue};
	md.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &entry));
	CHECK(PtlMDAttach(entry, md, PTL_RETAIN, &memory));
	CHECK(PtlNicReadyToReceive(ni)); /* everything is attached: the senders are told */

	ptl_event_t event = next_event(queue);
	printf("target:    %s: \"%s\"\n", PtlEventKindStr(event.type), window);
	CHECK(PtlMDUnlink(memory));
	CHECK(PtlNIFini(ni));
	PtlFini();
}

static void initiator(ptl_process_id_t peer)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	ptl_handle_md_t memory;
	char greeting[] = "early, but not lost";

	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));
	ptl_md_t md = {.start = greeting, .length = strlen(greeting), .threshold = 2, .eq_handle = queue};
	md.options = PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMDBind(ni, md, PTL_RETAIN, &memory));
	CHECK(PtlPut(memory, PTL_ACK_REQ, peer, INDEX, 0, BITS, 0, 0));
	while (next_event(queue).type != PTL_EVENT_ACK)
		;
	printf("initiator: acknowledged\n");
	CHECK(PtlMDUnlink(memory));
	CHECK(PtlNIFini(ni));
	PtlFini();
}

int main(int argc, char **argv)
{
	return hello_main(argc, argv, target, initiator);
}
