/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs for people: a pair's last requests and what became of them, and a whole program as C. */
#include <stdio.h>

#include "tests/model/free_process.h"

#define SHOWN 12

static const char *const lane_names[] = {"window", "source", "swap", "flood", "chain", "receives"};
static const char *const fate_names[] = {
	"", ", for no entry", ", for no index", ", for no access", ", wrong operation", ", beyond the end"};
static const char *const kind_names[] = {"put", "get", "getput"};
static const char *const origin_names[] = {"pool", "pieces", "counted", "own", "kept", "hasty", "mute"};

static void print_request(unsigned initiator, uint32_t number)
{
	const struct request *request = request_at(initiator, number);
	const struct record *record = record_of(initiator, number);
	printf("  %6u %-6s %6u bytes to lane %u (%s)%s from %s%s:%s%s%s%s%s%s%s%s", number, kind_names[request->kind],
	       request->length, request->lane, lane_names[lane_of(request)->kind], fate_names[request->fate],
	       origin_names[request->origin], request->ack ? ", ACK wanted" : "", record->issued ? "" : " not issued",
	       record->send_started ? " SEND_START" : "", record->send_ended ? " SEND_END" : "",
	       record->acked ? " ACK" : "", record->reply_started ? " REPLY_START" : "",
	       record->replied ? " REPLY_END" : "", record->started ? "; START" : "", record->ended ? "; END" : "");
	if (record->started || record->ended)
		printf(" (descriptor %u, offset %llu, kept %u)", record->serial, (unsigned long long)record->offset,
		       record->mlength);
	putchar('\n');
}

static void print_lane(unsigned process, unsigned number)
{
	const struct lane *lane = &program.lanes[process][number];
	printf("lane %u of process %u: %s, options 0x%x, %u pieces", number, process, lane_names[lane->kind],
	       lane->options, lane->pieces);
	if (lane->kind == LANE_CHAIN || lane->kind == LANE_RECEIVES)
		printf(", %u blocks of %u bytes, threshold %d, max_size %llu%s%s%s", lane->depth, lane->block,
		       lane->threshold, (unsigned long long)lane->max_size, lane->catch_all ? ", catch-all" : "",
		       lane->revive ? ", revived" : "", lane->keeps_entry ? ", entries stay" : "");
	putchar('\n');
}

/* The requests of the pair up to `last`, and a few behind it. */
void print_pair(unsigned initiator, unsigned target, uint32_t last)
{
	uint32_t first = last + 1, shown = 0;
	while (first > 0 && shown < SHOWN)
		shown += request_at(initiator, --first)->target == target;
	print_lane(target, request_at(initiator, last)->lane);
	printf("process %u to %u:\n", initiator, target);
	for (uint32_t number = first, behind = 0; number < program.count[initiator] && behind < 4; number++) {
		if (request_at(initiator, number)->target != target)
			continue;
		print_request(initiator, number);
		behind += number > last;
	}
}

/* ---- As C ---- */

static void print_attach(unsigned process, unsigned number, const char *unlink, int threshold, unsigned long long bytes)
{
	const struct lane *lane = &program.lanes[process][number];
	printf("\t\tCHECK_OK(PtlMEAttach(ni, %u, anyone, 0x%llx, 0x%llx, %s, PTL_INS_AFTER, &me));\n", lane->index,
	       (unsigned long long)LANE_BITS(number), (unsigned long long)ANY_TAG, unlink);
	printf("\t\tmd = md_over(memory(%llu), %llu, 0x%x, %s);\n", bytes, bytes,
	       lane->options & ~(unsigned)PTL_MD_IOVEC, lane->mute ? "PTL_EQ_NONE" : "eq");
	printf("\t\tmd.threshold = %d;\n\t\tmd.max_size = %llu;\n", threshold, (unsigned long long)lane->max_size);
	printf("\t\tCHECK_OK(PtlMDAttach(me, md, %s, &handle));\n", unlink);
}

static bool is_used(unsigned process, unsigned lane)
{
	for (unsigned initiator = 0; initiator < program.round.processes; initiator++) {
		for (uint32_t number = 0; number < program.count[initiator]; number++) {
			const struct request *request = request_at(initiator, number);
			if (request->target == process && request->lane == lane)
				return true;
		}
	}
	return false;
}

