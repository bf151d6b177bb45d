/* SPDX-License-Identifier: BSD-3-Clause */
/* What exchanges do with an open session: events, entries, descriptors, payloads. */
#include "session.h"

#include <string.h>

#include "fail.h"

void portals_refused(int code, const char *call)
{
	const char *text = PtlNicErrorText();
	fail("%.*s: %s%s%s", (int)strcspn(call, "("), call, PtlErrorStr((unsigned)code), *text ? ": " : "", text);
}

void session_forget(struct session *session)
{
	memset(session->seen, 0, sizeof(session->seen));
}

static bool take_event(struct session *session, bool wait)
{
	ptl_event_t *event = &session->event;
	int code = wait ? PtlEQWait(session->eq, event) : PtlEQGet(session->eq, event);

	if (code == PTL_EQ_EMPTY)
		return false;
	portals_require(code, wait ? "PtlEQWait" : "PtlEQGet");
	if (event->ni_fail_type != PTL_NI_OK)
		fail("%s says %s", PtlEventKindStr(event->type), PtlNIFailStr(session->ni, event->ni_fail_type));
	session->seen[event->type]++;
	return true;
}

void session_wait(struct session *session, ptl_event_kind_t kind, uint64_t count)
{
	bool wait = session->load.wait == WAIT_EQWAIT;

	while (session->seen[kind] < count)
		take_event(session, wait);
}

ptl_md_t session_md(const struct session *session, void *start, size_t length, unsigned options)
{
	return (ptl_md_t){
		.start = start,
		.length = length,
		.threshold = PTL_MD_THRESH_INF,
		.options = options | (session->load.start_events ? 0 : PTL_MD_EVENT_START_DISABLE),
		.eq_handle = session->eq,
	};
}

ptl_handle_me_t session_attach(struct session *session, ptl_match_bits_t bits, ptl_md_t md, ptl_unlink_t unlink)
{
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	PTL(PtlMEAttach(session->ni, BENCH_PT_INDEX, session->other, bits, 0, unlink, PTL_INS_AFTER, &me));
	PTL(PtlMDAttach(me, md, unlink, &handle));
	return me;
}

ptl_handle_md_t session_bind(struct session *session, ptl_md_t md, ptl_unlink_t unlink)
{
	ptl_handle_md_t handle;

	PTL(PtlMDBind(session->ni, md, unlink, &handle));
	return handle;
}

ptl_handle_md_t session_bind_silent(struct session *session, void *start, size_t length)
{
	ptl_md_t md = session_md(session, start, length, 0);

	md.eq_handle = PTL_EQ_NONE;
	return session_bind(session, md, PTL_RETAIN);
}

ptl_handle_me_t session_attach_sink(struct session *session, size_t length)
{
	return session_attach(session, BITS_DATA,
			      session_md(session, session->sink, length, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE),
			      PTL_RETAIN);
}

void session_detach(struct session *session, ptl_handle_me_t me)
{
	int code;

	while ((code = PtlMEUnlink(me)) == PTL_ME_IN_USE)
		take_event(session, false);
	portals_require(code, "PtlMEUnlink");
}

void session_release(struct session *session, ptl_handle_md_t md)
{
	int code;

	while ((code = PtlMDUnlink(md)) == PTL_MD_IN_USE)
		take_event(session, false);
	portals_require(code, "PtlMDUnlink");
}

void session_put(struct session *session, ptl_handle_md_t md, ptl_match_bits_t bits)
{
	PTL(PtlPut(md, PTL_NO_ACK_REQ, session->other, BENCH_PT_INDEX, 0, bits, 0, 0));
}

/* Differs between neighbouring bytes, messages and lines of a page, so that no misplaced piece fits by chance. */
static char payload_byte(size_t at, uint64_t serial)
{
	return (char)(at * 7 + (at >> 8) * 13 + serial * 31);
}

void payload_fill_part(const struct session *session, char *to, size_t first, size_t size, uint64_t serial)
{
	if (!session->load.check)
		return;
	for (size_t at = 0; at < size; at++)
		to[at] = payload_byte(first + at, serial);
}

void payload_check_part(const struct session *session, const char *from, size_t first, size_t size, uint64_t serial)
{
	if (!session->load.check)
		return;
	for (size_t at = 0; at < size; at++)
		if (from[at] != payload_byte(first + at, serial))
			fail("message %llu, %zu bytes of it: byte %zu is 0x%02x, not 0x%02x",
			     (unsigned long long)serial, size, first + at, (unsigned char)from[at],
			     (unsigned char)payload_byte(first + at, serial));
}

void payload_fill(const struct session *session, char *to, size_t size, uint64_t serial)
{
	payload_fill_part(session, to, 0, size, serial);
}

void payload_check(const struct session *session, const char *from, size_t size, uint64_t serial)
{
	payload_check_part(session, from, 0, size, serial);
}
