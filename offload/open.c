/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of an engine.  Opening claims the pid at once and leaves the slow part, libfabric (about 100 ms the first time
 * in a process), to a helper thread that attaches the finished transport under ownership; until then messages wait
 * with their peers.  Closing goes the other way: flush, stop the threads, fail what is left, wake every waiter.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/report.h"
#include "offload/affinity.h"
#include "offload/dispatch.h"
#include "offload/doorbell.h"
#include "offload/drive.h"
#include "offload/event_fd.h"
#include "offload/futex.h"
#include "offload/hold.h"
#include "offload/interface.h"
#include "offload/operation.h"
#include "offload/peer/peer.h"
#include "offload/peer/peers.h"
#include "offload/results.h"
#include "offload/spawn.h"
#include "offload/thread.h"
#include "offload/trace.h"
#include "offload/waiters.h"

/* --- what PTL_TRANSPORT asks for --- */

#define TRANSPORT_NAME 64 /* bytes of the longest, with its end */
#define PID_BITS       22 /* Unix pids end at 2^22 on Linux */
#define PID_TRIES      256

static const struct transport_ops *const families[NIC_TRANSPORTS] = {&transport_self, &transport_node, &transport_ofi};

/* Which transports the interface gets besides the one to itself. */
struct choice {
	bool node, network;
	bool node_optional;            /* the network will do if shared memory cannot be had */
	char provider[TRANSPORT_NAME]; /* "": any */
};

/* The k-th of a list separated by commas, the last for all that follow.  False: it has no name of such a length. */
static bool own_part(const char *list, uint32_t index, char *part, size_t size)
{
	const char *comma;

	while ((comma = strchr(list, ',')) && index-- > 0)
		list = comma + 1;
	size_t length = comma ? (size_t)(comma - list) : strlen(list);
	if (length >= size)
		return false;
	memcpy(part, list, length);
	part[length] = 0;
	return true;
}

static int parse_transport(const char *wanted, struct choice *choice)
{
	*choice = (struct choice){0};
	if (strcmp(wanted, "auto") == 0) {
		choice->node = choice->network = choice->node_optional = true;
	} else if (strcmp(wanted, "node") == 0) {
		choice->node = true;
	} else if (strncmp(wanted, "ofi:", 4) == 0 && wanted[4]) {
		choice->network = true;
		snprintf(choice->provider, sizeof(choice->provider), "%s", wanted + 4);
	} else if (strcmp(wanted, "ofi") == 0) {
		choice->network = true;
	} else if (strcmp(wanted, "self") != 0) {
		return report_setting(
			-EINVAL,
			"PTL_TRANSPORT=%s is none of auto, self, node, ofi, ofi:PROVIDER (libfabric's %s is "
			"ofi:%s)",
			wanted, wanted, wanted);
	}
	return 0;
}

static int choose_transports(const struct nic *nic, struct choice *choice)
{
	char wanted[TRANSPORT_NAME] = "";

	*choice = (struct choice){0};
	int rc = own_part(nic->settings->transport, nic->index, wanted, sizeof(wanted))
			 ? parse_transport(wanted, choice)
			 : report_error(-EINVAL, "PTL_TRANSPORT=%s: a name is too long", nic->settings->transport);

	if (rc)
		return rc;
	if (nic->settings->verified_uid && choice->network && !choice->node)
		return report_setting(
			-ENOTSUP,
			"PTL_REQUIRE_VERIFIED_UID is set, but PTL_TRANSPORT=%s cannot prove user ids: use "
			"self, node or auto, which is node then",
			wanted);
	/* No process of another node can reach the loopback, and opening libfabric costs 100 ms. */
	if (choice->node && (nic->settings->verified_uid || nic->self.id.nid >> 24 == LOOPBACK_NET))
		choice->network = false;
	if (nic->settings->verified_uid)
		choice->node_optional = false;
	return 0;
}

static void let_go(struct nic *nic, enum nic_path path)
{
	if (nic->claimed[path])
		nic->claimed[path]->ops->close(nic->claimed[path]);
	nic->claimed[path] = NULL;
}

