/* SPDX-License-Identifier: BSD-3-Clause */
/* 2 What all functions have in common; 2.1 library and interfaces; 2.2 identity. */
#include "tests/conformance/conformance.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NONE   PTL_INVALID_HANDLE
#define REUSES 100 /* times the slot of a dead object is used again */

static const struct row rows[] = {
	{"2/1", "every function returns an int, except PtlFini, which returns nothing"},
	{"2/2", "every function returns PTL_NO_INIT before PtlInit and after PtlFini"},
	{"2/3", "NULL where a result has to be written gives PTL_SEGV, even before PtlInit"},
	{"2/4", "no function waits for another process but PtlEQWait, and PtlEQPoll with a timeout"},
	{"2/5", "each call is atomic with respect to other threads"},
	{"2/6", "each call is atomic with respect to operations that arrive"},
	{"2/7", "a handle whose object is gone gives the *_INVALID code of the kind wanted, whatever took its place"},
	{"2/8",
	 "a handle of another kind of object, and any other number, gives the *_INVALID code of the kind wanted"},
	{"2.1/1", "PtlInit(int *max_interfaces) comes before everything else and may be repeated, with PTL_OK"},
	{"2.1/2", "PtlInit writes at every call how many interfaces can be initialised, and so many can"},
	{"2.1/3", "PtlInit returns PTL_FAIL if initialisation failed"},
	{"2.1/4", "PtlInit returns PTL_SEGV for NULL"},
	{"2.1/5", "PtlFini ends the library and every interface; PtlInit may start it anew"},
	{"2.1/6", "PtlFini without PtlInit, or repeated, does nothing"},
	{"2.1/7",
	 "PtlNIInit(interface, pid, desired, actual, ni_handle) opens an interface; each has an identity and tables "
	 "of its own"},
	{"2.1/8",
	 "PtlNIInit repeated, from any thread, ignores pid and desired and gives PTL_OK, the handle and the limits "
	 "of the first"},
	{"2.1/9", "interfaces are not counted: one PtlNIFini ends what any number of PtlNIInit gave"},
	{"2.1/10", "pid is the process id wanted, and with PTL_PID_ANY a free one is chosen"},
	{"2.1/11", "desired is a hint and may be NULL; actual receives the limits in force unless it is NULL"},
	{"2.1/12", "the first interface makes its pid the process's job id if the runtime gave none"},
	{"2.1/13", "PtlNIInit returns PTL_IFACE_INVALID for an interface it does not know"},
	{"2.1/14", "PtlNIInit returns PTL_PID_INVALID for a pid that is taken, by this or another process of the node"},
	{"2.1/15", "PtlNIInit returns PTL_NO_SPACE if there is no memory for an interface"},
	{"2.1/16", "PtlNIInit returns PTL_SEGV if ni_handle is NULL, and writes it only on success"},
	{"2.1/17", "PtlNIFini(ni_handle) frees all objects of the interface, no other's; PTL_NI_INVALID if it is none"},
	{"2.1/18", "PtlNIStatus(ni_handle, register_index, status) reads a status register"},
	{"2.1/19", "PtlNIStatus returns PTL_NI_INVALID, PTL_SR_INDEX_INVALID or PTL_SEGV for a bad argument"},
	{"2.1/20",
	 "PtlNIDist(ni_handle, process, distance) is a static measure: the nearer the smaller, contact not needed"},
	{"2.1/21", "PtlNIDist returns PTL_NI_INVALID, PTL_PROCESS_INVALID or PTL_SEGV for a bad argument"},
	{"2.1/22", "PtlNIHandle(handle, ni_handle) gives the interface of any object, of an interface itself"},
	{"2.1/23", "PtlNIHandle returns PTL_HANDLE_INVALID for what is no object, PTL_SEGV for NULL"},
	{"2.2/1", "PtlGetUid(ni_handle, uid) gives the user id on this interface: the effective user id, no more"},
	{"2.2/2", "PtlGetId(ni_handle, id) gives the nid and pid under which this process is reached on the interface"},
	{"2.2/3", "PtlGetJid(ni_handle, jid) gives the job id that the runtime chose"},
	{"2.2/4", "PtlGetUid, PtlGetId and PtlGetJid return PTL_NI_INVALID for a bad handle, PTL_SEGV for NULL"},
	{0},
};

SIGNATURE(PtlInit, int(int *));
SIGNATURE(PtlFini, void(void));
SIGNATURE(PtlNIInit, int(ptl_interface_t, ptl_pid_t, ptl_ni_limits_t *, ptl_ni_limits_t *, ptl_handle_ni_t *));
SIGNATURE(PtlNIFini, int(ptl_handle_ni_t));
SIGNATURE(PtlNIStatus, int(ptl_handle_ni_t, ptl_sr_index_t, ptl_sr_value_t *));
SIGNATURE(PtlNIDist, int(ptl_handle_ni_t, ptl_process_id_t, unsigned long *));
SIGNATURE(PtlNIHandle, int(ptl_handle_any_t, ptl_handle_ni_t *));
SIGNATURE(PtlGetUid, int(ptl_handle_ni_t, ptl_uid_t *));
SIGNATURE(PtlGetId, int(ptl_handle_ni_t, ptl_process_id_t *));
SIGNATURE(PtlGetJid, int(ptl_handle_ni_t, ptl_jid_t *));

