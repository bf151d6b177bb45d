/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is here: versions, machine, limits, devices, settings, what an interface is made of, and what the library would
 * make of every libfabric provider.  Whatever is missing is said, not an error; nothing needs root.
 */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "devices.h"
#include "fail.h"
#include "machine.h"
#include "opening.h"
#include "output.h"
#include "session.h"

#define PROVIDERS_MAX 24

/* Shows what `write` writes. */
static void print_block(const char *name, void (*write)(FILE *))
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		fail("no memory for %s", name);
	write(stream);
	fclose(stream);
	output_block(name, text);
	free(text);
}

static const char *limit_text(rlim_t limit, char *text, size_t size)
{
	if (limit == RLIM_INFINITY)
		return "unlimited";
	snprintf(text, size, "%llu", (unsigned long long)limit);
	return text;
}

static void limit_fact(const char *name, int resource, const char *what)
{
	struct rlimit limit;
	char soft[24], hard[24];

	if (getrlimit(resource, &limit) == 0)
		output_fact(name, "%s (hard limit %s), %s", limit_text(limit.rlim_cur, soft, sizeof(soft)),
			    limit_text(limit.rlim_max, hard, sizeof(hard)), what);
}

static void file_fact(const char *name, const char *path, const char *what)
{
	char text[128];

	devices_read(path, text, sizeof(text));
	output_fact(name, "%s%s", *text ? text : "not there", what);
}

static void limits_facts(void)
{
	output_fact("user", "%u, %s", geteuid(), geteuid() ? "not root" : "root");
	limit_fact("RLIMIT_MEMLOCK", RLIMIT_MEMLOCK, "bytes that verbs may register");
	limit_fact("RLIMIT_NOFILE", RLIMIT_NOFILE, "descriptors; a peer of the same node takes two");
	file_fact("ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope",
		  "; from 1 on siblings may not read each other's memory: node then copies long messages twice");
	file_fact("TCP congestion control", "/proc/sys/net/ipv4/tcp_congestion_control", "");
}

/* What follows "PROVIDER (libfabric 1.17) at ADDRESS:PORT, " of a description. */
static const char *properties(const char *description)
{
	const char *comma = strchr(description, ',');

	return comma ? comma + 2 : description;
}

static void print_provider(FILE *out, const char *provider, struct opening *opening)
{
	char line[512];

	opening_end(opening);
	if (opening->open && info_line(opening->text, "transport ofi", line, sizeof(line))) {
		fprintf(out, "%-16s opens: %s\n", provider, properties(line));
		return;
	}
	char *available = strstr(opening->text, "; available: ");
	if (available)
		*available = '\0';
	fprintf(out, "%-16s no: %.*s\n", provider, (int)strcspn(opening->text, "\n"), opening->text);
}

/* Words of `names` become strings of their own; those without datagrams are shown at once. */
static size_t split_names(FILE *out, char *names, char *providers[PROVIDERS_MAX])
{
	size_t count = 0;
	char *rest = NULL;

	for (char *name = strtok_r(names, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
		if (*name == '-')
			fprintf(out, "%-16s no: has no FI_EP_RDM of its own, only beneath ofi_rxm or ofi_rxd\n",
				name + 1);
		else if (count < PROVIDERS_MAX)
			providers[count++] = name;
	}
	return count;
}

static const struct options *info_options;

/* All are tried at once: opening is mostly loading and waiting. */
static void write_providers(FILE *out)
{
	static struct opening listing, openings[PROVIDERS_MAX];
	char *providers[PROVIDERS_MAX], transport[128];

	opening_start_listing(&listing);
	opening_end(&listing);
	if (!listing.open) {
		fprintf(out, "none: %s\n", listing.text);
		return;
	}
	size_t count = split_names(out, listing.text, providers);
	for (size_t i = 0; i < count; i++) {
		snprintf(transport, sizeof(transport), "ofi:%s", providers[i]);
		opening_start(&openings[i], info_options, transport);
	}
	for (size_t i = 0; i < count; i++)
		print_provider(out, providers[i], &openings[i]);
}

static void write_interface(FILE *out)
{
	static struct opening opening;

	opening_start(&opening, info_options, NULL);
	opening_end(&opening);
	fprintf(out, "%s%s", opening.open ? "" : "does not open: ", opening.text);
}

int info(const struct options *options)
{
	info_options = options;
	machine_facts();
	limits_facts();
	print_block("interface", write_interface);
	print_block("libfabric providers", write_providers);
	print_block("network devices", devices_network);
	print_block("RDMA devices", devices_rdma);
	print_block("settings", PtlNicSettingsPrint);
	return 0;
}
