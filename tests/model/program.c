/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs: the memory that their descriptors name, and their looks. */
#include "tests/model/program.h"

#include <inttypes.h>

/* Bytes of piece i of n: evenly, or here and there some more, some less, some none. */
static uint64_t piece_length(const struct step_md *md, unsigned i, uint64_t left)
{
	unsigned rest = md->pieces - i;
	uint64_t even = (left + rest - 1) / rest, hash = (md->scatter + i) * UINT64_C(0x9E3779B97F4A7C15) >> 40;

	if (rest == 1)
		return left;
	if (md->scatter == 0)
		return even;
	even = hash % 4 == 0 ? 0 : 1 + hash / 4 % (2 * even + 1);
	return even < left ? even : left;
}

static unsigned gap_behind(const struct step_md *md, unsigned i)
{
	return md->scatter ? (md->scatter ^ i * 7) % 4 : 0;
}

unsigned program_pieces(const struct step_md *md, struct program_piece *piece)
{
	uint64_t left = md->length, offset = md->offset;

	if (!(md->options & PTL_MD_IOVEC)) {
		piece[0] = (struct program_piece){offset, left};
		return 1;
	}
	for (unsigned i = 0; i < md->pieces; i++) {
		uint64_t length = piece_length(md, i, left);

		if (offset + length > PROGRAM_MEMORY) /* the gaps took too much */
			offset = PROGRAM_MEMORY - length;
		piece[i] = (struct program_piece){offset, length};
		left -= length;
		offset += length + gap_behind(md, i);
	}
	return md->pieces;
}

unsigned program_options(const struct step_md *md)
{
	switch (md->wrong) {
	case TOO_MANY_PIECES:
		return md->options | PTL_MD_IOVEC;
	case WRAPS_AROUND:
		return md->options & ~(unsigned)PTL_MD_IOVEC;
	default:
		return md->options;
	}
}

/* --- printing --- */

static const char *const who_names[WHOS] = {"id[0]",   "id[1]",   "id[2]",     "anybody",
					    "any_pid", "any_nid", "elsewhere", "nobody"};

static void print_slot(FILE *out, const char *what, unsigned ni, unsigned slot)
{
	if (slot == PROGRAM_NONE)
		fprintf(out, "PTL_EQ_NONE");
	else if (slot == PROGRAM_BAD)
		fprintf(out, "PTL_INVALID_HANDLE");
	else
		fprintf(out, "%s[%u][%u]", what, ni, slot);
}

/* Long ones with their type, so that the compiler takes them as they are meant. */
static void print_number(FILE *out, uint64_t number)
{
	fprintf(out, number > INT32_MAX ? "UINT64_C(%#" PRIx64 ")" : "%" PRIu64, number);
}

static void print_options(FILE *out, unsigned options)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{PTL_MD_OP_PUT, "OP_PUT"},
		{PTL_MD_OP_GET, "OP_GET"},
		{PTL_MD_MANAGE_REMOTE, "MANAGE_REMOTE"},
		{PTL_MD_TRUNCATE, "TRUNCATE"},
		{PTL_MD_ACK_DISABLE, "ACK_DISABLE"},
		{PTL_MD_IOVEC, "IOVEC"},
		{PTL_MD_MAX_SIZE, "MAX_SIZE"},
		{PTL_MD_EVENT_START_DISABLE, "EVENT_START_DISABLE"},
		{PTL_MD_EVENT_END_DISABLE, "EVENT_END_DISABLE"},
		{PTL_MD_LOCAL_ALIGN8, "LOCAL_ALIGN8"},
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (options & names[i].bit) {
			fprintf(out, "%sPTL_MD_%s", between, names[i].name);
			between = " | ";
		}
	}
	if (!*between)
		fprintf(out, "0");
}

