/* SPDX-License-Identifier: BSD-3-Clause */
/* Every return code that a call can be made to give, call by call; identity, limits, registers, names. */
#include "tests/behaviour/behaviour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Good arguments, of which a row of the tables below spoils one. */
static struct {
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;   /* with descriptor md */
	ptl_handle_me_t bare; /* without */
	ptl_handle_md_t md, free_md, dead_md, inactive_md, big_md;
	ptl_md_t desc;
	ptl_process_id_t self;
	char bytes[64];
	ptl_handle_any_t handle; /* where results go */
	ptl_event_t event;
	ptl_process_id_t id;
	ptl_sr_value_t value;
	ptl_pt_index_t index;
	unsigned long distance;
	int number;
	uint32_t word;
} a;

#define NONE     PTL_INVALID_HANDLE
#define WILD_NID ((ptl_process_id_t){PTL_NID_ANY, a.self.pid})
#define WILD_PID ((ptl_process_id_t){a.self.nid, PTL_PID_ANY})

static void prepare_arguments(void)
{
	ptl_handle_me_t other;
	a.eq = new_eq(64);
	a.desc = md_over(a.bytes, sizeof a.bytes, PTL_MD_OP_PUT | PTL_MD_OP_GET, a.eq);
	CHECK_OK(PtlGetId(ni, &a.self));
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &a.me));
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &a.bare));
	CHECK_OK(PtlMDAttach(a.me, a.desc, PTL_RETAIN, &a.md));
	a.free_md = bind_md(a.desc);
	a.dead_md = bind_md(a.desc);
	CHECK_OK(PtlMDUnlink(a.dead_md));
	ptl_md_t inactive = a.desc;
	inactive.threshold = 0;
	a.inactive_md = bind_md(inactive);
	a.big_md = bind_md(md_over(memory(LONG), LONG, 0, a.eq));
	CHECK_OK(PtlMEAttach(ni, INDEX_SIDE, anyone, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &other));
}

static ptl_md_t with_start(void *start)
{
	ptl_md_t md = a.desc;
	md.start = start;
	return md;
}

static ptl_md_t with_length(ptl_size_t length)
{
	ptl_md_t md = a.desc;
	md.length = length;
	return md;
}

static ptl_md_t with_eq(ptl_handle_eq_t eq)
{
	ptl_md_t md = a.desc;
	md.eq_handle = eq;
	return md;
}

static ptl_md_t *pointer_to(ptl_md_t md)
{
	static ptl_md_t copy;
	copy = md;
	return &copy;
}

static ptl_md_t with_null_piece(void)
{
	static ptl_md_iovec_t pieces[2];
	pieces[0] = (ptl_md_iovec_t){a.bytes, 8};
	pieces[1] = (ptl_md_iovec_t){NULL, 8};
	return md_over(pieces, 2, PTL_MD_IOVEC, a.eq);
}

