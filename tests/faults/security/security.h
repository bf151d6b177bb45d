/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outsiders at the door while honest processes talk.  In each test of an attack four processes play:
 *
 *   TALKER and TARGET exchange checked traffic from the beginning to the end: every message once, in order, unchanged;
 *   the NEWCOMER meets the target again and again, each time as a process that it has never met;
 *   the OUTSIDER attacks the target, and where it can the talker.
 *
 * What is measured goes to the file that PORTALS_TEST_FIGURES names.
 */
#ifndef TESTS_SECURITY_SECURITY_H
#define TESTS_SECURITY_SECURITY_H

#include "tests/support/peers.h"

enum part { TALKER, OUTSIDER, NEWCOMER, TARGET, PARTS };

#define ATTACK_SILENT 200 /* connections that an outsider keeps open at most; each costs the target a descriptor */

/* The peer that the outsider sees, in its process. */
struct victims {
	ptl_process_id_t id[PARTS];
	uint16_t port[PARTS]; /* TCP; 0: none */
};

/* Runs again and again for some seconds; `again` counts from 0.  False: nothing of it left the outsider. */
typedef bool attack(const struct victims *, unsigned again);
/* By what the target tells that the attack arrived. */
/* TRACE_STALE_FORGOTTEN: newcomers may be forgotten, with what they have asked, for those that came after (docs/security.md). */
enum trace { NO_TRACE, TRACE_MALFORMED, TRACE_STALE, TRACE_STALE_FORGOTTEN };
/* Fails if no attack succeeded, or if it left no trace where one is due. */
#define run_attack(...) run_attack_at(__func__, __VA_ARGS__)
void run_attack_at(const char *name, attack *once, enum trace);
/* From inside an attack: the attack is long enough. */
bool attack_is_over(void);
/* From inside an attack: until the victims have spoken with each other once more, and so looked at what has come. */
void attack_await_exchange(void);

/* Of an interface over ofi; 0: of another. */
uint16_t tcp_port_of(ptl_handle_ni_t);

extern const struct test tcp_tests[], protocol_tests[], control_tests[], trust_tests[];

#endif