/* Where results go. */
static ptl_handle_any_t handle;
static ptl_event_t event;
static ptl_process_id_t id;
static ptl_sr_value_t value;
static ptl_pt_index_t pt_index;
static unsigned long distance;
static int number;
static uint32_t word;

static char bytes[64];

/* ---- 2 Common rules ---- */

#define OF_INTERFACES(X)                                                                                               \
	X(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &handle))                                              \
	X(PtlNIFini(NONE))                                                                                             \
	X(PtlNIStatus(NONE, 0, &value))                                                                                \
	X(PtlNIDist(NONE, id, &distance))                                                                              \
	X(PtlNIHandle(NONE, &handle))                                                                                  \
	X(PtlGetUid(NONE, &word))                                                                                      \
	X(PtlGetId(NONE, &id))                                                                                         \
	X(PtlGetJid(NONE, &word))                                                                                      \
	X(PtlACEntry(NONE, 0, id, 0, 0, 0))
#define OF_OBJECTS(X)                                                                                                  \
	X(PtlMEAttach(NONE, 0, id, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &handle))                                          \
	X(PtlMEAttachAny(NONE, &pt_index, id, 0, 0, PTL_RETAIN, &handle))                                              \
	X(PtlMEInsert(NONE, id, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &handle))                                             \
	X(PtlMEUnlink(NONE))                                                                                           \
	X(PtlMDAttach(NONE, event.md, PTL_RETAIN, &handle))                                                            \
	X(PtlMDBind(NONE, event.md, PTL_RETAIN, &handle))                                                              \
	X(PtlMDUnlink(NONE))                                                                                           \
	X(PtlMDUpdate(NONE, NULL, &event.md, PTL_EQ_NONE))                                                             \
	X(PtlEQAlloc(NONE, 8, PTL_EQ_HANDLER_NONE, &handle))                                                           \
	X(PtlEQFree(NONE))                                                                                             \
	X(PtlEQGet(NONE, &event))                                                                                      \
	X(PtlEQWait(NONE, &event))                                                                                     \
	X(PtlEQPoll(&handle, 1, 0, &event, &number))
#define OF_MOVEMENT(X)                                                                                                 \
	X(PtlPut(NONE, PTL_ACK_REQ, id, 0, 0, 0, 0, 0))                                                                \
	X(PtlPutRegion(NONE, 0, 0, PTL_ACK_REQ, id, 0, 0, 0, 0, 0))                                                    \
	X(PtlGet(NONE, id, 0, 0, 0, 0))                                                                                \
	X(PtlGetRegion(NONE, 0, 0, id, 0, 0, 0, 0))                                                                    \
	X(PtlGetPut(NONE, NONE, id, 0, 0, 0, 0, 0))

#define CHECK_NO_INIT(call)                                                                                            \
	_Static_assert(__builtin_types_compatible_p(__typeof__(call), int), #call);                                    \
	CHECK_RC(call, PTL_NO_INIT);

static void check_every_call_says_no_init(void)
{
	OF_INTERFACES(CHECK_NO_INIT)
	OF_OBJECTS(CHECK_NO_INIT)
	OF_MOVEMENT(CHECK_NO_INIT)
}

static void c2_every_call_before_init_and_after_fini_says_no_init(void)
{
	check_every_call_says_no_init();
	PtlFini(); /* without PtlInit: nothing happens */
	check_every_call_says_no_init();
	open_interface(PTL_PID_ANY);
	PtlFini();
	check_every_call_says_no_init();
	PtlFini();
	CHECK_OK(PtlInit(&number));
}

#define WITHOUT_RESULT(X)                                                                                              \
	X(PtlInit(NULL))                                                                                               \
	X(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, NULL))                                                 \
	X(PtlNIStatus(ni, PTL_SR_DROP_COUNT, NULL))                                                                    \
	X(PtlNIDist(ni, id, NULL))                                                                                     \
	X(PtlNIHandle(ni, NULL))                                                                                       \
	X(PtlGetUid(ni, NULL))                                                                                         \
	X(PtlGetId(ni, NULL))                                                                                          \
	X(PtlGetJid(ni, NULL))                                                                                         \
	X(PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, NULL))                                       \
	X(PtlMEAttachAny(ni, NULL, anyone, 0, 0, PTL_RETAIN, &handle))                                                 \
	X(PtlMEAttachAny(ni, &pt_index, anyone, 0, 0, PTL_RETAIN, NULL))                                               \
	X(PtlMEInsert(window.me, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, NULL))                                       \
	X(PtlMDAttach(window.me, md, PTL_RETAIN, NULL))                                                                \
	X(PtlMDBind(ni, md, PTL_RETAIN, NULL))

#define CHECK_SEGV(call) CHECK_RC(call, PTL_SEGV);

static void c2_null_for_a_result_gives_segv_and_changes_nothing(void)
{
	ptl_md_t md = md_over(bytes, 8, PTL_MD_OP_PUT, PTL_EQ_NONE);
	struct window window = {NONE, NONE};
	WITHOUT_RESULT(CHECK_SEGV)
	open_interface(PTL_PID_ANY);
	window = open_window(BITS, md);
	WITHOUT_RESULT(CHECK_SEGV)
	CHECK_OK(PtlNIStatus(ni, PTL_SR_MLIST_LEN(INDEX), &value));
	CHECK_EQUAL(value, 1);
	CHECK_OK(PtlMEAttachAny(ni, &pt_index, anyone, 0, 0, PTL_RETAIN, &handle));
	CHECK_EQUAL(pt_index, 0);
}

