/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program as those that came with the reference implementation were written: C89, the network layer by a macro, ranks
 * from the environment, its formats, time limits, debug stream and masks.  Each tells each that it is there,
 * then puts to its neighbour.
 */
#include <p3-config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <portals3.h>
#include P3_NAL
#include <p3/debug.h>
#include <p3api/debug.h>
#include <p3rt/p3rt.h>
#include <p3utils.h>

#define HELLO_PTL 4
#define TEST_PTL  5
#define ACE_ANY   1
#define BITS      0xdeadbeefULL
#define COUNT     20

static ptl_handle_ni_t ni;
static unsigned rank, size;
static const ptl_process_id_t any = {PTL_NID_ANY, PTL_PID_ANY};

#define PTL_CHECK(fn)                                                                                                  \
	do {                                                                                                           \
		int rc_ = fn;                                                                                          \
		if (rc_ != PTL_OK) {                                                                                   \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #fn, PtlErrorStr(rc_));                 \
			exit(EXIT_FAILURE);                                                                            \
		}                                                                                                      \
	} while (0)

static void print_event(const ptl_event_t *ev)
{
	fprintf(p3_out, "%s of " FMT_NIDPIDPTL " " FMT_MBITS " " FMT_RLEN " " FMT_MLEN " offset " FMT_PSZ_T "\n",
		PtlEventKindStr(ev->type), ev->initiator.nid, ev->initiator.pid, ev->pt_index, ev->match_bits,
		ev->rlength, ev->mlength, ev->offset);
	fprintf(p3_out, "  md " FMT_HDL_T " link " FMT_SEQ_T " uid " FMT_UID_T " jid " FMT_JID_T " %s " FMT_SZ_T "\n",
		ev->md_handle, ev->link, ev->uid, ev->jid, PtlNIFailStr(ni, ev->ni_fail_type), sizeof(*ev));
}

static void start(void)
{
	int interfaces;
	ptl_ni_limits_t limits;
	ptl_process_id_t id;

	PTL_CHECK(PtlInit(&interfaces));
	PtlNIDebug(PTL_INVALID_HANDLE, PTL_DBG_SETUP | PTL_DBG_DROP | PTL_DBG_NI_ALL);
	PTL_CHECK(PtlSetRank(PTL_INVALID_HANDLE, -1, -1));
	PTL_CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &ni));
	PTL_CHECK(PtlGetRank(ni, &rank, &size));
	PTL_CHECK(PtlGetId(ni, &id));
	PTL_CHECK(PtlACEntry(ni, ACE_ANY, any, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	fprintf(p3_out, "rank %u of %u is " FMT_NIDPID ", %d MEs\n", rank, size, id.nid, id.pid, limits.max_mes);
}

static void say_hello(ptl_handle_md_t md, unsigned heard)
{
	ptl_process_id_t peer;
	unsigned i;

	for (i = 0; i < size; i++) {
		if (heard & 1 << i)
			continue;
		PTL_CHECK(PtlGetRankId(ni, i, &peer));
		PTL_CHECK(PtlPut(md, PTL_ACK_REQ, peer, HELLO_PTL, ACE_ANY, BITS, 0, rank));
	}
}

static unsigned rank_of(ptl_process_id_t id)
{
	ptl_process_id_t peer;
	unsigned i;

	for (i = 0; i < size; i++) {
		PTL_CHECK(PtlGetRankId(ni, i, &peer));
		if (peer.nid == id.nid && peer.pid == id.pid)
			return i;
	}
	return size;
}

/* All have heard us, and we all.  A peer may not be there yet, or be there without its match entry. */
static void handshake(ptl_handle_eq_t eq, ptl_handle_md_t md)
{
	unsigned heard_us = 0, heard = 0, all = (1 << size) - 1;
	timeout_val_t give_up, again;
	ptl_event_t ev;

	set_timeout(&give_up, 20000);
	set_timeout(&again, 0);
	while (heard_us != all || heard != all) {
		if (test_timeout(&again)) {
			say_hello(md, heard_us);
			clear_timeout(&again); /* once we were heard there is nothing to repeat */
		}
		if (heard_us != all && !timeout_set(&again))
			set_timeout(&again, 200);
		if (PtlEQGet(eq, &ev) != PTL_OK) {
			if (test_timeout(&give_up))
				exit(EXIT_FAILURE);
			usleep(100);
		} else if (ev.type == PTL_EVENT_PUT_END) {
			heard |= 1 << ev.hdr_data;
		} else if (ev.type == PTL_EVENT_ACK && ev.ni_fail_type == PTL_NI_OK) {
			heard_us |= 1 << rank_of(ev.initiator);
		}
	}
}

static void await_unlink(ptl_handle_eq_t eq)
{
	ptl_event_t ev;

	do {
		PTL_CHECK(PtlEQWait(eq, &ev));
		print_event(&ev);
		PTL_CHECK(ev.ni_fail_type == PTL_NI_OK ? PTL_OK : PTL_FAIL);
	} while (ev.type != PTL_EVENT_UNLINK);
}

static void put_to_neighbour(ptl_handle_md_t md)
{
	ptl_process_id_t peer;
	int i;

	PTL_CHECK(PtlGetRankId(ni, (rank + 1) % size, &peer));
	for (i = 0; i < COUNT; i++)
		PTL_CHECK(PtlPut(md, PTL_ACK_REQ, peer, TEST_PTL, ACE_ANY, BITS, 0, i));
}

/* A match entry with a descriptor. */
static ptl_handle_md_t attach(ptl_pt_index_t index, ptl_md_t md, ptl_unlink_t unlink)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	PTL_CHECK(PtlMEAttach(ni, index, any, BITS, 0, unlink, PTL_INS_AFTER, &me));
	PTL_CHECK(PtlMDAttach(me, md, unlink, &handle));
	return handle;
}