/* Makes the pid ours on all transports that are wanted, or on none. */
static int claim_pid(struct nic *nic, const struct choice *choice, struct transport_config *config)
{
	int rc = choice->node ? families[PATH_NODE]->claim(config, &nic->claimed[PATH_NODE]) : 0;

	if (rc && (rc == -EADDRINUSE || !choice->node_optional))
		return rc;
	if (rc)
		report(LOG_WARN, "no shared memory between processes of this node: %s", report_last_error());
	rc = choice->network || rc ? families[PATH_NETWORK]->claim(config, &nic->claimed[PATH_NETWORK]) : 0;
	if (rc)
		let_go(nic, PATH_NODE);
	return rc;
}

/*
 * Our Unix pid, or that pid with bits above those Unix uses, whichever no other interface of the node has.  Interfaces of
 * this process begin with different ones: on different transports the claims would not see each other.
 */
static int claim_any_pid(struct nic *nic, const struct choice *choice, struct transport_config *config)
{
	int rc = -EADDRINUSE;

	if (!choice->node && !choice->network) { /* a process that talks to itself may have several interfaces */
		config->pid = (uint32_t)getpid() | nic->index << 28;
		return 0;
	}
	for (uint32_t i = 0; i < PID_TRIES && rc == -EADDRINUSE; i++) {
		config->pid = (uint32_t)getpid() | (i + nic->index) << PID_BITS;
		rc = claim_pid(nic, choice, config);
	}
	return rc;
}

static int claim_transports(struct nic *nic, ptl_pid_t pid, struct address_book *book)
{
	struct transport_config config = {.settings = nic->settings,
					  .tuning = &nic->tuning,
					  .iface = nic->self.iface,
					  .nid = nic->self.id.nid,
					  .pid = pid,
					  .book = book,
					  .host_polled = nic->mode == NIC_MODE_SHARED,
					  .home = nic->affinity.home,
					  .sink = &dispatch_sink,
					  .owner = nic};
	struct choice choice = {0};
	int rc = choose_transports(nic, &choice);

	if (*nic->settings->tuning_file)
		tuning_read(&nic->tuning, nic->settings->tuning_file);
	config.provider = *choice.provider ? choice.provider : NULL;
	if (rc || (rc = (pid == PTL_PID_ANY ? claim_any_pid : claim_pid)(nic, &choice, &config)))
		return rc;
	nic->self.id.pid = config.pid;
	return families[PATH_SELF]->claim(&config, &nic->claimed[PATH_SELF]);
}

/* Those that open at once. */
static int open_local(struct nic *nic)
{
	for (enum nic_path path = PATH_SELF; path <= PATH_NODE; path++) {
		int rc = nic->claimed[path] ? nic->claimed[path]->ops->open(nic->claimed[path]) : 0;

		if (rc)
			return rc;
		if (nic->claimed[path])
			nic_attach(nic, path);
	}
	return 0;
}

/* --- opening the network in the background --- */

static int opened(struct nic *nic, void *failed)
{
	if (!failed)
		nic_attach(nic, PATH_NETWORK);
	nic_timer_at(nic, 0); /* peers that wait for it look again */
	/* Release: pairs with the acquire in nic_await_opening(). */
	atomic_store_explicit(&nic->opening.done, true, memory_order_release);
	futex_wake(&nic->opening.done, INT_MAX);
	return 0;
}

static void *open_network(void *argument)
{
	struct nic *nic = argument;
	int rc = nic->claimed[PATH_NETWORK]->ops->open(nic->claimed[PATH_NETWORK]);

	if (rc) {
		nic->opening.error = rc;
		snprintf(nic->opening.text, sizeof(nic->opening.text), "%s", report_last_error());
		/* No call is there to return it: PtlNIInit has long succeeded. */
		report(LOG_ERROR, "interface %u (%s): %s", nic->index, nic->self.iface, nic->opening.text);
	}
	nic_call(nic, opened, rc ? nic : NULL);
	nic_wake_all(nic); /* a thread that sleeps now does not watch its descriptor */
	return NULL;
}