static void call_everything_that_must_not_wait(ptl_handle_eq_t eq, char *region)
{
	ptl_md_t whole = md_over(region, LONG, 0, eq);
	ptl_handle_md_t md = bind_md(whole), word_md = bind_md(md_over(bytes, 8, 0, eq));
	for (int i = 0; i < 2; i++) {
		const ptl_size_t length = short_and_long[i];
		CHECK_OK(PtlPutRegion(md, 0, length, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, 0, 0));
		CHECK_OK(PtlGetRegion(md, 0, length, target_id(), INDEX, 0, BITS, 0));
	}
	put(md, PTL_ACK_REQ, BITS);
	get(md, BITS);
	CHECK_OK(PtlGetPut(word_md, word_md, target_id(), INDEX, 0, BITS, 0, 0));
	CHECK_OK(PtlMDUpdate(md, NULL, &whole, PTL_EQ_NONE));
	CHECK_OK(PtlNIDist(ni, target_id(), &distance));
	close_window(open_window(BITS, md_over(bytes, 8, 0, eq)));
	CHECK_OK(PtlEQFree(new_eq(4)));
	CHECK_EMPTY(new_eq(4));
	handle = new_eq(4);
	CHECK_RC(PtlEQPoll(&handle, 1, 0, &event, &number), PTL_EQ_EMPTY);
}

/* The other process stands still: a call that waited for it would never return. */
static void c2_calls_do_not_wait_for_other_processes(void)
{
	ptl_handle_eq_t eq = new_eq(64);
	char *region = memory(LONG);
	open_door();
	if (am_target())
		open_window(BITS,
			    md_over(region, LONG, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		int kinds[12] = {0};
		ping(target_id());
		stop_process(1);
		call_everything_that_must_not_wait(eq, region);
		continue_process(1);
		for (int i = 0; i < 3 * 3 + 3 * 2 + 4; i++)
			kinds[take_any(eq).type]++;
		CHECK(kinds[PTL_EVENT_ACK] == 3 && kinds[PTL_EVENT_SEND_END] == 4 && kinds[PTL_EVENT_REPLY_END] == 4);
		CHECK_EMPTY(eq);
	}
	barrier();
}

#define THREADS 4

static pthread_barrier_t starting_line;

static void run_threads(void *(*body)(void *), void *results, size_t size)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&starting_line, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, body, (char *)results + (size_t)i * size) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&starting_line);
}

#define MOST_INDEXES 512

struct claims {
	bool index[MOST_INDEXES];
};

static void *claim_indexes(void *argument)
{
	struct claims *claims = argument;
	ptl_handle_me_t me;
	ptl_pt_index_t index;
	int rc;
	pthread_barrier_wait(&starting_line);
	while ((rc = PtlMEAttachAny(ni, &index, anyone, 0, 0, PTL_RETAIN, &me)) == PTL_OK)
		claims->index[index] = true;
	CHECK_RC(rc, PTL_PT_FULL);
	return NULL;
}

/* Threads look for free portal table entries: each entry is found free by one of them only. */
static void c2_calls_are_atomic_among_threads(void)
{
	static struct claims claims[THREADS];
	int indexes = limits_in_force().max_pt_index + 1;
	CHECK_LESS(indexes, MOST_INDEXES + 1);
	run_threads(claim_indexes, claims, sizeof(claims[0]));
	for (int index = 0; index < indexes; index++) {
		int owners = 0;
		for (int i = 0; i < THREADS; i++)
			owners += claims[i].index[index];
		CHECK_EQUAL(owners, 1);
	}
}

/*
 * While puts arrive the target swaps between two descriptions of the window's descriptor: a put sees one of them, whole.
 */
static void c2_calls_are_atomic_against_arriving_operations(void)
{
	enum { COUNT = 400 };
	static char regions[2][8];
	ptl_handle_eq_t in = new_eq(COUNT), out = new_eq(COUNT);
	ptl_md_t state[2];
	struct window window = {0};
	for (int i = 0; i < 2; i++) {
		state[i] = md_over(regions[i], (ptl_size_t)i + 7, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, in);
		state[i].options |= PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE;
		state[i].user_ptr = regions[i];
	}
	if (am_target())
		window = open_window(BITS, state[0]);
	barrier();
	ptl_handle_md_t md = bind_md(md_over(bytes, 8, QUIET, out));
	for (int i = 0; i < COUNT && am_initiator(); i++)
		put(md, PTL_ACK_REQ, BITS);
	for (int i = 0; i < COUNT && am_target(); i++) {
		CHECK_OK(PtlMDUpdate(window.md, NULL, &state[i % 2], PTL_EQ_NONE));
		ptl_event_t end = take(in, PTL_EVENT_PUT_END);
		CHECK(end.md.user_ptr == end.md.start);
		CHECK_EQUAL(end.mlength, end.md.user_ptr == regions[0] ? 7 : 8);
		CHECK_EQUAL(end.md.length, end.mlength);
	}
	for (int i = 0; i < COUNT && am_initiator(); i++)
		take(out, PTL_EVENT_ACK);
	barrier();
}

static ptl_handle_me_t new_me(void)
{
	ptl_handle_me_t me;
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	return me;
}

