/* SPDX-License-Identifier: BSD-3-Clause */
#include "portals/commands.h"

int commands_post_receive(struct nic *nic, nic_command *command, void *arguments, int invalid)
{
	uint64_t start = timing_start(&nic->timing);
	int code = process_code(nic_call(nic, command, arguments), invalid);

	timing_stop(&nic->timing, PTL_STAGE_POST_RECEIVE, start);
	return code;
}
