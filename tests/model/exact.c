/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/model/exact.h"

#include <portals3_nic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/drive.h"
#include "portals/process.h"

/* When nothing else moves any more, time passes: for HELLOs that were refused and for peers that were lost. */
#define ROUNDS       80
#define ROUND_MS     300
#define TIMER_DRIVES 8 /* as many drives look at the clock at least once */

struct exact exact;
static struct outcome *outcome;

/* Also from within the library, which holds the engine: hence no return, and no cleaning up. */
void disagree(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(outcome->what, sizeof(outcome->what), format, arguments);
	va_end(arguments);
	outcome->at = exact.step ? (unsigned)(exact.step - exact.program->steps) : exact.program->count;
	outcome->disagreed = true;
	_exit(1);
}

ptl_process_id_t exact_id(enum who who)
{
	const ptl_process_id_t first = exact.is[0].id;

	switch (who) {
	case WHO_ANY:
		return (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY};
	case WHO_ANY_PID:
		return (ptl_process_id_t){first.nid, PTL_PID_ANY};
	case WHO_ANY_NID:
		return (ptl_process_id_t){PTL_NID_ANY, first.pid};
	case WHO_ELSEWHERE:
		return (ptl_process_id_t){first.nid + 1, first.pid};
	case WHO_NOBODY:
		return (ptl_process_id_t){first.nid, first.pid + 1000};
	default:
		return (ptl_process_id_t){first.nid, SCRIPTED_PID + who};
	}
}

/* --- steps of the network --- */

static int drive(struct nic *nic, void *unused)
{
	(void)unused;
	return nic_drive(nic) < 0;
}

static void step_engine(unsigned ni)
{
	nic_call(exact.nic[ni], drive, NULL);
	observe_conversations(ni);
	observe_reconciled();
}

static void lose_peer(unsigned ni, unsigned peer)
{
	observe_disturbance(ni, peer);
	scripted_gone(ni, peer);
	observe_gone(ni, peer);
	step_engine(ni);
}

static void lose_each_other(unsigned one, unsigned other, bool both)
{
	if (one == other)
		return;
	if (both)
		scripted_lose(one, other);
	lose_peer(one, other);
	if (both)
		lose_peer(other, one);
}

/* So many descriptors at once, and gone: those made next are where others have been before. */
static void churn(unsigned ni, unsigned count)
{
	static ptl_handle_md_t handles[PROGRAM_CHURN];
	const ptl_md_t md = {.threshold = 1, .eq_handle = PTL_EQ_NONE};

	for (unsigned i = 0; i < count; i++)
		compare_codes("PtlMDBind", PtlMDBind(exact.ni[ni], md, PTL_RETAIN, &handles[i]), PTL_OK);
	for (unsigned i = 0; i < count; i++)
		compare_codes("PtlMDUnlink", PtlMDUnlink(handles[i]), PTL_OK);
}

static void open_interface(unsigned ni);

/* As a process that dies and is started again: no peer is told, and what was said to the first may reach the second. */
static void restart(unsigned ni)
{
	const ptl_handle_ni_t old = exact.ni[ni];
	ptl_process_id_t id;

	for (unsigned peer = 0; peer < exact.program->interfaces; peer++)
		observe_disturbance(ni, peer);
	compare_codes("PtlNIFini", PtlNIFini(old), PTL_OK);
	reference_restart(exact.reference, ni);
	observe_closed(ni);
	compare_restarted(ni);
	open_interface(ni);
	observe_reconciled();
	compare_codes("PtlGetId of a closed interface", PtlGetId(old, &id), PTL_NI_INVALID);
}

/* What an interface says to itself needs no more than a look: it cannot take so long that time-outs matter. */
static void pass_time(uint64_t ms)
{
	for (unsigned ni = 0; ni < exact.program->interfaces; ni++)
		while (scripted_deliver(ni, ni))
			step_engine(ni);
	scripted_pass_time(ms * UINT64_C(1000000));
}

