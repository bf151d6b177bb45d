/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The provider's TCP sockets, of which it does not tell: we find them among our descriptors.  Everything here is about
 * providers that have some; with others, the TCP port of our number may be the application's.
 *
 * SEVERING.  When a host vanishes, TCP retransmits for some 15 minutes before it gives up; so long the provider would
 * keep its reads, which may still write into the user's memory, and sends from there, and hold back whatever is meant for the successor.
 * Likewise a program that the peer has executed may hold its end of the connection long after it was killed.
 * When the engine has given up a peer, its connection is shut down; the provider sees the end of the stream, closes it
 * and reports its reads and sends as cancelled.  (TCP_USER_TIMEOUT would do it without us, but also to a living process that
 * computes with a full window; and what was sent to it would be lost.)
 *
 * Which socket is the peer's?
 *   - Connections that we made lead to its port: they are certain.
 *   - Those that it made come to our port from its host, from a port that the kernel chose.  If the provider is reading
 *     from the peer, or sends from the user's memory to it, and this is the only one from there, it is certain too.
 *     What the provider still does is known when its queue has been read to the end: until then the connection may be
 *     closed already, its reads failed unnoticed, and the only one left be another peer's.  So that is decided by poll()
 *     (ofi_sever_only()), about the one that was the only one when the engine asked: the peer itself may have come anew
 *     since.
 *   - Of several, those are dead on which what we sent is being retransmitted in vain and nothing was acknowledged for
 *     half of PTL_PEER_TIMEOUT (the PINGs of the other half have to be retransmitted first): not only this process but
 *     its host does not answer, and any other process on it that they belong to is as silent.  (Where PTL_PEER_TIMEOUT is 0 silence
 *     means nothing, and none are.)
 * So a process that stands still on a host that lives, beside another one that is connected to us, keeps its
 * connection, and our reads from it, and a send that waits for it, end when it goes on or dies.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_sleep.h"
#include "transports/ofi/ofi_sockets.h"
#include "transports/ofi/ofi_table.h"
#include "transports/ofi/ofi_watch.h"

#define EMPTY_LOOKS                                                                                                    \
	64 /* rxm takes one completion at a look from the provider below it, also of what was not asked for */
#define RETRANSMISSIONS                                                                                                \
	2 /* in vain: after 0.6 s at least, for the first comes after 0.2 s and the next after twice that */

