/* SPDX-License-Identifier: BSD-3-Clause */
/* What is here: versions, machine, settings, what an interface is made of and how long it takes to open. */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>

#include "machine.h"
#include "output.h"
#include "session.h"

static void settings_block(void)
{
	char *text = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&text, &length);

	PtlNicSettingsPrint(memory);
	fclose(memory);
	output_block("settings", text);
	free(text);
}

int info(const struct options *options)
{
	struct session session = {.options = options};

	session_open_interface(&session, PTL_PID_ANY);
	machine_facts();
	output_fact("PtlInit and PtlNIInit", "%.1f ms, all transports open after %.1f ms", session.open_ns / 1e6,
		    session.ready_ns / 1e6);
	output_fact("nid:pid", "%u.%u.%u.%u:%u", session.self.nid >> 24, session.self.nid >> 16 & 255,
		    session.self.nid >> 8 & 255, session.self.nid & 255, session.self.pid);
	output_block("interface", session.info);
	settings_block();
	PtlFini();
	return 0;
}
