/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the provider knows: exposed to peers, or our own end of a transfer.
 *
 * Registration modes: where the provider does not choose keys they are 64 random bits (any connected process may try
 * to use one); where it does not use virtual addresses, remote addresses count from 0; where registrations belong to
 * an endpoint they are bound and enabled.  FI_MR_ALLOCATED needs nothing: what callers expose is mapped.
 *
 * A SOURCE THAT CANNOT BE READ is refused when it is to be exposed.  Providers that pin memory do so themselves.  tcp and
 * net (1.17) find out in the middle of serving a read: the kernel refuses the answer, which the provider then leaves out, or breaks off
 * where the memory ends, and goes on with the next message.  Answers carry no number, so the reader takes the next one, another message's,
 * for it; and what follows a piece of an answer is taken for the rest.  No peer is told.  To look at each page
 * takes a good part of the time that it takes to send them, so the mapping is looked at first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "transports/mapping.h"
#include "transports/memory.h"
#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_memory.h"

#define KEY_TRIES 8

static int random_key(struct ofi *ofi, uint64_t *key)
{
	size_t size = ofi->info->domain_attr->mr_key_size;

	/* At most 256 bytes of getrandom() are never cut short. */
	if (ofi->key_count == 0) {
		if (getrandom(ofi->keys, sizeof(ofi->keys), 0) != sizeof(ofi->keys))
			return -errno;
		ofi->key_count = sizeof(ofi->keys) / sizeof(ofi->keys[0]);
	}
	*key = ofi->keys[--ofi->key_count];
	if (size < sizeof(*key))
		*key &= (UINT64_C(1) << 8 * size) - 1;
	return 0;
}

static int bind_to_endpoint(struct ofi *ofi, struct fid_mr *mr)
{
	int rc = fi_mr_bind(mr, &ofi->ep->fid, 0);

	return rc ? rc : fi_mr_enable(mr);
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
	int rc = -FI_ENOKEY;

	for (int i = 0; i < KEY_TRIES && rc == -FI_ENOKEY; i++) { /* ENOKEY: the random key is in use */
		uint64_t key = 0;
		if (!(mode & FI_MR_PROV_KEY) && (rc = random_key(ofi, &key)) != 0)
			return rc;
		rc = fi_mr_reg(ofi->domain, base, length, access, 0, key, 0, &mr, NULL);
	}
	if (rc)
		return rc;
	if ((mode & FI_MR_ENDPOINT) && (rc = bind_to_endpoint(ofi, mr)) != 0) {
		fi_close(&mr->fid);
		return rc;
	}
	*out = mr;
	return 0;
}

int ofi_register(struct ofi *ofi, const void *base, size_t length, uint64_t access, struct fid_mr **out)
{
	int rc = register_memory(ofi, base, length, access, out);

	if (rc)
		report_error(ofi_errno(rc), "%s cannot register %zu bytes: %s%s", ofi->profile.name, length,
			     ofi->library->strerror(-rc), ofi_lock_hint(ofi, rc));
	return ofi_errno(rc);
}

static uint64_t access_for(unsigned uses)
{
	return (uses & REGION_READ ? FI_REMOTE_READ : 0) | (uses & REGION_LOCAL ? FI_READ : 0);
}

static struct ofi_region *take_region(struct ofi *ofi)
{
	struct ofi_region *region = ofi->free_regions;

	if (region)
		ofi->free_regions = region->next;
	else
		region = calloc(1, sizeof(*region));
	return region;
}

static void give_region(struct ofi *ofi, struct ofi_region *region)
{
	region->next = ofi->free_regions;
	ofi->free_regions = region;
}

int ofi_register_memory(struct transport *transport, void *base, size_t length, unsigned uses,
			struct memory_region *memory_region)
{
	UNCANCELLED;
	struct ofi *ofi = ofi_of(transport);

	if ((uses & REGION_READ) && !ofi->base.limits.pins && !mapping_readable(ofi->mappings, base, length) &&
	    !memory_readable(base, length))
		return -EFAULT;
	struct ofi_region *region = take_region(ofi);
	if (!region)
		return -ENOMEM;
	int rc = register_memory(ofi, base, length, access_for(uses), &region->mr);
	if (rc) {
		give_region(ofi, region);
		return rc == -FI_EAGAIN ? -ENOMEM : ofi_errno(rc); /* as mlock() has it: too much is locked */
	}
	region->previous = NULL;
	region->next = ofi->regions;
	if (ofi->regions)
		ofi->regions->previous = region;
	ofi->regions = region;
	memory_region->address = ofi->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)base : 0;
	memory_region->key = fi_mr_key(region->mr);
	memory_region->region = region;
	return 0;
}

void ofi_deregister(struct transport *transport, struct memory_region *memory_region)
{
	UNCANCELLED;
	struct ofi *ofi = ofi_of(transport);
	struct ofi_region *region = memory_region->region;

	fi_close(&region->mr->fid);
	if (region->previous)
		region->previous->next = region->next;
	else
		ofi->regions = region->next;
	if (region->next)
		region->next->previous = region->previous;
	give_region(ofi, region);
	*memory_region = (struct memory_region){0};
}

void ofi_memory_destroy(struct ofi *ofi)
{
	while (ofi->regions) {
		struct memory_region memory_region = {.region = ofi->regions};
		ofi_deregister(&ofi->base, &memory_region);
	}
	while (ofi->free_regions) {
		struct ofi_region *region = ofi->free_regions;
		ofi->free_regions = region->next;
		free(region);
	}
}
