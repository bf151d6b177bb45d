/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a peer still there?  No provider tells, unless a read or write is outstanding.  But every process of ours holds a
 * UDP socket on its port until it dies, and then the kernel of its host answers a datagram with "port unreachable".
 * That needs none of the peer's CPU: a stopped process is not taken for a dead one.
 *
 * One unconnected socket serves all peers: with IP_RECVERR the kernel queues each refusal together with the address
 * and the payload of the datagram that caused it.  The payload is a number that no other probe had, so that an old
 * refusal is never held against a process that started later on the same port, nor against an address that was
 * forgotten meanwhile and came anew.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h> /* the kernel's header leaves it to us */

#include <linux/errqueue.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_probe.h"
#include "transports/ofi/ofi_table.h"

static bool have_probe_socket(struct ofi *ofi)
{
	int yes = 1;

	if (ofi->probe_fd < 0) {
		ofi->probe_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (ofi->probe_fd >= 0)
			setsockopt(ofi->probe_fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof(yes));
	}
	return ofi->probe_fd >= 0;
}

static bool says_refused(struct msghdr *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		struct sock_extended_err error;
		if (part->cmsg_level != IPPROTO_IP || part->cmsg_type != IP_RECVERR)
			continue;
		memcpy(&error, CMSG_DATA(part), sizeof(error));
		if (error.ee_errno == ECONNREFUSED && error.ee_origin == SO_EE_ORIGIN_ICMP)
			return true;
	}
	return false;
}

static void note_refusal(struct ofi_address *peer, uint32_t number)
{
	if (peer && number == peer->probe && !peer->heard)
		peer->refused = true;
}

/* All lives of a process have the same port; that is seldom, so published addresses are not indexed by it. */
static void port_refused(struct ofi *ofi, uint32_t nid, uint16_t port, uint32_t number)
{
	if (!ofi->published)
		note_refusal(ofi_find_address(ofi, nid, port), number);
	for (size_t i = 0; ofi->published && i < ofi->address_count; i++)
		if (ofi->addresses[i].nid == nid && ofi->addresses[i].port == port)
			note_refusal(&ofi->addresses[i], number);
}

static void collect_refusals(struct ofi *ofi)
{
	for (;;) {
		struct sockaddr_in to = {0};
		uint32_t number = 0;
		_Alignas(struct cmsghdr) char control[256];
		struct iovec payload = {&number, sizeof(number)};
		struct msghdr message = {.msg_name = &to,
					 .msg_namelen = sizeof(to),
					 .msg_iov = &payload,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control)};
		ssize_t length = recvmsg(ofi->probe_fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
		if (length < 0)
			return;
		if (length == sizeof(number) && says_refused(&message))
			port_refused(ofi, ntohl(to.sin_addr.s_addr), ntohs(to.sin_port), number);
	}
}

static ssize_t send_probe(struct ofi *ofi, struct ofi_address *peer)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(peer->port), .sin_addr.s_addr = htonl(peer->nid)};

	peer->heard = false;
	peer->probe = ++ofi->probes;
	return sendto(ofi->probe_fd, &peer->probe, sizeof(peer->probe), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (struct sockaddr *)&to, sizeof(to));
}

static int probe_outcome(struct ofi_address *peer)
{
	bool refused = peer->refused && !peer->heard;

	peer->refused = false;
	return refused ? -ECONNREFUSED : 0;
}

int ofi_probe(struct transport *transport, transport_address to)
{
	struct ofi *ofi = ofi_of(transport);

	if (to >= ofi->address_count || ofi->profile.owns_udp_port || !have_probe_socket(ofi))
		return 0;
	struct ofi_address *peer = &ofi->addresses[to];
	if (peer->port == 0) /* published, and not looked up yet */
		return 0;
	collect_refusals(ofi);
	if (probe_outcome(peer))
		return -ECONNREFUSED;
	/* A refusal that arrived since makes this send fail in its stead: collect it and send again. */
	if (send_probe(ofi, peer) < 0) {
		collect_refusals(ofi);
		send_probe(ofi, peer);
	}
	collect_refusals(ofi);
	return probe_outcome(peer);
}