static void print_pieces(FILE *out, const struct step *step)
{
	struct program_piece piece[PROGRAM_PIECES];
	unsigned count = program_pieces(&step->memory, piece);

	fprintf(out, count ? "(ptl_md_iovec_t[]){" : "(ptl_md_iovec_t[1]){{NULL, 0}");
	for (unsigned i = 0; i < count; i++)
		fprintf(out, "%s{memory[%u] + %" PRIu64 ", %" PRIu64 "}", i ? ", " : "", step->ni, piece[i].offset,
			piece[i].length);
	fprintf(out, "}, %u", count);
}

/* start and length */
static void print_region(FILE *out, const struct step *step)
{
	const struct step_md *md = &step->memory;
	bool pieces = md->options & PTL_MD_IOVEC;

	if (md->wrong == NULL_START)
		fprintf(out, "NULL, %" PRIu32, pieces ? md->pieces : md->length);
	else if (md->wrong == TOO_MANY_PIECES)
		fprintf(out, "too_many_pieces, (ptl_size_t)limits.max_md_iovecs + 1");
	else if (md->wrong == WRAPS_AROUND)
		fprintf(out, "(void *)UINT64_C(%#" PRIxPTR "), %d", PROGRAM_LAST_BYTES, PROGRAM_BEYOND);
	else if (pieces)
		print_pieces(out, step);
	else
		fprintf(out, "memory[%u] + %" PRIu32 ", %" PRIu32, step->ni, md->offset, md->length);
}

static void print_memory(FILE *out, const struct step *step)
{
	const struct step_md *md = &step->memory;

	fprintf(out, "(ptl_md_t){");
	print_region(out, step);
	if (md->threshold == PTL_MD_THRESH_INF)
		fprintf(out, ", PTL_MD_THRESH_INF, ");
	else
		fprintf(out, ", %" PRId32 ", ", md->threshold);
	print_number(out, md->max_size);
	fprintf(out, ", ");
	print_options(out, program_options(md));
	fprintf(out, ", (void *)%" PRIu32 ", ", md->user);
	print_slot(out, "eq", md->queue_ni, md->queue);
	fprintf(out, "}");
}

static const char *unlink_name(unsigned unlink)
{
	return unlink == PTL_UNLINK ? "PTL_UNLINK" : "PTL_RETAIN";
}

static void print_entry(FILE *out, const struct step *step)
{
	fprintf(out, "%s, ", who_names[step->who]);
	print_number(out, step->bits);
	fprintf(out, ", ");
	print_number(out, step->ignore);
	fprintf(out, ", %s, ", unlink_name(step->unlink));
}

static const char *position_name(const struct step *step)
{
	return step->position == PTL_INS_BEFORE ? "PTL_INS_BEFORE" : "PTL_INS_AFTER";
}

static void print_request(FILE *out, const struct step *step)
{
	if (step->kind == STEP_PUT || step->kind == STEP_PUT_REGION)
		fprintf(out, "%s, ", step->ack ? "PTL_ACK_REQ" : "PTL_NO_ACK_REQ");
	fprintf(out, "%s, %" PRIu32 ", %" PRIu32 ", ", who_names[step->who], step->pt, step->ac);
	print_number(out, step->bits);
	fprintf(out, ", ");
	print_number(out, step->remote_offset);
	if (step->kind == STEP_PUT || step->kind == STEP_PUT_REGION || step->kind == STEP_GETPUT) {
		fprintf(out, ", ");
		print_number(out, step->hdr_data);
	}
	fprintf(out, ");");
}

static void print_eq_step(FILE *out, const struct step *step)
{
	if (step->kind == STEP_EQ_ALLOC)
		fprintf(out, "PtlEQAlloc(ni[%u], %" PRIu32 ", NULL, &", step->ni, step->count);
	else
		fprintf(out, step->kind == STEP_EQ_FREE  ? "PtlEQFree("
			     : step->kind == STEP_EQ_GET ? "PtlEQGet("
							 : "PtlEQPoll(&");
	print_slot(out, "eq", step->ni, step->queue);
	if (step->kind == STEP_EQ_POLL)
		fprintf(out, ", %" PRIu32 ", 0, &event, &which);", step->count);
	else
		fprintf(out, step->kind == STEP_EQ_GET ? ", &event);" : ");");
}

