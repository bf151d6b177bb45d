/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Portals processes as tests see them: an interface each, all ids, a part to play, and short words for what
 * nearly every test does.  Rank 0 is the initiator and the last rank the target; over transport self one process is
 * both, so a test written as "if I am the target ... if I am the initiator ..." runs over every transport.
 */
#ifndef TESTS_PEERS_H
#define TESTS_PEERS_H

#include <portals3.h>
#include <portals3_nic.h>

#include "tests/support/harness.h"

enum trait {
	TRAIT_PAIR = 1,            /* two parts, played by one process over transport self */
	TRAIT_SEVERAL = 2,         /* makes no sense with one process */
	TRAIT_NIC_THREAD = 4,      /* makes no sense in host mode */
	TRAIT_HOST_MODE = 8,       /* makes sense in host mode only */
	TRAIT_BARE = 16,           /* calls PtlInit and PtlNIInit itself */
	TRAIT_SELF = 32,           /* makes sense over transport self only */
	TRAIT_NIGHTLY = 64,        /* too long for every day in every combination */
	TRAIT_NETWORK = 128,       /* needs a transport that reaches other processes */
	TRAIT_SLEEPS = 256,        /* makes no sense in dedicated mode, whose NIC thread never sleeps */
	TRAIT_NO_TSAN = 512,       /* the thread sanitizer forbids new threads in a forked child, and delays signals */
	TRAIT_NO_SANITIZER = 1024, /* what it counts or does is disturbed by a sanitizer's run-time */
	TRAIT_ROOT = 2048,         /* takes another user's id */
	TRAIT_HUGE = 32768,        /* exposes memory that is not touched, which a device that pins it does */
	TRAIT_USERS = 4096,        /* needs a transport that other users can reach */
	TRAIT_OFI = 8192,          /* is about providers of libfabric */
	TRAIT_NODE = 16384,        /* is about transport node */
	TRAIT_NUMA = 131072,       /* needs two NUMA nodes with CPUs */
	TRAIT_STANDING = 65536,    /* waits for half a minute: named by --only, beside others that wait, or at night */
};

/* Rows of a table of tests. */
#define ALONE(test)                                                                                                    \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1                                                             \
	}
#define PAIR(test)                                                                                                     \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_PAIR                                       \
	}
#define TWO(test)                                                                                                      \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 2, .traits = TRAIT_SEVERAL                                    \
	}

#define INDEX      4 /* the portal table entry tests use */
#define INDEX_SIDE 9 /* another one */
#define BITS       0x5ca1ab1eu
#define LONG       (1u << 20)                            /* longer than any transport's short message */
#define PATIENCE   (30000 * SLOWNESS * machine_slowness) /* ms until an event that must come is missed */
#define QUIET      (PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE)

extern ptl_handle_ni_t ni;
extern ptl_process_id_t id_of[MAX_PROCESSES];
extern const ptl_process_id_t anyone;

bool am_initiator(void);
bool am_target(void);
ptl_process_id_t initiator_id(void);
ptl_process_id_t target_id(void);
/* Configuration of this run. */
bool over_self(void);
bool over_transport(const char *transport);
bool in_mode(const char *mode);
/* --nightly: tests may take their time. */
bool at_night(void);

/* With --hosts: takes the calling process, which has one thread and no interface, to the host that rank 0 is not on. */
void enter_other_host(void);
/* Opens the interface in `ni`; PTL_PID_ANY or a pid. */
void open_interface(ptl_pid_t pid);
/* A pid that no other process uses; `series`, below 256, tells those of one process apart. */
ptl_pid_t own_pid(unsigned series);
/* A process that does not exist and never will. */
ptl_process_id_t nobody(void);
/* Tells all others our id and learns theirs.  A process without an interface brings {0, 0}. */
void exchange_ids(void);
/* The same before there is an interface, which is to be opened with own_pid(series). */
void announce_ids(unsigned series);
/* Makes barrier() drive the engine where no NIC thread does. */
void drive_while_waiting(void);
/* The queue barrier() uses for that, or PTL_INVALID_HANDLE. */
ptl_handle_eq_t idle_queue(void);
/* What the open interface grants. */
ptl_ni_limits_t limits_in_force(void);

/* ---- Checks with Portals' codes and events in words ---- */