static ptl_handle_md_t new_md(void)
{
	return bind_md(md_over(bytes, sizeof(bytes), 0, PTL_EQ_NONE));
}

static void c2_a_dead_descriptor_never_names_a_later_one(void)
{
	ptl_handle_md_t stale = new_md(), good = new_md();
	CHECK_OK(PtlMDUnlink(stale));
	for (int i = 0; i < REUSES; i++) {
		ptl_handle_md_t md = new_md();
		CHECK(md != stale);
		CHECK_RC(PtlMDUnlink(stale), PTL_MD_INVALID);
		CHECK_RC(PtlMDUpdate(stale, NULL, NULL, PTL_EQ_NONE), PTL_MD_INVALID);
		CHECK_RC(PtlPut(stale, PTL_NO_ACK_REQ, target_id(), INDEX, 0, 0, 0, 0), PTL_MD_INVALID);
		CHECK_RC(PtlGet(stale, target_id(), INDEX, 0, 0, 0), PTL_MD_INVALID);
		CHECK_RC(PtlGetPut(good, stale, target_id(), INDEX, 0, 0, 0, 0), PTL_MD_INVALID);
		CHECK_OK(PtlMDUnlink(md));
	}
}

static void c2_a_dead_match_entry_never_names_a_later_one(void)
{
	ptl_handle_me_t stale = new_me(), other;
	CHECK_OK(PtlMEUnlink(stale));
	for (int i = 0; i < REUSES; i++) {
		ptl_handle_me_t me = new_me();
		ptl_handle_md_t md;
		CHECK(me != stale);
		CHECK_RC(PtlMEUnlink(stale), PTL_ME_INVALID);
		CHECK_RC(PtlMDAttach(stale, md_over(bytes, 8, 0, PTL_EQ_NONE), PTL_RETAIN, &md), PTL_ME_INVALID);
		CHECK_RC(PtlMEInsert(stale, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &other), PTL_ME_INVALID);
		CHECK_OK(PtlMEUnlink(me));
	}
}

static void c2_a_dead_queue_never_names_a_later_one(void)
{
	ptl_handle_eq_t stale = new_eq(4);
	CHECK_OK(PtlEQFree(stale));
	for (int i = 0; i < REUSES; i++) {
		ptl_handle_eq_t eq = new_eq(4);
		CHECK(eq != stale);
		CHECK_RC(PtlEQGet(stale, &event), PTL_EQ_INVALID);
		CHECK_RC(PtlEQFree(stale), PTL_EQ_INVALID);
		CHECK_RC(PtlMDBind(ni, md_over(bytes, 8, 0, stale), PTL_RETAIN, &handle), PTL_EQ_INVALID);
		CHECK_OK(PtlEQFree(eq));
	}
}

static void c2_handles_of_a_closed_interface_are_dead_on_the_next(void)
{
	ptl_handle_ni_t old_ni = ni;
	ptl_handle_me_t me = new_me();
	ptl_handle_md_t md = new_md();
	ptl_handle_eq_t eq = new_eq(4);
	harness_while_waiting(NULL);
	CHECK_OK(PtlNIFini(ni));
	open_interface(PTL_PID_ANY);
	CHECK(ni != old_ni);
	new_me();
	new_md();
	new_eq(4);
	CHECK_RC(PtlGetId(old_ni, &id), PTL_NI_INVALID);
	CHECK_RC(PtlMEUnlink(me), PTL_ME_INVALID);
	CHECK_RC(PtlMDUnlink(md), PTL_MD_INVALID);
	CHECK_RC(PtlEQGet(eq, &event), PTL_EQ_INVALID);
	PtlFini();
	open_interface(PTL_PID_ANY);
	CHECK_RC(PtlGetId(old_ni, &id), PTL_NI_INVALID);
	CHECK_RC(PtlMDUnlink(md), PTL_MD_INVALID);
}

/* Any number may be passed as any handle; only the few live ones are anything, each only as what it is. */
static void c2_numbers_that_are_no_handle_of_the_kind_are_refused(void)
{
	ptl_handle_any_t live[] = {ni, new_me(), new_md(), new_eq(4)};
	uint32_t state = 1;
	for (int i = 0; i < 2000; i++) {
		state = state * 1664525u + 1013904223u;
		/* Half of them near a live handle, where a check that looks at too little would be fooled. */
		ptl_handle_any_t any = i & 1 ? state : live[i / 2 % 4] ^ 1u << (state >> 27);
		if (any == live[0] || any == live[1] || any == live[2] || any == live[3])
			continue;
		ptl_handle_ni_t owner;
		int rc = PtlNIHandle(any, &owner);
		if (any == idle_queue() && rc == PTL_OK)
			continue;
		CHECK_EQUAL(rc, PTL_HANDLE_INVALID);
		CHECK_RC(PtlMDUnlink(any), PTL_MD_INVALID);
		CHECK_RC(PtlMEUnlink(any), PTL_ME_INVALID);
		CHECK_RC(PtlEQGet(any, &event), PTL_EQ_INVALID);
		CHECK_RC(PtlEQFree(any), PTL_EQ_INVALID);
		CHECK_RC(PtlNIFini(any), PTL_NI_INVALID);
	}
	CHECK_OK(PtlMEUnlink(live[1]));
	CHECK_OK(PtlMDUnlink(live[2]));
	CHECK_OK(PtlEQFree(live[3]));
}

