/* SPDX-License-Identifier: BSD-3-Clause */
#include "peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arch.h"
#include "fail.h"

void peers_prepare(struct peers *peers)
{
	cpu_set_t allowed;
	int found = 0;

	*peers = (struct peers){.control = -1, .cpu = {-1, -1}};
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			peers->cpu[found++] = cpu;
	if (found == 1)
		peers->cpu[TARGET] = peers->cpu[INITIATOR];
}

void peers_pin(const struct peers *peers)
{
	cpu_set_t one;
	int cpu = peers->cpu[peers->role];

	CPU_ZERO(&one);
	if (cpu < 0)
		return;
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static volatile pid_t killed; /* by us: its end is no failure */

/*
 * A target that fails says why itself and exits with 1; one that crashed cannot.  Either way the initiator would wait
 * for ever for its messages.
 */
static void target_ended(int signal_number)
{
	static const char line[] = "ptlbench: the target process crashed\n";
	int status;
	pid_t pid;

	(void)signal_number;
	if ((pid = waitpid(-1, &status, WNOHANG)) <= 0 || pid == killed)
		return;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFSIGNALED(status) && write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		_exit(1);
	_exit(1);
}

void peers_fork(struct peers *peers)
{
	struct sigaction action = {.sa_handler = target_ended, .sa_flags = SA_RESTART};
	int ends[2];
	pid_t parent = getpid();

	peers->forked = true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		fail("cannot make a socket pair: %s", strerror(errno));
	sigaction(SIGCHLD, &action, NULL);
	pid_t child = fork();
	if (child < 0)
		fail("cannot fork the target: %s", strerror(errno));
	peers->role = child ? INITIATOR : TARGET;
	peers->child = child;
	peers->control = ends[peers->role];
	close(ends[!peers->role]);
	if (child)
		return;
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

void peers_start(struct peers *peers, void (*be)(struct peers *parent, const void *argument), const void *argument)
{
	peers_prepare(peers);
	fflush(stdout); /* what waits there would be printed twice */
	peers_fork(peers);
	if (peers->role == INITIATOR)
		return;
	be(peers, argument);
	exit(0);
}

static int watched; /* the control channel, for the handler */

static void channel_event(int signal_number)
{
	static const char line[] = "ptlbench: the other side is gone\n";
	char byte;

	(void)signal_number;
	if (recv(watched, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return;
	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		_exit(1);
	_exit(1);
}

/* A side that waits for messages would not see that the other one has died. */
static void watch_channel(int fd)
{
	struct sigaction action = {.sa_handler = channel_event, .sa_flags = SA_RESTART};

	watched = fd;
	sigaction(SIGIO, &action, NULL);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETFL, O_ASYNC);
}

static struct sockaddr_in address_of(uint32_t nid, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(nid)};
}

static const char *address_text(uint32_t nid)
{
	static char text[INET_ADDRSTRLEN];
	struct in_addr address = {.s_addr = htonl(nid)};

	inet_ntop(AF_INET, &address, text, sizeof(text));
	return text;
}

static int tcp_socket(void)
{
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("cannot make a TCP socket: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return fd;
}

int peers_open_port(uint32_t nid, uint16_t *port)
{
	struct sockaddr_in address = address_of(nid, *port);
	socklen_t length = sizeof(address);
	int fd = tcp_socket();

	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&address, &length))
		fail("cannot listen at %s:%u: %s", address_text(nid), *port, strerror(errno));
	*port = ntohs(address.sin_port);
	return fd;
}

void peers_accept(struct peers *peers, int socket)
{
	peers->role = TARGET;
	do
		peers->control = accept4(socket, NULL, NULL, SOCK_CLOEXEC);
	while (peers->control < 0 && errno == EINTR);
	if (peers->control < 0)
		fail("cannot accept a connection: %s", strerror(errno));
	close(socket);
	watch_channel(peers->control);
}

void peers_listen(struct peers *peers, uint32_t nid, uint16_t port)
{
	int fd = peers_open_port(nid, &port);

	printf("listening: ptlbench TEST --connect %s:%u\n", address_text(nid), port);
	fflush(stdout);
	peers_accept(peers, fd);
}

void peers_connect(struct peers *peers, uint32_t nid, uint16_t port)
{
	struct sockaddr_in address = address_of(nid, port);

	peers->role = INITIATOR;
	peers->control = tcp_socket();
	if (connect(peers->control, (struct sockaddr *)&address, sizeof(address)))
		fail("no process listens at %s:%u: %s", address_text(nid), port, strerror(errno));
	watch_channel(peers->control);
}

void peers_part(struct peers *peers)
{
	signal(SIGCHLD, SIG_DFL);
	signal(SIGIO, SIG_IGN);
	control_meet(peers);
}

void peers_finish(struct peers *peers)
{
	int status = 0;

	close(peers->control);
	if (peers->role == INITIATOR && peers->forked)
		while (wait(&status) < 0 && errno == EINTR)
			;
	if (WIFSIGNALED(status))
		fail("the target process crashed while it ended");
}

void peers_stop(const struct peers *peers)
{
	int status;

	kill(peers->child, SIGSTOP);
	while (waitpid(peers->child, &status, WUNTRACED) < 0 && errno == EINTR)
		;
}

uint64_t peers_kill(struct peers *peers)
{
	int status;

	killed = peers->child;
	uint64_t now = monotonic_ns();
	kill(peers->child, SIGKILL);
	while (waitpid(peers->child, &status, 0) < 0 && errno == EINTR)
		;
	close(peers->control);
	return now;
}

/* The initiator that we forked has said on stderr why it ends; another one has not. */
static void __attribute__((noreturn)) other_side_gone(const struct peers *peers)
{
	if (peers->forked && peers->role == TARGET)
		_exit(1);
	if (peers->forked)
		pause(); /* target_ended() knows more, and ends us */
	fail("the other side closed the connection");
}

void control_send(const struct peers *peers, const void *data, size_t size)
{
	for (const char *from = data; size;) {
		ssize_t sent = send(peers->control, from, size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			other_side_gone(peers);
		from += sent;
		size -= (size_t)sent;
	}
}

void control_receive(const struct peers *peers, void *data, size_t size)
{
	for (char *to = data; size;) {
		ssize_t received = recv(peers->control, to, size, 0);
		if (received < 0 && errno == EINTR)
			continue;
		if (received <= 0)
			other_side_gone(peers);
		to += received;
		size -= (size_t)received;
	}
}

void control_meet(const struct peers *peers)
{
	char token = 0;

	control_send(peers, &token, sizeof(token));
	control_receive(peers, &token, sizeof(token));
}
