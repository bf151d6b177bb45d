/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: an engine that gets messages no engine has made, well-formed and with whatever tags and tokens are in
 * use, between those of two honest ones, in any order, with refusals, failing reads, deaths and time in between.  Nothing
 * outside the application's windows is written, what the pools hold for others stays bounded, and closing gives back
 * everything (the sanitizer's leak check).  The transport is the scripted one; endpoint 2 is the liar.
 */
#include <portals3.h>
#include <portals3_nic.h>
#include <stdlib.h>

#include "offload/drive.h"
#include "offload/nic.h"
#include "offload/operation.h"
#include "offload/peer/peer.h"
#include "portals/process.h"
#include "tests/fuzz/input.h"
#include "tests/support/scripted.h"

enum { HONEST = 2, LIAR = 2, STEPS = 400, WINDOW = 4096, LONG = 3000, INDEX = 4, SHORT_MAX = 1024, FLOOD = 1500 };

extern FILE *p3_out;

static ptl_handle_ni_t ni[SCRIPTED_ENDPOINTS];
static ptl_process_id_t id[SCRIPTED_ENDPOINTS];
static ptl_handle_md_t md[HONEST], window_md[HONEST];
static ptl_handle_eq_t eq[HONEST];
static uint8_t *memory[HONEST];

/* --- life --- */

static void open_window(unsigned which)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_md_t whole = {.start = memory[which],
			  .length = WINDOW,
			  .threshold = PTL_MD_THRESH_INF,
			  .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE,
			  .eq_handle = eq[which]};
	ptl_handle_me_t me;

	REQUIRE(PtlMEAttach(ni[which], INDEX, anyone, 1, ~UINT64_C(7), PTL_RETAIN, PTL_INS_AFTER, &me) == PTL_OK);
	REQUIRE(PtlMDAttach(me, whole, PTL_RETAIN, &window_md[which]) == PTL_OK);
	REQUIRE(PtlMDBind(ni[which], whole, PTL_RETAIN, &md[which]) == PTL_OK);
}

static void open_engines(void)
{
	const struct scripted_terms terms = {.short_max = SHORT_MAX,
					     .rma_chunk = 512,
					     .rma_depth = 2,
					     .hostile = true,
					     .anonymous = input_number(1) % 4 == 0};
	int most;

	scripted_open(&terms, &scripted_blind);
	REQUIRE(PtlInit(&most) == PTL_OK);
	for (unsigned i = 0; i < SCRIPTED_ENDPOINTS; i++) {
		REQUIRE(PtlNIInit(i, SCRIPTED_PID + i, NULL, NULL, &ni[i]) == PTL_OK);
		REQUIRE(PtlNicReady(ni[i]) == PTL_OK && PtlGetId(ni[i], &id[i]) == PTL_OK);
	}
	for (unsigned i = 0; i < HONEST; i++) {
		memory[i] = malloc(WINDOW);
		memset(memory[i], 0, WINDOW);
		REQUIRE(PtlEQAlloc(ni[i], 64, PTL_EQ_HANDLER_NONE, &eq[i]) == PTL_OK);
		open_window(i);
	}
}

static void close_engines(void)
{
	PtlFini();
	scripted_close();
	for (unsigned i = 0; i < HONEST; i++)
		free(memory[i]);
}

static int drive(struct nic *nic, void *unused)
{
	(void)unused;
	REQUIRE(nic->objects.operations.live <= SCRIPTED_ENDPOINTS * PEER_OWED_MAX + STEPS);
	REQUIRE(nic->peers.count <= NIC_UNVERIFIED + SCRIPTED_ENDPOINTS);
	return nic_drive(nic) < 0;
}

static void step_engine(unsigned which)
{
	nic_call(process_ni(ni[which]), drive, NULL);
}

/* --- lies --- */

/* What the victim and the alleged sender of the lie know of each other. */
struct conversation {
	unsigned victim, claimed;
	uint16_t victims_tag, claimed_tag;
	uint32_t token;
	uint64_t incarnation[2];
};

static int spy(struct nic *nic, void *argument)
{
	struct conversation *conversation = argument;
	const struct peer *peer = peer_find(nic, id[conversation->claimed]);
	struct operation *op;
	uint32_t at = 0;

	if (peer) {
		conversation->victims_tag = peer->local_tag;
		conversation->claimed_tag = peer->remote_tag;
		memcpy(conversation->incarnation, peer->incarnation, sizeof(peer->incarnation));
	}
	for (unsigned skip = (unsigned)input_number(1) % 4; (op = pool_next(&nic->objects.operations, &at)) && skip > 0;
	     skip--)
		;
	if (op)
		conversation->token = operation_token(op);
	return 0;
}

static struct wire_message make_lie(struct conversation *truth)
{
	uint8_t doubt = (uint8_t)(input_number(1) & input_number(1) & input_number(1)); /* mostly none */
	uint64_t length = doubt & 16 ? input_number(8) : input_number(2) % (2 * WINDOW);

	return (struct wire_message){
		.operation = (uint8_t)(input_number(1) % WIRE_OPERATION_COUNT),
		.flags = (uint8_t)input_number(1) & WIRE_ALL_FLAGS,
		.attempt = doubt & 32 ? input_number(1) & 7 : 0,
		.source_nid = id[truth->claimed].nid,
		.source_pid = doubt & 1 ? (uint32_t)input_number(2) : id[truth->claimed].pid,
		.source_tag = doubt & 2 ? (uint16_t)input_number(2) : truth->claimed_tag,
		.target_tag = doubt & 4 ? (uint16_t)input_number(2) : truth->victims_tag,
		.token = doubt & 8 ? (uint32_t)input_number(4) : truth->token,
		.reply_token = truth->token,
		.said = doubt & 8 ? (uint32_t)length : 0,
		.pt_index = doubt & 64 ? (uint16_t)input_number(2) : INDEX,
		.match_bits = input_number(1) % 8,
		.offset = doubt & 128 ? input_number(8) : input_number(2),
		.length = length,
		.mlength = length,
		.wanted_nid = id[truth->victim].nid,
		.wanted_pid = doubt & 32 ? (uint32_t)input_number(1) : id[truth->victim].pid,
		.incarnation_high = doubt & 2 ? input_number(1) : truth->incarnation[0],
		.incarnation_low = truth->incarnation[1],
		.reason = (uint16_t)(input_number(1) % 3),
	};
}

