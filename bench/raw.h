/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same exchanges done directly on libfabric: what the provider alone can do, beside what Portals makes of it.
 *
 * msg: messages of the size that ours have on the wire, header included.  tagged: the payload alone, the tag being the
 * header.  rma: fi_write and fi_read of the payload alone.
 */
#ifndef PTLBENCH_RAW_H
#define PTLBENCH_RAW_H

#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "measure.h"
#include "offload/wire.h"

/* Sizes of our headers: what raw messages carry in addition to, or instead of, payload. */
#define RAW_WIDTH_u16          +2
#define RAW_WIDTH_u32          +4
#define RAW_WIDTH_u64          +8
#define RAW_WIDTH(type, field) RAW_WIDTH_##type
enum {
	RAW_PUT_HEADER = WIRE_PREFIX_SIZE WIRE_PUT_FIELDS(RAW_WIDTH),
	RAW_GET_HEADER = WIRE_PREFIX_SIZE WIRE_REQUEST(RAW_WIDTH),
	RAW_REPLY_HEADER = WIRE_PREFIX_SIZE WIRE_ACK_FIELDS(RAW_WIDTH),
};

/* How an endpoint receives: into shared buffers (FI_MULTI_RECV), or each message where it belongs. */
enum raw_habit { HABIT_SHARED, HABIT_PLACED, HABIT_TAGGED, HABIT_COUNT };

/* Messages up to this size go to shared buffers, as ours do; longer ones are worth a receive of their own. */
#define RAW_SHARED_MAX     16384u
#define RAW_SHARED_BUFFERS 4
#define RAW_SHARED_SIZE    ((size_t)256 << 10)

struct raw_endpoint {
	struct raw *raw;
	enum raw_habit habit;
	struct fid_ep *ep;
	struct fid_cq *cq;
	fi_addr_t peer;
	uint64_t sent, received; /* completions since raw_forget(); operations that were injected have none */
	uint64_t due;            /* completions that sends and RMA operations still owe, as a total like `sent` */
	uint32_t next_context;
};

/* How the other side reaches us: endpoint names, and our two buffers for RMA. */
struct raw_name {
	uint8_t address[HABIT_COUNT][64];
	uint64_t source, source_key, sink, sink_key;
};

struct raw {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct raw_endpoint endpoint[HABIT_COUNT];
	char *shared; /* receive buffers of HABIT_SHARED */
	struct fid_mr *source_mr, *sink_mr, *shared_mr;
	struct raw_name other;
};

/* Opens the provider that the session's interface uses.  Ends the process on failure. */
struct raw *raw_open(struct session *session);
void raw_get_name(const struct session *session, struct raw_name *name);
void raw_set_peer(struct raw *raw, const struct raw_name *name);
void raw_close(struct raw *raw);

/* The exchange that does the same on libfabric, or -1 if --raw was not given or has none for this size. */
int raw_counterpart(const struct session *session, enum exchange_id exchange, uint64_t size);

/* A memory region of ours, which the caller closes; NULL if what --raw does needs none. */
struct fid_mr *raw_register(struct raw *raw, void *memory, size_t size, uint64_t key);

/* Says above a table what the raw column is. */
void raw_fact(const struct session *session);

/* Ends the process unless a call of libfabric went well. */
void raw_check(long code, const char *call);

/* What stands for one of our puts: how long it is, and where it is sent and received. */
size_t raw_put_size(const struct session *session, const struct run *run);
struct raw_endpoint *raw_endpoint_for(struct session *session, const struct run *run);

/* Hands the shared buffers to the provider; each comes back to it as soon as it is used up. */
void raw_post_shared(struct raw_endpoint *endpoint);

/* Makes counting begin anew; nothing must be in flight. */
void raw_forget(struct raw_endpoint *endpoint);

/* A receive for the next message; nothing to do where buffers are shared. */
void raw_post(struct raw_endpoint *endpoint, void *to, size_t length);

/* Injected if it is short enough.  The buffer is free when raw_flush() returns. */
void raw_send(struct raw_endpoint *endpoint, const void *from, size_t length);
void raw_write(struct raw_endpoint *endpoint, const void *from, size_t length);
void raw_read(struct raw_endpoint *endpoint, void *to, size_t length);

/* Waits for all sends and RMA operations, and for that many messages. */
void raw_flush(struct raw_endpoint *endpoint);
void raw_wait(struct raw_endpoint *endpoint, uint64_t messages);

/* Lets the provider work. */
void raw_progress(struct raw_endpoint *endpoint);

#endif
