/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of raw exchanges and their completions. */
#include "raw.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <stdlib.h>

#include "fail.h"

#define CONTEXTS (2 * WINDOW_LIMIT + 64) /* more than operations in flight */
#define RAW_TAG  0x706f7274616c73

/* Completions name these; which one does not matter, but some providers write into them. */
static struct fi_context2 contexts[HABIT_COUNT][CONTEXTS];
static struct fi_context2 shared_contexts[RAW_SHARED_BUFFERS];

/* Descriptor of a registered buffer; providers without FI_MR_LOCAL take it or leave it. */
static void *descriptor(const struct raw *raw, struct fid_mr *mr)
{
	return mr && raw->info->domain_attr->mr_mode & FI_MR_LOCAL ? fi_mr_desc(mr) : NULL;
}

static void post_shared(struct raw_endpoint *endpoint, ptrdiff_t index)
{
	struct raw *raw = endpoint->raw;
	void *desc = descriptor(raw, raw->shared_mr);
	struct iovec buffer = {raw->shared + (size_t)index * RAW_SHARED_SIZE, RAW_SHARED_SIZE};
	struct fi_msg message = {
		.msg_iov = &buffer,
		.desc = &desc,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &shared_contexts[index],
	};

	raw_check(fi_recvmsg(endpoint->ep, &message, FI_MULTI_RECV), "fi_recvmsg");
}

void raw_post_shared(struct raw_endpoint *endpoint)
{
	for (ptrdiff_t index = 0; index < RAW_SHARED_BUFFERS; index++)
		post_shared(endpoint, index);
}

void raw_forget(struct raw_endpoint *endpoint)
{
	endpoint->sent = endpoint->received = endpoint->due = 0;
}

static void __attribute__((noreturn)) completion_failed(struct raw_endpoint *endpoint)
{
	struct fi_cq_err_entry error = {0};

	fi_cq_readerr(endpoint->cq, &error, 0);
	fail("raw libfabric: a completion failed: %s", fi_strerror(abs(error.err)));
}

/* A shared buffer's end comes with its last message, or alone and then without length. */
static void arrived(struct raw_endpoint *endpoint, const struct fi_cq_msg_entry *entry)
{
	if (entry->len || !(entry->flags & FI_MULTI_RECV))
		endpoint->received++;
	if (entry->flags & FI_MULTI_RECV)
		post_shared(endpoint, (struct fi_context2 *)entry->op_context - shared_contexts);
}

void raw_progress(struct raw_endpoint *endpoint)
{
	struct fi_cq_msg_entry entries[8];
	ssize_t count = fi_cq_read(endpoint->cq, entries, 8);

	if (count == -FI_EAVAIL)
		completion_failed(endpoint);
	if (count < 0 && count != -FI_EAGAIN)
		raw_check(count, "fi_cq_read");
	for (ssize_t i = 0; i < count; i++)
		if (entries[i].flags & FI_RECV)
			arrived(endpoint, &entries[i]);
		else
			endpoint->sent += entries[i].op_context != NULL;
}

/* Where both processes share one CPU the other one must be let in. */
static void wait_until(struct raw_endpoint *endpoint, const uint64_t *counter, uint64_t value)
{
	for (unsigned turn = 1; *counter < value; turn++) {
		raw_progress(endpoint);
		if (turn % 4096 == 0)
			sched_yield();
	}
}

void raw_flush(struct raw_endpoint *endpoint)
{
	wait_until(endpoint, &endpoint->sent, endpoint->due);
}

void raw_wait(struct raw_endpoint *endpoint, uint64_t messages)
{
	wait_until(endpoint, &endpoint->received, messages);
}

static void *new_context(struct raw_endpoint *endpoint)
{
	return &contexts[endpoint->habit][endpoint->next_context++ % CONTEXTS];
}

