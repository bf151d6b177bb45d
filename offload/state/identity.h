/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process an interface is to others.  Constant after nic_open(). */
#ifndef PORTALS_OFFLOAD_STATE_IDENTITY_H
#define PORTALS_OFFLOAD_STATE_IDENTITY_H

#include <portals3.h>

struct identity {
	ptl_process_id_t id;
	ptl_uid_t uid;
	ptl_jid_t jid;
	uint64_t incarnation[2];
	char iface[32];
};

#endif
