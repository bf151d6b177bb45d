/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric's shm, for users who name it.  Within a node `node` is better in every way but one: this shows that the
 * library runs on a provider that has neither sockets nor a descriptor to sleep on.  What is wrong with it, and what is
 * done about it:
 *
 * A PEER MUST NOT BE INSERTED BEFORE IT EXISTS: all that do not share one address, and what is sent to one reaches
 * another.  AND NOT KEPT AFTER IT HAS RESTARTED: its old memory stays mapped, and takes messages that nobody reads.
 * So an address (ofi_address.c) has a number of the provider only while its process is known to live: its ready page is
 * there and locked (ofi_shm_page.c).  Processes get to know each other by letters, datagrams to each other's bell:
 *
 *   A wants to send to B     KNOCK          ->   B finds A's page, and inserts A; if it knew an older A, it lets that go
 *   A inserts B: A is OPEN   <-  met        ->   B is OPEN
 *
 * A sends only when it has inserted B, and B has said that it has inserted A (a letter with B's flag MET, to A's nonce).
 * Hence whatever the provider holds under B's name is of this life of B, on both sides.  A letter may be lost (some ten
 * datagrams wait at a socket): whoever wants to send and is not OPEN knocks again, and a knock is always answered with
 * all that the answerer knows.  The names of bells can be read in /proc/net/unix, and anybody may write to them: a letter
 * counts only if the kernel says that our user has sent it, and who lives where only the page tells, which is our user's.
 *
 * That a peer lives is looked at again when nothing has been heard of it for a while (is_due()), and when the engine asks.
 * One that is gone is removed from the provider in poll(), when nothing is left to be received: what it had sent is
 * attributed to it, and the provider does not survive a command of a peer that it does not know any more.
 *
 * NOTHING TO SLEEP ON.  The owner sleeps on its bell, a datagram socket, and not on a futex in the page, because the NIC
 * thread sleeps on several transports at once, by ppoll(), and a futex cannot be polled.  A ring costs a system call on
 * either side, so the page's word `sleeping` guards it.  No wake-up is lost:
 *
 *     the owner, in arm()                          a sender, in wake(), after the provider took the message
 *     empties the bell
 *     sleeping = number of this sleep              (the message is in the owner's queue)
 *     seq_cst fence                                seq_cst fence
 *     looks into its queue; something: awake       reads `sleeping`; a number it has not rung for: rings
 *     sleeps until the bell is readable
 *
 * By the fences not both can miss the other's store.  A ring that comes between the first step and the last stays in the
 * socket.  A ring that finds the socket full is not needed: it is readable.  Senders do not clear the word, because one
 * that dies before its system call would leave the owner asleep; each rings once for each number instead.  Should all
 * this be wrong, the engine looks again after limits.nap, 100 ms.
 *
 * READS.  Where the kernel allows cross-memory attach the provider reads at once, without the other side.  Where it does
 * not, both sides have to progress, several times: the target is woken as often as it falls asleep, and arm() says that
 * nobody will announce the end.  A read that fails has no context, and returned 0 (profile.lone_rma: one at a time of the
 * whole endpoint).  So without cross-memory attach one stopped peer stops all reads and writes, until it goes on or dies.
 *
 * WHAT CANNOT BE MENDED, and why `auto` never takes this: whoever sends holds a spin lock in the receiver's memory while it
 * writes, and whoever reads holds one in the memory's owner's, for as long as the copy takes.  If it is killed then, the
 * other side spins in the provider for good.  Likewise a process must not outlive an interface of its own that it has met:
 * is_neighbour().
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transports/ofi.h"
#include "transports/ofi_shm.h"

#define PEERS_GREATEST 256 /* the provider's limit, ourselves included */
#define NAP_US         100000
#define KNOCK_NS       1000000    /* between knocks */
#define DUE_NS         50000000   /* silence after which we look whether a peer still lives */
#define FULL_NS        1000000000 /* that a peer has no room for us is believed so long */
#define LOOK_NS        100000000  /* between looks which of all peers have died */
#define LETTERS_READ   32         /* at a time */
#define LETTER_MAGIC   0x50334c31u

enum letter_flag {
	KNOCK = 1, /* answer me */
	MET = 2,   /* I have inserted you */
	OPEN = 4,  /* and know that you have inserted me */
	FULL = 8,  /* I cannot insert you: I have too many peers */
};

struct letter {
	uint32_t magic, nid;
	uint16_t port, flags;
	uint32_t unused;
	uint64_t from, to; /* nonces */
};

enum acquaintance { SHM_STRANGER, SHM_SEEN, SHM_OPEN, SHM_DOOMED };

/* What we know of the process at an address of the same index.  From SEEN on `page` is mapped. */
struct shm_peer {
	enum acquaintance state;
	uint32_t rung; /* the sleep it was last woken from */
	struct shm_page *page;
	uint64_t knock_at, due_at;
	uint64_t full_until; /* one of us cannot insert the other */
	uint64_t waits_from; /* for room with us; 0: it does not */
};

struct shm {
	struct shm_page *page;
	int lock, bell;
	struct shm_peer *peers;
	size_t peer_room;
	unsigned inserted, doomed;
	uint32_t sleep;     /* number of the last one */
	bool asleep;        /* the page says so */
	uint32_t letters;   /* of page->letters, looked for */
	uint64_t looked_at; /* when find_room() did */
	bool told_full;
};

static uint64_t coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* milliseconds will do, and it costs a quarter */
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- the bell --- */

static socklen_t bell_name(const struct shm_page *page, struct sockaddr_un *name)
{
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "portals3/shm/%08x/%u/%016lx", page->nid,
			      page->port, (unsigned long)page->nonce);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int make_bell(const struct shm_page *page)
{
	struct sockaddr_un name;
	socklen_t length = bell_name(page, &name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;

	if (fd < 0)
		return -errno;
	/* Credentials before the name is there: they are attached when a letter is sent. */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
	    bind(fd, (struct sockaddr *)&name, length) == 0)
		return fd;
	int error = -errno;

	close(fd);
	return error;
}

/* 0, -EAGAIN (full), or -ECONNREFUSED: this life of the peer is over. */
static int send_to_bell(const struct shm *shm, const struct shm_page *page, const void *bytes, size_t length)
{
	struct sockaddr_un name;
	socklen_t name_length = bell_name(page, &name);

	return sendto(shm->bell, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&name, name_length) < 0
		       ? -errno
		       : 0;
}

static bool is_ours(struct msghdr *message)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	struct ucred sender;

	if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS ||
	    part->cmsg_len != CMSG_LEN(sizeof sender))
		return false;
	memcpy(&sender, CMSG_DATA(part), sizeof sender);
	return sender.uid == geteuid();
}