static void c2_objects_of_another_kind_are_refused(void)
{
	const ptl_handle_any_t me = new_me(), md = new_md(), eq = new_eq(4);
	const ptl_handle_any_t no_ni[] = {me, md, eq}, no_me[] = {ni, md, eq}, no_md[] = {ni, me, eq},
			       no_eq[] = {ni, me, md};
	for (int i = 0; i < 3; i++) {
		CHECK_RC(PtlNIFini(no_ni[i]), PTL_NI_INVALID);
		CHECK_RC(PtlNIStatus(no_ni[i], 0, &value), PTL_NI_INVALID);
		CHECK_RC(PtlMEUnlink(no_me[i]), PTL_ME_INVALID);
		CHECK_RC(PtlMDUnlink(no_md[i]), PTL_MD_INVALID);
		CHECK_RC(PtlPut(no_md[i], PTL_NO_ACK_REQ, id_of[0], INDEX, 0, 0, 0, 0), PTL_MD_INVALID);
		CHECK_RC(PtlEQFree(no_eq[i]), PTL_EQ_INVALID);
		CHECK_RC(PtlMDBind(ni, md_over(bytes, 8, 0, no_eq[i]), PTL_RETAIN, &handle), PTL_EQ_INVALID);
	}
}

/* ---- 2.1 Library and interfaces ---- */

static void check_works(ptl_handle_ni_t interface)
{
	const ptl_handle_ni_t before = ni;
	ni = interface;
	put_to_myself();
	ni = before;
}

static void c2_1_init_may_be_repeated_and_always_tells_the_number_of_interfaces(void)
{
	int first = -1;
	CHECK_OK(PtlInit(&first));
	CHECK_LESS(0, first);
	for (int i = 0; i < 3; i++) {
		int again = -1;
		CHECK_OK(PtlInit(&again));
		CHECK_EQUAL(again, first);
		if (i == 1)
			CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	}
	check_works(ni); /* the repeated call did not begin again */
}

static void c2_1_so_many_interfaces_as_init_says_can_be_initialised(void)
{
	ptl_handle_ni_t all[32] = {0};
	CHECK_OK(PtlInit(&number));
	CHECK_LESS(number, 33);
	for (int i = 0; i < number; i++) {
		CHECK_OK(PtlNIInit((ptl_interface_t)i, PTL_PID_ANY, NULL, NULL, &all[i]));
		for (int other = 0; other < i; other++)
			CHECK(all[other] != all[i]);
	}
	CHECK(PtlNIInit((ptl_interface_t)number, PTL_PID_ANY, NULL, NULL, &handle) != PTL_OK);
	check_works(all[0]);
	check_works(all[number - 1]);
}

static void c2_1_a_failed_init_leaves_the_library_uninitialised(void)
{
	CHECK_RC(PtlInit(&number), PTL_FAIL);
	check_every_call_says_no_init();
	CHECK_RC(PtlInit(&number), PTL_FAIL);
}

static void c2_1_fini_ends_everything_and_init_may_start_anew(void)
{
	for (int i = 0; i < 3; i++) {
		ptl_handle_ni_t second;
		open_interface(PTL_PID_ANY);
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
		check_works(ni);
		check_works(second);
		if (i % 2)
			CHECK_OK(PtlNIFini(ni));
		PtlFini();
		CHECK_RC(PtlGetId(ni, &id), PTL_NO_INIT);
		PtlFini();
		CHECK_OK(PtlInit(&number));
		CHECK_RC(PtlGetId(ni, &id), PTL_NI_INVALID);
		CHECK_RC(PtlGetId(second, &id), PTL_NI_INVALID);
	}
}

static void c2_1_a_second_interface_is_one_of_its_own(void)
{
	ptl_handle_ni_t second, again;
	ptl_process_id_t one, two;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &again));
	CHECK(second != ni && again == second);
	CHECK_OK(PtlGetId(ni, &one));
	CHECK_OK(PtlGetId(second, &two));
	CHECK(one.nid != two.nid || one.pid != two.pid);
	new_me();
	CHECK_OK(PtlNIStatus(second, PTL_SR_MLIST_LEN(INDEX), &value));
	CHECK_EQUAL(value, 0);
	check_works(second);
	CHECK_OK(PtlNIFini(second));
	CHECK_RC(PtlGetId(second, &two), PTL_NI_INVALID);
	check_works(ni);
}

static void c2_1_a_repeated_ni_init_gives_the_first_interface_without_counting(void)
{
	const ptl_ni_limits_t nothing = {0}, first = limits_in_force();
	ptl_handle_ni_t again = NONE;
	ptl_ni_limits_t wanted = nothing, actual = nothing;
	ptl_process_id_t before, after;
	harness_while_waiting(NULL);
	CHECK_OK(PtlGetId(ni, &before));
	for (int i = 0; i < 3; i++) {
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, before.pid + 1, &wanted, &actual, &again));
		CHECK_EQUAL(again, ni);
		CHECK(memcmp(&actual, &first, sizeof(actual)) == 0);
		CHECK(memcmp(&wanted, &nothing, sizeof(wanted)) == 0);
	}
	CHECK_OK(PtlGetId(again, &after));
	CHECK_ID(after, before);
	CHECK_OK(PtlNIFini(ni));
	CHECK_RC(PtlGetId(again, &after), PTL_NI_INVALID);
	ni = NONE;
}

