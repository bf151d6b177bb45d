/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two processes of a run: forked here, or met over TCP.  They talk over a stream socket, the control channel, that
 * is silent while anything is measured.
 */
#ifndef PTLBENCH_PEERS_H
#define PTLBENCH_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum role { INITIATOR, TARGET };

struct peers {
	enum role role;
	bool forked;
	int control;
	pid_t child; /* the forked target, at the initiator */
	int cpu[2];  /* of each role: the first CPU this process may use, and the second or again the first */
};

/* Which CPUs are there; called before anything is pinned. */
void peers_prepare(struct peers *peers);

/* Forks: returns in both processes.  The child dies with its parent, and the parent ends if the child fails. */
void peers_fork(struct peers *peers);

/* The same, prepared; the forked process runs be() and ends. */
void peers_start(struct peers *peers, void (*be)(struct peers *parent, const void *argument), const void *argument);

/* Waits on the TCP port `port` of the address `nid` (host byte order) for the one that connects; says so on stdout. */
void peers_listen(struct peers *peers, uint32_t nid, uint16_t port);

/* The same in two steps: a listening TCP socket, at any port if `*port` is 0, which becomes the one it has. */
int peers_open_port(uint32_t nid, uint16_t *port);
void peers_accept(struct peers *peers, int socket);

void peers_connect(struct peers *peers, uint32_t nid, uint16_t port);

/* Binds the calling thread to the CPU of its role.  Threads started earlier keep their freedom. */
void peers_pin(const struct peers *peers);

/* All is done: from now on neither side minds if the other one ends. */
void peers_part(struct peers *peers);

/* Closes the channel; the initiator waits until a forked target has ended. */
void peers_finish(struct peers *peers);

/* Stops the forked target; on return all its threads stand still. */
void peers_stop(const struct peers *peers);

/*
 * Kills the forked target, stopped or not, and closes the channel: an end that is not held against it.  Returns
 * monotonic_ns() just before.
 */
uint64_t peers_kill(struct peers *peers);

/* Exactly `size` bytes; ends the process if the other side is gone. */
void control_send(const struct peers *peers, const void *data, size_t size);
void control_receive(const struct peers *peers, void *data, size_t size);

/* One byte each way: both sides have come here. */
void control_meet(const struct peers *peers);

#endif