enum mail { MAIL_NONE, MAIL_LETTER, MAIL_OTHER };

/* Takes one thing from the bell: a letter of this user, a ring, or what is not for us.  No room for descriptors. */
static enum mail take_mail(const struct shm *shm, struct letter *letter)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec body = {letter, sizeof *letter};
	struct msghdr message = {
		.msg_iov = &body, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	ssize_t length = recvmsg(shm->bell, &message, MSG_DONTWAIT);

	if (length < 0)
		return MAIL_NONE;
	return (size_t)length == sizeof *letter && is_ours(&message) && letter->magic == LETTER_MAGIC ? MAIL_LETTER
												      : MAIL_OTHER;
}

/* --- peers --- */

/* NULL: no memory. */
static struct shm_peer *peer_at(const struct ofi *ofi, transport_address index)
{
	struct shm *shm = ofi->shm;

	if (likely(index < shm->peer_room))
		return &shm->peers[index];
	struct shm_peer *peers = realloc(shm->peers, ofi->address_room * sizeof *peers);
	if (!peers)
		return NULL;
	memset(peers + shm->peer_room, 0, (ofi->address_room - shm->peer_room) * sizeof *peers);
	shm->peers = peers;
	shm->peer_room = ofi->address_room;
	return &peers[index];
}

