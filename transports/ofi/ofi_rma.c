/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exposed memory, and reads.
 *
 * Registration modes: where the provider does not choose keys they are 64 random bits (any connected process may try
 * to use one); where it does not use virtual addresses, remote addresses count from 0; where registrations belong to
 * an endpoint they are bound and enabled.  FI_MR_ALLOCATED needs nothing: what callers expose is mapped.
 *
 * A SOURCE THAT CANNOT BE READ is refused when it is to be exposed.  Providers that pin memory do so themselves.  tcp and
 * net (1.17) find out in the middle of serving a read: the kernel refuses the answer, which the provider then leaves out, or breaks off
 * where the memory ends, and goes on with the next message.  Answers carry no number, so the reader takes the next one, another message's,
 * for it; and what follows a piece of an answer is taken for the rest.  Nobody is told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "transports/memory.h"
#include "transports/ofi/ofi.h"

#define BLOCK_OPERATIONS 64
#define KEY_TRIES        8

struct ofi_rma_block {
	struct ofi_rma_block *next;
	struct ofi_operation operations[BLOCK_OPERATIONS];
};

static int random_key(struct ofi *ofi, uint64_t *key)
{
	size_t size = ofi->info->domain_attr->mr_key_size;

	/* At most 256 bytes of getrandom() are never cut short. */
	if (ofi->key_count == 0) {
		if (getrandom(ofi->keys, sizeof ofi->keys, 0) != sizeof ofi->keys)
			return -errno;
		ofi->key_count = sizeof ofi->keys / sizeof ofi->keys[0];
	}
	*key = ofi->keys[--ofi->key_count];
	if (size < sizeof *key)
		*key &= (UINT64_C(1) << 8 * size) - 1;
	return 0;
}

static int bind_to_endpoint(struct ofi *ofi, struct fid_mr *mr)
{
	int error = fi_mr_bind(mr, &ofi->ep->fid, 0);

	return error ? error : fi_mr_enable(mr);
}

const char *ofi_lock_hint(const struct ofi *ofi, int code)
{
	bool pins = ofi->info && ofi->info->domain_attr->mr_mode & FI_MR_LOCAL;

	return pins ? report_lock_hint(ofi_errno(code)) : "";
}

/* 0 or a libfabric code. */
static int register_memory(struct ofi *ofi, const void *base, size_t length, uint64_t access, struct fid_mr **out)
{
	int mode = ofi->info->domain_attr->mr_mode;
	struct fid_mr *mr;
	int error = -FI_ENOKEY;

	for (int i = 0; i < KEY_TRIES && error == -FI_ENOKEY; i++) { /* ENOKEY: the random key is in use */
		uint64_t key = 0;
		if (!(mode & FI_MR_PROV_KEY) && (error = random_key(ofi, &key)) != 0)
			return error;
		error = fi_mr_reg(ofi->domain, base, length, access, 0, key, 0, &mr, NULL);
	}
	if (error)
		return error;
	if ((mode & FI_MR_ENDPOINT) && (error = bind_to_endpoint(ofi, mr)) != 0) {
		fi_close(&mr->fid);
		return error;
	}
	*out = mr;
	return 0;
}

int ofi_register(struct ofi *ofi, const void *base, size_t length, uint64_t access, struct fid_mr **out)
{
	int error = register_memory(ofi, base, length, access, out);

	if (error)
		report_error(ofi_errno(error), "%s cannot register %zu bytes: %s%s", ofi->profile.name, length,
			     ofi->library->strerror(-error), ofi_lock_hint(ofi, error));
	return ofi_errno(error);
}

static uint64_t access_for(unsigned uses)
{
	return (uses & EXPOSE_READ ? FI_REMOTE_READ : 0) | (uses & EXPOSE_LOCAL ? FI_READ : 0);
}

static struct ofi_region *take_region(struct ofi *ofi)
{
	struct ofi_region *region = ofi->free_regions;

	if (region)
		ofi->free_regions = region->next;
	else
		region = calloc(1, sizeof *region);
	return region;
}

static void give_region(struct ofi *ofi, struct ofi_region *region)
{
	region->next = ofi->free_regions;
	ofi->free_regions = region;
}

int ofi_expose(struct transport *transport, void *base, size_t length, unsigned uses, struct exposure *exposure)
{
	UNCANCELLED;
	struct ofi *ofi = ofi_of(transport);

	if ((uses & EXPOSE_READ) && !ofi->base.limits.pins && !memory_readable(base, length))
		return -EFAULT;
	struct ofi_region *region = take_region(ofi);
	if (!region)
		return -ENOMEM;
	int error = register_memory(ofi, base, length, access_for(uses), &region->mr);
	if (error) {
		give_region(ofi, region);
		return error == -FI_EAGAIN ? -ENOMEM : ofi_errno(error); /* as mlock() has it: too much is locked */
	}
	region->previous = NULL;
	region->next = ofi->regions;
	if (ofi->regions)
		ofi->regions->previous = region;
	ofi->regions = region;
	exposure->address = ofi->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0;
	exposure->key = fi_mr_key(region->mr);
	exposure->region = region;
	return 0;
}

void ofi_withdraw(struct transport *transport, struct exposure *exposure)
{
	UNCANCELLED;
	struct ofi *ofi = ofi_of(transport);
	struct ofi_region *region = exposure->region;

	fi_close(&region->mr->fid);
	if (region->previous)
		region->previous->next = region->next;
	else
		ofi->regions = region->next;
	if (region->next)
		region->next->previous = region->previous;
	give_region(ofi, region);
	*exposure = (struct exposure){0};
}

