/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations that are the same whatever addresses are: sockets' (ofi.c), published (ofi_published.c), names (ofi_shm.c). */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_address.h"
#include "transports/ofi/ofi_common.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_open.h"
#include "transports/ofi/ofi_provider.h"
#include "transports/ofi/ofi_receive.h"
#include "transports/ofi/ofi_rma.h"
#include "transports/ofi/ofi_send.h"
#include "transports/ofi/ofi_sockets.h"
#include "transports/tuning.h"

static void save_limit(const struct ofi *ofi)
{
	struct tuning tuning = {0};
	char name[TUNING_NAME_MAX];

	ofi_tuning_name(ofi, name);
	tuning_note_limit(&tuning, name, &ofi->base.limits);
	if (*ofi->settings->tuning_save)
		tuning_write(&tuning, ofi->settings->tuning_save);
}

void ofi_close(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);

	if (ofi->ep)
		save_limit(ofi);
	ofi_release(ofi);
	ofi_unclaim(ofi);
	free(ofi);
}

unsigned ofi_own_attempt(const struct transport *transport)
{
	return ((const struct ofi *)transport)->attempt;
}

int ofi_describe(const struct transport *transport, char *text, size_t size)
{
	const struct ofi *ofi = (const struct ofi *)transport;
	struct in_addr address = {htonl(ofi->nid)};

	if (!ofi->ep)
		return snprintf(text, size, "ofi at %s:%u, not open%s%s", inet_ntoa(address), ofi->port,
				ofi->refusals[0] ? "; refused: " : "", ofi->refusals);
	uint32_t version = ofi->library->version();
	const struct transport_limits *limits = &ofi->base.limits;
	char limit[64];

	tuning_describe_limit(limits, limit, sizeof(limit));
	return snprintf(
		text, size, "%s (libfabric %u.%u) at %s:%u%s, short %zu%s, inject %zu, rma %zu KiB x %zu, %s%s%s%s%s",
		ofi->info->fabric_attr->prov_name, FI_MAJOR(version), FI_MINOR(version), inet_ntoa(address), ofi->port,
		ofi->published ? ", address published" : "", limits->short_max, limit, ofi->inject_size,
		limits->rma_chunk >> 10, limits->rma_depth, limits->sleepable ? "sleeps" : "cannot sleep: polls",
		limits->local_registration ? ", local registration" : "",
		limits->pins ? ", registers whole descriptors" : "", ofi->refusals[0] ? "; refused: " : "",
		ofi->refusals);
}

unsigned ofi_unsent(const struct transport *transport)
{
	const struct ofi *ofi = (const struct ofi *)(const void *)transport;

	return ofi->outstanding ? ofi->outstanding : ofi_count_backlogs(ofi);
}

/*
 * The child's copies of these would keep the pid and port taken, look alive to probes, and keep the connections, after the
 * parent's death; and the last one tells of the parent's memory.
 */
void ofi_forked(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);

	close(ofi->name_fd);
	close(ofi->port_fd);
	close(ofi->probe_fd);
	close(ofi->mappings);
	ofi_close_sockets(ofi);
}

/*
 * These enter the kernel, where shm's, which are ofi_send() and so on too, do not but at first contact; cancel.h says what it costs.
 */
int ofi_send_uncancelled(struct transport *transport, transport_address to, const void *header, size_t header_length,
			 const struct iovec *payload, int count)
{
	UNCANCELLED;

	return ofi_send(transport, to, header, header_length, payload, count);
}

int ofi_send_placed_uncancelled(struct transport *transport, transport_address to, const void *header,
				size_t header_length, const struct iovec *payload, int count, void *context)
{
	UNCANCELLED;

	return ofi_send_placed(transport, to, header, header_length, payload, count, context);
}

int ofi_read_uncancelled(struct transport *transport, const struct transport_read *read)
{
	UNCANCELLED;

	return ofi_read(transport, read);
}

int ofi_poll_uncancelled(struct transport *transport, int budget)
{
	UNCANCELLED;

	return ofi_poll(transport, budget);
}
