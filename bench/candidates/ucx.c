/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX as a candidate of ptlbench compare, which builds this: tagged messages and gets of libucp.  (ucx_perftest shows
 * averages over long runs, which on a shared machine say nothing about medians of short batches.)
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <ucp/api/ucp.h>

#include "protocol.h"

#define WINDOW 4096
enum { TAG_DATA = 1, TAG_OTHER, TAG_DONE, TAG_FRONT = 1000 };

static int rank, mate;
static char *from, *to;
static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h endpoint;
static ucp_rkey_h key;
static uint64_t target;
static void *requests[WINDOW], **in_front;
static const ucp_request_param_t plain;

static void require(ucs_status_t status, const char *call)
{
	if (status == UCS_OK)
		return;
	fprintf(stderr, "%s: %s\n", call, ucs_status_string(status));
	exit(1);
}

static void complete(void *request)
{
	if (!request)
		return;
	if (UCS_PTR_IS_ERR(request))
		require(UCS_PTR_STATUS(request), "operation");
	while (ucp_request_check_status(request) == UCS_INPROGRESS)
		ucp_worker_progress(worker);
	ucp_request_free(request);
}

static void *start_send(uint64_t size, uint64_t tag)
{
	return ucp_tag_send_nbx(endpoint, from, size, tag, &plain);
}

static void *start_receive(uint64_t size, uint64_t tag)
{
	return ucp_tag_recv_nbx(worker, to, size, tag, UINT64_MAX, &plain);
}

static void ping(const struct candidate_order *order, uint32_t i)
{
	void *receive = start_receive(order->size, TAG_DATA);

	(void)i;
	complete(start_send(order->size, TAG_DATA));
	complete(receive);
}

static void pong(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	complete(start_receive(order->size, TAG_DATA));
	complete(start_send(order->size, TAG_DATA));
}

static void rewrite_and_ping(const struct candidate_order *order, uint32_t i)
{
	memset(from, (int)i, order->size);
	ping(order, i);
}

static void rewrite_and_pong(const struct candidate_order *order, uint32_t i)
{
	memset(from, (int)i, order->size);
	pong(order, i);
}

static void get(const struct candidate_order *order, uint32_t i)
{
	uint32_t window = order->window ? order->window : 1;

	for (uint32_t slot = 0; slot < window; slot++)
		requests[slot] = ucp_get_nbx(endpoint, to, order->size, target, key, &plain);
	for (uint32_t slot = 0; slot < window; slot++)
		complete(requests[slot]);
	if (i + 1 == candidate_iterations(order))
		complete(start_send(0, TAG_DONE));
}

static void be_got(const struct candidate_order *order, uint32_t i)
{
	if (i + 1 == candidate_iterations(order))
		complete(start_receive(0, TAG_DONE));
}

static void send_window(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	for (uint32_t slot = 0; slot < order->window; slot++)
		requests[slot] = start_send(order->size, TAG_DATA);
	for (uint32_t slot = 0; slot < order->window; slot++)
		complete(requests[slot]);
	complete(start_receive(0, TAG_DONE));
}

static void receive_window(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	for (uint32_t slot = 0; slot < order->window; slot++)
		requests[slot] = start_receive(order->size, TAG_DATA);
	for (uint32_t slot = 0; slot < order->window; slot++)
		complete(requests[slot]);
	complete(start_send(0, TAG_DONE));
}

static void post_in_front(const struct candidate_order *order)
{
	in_front = malloc((order->depth + 1) * sizeof(*in_front));
	for (uint32_t i = 0; i < order->depth; i++)
		in_front[i] = start_receive(8, TAG_FRONT + i);
}

static void cancel_in_front(const struct candidate_order *order)
{
	for (uint32_t i = 0; i < order->depth; i++) {
		ucp_request_cancel(worker, in_front[i]);
		while (ucp_request_check_status(in_front[i]) == UCS_INPROGRESS)
			ucp_worker_progress(worker);
		ucp_request_free(in_front[i]);
	}
	free(in_front);
}

static void ping_after_others(const struct candidate_order *order, uint32_t i)
{
	for (uint32_t other = 0; !i && other < order->depth; other++)
		complete(start_send(8, TAG_OTHER));
	ping(order, i);
}

static void take_others(const struct candidate_order *order)
{
	for (uint32_t other = 0; rank && other < order->depth; other++)
		complete(start_receive(8, TAG_OTHER));
}

static void meet(void)
{
	char token = 0;

	while (!candidate_write(mate, &token, 1) || !candidate_read(mate, &token, 1))
		exit(1);
}

static void send_to_busy(const struct candidate_order *order, uint32_t i)
{
	(void)i;
	meet();
	candidate_compute(CANDIDATE_AHEAD_NS);
	uint64_t start = candidate_now();
	complete(ucp_tag_send_sync_nbx(endpoint, from, order->size, TAG_DATA, &plain));
	candidate_own_ns = (double)(candidate_now() - start);
}

static void be_busy(const struct candidate_order *order, uint32_t i)
{
	void *receive = start_receive(order->size, TAG_DATA);

	(void)i;
	meet();
	candidate_compute(CANDIDATE_COMPUTE_NS);
	complete(receive);
}

static const struct candidate_exchange exchanges[CANDIDATE_KINDS] = CANDIDATE_EXCHANGES;

static void open_worker(void)
{
	ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA};
	ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
					     .thread_mode = UCS_THREAD_MODE_SINGLE};

	require(ucp_init(&params, NULL, &context), "ucp_init");
	require(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
}

/* Something of any length to the other side, and its something; to be freed. */
static void *trade(const void *mine, size_t length)
{
	candidate_write(mate, &length, sizeof(length));
	candidate_write(mate, mine, length);
	if (!candidate_read(mate, &length, sizeof(length)))
		exit(1);
	void *its = malloc(length);
	candidate_read(mate, its, length);
	return its;
}

static void open_endpoint(void)
{
	ucp_address_t *address;
	size_t length;

	require(ucp_worker_get_address(worker, &address, &length), "ucp_worker_get_address");
	ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = trade(address, length)};
	require(ucp_ep_create(worker, &params, &endpoint), "ucp_ep_create");
}

/* The memory that is got from is UCX's own, which is quicker to reach. */
static void open_memory(void)
{
	ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
		.length = CANDIDATE_LARGEST,
		.flags = UCP_MEM_MAP_ALLOCATE,
	};
	ucp_mem_attr_t attributes = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
	ucp_mem_h memory;
	void *packed;
	size_t length;

	require(ucp_mem_map(context, &params, &memory), "ucp_mem_map");
	require(ucp_mem_query(memory, &attributes), "ucp_mem_query");
	to = attributes.address;
	require(ucp_rkey_pack(context, memory, &packed, &length), "ucp_rkey_pack");
	uint64_t mine = (uintptr_t)to, *its = trade(&mine, sizeof(mine));
	target = *its;
	require(ucp_ep_rkey_unpack(endpoint, trade(packed, length), &key), "ucp_ep_rkey_unpack");
	from = candidate_written(malloc(CANDIDATE_LARGEST));
	candidate_written(to);
}

int main(void)
{
	char text[80];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	rank = fork() == 0;
	if (rank)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	mate = ends[rank];
	close(ends[!rank]);
	candidate_pin(rank);
	open_worker();
	open_endpoint();
	open_memory();
	snprintf(text, sizeof(text), "UCX %s, UCX_TLS=%s", ucp_get_version_string(),
		 getenv("UCX_TLS") ? getenv("UCX_TLS") : "(its choice)");
	candidate_live((uint32_t)rank, text, exchanges, meet);
	return 0;
}