static struct ofi_operation *take_operation(struct ofi *ofi)
{
	if (!ofi->free_rma) {
		struct ofi_rma_block *block = calloc(1, sizeof *block);
		if (!block)
			return NULL;
		block->next = ofi->rma_blocks;
		ofi->rma_blocks = block;
		for (int i = 0; i < BLOCK_OPERATIONS; i++) {
			block->operations[i].kind = OFI_RMA;
			block->operations[i].next = ofi->free_rma;
			ofi->free_rma = &block->operations[i];
		}
	}
	struct ofi_operation *operation = ofi->free_rma;
	ofi->free_rma = operation->next;
	return operation;
}

static void give_operation(struct ofi *ofi, struct ofi_operation *operation)
{
	operation->next = ofi->free_rma;
	ofi->free_rma = operation;
}

/* What is in flight to one peer is bounded over all messages: see the sizes in ofi_provider.c. */
static bool window_is_full(const struct ofi *ofi, const struct ofi_address *peer, size_t length)
{
	return ofi->outstanding >= ofi->outstanding_max || ofi->lone_rma ||
	       (ofi->rma_window && peer->rma_bytes && peer->rma_bytes + length > ofi->rma_window);
}

static int start(struct ofi *ofi, struct fi_msg_rma *message, void *context)
{
	size_t length = message->msg_iov->iov_len;
	size_t cost = length > ofi->profile.rma_least ? length : ofi->profile.rma_least;
	uint64_t to = message->addr;

	if (length > ofi->rma_greatest)
		return -EMSGSIZE;
	if (to >= ofi->address_count)
		return -EHOSTUNREACH;
	if (window_is_full(ofi, &ofi->addresses[to], cost))
		return -EAGAIN;
	struct ofi_operation *operation = take_operation(ofi);
	if (!operation)
		return -EAGAIN;
	operation->peer = (uint32_t)to;
	operation->length = cost;
	operation->owner_context = context;
	operation->posted = true;
	message->context = operation;
	message->addr = ofi->addresses[to].number;
	ofi_clear_errno();
	ssize_t code = fi_readmsg(ofi->ep, message, FI_COMPLETION);
	if (code) {
		operation->posted = false;
		give_operation(ofi, operation);
		return ofi_post_error(ofi, "a read", to, code);
	}
	ofi->lone_rma = ofi->profile.lone_rma ? operation : NULL;
	ofi->addresses[to].rma_bytes += cost;
	ofi->outstanding++;
	return 0;
}

int ofi_read(struct transport *transport, const struct transport_read *read)
{
	const struct ofi_region *region = read->exposure ? read->exposure->region : NULL;
	void *descriptor = region ? fi_mr_desc(region->mr) : NULL;
	struct iovec local = {read->local, read->length};
	struct fi_rma_iov target = {read->remote, read->length, read->key};
	struct fi_msg_rma message = {.msg_iov = &local,
				     .desc = &descriptor,
				     .iov_count = 1,
				     .addr = read->peer,
				     .rma_iov = &target,
				     .rma_iov_count = 1};

	return start(ofi_of(transport), &message, read->context);
}

/* From now on the provider may report it as often as it likes.  Returns what the owner knows it by. */
static void *take_off(struct ofi *ofi, struct ofi_operation *operation)
{
	operation->posted = false;
	ofi->lone_rma = NULL;
	ofi->addresses[operation->peer].rma_bytes -= operation->length;
	ofi->outstanding--;
	return operation->owner_context;
}

/* It is never used again. */
void ofi_rma_abandon(struct ofi *ofi, struct ofi_operation *operation, int status)
{
	ofi->sink->rdma_done(ofi->owner, take_off(ofi, operation), status);
}

/*
 * When a connection breaks at the sending side while the answer to a read is coming in, net (1.17) reports that read as
 * cancelled twice, the second time behind all others.  So what failed is used again only when the completion queue has
 * been seen empty, and what is not posted has not ended.
 */
void ofi_rma_done(struct ofi *ofi, struct ofi_operation *operation, int status)
{
	if (unlikely(!operation->posted))
		return;
	void *context = take_off(ofi, operation);

	if (likely(status == 0)) {
		give_operation(ofi, operation);
	} else {
		operation->next = ofi->failed_rma;
		ofi->failed_rma = operation;
	}
	ofi->sink->rdma_done(ofi->owner, context, status);
}

void ofi_rma_reuse_failed(struct ofi *ofi)
{
	while (ofi->failed_rma) {
		struct ofi_operation *operation = ofi->failed_rma;
		ofi->failed_rma = operation->next;
		give_operation(ofi, operation);
	}
}

void ofi_rma_destroy(struct ofi *ofi)
{
	while (ofi->regions) {
		struct exposure exposure = {.region = ofi->regions};
		ofi_withdraw(&ofi->base, &exposure);
	}
	while (ofi->free_regions) {
		struct ofi_region *region = ofi->free_regions;
		ofi->free_regions = region->next;
		free(region);
	}
	while (ofi->rma_blocks) {
		struct ofi_rma_block *block = ofi->rma_blocks;
		ofi->rma_blocks = block->next;
		free(block);
	}
	ofi->free_rma = ofi->failed_rma = ofi->lone_rma = NULL;
}
