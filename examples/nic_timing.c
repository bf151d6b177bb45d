/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the NIC's time goes: a ping-pong of empty puts with the stage clocks on, then a table as that of the QsNet paper. */
#include "hello.h"

enum { INDEX = 4, BITS = 0x707, ROUNDS = 1000 }; /* portal table entry, match bits: what both sides agreed on */
static ptl_handle_any_t ni, queue, source;

/* A receive for one empty message, which goes with it. */
static void post_receive(void)
{
	ptl_md_t md = {.threshold = 1, .options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, .eq_handle = queue};
	ptl_handle_any_t entry, window;
	CHECK(PtlMEAttach(ni, INDEX, (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY}, BITS, 0, PTL_UNLINK, PTL_INS_AFTER,
			  &entry));
	CHECK(PtlMDAttach(entry, md, PTL_UNLINK, &window));
}

static void open_interface(void)
{
	CHECK(PtlInit(&(int){0}));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));
	CHECK(PtlMDBind(ni, (ptl_md_t){.threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE}, PTL_RETAIN, &source));
	post_receive();
}

/* Waits for a message, and is ready for the next before anything is sent.  Returns its sender. */
static ptl_process_id_t receive(void)
{
	ptl_event_t event;
	while ((event = next_event(queue)).type != PTL_EVENT_PUT_END)
		;
	post_receive();
	return event.initiator;
}

/* Sends back whatever comes. */
static void target(FILE *address)
{
	ptl_process_id_t self;
	open_interface();
	CHECK(PtlGetId(ni, &self));
	print_address(address, self);
	for (int i = 0; i < ROUNDS; i++)
		CHECK(PtlPut(source, PTL_NO_ACK_REQ, receive(), INDEX, 0, BITS, 0, 0));
	PtlFini(); /* when what was sent has left */
}

/* The stages of which a message's way through the NIC consists: they add up to its total. */
static void print_table(void)
{
	ptl_nic_timing_t timing;
	CHECK(PtlNicTimingGet(ni, &timing));
	printf("NIC timing of %d messages (us)\n", (int)timing.messages);
	for (int i = 0; i < PTL_STAGE_COUNT; i++) {
		const ptl_stage_times_t *stage = &timing.stage[i];
		if (stage->count > 0 && (stage->group == PTL_STAGE_NIC || stage->group == PTL_STAGE_TOTAL))
			printf("  %-20s %8.3f\n", stage->name, stage->total / 1000 / (double)timing.messages);
	}
	printf("(a reading of the clock, %.3f us, is in each)\n", timing.clock_cost / 1000);
}

static void initiator(ptl_process_id_t peer)
{
	open_interface();
	for (int i = 0; i < ROUNDS; i++) {
		if (i == ROUNDS / 10) /* warm, and first contact is behind us */
			CHECK(PtlNicTimingSet(ni, 1));
		CHECK(PtlPut(source, PTL_NO_ACK_REQ, peer, INDEX, 0, BITS, 0, 0));
		receive();
	}
	print_table();
	PtlFini();
}

int main(int argc, char **argv)
{
	return hello_main(argc, argv, target, initiator);
}
