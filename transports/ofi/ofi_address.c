/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who we are and where the others are, without any exchange of addresses.
 *
 * A pid hashes to eight candidate ports below the ephemeral range.  Its process takes the first one that is free, the
 * others try them in the same order; the engine's HELLO names the process it wants, so a wrong owner is noticed.
 *
 * Two things are held for the life of the interface, both vanish with the process:
 *   - a name in the abstract Unix namespace, after (nid, pid): binding it is atomic and so refuses a second owner of
 *     the same pid, whichever of the eight ports either of them would get;
 *   - a UDP socket on the port: it keeps other processes of ours off the port and, being closed by the kernel when we
 *     die, answers for us when somebody probes whether we live (ofi_probe.c).  Nobody reads it: a full receive queue
 *     only drops further probes, which is as good as an answer.
 *
 * ADDRESSES ARE KEPT, there is no forget().  tcp;ofi_rxm and net of libfabric 1.17 go on naming the source of what comes over
 * a connection that is open by the number that fi_av_remove() has taken back, and the next fi_av_insert() gives that number to somebody
 * else: one peer's messages would be said to be another's.  Whoever is at the other end of a connection that came to us
 * cannot be severed for certain either (ofi_sockets.c).  That a peer has been given up is no proof that its connection is
 * closed: it may only have been silent, or have left a child.  Nor do the tags of a conversation help.  They would keep its
 * messages out of the other's conversation, but an introduction has no tags yet: what it says of itself is believed because
 * the source is the address of that name, so whoever was given up could introduce itself as the one who got its number; and
 * its own introductions would be refused for as long as the connection lives.  So what is kept is one entry for each port
 * of each host that was ever asked for: at most PORTS for a host, however many processes come and go there.  (Addresses that
 * never were connected could be removed: 2000 inserted, tried and removed one after the other got the same number each time.
 * So could those of a host from which no connection is open; but servers have such hosts rarely.)
 */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"

#define PID_CHOOSE       0xffffffffu
#define PID_BITS         22 /* Unix pids end at 2^22 on Linux */
#define FIRST_PORT       10000
#define PORTS            22000
#define PORT_STEP        7919
#define ADDRESSES_FIRST  64
#define ADDRESS_GREATEST (1u << 24)

const char *ofi_address_text(const struct ofi *ofi)
{
	return inet_ntoa((struct in_addr){htonl(ofi->nid)});
}

static uint32_t mix(uint32_t value)
{
	value ^= value >> 16;
	value *= 0x85ebca6bu;
	value ^= value >> 13;
	value *= 0xc2b2ae35u;
	return value ^ value >> 16;
}

uint16_t ofi_candidate_port(uint32_t pid, unsigned attempt)
{
	return (uint16_t)(FIRST_PORT + (mix(pid) % PORTS + attempt * PORT_STEP) % PORTS);
}

static struct sockaddr_in socket_address(uint32_t nid, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(nid)};
}

static int bind_socket(int family, int type, const void *address, socklen_t length)
{
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, address, length) == 0)
		return fd;
	int error = -errno;
	close(fd);
	return error;
}

static int bind_name(uint32_t nid, uint32_t pid)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "portals3/ofi/%08x/%u", nid, pid);

	return bind_socket(AF_UNIX, SOCK_STREAM, &name,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
}

static int bind_port(uint32_t nid, uint16_t port)
{
	struct sockaddr_in address = socket_address(nid, port);
	int fd = bind_socket(AF_INET, SOCK_DGRAM, &address, sizeof address);
	int least = 1;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
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
		int error = ofi->name_fd;
		ofi->name_fd = -1;
		return error;
	}
	int error = claim_port(ofi, 0);
	if (error)
		close_fd(&ofi->name_fd);
	return error;
}

/* Our Unix pid, or that pid with bits above those Unix uses: never another process's first choice. */
static int claim_any_pid(struct ofi *ofi)
{
	uint32_t own = (uint32_t)getpid();
	int error = -EADDRINUSE;

	for (uint32_t i = 0; i < 256 && error == -EADDRINUSE; i++)
		error = claim_pid(ofi, own | i << PID_BITS);
	return error;
}

