/* SPDX-License-Identifier: BSD-3-Clause */
#include "session.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arch.h"
#include "common.h"
#include "emulated.h"
#include "fail.h"
#include "job.h"
#include "output.h"
#include "raw.h"
#include "stats.h"

/* Room behind the greatest message for the header that the raw exchange sends with it. */
#define HEADER_ROOM 4096

/* From this size on fewer messages are kept in flight, bytes. */
#define WINDOW_CHANGES 65536u

/* What the two sides tell each other first. */
struct hello {
	char version[24];
	ptl_process_id_t id;
	int cpu;              /* where its host thread will run */
	struct workload load; /* the initiator's counts */
	struct raw_name raw;
};

static void set_environment(const struct options *options, const struct peers *peers)
{
	const char *iface = options->iface ? options->iface : peers->forked ? "lo" : NULL;

	if (options->transport)
		setenv("PTL_TRANSPORT", options->transport, 1);
	if (options->mode)
		setenv("PTL_NIC_MODE", options->mode, 1);
	if (iface)
		setenv("PTL_IFACE", iface, options->iface != NULL);
	if (options->settings && options->settings[peers->role].variable)
		setenv(options->settings[peers->role].variable, options->settings[peers->role].value, 1);
}

/*
 * While the interface opens the library's messages are held back: if it fails we say why ourselves, in one line; if
 * not, its warnings are for the initiator's stderr only, for the target's would be the same.
 */
extern FILE *p3_out;

int session_try_interface(struct session *session, ptl_pid_t pid, const char **call)
{
	int interfaces, code;

	set_environment(session->options, &session->peers);
	uint64_t start = monotonic_ns();
	*call = "PtlInit";
	if ((code = PtlInit(&interfaces)) != PTL_OK)
		return code;
	*call = "PtlNIInit";
	if ((code = PtlNIInit(PTL_IFACE_DEFAULT, pid, NULL, &session->limits, &session->ni)) != PTL_OK)
		return code;
	session->open_ns = (double)(monotonic_ns() - start);
	*call = "PtlNicReady";
	if ((code = PtlNicReady(session->ni)) != PTL_OK)
		return code;
	session->ready_ns = (double)(monotonic_ns() - start);
	PtlNicInfo(session->ni, session->info, sizeof(session->info));
	*call = "PtlGetId";
	return PtlGetId(session->ni, &session->self);
}

void session_open_interface(struct session *session, ptl_pid_t pid)
{
	char *messages = NULL;
	size_t length = 0;
	const char *call;

	p3_out = open_memstream(&messages, &length);
	int code = session_try_interface(session, pid, &call);
	if (code != PTL_OK)
		portals_refused(code, call);
	FILE *memory = p3_out;
	p3_out = stderr;
	fclose(memory);
	if (session->peers.role == INITIATOR)
		fputs(messages, stderr);
	free(messages);
}

bool info_line(const char *info, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);

	for (const char *line = info; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, name, length) != 0 || line[length] != ':')
			continue;
		line += length + 1;
		line += strspn(line, " ");
		snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
		return true;
	}
	return false;
}

uint32_t session_window(const struct workload *load, uint64_t size)
{
	return load->window ? load->window : size < WINDOW_CHANGES ? 64 : 16;
}

static char *new_buffer(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		fail("no memory for a buffer of %zu bytes", size);
	return memory;
}

uint64_t session_checked_at_once(const struct workload *load, uint64_t size)
{
	const uint32_t window = session_window(load, size);

	return window < CHECKED_LEAST ? CHECKED_LEAST : window;
}

/* With --check the messages of a window must not overwrite each other before they were looked at. */
static size_t sink_size(const struct workload *load)
{
	uint64_t largest = load->size_max, small = largest < WINDOW_CHANGES ? largest : WINDOW_CHANGES - 1;

	if (!load->check)
		return largest;
	uint64_t for_largest = largest * session_checked_at_once(load, largest),
		 for_small = small * session_checked_at_once(load, small);
	return for_largest > for_small ? for_largest : for_small;
}

/* Before the fork. */
static struct common *new_common(void)
{
	struct common *common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (common == MAP_FAILED)
		fail("no memory for two processes to share");
	return common;
}

static void make_buffers(struct session *session)
{
	session->source_size = session->load.size_max + HEADER_ROOM;
	session->sink_size = sink_size(&session->load) + HEADER_ROOM;
	session->source = new_buffer(session->source_size);
	session->sink = new_buffer(session->sink_size);
}

static void send_hello(const struct session *session)
{
	struct hello hello = {.version = PTLBENCH_VERSION, .id = session->self, .load = session->load};

	hello.cpu = session->peers.cpu[session->peers.role];
	if (session->raw)
		raw_get_name(session, &hello.raw);
	control_send(&session->peers, &hello, sizeof(hello));
}

static void receive_hello(struct session *session, struct hello *hello)
{
	control_receive(&session->peers, hello, sizeof(*hello));
	if (strncmp(hello->version, PTLBENCH_VERSION, sizeof(hello->version)) != 0)
		fail("the other side is ptlbench %.24s, this is " PTLBENCH_VERSION, hello->version);
	session->other = hello->id;
	session->peers.cpu[!session->peers.role] = hello->cpu;
}

