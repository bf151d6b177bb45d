/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of owners of an engine: callers are served in turn, no owner serves for ever, and fork waits for its turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <portals3.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/drive.h"
#include "offload/own.h"
#include "portals/process_table.h"

enum { INTERFACES = 2, CALLS = 3, MOST_THREADS = 256 };

static const char *const modes[] = {"shared", "dedicated", "host"};
static ptl_handle_ni_t ni[INTERFACES];

static void open_interfaces(const char *transport, const char *mode)
{
	int most;

	setenv("PTL_TRANSPORT", transport, 1);
	setenv("PTL_NIC_MODE", mode, 1);
	setenv("PTL_IFACE", "lo", 1);
	setenv("PTL_LINGER", "0", 1);
	assert_int_equal(PtlInit(&most), PTL_OK);
	for (unsigned i = 0; i < INTERFACES; i++)
		assert_int_equal(PtlNIInit(i, PTL_PID_ANY, NULL, NULL, &ni[i]), PTL_OK);
}

/* Is the thread asleep, or gone? */
static bool stands_still(pid_t thread)
{
	char path[64], text[256] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	FILE *file = fopen(path, "re");

	if (!file)
		return true;
	size_t length = fread(text, 1, sizeof(text) - 1, file);
	const char *state = strrchr(text, ')');

	fclose(file);
	return length == 0 || (state && state[2] == 'S');
}

/* --- no owner serves for ever --- */

static atomic_uint satisfied, callers;
static bool last_calls(void)
{
	return atomic_load(&satisfied) == atomic_load(&callers);
}

/* Lasts until the next one waits: an owner that looks for more to do always finds it. */
static int linger(struct nic *nic, void *unused)
{
	(void)unused;
	while (!own_wanted(nic) && !last_calls())
		sched_yield();
	return 0;
}

static void *call_without_end(void *nic)
{
	unsigned calls = 0;

	while (!last_calls()) {
		nic_call(nic, linger, NULL);
		if (++calls == CALLS)
			atomic_fetch_add(&satisfied, 1);
	}
	return NULL;
}

static void an_owner_that_others_always_wait_for_returns_to_its_caller(void **state)
{
	unsigned count = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) + 1;
	pthread_t threads[MOST_THREADS];

	(void)state;
	if (count < 3)
		count = 3;
	if (count > MOST_THREADS)
		count = MOST_THREADS;
	for (unsigned mode = 0; mode < 3; mode++) {
		open_interfaces("self", modes[mode]);
		atomic_store(&satisfied, 0);
		atomic_store(&callers, count);
		for (unsigned i = 0; i < count; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, call_without_end, process_ni(ni[0])), 0);
		for (unsigned i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
		PtlFini();
	}
}

/* --- fork --- */

static struct {
	atomic_int thread; /* that forks; 0: not yet */
	atomic_bool half_done;
	int file;
} forking;

/* NULL if the child finds everything whole. */
static void *fork_and_look(void *unused)
{
	int status;

	(void)unused;
	atomic_store(&forking.thread, gettid());
	pid_t child = fork();

	if (child == 0)
		_exit(atomic_load(&forking.half_done) || (forking.file >= 0 && fcntl(forking.file, F_GETFD) < 0) ? 1
														 : 0);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? NULL : (void *)"no";
}

static void await_whole_child(pthread_t thread)
{
	void *found;

	pthread_join(thread, &found);
	assert_null(found);
}

/* Returns when the thread waits for us, or for its child. */
static pthread_t begin_to_fork(void)
{
	pthread_t thread;

	atomic_store(&forking.thread, 0);
	assert_int_equal(pthread_create(&thread, NULL, fork_and_look, NULL), 0);
	while (atomic_load(&forking.thread) == 0)
		sched_yield();
	while (!stands_still(atomic_load(&forking.thread)))
		sched_yield();
	return thread;
}

static int be_forked(struct nic *nic, void *thread)
{
	(void)nic;
	atomic_store(&forking.half_done, true);
	*(pthread_t *)thread = begin_to_fork();
	atomic_store(&forking.half_done, false);
	return 0;
}

static void a_child_finds_no_engine_in_the_middle_of_something(void **state)
{
	pthread_t thread;

	(void)state;
	forking.file = -1;
	for (unsigned mode = 0; mode < 3; mode++) {
		open_interfaces("self", modes[mode]);
		for (unsigned i = 0; i < INTERFACES; i++) {
			assert_int_equal(nic_call(process_ni(ni[i]), be_forked, &thread), 0);
			await_whole_child(thread);
		}
		PtlFini();
	}
}

