/* SPDX-License-Identifier: BSD-3-Clause */
/* Which providers come into question, what we know of them that they do not tell, and what libfabric offers of them. */
#include <arpa/inet.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_address.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_memory.h"
#include "transports/ofi/ofi_provider.h"

/* Nothing is written to a peer's memory: the side that data go to reads them (offload/transfer.c). */
#define NETWORK_CAPS (FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ | FI_MULTI_RECV | FI_SOURCE)
#define KIB          1024u

/*
 * In the order in which they are tried.  Sizes measured on loopback, windows of 16 puts beside raw libfabric in the same
 * run: how fast TCP goes depends on its congestion control.  With bbr, 384 KiB in flight are 3.3 or 7 GB/s as it
 * pleases, 2 MiB are 5 to 6 GB/s, as raw sends of the same size; with cubic 7 to 9 GB/s.  A message alone is fastest
 * in pieces of 512 KiB.  64 KiB of payload still travel with their header on net, which has no rendezvous of its own;
 * rxm's begins above 16384 bytes.
 */
static const struct ofi_profile profiles[OFI_PROFILES] = {
	/*
	 * rxe starts its timer for lost packets anew with whatever is acknowledged (0.5 s, as rdma_cm sets it): PINGs and
	 * PONGs once a second from both sides kept a read whose repetition was lost as well from being repeated, for ever.
	 */
	{.alias = "verbs",
	 .name = "verbs;ofi_rxm",
	 .best = true,
	 .short_max = 16 * KIB,
	 .short_greatest = 16 * KIB,
	 .rma_chunk = 1024 * KIB,
	 .rma_depth = 4,
	 .ping_pause = 5000000000u},
	{.alias = "tcp",
	 .name = "tcp;ofi_rxm",
	 .best = true,
	 .tcp_sockets = true,
	 .renames = true,
	 .short_max = 16 * KIB,
	 .short_greatest = 16 * KIB,
	 .rma_chunk = 512 * KIB,
	 .rma_depth = 4,
	 .rma_window = 2048 * KIB,
	 .stream_window = 16384 * KIB,
	 .stream_chunk = 1024 * KIB},
	{.alias = "net",
	 .name = "net",
	 .tcp_sockets = true,
	 .renames = true,
	 .places = true,
	 .short_max = 64 * KIB + OFI_HEADER_ALLOWANCE,
	 .short_greatest = 128 * KIB,
	 .rma_chunk = 512 * KIB,
	 .rma_depth = 4,
	 .rma_window = 2048 * KIB,
	 .stream_window = 16384 * KIB,
	 .stream_chunk = 1024 * KIB},
	/* From libfabric 1.18 on, what was net is tcp itself. */
	{.alias = "net",
	 .name = "tcp",
	 .protocol = FI_PROTO_XNET,
	 .tcp_sockets = true,
	 .places = true,
	 .short_max = 64 * KIB + OFI_HEADER_ALLOWANCE,
	 .short_greatest = 128 * KIB,
	 .rma_chunk = 512 * KIB,
	 .rma_depth = 4,
	 .rma_window = 2048 * KIB,
	 .stream_window = 16384 * KIB,
	 .stream_chunk = 1024 * KIB},
	/*
	 * rxd starts a new message although older ones wait for its window (128 packets to one peer that have yet to be
	 * acknowledged) behind a read, and it answers a send for which it has no room left (1024 messages) with success
	 * and forgets it.  So neither may ever be full: at most 32 messages, all with a completion, which rxd gives when
	 * the peer has acknowledged them; 32 reads, and the answers to as many of the peer's, 32 packets again.
	 * FI_OFI_RXD_MAX_UNACKED below 97 would bring the disorder back.
	 */
	{.alias = "udp",
	 .name = "udp;ofi_rxd",
	 .owns_udp_port = true,
	 .false_source = true,
	 .never_inject = true,
	 .peer_sends = 32,
	 .short_max = 1200,
	 .short_greatest = 1200,
	 .rma_chunk = 16 * KIB,
	 .rma_depth = 2,
	 .rma_window = 32 * KIB,
	 .rma_least = 1 * KIB},
	/*
	 * These two were never run; what follows is from fi_efa(7), fi_cxi(7) and their sources in libfabric 2.1.  Their
	 * addresses are published (ofi_published.c), which tests try with other providers; the rest of the transport
	 * should do, since it branches on what fi_getinfo() answers.
	 *
	 * efa (reliable datagrams over SRD).  Known: addresses are 32 bytes of GID, queue pair and key, chosen when the
	 * endpoint is enabled; order of messages but not of messages behind writes; registrations VIRT_ADDR, ALLOCATED,
	 * PROV_KEY, and LOCAL if offered; no inject in 1.17; every operation completes whether asked to or not; no wait
	 * object, so the NIC thread polls.  Assumed: messages up to 64 KiB are sent eagerly, of which 8 KiB are one
	 * packet; closing a registration fails what comes late, but not what is being read.  FI_EFA_ENABLE_SHM_TRANSFER
	 * (default 1) would take shm within a node, with all its faults: to be 0.
	 */
	{.alias = "efa",
	 .name = "efa",
	 .addresses = FI_ADDR_EFA,
	 .short_max = 8 * KIB,
	 .short_greatest = 64 * KIB,
	 .rma_chunk = 1024 * KIB,
	 .rma_depth = 4},
	/*
	 * cxi (Slingshot).  Known: addresses are NIC, port and virtual network, the ports 0 to 510 of a NIC being
	 * assigned when the endpoint is enabled; registrations ENDPOINT, ALLOCATED, with PROV_KEY 8 bytes of key,
	 * without it 4 (half of what random_key() likes to draw); remote addresses count from 0; a wait descriptor that
	 * wakes also without a completion; the network's key comes from the job's launcher (SLINGSHOT_VNIS).  Assumed:
	 * the rendezvous above 2048 bytes (FI_CXI_RDZV_THRESHOLD) does not report a dead peer, as everywhere else.
	 */
	{.alias = "cxi",
	 .name = "cxi",
	 .addresses = FI_ADDR_CXI,
	 .short_max = 2 * KIB,
	 .short_greatest = 2 * KIB,
	 .rma_chunk = 1024 * KIB,
	 .rma_depth = 4},
	/* Never the best: see ofi_shm.c.  Above 4096 bytes it has a rendezvous that does not notice a peer's death. */
	{.alias = "shm",
	 .name = "shm",
	 .named = true,
	 .scarce_receives = true,
	 .lone_rma = true,
	 .short_max = 4 * KIB,
	 .short_greatest = 4 * KIB,
	 .rma_chunk = 256 * KIB,
	 .rma_depth = 1},
};