static bool is_tcp(int fd)
{
	socklen_t size = sizeof(int);
	int domain = 0, type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* All TCP sockets of the process, the application's among them. */
static void for_each_socket(void (*act)(void *, int fd), void *argument)
{
	DIR *directory = opendir("/proc/self/fd");
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
		if (entry->d_name[0] != '.' && is_tcp(atoi(entry->d_name)))
			act(argument, atoi(entry->d_name));
	closedir(directory);
}

/*
 * The listener, or a connection that came to it.  No other socket can be at that address while the provider listens there;
 * where it does not, another may.
 */
static bool is_ours(const struct ofi *ofi, int fd)
{
	struct sockaddr_in name = {0};
	socklen_t length = sizeof(name);

	return getsockname(fd, (struct sockaddr *)&name, &length) == 0 && name.sin_port == htons(ofi->port) &&
	       name.sin_addr.s_addr == htonl(ofi->nid);
}

/* Connections that came to it have its name. */
static bool listens(int fd)
{
	socklen_t size = sizeof(int);
	int listening = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening;
}

/* Programs that we execute without fork() must not inherit it. */
static void note_listener(void *argument, int fd)
{
	struct ofi *ofi = argument;

	if (!is_ours(ofi, fd))
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (listens(fd))
		ofi->listener_fd = fd;
}

void ofi_note_listener(struct ofi *ofi)
{
	if (ofi->profile.tcp_sockets)
		for_each_socket(note_listener, ofi);
}

static void note_connection(void *argument, int fd)
{
	struct ofi_connections *noted = argument;
	struct stat status;

	if (fd == noted->ofi->listener_fd || !is_ours(noted->ofi, fd) || fstat(fd, &status) != 0)
		return;
	if (noted->count == noted->room) {
		unsigned room = noted->room ? 2 * noted->room : 16;
		void *longer = realloc(noted->list, room * sizeof(*noted->list));

		if (!longer)
			return;
		noted->list = longer;
		noted->room = room;
	}
	noted->list[noted->count++] = (struct ofi_connection){fd, status.st_ino};
}

struct ofi_connections ofi_note_connections(const struct ofi *ofi)
{
	struct ofi_connections noted = {.ofi = ofi};

	if (ofi->listener_fd >= 0)
		for_each_socket(note_connection, &noted);
	return noted;
}

static void sever_leftover(void *argument, int fd)
{
	if (is_ours(argument, fd))
		shutdown(fd, SHUT_RDWR);
}

/*
 * A connection whose handshake was under way when its endpoint closed stays open in libfabric 1.17, with nothing behind
 * it: the other side would take it for slow and wait for ever, and we would keep its descriptor.  It is closed only if its
 * number still means the socket that it meant while the provider listened: by now it may be any other.
 */
void ofi_end_leftovers(struct ofi *ofi, struct ofi_connections *noted, bool forgotten)
{
	struct stat status;

	if (ofi->listener_fd >= 0)
		for_each_socket(sever_leftover, ofi);
	for (unsigned i = 0; forgotten && i < noted->count; i++) {
		const struct ofi_connection *left = &noted->list[i];

		if (is_tcp(left->fd) && fstat(left->fd, &status) == 0 && status.st_ino == left->inode)
			close(left->fd);
	}
	free(noted->list);
}

/* Has the provider made this connection?  As far as one can tell: it leads to where a peer may be that is not forgotten. */
static bool leads_to_peer(const struct ofi *ofi, int fd)
{
	struct sockaddr_in name = {0};
	socklen_t length = sizeof(name);

	return getpeername(fd, (struct sockaddr *)&name, &length) == 0 &&
	       ofi_find_address(ofi, ntohl(name.sin_addr.s_addr), ntohs(name.sin_port));
}

static void close_inherited(void *argument, int fd)
{
	if (leads_to_peer(argument, fd) || is_ours(argument, fd))
		close(fd);
}

/*
 * Connections that we made to peers that are forgotten lead nowhere known.  The provider watches them all the same: sockets in
 * sets, and sets in these.  (The number under which it does may be another's, if a child keeps the socket alive.)
 */
static void close_watched(void *unused, const struct ofi_watched *entry)
{
	struct stat status;

	if (fstat(entry->fd, &status) || status.st_ino != entry->inode)
		return;
	if (is_tcp(entry->fd))
		close(entry->fd);
	else
		ofi_for_each_watched(entry->fd, close_watched, unused);
}

/* To the others they would look as if we lived, for as long as the child does. */
void ofi_close_sockets(struct ofi *ofi)
{
	if (ofi->listener_fd < 0)
		return;
	for_each_socket(close_inherited, ofi);
	if (ofi->cq_fd >= 0)
		ofi_for_each_watched(ofi->cq_fd, close_watched, NULL);
	for (unsigned i = 0; i < ofi->watched_count; i++)
		close_watched(NULL, &ofi->watched[i]);
	ofi->listener_fd = -1;
}

struct backlog {
	const struct ofi *ofi;
	unsigned connections; /* on which something is unacknowledged */
};

static void look_for_backlog(void *argument, int fd)
{
	struct backlog *backlog = argument;
	int bytes = 0;

	if ((leads_to_peer(backlog->ofi, fd) || is_ours(backlog->ofi, fd)) && ioctl(fd, SIOCOUTQ, &bytes) == 0)
		backlog->connections += bytes > 0;
}

/*
 * Closing a socket from which not everything was read resets the connection, and what the other side's kernel has not
 * acknowledged yet is lost, with what the provider holds behind it.
 */
unsigned ofi_count_backlogs(const struct ofi *ofi)
{
	struct backlog backlog = {.ofi = ofi};

	if (ofi->listener_fd >= 0)
		for_each_socket(look_for_backlog, &backlog);
	return backlog.connections;
}

struct search {
	const struct ofi *ofi;
	const transport_address *peers;
	unsigned count;
	bool certain;
	unsigned made, came; /* connections that lead to them, and that came from their hosts */
	int last_to_come;
};

static bool is_unheard(const struct ofi *ofi, int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	return ofi->peer_timeout > 0 && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
	       info.tcpi_retransmits + info.tcpi_probes >= RETRANSMISSIONS &&
	       info.tcpi_last_ack_recv >= ofi->peer_timeout / 2 / 1000000;
}

/* Can this connection be one of the peers'?  *made: it leads to its port. */
static bool may_be_theirs(const struct search *search, int fd, bool *made)
{
	struct sockaddr_in name = {0};
	socklen_t length = sizeof(name);
	bool host = false;

	*made = false;
	if (getpeername(fd, (struct sockaddr *)&name, &length) != 0)
		return false;
	for (unsigned i = 0; i < search->count && !*made; i++) {
		const struct ofi_address *peer = &search->ofi->addresses[search->peers[i]];
		bool same = name.sin_addr.s_addr == htonl(peer->nid);

		host |= same;
		*made = same && name.sin_port == htons(peer->port);
	}
	return *made || (host && is_ours(search->ofi, fd));
}

/* Of no other socket, ever, though the descriptor's number may be used again. */
static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : UINT64_MAX;
}

