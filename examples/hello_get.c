/* SPDX-License-Identifier: BSD-3-Clause */
/* One process reads the memory of another, which shows it and then sleeps: its NIC answers without it. */
#include "hello.h"

#define INDEX 4 /* portal table entry and match bits: what both sides agreed on */
#define BITS  0x9e7u

/* Shows a text for one get, says where it is, and waits until the NIC has sent it. */
static void target(FILE *address)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));

	/* PTL_MD_TRUNCATE: a request for more than there is gets what there is. */
	char text[] = "hello, get";
	ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY}, self;
	ptl_handle_me_t entry;
	ptl_handle_md_t memory;
	ptl_md_t md = {.start = text, .length = strlen(text), .threshold = 1, .eq_handle = queue};
	md.options = PTL_MD_OP_GET | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &entry));
	CHECK(PtlMDAttach(entry, md, PTL_RETAIN, &memory));

	CHECK(PtlGetId(ni, &self));
	print_address(address, self);

	ptl_event_t event = next_event(queue);
	printf("target:    %s, %u of %u bytes to " PROCESS "\n", PtlEventKindStr(event.type), (unsigned)event.mlength,
	       (unsigned)event.rlength, PARTS(event.initiator));

	CHECK(PtlMDUnlink(memory)); /* takes the match entry with it: PTL_UNLINK above */
	CHECK(PtlEQFree(queue));
	CHECK(PtlNIFini(ni));
	PtlFini();
}

/* Asks for up to 63 bytes and waits for the reply, which lands in the memory the request was made with. */
static void initiator(ptl_process_id_t peer)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));

	char answer[64] = "";
	ptl_handle_md_t memory;
	ptl_md_t md = {.start = answer, .length = sizeof(answer) - 1, .threshold = 1, .eq_handle = queue};
	md.options = PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMDBind(ni, md, PTL_RETAIN, &memory));
	CHECK(PtlGet(memory, peer, INDEX, 0, BITS, 0));

	ptl_event_t event = next_event(queue);
	printf("initiator: %s, %u bytes: \"%s\"\n", PtlEventKindStr(event.type), (unsigned)event.mlength, answer);

	CHECK(PtlMDUnlink(memory));
	CHECK(PtlEQFree(queue));
	CHECK(PtlNIFini(ni));
	PtlFini();
}

int main(int argc, char **argv)
{
	return hello_main(argc, argv, target, initiator);
}
