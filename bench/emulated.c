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

/*
 * What hangs on a bus has a link to it, but soft devices may pass on the link of the network device beneath.  soft-RoCE alone
 * has a `parent`; soft-iWARP with such a link has nothing of its own but a description, which rdma-ndd may rewrite.
 */
static bool is_soft(const char *device)
{
	char path[PATH_MAX], described[NAME_SIZE], beneath[NAME_SIZE];

	read_line(device, "node_desc", described, sizeof(described));
	read_line(device, "parent", beneath, sizeof(beneath));
	return snprintf(path, sizeof(path), "%s/device", device) >= (int)sizeof(path) || access(path, F_OK) != 0 ||
	       *beneath || strcmp(described, "rxe") == 0 || strcmp(described, "Software iWARP stack") == 0;
}

/* An entry of a GID that is not in use cannot be read. */
static bool port_serves(const char *device, const char *port, const char *iface)
{
	char path[PATH_MAX], name[NAME_SIZE];
	bool found = false;

	if (snprintf(path, sizeof(path), "%s/ports/%s/gid_attrs/ndevs", device, port) >= (int)sizeof(path))
		return false;
	DIR *gids = opendir(path);
	for (struct dirent *entry; gids && !found && (entry = readdir(gids));) {
		read_line(path, entry->d_name, name, sizeof(name));
		found = strcmp(name, iface) == 0;
	}
	if (gids)
		closedir(gids);
	return found;
}

/* soft-RoCE names the network device beneath it, others those of their addresses. */
static bool serves(const char *device, const char *name, const char *iface)
{
	char path[PATH_MAX], beneath[NAME_SIZE];

	if (!*iface)
		return false;
	read_line(device, "parent", beneath, sizeof(beneath));
	bool found = strcmp(name, iface) == 0 || strcmp(beneath, iface) == 0;

	if (snprintf(path, sizeof(path), "%s/ports", device) >= (int)sizeof(path))
		return found;
	DIR *ports = opendir(path);
	for (struct dirent *entry; ports && !found && (entry = readdir(ports));)
		found = entry->d_name[0] != '.' && port_serves(device, entry->d_name, iface);
	if (ports)
		closedir(ports);
	return found;
}

/* Devices that serve an interface, or all of them. */
struct found {
	unsigned devices, soft;
	char name[NAME_MAX + 1]; /* a soft one */
};

static void note_device(struct found *found, const char *name, bool soft)
{
	found->devices++;
	found->soft += soft;
	if (soft)
		snprintf(found->name, sizeof(found->name), "%s", name);
}

bool emulated_device(const char *sysfs, const char *iface, char *name, size_t size)
{
	char path[PATH_MAX], device[2 * PATH_MAX];
	struct found all = {0}, serving = {0};

	snprintf(path, sizeof(path), "%s/class/infiniband", sysfs);
	DIR *devices = opendir(path);
	for (struct dirent *entry; devices && (entry = readdir(devices));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(device, sizeof(device), "%s/%s", path, entry->d_name);
		note_device(&all, entry->d_name, is_soft(device));
		if (serves(device, entry->d_name, iface))
			note_device(&serving, entry->d_name, is_soft(device));
	}
	if (devices)
		closedir(devices);
	const struct found *found = serving.devices ? &serving : &all;

	snprintf(name, size, "%s", found->name);
	return found->soft > 0 && found->soft == found->devices;
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

/* What was asked for may be an address, or not what opens: only where all devices are soft is it known before. */
void emulated_mark(const struct options *options)
{
	const char *provider = transport_provider(options->transport ? options->transport : getenv("PTL_TRANSPORT"));

	mark_processor();
	mark_network(provider ? provider : "", "");
}

void emulated_mark_interface(const char *transport_ofi, const char *iface)
{
	mark_network(transport_ofi, iface);
}
