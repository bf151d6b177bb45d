/* SPDX-License-Identifier: BSD-3-Clause */
#include "portals/commands.h"

#include "portals/refuse.h"

int commands_interface(ptl_handle_ni_t ni, const void *result, struct nic **nic)
{
	*nic = NULL;
	if (!result)
		return refuse_null("the result");
	if (!process_ready())
		return refuse_uninitialised();
	return (*nic = process_ni(ni)) ? PTL_OK : refuse_handle(PTL_NI_INVALID, ni);
}

int commands_post_receive(struct nic *nic, nic_command *command, void *arguments, int invalid)
{
	uint64_t start = timing_start(&nic->timing);
	int code = process_code(nic_call(nic, command, arguments), invalid);

	timing_stop(&nic->timing, PTL_STAGE_POST_RECEIVE, start);
	return code;
}

int commands_queue_code(const struct nic *nic, int code, bool foreign_queue, ptl_handle_eq_t handle)
{
	if (!foreign_queue)
		return code;
	struct nic *other = process_nic(handle);

	return other && handle_eq_unowned(other, handle)
		       ? report_error(PTL_MD_ILLEGAL, "event queue 0x%x is of interface %u, the descriptor of %u",
				      handle, other->index, nic->index)
		       : refuse_handle(PTL_EQ_INVALID, handle);
}
