/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport for one interface and as many peers as memory allows, none of which is a process: what they say is made up
 * when the engine polls, and what is said to them is looked at and thrown away.  It stands in for libfabric: the program is
 * linked with --wrap=transport_ofi.
 *
 * Peer i has the pid SYNTHETIC_PID + i of our own node, and address i.
 */
#ifndef BENCH_SYNTHETIC_H
#define BENCH_SYNTHETIC_H

#include <portals3.h>
#include <stdbool.h>
#include <stdint.h>

#define SYNTHETIC_INDEX 4 /* portal table entry of what is put */

/*
 * One interface in host mode, for at most that many peers.  `compact`: messages leave out their source, as node's do.
 */
ptl_handle_ni_t synthetic_open(uint32_t most, bool compact);
void synthetic_close(void);
ptl_process_id_t synthetic_id(uint32_t peer);

/* What the peers do next; returns when the engine has handled it all. */
void synthetic_greet(uint32_t first, uint32_t count); /* HELLO, and one put behind the WELCOME */
void synthetic_put(uint64_t count, uint32_t among, uint64_t match_bits,
		   bool acknowledged);                /* by peers below `among`, at random */
void synthetic_leave(uint32_t first, uint32_t count); /* their ends are told */
void synthetic_idle(uint64_t drives);

/* Makes up as many puts and drops them: what the script itself costs. */
void synthetic_rehearse(uint64_t count, uint32_t among);

/* Peers that every drive of the engine asks whether something can be sent to them. */
uint32_t synthetic_asked(void);
/* Puts that the engine has received and not dropped. */
uint64_t synthetic_accepted(void);

#endif