/* X(code, call) */
#define NI_ROWS(X)                                                                                                     \
	X(PTL_OK, PtlInit(&a.number))                                                                                  \
	X(PTL_SEGV, PtlInit(NULL))                                                                                     \
	X(PTL_SEGV, PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, NULL))                                       \
	X(PTL_IFACE_INVALID, PtlNIInit(0x7eadbeef, PTL_PID_ANY, NULL, NULL, &a.handle))                                \
	X(PTL_NI_INVALID, PtlNIFini(NONE))                                                                             \
	X(PTL_NI_INVALID, PtlNIFini(a.eq))                                                                             \
	X(PTL_NI_INVALID, PtlNIStatus(NONE, PTL_SR_DROP_COUNT, &a.value))                                              \
	X(PTL_NI_INVALID, PtlNIStatus(a.md, PTL_SR_DROP_COUNT, &a.value))                                              \
	X(PTL_SR_INDEX_INVALID, PtlNIStatus(ni, 0x7fffffff, &a.value))                                                 \
	X(PTL_SR_INDEX_INVALID, PtlNIStatus(ni, PTL_SR_MLIST_LEN(64), &a.value))                                       \
	X(PTL_SEGV, PtlNIStatus(ni, PTL_SR_DROP_COUNT, NULL))                                                          \
	X(PTL_OK, PtlNIDist(ni, a.self, &a.distance))                                                                  \
	X(PTL_OK, PtlNIDist(ni, ((ptl_process_id_t){a.self.nid, 4711}), &a.distance))                                  \
	X(PTL_NI_INVALID, PtlNIDist(NONE, a.self, &a.distance))                                                        \
	X(PTL_PROCESS_INVALID, PtlNIDist(ni, WILD_NID, &a.distance))                                                   \
	X(PTL_PROCESS_INVALID, PtlNIDist(ni, WILD_PID, &a.distance))                                                   \
	X(PTL_SEGV, PtlNIDist(ni, a.self, NULL))                                                                       \
	X(PTL_HANDLE_INVALID, PtlNIHandle(NONE, &a.handle))                                                            \
	X(PTL_HANDLE_INVALID, PtlNIHandle(PTL_EQ_NONE, &a.handle))                                                     \
	X(PTL_HANDLE_INVALID, PtlNIHandle(a.dead_md, &a.handle))                                                       \
	X(PTL_SEGV, PtlNIHandle(ni, NULL))                                                                             \
	X(PTL_NI_INVALID, PtlGetUid(NONE, &a.word))                                                                    \
	X(PTL_SEGV, PtlGetUid(ni, NULL))                                                                               \
	X(PTL_NI_INVALID, PtlGetId(a.me, &a.id))                                                                       \
	X(PTL_SEGV, PtlGetId(ni, NULL))                                                                                \
	X(PTL_NI_INVALID, PtlGetJid(NONE, &a.word))                                                                    \
	X(PTL_SEGV, PtlGetJid(ni, NULL))                                                                               \
	X(PTL_NI_INVALID, PtlACEntry(NONE, 0, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY))                     \
	X(PTL_AC_INDEX_INVALID, PtlACEntry(ni, 8, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY))                 \
	X(PTL_AC_INDEX_INVALID, PtlACEntry(ni, 0xffffffffu, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY))       \
	X(PTL_PT_INDEX_INVALID, PtlACEntry(ni, 1, anyone, PTL_UID_ANY, PTL_JID_ANY, 64))                               \
	X(PTL_OK, PtlACEntry(ni, 7, anyone, PTL_UID_ANY, PTL_JID_ANY, 63))

#define ME_ROWS(X)                                                                                                     \
	X(PTL_NI_INVALID, PtlMEAttach(NONE, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle))                \
	X(PTL_NI_INVALID, PtlMEAttach(a.eq, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle))                \
	X(PTL_PT_INDEX_INVALID, PtlMEAttach(ni, 64, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle))               \
	X(PTL_PT_INDEX_INVALID, PtlMEAttach(ni, PTL_PT_INDEX_ANY, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle)) \
	X(PTL_SEGV, PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, NULL))                             \
	X(PTL_OK, PtlMEAttach(ni, 63, ((ptl_process_id_t){0, 0}), 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle))         \
	X(PTL_NI_INVALID, PtlMEAttachAny(NONE, &a.index, anyone, 0, 0, PTL_RETAIN, &a.handle))                         \
	X(PTL_SEGV, PtlMEAttachAny(ni, NULL, anyone, 0, 0, PTL_RETAIN, &a.handle))                                     \
	X(PTL_SEGV, PtlMEAttachAny(ni, &a.index, anyone, 0, 0, PTL_RETAIN, NULL))                                      \
	X(PTL_ME_INVALID, PtlMEInsert(NONE, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle))                       \
	X(PTL_ME_INVALID, PtlMEInsert(a.md, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle))                       \
	X(PTL_SEGV, PtlMEInsert(a.me, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, NULL))                                  \
	X(PTL_ME_INVALID, PtlMEUnlink(NONE))                                                                           \
	X(PTL_ME_INVALID, PtlMEUnlink(ni))                                                                             \
	X(PTL_ME_INVALID, PtlMEUnlink(a.free_md))

