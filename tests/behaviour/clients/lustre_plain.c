/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/behaviour/clients/lustre.h"

#include <portals/p30.h>

#include "tests/support/peers.h"

#ifdef ptl_event_t
#error "p30.h changes events though nobody has asked for it"
#endif

size_t plain_event_size(void)
{
	return sizeof(ptl_event_t);
}

int plain_take(unsigned int eq)
{
	return (int)take_any(eq).type;
}