/* Its process is gone: to be removed by bury(). */
static void doom(struct shm *shm, struct shm_peer *peer)
{
	if (peer->state == SHM_DOOMED || peer->state == SHM_STRANGER)
		return;
	peer->state = SHM_DOOMED;
	shm->doomed++;
}

/* Has the process that we know gone, or another one taken its place? */
static bool is_gone(const struct ofi *ofi, transport_address index, const struct shm_peer *peer)
{
	const struct ofi_address *address = &ofi->addresses[index];
	uint64_t nonce;
	int error = shm_page_find(address->nid, address->port, &nonce, NULL);

	return error == -ENOENT || error == -EPERM || (!error && nonce != peer->page->nonce);
}

static void bury_one(struct ofi *ofi, transport_address index, struct shm_peer *peer)
{
	fi_addr_t number = ofi->addresses[index].number;
	bool met = number != FI_ADDR_NOTAVAIL;

	if (met) {
		fi_av_remove(ofi->av, &number, 1, 0);
		ofi_number_address(ofi, index, FI_ADDR_NOTAVAIL);
		ofi->shm->inserted--;
	}
	shm_page_unmap(peer->page);
	*peer = (struct shm_peer){.state = SHM_STRANGER};
	if (ofi->lone_rma && ofi->lone_rma->peer == index)
		ofi_rma_abandon(ofi, ofi->lone_rma, -ECONNRESET);
	if (met)
		ofi->sink->peer_gone(ofi->owner, index);
}

/*
 * From poll() only, when nothing is left to be received.  The errors that have no context are among that: they come
 * with the call that posts, so what is abandoned here has none to come that a later operation might be taken for.
 */
static void bury(struct ofi *ofi)
{
	struct shm *shm = ofi->shm;

	for (size_t i = 0; i < shm->peer_room && shm->doomed; i++)
		if (shm->peers[i].state == SHM_DOOMED) {
			shm->doomed--;
			bury_one(ofi, i, &shm->peers[i]);
		}
}

static void doom_the_gone(struct ofi *ofi)
{
	struct shm *shm = ofi->shm;

	for (size_t i = 0; i < shm->peer_room; i++)
		if (shm->peers[i].page && is_gone(ofi, i, &shm->peers[i]))
			doom(shm, &shm->peers[i]);
}

/*
 * All numbers are in use: those of the dead will be free after the next poll().  To look is a thousand system calls, so
 * whoever comes between two looks is told nothing (-EAGAIN) before the next one.
 */
static int find_room(struct ofi *ofi, struct shm_peer *peer)
{
	struct shm *shm = ofi->shm;
	uint64_t now = monotonic_ns();

	if (peer->waits_from == 0)
		peer->waits_from = now;
	if (now >= shm->looked_at + LOOK_NS) {
		shm->looked_at = now;
		doom_the_gone(ofi);
	}
	if (shm->doomed || shm->looked_at < peer->waits_from)
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
	if (shm_segment_check(address->nid, address->port))
		return -EAGAIN; /* its owner is just leaving, or somebody plays tricks */
	shm_provider_name(address->nid, address->port, name);
	int inserted = fi_av_insert(ofi->av, name, 1, &number, 0, NULL);

	/* An address that is in use: the segment has vanished since we looked. */
	if (inserted != 1 || ofi_source(ofi, number) != TRANSPORT_ADDRESS_UNKNOWN)
		return -EAGAIN;
	int error = ofi_number_address(ofi, index, number);
	if (error)
		return error;
	ofi->shm->inserted++;
	if (is_gone(ofi, index, peer)) { /* then it may not have been there in time */
		doom(ofi->shm, peer);
		return -EAGAIN;
	}
	return 0;
}

