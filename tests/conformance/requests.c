/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/conformance/requests.h"

const struct request_kind request_kinds[REQUESTS] = {
	[PUT] = {"put", PTL_MD_OP_PUT, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, PTL_EVENT_ACK},
	[GET] = {"get", PTL_MD_OP_GET, PTL_EVENT_GET_START, PTL_EVENT_GET_END, PTL_EVENT_REPLY_END},
	[GETPUT] = {"getput", PTL_MD_OP_PUT | PTL_MD_OP_GET, PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END,
		    PTL_EVENT_REPLY_END},
};

int issue(enum request request, ptl_handle_md_t md, ptl_pt_index_t index, ptl_ac_index_t ac_index,
	  ptl_match_bits_t bits, ptl_size_t offset, ptl_hdr_data_t hdr)
{
	switch (request) {
	case PUT:
		return PtlPut(md, PTL_ACK_REQ, target_id(), index, ac_index, bits, offset, hdr);
	case GET:
		return PtlGet(md, target_id(), index, ac_index, bits, offset);
	default:
		return PtlGetPut(md, md, target_id(), index, ac_index, bits, offset, hdr);
	}
}

ptl_event_t take_answer_at(const char *file, int line, enum request request, ptl_handle_eq_t eq)
{
	if (request != GET)
		take_at(file, line, eq, PTL_EVENT_SEND_END, false);
	return take_at(file, line, eq, request_kinds[request].answer, false);
}

struct window open_net_at(const char *file, int line, ptl_handle_eq_t eq)
{
	return open_window_at(file, line, INDEX, BITS, md_over(NULL, 0, ANY_REQUEST | PTL_MD_TRUNCATE, eq), PTL_RETAIN);
}

ptl_sr_value_t status_register(ptl_sr_index_t index)
{
	ptl_sr_value_t value = -1;
	CHECK_OK(PtlNIStatus(ni, index, &value));
	return value;
}

ptl_sr_value_t list_length(ptl_pt_index_t index)
{
	return status_register(PTL_SR_MLIST_LEN(index));
}
