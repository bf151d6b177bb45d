/* SPDX-License-Identifier: BSD-3-Clause */
/* One run as one of its two processes sees it: the Portals interface, the buffers, the other side, events seen. */
#ifndef PTLBENCH_SESSION_H
#define PTLBENCH_SESSION_H

#include <portals3.h>
#include <portals3_nic.h>

#include "base/arch.h"
#include "distance.h"
#include "options.h"
#include "peers.h"

#define BENCH_PT_INDEX 17

/* With --check the sink has room for so many messages at least. */
#define CHECKED_LEAST 8
#define DEFAULT_PID   4242 /* of a listener that was not told otherwise; also its TCP port */

/* Match bits. */
enum { BITS_DATA = 1, BITS_DONE = 2, BITS_PORT = 3 };

struct raw;
struct common;

struct session {
	const struct options *options;
	struct workload load;
	struct peers peers;

	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	ptl_ni_limits_t limits;
	ptl_process_id_t self, other;
	double open_ns, ready_ns; /* PtlNIInit, and until every transport was open */
	char info[4096];          /* PtlNicInfo */

	uint64_t seen[PTL_EVENT_UNLINK + 1]; /* events taken since session_forget(), by kind */
	ptl_event_t event;                   /* the last one */

	char *source, *sink; /* page-aligned; what is sent, where it arrives */
	size_t source_size, sink_size;

	struct distance distance; /* of the cores, at the last row; of the initiator */
	struct raw *raw;          /* NULL without --raw on libfabric */
	struct common *common;    /* memory that both processes see; NULL unless one forked the other (common.h) */
};

/* Ends the process with the call's name and the reason unless it returned PTL_OK. */
#define PTL(call) portals_require(call, #call)
void portals_refused(int code, const char *call) __attribute__((noreturn));

static inline void portals_require(int code, const char *call)
{
	if (unlikely(code != PTL_OK))
		portals_refused(code, call);
}

/* Opens the interface, with what the options say about transport, mode and device.  pid may be PTL_PID_ANY. */
void session_open_interface(struct session *session, ptl_pid_t pid);

/* The same; returns what the call that failed returned, and which one that was, or PTL_OK. */
int session_try_interface(struct session *session, ptl_pid_t pid, const char **call);

/* Everything: fork or meet, interface, hello, buffers, raw endpoint; pins the calling thread. */
void session_open(struct session *session, const struct options *options);
void session_close(struct session *session);

/* Opens and closes an interface: launchers take it ill if one rank of a job joins and another does not. */
void session_visit(const struct options *options);

/* A session of one process that is its own other side: serve() of an exchange is never called. */
void session_open_alone(struct session *session, const struct options *options, ptl_pid_t pid);

/* The NIC thread of a dedicated interface, which never sleeps, gets the core that the host has not. */
void session_place_nic_thread(const struct options *options);

/* Two forked processes with buffers, common memory and the raw endpoint if one is asked for, but without Portals. */
void session_open_bare(struct session *session, const struct options *options);
void session_close_bare(struct session *session);

/* Value of a "name: value" line of what PtlNicInfo gave, copied; false if there is none. */
bool info_line(const char *info, const char *name, char *value, size_t size);

/* Operations in flight for messages of this size. */
uint32_t session_window(const struct workload *load, uint64_t size);

/* Messages of this size that the sink has room for with --check. */
uint64_t session_checked_at_once(const struct workload *load, uint64_t size);

/* Facts every table starts with. */
void session_facts(const struct session *session);

/* Events are counted by kind; waiting means taking events until there have been `count` of that kind. */
void session_forget(struct session *session);
void session_wait(struct session *session, ptl_event_kind_t kind, uint64_t count);

/* A descriptor with our event queue, unlimited threshold and START events only if asked for. */
ptl_md_t session_md(const struct session *session, void *start, size_t length, unsigned options);

/* An entry at the tail of our list for messages from the other side. */
ptl_handle_me_t session_attach(struct session *session, ptl_match_bits_t bits, ptl_md_t md, ptl_unlink_t unlink);
ptl_handle_md_t session_bind(struct session *session, ptl_md_t md, ptl_unlink_t unlink);

/* To send from without hearing of it; and to receive any number of messages from the other side. */
ptl_handle_md_t session_bind_silent(struct session *session, void *start, size_t length);
ptl_handle_me_t session_attach_sink(struct session *session, size_t length);

/* Unlink what may still be pending for a moment; takes events meanwhile. */
void session_detach(struct session *session, ptl_handle_me_t me);
void session_release(struct session *session, ptl_handle_md_t md);

/* The whole descriptor to the other side, without acknowledgement. */
void session_put(struct session *session, ptl_handle_md_t md, ptl_match_bits_t bits);

/* With --check: payload number `serial`, and whether it arrived. */
void payload_fill(const struct session *session, char *to, size_t size, uint64_t serial);
void payload_check(const struct session *session, const char *from, size_t size, uint64_t serial);

/* The same of `size` bytes of it from byte `first` on, of a message in segments. */
void payload_fill_part(const struct session *session, char *to, size_t first, size_t size, uint64_t serial);
void payload_check_part(const struct session *session, const char *from, size_t first, size_t size, uint64_t serial);

#endif