#define MD_ROWS(X)                                                                                                     \
	X(PTL_ME_INVALID, PtlMDAttach(NONE, a.desc, PTL_RETAIN, &a.handle))                                            \
	X(PTL_ME_INVALID, PtlMDAttach(a.md, a.desc, PTL_RETAIN, &a.handle))                                            \
	X(PTL_ME_IN_USE, PtlMDAttach(a.me, a.desc, PTL_RETAIN, &a.handle))                                             \
	X(PTL_MD_ILLEGAL, PtlMDAttach(a.bare, with_start(NULL), PTL_RETAIN, &a.handle))                                \
	X(PTL_MD_ILLEGAL, PtlMDAttach(a.bare, with_length(~0ull), PTL_RETAIN, &a.handle))                              \
	X(PTL_MD_ILLEGAL, PtlMDAttach(a.bare, with_null_piece(), PTL_RETAIN, &a.handle))                               \
	X(PTL_EQ_INVALID, PtlMDAttach(a.bare, with_eq(NONE), PTL_RETAIN, &a.handle))                                   \
	X(PTL_EQ_INVALID, PtlMDAttach(a.bare, with_eq(a.me), PTL_RETAIN, &a.handle))                                   \
	X(PTL_SEGV, PtlMDAttach(a.bare, a.desc, PTL_RETAIN, NULL))                                                     \
	X(PTL_NI_INVALID, PtlMDBind(NONE, a.desc, PTL_RETAIN, &a.handle))                                              \
	X(PTL_NI_INVALID, PtlMDBind(a.me, a.desc, PTL_RETAIN, &a.handle))                                              \
	X(PTL_MD_ILLEGAL, PtlMDBind(ni, with_start(NULL), PTL_RETAIN, &a.handle))                                      \
	X(PTL_MD_ILLEGAL, PtlMDBind(ni, with_length(~0ull), PTL_RETAIN, &a.handle))                                    \
	X(PTL_MD_ILLEGAL, PtlMDBind(ni, with_null_piece(), PTL_RETAIN, &a.handle))                                     \
	X(PTL_EQ_INVALID, PtlMDBind(ni, with_eq(NONE), PTL_RETAIN, &a.handle))                                         \
	X(PTL_EQ_INVALID, PtlMDBind(ni, with_eq(ni), PTL_RETAIN, &a.handle))                                           \
	X(PTL_SEGV, PtlMDBind(ni, a.desc, PTL_RETAIN, NULL))                                                           \
	X(PTL_MD_INVALID, PtlMDUnlink(NONE))                                                                           \
	X(PTL_MD_INVALID, PtlMDUnlink(a.dead_md))                                                                      \
	X(PTL_MD_INVALID, PtlMDUnlink(a.me))                                                                           \
	X(PTL_MD_INVALID, PtlMDUpdate(NONE, NULL, &a.desc, PTL_EQ_NONE))                                               \
	X(PTL_MD_INVALID, PtlMDUpdate(a.dead_md, NULL, &a.desc, PTL_EQ_NONE))                                          \
	X(PTL_MD_ILLEGAL, PtlMDUpdate(a.md, NULL, pointer_to(with_start(NULL)), PTL_EQ_NONE))                          \
	X(PTL_MD_ILLEGAL, PtlMDUpdate(a.md, NULL, pointer_to(with_length(~0ull)), PTL_EQ_NONE))                        \
	X(PTL_EQ_INVALID, PtlMDUpdate(a.md, NULL, pointer_to(with_eq(NONE)), PTL_EQ_NONE))                             \
	X(PTL_EQ_INVALID, PtlMDUpdate(a.md, NULL, &a.desc, NONE))                                                      \
	X(PTL_EQ_INVALID, PtlMDUpdate(a.md, NULL, &a.desc, a.me))                                                      \
	X(PTL_OK, PtlMDUpdate(a.md, NULL, NULL, a.eq))

#define EQ_ROWS(X)                                                                                                     \
	X(PTL_NI_INVALID, PtlEQAlloc(NONE, 8, PTL_EQ_HANDLER_NONE, &a.handle))                                         \
	X(PTL_NI_INVALID, PtlEQAlloc(a.md, 8, PTL_EQ_HANDLER_NONE, &a.handle))                                         \
	X(PTL_NO_SPACE, PtlEQAlloc(ni, 1ull << 60, PTL_EQ_HANDLER_NONE, &a.handle))                                    \
	X(PTL_NO_SPACE, PtlEQAlloc(ni, ~0ull, PTL_EQ_HANDLER_NONE, &a.handle))                                         \
	X(PTL_SEGV, PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, NULL))                                                      \
	X(PTL_EQ_INVALID, PtlEQFree(NONE))                                                                             \
	X(PTL_EQ_INVALID, PtlEQFree(PTL_EQ_NONE))                                                                      \
	X(PTL_EQ_INVALID, PtlEQFree(a.md))                                                                             \
	X(PTL_EQ_INVALID, PtlEQGet(NONE, &a.event))                                                                    \
	X(PTL_EQ_INVALID, PtlEQGet(PTL_EQ_NONE, &a.event))                                                             \
	X(PTL_EQ_INVALID, PtlEQGet(ni, &a.event))                                                                      \
	X(PTL_SEGV, PtlEQGet(a.eq, NULL))                                                                              \
	X(PTL_EQ_EMPTY, PtlEQGet(a.eq, &a.event))                                                                      \
	X(PTL_EQ_INVALID, PtlEQWait(NONE, &a.event))                                                                   \
	X(PTL_EQ_INVALID, PtlEQWait(a.me, &a.event))                                                                   \
	X(PTL_SEGV, PtlEQWait(a.eq, NULL))                                                                             \
	X(PTL_EQ_INVALID, PtlEQPoll(&a.eq, 0, 0, &a.event, &a.number))                                                 \
	X(PTL_EQ_INVALID, PtlEQPoll(&a.eq, -1, 0, &a.event, &a.number))                                                \
	X(PTL_EQ_INVALID, PtlEQPoll(&a.md, 1, 0, &a.event, &a.number))                                                 \
	X(PTL_EQ_INVALID, PtlEQPoll(((ptl_handle_eq_t[]){a.eq, NONE}), 2, 0, &a.event, &a.number))                     \
	X(PTL_SEGV, PtlEQPoll(NULL, 1, 0, &a.event, &a.number))                                                        \
	X(PTL_SEGV, PtlEQPoll(&a.eq, 1, 0, NULL, &a.number))                                                           \
	X(PTL_SEGV, PtlEQPoll(&a.eq, 1, 0, &a.event, NULL))                                                            \
	X(PTL_EQ_EMPTY, PtlEQPoll(&a.eq, 1, 0, &a.event, &a.number))

