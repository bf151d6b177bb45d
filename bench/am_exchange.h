/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs of active messages do: run.variant. */
#ifndef PTLBENCH_AM_EXCHANGE_H
#define PTLBENCH_AM_EXCHANGE_H

#include "measure.h"

enum am_kind { AM_KIND_SHORT, AM_KIND_MEDIUM, AM_KIND_BULK };

#define AM_FLOWS 3 /* enum am_flow */
#define AM_BURST 8 /* messages of an overhead run: as many as a peer has credits for */

/* A short message's bytes are its arguments. */
#define AM_SHORT_BYTES 32

static inline uint32_t am_variant(unsigned flow, enum am_kind kind)
{
	return flow + AM_FLOWS * kind;
}

/* What a message of so many bytes is sent as. */
enum am_kind am_kind_of(uint64_t size);

/* Moves what each message of the last runs of EXCHANGE_AM_OVERHEAD took its initiator, ns, to the caller. */
void am_take_overhead(struct samples *send, struct samples *receive);

#endif
