/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: mpirun -n N job ready|exchange|early|cancelled|again|fork|nobody | job late FIFO
 * One process of a launched job, which knows of the others what PtlGetRank and PtlGetRankId say.
 *
 *   ready      the interface opens, or its failure is printed
 *   exchange   each puts to each, short and long, and gets back what it has put
 *   early      the same, when PtlGetRank has been called before PtlNIInit
 *   cancelled  the same, after threads asked for the others' ids that were cancelled before
 *   again      the same three times, after PtlFini and PtlInit
 *   fork       the same, while children find that they have no rank
 *   nobody     what is put to an id that no process has fails soon
 *   late       the last rank opens its interface when the others have met; until then an id that may be its is waited for
 *
 * Prints "rank R of N: done" at the end; what is wrong ends the process with status 1.
 */
#include <p3rt/p3rt.h>
#include <portals3.h>
#include <portals3_nic.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INDEX      4
#define RANKS_MAX  16
#define AREA       (1u << 20) /* bytes for each rank */
#define DATA_BITS  0x1000u    /* | source rank */
#define ROUND_BITS 0x2000u    /* likewise; hdr_data is the round */
#define REPEAT_MS  250
#define PATIENCE_S 40

static ptl_handle_ni_t ni;
static ptl_handle_eq_t arrivals;
static unsigned rank, size;
static uint64_t round_of[RANKS_MAX]; /* that others say to have come to */
static uint64_t this_round;
static unsigned life;
static bool published;               /* is what PTL_ADDRESSES asks for */
static bool asks_early;              /* before its interface is open */
static unsigned char (*areas)[AREA]; /* written by the others */

static _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "rank %u: ", rank);
	vfprintf(stderr, format, arguments);
	fprintf(stderr, " (%s)\n", PtlNicErrorText());
	va_end(arguments);
	exit(1);
}

#define CHECK(call) check(call, #call)

static void check(int code, const char *call)
{
	if (code != PTL_OK)
		fail("%s: %s", call, PtlErrorStr((unsigned)code));
}

#define EXPECT(condition)                                                                                              \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			fail("line %d: %s is not so", __LINE__, #condition);                                           \
	} while (0)

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static ptl_handle_eq_t new_queue(unsigned events)
{
	ptl_handle_eq_t queue;

	CHECK(PtlEQAlloc(ni, events, PTL_EQ_HANDLER_NONE, &queue));
	return queue;
}

static ptl_md_t memory(void *start, size_t length, unsigned options, ptl_handle_eq_t queue)
{
	return (ptl_md_t){.start = start,
			  .length = length,
			  .threshold = PTL_MD_THRESH_INF,
			  .options = options | PTL_MD_EVENT_START_DISABLE | PTL_MD_MANAGE_REMOTE,
			  .eq_handle = queue};
}

static void open_window(ptl_match_bits_t bits, ptl_md_t md)
{
	ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_handle_me_t entry;
	ptl_handle_md_t handle;

	CHECK(PtlMEAttach(ni, INDEX, anyone, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &entry));
	CHECK(PtlMDAttach(entry, md, PTL_RETAIN, &handle));
}

/* Every initiator here has the same job id. */
static void admit_own_job(void)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY};
	ptl_jid_t jid;

	CHECK(PtlGetJid(ni, &jid));
	CHECK(PtlACEntry(ni, 0, anyone, PTL_UID_ANY, jid, PTL_PT_INDEX_ANY));
}

static void start(void)
{
	int interfaces;

	CHECK(PtlInit(&interfaces));
	if (asks_early)
		CHECK(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlGetRank(ni, &rank, &size));
	admit_own_job();
	EXPECT(size <= RANKS_MAX);
	arrivals = new_queue(1024);
	for (unsigned i = 0; i < size; i++) {
		open_window(DATA_BITS | i, memory(areas[i], AREA, PTL_MD_OP_PUT | PTL_MD_OP_GET, PTL_EQ_NONE));
		open_window(ROUND_BITS | i, memory(NULL, 0, PTL_MD_OP_PUT, arrivals));
	}
}

/* What PtlNicInfo says. */
static const char *info(void)
{
	static char text[4096];

	CHECK(PtlNicInfo(ni, text, sizeof(text)));
	return text;
}

/*
 * One operation until it has succeeded: its target may not have come yet, or have closed its interface and not opened the
 * next one.  Its last event is an ACK or a REPLY_END.
 */