/* For a provider that is only known by its full name. */
static const struct ofi_profile generic = {
	.short_max = 4 * KIB, .short_greatest = 4 * KIB, .rma_chunk = 256 * KIB, .rma_depth = 4};

static bool is_wanted(const char *provider, const struct ofi_profile *profile)
{
	if (provider[0] == 0)
		return profile->best;
	return strcasecmp(provider, profile->alias) == 0 || strcasecmp(provider, profile->name) == 0;
}

size_t ofi_choose_profiles(const char *provider, struct ofi_profile chosen[OFI_PROFILES])
{
	size_t count = 0;

	for (size_t i = 0; i < OFI_PROFILES; i++)
		if (is_wanted(provider, &profiles[i]))
			chosen[count++] = profiles[i];
	if (count == 0) {
		chosen[count] = generic;
		chosen[count++].name = provider;
	}
	return count;
}

/* Names follow from (nid, pid) whatever is wished. */
bool ofi_is_published(const char *provider, const struct settings *settings)
{
	struct ofi_profile chosen[OFI_PROFILES];

	ofi_choose_profiles(provider, chosen);
	return chosen[0].addresses || (settings->addresses == ADDRESSES_PUBLISHED && !chosen[0].named);
}

int ofi_refuse(struct ofi *ofi, int error, const char *format, ...)
{
	size_t used = strlen(ofi->refusals);
	char why[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	snprintf(ofi->refusals + used, sizeof(ofi->refusals) - used, "%s%s: %s", used ? "; " : "", ofi->profile.name,
		 why);
	return error;
}

int ofi_refuse_step(struct ofi *ofi, const char *step, int code)
{
	int rc = report_cause(ofi_errno(code));

	return ofi_refuse(ofi, rc, "%s fails: %s%s%s", step, ofi->library->strerror(-code), ofi_lock_hint(ofi, code),
			  report_descriptor_hint(rc));
}

/* Where addresses are sockets' they follow from (nid, pid) without any exchange, unless a setting wants it otherwise. */
int ofi_check_addresses(struct ofi *ofi)
{
	if (ofi->book || !ofi->published)
		return 0;
	return ofi_refuse(
		ofi, -ENOTSUP,
		"its addresses have to be published%s, so it takes a job started by a launcher that speaks PMIx "
		"(mpirun, srun --mpi=pmix); otherwise use tcp over the same network",
		ofi->profile.addresses ? "" : " (PTL_ADDRESSES)");
}

/* What we ask for.  Modes and registration modes listed are those the code honours; only what comes back counts. */
static struct fi_info *make_hints(const struct ofi *ofi)
{
	struct fi_info *hints = ofi->library->dupinfo(NULL);
	if (!hints)
		return NULL;

	hints->caps = NETWORK_CAPS | (ofi->profile.scarce_receives ? FI_TAGGED : 0);
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = ofi->profile.named       ? FI_ADDR_STR
			     : ofi->profile.addresses ? ofi->profile.addresses
						      : FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_RDM;
	hints->ep_attr->protocol = ofi->profile.protocol;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	/* Automatic progress makes rxm lock everything and start a thread for its listener. */
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	/* Of messages; and no other, because shm gives up reading a peer's memory directly for any order of reads. */
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->fabric_attr->prov_name = strdup(ofi->profile.name);
	return hints;
}

static int query(struct ofi *ofi)
{
	struct in_addr address = {htonl(ofi->nid)};
	struct fi_info *hints = make_hints(ofi), *list = NULL;
	char node[INET_ADDRSTRLEN], service[8];
	bool ours = !ofi->profile.addresses; /* to choose */

	if (!hints)
		return -ENOMEM;
	if (ofi->profile.named)
		snprintf(node, sizeof(node), "%08x", ofi->nid);
	else
		inet_ntop(AF_INET, &address, node, sizeof(node));
	snprintf(service, sizeof(service), "%u", ofi->port);
	int rc = ofi->library->getinfo(OFI_API, ours ? node : NULL, ours ? service : NULL, ours ? FI_SOURCE : 0, hints,
				       &list);
	ofi->library->freeinfo(hints);
	if (rc)
		return rc;
	/* Naming tcp also yields layers over tcp. */
	for (struct fi_info *info = list; info && !ofi->info; info = info->next)
		if (strcasecmp(info->fabric_attr->prov_name, ofi->profile.name) == 0)
			ofi->info = ofi->library->dupinfo(info);
	ofi->library->freeinfo(list);
	return ofi->info ? 0 : -FI_ENODATA;
}

int ofi_query(struct ofi *ofi)
{
	int rc = query(ofi);

	if (rc == -FI_ENODATA)
		return ofi_refuse(ofi, -ENODEV, "not available at %s", ofi_address_text(ofi));
	return rc ? ofi_refuse_step(ofi, "fi_getinfo", rc) : 0;
}

/* rxm's eager limit is a setting of its own, on which all processes of a job have to agree. */
static size_t profile_greatest(const struct ofi *ofi)
{
	const char *text = strstr(ofi->profile.name, "ofi_rxm") ? getenv("FI_OFI_RXM_BUFFER_SIZE") : NULL;
	size_t size = text ? strtoul(text, NULL, 10) : 0;

	if (size == 0)
		return ofi->profile.short_greatest;
	return size < OFI_BUFFER_BYTES / 2 ? size : OFI_BUFFER_BYTES / 2;
}

size_t ofi_greatest_short(const struct ofi *ofi)
{
	size_t greatest = profile_greatest(ofi), message = ofi->info->ep_attr->max_msg_size;

	return greatest < message ? greatest : message;
}

size_t ofi_choose_short_max(const struct ofi *ofi)
{
	size_t greatest = ofi_greatest_short(ofi);
	size_t wanted = ofi->profile.short_max;
	uint64_t payload = ofi->base.limits.payload_max;

	/* The setting raises it if need be; making it smaller is the engine's business, whose notices need room too. */
	if (payload != SETTING_AUTO && payload > wanted - OFI_HEADER_ALLOWANCE)
		wanted = payload < greatest ? payload + OFI_HEADER_ALLOWANCE : greatest;
	return wanted < greatest ? wanted : greatest;
}

void ofi_tuning_name(const struct ofi *ofi, char name[TUNING_NAME_MAX])
{
	snprintf(name, TUNING_NAME_MAX, "ofi:%.58s", ofi->profile.alias ? ofi->profile.alias : ofi->profile.name);
}

/* Names of the providers that could serve us, for a user that asked for one that cannot. */
void ofi_list_providers(const struct ofi *ofi, char *text, size_t size)
{
	struct fi_info *hints = ofi->library->dupinfo(NULL), *list = NULL;
	size_t used = 0;

	text[0] = 0;
	if (!hints)
		return;
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	if (ofi->library->getinfo(OFI_API, NULL, NULL, 0, hints, &list) == 0)
		for (struct fi_info *info = list; info && used < size; info = info->next)
			if (!strstr(text, info->fabric_attr->prov_name))
				used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
							 info->fabric_attr->prov_name);
	ofi->library->freeinfo(hints);
	if (list)
		ofi->library->freeinfo(list);
}