static int start_opening(struct nic *nic)
{
	if (!nic->claimed[PATH_NETWORK]) {
		nic->opening.done = true;
		return 0;
	}
	int rc = nic_spawn(&nic->opening.opener, open_network, nic, "open the network");

	if (rc)
		return rc;
	nic->opening.running = true;
	return 0;
}

void nic_await_opening(struct nic *nic)
{
	if (nic->opening.running && pthread_equal(pthread_self(), nic->opening.opener))
		return;
	/* No lock: a signal handler may come in between, and fork. */
	while (!atomic_load_explicit(&nic->opening.done, memory_order_acquire))
		futex_wait(&nic->opening.done, false, NIC_NEVER);
}

/* An interface that can reach no peer before the network is open waits for it: its first message would, too. */
bool nic_opens_first(const struct nic *nic)
{
	enum open_time when = nic->settings->open_time;

	return when == OPEN_WAIT || (when == OPEN_AUTO && !nic->claimed[PATH_NODE]);
}

int nic_ready(struct nic *nic)
{
	nic_await_opening(nic);
	return nic->opening.error ? report_error(nic->opening.error, "%s", nic->opening.text) : 0;
}

/* --- the engine itself --- */

static int open_pools(struct nic *nic, uint32_t generation)
{
	const struct {
		struct pool *pool;
		size_t size;
		uint32_t capacity, generations;
	} pools[] = {
		{&nic->objects.entries, sizeof(struct match_entry), NIC_MAX_OBJECTS, NIC_HANDLE_GENERATIONS},
		{&nic->objects.descriptors, sizeof(struct descriptor), NIC_MAX_OBJECTS, NIC_HANDLE_GENERATIONS},
		{&nic->objects.queues, sizeof(struct event_queue), NIC_MAX_OBJECTS, NIC_HANDLE_GENERATIONS},
		{&nic->objects.operations, sizeof(struct operation), NIC_MAX_OPERATIONS, NIC_TOKEN_GENERATIONS},
	};
	uint32_t first_token;

	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		int rc = pool_open(pools[i].pool, pools[i].size, pools[i].capacity, pools[i].generations, generation);
		if (rc)
			return rc;
	}
	nic->objects.operations.zeroed = offsetof(struct operation, inline_data);
	nic->objects.operations.restless = true;
	/* A restarted process must not understand what its predecessor's peers still say. */
	if (getrandom(&first_token, sizeof(first_token), 0) == sizeof(first_token))
		nic->objects.operations.first = first_token % NIC_TOKEN_GENERATIONS + 1;
	return 0;
}

static int open_doorbells(struct nic *nic)
{
	nic->doorbells.nic = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	nic->doorbells.host = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (nic->doorbells.nic < 0 || nic->doorbells.host < 0)
		return report_error(-errno, "cannot make a doorbell to sleep on: %s%s", strerror(errno),
				    report_descriptor_hint(-errno));
	return 0;
}

/* Wishes are hints; resources are reserved and not allocated, so all get the greatest. */
static void set_limits(struct nic *nic)
{
	nic->limits = (ptl_ni_limits_t){
		.max_mes = NIC_MAX_OBJECTS,
		.max_mds = NIC_MAX_OBJECTS,
		.max_eqs = NIC_MAX_QUEUES,
		.max_ac_index = NIC_ACL_ENTRIES - 1,
		.max_pt_index = NIC_PORTALS - 1,
		.max_md_iovecs = REGION_MAX_PIECES,
		.max_me_list = NIC_MAX_OBJECTS,
		.max_getput_md = WIRE_SWAP_MAX,
	};
}

