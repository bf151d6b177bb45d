/* SPDX-License-Identifier: BSD-3-Clause */
/* Much at once: threads, processes, deaths, floods.  For the sanitizers above all. */
#include "tests/behaviour/stress/stress.h"

int main(int argc, char **argv)
{
	const struct test *const tables[] = {thread_tests, oversubscription_tests, churn_tests, NULL};
	return peers_main(argc, argv, tables, list_names);
}