#define PUT(md, to)                  PtlPut(md, PTL_NO_ACK_REQ, to, INDEX, 0, 0, 0, 0)
#define PUT_REGION(md, off, len, to) PtlPutRegion(md, off, len, PTL_NO_ACK_REQ, to, INDEX, 0, 0, 0, 0)
#define GET(md, to)                  PtlGet(md, to, INDEX, 0, 0, 0)
#define GET_REGION(md, off, len, to) PtlGetRegion(md, off, len, to, INDEX, 0, 0, 0)
#define GETPUT(get_md, put_md, to)   PtlGetPut(get_md, put_md, to, INDEX, 0, 0, 0, 0)

#define MOVE_ROWS(X)                                                                                                   \
	X(PTL_MD_INVALID, PUT(NONE, a.self))                                                                           \
	X(PTL_MD_INVALID, PUT(a.dead_md, a.self))                                                                      \
	X(PTL_MD_INVALID, PUT(a.inactive_md, a.self))                                                                  \
	X(PTL_MD_INVALID, PUT(a.me, a.self))                                                                           \
	X(PTL_PROCESS_INVALID, PUT(a.free_md, WILD_NID))                                                               \
	X(PTL_PROCESS_INVALID, PUT(a.free_md, WILD_PID))                                                               \
	X(PTL_MD_INVALID, PUT_REGION(a.dead_md, 0, 0, a.self))                                                         \
	X(PTL_MD_INVALID, PUT_REGION(a.inactive_md, 0, 0, a.self))                                                     \
	X(PTL_MD_ILLEGAL, PUT_REGION(a.free_md, 0, 65, a.self))                                                        \
	X(PTL_MD_ILLEGAL, PUT_REGION(a.free_md, 65, 0, a.self))                                                        \
	X(PTL_MD_ILLEGAL, PUT_REGION(a.free_md, 1, 64, a.self))                                                        \
	X(PTL_MD_ILLEGAL, PUT_REGION(a.free_md, 2, ~0ull, a.self))                                                     \
	X(PTL_MD_ILLEGAL, PUT_REGION(a.free_md, ~0ull, 2, a.self))                                                     \
	X(PTL_PROCESS_INVALID, PUT_REGION(a.free_md, 0, 8, anyone))                                                    \
	X(PTL_MD_INVALID, GET(NONE, a.self))                                                                           \
	X(PTL_MD_INVALID, GET(a.inactive_md, a.self))                                                                  \
	X(PTL_PROCESS_INVALID, GET(a.free_md, WILD_NID))                                                               \
	X(PTL_MD_INVALID, GET_REGION(a.dead_md, 0, 0, a.self))                                                         \
	X(PTL_MD_ILLEGAL, GET_REGION(a.free_md, 0, 65, a.self))                                                        \
	X(PTL_MD_ILLEGAL, GET_REGION(a.free_md, 65, 0, a.self))                                                        \
	X(PTL_MD_ILLEGAL, GET_REGION(a.free_md, 2, ~0ull, a.self))                                                     \
	X(PTL_PROCESS_INVALID, GET_REGION(a.free_md, 0, 8, WILD_PID))                                                  \
	X(PTL_MD_INVALID, GETPUT(NONE, a.free_md, a.self))                                                             \
	X(PTL_MD_INVALID, GETPUT(a.free_md, NONE, a.self))                                                             \
	X(PTL_MD_INVALID, GETPUT(a.inactive_md, a.free_md, a.self))                                                    \
	X(PTL_MD_INVALID, GETPUT(a.free_md, a.inactive_md, a.self))                                                    \
	X(PTL_MD_ILLEGAL, GETPUT(a.big_md, a.free_md, a.self))                                                         \
	X(PTL_MD_ILLEGAL, GETPUT(a.free_md, a.big_md, a.self))                                                         \
	X(PTL_PROCESS_INVALID, GETPUT(a.free_md, a.free_md, anyone))