static void set_identity(struct nic *nic, const struct nic_request *request)
{
	nic->self.uid = geteuid();
	nic->self.jid = request->jid == PTL_JID_ANY ? nic->self.id.pid : request->jid;
	if (getrandom(nic->self.incarnation, sizeof(nic->self.incarnation), 0) != sizeof(nic->self.incarnation))
		nic->self.incarnation[0] = monotonic_ns();
	if (getrandom(&nic->contact.tag_key, sizeof(nic->contact.tag_key), 0) != sizeof(nic->contact.tag_key))
		nic->contact.tag_key = monotonic_ns();
	for (int i = 0; i < NIC_ACL_ENTRIES; i++)
		nic->objects.acl[i] = (struct acl_entry){.id = {PTL_NID_ANY, PTL_PID_ANY},
							 .uid = nic->self.uid,
							 .jid = PTL_JID_ANY,
							 .pt_index = PTL_PT_INDEX_ANY};
}

static void set_mode(struct nic *nic)
{
	nic->cray = nic->settings->dialect == DIALECT_CRAY;
	nic_place(nic);
}

/* Shared memory and a process alone need no device, only a node id. */
static bool needs_device(const struct nic *nic)
{
	char wanted[TRANSPORT_NAME] = "";
	struct choice choice;

	return !own_part(nic->settings->transport, nic->index, wanted, sizeof(wanted)) ||
	       parse_transport(wanted, &choice) || choice.network;
}

static int find_device(struct nic *nic, const char *wanted)
{
	int rc = interface_find(wanted, nic->self.iface, sizeof(nic->self.iface), &nic->self.id.nid);
	bool any = strcmp(wanted, "auto") == 0;

	if (rc == -ENODEV && any && !needs_device(nic)) {
		snprintf(nic->self.iface, sizeof(nic->self.iface), "none");
		nic->self.id.nid = LOOPBACK_NET << 24 | 1;
		return 0;
	}
	return rc ? report_setting(rc, "PTL_IFACE=%s for interface %u: %s", wanted, nic->index, report_last_error())
		  : 0;
}

static int start(struct nic *nic, const struct nic_request *request)
{
	int rc;

	if ((rc = find_device(nic, request->device)) || (rc = open_pools(nic, request->generation)) ||
	    (rc = open_doorbells(nic)))
		return rc;
	set_mode(nic); /* transports are told whether hosts drive, and where memory is to be */
	if (nic->mode == NIC_MODE_SHARED)
		nic->doorbells.alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if ((rc = claim_transports(nic, request->pid, request->book)))
		return rc;
	set_limits(nic);
	set_identity(nic, request);
	results_begin(nic);
	hold_begin(nic);
	if ((rc = open_local(nic)))
		return rc;
	if (nic->mode != NIC_MODE_HOST && (rc = nic_thread_start(nic)))
		return rc;
	return start_opening(nic);
}

static const char *const modes[] = {"auto", "shared", "dedicated", "host"};

/* What a user's first question is about; the network is still being opened, PtlNicInfo() knows the rest. */
static void introduce(const struct nic *nic)
{
	char transports[64] = "";
	size_t used = 0;

	for (int i = 0; i < NIC_TRANSPORTS; i++)
		if (nic->claimed[i])
			used += (size_t)snprintf(transports + used, sizeof(transports) - used, "%s%s", used ? ", " : "",
						 nic->claimed[i]->ops->name);
	report(LOG_INFO,
	       "version %s, interface %u (%s), address " ID_TEXT ", transports %s (PTL_TRANSPORT=%s), mode %s, "
	       "dialect %s",
	       PORTALS_VERSION, nic->index, nic->self.iface, nic->self.id.nid >> 24, nic->self.id.nid >> 16 & 255,
	       nic->self.id.nid >> 8 & 255, nic->self.id.nid & 255, nic->self.id.pid, transports,
	       nic->settings->transport, modes[nic->mode], nic->cray ? "cray" : "standard");
}

int nic_open(const struct nic_request *request, struct nic **out)
{
	struct nic *nic = aligned_alloc(CACHE_LINE, sizeof(*nic));

	if (!nic)
		return report_error(-ENOMEM, "no memory for a network interface of %zu bytes", sizeof(*nic));
	memset(nic, 0, sizeof(*nic));
	nic->index = request->index;
	nic->trace = request->trace;
	nic->settings = request->settings;
	nic->drive.timer = NIC_NEVER;
	nic->doorbells.nic = nic->doorbells.host = nic->doorbells.alarm = nic->affinity.cpu = nic->affinity.cpu_lock =
		-1;
	int rc = start(nic, request);

	if (rc) {
		nic_close(nic);
		nic_free(nic);
		return rc;
	}
	trace(nic, PTL_DBG_SETUP, "interface %u on %s", nic->index, nic->self.iface);
	introduce(nic);
	*out = nic;
	return 0;
}

