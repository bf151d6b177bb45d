/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#define NODE  "node"
#define NET   "ofi:tcp ofi:net"
#define PAIRS NODE " " NET
#define ALL   "self " PAIRS

/* clang-format off */
const struct planned plan[] = {
	{"info", "info", "", false},
	{"limits", "limits", "", false},
	{"self-latency", "self-latency", "self", false},
	/* The raw transport takes turns with ours: slots in shared memory, libfabric between hosts. */
	{"put-latency", "put-latency --raw slots", NODE, false},
	{"put-latency", "put-latency --raw tagged", NET, false},
	{"put-latency-msg", "put-latency --raw msg", NET, false},
	{"get-latency", "get-latency", NODE, false},
	{"get-latency", "get-latency --raw rma", NET, false},
	{"put-bandwidth", "put-bandwidth --raw slots", NODE, false},
	{"put-bandwidth", "put-bandwidth --raw tagged", NET, false},
	{"put-bandwidth-msg", "put-bandwidth --raw msg", NET, false},
	{"put-bandwidth-rma", "put-bandwidth --raw rma", NET, false},
	{"put-bandwidth-window", "put-bandwidth --window 1,4,16", PAIRS, false},
	{"get-bandwidth", "get-bandwidth", PAIRS, false},
	{"message-rate", "message-rate --raw slots", NODE, false},
	{"message-rate", "message-rate --raw tagged", NET, false},
	{"bidirectional-latency", "bidirectional-latency", PAIRS, false},
	{"bidirectional-bandwidth", "bidirectional-bandwidth", PAIRS, false},
	{"initiator-timing", "initiator-timing --raw tagged", PAIRS, false},
	{"nic-timing", "nic-timing", PAIRS, false},
	{"sequence", "sequence", PAIRS, false},
	{"logp", "logp --raw slots", NODE, false},
	{"logp", "logp --raw msg", NET, false},
	{"operations", "operations", NODE, false},
	{"operations", "operations --raw msg", NET, false},
	{"host-overhead", "host-overhead", PAIRS, false},
	{"availability", "availability", PAIRS, false},
	{"completion", "completion", PAIRS, false},
	{"am", "am", PAIRS, false},
	{"am-bandwidth", "am --sizes 4:32K", PAIRS, false},
	{"splitc", "splitc", PAIRS, false},
	{"splitc-bandwidth", "splitc --sizes 4:32K", PAIRS, false},
	{"breakdown", "breakdown", PAIRS, false},
	{"grim", "grim", PAIRS, false},
	{"driver", "driver", PAIRS, false},
	{"blocking", "blocking", PAIRS, false},
	{"crossover", "crossover", PAIRS, false},
	{"injection", "injection", PAIRS, false},
	{"injection-wire", "injection --wire", NODE, false},
	{"buffer-reuse", "buffer-reuse", PAIRS, false},
	{"hot-spot", "hot-spot", PAIRS, false},
	{"peers", "peers", PAIRS, false},
	{"segments", "segments", PAIRS, false},
	{"fragment", "fragment", PAIRS, false},
	{"match-depth", "match-depth", PAIRS, false},
	{"unexpected-depth", "unexpected-depth", PAIRS, false},
	{"attach", "attach", NODE, false},
	{"bypass", "bypass", PAIRS, false},
	{"wake", "wake", PAIRS, false},
	{"pairs", "pairs", NODE, false},
	{"idle", "idle", PAIRS, false},
	{"open", "open", ALL, false},
	{"memory", "memory", NODE, false},
	{"recovery", "recovery", PAIRS, false},
	{"compare", "compare", "", false},
	{"goals", "goals", "", true},
};
/* clang-format on */

const size_t plan_count = sizeof(plan) / sizeof(plan[0]);

void plan_test(const struct planned *planned, char *test, size_t size)
{
	snprintf(test, size, "%.*s", (int)strcspn(planned->command, " "), planned->command);
}

/* Whether the first word of the list is the planned one or its test. */
static bool is_named(const struct planned *planned, const char *list)
{
	size_t length = strcspn(list, ","), test = strcspn(planned->command, " ");

	return (length == strlen(planned->name) && !memcmp(list, planned->name, length)) ||
	       (length == test && !memcmp(list, planned->command, length));
}

static const char *next(const char *list)
{
	list += strcspn(list, ",");
	return *list ? list + 1 : NULL;
}

bool plan_is_chosen(const struct planned *planned, const char *list)
{
	if (!list)
		return true;
	for (; list; list = next(list))
		if (is_named(planned, list))
			return true;
	return false;
}

const char *plan_unknown(const char *list)
{
	for (; list; list = next(list)) {
		bool known = false;
		for (size_t i = 0; i < plan_count; i++)
			known = known || is_named(&plan[i], list);
		if (!known)
			return list;
	}
	return NULL;
}