static bool have_device(const char *devices, const char *beginning)
{
	DIR *directory = opendir(devices);
	bool found = false;

	if (!directory)
		return false;
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
		found |= entry->d_name[0] != '.' && strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
	closedir(directory);
	return found;
}

/*
 * What only the environment tells libfabric, before any code of the process has asked it for anything.  Children inherit
 * it, and an MPI in this process or theirs is told the same, hence only where there is a device that this interface may
 * use, and never over the user's value.
 *
 * Over verbs libfabric keeps what was registered after it was closed, in case the same address comes again: its key
 * would go on working, and whether the pages are still the same is guessed from calls of munmap().
 *
 * Soft-RoCE's completion queues are too small for rxm's idea of a job's size.  And on queue pairs without a common
 * receive queue, rxm 1.17 posts the buffer of a message that it finds while it closes a connection to the connection
 * just closed: a segmentation fault in fi_close(), and when a peer dies with messages under way.
 */
void ofi_prepare_verbs(const char *provider, const char *devices)
{
	bool wanted = provider[0] == 0 || strncasecmp(provider, "verbs", strlen("verbs")) == 0; /* layered or not */

	if (!wanted || !have_device(devices, ""))
		return;
	setenv("FI_MR_CACHE_MAX_COUNT", "0", 0);
	setenv("FI_OFI_RXM_USE_SRX", "1", 0);
	if (have_device(devices, "rxe"))
		setenv("FI_UNIVERSE_SIZE", "127", 0);
}