#define CHECK_ROW(code, call) CHECK_RC(call, code);

/* A refused call changes nothing: no event, no drop, and the good arguments still work. */
static void calls_on_interfaces_return_the_right_code(void)
{
	prepare_arguments();
	NI_ROWS(CHECK_ROW)
}

static void calls_on_match_entries_return_the_right_code(void)
{
	prepare_arguments();
	ME_ROWS(CHECK_ROW)
	CHECK_OK(PtlMEUnlink(a.me));
}

static void calls_on_descriptors_return_the_right_code(void)
{
	prepare_arguments();
	MD_ROWS(CHECK_ROW)
	CHECK_OK(PtlMDAttach(a.bare, a.desc, PTL_RETAIN, &a.handle));
	CHECK_OK(PtlMDUnlink(a.handle));
}

static void calls_on_event_queues_return_the_right_code(void)
{
	prepare_arguments();
	EQ_ROWS(CHECK_ROW)
	CHECK_OK(PtlEQFree(a.eq));
	CHECK_RC(PtlEQFree(a.eq), PTL_EQ_INVALID);
}

static void calls_that_move_data_return_the_right_code(void)
{
	prepare_arguments();
	MOVE_ROWS(CHECK_ROW)
	CHECK_EMPTY(a.eq);
	CHECK_EQUAL(drops(), 0);
	CHECK_OK(PtlPut(a.free_md, PTL_NO_ACK_REQ, a.self, INDEX, 0, BITS, 0, 0));
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(take_any(a.eq).ni_fail_type, PTL_NI_OK);
}

#define EVERY_CALL(X)                                                                                                  \
	X(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &a.handle))                                            \
	X(PtlNIFini(NONE))                                                                                             \
	X(PtlNIStatus(NONE, 0, &a.value))                                                                              \
	X(PtlNIDist(NONE, a.self, &a.distance))                                                                        \
	X(PtlNIHandle(NONE, &a.handle))                                                                                \
	X(PtlGetUid(NONE, &a.word))                                                                                    \
	X(PtlGetId(NONE, &a.id))                                                                                       \
	X(PtlGetJid(NONE, &a.word))                                                                                    \
	X(PtlMEAttach(NONE, 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle))                                    \
	X(PtlMEAttachAny(NONE, &a.index, anyone, 0, 0, PTL_RETAIN, &a.handle))                                         \
	X(PtlMEInsert(NONE, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &a.handle))                                       \
	X(PtlMEUnlink(NONE))                                                                                           \
	X(PtlMDAttach(NONE, a.desc, PTL_RETAIN, &a.handle))                                                            \
	X(PtlMDBind(NONE, a.desc, PTL_RETAIN, &a.handle))                                                              \
	X(PtlMDUnlink(NONE))                                                                                           \
	X(PtlMDUpdate(NONE, NULL, &a.desc, PTL_EQ_NONE))                                                               \
	X(PtlEQAlloc(NONE, 8, PTL_EQ_HANDLER_NONE, &a.handle))                                                         \
	X(PtlEQFree(NONE))                                                                                             \
	X(PtlEQGet(NONE, &a.event))                                                                                    \
	X(PtlEQWait(NONE, &a.event))                                                                                   \
	X(PtlEQPoll(&a.eq, 1, 0, &a.event, &a.number))                                                                 \
	X(PtlACEntry(NONE, 0, anyone, 0, 0, 0))                                                                        \
	X(PUT(NONE, a.self))                                                                                           \
	X(PUT_REGION(NONE, 0, 0, a.self))                                                                              \
	X(GET(NONE, a.self))                                                                                           \
	X(GET_REGION(NONE, 0, 0, a.self))                                                                              \
	X(GETPUT(NONE, NONE, a.self))

#define CHECK_NO_INIT(call) CHECK_RC(call, PTL_NO_INIT);

static void every_call_before_init_and_after_fini_says_so(void)
{
	int interfaces = 0;
	EVERY_CALL(CHECK_NO_INIT)
	PtlFini(); /* without PtlInit: nothing happens */
	EVERY_CALL(CHECK_NO_INIT)
	open_interface(PTL_PID_ANY);
	PtlFini();
	EVERY_CALL(CHECK_NO_INIT)
	PtlFini();
	CHECK_OK(PtlInit(&interfaces));
	CHECK_LESS(0, interfaces);
}

