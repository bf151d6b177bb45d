/* SPDX-License-Identifier: BSD-3-Clause */
/* Network devices by name, by address, and by choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/report.h"
#include "offload/interface.h"

static char name[IF_NAMESIZE];
static uint32_t nid;

static int forget(void **state)
{
	(void)state;
	strcpy(name, "untouched");
	nid = 0x5a5a5a5a;
	return 0;
}

static void assert_loopback(const char *wanted)
{
	assert_int_equal(interface_find(wanted, name, sizeof(name), &nid), 0);
	assert_string_equal(name, "lo");
	assert_int_equal(nid, 0x7f000001);
}

static void a_device_is_found_by_its_name(void **state)
{
	(void)state;
	assert_loopback("lo");
}

static void a_device_is_found_by_its_address(void **state)
{
	(void)state;
	assert_loopback("127.0.0.1");
}

static void unknown_names_and_addresses_are_refused_by_name(void **state)
{
	static const char *const unknown[] = {"no-such-dev", "",           "l",   "lo ",  "LO",
					      "127.1",       "127.0.0.10", "::1", "autos"};
	char expected[64];

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_int_equal(interface_find(unknown[i], name, sizeof(name), &nid), -ENODEV);
		snprintf(expected, sizeof(expected), "IPv4 address %s (ip address", unknown[i]);
		assert_non_null(strstr(report_last_error(), expected));
		assert_string_equal(name, "untouched");
		assert_int_equal(nid, 0x5a5a5a5a);
	}
}

/* The address of the first device that is up and is, or is not, a loopback; 0 if there is none. */
static uint32_t first_address(bool loopback)
{
	struct ifaddrs *devices;
	uint32_t address = 0;

	assert_int_equal(getifaddrs(&devices), 0);
	for (struct ifaddrs *device = devices; device && address == 0; device = device->ifa_next)
		if (device->ifa_addr && device->ifa_addr->sa_family == AF_INET && device->ifa_flags & IFF_UP &&
		    loopback == !!(device->ifa_flags & IFF_LOOPBACK))
			address = ntohl(((struct sockaddr_in *)(void *)device->ifa_addr)->sin_addr.s_addr);
	freeifaddrs(devices);
	return address;
}

static void auto_is_a_device_that_others_can_reach_if_there_is_one(void **state)
{
	uint32_t reachable = first_address(false);

	(void)state;
	assert_int_equal(interface_find("auto", name, sizeof(name), &nid), 0);
	assert_int_equal(nid, reachable ? reachable : first_address(true));
	assert_int_not_equal(if_nametoindex(name), 0);
}

static void a_name_is_cut_to_the_room_there_is(void **state)
{
	(void)state;
	assert_int_equal(interface_find("lo", name, 2, &nid), 0);
	assert_string_equal(name, "l");
}

#define TEST(test) cmocka_unit_test_setup(test, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_device_is_found_by_its_name),
		TEST(a_device_is_found_by_its_address),
		TEST(unknown_names_and_addresses_are_refused_by_name),
		TEST(auto_is_a_device_that_others_can_reach_if_there_is_one),
		TEST(a_name_is_cut_to_the_room_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