#define CHECK_RC(call, code)                                                                                           \
	do {                                                                                                           \
		harness_here(__FILE__, __LINE__);                                                                      \
		check_code_at(__FILE__, __LINE__, #call, call, code);                                                  \
	} while (0)
#define CHECK_OK(call)                     CHECK_RC(call, PTL_OK)
#define CHECK_ID(actual, expected)         check_id_at(__FILE__, __LINE__, #actual, actual, expected)
#define CHECK_PATTERN(bytes, length, seed) check_pattern_at(__FILE__, __LINE__, bytes, length, seed)

void check_code_at(const char *file, int line, const char *text, int actual, int expected);
void check_id_at(const char *file, int line, const char *text, ptl_process_id_t actual, ptl_process_id_t expected);
void check_pattern_at(const char *file, int line, const void *bytes, size_t length, unsigned seed);

/* ---- Memory ---- */

void fill_pattern(void *bytes, size_t length, unsigned seed);
/* Zeroed memory; freed when the process ends. */
void *memory(size_t length);
ptl_md_t md_over(void *start, size_t length, unsigned options, ptl_handle_eq_t eq);
/* The same with another threshold than PTL_MD_THRESH_INF. */
ptl_md_t with_threshold(ptl_md_t md, int threshold);

/* Lengths of a message that travels with its header and of one that does not. */
extern const size_t short_and_long[2];

/* ---- Objects; each fails the test unless the call returns PTL_OK ---- */

struct window {
	ptl_handle_me_t me;
	ptl_handle_md_t md;
};

#define new_eq(count)      new_eq_at(__FILE__, __LINE__, count)
#define bind_md(md)        bind_md_at(__FILE__, __LINE__, md, PTL_RETAIN)
#define bind_mortal_md(md) bind_md_at(__FILE__, __LINE__, md, PTL_UNLINK)
/* At the end of the list of INDEX, for anyone with exactly these bits; entry and descriptor stay. */
#define open_window(bits, md)           open_window_at(__FILE__, __LINE__, INDEX, bits, md, PTL_RETAIN)
#define open_window_on(index, bits, md) open_window_at(__FILE__, __LINE__, index, bits, md, PTL_RETAIN)
/* ... both go away when the descriptor is used up. */
#define open_mortal_window(bits, md) open_window_at(__FILE__, __LINE__, INDEX, bits, md, PTL_UNLINK)
#define close_window(window)         close_window_at(__FILE__, __LINE__, window)

ptl_handle_eq_t new_eq_at(const char *file, int line, ptl_size_t count);
ptl_handle_md_t bind_md_at(const char *file, int line, ptl_md_t md, ptl_unlink_t unlink);
struct window open_window_at(const char *file, int line, ptl_pt_index_t index, ptl_match_bits_t bits, ptl_md_t md,
			     ptl_unlink_t unlink);
void close_window_at(const char *file, int line, struct window window);
/* Unlinks a descriptor that may be in use for a moment still. */
#define unlink_soon(md) unlink_soon_at(__FILE__, __LINE__, md)
void unlink_soon_at(const char *file, int line, ptl_handle_md_t md);
/* A descriptor as it is now. */
ptl_md_t state_of(ptl_handle_md_t md);
/* Binds so many descriptors like this one that the places of those unlinked before are taken again. */
void take_freed_places(ptl_md_t md);

/* ---- Operations towards the target, on INDEX, access control entry 0 ---- */

#define put(md, ack, bits)                   CHECK_OK(PtlPut(md, ack, target_id(), INDEX, 0, bits, 0, 0))
#define put_word(md, ack, bits, offset, hdr) CHECK_OK(PtlPut(md, ack, target_id(), INDEX, 0, bits, offset, hdr))
#define get(md, bits)                        CHECK_OK(PtlGet(md, target_id(), INDEX, 0, bits, 0))

/* ---- Events ---- */

/* The next event, which must come within PATIENCE, be of this kind and tell no failure. */
#define take(eq, kind) take_at(__FILE__, __LINE__, eq, kind, false)
/* ... and tell a failure. */
#define take_failed(eq, kind) take_at(__FILE__, __LINE__, eq, kind, true)
/* The next event, whatever it is. */
#define take_any(eq)    take_any_at(__FILE__, __LINE__, eq)
#define CHECK_EMPTY(eq) check_empty_at(__FILE__, __LINE__, eq)
/* Waits until this interface has dropped `count` messages since it was opened; more is a failure. */
#define await_drops(count) await_drops_at(__FILE__, __LINE__, count)

ptl_event_t take_at(const char *file, int line, ptl_handle_eq_t eq, ptl_event_kind_t kind, bool failed);
ptl_event_t take_any_at(const char *file, int line, ptl_handle_eq_t eq);
void check_empty_at(const char *file, int line, ptl_handle_eq_t eq);
void await_drops_at(const char *file, int line, long long count);
ptl_sr_value_t drops(void);
/* Lets the engine work for a millisecond. */
void lend_time(void);

/* Sends one acknowledged, empty put from `ni` to a peer's INDEX and waits for the ACK: everything before it to that
   peer has been matched. The peer must have called open_door(). */
#define ping(peer) ping_at(__FILE__, __LINE__, peer)
void ping_at(const char *file, int line, ptl_process_id_t peer);
/* The same until it is heard, where first contact may take longer than PTL_CONNECT_TIMEOUT, or where the peer may be a new
   process: what was sent to the old one is lost without a word. */
#define ping_until_answered(peer) ping_until_answered_at(__FILE__, __LINE__, peer)
void ping_until_answered_at(const char *file, int line, ptl_process_id_t peer);
/* A window on INDEX_SIDE that accepts any number of pings and logs nothing. */
void open_door(void);
/* The interface works: a word sent to this process itself arrives. */
void put_to_myself(void);

/* Where tests can run: every transport in every mode of the NIC.  A new one is a line in its table; NULL ends it. */
extern const char *const transports[], *const nic_modes[];
/* Why the test makes no sense there, or NULL if it does. */
const char *unfit_for(const struct test *, const char *over, const char *in);

/* main() of a program that runs tables of tests: over one transport in one mode, or, where none is named, in all. */
int peers_main(int argc, char **argv, const struct test *const *tables, int (*list)(const struct test *const *));
/* Called before: the tables `--core` is content with, for transports on which everything would take too long. */
void peers_core(const struct test *const *tables);
/* Called before: rank r runs on host r % count, and enter() takes it there; PTL_IFACE is HOST_DEVICE (host.h). */
void peers_on_hosts(int count, void (*enter)(int host));
/* Instead: nothing can be tested here.  Returns the exit code of the program. */
int peers_skip(const char *name, const char *reason);
/* The usual `list`: the names. */
int list_names(const struct test *const *tables);

/* ---- For programs that run tests their own way ---- */

/* Saves every process forked from now on the long first call of libfabric. */
void initialise_libfabric_once(void);
/* Tests started from now on run over this transport in this mode ... */
void peers_choose(const char *wanted_transport, const char *wanted_mode);
/* ... in processes with an interface each, which know each other's ids. */
struct harness peers_harness(const struct test *const *tables);

#endif
