/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/trace.h"

#include <p3utils.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cancel.h"
#include "base/debug_names.h"
#include "base/report.h"

static const char *const names[] = {
#define DEBUG_NAME(name, bit) name,
	PORTALS_DEBUG_NAMES(DEBUG_NAME)
#undef DEBUG_NAME
};

static const char *name_of(unsigned what)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (what == 1u << i)
			return names[i];
	return "?";
}

void trace_print(const struct nic *nic, unsigned what, const char *format, ...)
{
	UNCANCELLED;
	FILE *out = p3_out ? p3_out : stderr;
	va_list arguments;
	char text[512];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* In one call: lines of several interfaces do not mix. */
	fprintf(out, "portals3: " ID_TEXT ": %s: %s\n", ID_PARTS(nic->self.id), name_of(what), text);
}
