/* SPDX-License-Identifier: BSD-3-Clause */
/* In front of the layers' sources (bench/meson.build): their calls of Portals, timed by layer_clock.h. */
#ifndef PTLBENCH_LAYER_CALLS_H
#define PTLBENCH_LAYER_CALLS_H

#include "layer_clock.h"

static inline int layer_put_region(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack,
				   ptl_process_id_t to, ptl_pt_index_t index, ptl_ac_index_t cookie,
				   ptl_match_bits_t bits, ptl_size_t remote, ptl_hdr_data_t header)
{
	uint64_t began = layer_clock_now();
	int rc = PtlPutRegion(md, offset, length, ack, to, index, cookie, bits, remote, header);
	layer_clock_add(LAYER_PUT, began);
	return rc;
}

static inline int layer_get_region(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_process_id_t from,
				   ptl_pt_index_t index, ptl_ac_index_t cookie, ptl_match_bits_t bits,
				   ptl_size_t remote)
{
	uint64_t began = layer_clock_now();
	int rc = PtlGetRegion(md, offset, length, from, index, cookie, bits, remote);
	layer_clock_add(LAYER_PUT, began);
	return rc;
}

static inline enum layer_part layer_event(int rc, const ptl_event_t *event)
{
	if (rc == PTL_EQ_EMPTY)
		return LAYER_EVENT_NONE;
	return event->type == PTL_EVENT_SEND_END || event->type == PTL_EVENT_ACK ? LAYER_EVENT_SENT : LAYER_EVENT_CAME;
}

static inline int layer_eq_get(ptl_handle_eq_t eq, ptl_event_t *event)
{
	uint64_t began = layer_clock_now();
	int rc = PtlEQGet(eq, event);
	layer_clock_add(layer_event(rc, event), began);
	return rc;
}

static inline int layer_eq_poll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event, int *which)
{
	uint64_t began = layer_clock_now();
	int rc = PtlEQPoll(eqs, size, timeout, event, which);
	layer_clock_add(layer_event(rc, event), began);
	return rc;
}

#define PtlPutRegion layer_put_region
#define PtlGetRegion layer_get_region
#define PtlEQGet     layer_eq_get
#define PtlEQPoll    layer_eq_poll

#endif
