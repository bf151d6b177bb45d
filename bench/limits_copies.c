/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies within this process, out of another one's memory, and by both processes at once: this one reads the first half
 * (process_vm_readv) while the other one writes the second (process_vm_writev).
 */
#include "machine_limits.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "output.h"
#include "slots.h"

#define LARGEST ((size_t)4 << 20)
#define BATCHES 50

/* What the process that owns what is copied shares with us. */
struct split {
	struct word go;  /* number of the split copy that has begun, or STOP */
	struct word end; /* and of the one of which the owner has written its half, or REFUSED by the system */
	char *to, *from; /* of that copy, in the reader's memory and in the owner's; published by go */
	size_t size;
};

struct owner {
	pid_t pid;
	int helm; /* a byte makes it help, its end makes it end */
	struct split *split;
};

#define STOP    UINT64_MAX
#define REFUSED UINT64_MAX

typedef bool (*copy_function)(void *to, void *from, size_t size, struct owner *owner);

static bool copy_here(void *to, void *from, size_t size, struct owner *owner)
{
	(void)owner;
	memcpy(to, from, size);
	__asm__ volatile("" : : "r"(to), "r"(from) : "memory"); /* the copy is wanted */
	return true;
}

static bool copy_across(void *to, void *from, size_t size, struct owner *owner)
{
	struct iovec local = {to, size}, remote = {from, size};

	return process_vm_readv(owner->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Loads and stores of go and end pair with those in write_halves(). */
static bool copy_split(void *to, void *from, size_t size, struct owner *owner)
{
	struct split *split = owner->split;
	uint64_t turn = atomic_load_explicit(&split->go.value, memory_order_relaxed) + 1, end;

	split->to = to;
	split->from = from;
	split->size = size;
	atomic_store_explicit(&split->go.value, turn, memory_order_release);
	bool read = copy_across(to, from, size / 2, owner);
	do
		end = atomic_load_explicit(&split->end.value, memory_order_acquire);
	while (end != turn && end != REFUSED);
	return read && end != REFUSED;
}

/* The owner's part of split copies. */
static void write_halves(struct split *split, pid_t reader)
{
	uint64_t turn, last = 0;

	while ((turn = atomic_load_explicit(&split->go.value, memory_order_acquire)) != STOP) {
		if (turn == last)
			continue;
		size_t half = split->size / 2;
		struct iovec local = {split->from + half, half}, remote = {split->to + half, half};
		bool written = process_vm_writev(reader, &local, 1, &remote, 1, 0) == (ssize_t)half;
		atomic_store_explicit(&split->end.value, written ? turn : REFUSED, memory_order_release);
		last = turn;
	}
}

/* A row for one size; 10^9 bytes a second.  False if the system refuses. */
static bool measure_copy(const char *name, copy_function copy, char *to, char *from, size_t size, struct owner *owner)
{
	struct samples samples = {0};
	uint32_t batch = (uint32_t)(LARGEST / size);
	char what[64];
	bool allowed = copy(to, from, size, owner);

	for (int batches = 0; allowed && batches < BATCHES; batches++) {
		uint64_t start = monotonic_ns();
		for (uint32_t i = 0; i < batch; i++)
			copy(to, from, size, owner);
		samples_add(&samples, (double)batch * (double)size / (double)(monotonic_ns() - start));
	}
	snprintf(what, sizeof(what), "%s, %zu KiB", name, size >> 10);
	limits_row(what, &samples, 1, "GB/s");
	return allowed;
}

static const size_t copy_sizes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};

static bool measure_copies(const char *name, copy_function copy, char *to, char *from, struct owner *owner)
{
	bool allowed = true;

	for (size_t i = 0; i < sizeof(copy_sizes) / sizeof(copy_sizes[0]); i++)
		allowed = measure_copy(name, copy, to, from, copy_sizes[i], owner) && allowed;
	return allowed;
}

/* From 64 KiB on: below, the meeting would be longer than what it saves. */
static bool measure_split(char *to, char *from, struct owner *owner)
{
	bool allowed = write(owner->helm, "", 1) == 1;

	for (size_t i = 2; allowed && i < sizeof(copy_sizes) / sizeof(copy_sizes[0]); i++)
		allowed = measure_copy("copy split between two cores", copy_split, to, from, copy_sizes[i], owner);
	atomic_store(&owner->split->go.value, STOP);
	return allowed;
}

/* Owns pages of its own at `from`, says so, sleeps, and perhaps helps. */
static void __attribute__((noreturn)) be_owner(char *from, struct split *split, int helm, struct peers place)
{
	pid_t reader = getppid();
	char order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	place.role = TARGET;
	peers_pin(&place);
	memset(from, 2, LARGEST);
	if (write(helm, "", 1) == 1 && read(helm, &order, 1) == 1)
		write_halves(split, reader);
	_exit(0);
}

static struct owner start_owner(char *from, const struct peers *place)
{
	int ends[2];
	char token;
	struct owner owner = {
		.split = mmap(NULL, sizeof(*owner.split), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};

	if (owner.split == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		fail("cannot make what two processes share: %s", strerror(errno));
	owner.pid = fork();
	if (owner.pid < 0)
		fail("cannot fork: %s", strerror(errno));
	if (!owner.pid) {
		close(ends[0]);
		be_owner(from, owner.split, ends[1], *place);
	}
	close(ends[1]);
	owner.helm = ends[0];
	if (read(owner.helm, &token, 1) != 1)
		fail("the process whose memory was to be read has died");
	return owner;
}

static void end_owner(struct owner *owner)
{
	close(owner->helm);
	waitpid(owner->pid, NULL, 0);
	munmap(owner->split, sizeof(*owner->split));
}

void limits_copies(const struct peers *place)
{
	char *memory = mmap(NULL, 2 * LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("no memory for two buffers of %zu bytes", LARGEST);
	memset(memory, 1, 2 * LARGEST);
	char *from = memory, *to = memory + LARGEST;
	measure_copies("memcpy", copy_here, to, from, NULL);
	struct owner owner = start_owner(from, place);
	if (!measure_copies("process_vm_readv", copy_across, to, from, &owner))
		output_note("process_vm_readv", "refused: %s", strerror(errno));
	else if (place->cpu[INITIATOR] != place->cpu[TARGET] && !measure_split(to, from, &owner))
		output_note("process_vm_writev", "refused to the process whose memory is read");
	end_owner(&owner);
	munmap(memory, 2 * LARGEST);
}