/* --- letters --- */

static void write_letter(struct ofi *ofi, transport_address index, struct shm_peer *peer, unsigned flags)
{
	struct shm *shm = ofi->shm;
	struct letter letter = {.magic = LETTER_MAGIC,
				.nid = ofi->nid,
				.port = ofi->port,
				.from = shm->page->nonce,
				.to = peer->page->nonce};

	if (ofi->addresses[index].number != FI_ADDR_NOTAVAIL)
		flags |= MET;
	if (peer->state == SHM_OPEN)
		flags |= OPEN;
	letter.flags = (uint16_t)flags;
	int error = send_to_bell(shm, peer->page, &letter, sizeof letter);

	if (error == -ECONNREFUSED)
		doom(shm, peer);
	else if (!error) /* after the letter; pairs with the acquire in read_letters() */
		atomic_fetch_add_explicit(&peer->page->letters, 1, memory_order_release);
}

/* Maps its page if we have not.  False: there is no such process, or another life of it. */
static bool recognise(struct ofi *ofi, transport_address index, struct shm_peer *peer, uint64_t nonce)
{
	const struct ofi_address *address = &ofi->addresses[index];
	uint64_t found;

	if (peer->state == SHM_DOOMED)
		return false;
	if (peer->state == SHM_STRANGER) {
		if (shm_page_find(address->nid, address->port, &found, &peer->page))
			return false;
		peer->state = SHM_SEEN;
	}
	if (peer->page->nonce == nonce)
		return true;
	if (is_gone(ofi, index, peer))
		doom(ofi->shm, peer);
	return false;
}

static void converse(struct ofi *ofi, transport_address index, struct shm_peer *peer, const struct letter *letter)
{
	bool for_us = letter->to == ofi->shm->page->nonce, advanced = false;
	bool known = ofi->addresses[index].number != FI_ADDR_NOTAVAIL;
	int error = insert(ofi, index, peer);

	if (peer->state == SHM_DOOMED)
		return;
	advanced = !error && !known;
	peer->full_until = error == -EUSERS || (for_us && (letter->flags & FULL)) ? monotonic_ns() + FULL_NS : 0;
	if (!error && for_us && (letter->flags & MET) && peer->state != SHM_OPEN) {
		peer->state = SHM_OPEN;
		advanced = true;
	}
	if (letter->flags & KNOCK || (advanced && !(letter->flags & OPEN)))
		write_letter(ofi, index, peer, error == -EUSERS ? FULL : 0);
}

static void read_letter(struct ofi *ofi, const struct letter *letter)
{
	transport_address index;
	uint64_t nonce;

	/* Whoever is not there gets no place in our tables. */
	if (letter->nid != ofi->nid ||
	    (!ofi_find_address(ofi, letter->nid, letter->port) &&
	     shm_page_find(letter->nid, letter->port, &nonce, NULL)) ||
	    ofi_make_address(ofi, letter->nid, letter->port, &index))
		return;
	struct shm_peer *peer = peer_at(ofi, index);

	if (peer && recognise(ofi, index, peer, letter->from))
		converse(ofi, index, peer, letter);
}

/* Empties the bell.  Returns how many letters there were. */
static int read_letters(struct ofi *ofi)
{
	struct shm *shm = ofi->shm;
	struct letter letter;
	enum mail mail;
	int count = 0;

	/* Before the letters; pairs with the release in write_letter(). */
	shm->letters = atomic_load_explicit(&shm->page->letters, memory_order_acquire);
	for (int i = 0; i < LETTERS_READ && (mail = take_mail(shm, &letter)) != MAIL_NONE; i++)
		if (mail == MAIL_LETTER) {
			read_letter(ofi, &letter);
			count++;
		}
	return count;
}

static bool have_mail(const struct shm *shm)
{
	return atomic_load_explicit(&shm->page->letters, memory_order_relaxed) != shm->letters;
}

