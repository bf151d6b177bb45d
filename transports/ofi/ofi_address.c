/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our address and those of others, without any exchange of addresses.
 *
 * A pid hashes to eight candidate ports below the ephemeral range.  Its process takes the first one that is free, the
 * others try them in the same order; the engine's HELLO names the process it wants, so a wrong owner is noticed.
 *
 * Two things are held for the life of the interface, both vanish with the process:
 *   - a name in the abstract Unix namespace, after (nid, pid): binding it is atomic and so refuses a second owner of
 *     the same pid, whichever of the eight ports either of them would get;
 *   - a UDP socket on the port: it keeps other processes of ours off the port and, being closed by the kernel when we
 *     die, answers for us when a peer probes whether we live (ofi_probe.c).  It is never read: a full receive queue
 *     only drops further probes, which is as good as an answer.
 *
 * Which of the others are known is in ofi_table.c.
 */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_address.h"
#include "transports/ofi/ofi_forget.h"
#include "transports/ofi/ofi_table.h"

#define PID_CHOOSE 0xffffffffu
#define PID_BITS   22 /* Unix pids end at 2^22 on Linux */
#define FIRST_PORT 10000
#define PORTS      22000
#define PORT_STEP  7919

const char *ofi_address_text(const struct ofi *ofi)
{
	return inet_ntoa((struct in_addr){htonl(ofi->nid)});
}

uint16_t ofi_candidate_port(uint32_t pid, unsigned attempt)
{
	return (uint16_t)(FIRST_PORT + (ofi_mix(pid) % PORTS + attempt * PORT_STEP) % PORTS);
}

static int bind_socket(int family, int type, const void *address, socklen_t length)
{
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, address, length) == 0)
		return fd;
	int rc = -errno;
	close(fd);
	return rc;
}

static int bind_name(uint32_t nid, uint32_t pid)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "portals3/ofi/%08x/%u", nid, pid);

	return bind_socket(AF_UNIX, SOCK_STREAM, &name,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
}

static int bind_port(uint32_t nid, uint16_t port)
{
	struct sockaddr_in address = ofi_socket_address(nid, port);
	int fd = bind_socket(AF_INET, SOCK_DGRAM, &address, sizeof(address));
	int least = 1;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	return fd;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Takes the first free candidate from `attempt` on; keeps what it holds if there is none. */
static int claim_port(struct ofi *ofi, unsigned attempt)
{
	int fd = -EADDRINUSE;

	for (; attempt < OFI_CANDIDATES; attempt++) {
		fd = bind_port(ofi->nid, ofi_candidate_port(ofi->pid, attempt));
		if (fd >= 0)
			break;
		if (fd != -EADDRINUSE && fd != -EACCES)
			return fd;
	}
	if (fd < 0)
		return -EADDRINUSE;
	close_fd(&ofi->port_fd);
	ofi->port_fd = fd;
	ofi->attempt = attempt;
	ofi->port = ofi_candidate_port(ofi->pid, attempt);
	return 0;
}

int ofi_claim_next_port(struct ofi *ofi)
{
	return claim_port(ofi, ofi->attempt + 1);
}

void ofi_yield_port(struct ofi *ofi)
{
	close_fd(&ofi->port_fd);
}

static int claim_pid(struct ofi *ofi, uint32_t pid)
{
	ofi->pid = pid;
	ofi->name_fd = bind_name(ofi->nid, pid);
	if (ofi->name_fd < 0) {
		int rc = ofi->name_fd;
		ofi->name_fd = -1;
		return rc;
	}
	int rc = claim_port(ofi, 0);
	if (rc)
		close_fd(&ofi->name_fd);
	return rc;
}

/* Our Unix pid, or that pid with bits above those Unix uses: never another process's first choice. */
static int claim_any_pid(struct ofi *ofi)
{
	uint32_t own = (uint32_t)getpid();
	int rc = -EADDRINUSE;

	for (uint32_t i = 0; i < 256 && rc == -EADDRINUSE; i++)
		rc = claim_pid(ofi, own | i << PID_BITS);
	return rc;
}

static int claim(struct ofi *ofi, struct transport_config *config)
{
	int rc = config->pid == PID_CHOOSE ? claim_any_pid(ofi) : claim_pid(ofi, config->pid);

	if (rc == -EADDRINUSE && config->pid != PID_CHOOSE)
		return report_error(rc,
				    "process id %u is taken on %s (%s): another process has it, or all %d ports it "
				    "could use; choose another or PTL_PID_ANY",
				    config->pid, config->iface ? config->iface : "?", ofi_address_text(ofi),
				    OFI_CANDIDATES);
	if (rc)
		return report_error(rc, "cannot claim a process id on %s (%s): %s%s",
				    config->iface ? config->iface : "?", ofi_address_text(ofi), strerror(-rc),
				    report_descriptor_hint(rc));
	config->pid = ofi->pid;
	return 0;
}

int ofi_claim(struct transport_config *config, struct transport **out)
{
	struct ofi *ofi = calloc(1, sizeof(*ofi));
	if (!ofi)
		return -ENOMEM;

	ofi->name_fd = ofi->port_fd = ofi->probe_fd = ofi->listener_fd = -1;
	ofi->cq_fd = ofi->edge_fd = ofi->watch_fd = ofi->mappings = -1;
	ofi->nid = config->nid;
	ofi->sink = config->sink;
	ofi->owner = config->owner;
	ofi->settings = config->settings;
	ofi->tuning = config->tuning;
	ofi->peer_timeout = config->settings->peer_timeout;
	snprintf(ofi->provider, sizeof(ofi->provider), "%s", config->provider ? config->provider : "");
	snprintf(ofi->iface, sizeof(ofi->iface), "%s", config->iface ? config->iface : "?");
	ofi->book = config->book;
	int rc = claim(ofi, config);
	if (rc) {
		free(ofi);
		return rc;
	}
	*out = &ofi->base;
	return 0;
}

void ofi_unclaim(struct ofi *ofi)
{
	close_fd(&ofi->port_fd);
	close_fd(&ofi->probe_fd);
	close_fd(&ofi->name_fd);
	close_fd(&ofi->mappings);
	free(ofi->addresses);
	free(ofi->address_index);
	free(ofi->numbered);
}

static int insert_computed(struct ofi *ofi, transport_address index)
{
	const struct ofi_address *address = &ofi->addresses[index];
	struct sockaddr_in name = ofi_socket_address(address->nid, address->port);
	int rc = ofi_insert_address(ofi, index, &name);

	return rc ? report_error(rc, "%s refuses the address %s:%u", ofi->profile.name, inet_ntoa(name.sin_addr),
				 address->port)
		  : 0;
}

int ofi_resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt, transport_address *out)
{
	UNCANCELLED;
	struct ofi *ofi = ofi_of(transport);

	if (attempt >= OFI_CANDIDATES)
		return -ENOENT;
	if (unlikely(ofi->half_reaped))
		return report_error(-ENOMEM,
				    "no memory for the address of a peer: that of one that has gone waits for it");
	int rc = ofi_make_address(ofi, nid, ofi_candidate_port(pid, attempt), out);
	if (rc)
		return rc;
	if (ofi->addresses[*out].number == FI_ADDR_NOTAVAIL && (rc = insert_computed(ofi, *out)) != 0) {
		ofi_free_address(ofi, *out);
		return rc;
	}
	ofi_use(ofi, *out);
	return 0;
}