static void *initialise(void *handle_of_thread)
{
	int interfaces;
	pthread_barrier_wait(&starting_line);
	CHECK_OK(PtlInit(&interfaces));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, handle_of_thread));
	return NULL;
}

static void c2_1_threads_that_initialise_at_once_get_one_interface(void)
{
	ptl_handle_ni_t handles[THREADS] = {0};
	run_threads(initialise, handles, sizeof(handles[0]));
	for (int i = 0; i < THREADS; i++)
		CHECK_EQUAL(handles[i], handles[0]);
	check_works(handles[0]);
}

static void c2_1_the_pid_asked_for_is_the_pid_given(void)
{
	const ptl_pid_t wanted = own_pid(1);
	open_interface(wanted);
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_EQUAL(id.pid, wanted);
}

static void c2_1_a_free_pid_is_chosen_for_pid_any(void)
{
	for (int rank = 0; rank < process_count; rank++) {
		CHECK(id_of[rank].pid != PTL_PID_ANY);
		for (int other = 0; other < rank; other++)
			CHECK(id_of[other].pid != id_of[rank].pid);
	}
}

static void c2_1_wishes_are_hints_and_all_limits_are_told(void)
{
	static const int wishes[] = {0, 1, INT_MAX, -1};
	ptl_ni_limits_t first;
	CHECK_OK(PtlInit(&number));
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		const int w = wishes[i];
		ptl_ni_limits_t wish = {w, w, w, w, w, w, w, w}, actual;
		memset(&actual, 0x80, sizeof(actual));
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, &wish, &actual, &ni));
		CHECK(actual.max_mes > 0 && actual.max_mds > 0 && actual.max_eqs > 0 && actual.max_ac_index >= 0);
		CHECK(actual.max_pt_index >= 0 && actual.max_md_iovecs > 0 && actual.max_me_list > 0);
		CHECK_LESS(0, actual.max_getput_md);
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &first, &handle));
		CHECK(memcmp(&actual, &first, sizeof(actual)) == 0);
		CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &handle));
		check_works(ni);
		CHECK_OK(PtlNIFini(ni));
	}
}

static void c2_1_the_first_interface_names_the_job(void)
{
	ptl_handle_ni_t second;
	ptl_jid_t jid, same;
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK_EQUAL(jid, id.pid);
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlGetJid(second, &same));
	CHECK_EQUAL(same, jid);
}

static void c2_1_unknown_interfaces_are_refused(void)
{
	static const ptl_interface_t unknown[] = {0x7eadbeef, 0xffffffffu, 1000};
	ptl_handle_ni_t untouched = 0x12345678;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		CHECK_RC(PtlNIInit(unknown[i], PTL_PID_ANY, NULL, NULL, &untouched), PTL_IFACE_INVALID);
	CHECK_EQUAL(untouched, 0x12345678);
}

static void c2_1_a_pid_of_another_interface_of_the_process_is_taken(void)
{
	ptl_handle_ni_t second = 0x12345678;
	CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT + 1, id_of[0].pid, NULL, NULL, &second), PTL_PID_INVALID);
	CHECK_EQUAL(second, 0x12345678);
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	check_works(second);
}

/* The process that may have the pid keeps it until the other has been refused, and can have it afterwards. */
static void c2_1_a_pid_of_another_process_of_the_node_is_taken(void)
{
	announce_ids(2);
	CHECK_OK(PtlInit(&number));
	if (my_rank == 0)
		open_interface(id_of[0].pid);
	barrier();
	if (my_rank == 1)
		CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, id_of[0].pid, NULL, NULL, &ni), PTL_PID_INVALID);
	barrier();
	if (my_rank == 0)
		PtlFini();
	barrier();
	if (my_rank == 1)
		open_interface(id_of[0].pid);
}

static rlim_t address_space_in_use(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void c2_1_an_interface_that_finds_no_memory_is_refused(void)
{
	struct rlimit limit, generous;
	CHECK_OK(PtlInit(&number));
	CHECK(getrlimit(RLIMIT_AS, &generous) == 0);
	limit = (struct rlimit){address_space_in_use() + (1 << 20), generous.rlim_max};
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	ni = 0x12345678;
	CHECK_RC(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_NO_SPACE);
	CHECK_EQUAL(ni, 0x12345678);
	CHECK(setrlimit(RLIMIT_AS, &generous) == 0);
	open_interface(PTL_PID_ANY);
	check_works(ni);
}

static void c2_1_ni_fini_refuses_what_is_no_interface(void)
{
	ptl_handle_ni_t second;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlNIFini(second));
	CHECK_RC(PtlNIFini(second), PTL_NI_INVALID);
	CHECK_RC(PtlNIFini(NONE), PTL_NI_INVALID);
	check_works(ni);
}

