/* SPDX-License-Identifier: BSD-3-Clause */
/* Children that start anew while threads of their parent put and get. */
#include "tests/behaviour/threads/threads.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS  3
#define CHILDREN 12
#define AREA     65536u /* bytes of the target that each thread uses */

static _Atomic bool enough;

struct mover {
	unsigned number;
	ptl_handle_eq_t eq;
	char *bytes;
	unsigned rounds;
};

/* Stores a pattern in the thread's own area at the target and reads it back. */
static void put_and_get_back(struct mover *mover, size_t length)
{
	const ptl_size_t offset = mover->number * AREA;
	ptl_handle_md_t md = bind_md(md_over(mover->bytes, length, PTL_MD_EVENT_START_DISABLE, mover->eq));
	fill_pattern(mover->bytes, length, mover->rounds);
	CHECK_OK(PtlPut(md, PTL_ACK_REQ, target_id(), INDEX, 0, BITS, offset, 0));
	take(mover->eq, PTL_EVENT_SEND_END);
	take(mover->eq, PTL_EVENT_ACK);
	memset(mover->bytes, 0, length);
	CHECK_OK(PtlGet(md, target_id(), INDEX, 0, BITS, offset));
	take(mover->eq, PTL_EVENT_REPLY_END);
	CHECK_PATTERN(mover->bytes, length, mover->rounds);
	CHECK_OK(PtlMDUnlink(md));
}

static void *move(void *argument)
{
	struct mover *mover = argument;
	do { /* once at least, however late it is given a processor */
		put_and_get_back(mover, mover->rounds % 4 ? 100 : AREA);
		mover->rounds++;
	} while (!atomic_load(&enough));
	return NULL;
}

static _Noreturn void start_anew(void)
{
	ptl_process_id_t id;
	CHECK_RC(PtlGetId(ni, &id), PTL_NO_INIT);
	PtlFini();
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlNicReady(ni));
	CHECK_OK(PtlGetId(ni, &id));
	CHECK(id.pid != id_of[my_rank].pid);
	put_to_myself();
	if (!over_self())
		ping(target_id());
	PtlFini();
	_exit(0);
}

/* Two at a time, so that children meet each other's interfaces and not only their parent's. */
static void fork_under_traffic(void)
{
	for (unsigned i = 0; i < CHILDREN; i += 2) {
		pid_t children[2];
		for (int k = 0; k < 2; k++)
			if ((children[k] = fork_child()) == 0)
				start_anew();
		for (int k = 0; k < 2; k++)
			join_child(children[k]);
	}
}

static void children_start_anew_while_threads_of_the_parent_go_on(void)
{
	struct mover movers[THREADS];
	pthread_t threads[THREADS] = {0};
	if (am_target())
		open_window(BITS, md_over(memory(THREADS * AREA), THREADS * AREA,
					  PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE));
	open_door();
	for (unsigned i = 0; i < THREADS; i++)
		movers[i] = (struct mover){i, new_eq(16), memory(AREA), 0};
	if (in_mode("host"))
		harness_while_waiting(lend_time); /* one step a millisecond is too little for so many contacts */
	barrier();
	for (unsigned i = 0; i < THREADS && am_initiator(); i++)
		start_thread(&threads[i], move, &movers[i]);
	if (am_initiator())
		fork_under_traffic();
	atomic_store(&enough, true);
	for (unsigned i = 0; i < THREADS && am_initiator(); i++) {
		pthread_join(threads[i], NULL);
		CHECK_EMPTY(movers[i].eq);
	}
	barrier();
}

/* The thread that opens the network may hold any lock of libfabric's at that moment. */
static void a_child_starts_anew_also_when_its_parent_was_still_opening_the_network(void)
{
	const int before = open_descriptors();
	for (int i = 0; i < 12; i++) {
		/* At any moment of it, which takes 100 ms the first time in a process and some 5 ms later. */
		const struct timespec pause = {0, (getpid() + i) % (i % 2 ? 5 : 100) * 1000000};
		open_interface(PTL_PID_ANY);
		nanosleep(&pause, NULL);
		pid_t child = fork_child();
		if (child == 0) {
			PtlFini();
			if (over_self() || over_transport("node"))           /* libfabric's are its own */
				CHECK_EQUAL(open_descriptors(), before - 1); /* fork_child() closed one */
			open_interface(PTL_PID_ANY);
			CHECK_OK(PtlNicReady(ni));
			put_to_myself();
			PtlFini();
			_exit(0);
		}
		put_to_myself();
		join_child(child);
		PtlFini();
	}
}

/* As of a daemon, which forks twice: the child opens files, which get the numbers of descriptors that the library gave up. */
static void a_childs_own_descriptors_survive_when_it_forks_again(void)
{
	enum { FILES = 40 };
	int files[FILES];
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlNicReady(ni));
	pid_t child = fork_child();
	if (child == 0) {
		for (int i = 0; i < FILES; i++)
			CHECK((files[i] = open("/dev/null", O_RDONLY)) >= 0);
		pid_t grandchild = fork_child();
		if (grandchild == 0) {
			for (int i = 0; i < FILES; i++)
				CHECK(fcntl(files[i], F_GETFD) >= 0);
			PtlFini();
			open_interface(PTL_PID_ANY);
			put_to_myself();
			PtlFini();
			_exit(0);
		}
		join_child(grandchild);
		_exit(0);
	}
	join_child(child);
	put_to_myself();
	PtlFini();
}

static volatile sig_atomic_t alarms;

/* What a handler does that starts a debugger. */
static void fork_and_wait(int number)
{
	(void)number;
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	alarms++;
}