/* Lengths must fit, or it would not be decoded: that is another target's concern. */
static size_t write_body(struct wire_message *lie, uint8_t *to)
{
	struct wire_segment segments[4];
	uint64_t left = lie->length;

	switch (lie->operation) {
	case WIRE_PUT:
	case WIRE_GETPUT:
	case WIRE_REPLY:
		lie->length = lie->mlength = left % (lie->operation == WIRE_GETPUT ? WIRE_SWAP_MAX : 512);
		memset(to, (int)input_number(1), lie->length);
		return lie->length;
	case WIRE_PUT_LONG:
	case WIRE_REPLY_LONG:
		lie->segment_count = (uint16_t)(left ? input_number(1) % 4 + 1 : 0);
		if (lie->segment_count > left)
			lie->segment_count = (uint16_t)left;
		for (unsigned i = 0; i < lie->segment_count; i++) {
			uint64_t part = i + 1u == lie->segment_count ? left : left / (lie->segment_count - i + 1u) + 1;

			segments[i] = (struct wire_segment){.key = input_number(1), .length = part};
			segments[i].address = (segments[i].key << 32) + input_number(1);
			left -= part;
		}
		return wire_encode_segments(segments, lie->segment_count, to);
	default:
		return 0;
	}
}

static void tell_lie(void)
{
	struct conversation truth = {.victim = (unsigned)input_number(1) % HONEST,
				     .claimed = (unsigned)input_number(1) % 3};
	uint8_t body[SHORT_MAX], bytes[WIRE_MAX_HEADER + SHORT_MAX];
	unsigned from = input_number(1) % 3 == 0 ? truth.claimed : LIAR;

	if (truth.victim == truth.claimed)
		truth.claimed = LIAR;
	nic_call(process_ni(ni[truth.victim]), spy, &truth);
	struct wire_message lie = make_lie(&truth);
	size_t body_length = write_body(&lie, body), length = wire_encode(&lie, bytes);

	memcpy(bytes + length, body, body_length);
	for (unsigned again = input_number(1) % 64 == 0 ? FLOOD : 1; again > 0; again--)
		scripted_inject(from == truth.victim ? LIAR : from, truth.victim, bytes, length + body_length);
}

/* --- the honest --- */

static void communicate(void)
{
	unsigned who = (unsigned)input_number(1) % HONEST;
	const ptl_process_id_t target = id[input_number(1) % SCRIPTED_ENDPOINTS];
	ptl_size_t length = input_number(1) % 2 ? LONG : (ptl_size_t)input_number(1);
	ptl_ack_req_t ack = input_number(1) % 2 ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
	uint64_t offset = input_number(1);

	if (input_number(1) % 2)
		PtlPutRegion(md[who], 0, length, ack, target, INDEX, 0, 1, offset, 7);
	else
		PtlGetRegion(md[who], 0, length, target, INDEX, 0, 1, offset);
}

static void look_at_events(unsigned who)
{
	ptl_event_t event;

	for (int i = 0; i < 64; i++) {
		int rc = PtlEQGet(eq[who], &event);

		if (rc == PTL_EQ_EMPTY)
			return;
		if (event.type == PTL_EVENT_PUT_END)
			REQUIRE(event.mlength <= WINDOW && event.offset <= WINDOW - event.mlength);
	}
}

static void step(void)
{
	unsigned one = (unsigned)input_number(1) % SCRIPTED_ENDPOINTS,
		 other = (unsigned)input_number(1) % SCRIPTED_ENDPOINTS;

	switch (input_number(1) % 12) {
	case 0:
	case 1:
	case 2:
	case 3:
		tell_lie();
		break;
	case 4:
	case 5:
		communicate();
		break;
	case 6:
		scripted_complete(one, (unsigned)input_number(1) % 4, input_number(1) % 4 ? 0 : -5);
		step_engine(one);
		break;
	case 7:
		scripted_pass_time(input_number(2) * UINT64_C(100000));
		step_engine(one);
		break;
	case 8:
		scripted_refuse_sends(one, (unsigned)input_number(2));
		scripted_refuse_reads(one, (unsigned)input_number(1) % 8);
		break;
	case 9:
		if (input_number(1) % 8 == 0)
			scripted_gone(one, other);
		step_engine(one);
		break;
	case 10:
		look_at_events(one % HONEST);
		break;
	default:
		break;
	}
	bool all = input_number(1) % 4 == 0;

	for (unsigned from = 0; from < SCRIPTED_ENDPOINTS; from++)
		for (bool more = true; more && scripted_deliver(from, other); more = all)
			step_engine(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	if (!p3_out) {
		p3_out = fopen("/dev/null", "w");
		setenv("PTL_TRANSPORT", "ofi", 1);
		setenv("PTL_NIC_MODE", "host", 1);
		setenv("PTL_IFACE", "lo", 1);
		setenv("PTL_LINGER", "0", 1);
		setenv("PTL_LOG", "off", 1);
	}
	input = bytes;
	input_length = length;
	open_engines();
	for (int i = 0; i < STEPS && input_length > 0; i++)
		step();
	close_engines();
	return 0;
}
