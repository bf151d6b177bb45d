/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of portals3_nic.h, but for those of instrument_read.c. */
#include <errno.h>
#include <portals3_nic.h>
#include <string.h>

#include "base/report.h"
#include "base/settings.h"
#include "offload/event_fd.h"
#include "offload/hold.h"
#include "offload/peer/peer.h"
#include "portals/commands.h"
#include "portals/refuse.h"
#include "portals/runtime/rank.h"

static int set_timing(struct nic *nic, void *how)
{
	return timing_set(&nic->timing, *(int *)how);
}

int PtlNicTimingSet(ptl_handle_ni_t ni, int how)
{
	struct nic *nic;
	int code = commands_interface(ni, &how, &nic);

	return code ? code : process_code(nic_call(nic, set_timing, &how), PTL_FAIL);
}

int PtlNicTimingPrint(ptl_handle_ni_t ni, FILE *out)
{
	ptl_nic_timing_t timing;
	int code = out ? PtlNicTimingGet(ni, &timing) : refuse_null("out");

	if (code == PTL_OK)
		timing_print(&timing, out);
	return code;
}

static int add_job(uint32_t interface, char *text, size_t size)
{
	size_t used = strlen(text);

	if (!process_lock())
		return PTL_FAIL;
	int length = rank_describe(interface, text + used, size - used);
	process_unlock();
	return (size_t)length < size - used ? PTL_OK : PTL_NO_SPACE;
}

int PtlNicInfo(ptl_handle_ni_t ni, char *text, size_t size)
{
	struct nic *nic;
	int code = commands_interface(ni, text, &nic);

	if (code || size == 0)
		return code ? code : PTL_NO_SPACE;
	text[0] = '\0';
	code = process_code(nic_describe(nic, text, size), PTL_FAIL);
	return code == PTL_OK ? add_job(handle_interface(ni), text, size) : code;
}

struct peer_question {
	ptl_process_id_t id;
	ptl_nic_peer_state_t state;
	const char *evidence;
};

static int peer_state(struct nic *nic, void *argument)
{
	static const ptl_nic_peer_state_t states[] = {[PEER_UNKNOWN] = PTL_NIC_PEER_UNKNOWN,
						      [PEER_CONTACTING] = PTL_NIC_PEER_CONTACTING,
						      [PEER_HOLDING] = PTL_NIC_PEER_CONNECTED,
						      [PEER_READY] = PTL_NIC_PEER_CONNECTED};
	struct peer_question *question = argument;
	const struct peer *peer = peer_find(nic, question->id);
	const char *why = peer_failure_of(nic, question->id);

	question->state = peer ? states[peer->state] : PTL_NIC_PEER_UNKNOWN;
	if (question->state == PTL_NIC_PEER_UNKNOWN && why)
		question->state = PTL_NIC_PEER_DEAD;
	question->evidence = question->state == PTL_NIC_PEER_DEAD ? why : "";
	return 0;
}

int PtlNicPeerState(ptl_handle_ni_t ni, ptl_process_id_t id, ptl_nic_peer_state_t *state, const char **evidence)
{
	struct peer_question question = {.id = id};
	struct nic *nic;
	int code = commands_interface(ni, state, &nic);

	if (code || (code = process_code(nic_call(nic, peer_state, &question), PTL_FAIL)))
		return code;
	*state = question.state;
	if (evidence)
		*evidence = question.evidence;
	return PTL_OK;
}

static int set_peer_events(struct nic *nic, void *argument)
{
	ptl_handle_eq_t handle = *(ptl_handle_eq_t *)argument;
	struct event_queue *eq = handle == PTL_EQ_NONE ? NULL : handle_eq(nic, handle);

	if (!eq && handle != PTL_EQ_NONE)
		return handle_refuse(PTL_EQ_INVALID, handle);
	nic->failures.eq = eq;
	return 0;
}

int PtlNicPeerEvents(ptl_handle_ni_t ni, ptl_handle_eq_t eq)
{
	struct nic *nic;
	int code = commands_interface(ni, &ni, &nic);

	if (code)
		return code;
	if (eq != PTL_EQ_NONE && process_nic(eq) != nic)
		return refuse_handle(PTL_EQ_INVALID, eq);
	return process_code(nic_call(nic, set_peer_events, &eq), PTL_FAIL);
}

struct event_fd {
	ptl_handle_eq_t eq;
	int fd;
};

static int open_event_fd(struct nic *nic, void *argument)
{
	struct event_fd *wanted = argument;
	struct event_queue *eq = handle_eq(nic, wanted->eq);

	if (!eq)
		return handle_refuse(PTL_EQ_INVALID, wanted->eq);
	wanted->fd = event_fd_open(nic, eq);
	return wanted->fd < 0 ? wanted->fd : 0;
}

int PtlNicEventFd(ptl_handle_eq_t eq, int *fd)
{
	struct event_fd wanted = {.eq = eq};
	struct nic *nic;

	if (!fd)
		return refuse_null("fd");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(eq)))
		return refuse_handle(PTL_EQ_INVALID, eq);
	int rc = nic_call(nic, open_event_fd, &wanted);
	int code = rc == -ENOTSUP ? PTL_FAIL : process_code(rc, PTL_FAIL);

	if (code == PTL_OK)
		*fd = wanted.fd;
	return code;
}

int PtlNicReady(ptl_handle_ni_t ni)
{
	struct nic *nic;
	int code = commands_interface(ni, &ni, &nic);

	if (code)
		return code;
	return nic_ready(nic) ? PTL_FAIL : PTL_OK;
}

int PtlNicReadyToReceive(ptl_handle_ni_t ni)
{
	struct nic *nic;
	int code = commands_interface(ni, &ni, &nic);

	return code ? code : process_code(nic_end_hold(nic, "PtlNicReadyToReceive"), PTL_FAIL);
}

const char *PtlNicErrorText(void)
{
	return report_last_error();
}

void PtlNicSettingsPrint(FILE *out)
{
	if (out)
		settings_print(out);
}