static void consider(void *argument, int fd)
{
	struct search *search = argument;
	bool made;

	if (!may_be_theirs(search, fd, &made))
		return;
	if (made) {
		search->made++;
	} else {
		search->came++;
		search->last_to_come = fd;
	}
	if ((made && search->certain) || is_unheard(search->ofi, fd))
		shutdown(fd, SHUT_RDWR);
}

void ofi_sever_unheard(struct transport *transport, const transport_address *peers, unsigned count)
{
	UNCANCELLED;
	struct ofi *ofi = ofi_of(transport);
	struct search search = {.ofi = ofi, .peers = peers, .count = count};

	if (ofi->listener_fd >= 0)
		for_each_socket(consider, &search);
}

void ofi_sever(struct transport *transport, transport_address to)
{
	UNCANCELLED;
	struct ofi *ofi = ofi_of(transport);
	struct search search = {.ofi = ofi, .peers = &to, .count = 1, .certain = true};

	if (ofi->listener_fd < 0 || to >= ofi->address_count)
		return;
	for_each_socket(consider, &search);
	if (search.made > 0 || search.came != 1 || !ofi_is_occupied(&ofi->addresses[to]))
		return;
	ofi->doubts += ofi->addresses[to].suspect == 0;
	ofi->addresses[to].suspect = cookie_of(search.last_to_come);
}

static void sever_only(struct ofi *ofi, transport_address to)
{
	struct search search = {.ofi = ofi, .peers = &to, .count = 1};
	uint64_t suspect = ofi->addresses[to].suspect;

	ofi->addresses[to].suspect = 0;
	ofi->doubts--;
	if (!ofi_is_occupied(&ofi->addresses[to]))
		return;
	for_each_socket(consider, &search);
	if (search.made == 0 && search.came == 1 && cookie_of(search.last_to_come) == suspect)
		shutdown(search.last_to_come, SHUT_RDWR);
}

void ofi_sever_only(struct ofi *ofi)
{
	for (int i = 0; i < EMPTY_LOOKS; i++)
		if (ofi_fill_stash(ofi))
			return;
	for (size_t to = 0; to < ofi->address_count; to++)
		if (ofi->addresses[to].suspect)
			sever_only(ofi, to);
}
