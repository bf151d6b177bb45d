/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing of the endpoints that raw exchanges use, and which of them compete. */
#include "raw.h"

#include <arpa/inet.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "output.h"
#include "slots.h"

void raw_check(long code, const char *call)
{
	if (code < 0)
		fail("raw libfabric: %.*s: %s", (int)strcspn(call, "("), call, fi_strerror((int)-code));
}

/*
 * ofi:tcp and ofi:verbs mean the RDM endpoints made of them and rxm.  Without a name the interface's own description begins with it;
 * where only node is open, libfabric's counterpart is its shm.
 */
static void provider_name(const struct session *session, char *name, size_t size)
{
	const char *given = transport_provider(session->options->transport);
	char node[8];

	if (given)
		snprintf(name, size, "%s", given);
	else if (!info_line(session->info, "transport ofi", name, size) &&
		 info_line(session->info, "transport node", node, sizeof(node)))
		snprintf(name, size, "shm");
	else if (!*name)
		fail("--raw: this interface has no libfabric provider; say --transport ofi:PROVIDER");
	name[strcspn(name, " ")] = '\0';
	if (!strcmp(name, "tcp") || !strcmp(name, "verbs"))
		strncat(name, ";ofi_rxm", size - strlen(name) - 1);
}

/* Asks for what our own transport asks for, and no more. */
static struct fi_info *new_hints(const struct session *session, const char *provider)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		fail("no memory for fi_info");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA | FI_MULTI_RECV;
	if (session->load.raw == RAW_TAGGED)
		hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->tx_attr->msg_order = session->load.raw == RAW_RMA ? FI_ORDER_SAS | FI_ORDER_SAW : FI_ORDER_SAS;
	hints->addr_format = strcmp(provider, "shm") ? FI_SOCKADDR_IN : FI_FORMAT_UNSPEC;
	hints->fabric_attr->prov_name = strdup(provider);
	return hints;
}

static struct fi_info *find_provider(const struct session *session)
{
	char provider[64], node[INET_ADDRSTRLEN];
	struct in_addr address = {.s_addr = htonl(session->self.nid)};
	struct fi_info *info = NULL;

	*provider = '\0';
	provider_name(session, provider, sizeof(provider));
	struct fi_info *hints = new_hints(session, provider);
	inet_ntop(AF_INET, &address, node, sizeof(node));
	int code = hints->addr_format == FI_SOCKADDR_IN
			   ? fi_getinfo(FI_VERSION(1, 17), node, NULL, FI_SOURCE, hints, &info)
			   : fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
	if (code)
		fail("raw libfabric: no provider %s at %s: %s", provider, node, fi_strerror(-code));
	fi_freeinfo(hints);
	return info;
}

struct fid_mr *raw_register(struct raw *raw, void *memory, size_t size, uint64_t key)
{
	uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct fid_mr *mr;

	if (!(raw->info->caps & FI_RMA) && !(raw->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return NULL;
	raw_check(fi_mr_reg(raw->domain, memory, size, access, 0, key, 0, &mr, NULL), "fi_mr_reg");
	return mr;
}

static void open_endpoint(struct raw *raw, enum raw_habit habit, bool sleepable)
{
	struct raw_endpoint *endpoint = &raw->endpoint[habit];
	struct fi_cq_attr attributes = {.format = FI_CQ_FORMAT_MSG, .wait_obj = sleepable ? FI_WAIT_FD : FI_WAIT_NONE};

	endpoint->raw = raw;
	endpoint->habit = habit;
	raw_check(fi_endpoint(raw->domain, raw->info, &endpoint->ep, NULL), "fi_endpoint");
	raw_check(fi_cq_open(raw->domain, &attributes, &endpoint->cq, NULL), "fi_cq_open");
	raw_check(fi_ep_bind(endpoint->ep, &raw->av->fid, 0), "fi_ep_bind");
	raw_check(fi_ep_bind(endpoint->ep, &endpoint->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION), "fi_ep_bind");
	raw_check(fi_ep_bind(endpoint->ep, &endpoint->cq->fid, FI_RECV), "fi_ep_bind");
	raw_check(fi_enable(endpoint->ep), "fi_enable");
}

static void open_shared(struct raw *raw, bool sleepable)
{
	struct raw_endpoint *endpoint = &raw->endpoint[HABIT_SHARED];
	size_t least = RAW_SHARED_MAX;

	raw->shared = aligned_alloc(4096, RAW_SHARED_BUFFERS * RAW_SHARED_SIZE);
	if (!raw->shared)
		fail("no memory for receive buffers");
	raw->shared_mr = raw_register(raw, raw->shared, RAW_SHARED_BUFFERS * RAW_SHARED_SIZE, 3);
	open_endpoint(raw, HABIT_SHARED, sleepable);
	raw_check(fi_setopt(&endpoint->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)),
		  "fi_setopt");
	raw_post_shared(endpoint);
}

struct raw *raw_open(struct session *session)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	struct fi_av_attr table = {.type = FI_AV_UNSPEC};

