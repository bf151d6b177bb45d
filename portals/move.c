/* SPDX-License-Identifier: BSD-3-Clause */
/* Data movement: the initiator's checks, then one command to the engine. */
#include "offload/move.h"
#include "base/report.h"
#include "portals/process.h"
#include "portals/refuse.h"

/* Apart: clocks that are off keep nothing over the call. */
static __attribute__((noinline, cold)) int call_timed(struct nic *nic, nic_command *command, struct move *move)
{
	uint64_t start = timing_start(&nic->timing);
	int rc = nic_call(nic, command, move);

	timing_stop(&nic->timing, PTL_STAGE_POST_SEND, start);
	return rc;
}

static inline int run(struct move *move, nic_command *command)
{
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(move->md_handle)))
		return refuse_handle(PTL_MD_INVALID, move->md_handle);
	if (move->arguments.target.nid == PTL_NID_ANY || move->arguments.target.pid == PTL_PID_ANY)
		return refuse_wildcard(move->arguments.target);
	return process_code(timing_on(&nic->timing) ? call_timed(nic, command, move) : nic_call(nic, command, move),
			    PTL_MD_ILLEGAL);
}

/* Only its own interface can tell whether a descriptor is alive. */
static bool is_put_elsewhere(struct move *move)
{
	struct nic *other;

	return handle_interface(move->put_handle) != handle_interface(move->md_handle) && process_ready() &&
	       (other = process_nic(move->put_handle)) && nic_call(other, move_exists, &move->put_handle) == 0;
}

static int put_range(ptl_handle_md_t md_handle, uint64_t offset, uint64_t length, ptl_ack_req_t ack_req,
		     ptl_process_id_t target_id, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		     ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	struct move move = {.md_handle = md_handle,
			    .arguments = {.local_offset = offset,
					  .length = length,
					  .ack = ack_req == PTL_ACK_REQ,
					  .target = target_id,
					  .pt_index = pt_index,
					  .ac_index = ac_index,
					  .match_bits = match_bits,
					  .remote_offset = remote_offset,
					  .hdr_data = hdr_data}};

	return run(&move, move_put);
}

static int get_range(ptl_handle_md_t md_handle, uint64_t offset, uint64_t length, ptl_process_id_t target_id,
		     ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
		     ptl_size_t remote_offset)
{
	struct move move = {.md_handle = md_handle,
			    .arguments = {.local_offset = offset,
					  .length = length,
					  .target = target_id,
					  .pt_index = pt_index,
					  .ac_index = ac_index,
					  .match_bits = match_bits,
					  .remote_offset = remote_offset}};

	return run(&move, move_get);
}

/* No region is that long, and no caller may mean the whole descriptor by it. */
static uint64_t region_length(ptl_size_t length)
{
	return length == MOVE_WHOLE ? MOVE_WHOLE - 1 : length;
}

int PtlPut(ptl_handle_md_t md_handle, ptl_ack_req_t ack_req, ptl_process_id_t target_id, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	return put_range(md_handle, 0, MOVE_WHOLE, ack_req, target_id, pt_index, ac_index, match_bits, remote_offset,
			 hdr_data);
}

int PtlPutRegion(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
		 ptl_process_id_t target_id, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	return put_range(md_handle, local_offset, region_length(length), ack_req, target_id, pt_index, ac_index,
			 match_bits, remote_offset, hdr_data);
}

int PtlGet(ptl_handle_md_t md_handle, ptl_process_id_t target_id, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
	   ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
	return get_range(md_handle, 0, MOVE_WHOLE, target_id, pt_index, ac_index, match_bits, remote_offset);
}

int PtlGetRegion(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_id_t target_id,
		 ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
		 ptl_size_t remote_offset)
{
	return get_range(md_handle, local_offset, region_length(length), target_id, pt_index, ac_index, match_bits,
			 remote_offset);
}

static int swap(struct move *move)
{
	move->put_elsewhere = is_put_elsewhere(move);
	return run(move, move_getput);
}

int PtlGetPut(ptl_handle_md_t get_md_handle, ptl_handle_md_t put_md_handle, ptl_process_id_t target_id,
	      ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
	      ptl_hdr_data_t hdr_data)
{
	struct move move = {.md_handle = get_md_handle,
			    .put_handle = put_md_handle,
			    .arguments = {.length = MOVE_WHOLE,
					  .target = target_id,
					  .pt_index = pt_index,
					  .ac_index = ac_index,
					  .match_bits = match_bits,
					  .remote_offset = remote_offset,
					  .hdr_data = hdr_data}};

	return swap(&move);
}

int PtlGetPutRegion(ptl_handle_md_t get_md_handle, ptl_size_t get_offset, ptl_handle_md_t put_md_handle,
		    ptl_size_t put_offset, ptl_size_t length, ptl_process_id_t target_id, ptl_pt_index_t pt_index,
		    ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
		    ptl_hdr_data_t hdr_data)
{
	struct move move = {.md_handle = get_md_handle,
			    .put_handle = put_md_handle,
			    .put_offset = put_offset,
			    .arguments = {.local_offset = get_offset,
					  .length = region_length(length),
					  .target = target_id,
					  .pt_index = pt_index,
					  .ac_index = ac_index,
					  .match_bits = match_bits,
					  .remote_offset = remote_offset,
					  .hdr_data = hdr_data}};

	return swap(&move);
}

/* Only between descriptors of one process does "local" mean anything. */
static bool is_this_process(ptl_handle_md_t md_handle, ptl_process_id_t id)
{
	const struct nic *nic = process_ready() ? process_nic(md_handle) : NULL;

	return !nic || (nic->self.id.nid == id.nid && nic->self.id.pid == id.pid);
}

int PtlMDMDCopy(ptl_handle_md_t md_handle, ptl_process_id_t target_id, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
	if (!is_this_process(md_handle, target_id))
		return report_error(PTL_PROCESS_INVALID, ID_TEXT " is another process", ID_PARTS(target_id));
	return PtlPut(md_handle, PTL_NO_ACK_REQ, target_id, pt_index, ac_index, match_bits, remote_offset, 0);
}