static void print_ni_step(FILE *out, const struct step *step)
{
	static const char *const uids[] = {"uid", "PTL_UID_ANY", "uid + 1"}, *const jids[] = {"jid", "PTL_JID_ANY",
											      "jid + 1"};

	if (step->kind == STEP_STATUS)
		fprintf(out, "PtlNIStatus(ni[%u], %#" PRIx32 ", &value);", step->ni, step->index);
	else
		fprintf(out,
			step->pt == PTL_PT_INDEX_ANY ? "PtlACEntry(ni[%u], %" PRIu32 ", %s, %s, %s, PTL_PT_INDEX_ANY);"
						     : "PtlACEntry(ni[%u], %" PRIu32 ", %s, %s, %s, %" PRIu32 ");",
			step->ni, step->ac, who_names[step->who], uids[step->uid], jids[step->jid], step->pt);
}

static void print_me_step(FILE *out, const struct step *step)
{
	switch (step->kind) {
	case STEP_ME_ATTACH:
		fprintf(out, "PtlMEAttach(ni[%u], %" PRIu32 ", ", step->ni, step->pt);
		break;
	case STEP_ME_ATTACH_ANY:
		fprintf(out, "PtlMEAttachAny(ni[%u], &pt, ", step->ni);
		break;
	case STEP_ME_INSERT:
		fprintf(out, "PtlMEInsert(");
		print_slot(out, "me", step->ni, step->base);
		fprintf(out, ", ");
		break;
	default:
		fprintf(out, "PtlMEUnlink(");
		print_slot(out, "me", step->ni, step->me);
		fprintf(out, ");");
		return;
	}
	print_entry(out, step);
	fprintf(out, "%s%s&", step->kind == STEP_ME_ATTACH_ANY ? "" : position_name(step),
		step->kind == STEP_ME_ATTACH_ANY ? "" : ", ");
	print_slot(out, "me", step->ni, step->me);
	fprintf(out, ");");
}

static void print_md_step(FILE *out, const struct step *step)
{
	if (step->kind == STEP_MD_BIND) {
		fprintf(out, "PtlMDBind(ni[%u]", step->ni);
	} else {
		fprintf(out, step->kind == STEP_MD_ATTACH ? "PtlMDAttach(" : "PtlMDUnlink(");
		print_slot(out, step->kind == STEP_MD_ATTACH ? "me" : "md", step->ni,
			   step->kind == STEP_MD_ATTACH ? step->me : step->md);
	}
	if (step->kind != STEP_MD_UNLINK) {
		fprintf(out, ", ");
		print_memory(out, step);
		fprintf(out, ", %s, &", unlink_name(step->md_unlink));
		print_slot(out, "md", step->ni, step->md);
	}
	fprintf(out, ");");
}

static void print_update(FILE *out, const struct step *step)
{
	fprintf(out, "PtlMDUpdate(");
	print_slot(out, "md", step->ni, step->md);
	fprintf(out, ", &old, ");
	if (step->count) {
		fprintf(out, "&");
		print_memory(out, step);
	} else {
		fprintf(out, "NULL");
	}
	fprintf(out, ", ");
	print_slot(out, "eq", step->second_ni, step->queue);
	fprintf(out, ");");
}

static void print_post(FILE *out, const struct step *step)
{
	fprintf(out, "PtlMEMDPost(ni[%u], ", step->ni);
	print_slot(out, "me", step->second_ni, step->base);
	fprintf(out, ", ");
	print_entry(out, step);
	fprintf(out, "%s, ", position_name(step));
	print_memory(out, step);
	fprintf(out, ", %s, &", unlink_name(step->md_unlink));
	print_slot(out, "me", step->ni, step->me);
	fprintf(out, ", &");
	print_slot(out, "md", step->ni, step->md);
	fprintf(out, ", ");
	print_slot(out, "eq", step->second_ni, step->queue);
	fprintf(out, ");");
}