/* --- before and after something is posted --- */

/*
 * Another interface of this process.  The provider would use its memory without mapping it again, also after it has
 * closed: a segmentation fault.
 */
static bool is_neighbour(const struct shm *shm, const struct shm_peer *peer)
{
	return memcmp(peer->page->process, shm->page->process, sizeof shm->page->process) == 0 &&
	       peer->page->nonce != shm->page->nonce;
}

static int knock(struct ofi *ofi, transport_address index, struct shm_peer *peer)
{
	const struct ofi_address address = ofi->addresses[index]; /* letters may make the table grow */
	uint64_t now = monotonic_ns(), nonce;

	if (peer->state == SHM_STRANGER) {
		if (address.nid != ofi->nid)
			return -EHOSTUNREACH;
		int error = shm_page_find(address.nid, address.port, &nonce, &peer->page);
		if (error)
			return error == -EPERM ? -EHOSTUNREACH : error == -ENOENT ? -ENOENT : -EAGAIN;
		peer->state = SHM_SEEN;
	}
	if (is_neighbour(ofi->shm, peer))
		return report_error(-EHOSTUNREACH, "provider shm does not connect two interfaces of one process");
	if (have_mail(ofi->shm) && read_letters(ofi) && peer_at(ofi, index)->state == SHM_OPEN)
		return 0;
	peer = peer_at(ofi, index);
	if (now < peer->full_until)
		return report_error(-EHOSTUNREACH,
				    "provider shm: this process or that at port %u has %d peers, and can have no more",
				    address.port, PEERS_GREATEST);
	if (peer->state == SHM_SEEN && now >= peer->knock_at) {
		peer->knock_at = now + KNOCK_NS;
		write_letter(ofi, index, peer, KNOCK);
	}
	return -EAGAIN;
}

/* Nothing has been heard of it for DUE_NS, though we have sent. */
static bool is_due(struct ofi_address *address, struct shm_peer *peer)
{
	if (address->heard) {
		address->heard = false;
		peer->due_at = 0;
		return false;
	}
	uint64_t now = coarse_ns(), due = peer->due_at;

	if (due == 0 || now >= due)
		peer->due_at = now + DUE_NS;
	return due != 0 && now >= due;
}

/* 0: it may be sent to; -EAGAIN; -ENOENT: nobody is there; -EHOSTUNREACH. */
static int reach(struct ofi *ofi, transport_address index)
{
	if (unlikely(index >= ofi->address_count))
		return -EHOSTUNREACH;
	struct shm_peer *peer = peer_at(ofi, index);

	if (unlikely(!peer))
		return -EAGAIN;
	if (unlikely(peer->state != SHM_OPEN))
		return knock(ofi, index, peer);
	if (likely(!is_due(&ofi->addresses[index], peer)) || !is_gone(ofi, index, peer))
		return 0;
	doom(ofi->shm, peer);
	return -ENOENT;
}

/* Wakes whom we have sent something, or, being refused, may have sent the provider's own introduction. */
static int wake(struct ofi *ofi, transport_address index, int result)
{
	struct shm_peer *peer = &ofi->shm->peers[index];

	/* What was sent before what is read; pairs with the fence in shm_arm(). */
	atomic_thread_fence(memory_order_seq_cst);
	uint32_t sleeping = atomic_load_explicit(&peer->page->sleeping, memory_order_relaxed);

	if (likely(sleeping == SHM_AWAKE || sleeping == peer->rung))
		return result;
	if (sleeping != SHM_CLOSED) {
		peer->rung = sleeping;
		if (send_to_bell(ofi->shm, peer->page, "", 1) != -ECONNREFUSED)
			return result;
	}
	doom(ofi->shm, peer);
	return -ENOENT;
}

/* --- the operations --- */

