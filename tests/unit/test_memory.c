/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of memory before it is copied from or to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transports/mapping.h"
#include "transports/memory.h"

static size_t page;

/* An older kernel does not know the question. */
static bool questions_unknown;
static unsigned questions;

int __wrap_ioctl(int fd, unsigned long request, ...);
int __real_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;

	va_start(arguments, request);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	questions++;
	if (!questions_unknown)
		return __real_ioctl(fd, request, argument);
	errno = ENOTTY;
	return -1;
}

static char *map(int protection, int flags, int fd, size_t length)
{
	char *bytes = mmap(NULL, length, protection, flags, fd, 0);

	assert_ptr_not_equal(bytes, MAP_FAILED);
	return bytes;
}

static void what_may_be_written_to_is_told_from_what_may_be_read(void **state)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *bytes = map(PROT_READ | PROT_WRITE, flags, -1, 3 * page);

	(void)state;
	mprotect(bytes + page, page, PROT_READ);
	mprotect(bytes + 2 * page, page, PROT_NONE);
	assert_true(memory_readable(bytes, 2 * page));
	assert_false(memory_readable(bytes + 2 * page - 1, 2));
	assert_true(memory_writable(bytes, page));
	assert_false(memory_writable(bytes + page - 1, 2));
	assert_false(memory_writable(bytes + page, page));
	assert_false(memory_writable(bytes + 2 * page, page));
	munmap(bytes + page, 2 * page);
	assert_false(memory_readable(bytes, page + 1));
	assert_false(memory_writable(bytes, page + 1));
	munmap(bytes, page);
}

static void pieces_are_as_good_as_their_pages(void **state)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *bytes = map(PROT_READ | PROT_WRITE, flags, -1, 5 * page);

	(void)state;
	mprotect(bytes + page, page, PROT_READ);
	munmap(bytes + 3 * page, page);
	const struct iovec pieces[] = {{bytes + 10, 20},         {bytes + 100, 0}, /* nothing, and so are its pages */
				       {bytes + 3 * page, 0},    {bytes + 20, page - 20}, {bytes + 2 * page + 7, 1},
				       {bytes + 4 * page, page}, {bytes + 5, 1},          {bytes + page, 1},
				       {bytes + 3 * page - 1, 2}};
	const struct iovec nowhere[] = {{bytes, 1}, {(void *)-22, 10}, {(void *)(0 - 16 * page), 15 * page}};
	assert_true(memory_pieces_writable(NULL, 0));
	for (unsigned first = 0; first < 3; first++) {
		assert_false(memory_pieces_readable(nowhere + first, first == 2 ? 1 : 2));
		assert_false(memory_pieces_writable(nowhere + first, first == 2 ? 1 : 2));
	}
	assert_true(memory_pieces_writable(pieces, 7));
	assert_true(memory_pieces_readable(pieces, 8));
	assert_false(memory_pieces_writable(pieces, 8));
	assert_false(memory_pieces_readable(pieces, 9));
	assert_true(memory_pieces_readable(&pieces[7], 1));
	assert_false(memory_pieces_readable(&pieces[8], 1));
	munmap(bytes, 3 * page);
	munmap(bytes + 4 * page, page);
}

static bool is_resident(void *bytes)
{
	unsigned char resident = 1;

	assert_int_equal(mincore(bytes, page, &resident), 0);
	return resident & 1;
}

static void check_what_mappings_tell(int mappings, char *bytes)
{
	assert_false(is_resident(bytes));
	assert_true(mapping_readable(mappings, bytes + 1, 4 * page - 1));
	assert_false(mapping_readable(mappings, bytes + 1, SIZE_MAX));
	mprotect(bytes + 2 * page, page, PROT_NONE);
	assert_true(mapping_readable(mappings, bytes, 2 * page));
	assert_false(mapping_readable(mappings, bytes, 2 * page + 1));
	assert_false(mapping_readable(mappings, bytes + 2 * page, 1));
}

/* Of what it says nothing, the pages tell. */
static void a_mapping_is_told_without_its_pages(void **state)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS, mappings = mapping_open();
	char *bytes = map(PROT_READ, flags, -1, 4 * page);
	const bool told = mapping_readable(mappings, bytes, 4 * page);

	(void)state;
	assert_false(mapping_readable(-1, bytes, page));
	if (told)
		check_what_mappings_tell(mappings, bytes);
	assert_int_equal(told, mappings >= 0);
	munmap(bytes, 4 * page);
	assert_false(mapping_readable(mappings, bytes, page));
	close(mappings);
	if (!told)
		skip(); /* the kernel cannot be asked */
}

static void a_kernel_that_cannot_be_asked_is_asked_once(void **state)
{
	(void)state;
	questions_unknown = true;
	questions = 0;
	int mappings = mapping_open();

	assert_int_equal(mappings, -1);
	assert_int_equal(questions, 1);
	assert_false(mapping_readable(mappings, &page, sizeof(page)));
	assert_int_equal(questions, 1);
	questions_unknown = false;
}

/* Behind the end of its file nothing can be read, though the mapping goes on. */
static void a_file_is_not_told_by_its_mapping(void **state)
{
	int fd = memfd_create("short", MFD_CLOEXEC), mappings = mapping_open();

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)page), 0);
	for (int shared = 0; shared < 2; shared++) {
		char *bytes = map(PROT_READ, shared ? MAP_SHARED : MAP_PRIVATE, fd, 2 * page);

		assert_false(mapping_readable(mappings, bytes, 2 * page));
		assert_true(memory_readable(bytes, page));
		assert_false(memory_readable(bytes, 2 * page));
		munmap(bytes, 2 * page);
	}
	close(mappings);
	close(fd);
}

/* Nothing of a device's is populated, because nothing is missing. */
static void memory_of_devices_is_as_good_as_any(void **state)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
					     .size = sizeof(attributes),
					     .config = PERF_COUNT_SW_DUMMY,
					     .exclude_kernel = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);

	(void)state;
	if (fd < 0)
		skip(); /* no memory of that kind is here to lend */
	char *bytes = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd, 2 * page);

	assert_true(memory_readable(bytes, page));
	assert_true(memory_writable(bytes, page));
	munmap(bytes, 2 * page);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_written_to_is_told_from_what_may_be_read),
		cmocka_unit_test(pieces_are_as_good_as_their_pages),
		cmocka_unit_test(a_mapping_is_told_without_its_pages),
		cmocka_unit_test(a_kernel_that_cannot_be_asked_is_asked_once),
		cmocka_unit_test(a_file_is_not_told_by_its_mapping),
		cmocka_unit_test(memory_of_devices_is_as_good_as_any),
	};

	page = (size_t)sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
