/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How processes that talk over libfabric's shm get to know each other, and which of them have gone.
 *
 * A PEER MUST NOT BE INSERTED BEFORE IT EXISTS: all that do not share one address, and what is sent to one reaches
 * another.  AND NOT KEPT AFTER IT HAS RESTARTED: its old memory stays mapped, and takes messages that are not read.
 * So an address (ofi_address.c) has a number of the provider only while its process is known to live: its ready page is
 * there and locked (ofi_shm_page.c).  Processes get to know each other by control messages (transports/control.c) to
 * each other's doorbell:
 *
 *   A wants to send to B     CONNECT        ->   B finds A's page, and inserts A; if it knew an older A, it lets that go
 *   A inserts B: A is OPEN   <-  met        ->   B is OPEN
 *
 * A sends only when it has inserted B, and B has said that it has inserted A (a control message with B's flag MET, to
 * A's nonce).  Hence whatever the provider holds under B's name is of this life of B, on both sides.  A control message
 * may be lost (some ten datagrams wait at a socket): a process that wants to send and is not OPEN asks again to connect, and a
 * connection request is always answered with all that the answerer knows.  The names of doorbells can be read in
 * /proc/net/unix, and any process may write to them: a control message counts only if the kernel says that our user has
 * sent it, and which process lives where only the page tells, which is our user's.
 *
 * A process that has no number left for A looks whether one of its peers has died, and answers FULL if not.  A then
 * refuses what is sent to B for a second, and after that asks again to connect: B does not remember which peers it has
 * refused.
 */
#include "transports/ofi/ofi_shm_control.h"
#include "transports/ofi/ofi_rma.h"
#include "transports/ofi/ofi_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/control.h"

#define PEERS_GREATEST        256        /* the provider's limit, ourselves included */
#define CONNECT_NS            1000000    /* between connection requests */
#define FULL_NS               1000000000 /* that a peer has no room for us is believed so long */
#define LOOK_NS               100000000  /* between looks which of all peers have died */
#define CONTROL_MESSAGES_READ 32         /* at a time */
#define CONTROL_MAGIC         0x50334c32u

enum kind {
	CONNECT = 1, /* answer me */
	INTRODUCTION,
};
enum flag {
	MET = 1,  /* I have inserted you */
	OPEN = 2, /* and know that you have inserted me */
	FULL = 4, /* I cannot insert you: I have too many peers */
};

struct control {
	struct control_header header;
	uint32_t nid;
	uint16_t port, unused;
	uint64_t from, to; /* nonces */
};

_Static_assert(sizeof(struct control) == 32, "a control message has another form: raise SHM_LAYOUT_VERSION");

static const struct control_protocol protocol = {.magic = CONTROL_MAGIC,
						 .version = SHM_LAYOUT_VERSION,
						 .kinds = INTRODUCTION,
						 .prefix = sizeof(struct control),
						 .length = sizeof(struct control)};

/* --- the doorbell --- */

static struct control_name doorbell_name(const struct shm_page *page)
{
	return control_name("portals3/shm/%08x/%u/%016lx", page->nid, page->port, (unsigned long)page->nonce);
}

int ofi_shm_make_doorbell(const struct shm_page *page)
{
	const struct control_name name = doorbell_name(page);

	return control_open(&name);
}

int ofi_shm_wake(const struct shm *shm, const struct shm_page *page)
{
	const struct control_name name = doorbell_name(page);

	return control_wake(shm->doorbell, &name);
}

/* --- peers --- */

struct shm_peer *ofi_shm_make_room(const struct ofi *ofi, transport_address index)
{
	struct shm *shm = ofi->shm;
	struct shm_peer *peers = realloc(shm->peers, ofi->address_room * sizeof(*peers));

	if (!peers)
		return NULL;
	memset(peers + shm->peer_room, 0, (ofi->address_room - shm->peer_room) * sizeof(*peers));
	shm->peers = peers;
	shm->peer_room = ofi->address_room;
	return &peers[index];
}

void ofi_shm_fail(struct shm *shm, struct shm_peer *peer)
{
	if (peer->state == SHM_FAILED || peer->state == SHM_UNVERIFIED)
		return;
	peer->state = SHM_FAILED;
	shm->failed++;
}

bool ofi_shm_is_gone(const struct ofi *ofi, transport_address index, const struct shm_peer *peer)
{
	UNCANCELLED;
	const struct ofi_address *address = &ofi->addresses[index];
	uint64_t nonce;
	int rc = ofi_shm_page_find(address->nid, address->port, &nonce, NULL);

	return rc == -ENOENT || rc == -EPERM || rc == -EPROTONOSUPPORT || (!rc && nonce != peer->page->nonce);
}

static void reap_peer(struct ofi *ofi, transport_address index, struct shm_peer *peer)
{
	fi_addr_t number = ofi->addresses[index].number;
	bool met = number != FI_ADDR_NOTAVAIL;

	if (met) {
		fi_av_remove(ofi->av, &number, 1, 0);
		ofi_number_address(ofi, index, FI_ADDR_NOTAVAIL);
		ofi->shm->inserted--;
	}
	ofi_shm_page_unmap(peer->page);
	*peer = (struct shm_peer){.state = SHM_UNVERIFIED};
	ofi->addresses[index].unreadable = false; /* libfabric tests its next life anew */
	if (ofi->lone_rma && ofi->lone_rma->peer == index)
		ofi_rma_abandon(ofi, ofi->lone_rma, -ECONNRESET);
	if (met)
		ofi->sink->peer_gone(ofi->owner, index);
}

/*
 * From poll() only, when nothing is left to be received.  The errors that have no context are among that: they come
 * with the call that posts, so what is abandoned here has none to come that a later operation might be taken for.
 */
void ofi_shm_reap(struct ofi *ofi)
{
	UNCANCELLED;
	struct shm *shm = ofi->shm;

	for (size_t i = 0; i < shm->peer_room && shm->failed; i++)
		if (shm->peers[i].state == SHM_FAILED) {
			shm->failed--;
			reap_peer(ofi, i, &shm->peers[i]);
		}
}

static void fail_the_gone(struct ofi *ofi)
{
	struct shm *shm = ofi->shm;

	for (size_t i = 0; i < shm->peer_room; i++)
		if (shm->peers[i].page && ofi_shm_is_gone(ofi, i, &shm->peers[i]))
			ofi_shm_fail(shm, &shm->peers[i]);
}

/*
 * All numbers are in use: those of the dead will be free after the next poll().  To look is a thousand system calls, so
 * a peer that comes between two looks is told nothing (-EAGAIN) before the next one.
 */
static int find_room(struct ofi *ofi, struct shm_peer *peer)
{
	struct shm *shm = ofi->shm;
	uint64_t now = monotonic_ns();

	if (peer->waits_from == 0)
		peer->waits_from = now;
	if (now >= shm->looked_at + LOOK_NS) {
		shm->looked_at = now;
		fail_the_gone(ofi);
	}
	if (shm->failed || shm->looked_at < peer->waits_from)
		return -EAGAIN;
	peer->waits_from = 0;
	if (!shm->told_full)
		report(LOG_WARN,
		       "provider shm serves %d processes at most, and pid %u has met as many: use node or tcp",
		       PEERS_GREATEST, ofi->pid);
	shm->told_full = true;
	return -EUSERS;
}

/* 0, -EAGAIN, -EUSERS, or another error. */
static int insert(struct ofi *ofi, transport_address index, struct shm_peer *peer)
{
	const struct ofi_address *address = &ofi->addresses[index];
	char name[SHM_NAME_ROOM];
	fi_addr_t number = FI_ADDR_NOTAVAIL;

	if (address->number != FI_ADDR_NOTAVAIL)
		return 0;
	if (ofi->shm->inserted >= PEERS_GREATEST)
		return find_room(ofi, peer);
	if (ofi_shm_segment_check(address->nid, address->port))
		return -EAGAIN; /* its owner is just leaving, or another process plays tricks */
	ofi_shm_provider_name(address->nid, address->port, name);
	int inserted = fi_av_insert(ofi->av, name, 1, &number, 0, NULL);

	/* An address that is in use: the segment has vanished since we looked. */
	if (inserted != 1 || ofi_source(ofi, number) != TRANSPORT_ADDRESS_UNKNOWN)
		return -EAGAIN;
	int rc = ofi_number_address(ofi, index, number);
	if (rc)
		return rc;
	ofi->shm->inserted++;
	if (ofi_shm_is_gone(ofi, index, peer)) { /* then it may not have been there in time */
		ofi_shm_fail(ofi->shm, peer);
		return -EAGAIN;
	}
	return 0;
}

/* --- control messages --- */

static void send_control(struct ofi *ofi, transport_address index, struct shm_peer *peer, enum kind kind,
			 unsigned flags)
{
	struct shm *shm = ofi->shm;
	const struct control_name name = doorbell_name(peer->page);
	struct control control = {
		.header = {.magic = CONTROL_MAGIC, .version = SHM_LAYOUT_VERSION, .kind = (uint8_t)kind},
		.nid = ofi->nid,
		.port = ofi->port,
		.from = shm->page->nonce,
		.to = peer->page->nonce};

	if (ofi->addresses[index].number != FI_ADDR_NOTAVAIL)
		flags |= MET;
	if (peer->state == SHM_OPEN)
		flags |= OPEN;
	control.header.flags = (uint8_t)flags;
	int rc = control_send(shm->doorbell, &name, &control, sizeof(control), NULL, 0);

	if (rc == -ECONNREFUSED)
		ofi_shm_fail(shm, peer);
	else if (!rc) /* after the control message; pairs with the acquire in ofi_shm_read_control_messages() */
		atomic_fetch_add_explicit(&peer->page->control_messages, 1, memory_order_release);
}

/* Maps its page if we have not.  False: there is no such process, or another life of it. */
static bool recognise(struct ofi *ofi, transport_address index, struct shm_peer *peer, uint64_t nonce)
{
	const struct ofi_address *address = &ofi->addresses[index];
	uint64_t found;

	if (peer->state == SHM_FAILED)
		return false;
	if (peer->state == SHM_UNVERIFIED) {
		if (ofi_shm_page_find(address->nid, address->port, &found, &peer->page))
			return false;
		peer->state = SHM_SEEN;
	}
	if (peer->page->nonce == nonce)
		return true;
	if (ofi_shm_is_gone(ofi, index, peer))
		ofi_shm_fail(ofi->shm, peer);
	return false;
}

static void handle_connect(struct ofi *ofi, transport_address index, struct shm_peer *peer,
			   const struct control *control)
{
	bool for_us = control->to == ofi->shm->page->nonce, advanced = false;
	bool known = ofi->addresses[index].number != FI_ADDR_NOTAVAIL;
	int rc = insert(ofi, index, peer);

	if (peer->state == SHM_FAILED)
		return;
	advanced = !rc && !known;
	peer->full_until = rc == -EUSERS || (for_us && (control->header.flags & FULL)) ? monotonic_ns() + FULL_NS : 0;
	if (!rc && for_us && (control->header.flags & MET) && peer->state != SHM_OPEN) {
		peer->state = SHM_OPEN;
		advanced = true;
	}
	if (control->header.kind == CONNECT || (advanced && !(control->header.flags & OPEN)))
		send_control(ofi, index, peer, INTRODUCTION, rc == -EUSERS ? FULL : 0);
}

static void read_control(struct ofi *ofi, const struct control *control)
{
	transport_address index;
	uint64_t nonce;

	/* A process that is not there gets no place in our tables. */
	if (control->nid != ofi->nid ||
	    (!ofi_find_address(ofi, control->nid, control->port) &&
	     ofi_shm_page_find(control->nid, control->port, &nonce, NULL)) ||
	    ofi_make_address(ofi, control->nid, control->port, &index))
		return;
	struct shm_peer *peer = shm_peer_at(ofi, index);

	if (peer && recognise(ofi, index, peer, control->from))
		handle_connect(ofi, index, peer, control);
}

int ofi_shm_read_control_messages(struct ofi *ofi)
{
	UNCANCELLED;
	struct shm *shm = ofi->shm;
	struct control control;
	struct control_sender sender;
	int count = 0;

	/* Before the control messages; pairs with the release in send_control(). */
	shm->control_messages = atomic_load_explicit(&shm->page->control_messages, memory_order_acquire);
	for (int i = 0; i < CONTROL_MESSAGES_READ; i++) {
		enum control_found found = control_receive(shm->doorbell, &protocol, &control, &sender);
		if (found == CONTROL_NOTHING)
			break;
		if (found == CONTROL_MESSAGE && control_is_own_user(&sender)) {
			read_control(ofi, &control);
			count++;
		}
	}
	return count;
}

/* --- connecting --- */

/*
 * Another interface of this process.  The provider would use its memory without mapping it again, also after it has
 * closed: a segmentation fault.
 */
static bool is_neighbour(const struct shm *shm, const struct shm_peer *peer)
{
	return memcmp(peer->page->process, shm->page->process, sizeof(shm->page->process)) == 0 &&
	       peer->page->nonce != shm->page->nonce;
}

static int refuse_version(struct shm *shm, const struct ofi_address *address)
{
	if (!shm->told_version)
		report(LOG_WARN, "process at port %u of this node has another version of this library: not by shm",
		       address->port);
	shm->told_version = true;
	return report_error(-EHOSTUNREACH, "provider shm: the process at port %u has another version of this library",
			    address->port);
}

int ofi_shm_connect(struct ofi *ofi, transport_address index, struct shm_peer *peer)
{
	UNCANCELLED;
	const struct ofi_address address = ofi->addresses[index]; /* control messages may make the table grow */
	uint64_t now = monotonic_ns(), nonce;

	if (peer->state == SHM_UNVERIFIED) {
		if (address.nid != ofi->nid)
			return -EHOSTUNREACH;
		int rc = ofi_shm_page_find(address.nid, address.port, &nonce, &peer->page);
		if (rc == -EPROTONOSUPPORT)
			return refuse_version(ofi->shm, &address);
		if (rc)
			return rc == -EPERM ? -EHOSTUNREACH : rc == -ENOENT ? -ENOENT : -EAGAIN;
		peer->state = SHM_SEEN;
	}
	if (is_neighbour(ofi->shm, peer))
		return report_error(-EHOSTUNREACH, "provider shm does not connect two interfaces of one process");
	if (shm_control_pending(ofi->shm) && ofi_shm_read_control_messages(ofi) &&
	    shm_peer_at(ofi, index)->state == SHM_OPEN)
		return 0;
	peer = shm_peer_at(ofi, index);
	if (now < peer->full_until)
		return report_error(-EHOSTUNREACH,
				    "provider shm: this process or that at port %u has %d peers, and can have no more",
				    address.port, PEERS_GREATEST);
	if (peer->state == SHM_SEEN && now >= peer->connect_at) {
		peer->connect_at = now + CONNECT_NS;
		send_control(ofi, index, peer, CONNECT, 0);
	}
	return -EAGAIN;
}
