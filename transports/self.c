/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process talking to itself: a queue of messages, and RDMA that is a memcpy.  The owner of the engine puts in and
 * takes out, so there is nothing to synchronise; poll() works on a bounded part, and messages that its own handling
 * adds are for the next poll.  Long data moves in chunks, one per poll, so that other traffic gets its turn.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "transports/memory.h"
#include "transports/transport.h"

#define SELF_SHORT_MAX 4160 /* a page and a header */
#define SELF_MESSAGES  512  /* in the queue at most; then -ENOBUFS */
#define SELF_CHUNK     (256 * 1024)
#define SELF_COPIES    64

struct self_message {
	size_t length;
	uint8_t bytes[SELF_SHORT_MAX];
};

struct self_copy {
	void *to;
	const void *from;
	size_t length;
	void *context;
};

struct self {
	struct transport transport;
	const struct transport_sink *sink;
	void *owner;
	struct transport_config config;
	unsigned first_message, messages, first_copy, copies;
	struct self_copy copy[SELF_COPIES];
	struct self_message *message; /* a ring of SELF_MESSAGES */
};

static struct self *self_of(struct transport *transport)
{
	return (struct self *)transport;
}

static int self_claim(struct transport_config *config, struct transport **out)
{
	struct self *self = calloc(1, sizeof(*self));

	if (!self || !(self->message = calloc(SELF_MESSAGES, sizeof(*self->message)))) {
		free(self);
		return report_error(-ENOMEM, "no memory for the self transport");
	}
	self->transport.ops = &transport_self;
	self->transport.quiet = true;
	self->transport.limits = (struct transport_limits){
		.short_max = SELF_SHORT_MAX,
		.payload_max = config->settings->short_max,
		.rma_chunk = SELF_CHUNK,
		.rma_depth = 1,
		.verified_uid = true,
		.sleepable = true,
		.compact = true,
		.tells_gone = true,
	};
	self->config = *config;
	self->sink = config->sink;
	self->owner = config->owner;
	*out = &self->transport;
	return 0;
}

static int self_open(struct transport *transport)
{
	(void)transport;
	return 0;
}

static void self_close(struct transport *transport)
{
	free(self_of(transport)->message);
	free(transport);
}

static void self_forked(struct transport *transport)
{
	(void)transport;
}

static int self_resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt,
			transport_address *address)
{
	const struct self *self = self_of(transport);

	if (nid != self->config.nid || pid != self->config.pid || attempt > 0)
		return -ENOENT;
	*address = 0;
	return 0;
}

static unsigned self_own_attempt(const struct transport *transport)
{
	(void)transport;
	return 0;
}

static int self_send(struct transport *transport, transport_address address, const void *header, size_t header_length,
		     const struct iovec *payload, int count)
{
	struct self *self = self_of(transport);
	size_t length = header_length;

	(void)address;
	for (int i = 0; i < count; i++)
		length += payload[i].iov_len;
	if (length > self->transport.limits.short_max)
		return -EMSGSIZE;
	if (self->messages == SELF_MESSAGES)
		return -ENOBUFS;
	struct self_message *message = &self->message[(self->first_message + self->messages++) % SELF_MESSAGES];
	uint8_t *to = message->bytes;

	self->transport.quiet = false;
	message->length = length;
	memcpy(to, header, header_length);
	to += header_length;
	for (int i = 0; i < count; i++) {
		memcpy(to, payload[i].iov_base, payload[i].iov_len);
		to += payload[i].iov_len;
	}
	return 0;
}

static int self_read(struct transport *transport, const struct transport_read *read)
{
	struct self *self = self_of(transport);

	if (self->copies == SELF_COPIES)
		return -EAGAIN;
	self->transport.quiet = false;
	self->copy[(self->first_copy + self->copies++) % SELF_COPIES] =
		(struct self_copy){.to = read->local,
				   .from = (const void *)(uintptr_t)read->remote,
				   .length = read->length,
				   .context = read->context};
	return 0;
}

static int self_register(struct transport *transport, void *base, size_t length, unsigned uses,
			 struct memory_region *memory_region)
{
	(void)transport;
	(void)length;
	(void)uses;
	*memory_region = (struct memory_region){.address = (uintptr_t)base};
	return 0;
}

static void self_deregister(struct transport *transport, struct memory_region *memory_region)
{
	(void)transport;
	memory_region->address = 0;
}

/* What is long enough to be copied is long enough to look at first. */
static bool possible(const struct self_copy *copy)
{
	return memory_readable(copy->from, copy->length) && memory_writable(copy->to, copy->length);
}

/* memmove: an MD may be source and target of its own put. */
static void do_copy(struct self *self)
{
	struct self_copy copy = self->copy[self->first_copy];

	self->first_copy = (self->first_copy + 1) % SELF_COPIES;
	self->copies--;
	int status = possible(&copy) ? 0 : -EFAULT;

	if (status == 0)
		memmove(copy.to, copy.from, copy.length);
	self->sink->rdma_done(self->owner, copy.context, status);
}

static int self_poll(struct transport *transport, int budget)
{
	struct self *self = self_of(transport);
	unsigned count = self->messages < (unsigned)budget ? self->messages : (unsigned)budget;
	int done = (int)count;

	for (; count > 0; count--) {
		struct self_message *message = &self->message[self->first_message];

		/* Removed only after it was handled: sends of the handler must not overwrite it. */
		self->sink->arrived(self->owner, 0, message->bytes, message->length, NULL, 0);
		self->first_message = (self->first_message + 1) % SELF_MESSAGES;
		self->messages--;
	}
	if (self->copies > 0) {
		do_copy(self);
		done++;
	}
	self->transport.quiet = self->messages == 0 && self->copies == 0;
	return done;
}

static int self_arm(struct transport *transport)
{
	const struct self *self = self_of(transport);

	return self->messages > 0 || self->copies > 0 ? -EAGAIN : 0;
}

static unsigned self_unsent(const struct transport *transport)
{
	return ((const struct self *)transport)->messages;
}

/* Nothing can arrive while no thread drives. */
static int self_wait_fd(const struct transport *transport)
{
	(void)transport;
	return -1;
}

static int self_probe(struct transport *transport, transport_address address)
{
	(void)transport;
	(void)address;
	return 0;
}

static int self_describe(const struct transport *transport, char *text, size_t size)
{
	return snprintf(text, size, "copies within the process, short up to %zu bytes with header",
			transport->limits.short_max);
}

const struct transport_ops transport_self = {
	.name = "self",
	.claim = self_claim,
	.open = self_open,
	.close = self_close,
	.forked = self_forked,
	.resolve = self_resolve,
	.own_attempt = self_own_attempt,
	.send = self_send,
	.read = self_read,
	.register_memory = self_register,
	.deregister = self_deregister,
	.poll = self_poll,
	.arm = self_arm,
	.unsent = self_unsent,
	.wait_fd = self_wait_fd,
	.probe = self_probe,
	.describe = self_describe,
};