static void refused_calls_do_not_write_their_results(void)
{
	ptl_handle_any_t handle = 0x12345678;
	prepare_arguments();
	CHECK_RC(PtlMEAttach(ni, 64, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &handle), PTL_PT_INDEX_INVALID);
	CHECK_RC(PtlMDBind(ni, with_start(NULL), PTL_RETAIN, &handle), PTL_MD_ILLEGAL);
	CHECK_RC(PtlEQAlloc(ni, ~0ull, PTL_EQ_HANDLER_NONE, &handle), PTL_NO_SPACE);
	CHECK_RC(PtlNIInit(0x7eadbeef, PTL_PID_ANY, NULL, NULL, &handle), PTL_IFACE_INVALID);
	CHECK_EQUAL(handle, 0x12345678);
}

static void an_interface_knows_who_it_is(void)
{
	ptl_process_id_t id;
	ptl_uid_t uid;
	ptl_jid_t jid;
	unsigned long near, far;
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_OK(PtlGetUid(ni, &uid));
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK_EQUAL(id.nid, 0x7f000001); /* 127.0.0.1 in host byte order */
	CHECK(id.pid != PTL_PID_ANY);
	CHECK_EQUAL(uid, geteuid());
	CHECK_EQUAL(jid, id.pid);
	CHECK_OK(PtlNIDist(ni, id, &near));
	CHECK_OK(PtlNIDist(ni, (ptl_process_id_t){0x0a000001, 1}, &far));
	CHECK_LESS(near, far);
}

static void the_job_id_comes_from_the_environment(void)
{
	ptl_jid_t jid;
	CHECK_OK(PtlGetJid(ni, &jid));
	CHECK_EQUAL(jid, 77);
}

static void the_pid_asked_for_is_the_pid_given(void)
{
	ptl_pid_t wanted = 0xc0000000u + (ptl_pid_t)getpid();
	ptl_process_id_t id;
	open_interface(wanted);
	CHECK_OK(PtlGetId(ni, &id));
	CHECK_EQUAL(id.pid, wanted);
}

static void limits_are_at_least_what_clients_need_and_are_enforced(void)
{
	ptl_ni_limits_t wanted = {.max_mes = 1}, actual = {0};
	ptl_handle_ni_t same;
	ptl_handle_eq_t eq;
	int eqs = 0;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, &wanted, &actual, &same));
	CHECK_EQUAL(same, ni);
	CHECK_LESS(65535, actual.max_mes);
	CHECK_LESS(65535, actual.max_mds);
	CHECK_LESS(1023, actual.max_eqs);
	CHECK_LESS(6, actual.max_ac_index);
	CHECK_LESS(62, actual.max_pt_index);
	CHECK_LESS(255, actual.max_md_iovecs);
	CHECK_LESS(65535, actual.max_me_list);
	CHECK_LESS(63, actual.max_getput_md);
	int rc;
	while ((rc = PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &eq)) == PTL_OK && eqs <= actual.max_eqs)
		eqs++;
	CHECK_RC(rc, PTL_NO_SPACE);
	CHECK_LESS(eqs, actual.max_eqs + 1);
	CHECK_LESS(actual.max_eqs - 2, eqs); /* barrier() may own one */
}

