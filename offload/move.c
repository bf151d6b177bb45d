/* SPDX-License-Identifier: BSD-3-Clause */
/* Data movement: the initiator's checks under ownership, then the operation is issued. */
#include "offload/move.h"

#include "base/report.h"
#include "offload/get.h"
#include "offload/getput.h"
#include "offload/handle.h"
#include "offload/put.h"
#include "offload/trace.h"

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
			refusal(PTL_MD_INVALID),
			"memory descriptor 0x%x is inactive: its threshold was %d from the start, 1 or more or "
			"PTL_MD_THRESH_INF is wanted",
			md->handle, md->threshold);
	if (md->threshold != 0)
		return report_error(refusal(PTL_MD_INVALID),
				    "memory descriptor 0x%x is inactive: it was filled up to its max_size", md->handle);
	return report_error(refusal(PTL_MD_INVALID), "memory descriptor 0x%x is inactive: its threshold is used up",
			    md->handle);
}

/* The descriptor as a source or sink of [offset, offset + *length). */
static int find_md(struct nic *nic, ptl_handle_md_t handle, uint64_t offset, uint64_t *length, struct descriptor **out)
{
	struct descriptor *md = handle_md(nic, handle);

	if (!md)
		return handle_refuse(PTL_MD_INVALID, handle);
	if (!md->active)
		return refuse_inactive(md);
	if (*length == MOVE_WHOLE)
		*length = md->region.length;
	if (offset > md->region.length || *length > md->region.length - offset)
		return report_error(refusal(PTL_MD_ILLEGAL),
				    "%llu bytes from offset %llu on are not inside a descriptor of %llu bytes",
				    (unsigned long long)*length, (unsigned long long)offset,
				    (unsigned long long)md->region.length);
	*out = md;
	return 0;
}

static int find_range(struct nic *nic, struct move *move)
{
	struct put_arguments *arguments = &move->arguments;

	return find_md(nic, move->md_handle, arguments->local_offset, &arguments->length, &arguments->md);
}

int move_put(struct nic *nic, void *argument)
{
	struct move *move = argument;
	int code = find_range(nic, move);

	if (code)
		return code;
	trace_move(nic, "put", &move->arguments);
	return put_issue(nic, &move->arguments);
}

int move_get(struct nic *nic, void *argument)
{
	struct move *move = argument;
	int code = find_range(nic, move);

	if (code)
		return code;
	trace_move(nic, "get", &move->arguments);
	return get_issue(nic, &move->arguments);
}

/* The put descriptor's part is what travels; the get descriptor's part is where the old bytes have room. */
int move_getput(struct nic *nic, void *argument)
{
	struct move *move = argument;
	struct put_arguments *arguments = &move->arguments;
	uint64_t put_length = arguments->length;
	int code = find_md(nic, move->md_handle, arguments->local_offset, &arguments->length, &arguments->reply_md);

	if (code)
		return code;
	if (move->put_elsewhere)
		return report_error(refusal(PTL_MD_ILLEGAL),
				    "memory descriptors 0x%x and 0x%x are of different interfaces", move->md_handle,
				    move->put_handle);
	if ((code = find_md(nic, move->put_handle, move->put_offset, &put_length, &arguments->md)))
		return code;
	if (put_length > (uint64_t)nic->limits.max_getput_md || arguments->length > (uint64_t)nic->limits.max_getput_md)
		return report_error(refusal(PTL_MD_ILLEGAL),
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

int move_exists(struct nic *nic, void *handle)
{
	return handle_md(nic, *(ptl_handle_md_t *)handle) ? 0 : report_nothing(refusal(PTL_MD_INVALID));
}