/* Repeats an operation until the provider takes it: it is connecting, or its queue is full. */
#define UNTIL_TAKEN(endpoint, call)                                                                                    \
	do {                                                                                                           \
		ssize_t code;                                                                                          \
		while ((code = (call)) == -FI_EAGAIN)                                                                  \
			raw_progress(endpoint);                                                                        \
		raw_check(code, #call);                                                                                \
	} while (0)

void raw_post(struct raw_endpoint *endpoint, void *to, size_t length)
{
	void *desc = descriptor(endpoint->raw, endpoint->raw->sink_mr);
	void *context = new_context(endpoint);

	if (endpoint->habit == HABIT_PLACED)
		UNTIL_TAKEN(endpoint, fi_recv(endpoint->ep, to, length, desc, FI_ADDR_UNSPEC, context));
	else if (endpoint->habit == HABIT_TAGGED)
		UNTIL_TAKEN(endpoint, fi_trecv(endpoint->ep, to, length, desc, FI_ADDR_UNSPEC, RAW_TAG, 0, context));
}

static void inject(struct raw_endpoint *endpoint, const void *from, size_t length)
{
	if (endpoint->habit == HABIT_TAGGED)
		UNTIL_TAKEN(endpoint, fi_tinject(endpoint->ep, from, length, endpoint->peer, RAW_TAG));
	else
		UNTIL_TAKEN(endpoint, fi_inject(endpoint->ep, from, length, endpoint->peer));
}

static void send_tagged(struct raw_endpoint *endpoint, const struct iovec *part, void **desc)
{
	struct fi_msg_tagged message = {
		.msg_iov = part,
		.desc = desc,
		.iov_count = 1,
		.addr = endpoint->peer,
		.tag = RAW_TAG,
		.context = new_context(endpoint),
	};

	UNTIL_TAKEN(endpoint, fi_tsendmsg(endpoint->ep, &message, FI_COMPLETION));
}

static void send_plain(struct raw_endpoint *endpoint, const struct iovec *part, void **desc)
{
	struct fi_msg message = {
		.msg_iov = part,
		.desc = desc,
		.iov_count = 1,
		.addr = endpoint->peer,
		.context = new_context(endpoint),
	};

	UNTIL_TAKEN(endpoint, fi_sendmsg(endpoint->ep, &message, FI_COMPLETION));
}

void raw_send(struct raw_endpoint *endpoint, const void *from, size_t length)
{
	void *desc = descriptor(endpoint->raw, endpoint->raw->source_mr);
	struct iovec part = {(void *)from, length};

	if (length <= endpoint->raw->info->tx_attr->inject_size) {
		inject(endpoint, from, length);
		return;
	}
	if (endpoint->habit == HABIT_TAGGED)
		send_tagged(endpoint, &part, &desc);
	else
		send_plain(endpoint, &part, &desc);
	endpoint->due++;
}

static struct fi_msg_rma rma_message(struct raw_endpoint *endpoint, const struct iovec *local, void **desc,
				     const struct fi_rma_iov *remote)
{
	return (struct fi_msg_rma){
		.msg_iov = local,
		.desc = desc,
		.iov_count = 1,
		.addr = endpoint->peer,
		.rma_iov = remote,
		.rma_iov_count = 1,
		.context = new_context(endpoint),
	};
}

void raw_write(struct raw_endpoint *endpoint, const void *from, size_t length)
{
	struct raw *raw = endpoint->raw;
	void *desc = descriptor(raw, raw->source_mr);
	struct iovec local = {(void *)from, length};
	struct fi_rma_iov remote = {raw->other.sink, length, raw->other.sink_key};
	struct fi_msg_rma message = rma_message(endpoint, &local, &desc, &remote);

	UNTIL_TAKEN(endpoint, fi_writemsg(endpoint->ep, &message, FI_COMPLETION));
	endpoint->due++;
}

void raw_read(struct raw_endpoint *endpoint, void *to, size_t length)
{
	struct raw *raw = endpoint->raw;
	void *desc = descriptor(raw, raw->sink_mr);
	struct iovec local = {to, length};
	struct fi_rma_iov remote = {raw->other.source, length, raw->other.source_key};
	struct fi_msg_rma message = rma_message(endpoint, &local, &desc, &remote);

	UNTIL_TAKEN(endpoint, fi_readmsg(endpoint->ep, &message, FI_COMPLETION));
	endpoint->due++;
}
