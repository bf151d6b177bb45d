/* SPDX-License-Identifier: BSD-3-Clause */
/* One process puts a greeting into the memory of another, which allowed it beforehand and does nothing else. */
#include "hello.h"

#define INDEX 4 /* portal table entry and match bits: what both sides agreed on */
#define BITS  0x707u

/* Opens a window for one put, says where it is, and waits until the NIC has filled it. */
static void target(FILE *address)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));

	/* A match entry says which processes may write with which bits; its memory descriptor says where, and that puts may. */
	char window[64] = "";
	ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY}, self;
	ptl_handle_me_t entry;
	ptl_handle_md_t memory;
	ptl_md_t md = {.start = window, .length = sizeof(window) - 1, .threshold = 1, .eq_handle = queue};
	md.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &entry));
	CHECK(PtlMDAttach(entry, md, PTL_RETAIN, &memory));

	CHECK(PtlGetId(ni, &self));
	print_address(address, self);

	ptl_event_t event = next_event(queue);
	printf("target:    %s, %u bytes from " PROCESS ": \"%s\"\n", PtlEventKindStr(event.type),
	       (unsigned)event.mlength, PARTS(event.initiator), window);

	CHECK(PtlMDUnlink(memory)); /* takes the match entry with it: PTL_UNLINK above */
	CHECK(PtlEQFree(queue));
	CHECK(PtlNIFini(ni));
	PtlFini();
}

/* Puts the greeting and waits for both of what follows: the source is free again, the target has the data. */
static void initiator(ptl_process_id_t peer)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));

	/* The source needs no match entry.  Threshold 2: one for the put, one for its acknowledgement. */
	char greeting[] = "hello, put";
	ptl_handle_md_t memory;
	ptl_md_t md = {.start = greeting, .length = strlen(greeting), .threshold = 2, .eq_handle = queue};
	md.options = PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMDBind(ni, md, PTL_RETAIN, &memory));
	CHECK(PtlPut(memory, PTL_ACK_REQ, peer, INDEX, 0, BITS, 0, 0));

	for (int expected = 2; expected > 0; expected--) {
		ptl_event_t event = next_event(queue);
		printf("initiator: %s, %u bytes\n", PtlEventKindStr(event.type), (unsigned)event.mlength);
	}

	CHECK(PtlMDUnlink(memory));
	CHECK(PtlEQFree(queue));
	CHECK(PtlNIFini(ni));
	PtlFini();
}

int main(int argc, char **argv)
{
	return hello_main(argc, argv, target, initiator);
}
