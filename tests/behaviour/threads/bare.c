/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread made by clone() without thread-local storage of its own.  Portals cannot tell it from a signal handler of the
 * thread whose storage it shares, nor could the C library; a program that makes such threads is told what is wrong with them.
 */
#include "tests/behaviour/threads/threads.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK (256u << 10)

static struct {
	_Atomic bool over;
	_Atomic pid_t alive; /* until the kernel clears it */
	char text[512];      /* of its first refusal */
	int code;            /* that came with it */
} bare;

/* Runs on the other's errno and text: no checks here, and nothing that allocates. */
static int ask_until_refused(void *unused)
{
	ptl_sr_value_t value;
	(void)unused;
	while (!atomic_load(&bare.over) && bare.code == PTL_OK)
		bare.code = PtlNIStatus(ni, PTL_SR_DROP_COUNT, &value);
	if (bare.code != PTL_OK)
		strncpy(bare.text, PtlNicErrorText(), sizeof(bare.text) - 1);
	atomic_store(&bare.over, true);
	return 0;
}

static void start_bare_thread(void)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	CHECK(stack != MAP_FAILED);
	CHECK(clone(ask_until_refused, stack + STACK, flags, NULL, &bare.alive, NULL, &bare.alive) > 0);
}

/* Neither of them succeeds while the other is inside, and both go on afterwards. */
static void a_thread_without_storage_of_its_own_is_told_so(void)
{
	ptl_md_t md = md_over(NULL, 0, 0, PTL_EQ_NONE);
	ptl_handle_md_t handle;
	const uint64_t deadline = now_ns() + (uint64_t)PATIENCE * 1000000;
	start_bare_thread();
	while (!atomic_load(&bare.over) && now_ns() < deadline) {
		const int code = PtlMDBind(ni, md, PTL_RETAIN, &handle);
		CHECK(code == PTL_OK || code == PTL_FAIL);
		while (code == PTL_OK && PtlMDUnlink(handle) == PTL_FAIL)
			;
	}
	const bool refused = atomic_exchange(&bare.over, true);
	while (atomic_load(&bare.alive) != 0)
		sched_yield();
	put_to_myself();
	if (!refused)
		lose_race("its calls never fell into ours");
	CHECK_EQUAL(bare.code, PTL_FAIL);
	if (!strstr(bare.text, "clone() without CLONE_SETTLS") || !strstr(bare.text, "pthread_create"))
		FAIL("it hears \"%s\"", bare.text);
}

const struct test bare_tests[] = {
	{.name = "a_thread_without_storage_of_its_own_is_told_so",
	 .run = a_thread_without_storage_of_its_own_is_told_so,
	 .processes = 1,
	 .traits = TRAIT_NO_SANITIZER},
	{0},
};