static void c2_1_ni_status_reads_registers_and_refuses_bad_arguments(void)
{
	const ptl_pt_index_t last = (ptl_pt_index_t)limits_in_force().max_pt_index;
	value = -5;
	CHECK_RC(PtlNIStatus(NONE, PTL_SR_DROP_COUNT, &value), PTL_NI_INVALID);
	CHECK_RC(PtlNIStatus(ni, 0x7fffffff, &value), PTL_SR_INDEX_INVALID);
	CHECK_RC(PtlNIStatus(ni, PTL_SR_MLIST_LEN(last + 1), &value), PTL_SR_INDEX_INVALID);
	CHECK_RC(PtlNIStatus(ni, PTL_SR_MLIST_MAX(last + 1), &value), PTL_SR_INDEX_INVALID);
	CHECK_RC(PtlNIStatus(ni, PTL_SR_DROP_COUNT, NULL), PTL_SEGV);
	CHECK_EQUAL(value, -5);
	const ptl_sr_index_t good[] = {PTL_SR_DROP_COUNT, PTL_SR_MLIST_LEN(last), PTL_SR_MLIST_MAX(last)};
	for (int i = 0; i < 3; i++) {
		value = -5;
		CHECK_OK(PtlNIStatus(ni, good[i], &value));
		CHECK_EQUAL(value, 0);
	}
}

static void c2_1_distance_is_static_and_needs_no_contact(void)
{
	const ptl_process_id_t self = id_of[0], near = {self.nid, self.pid + 4711}, far = {self.nid + 0x01000000u, 1};
	unsigned long none, small, great, again;
	CHECK_OK(PtlNIDist(ni, self, &none));
	CHECK_OK(PtlNIDist(ni, near, &small));
	CHECK_OK(PtlNIDist(ni, far, &great));
	CHECK(none <= small && small < great);
	CHECK_OK(PtlNIDist(ni, far, &again));
	CHECK_EQUAL(again, great);
}

static void c2_1_distance_refuses_bad_arguments(void)
{
	const ptl_process_id_t self = id_of[0];
	distance = 77;
	CHECK_RC(PtlNIDist(NONE, self, &distance), PTL_NI_INVALID);
	CHECK_RC(PtlNIDist(ni, (ptl_process_id_t){PTL_NID_ANY, self.pid}, &distance), PTL_PROCESS_INVALID);
	CHECK_RC(PtlNIDist(ni, (ptl_process_id_t){self.nid, PTL_PID_ANY}, &distance), PTL_PROCESS_INVALID);
	CHECK_RC(PtlNIDist(ni, self, NULL), PTL_SEGV);
	CHECK_EQUAL(distance, 77);
}

static void c2_1_every_object_knows_its_interface(void)
{
	ptl_handle_ni_t first = ni, second, owner;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	for (int i = 0; i < 2; i++) {
		ni = i ? first : second;
		const ptl_handle_any_t objects[] = {ni, new_me(), new_md(), new_eq(4)};
		for (int o = 0; o < 4; o++) {
			CHECK_OK(PtlNIHandle(objects[o], &owner));
			CHECK_EQUAL(owner, ni);
		}
		CHECK_OK(PtlMEUnlink(objects[1]));
		CHECK_OK(PtlMDUnlink(objects[2]));
		CHECK_OK(PtlEQFree(objects[3]));
		owner = 0x12345678;
		for (int o = 1; o < 4; o++)
			CHECK_RC(PtlNIHandle(objects[o], &owner), PTL_HANDLE_INVALID);
		CHECK_RC(PtlNIHandle(NONE, &owner), PTL_HANDLE_INVALID);
		CHECK_RC(PtlNIHandle(ni, NULL), PTL_SEGV);
		CHECK_EQUAL(owner, 0x12345678);
	}
	CHECK_OK(PtlNIFini(second));
	CHECK_RC(PtlNIHandle(second, &owner), PTL_HANDLE_INVALID);
}

/* ---- 2.2 Identity ---- */

static void c2_2_uid_and_id_are_those_that_others_see(void)
{
	ptl_handle_eq_t eq = new_eq(8);
	ptl_uid_t uid;
	CHECK_OK(PtlGetUid(ni, &uid));
	CHECK_EQUAL(uid, geteuid());
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_EQUAL(id.nid, 0x7f000001); /* 127.0.0.1 in host byte order */
	if (am_target())
		open_window(BITS, md_over(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq));
	barrier();
	if (am_initiator())
		put(bind_md(md_over(NULL, 0, QUIET, PTL_EQ_NONE)), PTL_NO_ACK_REQ, BITS);
	if (am_target()) {
		ptl_event_t end = take(eq, PTL_EVENT_PUT_END);
		CHECK_ID(end.initiator, initiator_id());
		CHECK_EQUAL(end.uid, uid);
	}
	barrier();
}

static void c2_2_the_user_id_is_the_same_on_every_interface(void)
{
	ptl_handle_ni_t second;
	ptl_uid_t uid;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 3, PTL_PID_ANY, NULL, NULL, &second));
	CHECK_OK(PtlGetUid(second, &uid));
	CHECK_EQUAL(uid, geteuid());
}

static void c2_2_the_job_id_comes_from_the_runtime(void)
{
	ptl_jid_t jid;
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK_EQUAL(jid, 77);
}

static void c2_2_identity_calls_refuse_bad_arguments(void)
{
	ptl_process_id_t untouched = {3, 4};
	word = 5;
	const ptl_handle_any_t bad[] = {NONE, PTL_EQ_NONE, new_me(), new_md(), new_eq(4)};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_RC(PtlGetUid(bad[i], &word), PTL_NI_INVALID);
		CHECK_RC(PtlGetId(bad[i], &untouched), PTL_NI_INVALID);
		CHECK_RC(PtlGetJid(bad[i], &word), PTL_NI_INVALID);
	}
	CHECK_RC(PtlGetUid(ni, NULL), PTL_SEGV);
	CHECK_RC(PtlGetId(ni, NULL), PTL_SEGV);
	CHECK_RC(PtlGetJid(ni, NULL), PTL_SEGV);
	CHECK_EQUAL(word, 5);
	CHECK(untouched.nid == 3 && untouched.pid == 4);
}

