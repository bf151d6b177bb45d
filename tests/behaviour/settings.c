/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings from the environment as a program meets them. */
#include "tests/behaviour/behaviour.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

/* --- PTL_OPEN --- */

static bool is_listening(int fd)
{
	socklen_t size = sizeof(int);
	int yes = 0;
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes;
}

/* Of this process, whose processes talk by no other TCP. */
static unsigned listening_sockets(void)
{
	unsigned count = 0;
	DIR *directory = opendir("/proc/self/fd");
	CHECK(directory != NULL);
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
		count += entry->d_name[0] != '.' && is_listening(atoi(entry->d_name));
	closedir(directory);
	return count;
}

static void when_an_interface_is_open_so_is_its_network(void)
{
	if (!over_transport("ofi:tcp") && !over_transport("ofi:net"))
		skip_test("how others are reached is not to be seen");
	unsigned before = listening_sockets();
	open_interface(PTL_PID_ANY);
	CHECK_EQUAL(listening_sockets(), before + 1);
}

static void a_network_that_cannot_be_opened_is_told_by_PtlNIInit(void)
{
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	for (int i = 0; i < 3; i++)
		CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_IFACE_INVALID);
	if (!strstr(PtlNicErrorText(), "pigeon"))
		FAIL("\"%s\" does not name the provider", PtlNicErrorText());
	CHECK_EQUAL(PtlNIInitialized(PTL_IFACE_DEFAULT), 0);
}

static void a_network_that_opens_in_the_background_is_told_by_PtlNicReady(void)
{
	int interfaces;
	CHECK_OK(PtlInit(&interfaces));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK_RC(PtlNicReady(ni), PTL_FAIL);
	if (!strstr(PtlNicErrorText(), "pigeon"))
		FAIL("\"%s\" does not name the provider", PtlNicErrorText());
	put_to_myself();
}

/* --- PTL_SHORT_MAX --- */

#define PAYLOAD      10000
#define PAYLOAD_TEXT "10000"

/* The header is not part of it.  A message of transport self has no room for so much. */
static void a_payload_of_PTL_SHORT_MAX_is_short(void)
{
	char *bytes = memory(PAYLOAD);
	ptl_nic_counters_t counters;
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlNicReady(ni));
	open_window(BITS, md_over(bytes, PAYLOAD, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	open_door();
	exchange_ids();
	if (am_initiator()) {
		ping(target_id());
		ptl_handle_eq_t eq = new_eq(8);
		ptl_handle_md_t md = bind_md(md_over(bytes, PAYLOAD, PTL_MD_EVENT_START_DISABLE, eq));
		CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		take(eq, PTL_EVENT_SEND_END);
		take(eq, PTL_EVENT_ACK);
	}
	barrier();
	CHECK_OK(PtlNicCounters(ni, &counters));
	CHECK_EQUAL(counters.long_messages, 0);
	barrier();
}

#define OPENING(test, settings)                                                                                        \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1, .traits = TRAIT_BARE | TRAIT_OFI, .environment = settings  \
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
	NONSENSE("PTL_OPEN", "later"),
	OPENING(when_an_interface_is_open_so_is_its_network, "PTL_OPEN=auto"),
	OPENING(a_network_that_cannot_be_opened_is_told_by_PtlNIInit, "PTL_TRANSPORT=ofi:pigeon PTL_LOG=off"),
	OPENING(a_network_that_opens_in_the_background_is_told_by_PtlNicReady,
		"PTL_TRANSPORT=ofi:pigeon PTL_OPEN=background PTL_LOG=off"),
	{.name = "a_payload_of_PTL_SHORT_MAX_is_short",
	 .run = a_payload_of_PTL_SHORT_MAX_is_short,
	 .processes = 2,
	 .traits = TRAIT_NETWORK,
	 .environment = "PTL_SHORT_MAX=" PAYLOAD_TEXT},
	{0},
};