static void insist(ptl_md_t md, int (*operate)(ptl_handle_md_t, ptl_process_id_t, void *), unsigned to, void *argument)
{
	const double end = seconds() + PATIENCE_S;
	ptl_handle_md_t handle;
	ptl_event_t event = {0};
	ptl_process_id_t id;
	int which, code = PTL_EQ_EMPTY;

	md.eq_handle = new_queue(256);
	CHECK(PtlMDBind(ni, md, PTL_RETAIN, &handle));
	while (code != PTL_OK) {
		if (seconds() > end)
			fail("no answer from rank %u; last: %s, %s", to, PtlEventKindStr(event.type),
			     PtlNIFailStr(ni, event.ni_fail_type));
		if (PtlGetRankId(ni, to, &id) != PTL_OK) /* it has PTL_CONNECT_TIMEOUT to come */
			continue;
		CHECK(operate(handle, id, argument));
		do
			code = PtlEQPoll(&md.eq_handle, 1, REPEAT_MS, &event, &which);
		while (code == PTL_OK && event.ni_fail_type == PTL_NI_OK && event.type != PTL_EVENT_ACK &&
		       event.type != PTL_EVENT_REPLY_END);
		if (code == PTL_OK && event.ni_fail_type != PTL_NI_OK)
			code = PTL_EQ_EMPTY;
	}
}

static int put_data(ptl_handle_md_t md, ptl_process_id_t to, void *unused)
{
	(void)unused;
	return PtlPut(md, PTL_ACK_REQ, to, INDEX, 0, DATA_BITS | rank, 0, 0);
}

static int get_data(ptl_handle_md_t md, ptl_process_id_t from, void *unused)
{
	(void)unused;
	return PtlGet(md, from, INDEX, 0, DATA_BITS | rank, 0);
}

static int put_round(ptl_handle_md_t md, ptl_process_id_t to, void *number)
{
	return PtlPut(md, PTL_ACK_REQ, to, INDEX, 0, ROUND_BITS | rank, 0, *(uint64_t *)number);
}

/* All have come so far. */
static void barrier(void)
{
	const double end = seconds() + PATIENCE_S;
	ptl_event_t event;
	int which;

	this_round++;
	for (unsigned i = 0; i < size; i++)
		insist(memory(NULL, 0, 0, PTL_EQ_NONE), put_round, i, &this_round);
	for (unsigned i = 0; i < size; i++)
		while (round_of[i] < this_round) {
			if (seconds() > end)
				fail("rank %u does not come to round %u", i, (unsigned)this_round);
			if (PtlEQPoll(&arrivals, 1, REPEAT_MS, &event, &which) != PTL_OK)
				continue;
			uint64_t *known = &round_of[event.match_bits & ~(ptl_match_bits_t)ROUND_BITS];
			*known = event.hdr_data > *known ? event.hdr_data : *known;
		}
}

static unsigned char pattern(unsigned from, unsigned to, size_t length, size_t at)
{
	return (unsigned char)(from * 31 + to * 17 + length + at + at / 251 + life * 7);
}

/* Its buffers stay: a repeated operation may still be under way. */
static void exchange_with(unsigned to, size_t length)
{
	unsigned char *bytes = malloc(length), *back = calloc(1, length);

	EXPECT(bytes && back);
	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern(rank, to, length, i);
	insist(memory(bytes, length, 0, PTL_EQ_NONE), put_data, to, NULL);
	insist(memory(back, length, 0, PTL_EQ_NONE), get_data, to, NULL);
	EXPECT(memcmp(bytes, back, length) == 0);
}

static void check_area(unsigned from, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (areas[from][i] != pattern(from, rank, length, i))
			fail("byte %zu of %zu from rank %u is wrong", i, length, from);
}

static void exchange(void)
{
	static const size_t lengths[] = {1, 200, 5000, AREA};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (unsigned k = 0; k < size; k++)
			exchange_with((rank + k) % size, lengths[i]);
		barrier();
		for (unsigned from = 0; from < size; from++)
			check_area(from, lengths[i]);
		barrier();
	}
}

static void again(void)
{
	for (; life < 3; life++) {
		exchange();
		PtlFini();
		start();
	}
}

static void *ask_cancelled(void *answered)
{
	ptl_process_id_t id;

	pthread_cancel(pthread_self()); /* takes effect at a cancellation point */
	for (unsigned other = 0; other < size; other++)
		check(PtlGetRankId(ni, other, &id), "PtlGetRankId");
	*(bool *)answered = true;
	pthread_testcancel();
	return NULL;
}

/* PMIx would keep what a thread held that died in it. */
static void cancelled(void)
{
	bool answered = false;
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, ask_cancelled, &answered) || pthread_join(thread, &result))
		fail("no thread");
	if (!answered || result != PTHREAD_CANCELED)
		fail("PtlGetRankId is a cancellation point");
	exchange();
}

/* A child is not the process that was launched: it may start anew, alone. */
static void be_a_child(void)
{
	unsigned own_rank, own_size;
	ptl_process_id_t self;
	int interfaces;

	EXPECT(PtlGetRank(ni, &own_rank, &own_size) == PTL_NO_INIT);
	PtlFini();
	/* Where the network is all there is, PtlNIInit would wait for it, and say what PtlNicReady says. */
	EXPECT(setenv("PTL_OPEN", "background", 1) == 0);
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	EXPECT(PtlGetRank(ni, &own_rank, &own_size) == PTL_NO_INIT);
	CHECK(PtlGetId(ni, &self));
	if (published) {
		EXPECT(PtlNicReady(ni) == PTL_FAIL);
		EXPECT(strstr(PtlNicErrorText(), "launcher"));
	} else {
		CHECK(PtlNicReady(ni));
	}
	PtlFini();
	_exit(0);
}