#define CASE_BARE(test, numbers) CASE(test, numbers, 1, TRAIT_BARE)

static const struct test tests[] = {
	CASE_BARE(c2_every_call_before_init_and_after_fini_says_no_init,
		  "2/1 2/2 2.1/1 2.1/6 1.6/18 2.3/24 2.4/21 2.7/18"),
	CASE_BARE(c2_null_for_a_result_gives_segv_and_changes_nothing, "2/3 2.1/4 2.1/16 1.6/24"),
	CASE_TWO(c2_calls_do_not_wait_for_other_processes, "2/4"),
	CASE_ALONE(c2_calls_are_atomic_among_threads, "2/5"),
	CASE_PAIR(c2_calls_are_atomic_against_arriving_operations, "2/6"),
	CASE_ALONE(c2_a_dead_descriptor_never_names_a_later_one, "2/7 1.6/11"),
	CASE_ALONE(c2_a_dead_match_entry_never_names_a_later_one, "2/7 1.6/14"),
	CASE_ALONE(c2_a_dead_queue_never_names_a_later_one, "2/7"),
	CASE_ALONE(c2_handles_of_a_closed_interface_are_dead_on_the_next, "2/7 2.1/17 2.1/5"),
	CASE_ALONE(c2_numbers_that_are_no_handle_of_the_kind_are_refused, "2/8"),
	CASE_ALONE(c2_objects_of_another_kind_are_refused, "2/8"),
	CASE_BARE(c2_1_init_may_be_repeated_and_always_tells_the_number_of_interfaces, "2.1/1 2.1/2"),
	CASE_BARE(c2_1_so_many_interfaces_as_init_says_can_be_initialised, "2.1/2"),
	{.name = "c2_1_a_failed_init_leaves_the_library_uninitialised",
	 .run = c2_1_a_failed_init_leaves_the_library_uninitialised,
	 .proves = "2.1/3 1.6/7",
	 .processes = 1,
	 .traits = TRAIT_BARE,
	 .environment = "PTL_PEER_TIMEOUT=soon"},
	CASE_BARE(c2_1_fini_ends_everything_and_init_may_start_anew, "2.1/5 2.1/6"),
	CASE_ALONE(c2_1_a_second_interface_is_one_of_its_own, "2.1/7 2.1/8 2.1/17"),
	CASE_ALONE(c2_1_a_repeated_ni_init_gives_the_first_interface_without_counting, "2.1/8 2.1/9"),
	CASE_BARE(c2_1_threads_that_initialise_at_once_get_one_interface, "2.1/1 2.1/8"),
	CASE_BARE(c2_1_the_pid_asked_for_is_the_pid_given, "2.1/10"),
	CASE_PAIR(c2_1_a_free_pid_is_chosen_for_pid_any, "2.1/10"),
	CASE_BARE(c2_1_wishes_are_hints_and_all_limits_are_told, "2.1/11"),
	CASE_ALONE(c2_1_the_first_interface_names_the_job, "2.1/12"),
	CASE_ALONE(c2_1_unknown_interfaces_are_refused, "2.1/13 2.1/16 1.6/9"),
	CASE_ALONE(c2_1_a_pid_of_another_interface_of_the_process_is_taken, "2.1/14 2.1/16"),
	CASE(c2_1_a_pid_of_another_process_of_the_node_is_taken, "2.1/14 1.6/20", 2, TRAIT_SEVERAL | TRAIT_BARE),
	CASE(c2_1_an_interface_that_finds_no_memory_is_refused, "2.1/15 1.6/19", 1, TRAIT_BARE | TRAIT_NO_SANITIZER),
	CASE_ALONE(c2_1_ni_fini_refuses_what_is_no_interface, "2.1/17 1.6/17"),
	CASE_ALONE(c2_1_ni_status_reads_registers_and_refuses_bad_arguments, "2.1/18 2.1/19 1.6/25"),
	CASE_ALONE(c2_1_distance_is_static_and_needs_no_contact, "2.1/20"),
	CASE_ALONE(c2_1_distance_refuses_bad_arguments, "2.1/21"),
	CASE_ALONE(c2_1_every_object_knows_its_interface, "2.1/22 2.1/23 1.6/8"),
	CASE_PAIR(c2_2_uid_and_id_are_those_that_others_see, "2.2/1 2.2/2"),
	CASE_ALONE(c2_2_the_user_id_is_the_same_on_every_interface, "2.2/1"),
	{.name = "c2_2_the_job_id_comes_from_the_runtime",
	 .run = c2_2_the_job_id_comes_from_the_runtime,
	 .proves = "2.2/3",
	 .processes = 1,
	 .environment = "PTL_MY_JID=77"},
	CASE_ALONE(c2_2_identity_calls_refuse_bad_arguments, "2.2/4"),
	{0},
};

const struct chapter interfaces_chapter = {
	.title = "2 All functions; 2.1 Library and interfaces; 2.2 Identity", .rows = rows, .tests = tests};