static void print_move(FILE *out, const struct step *step)
{
	static const char *const names[] = {
		[STEP_PUT] = "PtlPut",       [STEP_PUT_REGION] = "PtlPutRegion",
		[STEP_GET] = "PtlGet",       [STEP_GET_REGION] = "PtlGetRegion",
		[STEP_GETPUT] = "PtlGetPut",
	};

	if (step->count > 1)
		fprintf(out, "for (int i = 0; i < %" PRIu32 "; i++) ", step->count);
	fprintf(out, "%s(", names[step->kind]);
	print_slot(out, "md", step->ni, step->md);
	fprintf(out, ", ");
	if (step->kind == STEP_GETPUT) {
		print_slot(out, "md", step->second_ni, step->put_md);
		fprintf(out, ", ");
	}
	if (step->kind == STEP_PUT_REGION || step->kind == STEP_GET_REGION) {
		print_number(out, step->offset);
		fprintf(out, ", ");
		print_number(out, step->length);
		fprintf(out, ", ");
	}
	print_request(out, step);
}

static void print_happening(FILE *out, const struct step *step)
{
	switch (step->kind) {
	case STEP_CHURN:
		fprintf(out, "churn(%u, %" PRIu32 "); /* bind and unlink so many descriptors */", step->ni,
			step->count);
		break;
	case STEP_DELIVER:
		fprintf(out, "deliver(%u, %u); /* the next message from, to */", step->peer, step->ni);
		break;
	case STEP_COMPLETE:
		fprintf(out, "complete(%u, %" PRIu32 ", %" PRId32 "); /* a read of this interface */", step->ni,
			step->index, step->status);
		break;
	case STEP_DRIVE:
		fprintf(out, "drive(%u);", step->ni);
		break;
	case STEP_REFUSE_SENDS:
		fprintf(out, "refuse_sends(%u, %" PRIu32 ");", step->ni, step->count);
		break;
	case STEP_REFUSE_READS:
		fprintf(out, "refuse_reads(%u, %" PRIu32 ");", step->ni, step->count);
		break;
	case STEP_RESTART:
		fprintf(out, "restart(%u); /* PtlNIFini, PtlNIInit */", step->ni);
		break;
	case STEP_GONE:
		fprintf(out, "gone(%u, %u, %s);", step->ni, step->peer, step->index ? "BOTH_SIDES" : "THIS_SIDE");
		break;
	default:
		fprintf(out, "pass_time(%" PRIu32 "); /* ms */", step->count);
		break;
	}
}

static void print_step(FILE *out, const struct step *step)
{
	if (step->kind <= STEP_EQ_POLL)
		print_eq_step(out, step);
	else if (step->kind <= STEP_AC_ENTRY)
		print_ni_step(out, step);
	else if (step->kind <= STEP_ME_UNLINK)
		print_me_step(out, step);
	else if (step->kind == STEP_MD_UPDATE)
		print_update(out, step);
	else if (step->kind <= STEP_MD_UNLINK)
		print_md_step(out, step);
	else if (step->kind == STEP_POST)
		print_post(out, step);
	else if (step->kind <= STEP_GETPUT)
		print_move(out, step);
	else
		print_happening(out, step);
}

