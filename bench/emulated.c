/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulated.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "output.h"

#define NAME_SIZE 128

/* First line of a file of the device; "" if there is none. */
static void read_line(const char *device, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];
	FILE *file = snprintf(path, sizeof(path), "%s/%s", device, name) < (int)sizeof(path) ? fopen(path, "re") : NULL;

	if (!file || !fgets(text, (int)size, file))
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* What hangs on a bus has a link to it; soft-iWARP may pass on the link of the network device beneath. */
static bool is_soft(const char *device)
{
	char path[PATH_MAX], described[NAME_SIZE];

	read_line(device, "node_desc", described, sizeof(described));
	return snprintf(path, sizeof(path), "%s/device", device) >= (int)sizeof(path) || access(path, F_OK) != 0 ||
	       strcmp(described, "rxe") == 0 || strcmp(described, "Software iWARP stack") == 0;
}

/* soft-RoCE names the network device beneath it, others that of an address. */
static bool serves(const char *device, const char *iface)
{
	char beneath[NAME_SIZE], address[NAME_SIZE];

	read_line(device, "parent", beneath, sizeof(beneath));
	read_line(device, "ports/1/gid_attrs/ndevs/0", address, sizeof(address));
	return strcmp(beneath, iface) == 0 || strcmp(address, iface) == 0;
}

bool emulated_device(const char *sysfs, const char *iface, char *name, size_t size)
{
	char path[PATH_MAX], device[2 * PATH_MAX];
	bool found = false, served = false;

	snprintf(path, sizeof(path), "%s/class/infiniband", sysfs);
	DIR *devices = opendir(path);
	for (struct dirent *entry; devices && !served && (entry = readdir(devices));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(device, sizeof(device), "%s/%s", path, entry->d_name);
		bool soft = is_soft(device);
		served = serves(device, iface);
		if (soft && (served || !found))
			snprintf(name, size, "%s", entry->d_name);
		found = served ? soft : found || soft;
	}
	if (devices)
		closedir(devices);
	return found;
}

bool emulated_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned leaf, part[3];

	__cpuid(0x40000000, leaf, part[0], part[1], part[2]);
	return memcmp(part, "TCGTCGTCGTCG", sizeof(part)) == 0;
#else
	return false;
#endif
}

static void mark_processor(void)
{
	static bool marked;

	if (!marked && emulated_processor())
		output_emulated("processor", "QEMU TCG");
	marked = true;
}

static void mark_network(const char *provider, const char *iface)
{
	static bool marked;
	char device[NAME_SIZE];

	if (marked || strncmp(provider, "verbs", 5) != 0 || !emulated_device("/sys", iface, device, sizeof(device)))
		return;
	output_emulated("network", device);
	marked = true;
}

void emulated_mark(const struct options *options)
{
	const char *provider = transport_provider(options->transport ? options->transport : getenv("PTL_TRANSPORT"));
	const char *iface = options->iface ? options->iface : getenv("PTL_IFACE");

	mark_processor();
	mark_network(provider ? provider : "", iface ? iface : "");
}

void emulated_mark_interface(const char *transport_ofi, const char *iface)
{
	mark_network(transport_ofi, iface);
}
