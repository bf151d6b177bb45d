/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening the first provider that will do: fabric, domain, address vector, completion queue, endpoint, buffers. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/mapping.h"
#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_address.h"
#include "transports/ofi/ofi_disconnect.h"
#include "transports/ofi/ofi_forget.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_memory.h"
#include "transports/ofi/ofi_open.h"
#include "transports/ofi/ofi_provider.h"
#include "transports/ofi/ofi_receive.h"
#include "transports/ofi/ofi_rma.h"
#include "transports/ofi/ofi_send.h"
#include "transports/ofi/ofi_sleep.h"
#include "transports/ofi/ofi_sockets.h"
#include "transports/ofi/ofi_watch.h"
#include "transports/tuning.h"

static void set_short(struct ofi *ofi)
{
	struct transport_limits *limits = &ofi->base.limits;
	char name[TUNING_NAME_MAX];

	ofi_tuning_name(ofi, name);
	tuning_limit(ofi->tuning, ofi->settings->short_max, name, limits);
	limits->short_max = ofi_choose_short_max(ofi);
	limits->header_room = OFI_HEADER_ALLOWANCE;
	tuning_check(name, limits);
}

/*
 * bbr lets bytes go by a timer, at the rate that it takes for the connection's.  The time of a copy lets a stream stay below that
 * rate, as a rule; without it the timer is behind, bbr takes what is left for the network's rate, and the stream stays slow.
 */
static bool is_paced(void)
{
	char name[16] = ""; /* TCP_CA_NAME_MAX */
	socklen_t size = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return true;
	bool unknown = getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) != 0;

	close(fd);
	return unknown || strncmp(name, "bbr", strlen("bbr")) == 0;
}

static bool wants_placing(const struct ofi *ofi)
{
	const enum placing placing = ofi->settings->placed;

	return ofi->profile.places && placing != PLACING_NEVER && (placing == PLACING_ALWAYS || !is_paced());
}

/*
 * What fits a page is copied as fast as an operation is made that keeps it in its place.  Where addresses are published
 * there is no sever(), which ends what a given-up peer does not read.
 */
static size_t least_placed(const struct ofi *ofi)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!wants_placing(ofi) || ofi->published || ofi->base.limits.local_registration ||
	    ofi->info->tx_attr->iov_limit < 2)
		return 0;
	return (ofi->inject_size > page ? ofi->inject_size : page) + 1;
}

static void set_limits(struct ofi *ofi)
{
	const struct fi_info *info = ofi->info;
	size_t greatest = info->ep_attr->max_msg_size;

	ofi->inject_size = ofi->profile.never_inject ? 0 : info->tx_attr->inject_size;
	ofi->peer_sends = ofi->profile.peer_sends ? ofi->profile.peer_sends : OFI_PEER_SENDS;
	ofi->outstanding_max = (unsigned)(info->tx_attr->size > 1 ? info->tx_attr->size / 2 : 1);
	ofi->rma_greatest = greatest;
	ofi->rma_window = ofi->profile.rma_window;
	ofi->base.limits = (struct transport_limits){
		.inline_max = ofi->inject_size,
		.rma_chunk = ofi->profile.rma_chunk < greatest ? ofi->profile.rma_chunk : greatest,
		.rma_depth = ofi->profile.rma_depth,
		.stream_window = ofi->profile.stream_window,
		.stream_chunk = ofi->profile.stream_chunk < greatest ? ofi->profile.stream_chunk : greatest,
		.local_registration = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0,
		/* Wants memory that is mapped, or the local end registered: hardware translates its addresses. */
		.pins = (info->domain_attr->mr_mode & (FI_MR_LOCAL | FI_MR_ALLOCATED)) != 0,
		.verified_uid = false,
		.ping_pause = ofi->profile.ping_pause,
	};
	ofi->base.limits.placed_min = least_placed(ofi);
	set_short(ofi);
}