static int claim(struct ofi *ofi, struct transport_config *config)
{
	int error = config->pid == PID_CHOOSE ? claim_any_pid(ofi) : claim_pid(ofi, config->pid);

	if (error == -EADDRINUSE && config->pid != PID_CHOOSE)
		return report_error(error,
				    "process id %u is taken on %s (%s): another process has it, or all %d ports it "
				    "could use; choose another or PTL_PID_ANY",
				    config->pid, config->iface ? config->iface : "?", ofi_address_text(ofi),
				    OFI_CANDIDATES);
	if (error)
		return report_error(error, "cannot claim a process id on %s (%s): %s%s",
				    config->iface ? config->iface : "?", ofi_address_text(ofi), strerror(-error),
				    report_descriptor_hint(error));
	config->pid = ofi->pid;
	return 0;
}

int ofi_claim(struct transport_config *config, struct transport **out)
{
	struct ofi *ofi = calloc(1, sizeof *ofi);
	if (!ofi)
		return -ENOMEM;

	ofi->name_fd = ofi->port_fd = ofi->probe_fd = ofi->listener_fd = -1;
	ofi->cq_fd = ofi->edge_fd = ofi->watch_fd = -1;
	ofi->nid = config->nid;
	ofi->sink = config->sink;
	ofi->owner = config->owner;
	ofi->short_setting = config->settings->short_max;
	ofi->peer_timeout = config->settings->peer_timeout;
	snprintf(ofi->provider, sizeof ofi->provider, "%s", config->provider ? config->provider : "");
	snprintf(ofi->iface, sizeof ofi->iface, "%s", config->iface ? config->iface : "?");
	ofi->book = config->book;
	int error = claim(ofi, config);
	if (error) {
		free(ofi);
		return error;
	}
	*out = &ofi->base;
	return 0;
}

void ofi_unclaim(struct ofi *ofi)
{
	close_fd(&ofi->port_fd);
	close_fd(&ofi->probe_fd);
	close_fd(&ofi->name_fd);
	free(ofi->addresses);
	free(ofi->address_index);
	free(ofi->numbered);
}

/* What tells addresses apart: where they are computed pid and life are 0, where they are published the port is. */
struct place {
	uint32_t nid, pid;
	uint16_t port;
	uint8_t life;
};

static struct place place_of(const struct ofi *ofi, const struct ofi_address *address)
{
	return (struct place){address->nid, address->pid, ofi->published ? 0 : address->port, address->life};
}

static uint32_t *index_slot(const struct ofi *ofi, struct place wanted)
{
	size_t mask = ofi->address_index_size - 1;
	uint32_t hash = mix(wanted.nid * 31 + wanted.port + mix(wanted.pid * ADDRESS_LIVES + wanted.life));

	for (size_t at = hash & mask;; at = (at + 1) & mask) {
		uint32_t entry = ofi->address_index[at];
		if (!entry)
			return &ofi->address_index[at];
		struct place place = place_of(ofi, &ofi->addresses[entry - 1]);
		if (place.nid == wanted.nid && place.port == wanted.port && place.pid == wanted.pid &&
		    place.life == wanted.life)
			return &ofi->address_index[at];
	}
}

static struct ofi_address *find(const struct ofi *ofi, struct place place)
{
	uint32_t entry = ofi->address_index_size ? *index_slot(ofi, place) : 0;
	return entry ? &ofi->addresses[entry - 1] : NULL;
}

struct ofi_address *ofi_find_address(const struct ofi *ofi, uint32_t nid, uint16_t port)
{
	return find(ofi, (struct place){.nid = nid, .port = port});
}

/* The table, with room for one more, or NULL; the hash stays at most half full. */
static struct ofi_address *grow_addresses(struct ofi *ofi)
{
	if (ofi->address_count < ofi->address_room)
		return ofi->addresses;
	size_t room = ofi->address_room ? ofi->address_room * 2 : ADDRESSES_FIRST;
	struct ofi_address *addresses = realloc(ofi->addresses, room * sizeof *addresses);
	if (!addresses)
		return NULL;
	memset(addresses + ofi->address_room, 0, (room - ofi->address_room) * sizeof *addresses);
	ofi->addresses = addresses;
	uint32_t *index = calloc(room * 2, sizeof *index);
	if (!index)
		return NULL;
	free(ofi->address_index);
	ofi->address_index = index;
	ofi->address_index_size = room * 2;
	ofi->address_room = room;
	for (size_t i = 0; i < ofi->address_count; i++)
		*index_slot(ofi, place_of(ofi, &addresses[i])) = (uint32_t)i + 1;
	return addresses;
}

