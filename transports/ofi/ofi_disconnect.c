/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Breaking connections before their endpoint is closed.
 *
 * tcp;ofi_rxm of libfabric 1.17 dies in fi_close() of an endpoint whose connection still has something to send that no
 * operation of ours stands for, such as the answer to a peer's read while the peer has stopped reading: it cancels that
 * with an error without a context, which rxm follows (SIGSEGV).  Where the connection has broken before and the provider
 * has noticed, nothing of that kind is left.  So its sockets are shut down first, and the provider is polled until it has
 * let go of them.
 *
 * The sockets are those that the completion queue's descriptor watches, which is an epoll set of sets.
 */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_disconnect.h"
#include "transports/ofi/ofi_watch.h"

#define NESTED 3  /* sets within sets */
#define ROUNDS 64 /* of looking whether a socket is left */
#define POLLS  16 /* between two looks */

static bool connected_by_tcp(const struct ofi *ofi, int fd)
{
	struct sockaddr_in here = {0}, there = {0};
	socklen_t here_length = sizeof(here), there_length = sizeof(there), size = sizeof(int);
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
	       getsockname(fd, (struct sockaddr *)&here, &here_length) == 0 && here.sin_family == AF_INET &&
	       here.sin_addr.s_addr == htonl(ofi->nid) &&
	       getpeername(fd, (struct sockaddr *)&there, &there_length) == 0;
}

struct breaking {
	const struct ofi *ofi;
	unsigned depth, count;
};

static void break_connection(void *argument, const struct ofi_watched *watched)
{
	struct breaking *breaking = argument;

	if (connected_by_tcp(breaking->ofi, watched->fd)) {
		shutdown(watched->fd, SHUT_RDWR);
		breaking->count++;
	} else if (breaking->depth > 1) {
		breaking->depth--;
		ofi_for_each_watched(watched->fd, break_connection, breaking);
		breaking->depth++;
	}
}

/* Returns how many connections the set and those within it still watch. */
static unsigned break_connections(const struct ofi *ofi, int set)
{
	struct breaking breaking = {.ofi = ofi, .depth = NESTED};

	ofi_for_each_watched(set, break_connection, &breaking);
	return breaking.count;
}

/* What completes now is of no interest any more. */
static void let_provider_notice(struct ofi *ofi)
{
	for (int i = 0; i < POLLS; i++) {
		struct fi_cq_err_entry error = {0};

		if (ofi_read_queue(ofi, ofi->stash, ofi->stash_source, OFI_BATCH) == -FI_EAVAIL)
			fi_cq_readerr(ofi->cq, &error, 0);
	}
}

void ofi_disconnect(struct ofi *ofi)
{
	if (!ofi->ep || ofi->cq_fd < 0 || !strstr(ofi->profile.name, "tcp;ofi_rxm"))
		return;
	for (int i = 0; i < ROUNDS && break_connections(ofi, ofi->cq_fd) > 0; i++)
		let_provider_notice(ofi);
}