static void a_list_takes_as_many_entries_as_its_limit_says(void)
{
	ptl_ni_limits_t limits;
	ptl_handle_ni_t same;
	ptl_handle_me_t me, last = PTL_INVALID_HANDLE;
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &same));
	for (int i = 0; i < limits.max_me_list; i++)
		CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &last));
	/* With the list full the interface may be out of entries as well; either is the truth. */
	int rc = PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
	CHECK(rc == PTL_ME_LIST_TOO_LONG || (rc == PTL_NO_SPACE && limits.max_mes == limits.max_me_list));
	rc = PtlMEInsert(last, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
	CHECK(rc == PTL_ME_LIST_TOO_LONG || (rc == PTL_NO_SPACE && limits.max_mes == limits.max_me_list));
	CHECK_OK(PtlMEUnlink(last));
	CHECK_OK(PtlMEAttach(ni, INDEX, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
}

static void descriptors_run_out_at_their_limit_and_can_be_had_again(void)
{
	ptl_ni_limits_t limits;
	ptl_handle_ni_t same;
	ptl_handle_md_t md = PTL_INVALID_HANDLE, one_more;
	static char bytes[8];
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &same));
	for (int i = 0; i < limits.max_mds; i++)
		CHECK_OK(PtlMDBind(ni, md_over(bytes, 8, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
	CHECK_RC(PtlMDBind(ni, md_over(bytes, 8, 0, PTL_EQ_NONE), PTL_RETAIN, &one_more), PTL_NO_SPACE);
	CHECK_OK(PtlMDUnlink(md));
	CHECK_OK(PtlMDBind(ni, md_over(bytes, 8, 0, PTL_EQ_NONE), PTL_RETAIN, &one_more));
}

static void counting_registers_count(void)
{
	ptl_handle_eq_t eq = new_eq(16);
	ptl_sr_value_t sent, sent_bytes, received, received_bytes;
	char *bytes = memory(100);
	open_door();
	if (am_target())
		open_window(BITS, md_over(bytes, 100, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	barrier();
	if (am_initiator()) {
		ptl_handle_md_t md = bind_md(md_over(bytes, 100, PTL_MD_EVENT_START_DISABLE, eq));
		CHECK_OK(PtlNIStatus(ni, PTL_SR_SEND_LENGTH, &sent_bytes));
		CHECK_OK(PtlNIStatus(ni, PTL_SR_SEND_COUNT, &sent));
		for (int i = 0; i < 3; i++) {
			put(md, PTL_ACK_REQ, BITS);
			take(eq, PTL_EVENT_SEND_END);
			take(eq, PTL_EVENT_ACK);
		}
		ptl_sr_value_t now;
		CHECK_OK(PtlNIStatus(ni, PTL_SR_SEND_LENGTH, &now));
		CHECK_EQUAL(now - sent_bytes, 300);
		CHECK_OK(PtlNIStatus(ni, PTL_SR_SEND_COUNT, &now));
		CHECK_LESS(2, now - sent);
	}
	barrier();
	if (am_target()) {
		CHECK_OK(PtlNIStatus(ni, PTL_SR_RECV_COUNT, &received));
		CHECK_OK(PtlNIStatus(ni, PTL_SR_RECV_LENGTH, &received_bytes));
		CHECK_LESS(2, received);
		CHECK_EQUAL(received_bytes, 300);
	}
}

static void a_repeated_init_returns_the_same_interface(void)
{
	ptl_handle_ni_t again = PTL_INVALID_HANDLE;
	ptl_ni_limits_t limits = {0};
	ptl_process_id_t before, after;
	int interfaces = -1;
	CHECK_OK(PtlGetId(ni, &before));
	CHECK_OK(PtlInit(&interfaces));
	CHECK_LESS(0, interfaces);
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, before.pid + 1, NULL, &limits, &again));
	CHECK_EQUAL(again, ni);
	CHECK_LESS(62, limits.max_pt_index);
	CHECK_OK(PtlGetId(again, &after));
	CHECK_ID(after, before);
	CHECK_OK(PtlNIFini(ni)); /* no count: one is enough */
	CHECK_RC(PtlGetId(again, &after), PTL_NI_INVALID);
	ni = PTL_INVALID_HANDLE;
}

/* A second interface is an NI of its own: pid, portal table, queues; its objects do not mix with the first's. */
static void a_second_interface_is_separate_and_needs_no_queue(void)
{
	ptl_handle_ni_t first = ni, second;
	ptl_process_id_t one, two;
	static char source[8] = "across", buffer[8];
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &second));
	CHECK(first != second);
	CHECK_OK(PtlGetId(first, &one));
	CHECK_OK(PtlGetId(second, &two));
	CHECK(one.nid != two.nid || one.pid != two.pid);
	ptl_handle_eq_t first_eq = new_eq(8), second_eq;
	ptl_handle_md_t md;
	CHECK_OK(PtlEQAlloc(second, 8, PTL_EQ_HANDLER_NONE, &second_eq));
	CHECK_OK(PtlMDBind(second, md_over(source, 8, 0, PTL_EQ_NONE), PTL_RETAIN, &md));
	CHECK_RC(PtlMDBind(second, md_over(source, 8, 0, first_eq), PTL_RETAIN, &a.handle), PTL_MD_ILLEGAL);
	CHECK_RC(PtlEQPoll(((ptl_handle_eq_t[]){first_eq, second_eq}), 2, 0, &a.event, &a.number), PTL_EQ_INVALID);
	ptl_handle_md_t other = bind_md(md_over(source, 8, 0, PTL_EQ_NONE));
	CHECK_RC(PtlGetPut(md, other, two, INDEX, 0, BITS, 0, 0), PTL_MD_ILLEGAL);
	ptl_handle_ni_t owner;
	CHECK_OK(PtlNIHandle(md, &owner));
	CHECK_EQUAL(owner, second);
	/* The second interface talks to itself while the first goes on. */
	ni = second;
	open_window(BITS, md_over(buffer, 8, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, second_eq));
	CHECK_OK(PtlPut(md, PTL_NO_ACK_REQ, two, INDEX, 0, BITS, 0, 0));
	CHECK_ID(take(second_eq, PTL_EVENT_PUT_END).initiator, two);
	CHECK_STRING(buffer, "across");
	CHECK_OK(PtlNIFini(second));
	ni = first;
	CHECK_OK(PtlGetId(first, &one));
}

static void codes_kinds_and_failures_have_names(void)
{
	CHECK_STRING(PtlErrorStr(PTL_OK), "PTL_OK");
	CHECK_STRING(PtlErrorStr(PTL_SR_INDEX_INVALID), "PTL_SR_INDEX_INVALID");
	CHECK_STRING(PtlErrorStr(12345), "PTL_UNKNOWN_ERROR");
	CHECK_STRING(ptl_err_str[PTL_EQ_EMPTY], "PTL_EQ_EMPTY");
	CHECK_STRING(PtlEventKindStr(PTL_EVENT_UNLINK), "PTL_EVENT_UNLINK");
	CHECK_STRING(PtlEventKindStr((ptl_event_kind_t)99), "PTL_UNKNOWN_EVENT_KIND");
	CHECK_STRING(PtlNIFailStr(PTL_INVALID_HANDLE, PTL_NI_OK), "PTL_NI_OK");
	CHECK_STRING(PtlNIFailStr(ni, PTL_NI_FAIL), "PTL_NI_FAIL");
}

static void a_setting_that_makes_no_sense_is_refused_by_name(void)
{
	int interfaces;
	int rc = PtlInit(&interfaces);
	if (rc == PTL_OK)
		rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	CHECK(rc == PTL_FAIL || rc == PTL_IFACE_INVALID);
	const char *nonsense = getenv("NONSENSE");
	if (nonsense == NULL || strstr(PtlNicErrorText(), nonsense) == NULL)
		FAIL("\"%s\" does not name %s", PtlNicErrorText(), nonsense);
}

#define NONSENSE(variable, value)                                                                                      \
	{                                                                                                              \
		.name = "a_setting_that_makes_no_sense_is_refused_by_name: " variable,                                 \
		.run = a_setting_that_makes_no_sense_is_refused_by_name, .processes = 1, .traits = TRAIT_BARE,         \
		.environment = variable "=" value " NONSENSE=" value                                                   \
	}

#define PATIENT(test)                                                                                                  \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1, .seconds = 120                                             \
	}