static void happen(const struct step *step)
{
	unsigned reads = scripted_reads(step->ni);

	switch (step->kind) {
	case STEP_DELIVER:
		scripted_deliver(step->peer, step->ni);
		step_engine(step->ni);
		break;
	case STEP_COMPLETE:
		scripted_complete(step->ni, reads ? step->index % reads : 0, step->status);
		step_engine(step->ni);
		break;
	case STEP_DRIVE:
		step_engine(step->ni);
		break;
	case STEP_REFUSE_SENDS:
		scripted_refuse_sends(step->ni, step->count);
		break;
	case STEP_REFUSE_READS:
		scripted_refuse_reads(step->ni, step->count);
		break;
	case STEP_GONE:
		lose_each_other(step->ni, step->peer, step->index);
		break;
	case STEP_RESTART:
		restart(step->ni);
		break;
	case STEP_TIME:
		pass_time(step->count);
		break;
	default:
		churn(step->ni, step->count);
		break;
	}
}

/* Lets happen what can, and says whether anything did. */
static bool settle(void)
{
	unsigned interfaces = exact.program->interfaces;
	bool moved = false;

	for (unsigned ni = 0; ni < interfaces; ni++) {
		scripted_refuse_sends(ni, 0);
		scripted_refuse_reads(ni, 0);
		for (unsigned peer = 0; peer < interfaces; peer++) {
			while (scripted_deliver(peer, ni)) {
				step_engine(ni);
				moved = true;
			}
		}
		while (scripted_complete(ni, 0, 0)) {
			step_engine(ni);
			moved = true;
		}
		step_engine(ni);
	}
	return moved;
}

static bool is_lossy(unsigned ni, ptl_process_id_t peer)
{
	for (unsigned i = 0; i < exact.program->interfaces; i++)
		if (exact.is[i].id.pid == peer.pid && exact.is[i].id.nid == peer.nid)
			return exact.disturbed[ni][i];
	return true;
}

static void finish_everything(void)
{
	const char *unfinished;
	unsigned request;

	for (unsigned round = 0;; round++) {
		while (settle())
			compare_memory();
		unfinished = reference_unfinished(exact.reference, &request, is_lossy);
		if (!unfinished && observe_memory_regions() == 0)
			break;
		if (round == ROUNDS)
			disagree("nothing moves any more, but %s", unfinished ? unfinished : "memory is still exposed");
		pass_time(ROUND_MS);
		for (unsigned i = 0; i < TIMER_DRIVES * exact.program->interfaces; i++)
			step_engine(i % exact.program->interfaces);
	}
}

/* --- the end of a program --- */

static void take_everything(unsigned ni)
{
	for (unsigned i = 0; (i = reference_next(exact.reference, REFERENCE_QUEUE, ni, i));)
		while (exact_take(ni, &(struct slot){handle_of_number(i), i}))
			;
}

/* With nothing pending every object can go. */
static void unlink_everything(unsigned ni)
{
	for (unsigned i = 0; (i = reference_next(exact.reference, REFERENCE_MD, ni, i));)
		compare_codes("PtlMDUnlink", PtlMDUnlink(handle_of_number(i)), reference_md_unlink(exact.reference, i));
	for (unsigned i = 0; (i = reference_next(exact.reference, REFERENCE_ENTRY, ni, i));)
		compare_codes("PtlMEUnlink", PtlMEUnlink(handle_of_number(i)), reference_me_unlink(exact.reference, i));
	for (unsigned i = 0; (i = reference_next(exact.reference, REFERENCE_QUEUE, ni, i));)
		compare_codes("PtlEQFree", PtlEQFree(handle_of_number(i)), reference_eq_free(exact.reference, i));
}

static void compare_registers(unsigned ni)
{
	for (unsigned i = PTL_SR_DROP_COUNT; i <= PTL_SR_SEND_LENGTH; i++)
		exact_status(ni, i);
	for (unsigned pt = 0; pt < 4; pt++) {
		exact_status(ni, PTL_SR_MLIST_LEN(pt));
		exact_status(ni, PTL_SR_MLIST_MAX(pt));
	}
}

static void end_program(void)
{
	exact.step = NULL;
	finish_everything();
	compare_memory();
	for (unsigned ni = 0; ni < exact.program->interfaces; ni++) {
		take_everything(ni);
		unlink_everything(ni);
		if (scripted_exposed_of(ni) > 0)
			disagree("memory of interface %u is exposed, but no descriptor is left", ni);
		compare_registers(ni);
	}
	for (unsigned ni = 0; ni < exact.program->interfaces; ni++)
		compare_codes("PtlNIFini", PtlNIFini(exact.ni[ni]), PTL_OK);
	PtlFini();
	scripted_close();
	for (unsigned ni = 0; ni < exact.program->interfaces; ni++)
		free(exact.memory[ni]);
	reference_free(exact.reference);
}

