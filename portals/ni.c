/* SPDX-License-Identifier: BSD-3-Clause */
/* What an interface tells about itself: identity, status registers, distances. */
#include <errno.h>
#include <net/if.h>
#include <p3nal_utcp.h>

#include "offload/interface.h"
#include "portals/process.h"
#include "portals/refuse.h"

struct status_query {
	ptl_sr_index_t index;
	ptl_sr_value_t value;
};

static int read_list_register(struct nic *nic, struct status_query *query)
{
	bool greatest = query->index >= PTL_SR_MLIST_MAX(0);
	uint32_t pt = query->index - (greatest ? PTL_SR_MLIST_MAX(0) : PTL_SR_MLIST_LEN(0));

	if (pt > (uint32_t)nic->limits.max_pt_index)
		return report_error(refusal(PTL_SR_INDEX_INVALID), "status register 0x%x does not exist", query->index);
	query->value = greatest ? nic->objects.portals[pt].greatest_length : nic->objects.portals[pt].length;
	return 0;
}

static int read_register(struct nic *nic, void *argument)
{
	struct status_query *query = argument;
	const uint64_t registers[] = {
		[PTL_SR_DROP_COUNT] = nic->counters.drops,
		[PTL_SR_DROP_LENGTH] = nic->lengths.drop,
		[PTL_SR_RECV_COUNT] = nic->counters.requests_received,
		[PTL_SR_RECV_LENGTH] = nic->lengths.receive,
		[PTL_SR_SEND_COUNT] = nic->counters.requests_sent,
		[PTL_SR_SEND_LENGTH] = nic->lengths.send,
	};

	if (query->index >= PTL_SR_MLIST_LEN(0))
		return read_list_register(nic, query);
	if (query->index >= sizeof(registers) / sizeof(registers[0]))
		return report_error(refusal(PTL_SR_INDEX_INVALID), "status register 0x%x does not exist", query->index);
	query->value = (ptl_sr_value_t)registers[query->index];
	return 0;
}

int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t register_index, ptl_sr_value_t *status)
{
	struct status_query query = {.index = register_index};
	struct nic *nic;

	if (!status)
		return refuse_null("status");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	int code = process_code(nic_call(nic, read_register, &query), PTL_FAIL);

	if (code == PTL_OK)
		*status = query.value;
	return code;
}

int PtlNIDist(ptl_handle_ni_t ni_handle, ptl_process_id_t process, unsigned long *distance)
{
	struct nic *nic;

	if (!distance)
		return refuse_null("distance");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_ni(ni_handle)))
		return refuse_handle(PTL_NI_INVALID, ni_handle);
	if (process.nid == PTL_NID_ANY || process.pid == PTL_PID_ANY)
		return refuse_wildcard(process);
	*distance = process.nid != nic->self.id.nid;
	return PTL_OK;
}

struct owner_query {
	ptl_handle_any_t handle;
};

static int object_exists(struct nic *nic, void *argument)
{
	ptl_handle_any_t handle = ((struct owner_query *)argument)->handle;

	return handle_me(nic, handle) || handle_md(nic, handle) || handle_eq(nic, handle)
		       ? 0
		       : handle_refuse(PTL_HANDLE_INVALID, handle);
}

int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle)
{
	struct owner_query query = {handle};
	struct nic *nic;
	int code = PTL_OK;

	if (!ni_handle)
		return refuse_null("ni_handle");
	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = handle_kind(handle) == HANDLE_NI ? process_ni(handle) : process_nic(handle)))
		return refuse_handle(PTL_HANDLE_INVALID, handle);
	if (handle_kind(handle) != HANDLE_NI)
		code = process_code(nic_call(nic, object_exists, &query), PTL_FAIL);
	if (code == PTL_OK)
		*ni_handle = process_ni_handle(nic);
	return code;
}

/* The three facts of an interface's identity never change while it is open. */
#define IDENTITY_CALL(function, type, field)                                                                           \
	int function(ptl_handle_ni_t ni_handle, type *field)                                                           \
	{                                                                                                              \
		struct nic *nic;                                                                                       \
                                                                                                                       \
		if (!field)                                                                                            \
			return refuse_null(#field);                                                                    \
		if (!process_ready())                                                                                  \
			return refuse_uninitialised();                                                                 \
		if (!(nic = process_ni(ni_handle)))                                                                    \
			return refuse_handle(PTL_NI_INVALID, ni_handle);                                               \
		*field = nic->self.field;                                                                              \
		return PTL_OK;                                                                                         \
	}

IDENTITY_CALL(PtlGetUid, ptl_uid_t, uid)
IDENTITY_CALL(PtlGetId, ptl_process_id_t, id)
IDENTITY_CALL(PtlGetJid, ptl_jid_t, jid)

int p3tcp_my_nid(const char *ifname, unsigned int *nid)
{
	char name[IF_NAMESIZE];
	uint32_t found;

	if (!ifname || !nid || interface_find(ifname, name, sizeof(name), &found))
		return -1;
	*nid = found;
	return 0;
}