static void print_lanes(unsigned process)
{
	for (unsigned number = 0; number < LANES; number++) {
		const struct lane *lane = &program.lanes[process][number];
		bool chain = lane->kind == LANE_CHAIN || lane->kind == LANE_RECEIVES;
		if (!is_used(process, number))
			continue;
		printf("\t\t/* lane %u, %s", number, lane_names[lane->kind]);
		if (lane->pieces > 1)
			printf(", in %u pieces", lane->pieces);
		printf("%s%s%s */\n", chain ? "; another follows when one is used up" : "",
		       lane->revive ? ", by update" : "", lane->keeps_entry ? ", on the same entry" : "");
		for (unsigned i = 0; i < (chain ? lane->depth : 1); i++)
			print_attach(process, number, chain && !lane->revive ? "PTL_UNLINK" : "PTL_RETAIN",
				     chain ? lane->threshold : PTL_MD_THRESH_INF, chain ? lane->block : lane->size);
	}
}

static void print_call(unsigned initiator, uint32_t number)
{
	const struct request *request = request_at(initiator, number);
	unsigned long long bits = bits_of(initiator, number), place = request->place;
	const char *ack = request->ack ? "PTL_ACK_REQ" : "PTL_NO_ACK_REQ";
	printf("\t\t");
	switch (request->kind) {
	case OPERATION_PUT:
		printf("CHECK_OK(PtlPutRegion(out, 0, %u, %s, id_of[%u], %u, %u, 0x%llx, %lluu, 0));", request->length,
		       ack, request->target, index_of(request), access_of(request), bits, place);
		break;
	case OPERATION_GET:
		printf("CHECK_OK(PtlGetRegion(in, 0, %u, id_of[%u], %u, %u, 0x%llx, %lluu));", request->length,
		       request->target, index_of(request), access_of(request), bits, place);
		break;
	default:
		printf("swap = bind_mortal_md(md_over(memory(%u), %u, 0, eq));\n\t\t", request->length,
		       request->length);
		printf("CHECK_OK(PtlGetPut(swap, swap, id_of[%u], %u, %u, 0x%llx, %lluu, 0));", request->target,
		       index_of(request), access_of(request), bits, place);
		break;
	}
	printf(" /* from %s */\n", origin_names[request->origin]);
}

static void print_process(unsigned process)
{
	printf("\tif (my_rank == %u) {\n", process);
	print_lanes(process);
	printf("\t\tbarrier();\n");
	for (uint32_t number = 0; number < program.count[process]; number++)
		print_call(process, number);
	printf("\t}\n");
}

void print_program(void)
{
	printf("/* PTL_TRANSPORT=%s PTL_NIC_MODE=%s PTL_SHORT_MAX=%s, %u processes */\n", program.transport,
	       program.mode, program.short_max, program.round.processes);
	printf("#include \"tests/support/peers.h\"\n\n#include <stdio.h>\n\nstatic void the_program(void)\n{\n");
	printf("\tptl_handle_eq_t eq = new_eq(65536);\n\tptl_handle_me_t me;\n\tptl_handle_md_t handle, swap;\n"
	       "\tptl_md_t md;\n\tptl_event_t event;\n\tint which;\n");
	printf("\tptl_handle_md_t out = bind_md(md_over(memory(%u), %u, 0, eq));\n", LONGEST, LONGEST);
	printf("\tptl_handle_md_t in = bind_md(md_over(memory(%u), %u, 0, eq));\n\n", LONGEST, LONGEST);
	for (unsigned process = 0; process < program.round.processes; process++)
		print_process(process);
	printf("\twhile (PtlEQPoll(&eq, 1, 1000, &event, &which) != PTL_EQ_EMPTY)\n"
	       "\t\tprintf(\"%%d: %%s of 0x%%llx, %%llu bytes at %%llu\\n\", my_rank, PtlEventKindStr(event.type),\n"
	       "\t\t       (unsigned long long)event.match_bits, (unsigned long long)event.mlength,\n"
	       "\t\t       (unsigned long long)event.offset);\n");
	printf("\t(void)me, (void)handle, (void)swap, (void)md, (void)out, (void)in;\n}\n\n");
	printf("int main(int argc, char **argv)\n{\n"
	       "\tconst struct test rows[] = {{.name = \"the_program\", .run = the_program, .processes = %u}, {0}};\n"
	       "\tconst struct test *const tables[] = {rows, NULL};\n\treturn peers_main(argc, argv, tables, "
	       "list_names);\n}\n",
	       program.round.processes);
}