static int open_queue(struct ofi *ofi)
{
	struct fi_cq_attr attributes = {.size = ofi->info->tx_attr->size + ofi->info->rx_attr->size,
					.format = FI_CQ_FORMAT_DATA,
					.wait_obj = FI_WAIT_FD};
	int rc = fi_cq_open(ofi->domain, &attributes, &ofi->cq, NULL);

	if (rc == -FI_ENOSYS || rc == -FI_EOPNOTSUPP) { /* shm, rxd: no descriptor to sleep on */
		attributes.wait_obj = FI_WAIT_NONE;
		rc = fi_cq_open(ofi->domain, &attributes, &ofi->cq, NULL);
	}
	if (rc)
		return ofi_refuse_step(ofi, "fi_cq_open", rc);
	ofi_sleep_prepare(ofi);
	return 0;
}

static int open_domain(struct ofi *ofi)
{
	struct fi_av_attr attributes = {.type = FI_AV_TABLE};
	int rc = ofi->library->fabric(ofi->info->fabric_attr, &ofi->fabric, NULL);

	if (rc)
		return ofi_refuse_step(ofi, "fi_fabric", rc);
	if ((rc = fi_domain(ofi->fabric, ofi->info, &ofi->domain, NULL)) != 0)
		return ofi_refuse_step(ofi, "fi_domain", rc);
	if ((rc = fi_av_open(ofi->domain, &attributes, &ofi->av, NULL)) != 0)
		return ofi_refuse_step(ofi, "fi_av_open", rc);
	return open_queue(ofi);
}

/* A peer may send more than we do: its settings and its tuning file are its own. */
static int set_least_room(struct ofi *ofi)
{
	size_t least = ofi_greatest_short(ofi);

	return fi_setopt(&ofi->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least));
}

