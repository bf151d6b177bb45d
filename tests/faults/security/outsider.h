/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An attacker that is no Portals process: a TCP client that says anything to the port of one, and an
 * endpoint of the same provider that speaks the engine's protocol, or something like it.
 */
#ifndef TESTS_SECURITY_OUTSIDER_H
#define TESTS_SECURITY_OUTSIDER_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/wire.h"
#include "tests/support/peers.h"

/* Reproducible noise. */
uint32_t noise(void);
void noise_fill(void *bytes, size_t length);

/* --- plain TCP --- */

/* Connected to the port on the loopback, or -1. */
int tcp_connect(uint16_t port);
/* What the provider says first where it connects to: at most `size` bytes; returns how many. */
size_t tcp_record_greeting(void *bytes, size_t size);

/* --- libfabric --- */

struct outsider;

/* Listens at one of the ports of the pid, which may be any process's; so it can be answered. */
struct outsider *outsider_open(uint32_t pid);
void outsider_close(struct outsider *);
fi_addr_t outsider_towards(struct outsider *, uint16_t port);
/* False: the provider has not taken it within 5 s. */
bool outsider_say(struct outsider *, fi_addr_t, const void *bytes, size_t length);
bool outsider_say_message(struct outsider *, fi_addr_t, const struct wire_message *);
/* The next message that is one within `ms`; its body is valid until the next call. */
bool outsider_hear(struct outsider *, unsigned ms, struct wire_message *);
/* Reads exposed memory.  0 or a negative code of libfabric; -FI_EAGAIN: no answer within `ms`. */
int outsider_read(struct outsider *, fi_addr_t, uint64_t address, uint64_t key, void *to, size_t length, unsigned ms);

/* HELLO of (nid, pid) to `wanted`, as its first attempt's address would be; tag and incarnation are noise. */
struct wire_message outsider_hello(const struct outsider *, ptl_process_id_t claimed, ptl_process_id_t wanted);
/* Becomes a peer in the ordinary way; returns its WELCOME. */
struct wire_message outsider_meet(struct outsider *, fi_addr_t, ptl_process_id_t wanted, struct wire_message *hello);
ptl_process_id_t outsider_id(const struct outsider *);

#endif
