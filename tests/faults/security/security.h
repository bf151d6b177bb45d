/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strangers at the door while honest processes talk.  In each test of a siege four processes play:
 *
 *   TALKER and TARGET exchange checked traffic from the beginning to the end: every message once, in order, unchanged;
 *   the NEWCOMER meets the target again and again, each time as a process that it has never met;
 *   the STRANGER attacks the target, and where it can the talker.
 *
 * What is measured goes to the file that PORTALS_TEST_FIGURES names.
 */
#ifndef TESTS_SECURITY_SECURITY_H
#define TESTS_SECURITY_SECURITY_H

#include "tests/support/peers.h"

enum part { TALKER, STRANGER, NEWCOMER, TARGET, PARTS };

#define SIEGE_SILENT 200 /* connections that a stranger keeps open at most; each costs the target a descriptor */

/* Whom the stranger sees, in its process. */
struct victims {
	ptl_process_id_t id[PARTS];
	uint16_t port[PARTS]; /* TCP; 0: none */
};

/* Runs again and again for some seconds; `again` counts from 0.  False: nothing of it left the stranger. */
typedef bool attack(const struct victims *, unsigned again);
/* By what the target tells that the attack arrived. */
/* TRACE_STALE_FORGOTTEN: newcomers may be forgotten, with what they have asked, for those who came after (docs/security.md). */
enum trace { NO_TRACE, TRACE_MALFORMED, TRACE_STALE, TRACE_STALE_FORGOTTEN };
/* Fails if no attack succeeded, or if it left no trace where one is due. */
#define siege(...) siege_at(__func__, __VA_ARGS__)
void siege_at(const char *name, attack *once, enum trace);
/* From inside an attack: the siege is long enough. */
bool siege_is_over(void);
/* From inside an attack: until the victims have spoken with each other once more, and so looked at what has come. */
void siege_await_exchange(void);

/* Of an interface over ofi; 0: of another. */
uint16_t tcp_port_of(ptl_handle_ni_t);

extern const struct test tcp_tests[], protocol_tests[], letter_tests[], trust_tests[];

#endif