/* --- closing --- */

/* 1 while something accepted from the application has not left yet. */
static int still_sending(struct nic *nic, void *unused)
{
	int busy = 0;

	(void)unused;
	nic_drive(nic);
	busy |= peers_have_unsent(nic);
	for (int i = 0; i < NIC_TRANSPORTS; i++)
		busy |= nic->transports[i] && nic->transports[i]->ops->unsent(nic->transports[i]) > 0;
	for (struct peer *peer = nic->peers.busy; peer; peer = peer->next_busy)
		for (struct operation *op = peer->active.head; op; op = op->next)
			busy |= op->pinned != NULL; /* the other side still reads a long message, or we do */
	return busy;
}

static int fail_everything(struct nic *nic, void *unused)
{
	(void)unused;
	trace(nic, PTL_DBG_SHUTDOWN, "interface %u ends", nic->index);
	for (struct peer *peer = nic->peers.busy; peer; peer = peer->next_busy)
		peer_fail(nic, peer, PTL_NI_SHUTDOWN, "the interface is being closed");
	atomic_store_explicit(&nic->sleep.closing, true, memory_order_relaxed);
	waiters_wake_all(nic);
	return 0;
}

static void close_transports(struct nic *nic)
{
	memset(nic->transports, 0, sizeof(nic->transports));
	for (int path = NIC_TRANSPORTS - 1; path >= 0; path--)
		let_go(nic, (enum nic_path)path);
}

static void close_doorbells(struct nic *nic)
{
	int *const doorbells[] = {&nic->doorbells.nic, &nic->doorbells.host, &nic->doorbells.alarm};

	for (size_t i = 0; i < sizeof(doorbells) / sizeof(doorbells[0]); i++) {
		if (*doorbells[i] >= 0)
			close(*doorbells[i]);
		*doorbells[i] = -1;
	}
}

/* What handles of this life have named is not named by the first ones of the next. */
static void note_spent(struct nic *nic)
{
	const struct pool *const pools[] = {&nic->objects.entries, &nic->objects.descriptors, &nic->objects.queues};

	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		uint32_t spent = pool_spent(pools[i]);

		nic->closed.generations = spent > nic->closed.generations ? spent : nic->closed.generations;
	}
}

/* All that only the engine touches; event queues stay, because readers may still look at them. */
static void free_objects(struct nic *nic)
{
	struct descriptor *md;
	struct operation *op;

	for (uint32_t i = 0; nic->objects.operations.objects && (op = pool_next(&nic->objects.operations, &i));)
		operation_free(nic, op);
	for (uint32_t i = 0; nic->objects.descriptors.objects && (md = pool_next(&nic->objects.descriptors, &i));) {
		registrations_deregister(md);
		region_clear(&md->region);
	}
	note_spent(nic);
	peers_free(nic);
	for (int i = 0; i < NIC_PORTALS; i++)
		match_list_free(&nic->objects.portals[i]);
	pool_close(&nic->objects.entries);
	pool_close(&nic->objects.descriptors);
	pool_close(&nic->objects.operations);
}

void nic_stop_threads(struct nic *nic)
{
	if (nic->opening.running)
		pthread_join(nic->opening.opener, NULL);
	nic->opening.running = false;
	nic_thread_stop(nic);
}

void nic_flush(struct nic *nic)
{
	uint64_t deadline = monotonic_ns() + nic->settings->linger;

	while (nic_call(nic, still_sending, NULL) == 1 && monotonic_ns() < deadline)
		sched_yield();
}

void nic_dismiss(struct nic *nic)
{
	nic_call(nic, fail_everything, NULL);
	while (atomic_load_explicit(&nic->hosts.waiting, memory_order_relaxed) > 0)
		sched_yield();
}