static void fork_meanwhile(void)
{
	pid_t children[4];
	int status;

	for (int i = 0; i < 4; i++) {
		EXPECT((children[i] = fork()) >= 0);
		if (children[i] == 0)
			be_a_child();
	}
	exchange();
	for (int i = 0; i < 4; i++) {
		EXPECT(waitpid(children[i], &status, 0) == children[i]);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

static ptl_handle_eq_t put_to_outsider(ptl_process_id_t outsider)
{
	ptl_handle_eq_t queue = new_queue(16);
	ptl_handle_md_t handle;

	CHECK(PtlMDBind(ni, memory("x", 1, 0, queue), PTL_RETAIN, &handle));
	CHECK(PtlPut(handle, PTL_NO_ACK_REQ, outsider, INDEX, 0, 0, 0, 0));
	return queue;
}

static void expect_unreachable(ptl_handle_eq_t queue)
{
	ptl_event_t event;
	int which;

	CHECK(PtlEQPoll(&queue, 1, PATIENCE_S * 1000, &event, &which));
	EXPECT(event.type == PTL_EVENT_SEND_END && event.ni_fail_type == PTL_NI_UNREACHABLE);
}

static ptl_process_id_t invented(void)
{
	ptl_process_id_t id;

	CHECK(PtlGetId(ni, &id));
	id.pid += 1u << 30;
	return id;
}

/* All ranks have come, so that it is known at once. */
static void nobody(void)
{
	barrier();
	const double begin = seconds();
	expect_unreachable(put_to_outsider(invented()));
	EXPECT(seconds() - begin < 25); /* PTL_CONNECT_TIMEOUT is 30 s */
	exchange();
}

/* Of the ranks that have come; the last has not. */
static void meet_without_the_last(void)
{
	size--;
	barrier();
	size++;
}

static void late(const char *fifo)
{
	if (rank == size - 1) {
		this_round++; /* it has missed that meeting */
		exchange();
		return;
	}
	meet_without_the_last();
	if (rank == 0) {
		/* A rank that has not come may be meant, so that one waits; those that have come are served meanwhile. */
		const double begin = seconds();
		ptl_event_t event;
		ptl_handle_eq_t queue = put_to_outsider(invented());
		for (int i = 0; i < 50; i++)
			exchange_with(1, 5000);
		EXPECT(seconds() - begin > 1 || PtlEQGet(queue, &event) == PTL_EQ_EMPTY);
		expect_unreachable(queue);
		EXPECT(seconds() - begin >= 1);
		FILE *sign = fopen(fifo, "w");
		EXPECT(sign && fclose(sign) == 0);
	}
	exchange();
}

/* Under every launcher in use: which rank is last is to be known before PtlNIInit. */
static bool is_last(void)
{
	const char *own = getenv("PMIX_RANK"), *count = getenv("OMPI_COMM_WORLD_SIZE");

	count = count ? count : getenv("SLURM_STEP_NUM_TASKS");
	return own && count && atoi(own) == atoi(count) - 1;
}

static void wait_for_sign(const char *fifo)
{
	FILE *sign = fopen(fifo, "r");

	EXPECT(sign);
	fclose(sign);
}

/* What follows the rank in the line about the job. */
static const char *place(void)
{
	const char *line = strstr(info(), "job: rank ");
	static char text[128];

	EXPECT(line);
	snprintf(text, sizeof(text), ", %.*s", (int)strcspn(line, "\n"), line);
	return text;
}

/* What the interface is; not open: why. */
static void ready(void)
{
	int interfaces;

	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlNicReady(ni));
	printf("%s", info());
	PtlFini();
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";
	const char *addresses = getenv("PTL_ADDRESSES");

	areas = calloc(RANKS_MAX, sizeof(*areas));
	EXPECT(areas);
	published = addresses && strcmp(addresses, "published") == 0;
	if (strcmp(what, "ready") == 0) {
		ready();
		return 0;
	}
	if (count > 2 && is_last())
		wait_for_sign(arguments[2]);
	asks_early = strcmp(what, "early") == 0;
	start();
	EXPECT(!published == !strstr(info(), "address published"));
	if (strcmp(what, "exchange") == 0 || asks_early)
		exchange();
	else if (strcmp(what, "cancelled") == 0)
		cancelled();
	else if (strcmp(what, "again") == 0)
		again();
	else if (strcmp(what, "fork") == 0)
		fork_meanwhile();
	else if (strcmp(what, "nobody") == 0)
		nobody();
	else if (strcmp(what, "late") == 0 && count > 2)
		late(arguments[2]);
	else
		fail("'%s' is none of exchange, early, cancelled, again, fork, nobody, late FIFO", what);
	printf("rank %u of %u: done%s\n", rank, size, place());
	PtlFini();
	return 0;
}