/* The thread that opens the network cannot end before the call does that the handler has interrupted. */
static void a_signal_handler_may_fork_inside_a_call_while_the_network_is_opened(void)
{
	signal(SIGALRM, fork_and_wait);
	for (int i = 0; i < FEWER(30); i++) {
		ptl_md_t md = md_over(NULL, 0, 0, PTL_EQ_NONE);
		open_interface(PTL_PID_ANY);
		const struct itimerval soon = {.it_value = {0, 500 + 20 * i}};
		CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
		while (alarms == i)
			CHECK_OK(PtlMDUnlink(bind_md(md)));
		PtlFini();
	}
}

static void *close_the_interface(void *argument)
{
	_Atomic bool *closed = argument;
	CHECK_OK(PtlNIFini(ni));
	atomic_store(closed, true);
	return NULL;
}

/* What is sent to a process that does not exist yet keeps the interface busy, for PTL_LINGER at most: meanwhile we fork. */
static pthread_t fork_while_another_thread_lingers(void *(*finish)(void *), void *argument)
{
	ptl_process_id_t late;
	pthread_t closer;
	if (over_self())
		setenv("PTL_TRANSPORT", "node", 1);
	open_interface(PTL_PID_ANY);
	CHECK_OK(PtlNicReady(ni));
	CHECK_OK(PtlGetId(ni, &late));
	late.pid = own_pid(1);
	CHECK_OK(PtlPut(bind_md(md_over(NULL, 0, 0, PTL_EQ_NONE)), PTL_NO_ACK_REQ, late, INDEX, 0, BITS, 0, 0));
	start_thread(&closer, finish, argument);
	while (PtlNIInitialized(PTL_IFACE_DEFAULT))
		;
	pid_t child = fork_child();
	if (child == 0) {
		PtlFini();
		open_interface(PTL_PID_ANY);
		put_to_myself();
		PtlFini();
		_exit(0);
	}
	join_child(child);
	return closer;
}

static void fork_and_other_interfaces_do_not_wait_for_one_that_lingers(void)
{
	static _Atomic bool closed;
	ptl_handle_ni_t other;
	pthread_t closer = fork_while_another_thread_lingers(close_the_interface, &closed);
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, PTL_PID_ANY, NULL, NULL, &other));
	CHECK_OK(PtlNIFini(other));
	CHECK(!atomic_load(&closed));
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT + 1, own_pid(1), NULL, NULL, &other));
	while (in_mode("host") && !atomic_load(&closed))
		PtlProgress(other, 1);
	/* Waits until the lingering one is gone, if it is not yet. */
	CHECK_OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &other));
	pthread_join(closer, NULL);
	ni = other;
	put_to_myself();
	PtlFini();
}

static void *end_everything(void *argument)
{
	PtlFini();
	return argument;
}

/* Its PtlFini does not wait for that of a thread which it has not. */
static void a_child_starts_anew_also_when_its_parent_was_ending_everything(void)
{
	pthread_join(fork_while_another_thread_lingers(end_everything, NULL), NULL);
}

static void check_cancel_state(int wanted)
{
	int state;
	pthread_setcancelstate(wanted, &state);
	CHECK_EQUAL(state, wanted);
}

/* Whether the library is in use or only there. */
static void fork_leaves_it_to_the_thread_whether_it_can_be_cancelled(void)
{
	static const int states[] = {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE, PTHREAD_CANCEL_ENABLE};
	for (int i = 0; i < 6; i++) {
		int state = states[i % 3];
		if (i == 3)
			open_interface(PTL_PID_ANY);
		pthread_setcancelstate(state, NULL);
		pid_t child = fork_child();
		check_cancel_state(state);
		if (child == 0)
			_exit(0);
		join_child(child);
	}
	PtlFini();
}

/* The run-time of the address sanitizer does not guard its allocator against fork in another thread. */
const struct test fork_tests[] = {
	{.name = "children_start_anew_while_threads_of_the_parent_go_on",
	 .run = children_start_anew_while_threads_of_the_parent_go_on,
	 .processes = 2,
	 .traits = TRAIT_PAIR | TRAIT_NO_SANITIZER},
	{.name = "a_child_starts_anew_also_when_its_parent_was_still_opening_the_network",
	 .run = a_child_starts_anew_also_when_its_parent_was_still_opening_the_network,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NO_SANITIZER},
	{.name = "a_childs_own_descriptors_survive_when_it_forks_again",
	 .run = a_childs_own_descriptors_survive_when_it_forks_again,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NO_SANITIZER},
	{.name = "a_signal_handler_may_fork_inside_a_call_while_the_network_is_opened",
	 .run = a_signal_handler_may_fork_inside_a_call_while_the_network_is_opened,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NO_SANITIZER},
	{.name = "fork_and_other_interfaces_do_not_wait_for_one_that_lingers",
	 .run = fork_and_other_interfaces_do_not_wait_for_one_that_lingers,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NO_SANITIZER,
	 .environment = "PTL_LINGER=25s"},
	{.name = "fork_leaves_it_to_the_thread_whether_it_can_be_cancelled",
	 .run = fork_leaves_it_to_the_thread_whether_it_can_be_cancelled,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NO_SANITIZER},
	{.name = "a_child_starts_anew_also_when_its_parent_was_ending_everything",
	 .run = a_child_starts_anew_also_when_its_parent_was_ending_everything,
	 .processes = 1,
	 .traits = TRAIT_BARE | TRAIT_NO_SANITIZER},
	{0},
};
