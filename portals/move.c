/* SPDX-License-Identifier: BSD-3-Clause */
/* Data movement: the initiator's checks, then one command to the engine. */
#include "base/report.h"
#include "offload/operation.h"
#include "offload/trace.h"
#include "portals/process.h"
#include "portals/refuse.h"

#define WHOLE_MD UINT64_MAX

struct move {
	ptl_handle_md_t md_handle, put_handle; /* put_handle: getput only */
	bool put_elsewhere;                    /* put_handle names a descriptor of another interface */
	uint64_t put_offset;                   /* likewise */
	struct put_arguments arguments;        /* length WHOLE_MD: all of it */
};

static void trace_move(const struct nic *nic, const char *what, const struct put_arguments *arguments)
{
	trace(nic, PTL_DBG_MOVE, "%s to " ID_TEXT ", index %u, bits 0x%llx, %llu bytes of md 0x%x from %llu", what,
	      ID_PARTS(arguments->target), arguments->pt_index, (unsigned long long)arguments->match_bits,
	      (unsigned long long)arguments->length, arguments->md->handle,
	      (unsigned long long)arguments->local_offset);
}

/* A threshold below 1 that no operation has made is the program's own. */
static int refuse_inactive(const struct descriptor *md)
{
	if (!md->cause.link)
		return report_error(
			PTL_MD_INVALID,
			"memory descriptor 0x%x is inactive: its threshold was %d from the start, 1 or more or "
			"PTL_MD_THRESH_INF is wanted",
			md->handle, md->threshold);
	if (md->threshold != 0)
		return report_error(PTL_MD_INVALID,
				    "memory descriptor 0x%x is inactive: it was filled up to its max_size", md->handle);
	return report_error(PTL_MD_INVALID, "memory descriptor 0x%x is inactive: its threshold is used up", md->handle);
}

/* The descriptor as a source or sink of [offset, offset + *length). */
static int find_md(struct nic *nic, ptl_handle_md_t handle, uint64_t offset, uint64_t *length, struct descriptor **out)
{
	struct descriptor *md = handle_md(nic, handle);

	if (!md)
		return refuse_handle(PTL_MD_INVALID, handle);
	if (!md->active)
		return refuse_inactive(md);
	if (*length == WHOLE_MD)
		*length = md->region.length;
	if (offset > md->region.length || *length > md->region.length - offset)
		return report_error(
			PTL_MD_ILLEGAL, "%llu bytes from offset %llu on are not inside a descriptor of %llu bytes",
			(unsigned long long)*length, (unsigned long long)offset, (unsigned long long)md->region.length);
	*out = md;
	return PTL_OK;
}

static int find_range(struct nic *nic, struct move *move)
{
	struct put_arguments *arguments = &move->arguments;

	return find_md(nic, move->md_handle, arguments->local_offset, &arguments->length, &arguments->md);
}

static int put(struct nic *nic, void *argument)
{
	struct move *move = argument;
	int code = find_range(nic, move);

	if (code)
		return code;
	trace_move(nic, "put", &move->arguments);
	return put_issue(nic, &move->arguments);
}

static int get(struct nic *nic, void *argument)
{
	struct move *move = argument;
	int code = find_range(nic, move);

	if (code)
		return code;
	trace_move(nic, "get", &move->arguments);
	return get_issue(nic, &move->arguments);
}

/* The put descriptor's part is what travels; the get descriptor's part is where the old bytes have room. */
static int getput(struct nic *nic, void *argument)
{
	struct move *move = argument;
	struct put_arguments *arguments = &move->arguments;
	uint64_t put_length = arguments->length;
	int code = find_md(nic, move->md_handle, arguments->local_offset, &arguments->length, &arguments->reply_md);

	if (code)
		return code;
	if (move->put_elsewhere)
		return report_error(PTL_MD_ILLEGAL, "memory descriptors 0x%x and 0x%x are of different interfaces",
				    move->md_handle, move->put_handle);
	if ((code = find_md(nic, move->put_handle, move->put_offset, &put_length, &arguments->md)))
		return code;
	if (put_length > (uint64_t)nic->limits.max_getput_md || arguments->length > (uint64_t)nic->limits.max_getput_md)
		return report_error(PTL_MD_ILLEGAL,
				    "a getput of %llu bytes, answered by %llu; at most %d are possible "
				    "(max_getput_md)",
				    (unsigned long long)put_length, (unsigned long long)arguments->length,
				    nic->limits.max_getput_md);
	arguments->reply_offset = arguments->local_offset;
	arguments->local_offset = move->put_offset;
	arguments->length = put_length;
	trace_move(nic, "getput", arguments);
	return getput_issue(nic, arguments);
}

static int run(struct move *move, nic_command *command)
{
	struct nic *nic;

	if (!process_ready())
		return refuse_uninitialised();
	if (!(nic = process_nic(move->md_handle)))
		return refuse_handle(PTL_MD_INVALID, move->md_handle);
	if (move->arguments.target.nid == PTL_NID_ANY || move->arguments.target.pid == PTL_PID_ANY)
		return refuse_wildcard(move->arguments.target);
	uint64_t start = timing_start(&nic->timing);
	int code = process_code(nic_call(nic, command, move), PTL_MD_ILLEGAL);

	timing_stop(&nic->timing, PTL_STAGE_POST_SEND, start);
	return code;
}

static int descriptor_exists(struct nic *nic, void *handle)
{
	return handle_md(nic, *(ptl_handle_md_t *)handle) ? PTL_OK : report_nothing(PTL_MD_INVALID);
}

/* Only its own interface can tell whether a descriptor is alive. */
static bool is_put_elsewhere(struct move *move)
{
	struct nic *other;

	return handle_interface(move->put_handle) != handle_interface(move->md_handle) && process_ready() &&
	       (other = process_nic(move->put_handle)) &&
	       nic_call(other, descriptor_exists, &move->put_handle) == PTL_OK;
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

	return run(&move, put);
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

	return run(&move, get);
}

/* No region is that long, and no caller may mean the whole descriptor by it. */
static uint64_t region_length(ptl_size_t length)
{
	return length == WHOLE_MD ? WHOLE_MD - 1 : length;
}

int PtlPut(ptl_handle_md_t md_handle, ptl_ack_req_t ack_req, ptl_process_id_t target_id, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	return put_range(md_handle, 0, WHOLE_MD, ack_req, target_id, pt_index, ac_index, match_bits, remote_offset,
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
	return get_range(md_handle, 0, WHOLE_MD, target_id, pt_index, ac_index, match_bits, remote_offset);
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
	return run(move, getput);
}

int PtlGetPut(ptl_handle_md_t get_md_handle, ptl_handle_md_t put_md_handle, ptl_process_id_t target_id,
	      ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
	      ptl_hdr_data_t hdr_data)
{
	struct move move = {.md_handle = get_md_handle,
			    .put_handle = put_md_handle,
			    .arguments = {.length = WHOLE_MD,
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

	return !nic || (nic->id.nid == id.nid && nic->id.pid == id.pid);
}

int PtlMDMDCopy(ptl_handle_md_t md_handle, ptl_process_id_t target_id, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
	if (!is_this_process(md_handle, target_id))
		return report_error(PTL_PROCESS_INVALID, ID_TEXT " is another process", ID_PARTS(target_id));
	return PtlPut(md_handle, PTL_NO_ACK_REQ, target_id, pt_index, ac_index, match_bits, remote_offset, 0);
}
