/* SPDX-License-Identifier: BSD-3-Clause */
/* Which RDMA devices are software, by what /sys says of them on machines that are not at hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/emulated.h"

static char root[] = "/tmp/emulated-XXXXXX";

static void record(const char *device, const char *name, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/%s", root, device, name);
	for (char *at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "%s\n", text);
	assert_int_equal(fclose(file), 0);
}

static void soft_roce(const char *device, const char *iface)
{
	record(device, "node_desc", "rxe");
	record(device, "parent", iface);
	record(device, "ports/1/gid_attrs/ndevs/0", iface);
}

/* Of some kernels: the link is that of the network device beneath. */
static void soft_iwarp(const char *device, const char *iface)
{
	record(device, "node_desc", "Software iWARP stack");
	record(device, "device/vendor", "0x1af4");
	record(device, "ports/1/gid_attrs/ndevs/0", iface);
}

static void adapter(const char *device, const char *iface)
{
	record(device, "node_desc", "node1 mlx5_0");
	record(device, "device/vendor", "0x15b3");
	record(device, "ports/1/gid_attrs/ndevs/0", iface);
}

static int make_root(void **state)
{
	(void)state;
	memset(root + sizeof(root) - 7, 'X', 6);
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void assert_soft(const char *iface, const char *device)
{
	char name[64];

	assert_true(emulated_device(root, iface, name, sizeof(name)));
	assert_string_equal(name, device);
}

static void assert_not_soft(const char *iface)
{
	char name[64];

	assert_false(emulated_device(root, iface, name, sizeof(name)));
}

static void there_may_be_no_device(void **state)
{
	(void)state;
	assert_not_soft("eth0");
}

static void adapters_are_not_soft(void **state)
{
	(void)state;
	adapter("mlx5_0", "eth0");
	assert_not_soft("eth0");
	assert_not_soft("lo");
}

static void soft_devices_are(void **state)
{
	(void)state;
	soft_roce("rxe0", "dummy0");
	assert_soft("dummy0", "rxe0");
	assert_soft("", "rxe0");
}

static void a_link_does_not_hide_soft_iwarp(void **state)
{
	(void)state;
	soft_iwarp("siw0", "eth0");
	assert_soft("eth0", "siw0");
}

static void the_device_of_the_interface_counts(void **state)
{
	(void)state;
	adapter("mlx5_0", "eth0");
	soft_roce("rxe0", "eth1");
	soft_roce("rxe1", "eth2");
	assert_not_soft("eth0");
	assert_soft("eth1", "rxe0");
	assert_soft("eth2", "rxe1");
}

/* Nothing tells which of both an address or a bond is served by. */
static void an_adapter_beside_a_soft_device_is_not_marked(void **state)
{
	(void)state;
	adapter("mlx5_0", "eth0");
	soft_roce("rxe0", "eth1");
	assert_not_soft("");
	assert_not_soft("192.168.7.1");
	assert_not_soft("mlx5_0");
	assert_not_soft("bond0");
	assert_soft("rxe0", "rxe0");
	assert_soft("eth1", "rxe0");
}

static void an_interface_of_both_is_not_marked(void **state)
{
	(void)state;
	adapter("mlx5_0", "eth0");
	soft_roce("rxe0", "eth0");
	assert_not_soft("eth0");
}

static void all_ports_and_addresses_count(void **state)
{
	(void)state;
	adapter("mlx5_0", "eth0");
	soft_iwarp("siw0", "eth1");
	record("siw0", "ports/1/gid_attrs/ndevs/3", "eth1.7");
	record("siw0", "ports/2/gid_attrs/ndevs/0", "eth2");
	assert_soft("eth1.7", "siw0");
	assert_soft("eth2", "siw0");
}

static void neither_a_link_nor_a_description_hides_soft_roce(void **state)
{
	(void)state;
	soft_roce("rxe0", "eth0");
	record("rxe0", "node_desc", "node1 rxe0");
	record("rxe0", "device/vendor", "0x15b3");
	assert_soft("eth0", "rxe0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(there_may_be_no_device),
		TEST(adapters_are_not_soft),
		TEST(soft_devices_are),
		TEST(a_link_does_not_hide_soft_iwarp),
		TEST(the_device_of_the_interface_counts),
		TEST(an_adapter_beside_a_soft_device_is_not_marked),
		TEST(an_interface_of_both_is_not_marked),
		TEST(all_ports_and_addresses_count),
		TEST(neither_a_link_nor_a_description_hides_soft_roce),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