/* Every name that a step may use. */
static void print_declarations(FILE *out)
{
	fprintf(out, "#include <portals3.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
		     "enum { THIS_SIDE, BOTH_SIDES };\n"
		     "void churn(unsigned ni, unsigned count);\n"
		     "void deliver(unsigned from, unsigned to);\n"
		     "void complete(unsigned ni, unsigned index, int status);\n"
		     "void drive(unsigned ni);\n"
		     "void refuse_sends(unsigned ni, unsigned count);\n"
		     "void refuse_reads(unsigned ni, unsigned count);\n"
		     "void gone(unsigned ni, unsigned peer, int sides);\n"
		     "void restart(unsigned ni);\n"
		     "void pass_time(unsigned ms);\n"
		     "void the_program(void);\n\n");
	fprintf(out,
		"ptl_handle_ni_t ni[%d];\nptl_handle_eq_t eq[%d][%d];\nptl_handle_me_t me[%d][%d];\n"
		"ptl_handle_md_t md[%d][%d];\nuint8_t memory[%d][%d];\n",
		PROGRAM_INTERFACES, PROGRAM_INTERFACES, PROGRAM_QUEUES, PROGRAM_INTERFACES, PROGRAM_ENTRIES,
		PROGRAM_INTERFACES, PROGRAM_MDS, PROGRAM_INTERFACES, PROGRAM_MEMORY);
	fprintf(out,
		"ptl_process_id_t id[%d], anybody = {PTL_NID_ANY, PTL_PID_ANY}, any_pid, any_nid, elsewhere, nobody;\n"
		"ptl_md_iovec_t too_many_pieces[%d];\n"
		"ptl_ni_limits_t limits;\nptl_uid_t uid;\nptl_jid_t jid;\nptl_md_t old;\nptl_event_t event;\n"
		"ptl_pt_index_t pt;\nptl_sr_value_t value;\nint which;\n\n",
		PROGRAM_INTERFACES, PROGRAM_PIECES);
}

/* Interface i has the pid of the first one plus i, and every slot names nothing yet. */
static void print_opening(FILE *out, const struct program *program)
{
	fprintf(out,
		"\tPtlInit(&which);\n"
		"\tfor (unsigned i = 0; i < %u; i++) {\n"
		"\t\tPtlNIInit(i, 100 + i, NULL, &limits, &ni[i]);\n"
		"\t\tfor (int k = 0; k < %d; k++)\n\t\t\teq[i][k] = PTL_INVALID_HANDLE;\n"
		"\t\tfor (int k = 0; k < %d; k++)\n\t\t\tme[i][k] = PTL_INVALID_HANDLE;\n"
		"\t\tfor (int k = 0; k < %d; k++)\n\t\t\tmd[i][k] = PTL_INVALID_HANDLE;\n"
		"\t}\n",
		program->interfaces, PROGRAM_QUEUES, PROGRAM_ENTRIES, PROGRAM_MDS);
	fprintf(out,
		"\tPtlGetUid(ni[0], &uid);\n\tPtlGetJid(ni[0], &jid);\n\tPtlGetId(ni[0], &id[0]);\n"
		"\tfor (unsigned i = 1; i < %d; i++)\n"
		"\t\tid[i] = (ptl_process_id_t){id[0].nid, id[0].pid + i};\n"
		"\tany_pid = (ptl_process_id_t){id[0].nid, PTL_PID_ANY};\n"
		"\tany_nid = (ptl_process_id_t){PTL_NID_ANY, id[0].pid};\n"
		"\telsewhere = (ptl_process_id_t){id[0].nid + 1, id[0].pid};\n"
		"\tnobody = (ptl_process_id_t){id[0].nid, id[0].pid + 1000};\n\n",
		PROGRAM_INTERFACES);
}

void program_print(FILE *out, const struct program *program)
{
	fprintf(out,
		"/* seed %" PRIu64 ": %u interfaces, PTL_SHORT_MAX=%" PRIu32 ", reads of %" PRIu32 " bytes, %" PRIu32
		" at a time%s%s%s */\n",
		program->seed, program->interfaces, program->short_max, program->chunk, program->depth,
		program->local_registration ? ", local registration" : "", program->pins ? ", which lasts" : "",
		program->anonymous ? ", senders unknown" : "");
	print_declarations(out);
	fprintf(out, "void the_program(void)\n{\n");
	print_opening(out, program);
	for (unsigned i = 0; i < program->count; i++) {
		fprintf(out, "\t");
		print_step(out, &program->steps[i]);
		fprintf(out, "\n");
	}
	fprintf(out, "}\n");
}