int main(void)
{
	static char to[4096], from[4096];
	ptl_handle_eq_t hello_eq, to_eq, from_eq;
	ptl_handle_md_t hello, from_md;
	ptl_md_t md;

	start();
	PTL_CHECK(PtlEQAlloc(ni, 5, PTL_EQ_HANDLER_NONE, &to_eq));
	PTL_CHECK(PtlEQFree(to_eq));
	PTL_CHECK(PtlEQAlloc(ni, MAX(1024, 2 * size), PTL_EQ_HANDLER_NONE, &hello_eq));
	PTL_CHECK(PtlEQAlloc(ni, 4 * COUNT, PTL_EQ_HANDLER_NONE, &to_eq));
	PTL_CHECK(PtlEQAlloc(ni, 4 * COUNT, PTL_EQ_HANDLER_NONE, &from_eq));

	memset(&md, 0, sizeof(md));
	md.start = to;
	md.length = sizeof(to);
	md.threshold = COUNT;
	md.options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;
	md.eq_handle = to_eq;
	attach(TEST_PTL, md, PTL_UNLINK);
	md.start = from;
	md.threshold = 2 * COUNT;
	md.options = 0;
	md.eq_handle = from_eq;
	memset(from, 'a' + rank, sizeof(from));
	PTL_CHECK(PtlMDBind(ni, md, PTL_UNLINK, &from_md));

	md.length = 0;
	md.threshold = PTL_MD_THRESH_INF;
	md.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	md.eq_handle = hello_eq;
	hello = attach(HELLO_PTL, md, PTL_RETAIN);
	handshake(hello_eq, hello);

	put_to_neighbour(from_md);
	await_unlink(from_eq);
	await_unlink(to_eq);
	PTL_CHECK(PtlTblDump(ni, HELLO_PTL));
	PTL_CHECK(PtlNIEqDump(ni));
	PTL_CHECK(PtlNIFini(ni));
	PtlFini();
	return to[0] == (char)('a' + (rank + size - 1) % size) ? EXIT_SUCCESS : EXIT_FAILURE;
}
