/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/trace.h"

#include <p3utils.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cancel.h"

/* In the order of their bits. */
static const char *const names[] = {"api", "parse",  "move", "drop",  "request", "delivery", "md",
				    "me",  "unlink", "eq",   "event", "memory",  "setup",    "shutdown"};

static const char *name_of(unsigned what)
{
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (what == 1u << i)
			return names[i];
	return "?";
}

void trace_print(const struct nic *nic, unsigned what, const char *format, ...)
{
	UNCANCELLED;
	FILE *out = p3_out ? p3_out : stderr;
	va_list arguments;
	char text[256];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* In one call: lines of several interfaces do not mix. */
	fprintf(out, "portals3: %u:%u: %s: %s\n", nic->id.nid, nic->id.pid, name_of(what), text);
}