static atomic_bool armed;
static pthread_t forker;

int __real_close(int fd);
int __wrap_close(int fd);
/* The engine's number is free, and it does not know yet: the application takes it, and forks. */
int __wrap_close(int fd)
{
	int rc = __real_close(fd);

	if (!nic_inside() || !atomic_exchange(&armed, false))
		return rc;
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	forking.file = fd;
	if (file != fd) {
		dup2(file, fd);
		__real_close(file);
	}
	forker = begin_to_fork();
	return rc;
}

static int drive(struct nic *nic, void *unused)
{
	(void)unused;
	return nic_drive(nic) < 0;
}

static void send_to(ptl_process_id_t other, ptl_handle_eq_t eq)
{
	ptl_md_t md = {.threshold = PTL_MD_THRESH_INF, .options = PTL_MD_EVENT_START_DISABLE, .eq_handle = eq};
	ptl_handle_md_t handle;
	ptl_event_t event;
	int which;

	assert_int_equal(PtlMDBind(ni[0], md, PTL_UNLINK, &handle), PTL_OK);
	assert_int_equal(PtlPut(handle, PTL_NO_ACK_REQ, other, 0, 0, 0, 0, 0), PTL_OK);
	while (PtlEQPoll(&eq, 1, 1, &event, &which) != PTL_OK)
		nic_call(process_ni(ni[1]), drive, NULL);
}

static void a_child_does_not_close_what_the_application_opened_meanwhile(void **state)
{
	(void)state;
	open_interfaces("node", "host");
	ptl_process_id_t other;
	ptl_handle_eq_t eq;
	ptl_event_t event;
	int which;

	assert_int_equal(PtlGetId(ni[1], &other), PTL_OK);
	assert_int_equal(PtlEQAlloc(ni[0], 16, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	send_to(other, eq);
	PtlNIFini(ni[1]);
	atomic_store(&armed, true);
	while (atomic_load(&armed))
		PtlEQPoll(&eq, 1, 1, &event, &which);
	await_whole_child(forker);
	assert_true(fcntl(forking.file, F_GETFD) >= 0);
	__real_close(forking.file);
	PtlFini();
}

/* --- fork and the application's own locks --- */

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static atomic_bool enough;

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
	pthread_mutex_unlock(&lock);
}

static void *call_under_the_lock(void *unused)
{
	ptl_sr_value_t value;

	while (!atomic_load(&enough)) {
		take_lock();
		for (int i = 0; i < 100; i++)
			PtlNIStatus(ni[0], PTL_SR_DROP_COUNT, &value);
		give_lock();
		sched_yield();
	}
	return unused;
}

/* A library that uses us, and was there before PtlInit. */
static void fork_takes_the_locks_of_those_who_call_us_before_ours(void **state)
{
	enum { FORKS = 100 };
	pthread_t caller;

	(void)state;
	assert_int_equal(pthread_atfork(take_lock, give_lock, give_lock), 0);
	open_interfaces("self", "shared");
	assert_int_equal(pthread_create(&caller, NULL, call_under_the_lock, NULL), 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	atomic_store(&enough, true);
	pthread_join(caller, NULL);
	PtlFini();
}

/* --- fork in signal handlers --- */

static atomic_bool interrupted;
static atomic_uint forks;

static void fork_in_handler(int number)
{
	(void)number;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	atomic_fetch_add(&forks, 1);
}

static void be_interrupted(void)
{
	if (!atomic_load(&interrupted))
		return;
	atomic_store(&interrupted, false); /* not the fork that interrupts */
	raise(SIGUSR1);
	atomic_store(&interrupted, true);
}

/* Before the library's: handlers before a fork run in the opposite order, so this one when the library's has run. */
__attribute__((constructor(101))) static void hook_before_the_library(void)
{
	pthread_atfork(be_interrupted, be_interrupted, NULL);
}

static void a_fork_that_a_signal_handler_interrupts_by_another_lets_go_of_everything(void **state)
{
	ptl_sr_value_t value;

	(void)state;
	signal(SIGUSR1, fork_in_handler);
	for (unsigned mode = 0; mode < 3; mode++) {
		open_interfaces("self", modes[mode]);
		atomic_store(&forks, 0);
		atomic_store(&interrupted, true);
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		atomic_store(&interrupted, false);
		assert_int_equal(waitpid(child, NULL, 0), child);
		assert_int_equal(atomic_load(&forks), 2);
		for (unsigned i = 0; i < INTERFACES; i++)
			assert_int_equal(PtlNIStatus(ni[i], PTL_SR_DROP_COUNT, &value), PTL_OK);
		PtlFini();
	}
}

/* --- fork in signal handlers of threads that wait for events --- */

static struct {
	struct nic *nic;
	ptl_handle_eq_t eq;
	atomic_int thread;
	atomic_bool handled;
	int status; /* of the child */
	pid_t parent;
} waiting;

static void *wait_for_events(void *unused)
{
	ptl_event_t event;

	(void)unused;
	atomic_store(&waiting.thread, gettid());
	int code = PtlEQWait(waiting.eq, &event);

	if (getpid() != waiting.parent)
		_exit(code == PTL_EQ_INVALID ? 0 : 1);
	return (void *)(intptr_t)code;
}

/* Returns when a signal handler of a thread that sleeps in PtlEQWait has begun. */
static pthread_t interrupt_a_waiter(const char *mode, void (*handler)(int))
{
	pthread_t thread;

	open_interfaces("self", mode);
	assert_int_equal(PtlEQAlloc(ni[0], 4, PTL_EQ_HANDLER_NONE, &waiting.eq), PTL_OK);
	waiting.nic = process_ni(ni[0]);
	waiting.parent = getpid();
	atomic_store(&waiting.thread, 0);
	atomic_store(&waiting.handled, false);
	signal(SIGUSR1, handler);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_events, NULL), 0);
	while (atomic_load(&waiting.thread) == 0)
		sched_yield();
	while (!atomic_load(&waiting.handled)) {
		while (!stands_still(atomic_load(&waiting.thread)) && !atomic_load(&waiting.handled))
			sched_yield();
		pthread_kill(thread, SIGUSR1);
		sched_yield();
	}
	return thread;
}