static int shm_send(struct transport *transport, transport_address to, const void *header, size_t header_length,
		    const struct iovec *payload, int count)
{
	int error = reach(ofi_of(transport), to);

	if (unlikely(error))
		return error;
	return wake(ofi_of(transport), to, ofi_send(transport, to, header, header_length, payload, count));
}

static int shm_read(struct transport *transport, transport_address to, void *local, size_t length,
		    const struct exposure *exposure, uint64_t remote, uint64_t key, void *context)
{
	int error = reach(ofi_of(transport), to);

	if (error)
		return error == -ENOENT ? -ECONNRESET : error;
	error = ofi_read(transport, to, local, length, exposure, remote, key, context);
	/* If it was taken its end comes by rdma_done(), even if the peer has gone. */
	wake(ofi_of(transport), to, error);
	return error;
}

static int shm_write(struct transport *transport, transport_address to, const void *local, size_t length,
		     const struct exposure *exposure, uint64_t remote, uint64_t key, void *context)
{
	int error = reach(ofi_of(transport), to);

	if (error)
		return error == -ENOENT ? -ECONNRESET : error;
	error = ofi_write(transport, to, local, length, exposure, remote, key, context);
	wake(ofi_of(transport), to, error);
	return error;
}

static void stay_awake(struct shm *shm)
{
	if (!shm->asleep)
		return;
	shm->asleep = false;
	atomic_store_explicit(&shm->page->sleeping, SHM_AWAKE, memory_order_relaxed);
}

/* A read goes on only if its target does. */
static void urge(struct ofi *ofi)
{
	uint32_t target = ofi->lone_rma->peer;
	struct shm_peer *peer = &ofi->shm->peers[target];

	if (peer->state != SHM_OPEN)
		return;
	wake(ofi, target, 0);
	if (is_due(&ofi->addresses[target], peer) && is_gone(ofi, target, peer))
		doom(ofi->shm, peer);
}

static int shm_poll(struct transport *transport, int budget)
{
	struct ofi *ofi = ofi_of(transport);
	struct shm *shm = ofi->shm;

	stay_awake(shm);
	int handled = ofi_poll(transport, budget);

	if (unlikely(have_mail(shm)))
		handled += read_letters(ofi);
	if (unlikely(ofi->lone_rma != NULL))
		urge(ofi);
	if (unlikely(shm->doomed) && handled < budget && ofi_fill_stash(ofi) == 0)
		bury(ofi);
	return handled;
}

static int shm_arm(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);
	struct shm *shm = ofi->shm;

	if (read_letters(ofi) || shm->doomed) /* a letter may have opened a peer for whom something waits */
		return -EAGAIN;
	do {
		shm->sleep++;
	} while (shm->sleep == SHM_AWAKE || shm->sleep == SHM_CLOSED);
	shm->asleep = true;
	atomic_store_explicit(&shm->page->sleeping, shm->sleep, memory_order_relaxed);
	/* The word before the look; pairs with the fence in wake(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (ofi_fill_stash(ofi) == 0)
		return ofi->lone_rma ? 1 : 0;
	stay_awake(shm);
	return -EAGAIN;
}

static int shm_wait_fd(const struct transport *transport)
{
	const struct ofi *ofi = (const struct ofi *)(const void *)transport;

	return ofi->shm ? ofi->shm->bell : -1;
}

static int shm_resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt,
		       transport_address *out)
{
	if (attempt >= OFI_CANDIDATES)
		return -ENOENT;
	return ofi_make_address(ofi_of(transport), nid, ofi_candidate_port(pid, attempt), out);
}

static int shm_probe(struct transport *transport, transport_address index)
{
	struct ofi *ofi = ofi_of(transport);
	struct shm_peer *peer = index < ofi->address_count ? peer_at(ofi, index) : NULL;
	uint64_t nonce;

	if (!peer)
		return 0;
	if (peer->state == SHM_STRANGER)
		return shm_page_find(ofi->addresses[index].nid, ofi->addresses[index].port, &nonce, NULL) == -ENOENT
			       ? -ECONNREFUSED
			       : 0;
	if (!is_gone(ofi, index, peer))
		return 0;
	doom(ofi->shm, peer);
	return -ECONNREFUSED;
}

/* --- life --- */