static int make(struct ofi *ofi, struct place place, transport_address *out)
{
	const struct ofi_address *known = find(ofi, place);

	if (known) {
		*out = (transport_address)(known - ofi->addresses);
		return 0;
	}
	struct ofi_address *addresses = grow_addresses(ofi);
	if (!addresses)
		return -ENOMEM;
	size_t index = ofi->address_count++;
	addresses[index] = (struct ofi_address){
		.number = FI_ADDR_NOTAVAIL, .nid = place.nid, .pid = place.pid, .port = place.port, .life = place.life};
	*index_slot(ofi, place) = (uint32_t)index + 1;
	*out = index;
	return 0;
}

int ofi_make_address(struct ofi *ofi, uint32_t nid, uint16_t port, transport_address *out)
{
	return make(ofi, (struct place){.nid = nid, .port = port}, out);
}

int ofi_make_published(struct ofi *ofi, uint32_t nid, uint32_t pid, unsigned life, transport_address *out)
{
	return make(ofi, (struct place){.nid = nid, .pid = pid, .life = (uint8_t)life}, out);
}

/* The provider numbers its addresses from 0 (FI_AV_TABLE). */
static bool grow_numbered(struct ofi *ofi, fi_addr_t last)
{
	size_t room = ofi->numbered_room ? ofi->numbered_room : ADDRESSES_FIRST;

	while (room <= last)
		room *= 2;
	uint32_t *numbered = realloc(ofi->numbered, room * sizeof *numbered);
	if (!numbered)
		return false;
	for (size_t i = ofi->numbered_room; i < room; i++)
		numbered[i] = OFI_UNNUMBERED;
	ofi->numbered = numbered;
	ofi->numbered_room = room;
	return true;
}

int ofi_number_address(struct ofi *ofi, transport_address index, fi_addr_t number)
{
	struct ofi_address *address = &ofi->addresses[index];

	if (number != FI_ADDR_NOTAVAIL && number >= ofi->numbered_room && !grow_numbered(ofi, number))
		return -ENOMEM;
	if (address->number != FI_ADDR_NOTAVAIL)
		ofi->numbered[address->number] = OFI_UNNUMBERED;
	if (number != FI_ADDR_NOTAVAIL)
		ofi->numbered[number] = (uint32_t)index;
	address->number = number;
	return 0;
}

int ofi_insert_address(struct ofi *ofi, transport_address index, const void *name)
{
	fi_addr_t number = FI_ADDR_NOTAVAIL;
	int inserted = fi_av_insert(ofi->av, name, 1, &number, 0, NULL);

	if (inserted != 1 || number >= ADDRESS_GREATEST)
		return inserted < 0 ? ofi_errno(inserted) : -EIO;
	return ofi_number_address(ofi, index, number);
}

static int insert_computed(struct ofi *ofi, transport_address index)
{
	const struct ofi_address *address = &ofi->addresses[index];
	struct sockaddr_in name = socket_address(address->nid, address->port);
	int error = ofi_insert_address(ofi, index, &name);

	return error ? report_error(error, "%s refuses the address %s:%u", ofi->profile.name, inet_ntoa(name.sin_addr),
				    address->port)
		     : 0;
}

int ofi_resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt, transport_address *out)
{
	UNCANCELLED;
	struct ofi *ofi = ofi_of(transport);

	if (attempt >= OFI_CANDIDATES)
		return -ENOENT;
	int error = ofi_make_address(ofi, nid, ofi_candidate_port(pid, attempt), out);
	if (error || ofi->addresses[*out].number != FI_ADDR_NOTAVAIL)
		return error;
	return insert_computed(ofi, *out);
}