static void join_waiter(pthread_t thread)
{
	void *code;

	pthread_join(thread, &code);
	assert_int_equal((intptr_t)code, PTL_EQ_INVALID);
	PtlFini();
}

/* The end has begun, and cannot be over before this thread has left. */
static void fork_during_the_end(int number)
{
	if (nic_inside() || atomic_exchange(&waiting.handled, true))
		return;
	while (!atomic_load(&waiting.nic->sleep.closing))
		sched_yield();
	fork_in_handler(number);
}

static void an_interface_ends_while_a_thread_that_waits_for_its_events_forks(void **state)
{
	(void)state;
	for (unsigned mode = 0; mode < 3; mode++) {
		pthread_t thread = interrupt_a_waiter(modes[mode], fork_during_the_end);

		assert_int_equal(PtlNIFini(ni[0]), PTL_OK);
		join_waiter(thread);
	}
}

/* The child goes on where its thread was. */
static void fork_and_return(int number)
{
	(void)number;
	if (nic_inside() || atomic_load(&waiting.handled))
		return;
	pid_t child = fork();

	if (child == 0)
		alarm(240);
	else {
		waitpid(child, &waiting.status, 0);
		atomic_store(&waiting.handled, true);
	}
}

static void a_child_that_goes_on_in_PtlEQWait_returns_from_it(void **state)
{
	(void)state;
	for (unsigned mode = 0; mode < 3; mode++) {
		pthread_t thread = interrupt_a_waiter(modes[mode], fork_and_return);

		assert_int_equal(waiting.status, 0);
		assert_int_equal(PtlNIFini(ni[0]), PTL_OK);
		join_waiter(thread);
	}
}

/* --- the end, and threads that have not called yet --- */

static const struct nic *found; /* by a thread that has lost its processor */
static atomic_bool found_is_free;

void __real_nic_free(struct nic *nic);
void __wrap_nic_free(struct nic *nic);
void __wrap_nic_free(struct nic *nic)
{
	if (nic == found)
		atomic_store(&found_is_free, true);
	__real_nic_free(nic);
}

static void live_and_end(unsigned lives)
{
	for (unsigned i = 0; i < lives; i++) {
		assert_int_equal(PtlNIFini(ni[0]), PTL_OK);
		assert_int_equal(PtlNIInit(0, PTL_PID_ANY, NULL, NULL, &ni[0]), PTL_OK);
	}
}

static void who_has_found_an_interface_has_time_to_call_it_however_many_are_closed(void **state)
{
	uint64_t first;
	bool freed;

	(void)state;
	open_interfaces("self", "host");
	do { /* again if it took us so long that it may have been freed */
		found = process_ni(ni[0]);
		first = monotonic_ns();
		live_and_end(2 * CLOSED_KEPT);
		freed = atomic_exchange(&found_is_free, false);
	} while (monotonic_ns() - first >= CLOSED_REST_NS);
	assert_false(freed);
	/* But not for ever. */
	while (monotonic_ns() - first < 2 * CLOSED_REST_NS)
		sched_yield();
	live_and_end(1);
	assert_true(atomic_load(&found_is_free));
	PtlFini();
}