	if (!raw)
		fail("no memory for the raw endpoint");
	raw->info = find_provider(session);
	raw_check(fi_fabric(raw->info->fabric_attr, &raw->fabric, NULL), "fi_fabric");
	raw_check(fi_domain(raw->fabric, raw->info, &raw->domain, NULL), "fi_domain");
	raw_check(fi_av_open(raw->domain, &table, &raw->av, NULL), "fi_av_open");
	raw->source_mr = raw_register(raw, session->source, session->source_size, 1);
	raw->sink_mr = raw_register(raw, session->sink, session->sink_size, 2);
	if (session->load.raw == RAW_TAGGED) {
		open_endpoint(raw, HABIT_TAGGED, session->load.raw_sleepable);
		return raw;
	}
	open_shared(raw, session->load.raw_sleepable);
	if (session->load.raw == RAW_MSG)
		open_endpoint(raw, HABIT_PLACED, session->load.raw_sleepable);
	return raw;
}

static void describe_memory(const struct raw *raw, struct fid_mr *mr, const void *memory, uint64_t *base, uint64_t *key)
{
	*base = raw->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;
	*key = mr ? fi_mr_key(mr) : 0;
}

void raw_get_name(const struct session *session, struct raw_name *name)
{
	const struct raw *raw = session->raw;

	memset(name, 0, sizeof(*name));
	for (int habit = 0; habit < HABIT_COUNT; habit++) {
		size_t size = sizeof(name->address[habit]);
		if (raw->endpoint[habit].ep)
			raw_check(fi_getname(&raw->endpoint[habit].ep->fid, name->address[habit], &size), "fi_getname");
	}
	describe_memory(raw, raw->source_mr, session->source, &name->source, &name->source_key);
	describe_memory(raw, raw->sink_mr, session->sink, &name->sink, &name->sink_key);
}

void raw_set_peer(struct raw *raw, const struct raw_name *name)
{
	raw->other = *name;
	for (int habit = 0; habit < HABIT_COUNT; habit++)
		if (raw->endpoint[habit].ep &&
		    fi_av_insert(raw->av, name->address[habit], 1, &raw->endpoint[habit].peer, 0, NULL) != 1)
			fail("raw libfabric: fi_av_insert refuses the other side's address");
}

static void close_fid(void *fid)
{
	if (fid)
		fi_close(fid);
}

void raw_close(struct raw *raw)
{
	for (int habit = 0; habit < HABIT_COUNT; habit++) {
		close_fid(raw->endpoint[habit].ep);
		close_fid(raw->endpoint[habit].cq);
	}
	close_fid(raw->source_mr);
	close_fid(raw->sink_mr);
	close_fid(raw->shared_mr);
	close_fid(raw->av);
	close_fid(raw->domain);
	close_fid(raw->fabric);
	fi_freeinfo(raw->info);
	free(raw->shared);
	free(raw);
}

static const enum exchange_id candidates[][2] = {
	[EXCHANGE_PUT] = {EXCHANGE_RAW_PUT, EXCHANGE_RMA_PUT},
	[EXCHANGE_GET] = {EXCHANGE_RAW_GET, EXCHANGE_RMA_GET},
	[EXCHANGE_PUT_WINDOW] = {EXCHANGE_RAW_PUT_WINDOW, EXCHANGE_RMA_PUT_WINDOW},
	[EXCHANGE_GET_WINDOW] = {EXCHANGE_RAW_GET_WINDOW, EXCHANGE_RMA_GET_WINDOW},
};

/* Lines carry what fits beside their sequence word; a request and its answer are one line each. */
static int slots_candidate(enum exchange_id exchange, uint64_t size)
{
	static const int in_slots[] = {
		[EXCHANGE_PUT] = EXCHANGE_SLOTS,
		[EXCHANGE_GET] = EXCHANGE_SLOTS,
		[EXCHANGE_PUT_WINDOW] = EXCHANGE_SLOTS_WINDOW,
		[EXCHANGE_GET_WINDOW] = -1,
	};

	return size <= sizeof(((struct slot *)0)->payload) ? in_slots[exchange] : -1;
}

int raw_counterpart(const struct session *session, enum exchange_id exchange, uint64_t size)
{
	if (session->load.raw == RAW_SLOTS)
		return slots_candidate(exchange, size);
	if (!session->raw || (session->load.raw == RAW_RMA && !size))
		return -1;
	return (int)candidates[exchange][session->load.raw == RAW_RMA];
}

void raw_fact(const struct session *session)
{
	static const char *const habits[] = {
		[RAW_MSG] = "fi_send of payload and header, FI_MULTI_RECV up to 16 KiB",
		[RAW_TAGGED] = "fi_tsend of the payload",
		[RAW_RMA] = "fi_write or fi_read of the payload",
	};

	if (session->load.raw == RAW_SLOTS)
		output_fact("raw", "one line a message through a queue in shared memory, no library; up to %zu bytes",
			    sizeof(((struct slot *)0)->payload));
	else if (session->raw)
		output_fact("raw", "%s, %s%s", session->raw->info->fabric_attr->prov_name, habits[session->load.raw],
			    session->load.raw_sleepable ? ", on a queue that can be slept on" : "");
}