const struct test call_tests[] = {
	ALONE(calls_on_interfaces_return_the_right_code),
	ALONE(calls_on_match_entries_return_the_right_code),
	ALONE(calls_on_descriptors_return_the_right_code),
	ALONE(calls_on_event_queues_return_the_right_code),
	ALONE(calls_that_move_data_return_the_right_code),
	{.name = "every_call_before_init_and_after_fini_says_so",
	 .run = every_call_before_init_and_after_fini_says_so,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	ALONE(refused_calls_do_not_write_their_results),
	ALONE(an_interface_knows_who_it_is),
	{.name = "the_job_id_comes_from_the_environment",
	 .run = the_job_id_comes_from_the_environment,
	 .processes = 1,
	 .environment = "PTL_MY_JID=77"},
	{.name = "the_pid_asked_for_is_the_pid_given",
	 .run = the_pid_asked_for_is_the_pid_given,
	 .processes = 1,
	 .traits = TRAIT_BARE},
	ALONE(limits_are_at_least_what_clients_need_and_are_enforced),
	/* 65536 calls, each handed to the NIC thread in dedicated mode. */
	PATIENT(a_list_takes_as_many_entries_as_its_limit_says),
	PATIENT(descriptors_run_out_at_their_limit_and_can_be_had_again),
	PAIR(counting_registers_count),
	ALONE(a_repeated_init_returns_the_same_interface),
	ALONE(a_second_interface_is_separate_and_needs_no_queue),
	ALONE(codes_kinds_and_failures_have_names),
	NONSENSE("PTL_TRANSPORT", "carrier-pigeon"),
	NONSENSE("PTL_NIC_MODE", "lazy"),
	NONSENSE("PTL_IFACE", "no-such-device0"),
	NONSENSE("PTL_PEER_TIMEOUT", "soon"),
	{0},
};
