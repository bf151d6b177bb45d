/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings from the environment as a program meets them. */
#include "tests/behaviour/behaviour.h"

#include <stdlib.h>
#include <string.h>

static void a_setting_that_makes_no_sense_is_refused_by_name(void)
{
	int interfaces;
	int rc = PtlInit(&interfaces);
	if (rc == PTL_OK)
		rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	CHECK(rc == PTL_FAIL || rc == PTL_IFACE_INVALID);
	const char *nonsense = getenv("NONSENSE");
	if (nonsense == NULL || strstr(PtlNicErrorText(), nonsense) == NULL)
		FAIL("\"%s\" does not name %s", PtlNicErrorText(), nonsense);
}

#define NONSENSE(variable, value)                                                                                      \
	{                                                                                                              \
		.name = "a_setting_that_makes_no_sense_is_refused_by_name: " variable,                                 \
		.run = a_setting_that_makes_no_sense_is_refused_by_name, .processes = 1, .traits = TRAIT_BARE,         \
		.environment = variable "=" value " NONSENSE=" value                                                   \
	}

const struct test setting_tests[] = {
	NONSENSE("PTL_TRANSPORT", "carrier-pigeon"),
	NONSENSE("PTL_NIC_MODE", "lazy"),
	NONSENSE("PTL_IFACE", "no-such-device0"),
	NONSENSE("PTL_PEER_TIMEOUT", "soon"),
	{0},
};