/* Receives always complete, sends only if asked to (FI_COMPLETION). */
static int bind_and_enable(struct ofi *ofi)
{
	int rc = fi_ep_bind(ofi->ep, &ofi->av->fid, 0);

	if (!rc)
		rc = fi_ep_bind(ofi->ep, &ofi->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
	if (!rc)
		rc = fi_ep_bind(ofi->ep, &ofi->cq->fid, FI_RECV);
	if (!rc && !ofi->profile.named)
		rc = set_least_room(ofi);
	if (!rc)
		rc = fi_enable(ofi->ep);
	/* shm keeps it in an object that fi_enable() makes; setting it before is a segmentation fault. */
	return rc || !ofi->profile.named ? rc : set_least_room(ofi);
}

static int try_endpoint(struct ofi *ofi)
{
	int rc = 0;

	if (ofi->take_name)
		rc = ofi->take_name(ofi);
	else if (!ofi->profile.addresses)
		((struct sockaddr_in *)ofi->info->src_addr)->sin_port = htons(ofi->published ? 0 : ofi->port);
	if (rc)
		return rc;
	if (ofi->profile.owns_udp_port)
		ofi_yield_port(ofi);
	rc = fi_endpoint(ofi->domain, ofi->info, &ofi->ep, NULL);
	if (rc)
		return rc;
	rc = bind_and_enable(ofi);
	if (rc) {
		fi_close(&ofi->ep->fid);
		ofi->ep = NULL;
	}
	return rc;
}

/* Another process may hold the TCP port of which we hold the UDP twin: then the next of our candidates. */
static int open_endpoint(struct ofi *ofi)
{
	for (;;) {
		int rc = try_endpoint(ofi);
		if (rc != -FI_EADDRINUSE)
			return rc ? ofi_refuse_step(ofi, "fi_endpoint", rc) : 0;
		report(LOG_INFO, "port %u at %s is in use, trying another", ofi->port, ofi_address_text(ofi));
		if (ofi_claim_next_port(ofi) != 0)
			return ofi_refuse(ofi, -EADDRINUSE, "all %d ports that pid %u may use at %s are taken",
					  OFI_CANDIDATES, ofi->pid, ofi_address_text(ofi));
	}
}

/*
 * The first query of a process opens the verbs devices, once and for good.  A child inherits the descriptors, but the
 * kernel serves only the process that opened them: what the child posts would never be done.
 */
static bool is_orphaned(const struct ofi *ofi)
{
	return strstr(ofi->profile.name, "verbs") && ofi->library->process != getpid();
}

static int open_profile(struct ofi *ofi, const struct ofi_profile *profile)
{
	ofi->profile = *profile;
	if (is_orphaned(ofi))
		return ofi_refuse(ofi, -EPERM, "its devices were opened before fork() by process %d, use exec()",
				  (int)ofi->library->process);
	if (ofi->published) /* our port is not the provider's */
		ofi->profile.owns_udp_port = ofi->profile.tcp_sockets = false;
	int rc = ofi_query(ofi);
	if (rc)
		return rc;
	set_limits(ofi);
	if ((rc = open_domain(ofi)) != 0 || (rc = open_endpoint(ofi)) != 0)
		return rc;
	if ((rc = ofi_slots_create(ofi)) != 0 || (rc = ofi_buffers_create(ofi)) != 0)
		return ofi_refuse(ofi, rc, "no memory for its buffers: %s%s", strerror(-rc), ofi_lock_hint(ofi, rc));
	ofi_dig_grave(ofi);
	ofi_watch_take(ofi);
	ofi_note_listener(ofi);
	return ofi->publish ? ofi->publish(ofi) : 0;
}

static int try_profiles(struct ofi *ofi)
{
	struct ofi_profile chosen[OFI_PROFILES];
	size_t count = ofi_choose_profiles(ofi->provider, chosen);
	ofi->profile = chosen[0];
	int rc = ofi_check_addresses(ofi);
	if (rc)
		return rc;
	int why = -ENODEV; /* of the first that is there, and fails */
	for (size_t i = 0; i < count; i++) {
		size_t said = strlen(ofi->refusals);

		rc = open_profile(ofi, &chosen[i]);
		if (!rc)
			return 0;
		ofi_release(ofi);
		if (why == -ENODEV)
			why = rc;
		else if (rc == -ENODEV) /* that others of the name are not there helps no peer */
			ofi->refusals[said] = '\0';
	}
	return why;
}

static int open_some_provider(struct ofi *ofi)
{
	char available[256];

	ofi->library = ofi_library_load();
	if (!ofi->library)
		return report_cause(-ELIBACC);
	int rc = try_profiles(ofi);
	if (!rc)
		return 0;
	if (rc != -ENODEV) /* not a wrong name: others would help as little, or are not what was meant */
		return report_error(rc, "interface %s (%s): no libfabric provider can be opened (%s)", ofi->iface,
				    ofi_address_text(ofi), ofi->refusals);
	ofi_list_providers(ofi, available, sizeof(available));
	return report_error(rc, "interface %s (%s): no libfabric provider can be opened (%s); available: %s",
			    ofi->iface, ofi_address_text(ofi), ofi->refusals, *available ? available : "none");
}

int ofi_open(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);
	struct ofi_signals signals;

	ofi_signals_save(&signals);
	int rc = open_some_provider(ofi);
	ofi_signals_restore(&signals);
	if (!rc && !transport->limits.pins)
		ofi->mappings = mapping_open();
	return rc;
}

static bool close_fid(struct fid *fid)
{
	return !fid || fi_close(fid) == 0;
}

void ofi_release(struct ofi *ofi)
{
	ofi_watch_give_back(ofi);
	ofi_disconnect(ofi);
	struct ofi_connections noted = ofi_note_connections(ofi);
	bool forgotten = close_fid(ofi->ep ? &ofi->ep->fid : NULL);
	ofi_rma_destroy(ofi);
	ofi_memory_destroy(ofi);
	ofi_slots_destroy(ofi);
	ofi_buffers_destroy(ofi);
	ofi_sleep_destroy(ofi);
	close_fid(ofi->cq ? &ofi->cq->fid : NULL);
	close_fid(ofi->av ? &ofi->av->fid : NULL);
	forgotten &= close_fid(ofi->domain ? &ofi->domain->fid : NULL);
	forgotten &= close_fid(ofi->fabric ? &ofi->fabric->fid : NULL);
	if (ofi->info)
		ofi->library->freeinfo(ofi->info);
	ofi_end_leftovers(ofi, &noted, forgotten);
	ofi->listener_fd = -1; /* was the endpoint's */
	ofi->ep = NULL;
	ofi->cq = NULL;
	ofi->av = NULL;
	ofi->domain = NULL;
	ofi->fabric = NULL;
	ofi->info = NULL;
	ofi->stashed = 0;
}