/* --- the beginning --- */

static void open_interface(unsigned ni)
{
	compare_codes("PtlNIInit", PtlNIInit(ni, SCRIPTED_PID + ni, NULL, &exact.is[ni].limits, &exact.ni[ni]), PTL_OK);
	compare_codes("PtlNicReady", PtlNicReady(exact.ni[ni]), PTL_OK);
	PtlGetId(exact.ni[ni], &exact.is[ni].id);
	PtlGetUid(exact.ni[ni], &exact.is[ni].uid);
	PtlGetJid(exact.ni[ni], &exact.is[ni].jid);
	exact.nic[ni] = process_ni(exact.ni[ni]);
}

/* Every byte that is about to be moved says where it comes from. */
static void fill_memory(unsigned ni)
{
	uint8_t *ours = exact.memory[ni] = malloc(PROGRAM_MEMORY), *theirs = reference_memory(exact.reference, ni);

	for (unsigned i = 0; i < PROGRAM_MEMORY; i++)
		ours[i] = theirs[i] = (uint8_t)(i * 5 + i / 256 * 3 + ni * 85);
}

static void set_environment(const struct program *program)
{
	char short_max[16];

	snprintf(short_max, sizeof(short_max), "%u", program->short_max);
	setenv("PTL_SHORT_MAX", short_max, 1);
	setenv("PTL_TRANSPORT", "ofi", 1);
	setenv("PTL_NIC_MODE", "host", 1);
	setenv("PTL_IFACE", "lo", 1);
	setenv("PTL_LINGER", "0", 1);
	setenv("PTL_CONNECT_TIMEOUT", "2s", 1);
	setenv("PTL_LOG", "off", 1);
	unsetenv("PTL_MY_JID");
}

static void begin_program(struct program *program)
{
	const struct scripted_terms terms = {
		.short_max = 1024,
		.rma_chunk = program->chunk,
		.rma_depth = program->depth,
		.local_registration = program->local_registration,
		.pins = program->pins,
		.anonymous = program->anonymous,
		.seed = program->seed,
	};
	int interfaces;

	memset(&exact, 0, sizeof(exact));
	exact.program = program;
	set_environment(program);
	scripted_open(&terms, &exact_observer);
	compare_codes("PtlInit", PtlInit(&interfaces), PTL_OK);
	for (unsigned ni = 0; ni < program->interfaces; ni++)
		open_interface(ni);
	exact.reference = reference_new(program->interfaces, exact.is, PROGRAM_MEMORY);
	for (unsigned ni = 0; ni < program->interfaces; ni++)
		fill_memory(ni);
	compare_begin();
	observe_begin();
	for (unsigned ni = 0; ni < PROGRAM_INTERFACES; ni++) {
		struct slot *slots = (struct slot *)&exact.slots[ni];

		for (unsigned i = 0; i < sizeof(struct slots) / sizeof(struct slot); i++)
			slots[i] = (struct slot){PTL_INVALID_HANDLE, REFERENCE_INVALID};
	}
}

static void do_step(const struct step *step)
{
	exact.step = step;
	if (step->ni >= exact.program->interfaces || step->peer >= exact.program->interfaces)
		return;
	if (step->kind < STEP_CHURN)
		exact_call(step);
	else
		happen(step);
	compare_memory();
	observe_memory_regions();
	outcome->steps++;
}

static struct outlook look_out(void)
{
	struct outlook outlook = {0};

	for (unsigned ni = 0; ni < exact.program->interfaces; ni++) {
		outlook.reads[ni] = scripted_reads(ni);
		for (unsigned peer = 0; peer < exact.program->interfaces; peer++)
			outlook.waiting[peer][ni] = scripted_waiting(peer, ni);
	}
	return outlook;
}

void exact_run(struct program *program, struct generator *generator, struct outcome *result)
{
	outcome = result;
	begin_program(program);
	if (generator) {
		for (struct outlook outlook = look_out(); generator_next(generator, &outlook); outlook = look_out())
			do_step(&program->steps[program->count - 1]);
	} else {
		for (unsigned i = 0; i < program->count; i++)
			do_step(&program->steps[i]);
	}
	end_program();
}