/* --- the end, and a doorbell that is still to be written to --- */

static struct {
	atomic_int thread; /* that has handed over a command, and loses its processor before it wakes the owner */
	atomic_bool begun;
	bool closed;
} late;

static int nothing(struct nic *nic, void *unused)
{
	(void)nic;
	(void)unused;
	return 0;
}

/* Something else wakes the owner meanwhile, which serves the command and all that comes until the end. */
void __real_nic_write_doorbell(struct nic *nic, int event);
void __wrap_nic_write_doorbell(struct nic *nic, int event);
void __wrap_nic_write_doorbell(struct nic *nic, int event)
{
	enum { TIME_TO_CLOSE = 1000 };

	__real_nic_write_doorbell(nic, event);
	if (gettid() != atomic_load(&late.thread) || atomic_exchange(&late.begun, true))
		return;
	while (atomic_load(&nic->own) != NIC_DEAD)
		sched_yield();
	for (int i = 0; i < TIME_TO_CLOSE && !late.closed; i++) {
		late.closed = fcntl(event, F_GETFD) < 0;
		sched_yield();
	}
}

static void *call_a_sleeper(void *argument)
{
	struct nic *nic = argument;

	atomic_store(&late.thread, gettid());
	while (!atomic_load(&late.begun)) {
		while (atomic_load(&nic->own) != NIC_SLEEPING)
			sched_yield();
		nic_call(nic, nothing, NULL);
	}
	return NULL;
}

static void no_doorbell_is_closed_while_a_caller_is_about_to_write_to_it(void **state)
{
	pthread_t caller;

	(void)state;
	open_interfaces("self", "dedicated");
	assert_int_equal(pthread_create(&caller, NULL, call_a_sleeper, process_ni(ni[0])), 0);
	while (!atomic_load(&late.begun))
		sched_yield();
	assert_int_equal(PtlNIFini(ni[0]), PTL_OK);
	pthread_join(caller, NULL);
	assert_false(late.closed);
	PtlFini();
}

/* --- handles of an earlier life --- */

static ptl_handle_md_t bind_and_unlink(void)
{
	ptl_md_t md = {.threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE};
	ptl_handle_md_t handle;

	assert_int_equal(PtlMDBind(ni[0], md, PTL_RETAIN, &handle), PTL_OK);
	assert_int_equal(PtlMDUnlink(handle), PTL_OK);
	return handle;
}

static void what_was_named_before_an_interface_was_opened_again_is_not_named_soon_after(void **state)
{
	enum { LAST = 1000, MOST = 400000 };
	static ptl_handle_md_t last[LAST];

	(void)state;
	open_interfaces("self", "host");
	for (unsigned binds = LAST; binds <= MOST; binds = binds * 5 / 4) {
		for (unsigned i = 0; i < binds; i++)
			last[i % LAST] = bind_and_unlink();
		live_and_end(1);
		for (unsigned i = 0; i < LAST; i++) {
			ptl_handle_md_t handle = bind_and_unlink();

			for (unsigned k = 0; k < LAST; k++)
				assert_int_not_equal(handle, last[k]);
		}
	}
	PtlFini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork_takes_the_locks_of_those_who_call_us_before_ours), /* before any PtlInit */
		cmocka_unit_test(an_owner_that_others_always_wait_for_returns_to_its_caller),
		cmocka_unit_test(a_child_finds_no_engine_in_the_middle_of_something),
		cmocka_unit_test(a_child_does_not_close_what_the_application_opened_meanwhile),
		cmocka_unit_test(a_fork_that_a_signal_handler_interrupts_by_another_lets_go_of_everything),
		cmocka_unit_test(an_interface_ends_while_a_thread_that_waits_for_its_events_forks),
		cmocka_unit_test(who_has_found_an_interface_has_time_to_call_it_however_many_are_closed),
		cmocka_unit_test(no_doorbell_is_closed_while_a_caller_is_about_to_write_to_it),
		cmocka_unit_test(what_was_named_before_an_interface_was_opened_again_is_not_named_soon_after),
		cmocka_unit_test(a_child_that_goes_on_in_PtlEQWait_returns_from_it),
	};

	alarm(400); /* a thread that waits for ever fails */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
