/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of one process over the scripted transport; the test is their NIC thread. */
#ifndef TESTS_UNIT_INTERFACES_H
#define TESTS_UNIT_INTERFACES_H

#include <portals3.h>
#include <portals3_nic.h>
#include <stdlib.h>

#include "offload/drive.h"
#include "offload/nic.h"
#include "tests/support/scripted.h"

static inline void open_scripted(const struct scripted_terms *terms, const struct scripted_observer *observer,
				 unsigned count, ptl_handle_ni_t *ni, ptl_process_id_t *id)
{
	int most;

	setenv("PTL_TRANSPORT", "ofi", 1);
	setenv("PTL_NIC_MODE", "host", 1);
	setenv("PTL_IFACE", "lo", 1);
	setenv("PTL_LINGER", "0", 1);
	scripted_open(terms, observer);
	assert_int_equal(PtlInit(&most), PTL_OK);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(PtlNIInit(i, SCRIPTED_PID + i, NULL, NULL, &ni[i]), PTL_OK);
		assert_int_equal(PtlNicReady(ni[i]), PTL_OK);
		assert_int_equal(PtlGetId(ni[i], &id[i]), PTL_OK);
	}
}

/* The script insists that nothing is exposed to a transport that closes. */
static inline int close_interfaces(void **state)
{
	(void)state;
	PtlFini();
	scripted_close();
	return 0;
}

/* For nic_call(). */
static inline int drive(struct nic *nic, void *unused)
{
	(void)unused;
	return nic_drive(nic) < 0;
}

#endif