void nic_close(struct nic *nic)
{
	nic_stop_threads(nic);
	nic_call(nic, fail_everything, NULL);
	nic_reap(nic);
	event_fds_close(nic);
	results_write(nic);
	free_objects(nic);
	close_transports(nic);
	close_doorbells(nic);
	nic_cpu_release(nic);
}

void nic_free(struct nic *nic)
{
	struct event_queue *eq;

	for (uint32_t i = 0; nic->objects.queues.objects && (eq = pool_next(&nic->objects.queues, &i));)
		event_ring_put(atomic_load(&eq->ring));
	pool_close(&nic->objects.queues);
	results_free(nic);
	free(nic);
}

void nic_abandon(struct nic *nic)
{
	/* The handler of a signal may have forked while its thread waited for events: it leaves. */
	atomic_store_explicit(&nic->sleep.closing, true, memory_order_relaxed);
	atomic_store_explicit(&nic->own, NIC_DEAD, memory_order_relaxed);
	waiters_abandon(nic);
	event_fds_close(nic);
	close_doorbells(nic);
	nic_cpu_release(nic);
	for (int i = 0; i < NIC_TRANSPORTS; i++)
		if (nic->claimed[i])
			nic->claimed[i]->ops->forked(nic->claimed[i]);
}

/* --- for humans --- */

static int describe_transports(struct nic *nic, char *text, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < NIC_TRANSPORTS && used < size; i++)
		if (nic->transports[i]) {
			used += (size_t)snprintf(text + used, size - used,
						 "transport %s: ", nic->transports[i]->ops->name);
			if (used < size)
				used += (size_t)nic->transports[i]->ops->describe(nic->transports[i], text + used,
										  size - used);
			if (used < size)
				used += (size_t)snprintf(text + used, size - used, "\n");
		}
	if (nic->opening.error && used < size)
		used += (size_t)snprintf(text + used, size - used, "transport ofi: failed: %s\n", nic->opening.text);
	return (int)used;
}

struct description {
	char *text;
	size_t size;
	int length;
};

static int describe(struct nic *nic, void *argument)
{
	struct description *out = argument;
	char cpu[64] = "any CPU";
	const char *slice_error = atomic_load_explicit(&nic->affinity.slice_error, memory_order_relaxed);

	if (nic->affinity.cpu >= 0)
		snprintf(cpu, sizeof(cpu), "CPU %d", nic->affinity.cpu);
	else if (*nic->settings->nic_cpus)
		snprintf(cpu, sizeof(cpu), "any CPU, none of PTL_NIC_CPUS can be used");
	out->length = snprintf(
		out->text, out->size,
		"id: %u.%u.%u.%u (nid %u), pid %u\ninterface: %s\nmode: %s\nNIC thread: %s\n"
		"NIC slice: %s\nclock: %s\nwire header: %zu bytes for a put (%zu in compact form), version %d\n",
		nic->self.id.nid >> 24, nic->self.id.nid >> 16 & 255, nic->self.id.nid >> 8 & 255,
		nic->self.id.nid & 255, nic->self.id.nid, nic->self.id.pid, nic->self.iface, modes[nic->mode],
		nic->thread.running ? cpu : "none",
		!nic->thread.running              ? "none"
		: slice_error                     ? slice_error
		: nic->mode == NIC_MODE_DEDICATED ? "100 us while it sleeps"
						  : "100 us",
		timing_clock_name(), wire_header_size(WIRE_PUT, false), wire_header_size(WIRE_PUT, true), WIRE_VERSION);
	if ((size_t)out->length < out->size)
		out->length += describe_transports(nic, out->text + out->length, out->size - (size_t)out->length);
	return (size_t)out->length < out->size ? 0 : -ENOSPC;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): describe() writes through it */
int nic_describe(struct nic *nic, char *text, size_t size)
{
	struct description out = {.text = text, .size = size};

	nic_ready(nic);
	return nic_call(nic, describe, &out);
}