/* What depends on the workload; the target has learnt it by now. */
static void open_rest(struct session *session)
{
	ptl_size_t events = 4 * (ptl_size_t)session_window(&session->load, 0) + 256;

	make_buffers(session);
	PTL(PtlEQAlloc(session->ni, events, PTL_EQ_HANDLER_NONE, &session->eq));
	if (session->load.raw && session->load.raw != RAW_SLOTS)
		session->raw = raw_open(session);
}

/* Ranks of a job meet over the interface itself.  False: the launcher started this process alone. */
static bool open_in_job(struct session *session)
{
	session->peers.role = session->options->rank ? TARGET : INITIATOR;
	session_open_interface(session, PTL_PID_ANY);
	if (job_meet(session))
		return true;
	PtlFini();
	job_leave();
	return false;
}

void session_visit(const struct options *options)
{
	struct session session = {.options = options, .peers.role = TARGET};

	session_open_interface(&session, PTL_PID_ANY);
	PtlFini();
}

/*
 * The initiator opens its interface first: what is wrong with the options is said once.  A listener must open before
 * it can say where it listens.
 */
static void meet(struct session *session)
{
	struct hello hello;
	bool initiator = session->peers.role == INITIATOR;

	if (initiator) {
		if (session->peers.forked || session->options->connect)
			session_open_interface(session, PTL_PID_ANY);
		open_rest(session);
		send_hello(session);
	}
	receive_hello(session, &hello);
	if (!initiator) {
		session->load = hello.load;
		if (session->peers.forked)
			session_open_interface(session, PTL_PID_ANY);
		open_rest(session);
		send_hello(session);
	}
	if (session->raw)
		raw_set_peer(session->raw, &hello.raw);
}

void session_open(struct session *session, const struct options *options)
{
	*session = (struct session){.options = options, .load = options->load};
	peers_prepare(&session->peers);
	if (options->listen) {
		session->peers.role = TARGET;
		session_open_interface(session, options->listen_pid ? options->listen_pid : DEFAULT_PID);
		peers_listen(&session->peers, session->self.nid, (uint16_t)session->self.pid);
	} else if (options->connect) {
		peers_connect(&session->peers, options->connect_nid, (uint16_t)options->connect_pid);
	} else if (!options->launched || !open_in_job(session)) {
		session->common = new_common();
		peers_fork(&session->peers);
	}
	meet(session);
	if (!options->unpinned)
		peers_pin(&session->peers);
}

void session_place_nic_thread(const struct options *options)
{
	struct peers place;
	char cpu[16];

	peers_prepare(&place);
	snprintf(cpu, sizeof(cpu), "%d", place.cpu[TARGET]);
	if (options->mode && !strcmp(options->mode, "dedicated"))
		setenv("PTL_NIC_CPUS", cpu, 0);
}

void session_open_alone(struct session *session, const struct options *options, ptl_pid_t pid)
{
	*session = (struct session){.options = options, .load = options->load};
	peers_prepare(&session->peers);
	session_open_interface(session, pid);
	session->other = session->self;
	open_rest(session);
	if (!options->unpinned)
		peers_pin(&session->peers);
}

/* Over loopback: there is no interface that could say what the address is. */
void session_open_bare(struct session *session, const struct options *options)
{
	struct raw_name mine, other;

	*session = (struct session){.options = options, .load = options->load, .self.nid = INADDR_LOOPBACK};
	peers_prepare(&session->peers);
	session->common = new_common();
	peers_fork(&session->peers);
	make_buffers(session);
	if (session->load.raw != RAW_SLOTS) {
		session->raw = raw_open(session);
		raw_get_name(session, &mine);
		control_send(&session->peers, &mine, sizeof(mine));
		control_receive(&session->peers, &other, sizeof(other));
		raw_set_peer(session->raw, &other);
	}
	if (!options->unpinned)
		peers_pin(&session->peers);
}

void session_close_bare(struct session *session)
{
	if (session->raw)
		raw_close(session->raw);
	peers_finish(&session->peers);
}

void session_close(struct session *session)
{
	if (session->raw)
		raw_close(session->raw);
	PtlFini();
	peers_finish(&session->peers);
}

void session_facts(const struct session *session)
{
	char name[64], value[256];

	if (session->options->unpinned)
		output_fact("pinning", "none");
	else if (session->peers.control < 0)
		output_fact("pinning", "CPU %d", session->peers.cpu[INITIATOR]);
	else
		output_fact("pinning", "initiator on CPU %d, target on CPU %d", session->peers.cpu[INITIATOR],
			    session->peers.cpu[TARGET]);
	for (const char *line = session->info; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (sscanf(line, "%63[^:\n]: %255[^\n]", name, value) == 2)
			output_fact(name, "%s", value);
	if (info_line(session->info, "transport ofi", value, sizeof(value)) &&
	    info_line(session->info, "interface", name, sizeof(name)))
		emulated_mark_interface(value, name);
}