/* Whoever forks meanwhile, shm_forked() is not to close what has the number next. */
static void drop_name(struct shm *shm)
{
	int bell = shm->bell, lock = shm->lock;

	shm->bell = shm->lock = -1;
	if (shm->page)
		shm_page_drop(shm->page, lock);
	if (bell >= 0)
		close(bell);
	shm->page = NULL;
}

static int make_name(struct ofi *ofi)
{
	struct shm *shm = ofi->shm;
	int error = shm_page_claim(ofi->nid, ofi->port, &shm->page, &shm->lock);

	if (error == -EPERM)
		return ofi_refuse(ofi, error, "files for port %u in /dev/shm belong to another user", ofi->port);
	if (error)
		return error;
	int bell = make_bell(shm->page);

	if (bell < 0) {
		drop_name(shm);
		return bell;
	}
	shm->bell = bell;
	return 0;
}

int ofi_shm_take_name(struct ofi *ofi)
{
	char name[SHM_NAME_ROOM];

	drop_name(ofi->shm);
	int error = make_name(ofi);

	if (error)
		return error;
	shm_provider_name(ofi->nid, ofi->port, name);
	free(ofi->info->src_addr);
	ofi->info->src_addr = strdup(name);
	ofi->info->src_addrlen = strlen(name) + 1;
	return ofi->info->src_addr ? 0 : -ENOMEM;
}

static void shm_end(struct ofi *ofi)
{
	struct shm *shm = ofi->shm;

	ofi->shm = NULL;
	if (!shm)
		return;
	drop_name(shm);
	for (size_t i = 0; i < shm->peer_room; i++)
		shm_page_unmap(shm->peers[i].page);
	free(shm->peers);
	free(shm);
}

static void announce(struct ofi *ofi)
{
	ofi->base.limits.sleepable = true;
	ofi->base.limits.nap = NAP_US;
	shm_page_publish(ofi->shm->page);
}

static int shm_open_provider(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);

	struct shm *shm = calloc(1, sizeof *shm);

	if (!shm)
		return -ENOMEM;
	shm->bell = shm->lock = -1;
	ofi->shm = shm;
	shm_pages_sweep();
	int error = ofi_open(transport);

	if (error)
		shm_end(ofi);
	else
		announce(ofi);
	return error;
}

/*
 * Nobody is to come while we leave.  But the name stays ours until the endpoint is closed, because that removes the
 * segment by its name, whoever has it then.
 */
static void shm_close(struct transport *transport)
{
	struct ofi *ofi = ofi_of(transport);

	if (ofi->shm)
		shm_page_retire(ofi->shm->page);
	ofi_release(ofi);
	shm_end(ofi);
	ofi_close(transport);
}

static void shm_forked(struct transport *transport)
{
	const struct ofi *ofi = ofi_of(transport);

	if (ofi->shm && ofi->shm->bell >= 0)
		close(ofi->shm->bell);
	if (ofi->shm && ofi->shm->lock >= 0)
		close(ofi->shm->lock);
	ofi_forked(transport);
}

const struct transport_ops transport_ofi_shm = {
	.name = "ofi",
	.claim = ofi_claim,
	.open = shm_open_provider,
	.close = shm_close,
	.forked = shm_forked,
	.resolve = shm_resolve,
	.own_attempt = ofi_own_attempt,
	.send = shm_send,
	.read = shm_read,
	.write = shm_write,
	.expose = ofi_expose,
	.withdraw = ofi_withdraw,
	.poll = shm_poll,
	.arm = shm_arm,
	.unsent = ofi_unsent,
	.wait_fd = shm_wait_fd,
	.probe = shm_probe,
	.describe = ofi_describe,
};
