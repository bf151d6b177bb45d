/* SPDX-License-Identifier: BSD-3-Clause */
/* Control messages alone: what arrives, from which process, with which descriptors, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transports/control.h"

#define OTHER_USER 65534
#define SAME_USER  2      /* exit status: the user namespace has no other */
#define FULL       100000 /* datagrams; no queue and no send buffer is that large */

struct message {
	struct control_header header;
	uint32_t number;
	uint32_t later; /* another version may have something else there */
};

static const struct control_protocol protocol = {
	.magic = 0x74736574u, .version = 3, .kinds = 2, .prefix = 12, .length = sizeof(struct message)};
static const struct message greeting = {
	.header = {.magic = 0x74736574u, .version = 3, .kind = 1}, .number = 7, .later = 9};

static int refusal; /* of the system to send, while it is not 0 */
static struct control_name names[2];
static int ours, theirs; /* sockets of these names */

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

ssize_t __real_sendmsg(int, const struct msghdr *, int);
ssize_t __wrap_sendmsg(int, const struct msghdr *, int);

ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags)
{
	if (!refusal)
		return __real_sendmsg(socket, message, flags);
	errno = refusal;
	return -1;
}

static int open_both(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		names[i] = control_name("portals3/test/%d/%d", getpid(), i);
	ours = control_open(&names[0]);
	theirs = control_open(&names[1]);
	return ours < 0 || theirs < 0;
}

static int close_both(void **state)
{
	(void)state;
	close(ours);
	close(theirs);
	return 0;
}

static void post(const void *bytes, size_t length)
{
	assert_int_equal(control_send(theirs, &names[0], bytes, length, NULL, 0), 0);
}

static void post_with(const int *fds, unsigned count)
{
	assert_int_equal(control_send(theirs, &names[0], &greeting, sizeof(greeting), fds, count), 0);
}

static enum control_found receive(struct message *message)
{
	struct control_sender sender;

	return control_receive(ours, &protocol, message, &sender);
}

static void a_message_arrives_with_its_sender(void **state)
{
	struct message message;
	struct control_sender sender;

	(void)state;
	post(&greeting, sizeof(greeting));
	assert_int_equal(control_receive(ours, &protocol, &message, &sender), CONTROL_MESSAGE);
	assert_memory_equal(&message, &greeting, sizeof(message));
	assert_int_equal(sender.pid, getpid());
	assert_int_equal(sender.uid, getuid());
	assert_true(control_same_name(&sender.name, &names[1]));
	assert_false(control_same_name(&sender.name, &names[0]));
	assert_int_equal(control_receive(ours, &protocol, &message, &sender), CONTROL_NOTHING);
}

static void a_message_that_is_peeked_at_stays(void **state)
{
	struct message message;
	struct control_sender sender;

	(void)state;
	post(&greeting, sizeof(greeting));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(control_peek(ours, &protocol, &message, &sender), CONTROL_MESSAGE);
		assert_int_equal(message.number, greeting.number);
		assert_int_equal(sender.pid, getpid());
	}
	assert_int_equal(control_take(ours, NULL, 0), 0);
	assert_int_equal(control_peek(ours, &protocol, &message, &sender), CONTROL_NOTHING);
	assert_int_equal(control_take(ours, NULL, 0), -EAGAIN);
}

static void a_child_is_named_by_the_kernel(void **state)
{
	struct message message;
	struct control_sender sender;
	uid_t user = geteuid() == 0 ? OTHER_USER : geteuid();
	int status;

	(void)state;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int nameless = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		bool changed = setresuid(user, user, user) == 0;

		if (control_send(nameless, &names[0], &greeting, sizeof(greeting), NULL, 0))
			_exit(1);
		_exit(changed ? 0 : SAME_USER);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
	if (WEXITSTATUS(status) == SAME_USER)
		user = geteuid();
	assert_int_equal(control_receive(ours, &protocol, &message, &sender), CONTROL_MESSAGE);
	assert_int_equal(sender.pid, child);
	assert_int_equal(sender.uid, user);
	assert_int_equal(sender.name.length, 0);
	assert_int_equal(control_is_own_user(&sender), user == geteuid());
}

static void malformed_messages_are_told_from_others(void **state)
{
	static const struct {
		size_t length; /* of what is sent */
		enum control_found found;
		struct message message;
	} cases[] = {
		{0, CONTROL_MALFORMED, {{0}, 0, 0}},
		{1, CONTROL_WAKE, {{0}, 0, 0}},
		{16, CONTROL_MESSAGE, {{0x74736574u, 3, 2, 255}, 0, 0}},
		{15, CONTROL_MALFORMED, {{0x74736574u, 3, 1, 0}, 0, 0}},
		{17, CONTROL_MALFORMED, {{0x74736574u, 3, 1, 0}, 0, 0}},
		{16, CONTROL_MALFORMED, {{0x74736575u, 3, 1, 0}, 0, 0}},
		{16, CONTROL_MALFORMED, {{0x74736574u, 3, 0, 0}, 0, 0}},
		{16, CONTROL_MALFORMED, {{0x74736574u, 3, 3, 0}, 0, 0}},
		{16, CONTROL_OTHER_VERSION, {{0x74736574u, 4, 1, 0}, 0, 0}},
		{12, CONTROL_OTHER_VERSION, {{0x74736574u, 2, 1, 0}, 0, 0}},
		{40, CONTROL_OTHER_VERSION, {{0x74736574u, 4, 1, 0}, 0, 0}},
		{11, CONTROL_MALFORMED, {{0x74736574u, 4, 1, 0}, 0, 0}},
	};

	(void)state;
	_Static_assert(sizeof(struct message) == 16, "the lengths above");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char bytes[40] = {0};
		struct message message;

		memcpy(bytes, &cases[i].message, sizeof(cases[i].message));
		post(bytes, cases[i].length);
		assert_int_equal(receive(&message), cases[i].found);
		assert_int_equal(receive(&message), CONTROL_NOTHING);
	}
}

static void behind_a_short_message_all_is_zero(void **state)
{
	struct message message = greeting, shorter = greeting;

	(void)state;
	shorter.header.version++;
	post(&shorter, protocol.prefix);
	assert_int_equal(receive(&message), CONTROL_OTHER_VERSION);
	assert_int_equal(message.number, greeting.number);
	assert_int_equal(message.later, 0);
}

static bool closed_on_exec(int fd)
{
	return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

static void expected_descriptors_are_installed(void **state)
{
	int ends[2], fds[3], before = open_descriptors();
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	post_with(ends, 2);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(control_take(ours, fds, 3), 0);
	assert_int_equal(open_descriptors(), before + 2);
	assert_true(closed_on_exec(fds[0]) && closed_on_exec(fds[1]));
	assert_int_equal(fds[2], -1);
	assert_int_equal(write(fds[1], "", 1), 1);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
}

static void unexpected_descriptors_are_closed(void **state)
{
	const int sent[CONTROL_MAX_DESCRIPTORS] = {STDOUT_FILENO, STDOUT_FILENO, STDOUT_FILENO, STDOUT_FILENO};
	int before = open_descriptors(), fds[CONTROL_MAX_DESCRIPTORS];
	struct control_sender sender;
	struct message message;

	(void)state;
	for (unsigned count = 1; count <= CONTROL_MAX_DESCRIPTORS; count++)
		for (unsigned expected = 0; expected < count; expected++) {
			post_with(sent, count);
			assert_int_equal(control_peek(ours, &protocol, &message, &sender), CONTROL_MESSAGE);
			assert_int_equal(open_descriptors(), before);
			assert_int_equal(control_take(ours, fds, expected), expected ? -EPROTO : 0);
			for (unsigned i = 0; i < expected; i++)
				assert_int_equal(fds[i], -1);
			assert_int_equal(open_descriptors(), before);
		}
	post_with(sent, 1);
	assert_int_equal(receive(&message), CONTROL_MALFORMED);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(
		control_send(theirs, &names[0], &greeting, sizeof(greeting), sent, CONTROL_MAX_DESCRIPTORS + 1),
		-EINVAL);
	assert_int_equal(control_take(ours, fds, CONTROL_MAX_DESCRIPTORS + 1), -EINVAL);
}

/* Room is left for `spare` more. */
static void limit_descriptors(struct rlimit *before, rlim_t spare)
{
	int lowest = dup(ours); /* which is the next */

	assert_true(lowest >= 0);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
	const struct rlimit few = {.rlim_cur = (rlim_t)lowest + spare, .rlim_max = before->rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void a_shortage_of_descriptors_is_told(void **state)
{
	const int sent[2] = {STDOUT_FILENO, STDOUT_FILENO};
	int fds[2];
	struct rlimit before;

	(void)state;
	for (rlim_t spare = 0; spare < 3; spare++) {
		post_with(sent, 2);
		limit_descriptors(&before, spare);
		int rc = control_take(ours, fds, 2);

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(rc, spare < 2 ? -EMFILE : 0);
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(fds[i] >= 0, i < spare);
			if (fds[i] >= 0)
				close(fds[i]);
		}
	}
	limit_descriptors(&before, 0);
	int rc = control_open(&names[0]);
	bool held = control_name_is_held(&names[0]);

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(rc, -EMFILE);
	assert_true(held);
}

static void a_name_has_one_holder(void **state)
{
	(void)state;
	int before = open_descriptors();

	assert_int_equal(control_open(&names[0]), -EADDRINUSE);
	assert_true(control_name_is_held(&names[0]));
	assert_int_equal(open_descriptors(), before);
	close(ours);
	assert_false(control_name_is_held(&names[0]));
	ours = control_open(&names[0]);
	assert_true(ours >= 0 && closed_on_exec(ours));
	assert_true(control_name_is_held(&names[0]));
}

static void a_long_name_is_cut(void **state)
{
	char text[200];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	struct control_name name = control_name("%s", text);
	assert_true(name.length <= sizeof(name.address));
	int fd = control_open(&name);
	assert_true(fd >= 0);
	close(fd);
}

static void a_dead_receiver_is_told(void **state)
{
	const struct control_name none = control_name("portals3/test/%d/none", getpid());

	(void)state;
	assert_int_equal(control_send(theirs, &none, &greeting, sizeof(greeting), NULL, 0), -ECONNREFUSED);
	assert_int_equal(control_wake(theirs, &none), -ECONNREFUSED);
}

static int fill(const struct control_name *name, const void *bytes, size_t length)
{
	int rc = 0;

	for (int i = 0; i < FULL && !rc; i++)
		rc = control_send(theirs, name, bytes, length, NULL, 0);
	return rc;
}

static void a_full_queue_refuses_and_is_as_good_as_woken(void **state)
{
	struct message message;

	(void)state;
	assert_int_equal(fill(&names[0], &greeting, sizeof(greeting)), -EAGAIN);
	assert_int_equal(control_wake(theirs, &names[0]), 0);
	while (receive(&message) == CONTROL_MESSAGE)
		;
	post(&greeting, sizeof(greeting));
	assert_int_equal(receive(&message), CONTROL_MESSAGE);
	assert_int_equal(receive(&message), CONTROL_NOTHING);
}

/* What others have not read fills the buffer of the sender. */
static void a_wake_up_passes_when_others_read_nothing(void **state)
{
	enum { DEAF = 4, SMALL = 1 };
	struct control_name name[DEAF];
	int deaf[DEAF], small = SMALL;
	char bytes[1024] = {0};
	struct message message;

	(void)state;
	assert_int_equal(setsockopt(theirs, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	for (int i = 0; i < DEAF; i++) {
		name[i] = control_name("portals3/test/%d/deaf/%d", getpid(), i);
		deaf[i] = control_open(&name[i]);
		assert_true(deaf[i] >= 0);
		fill(&name[i], bytes, sizeof(bytes));
	}
	assert_int_equal(control_send(theirs, &names[0], &greeting, sizeof(greeting), NULL, 0), -EAGAIN);
	assert_int_equal(receive(&message), CONTROL_NOTHING);
	assert_int_equal(control_wake(theirs, &names[0]), 0);
	struct pollfd wait = {.fd = ours, .events = POLLIN};
	assert_int_equal(poll(&wait, 1, 0), 1);
	assert_int_equal(receive(&message), CONTROL_WAKE);
	for (int i = 0; i < DEAF; i++)
		close(deaf[i]);
}

static void a_receiver_that_cannot_be_woken_is_told_from_a_full_one(void **state)
{
	const int shortages[] = {ENOMEM, ENOBUFS};
	struct message message;
	struct rlimit before;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		refusal = shortages[i];
		int woken = control_wake(theirs, &names[0]);
		int sent = control_send(theirs, &names[0], &greeting, sizeof(greeting), NULL, 0);

		refusal = 0;
		assert_int_equal(woken, -shortages[i]);
		assert_int_equal(sent, -EAGAIN);
	}
	limit_descriptors(&before, 0);
	refusal = EAGAIN;
	int rc = control_wake(theirs, &names[0]);

	refusal = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(rc, -EMFILE);
	assert_int_equal(receive(&message), CONTROL_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROW(test) cmocka_unit_test_setup_teardown(test, open_both, close_both)
		ROW(a_message_arrives_with_its_sender),
		ROW(a_message_that_is_peeked_at_stays),
		ROW(a_child_is_named_by_the_kernel),
		ROW(malformed_messages_are_told_from_others),
		ROW(behind_a_short_message_all_is_zero),
		ROW(expected_descriptors_are_installed),
		ROW(unexpected_descriptors_are_closed),
		ROW(a_shortage_of_descriptors_is_told),
		ROW(a_name_has_one_holder),
		ROW(a_long_name_is_cut),
		ROW(a_dead_receiver_is_told),
		ROW(a_full_queue_refuses_and_is_as_good_as_woken),
		ROW(a_wake_up_passes_when_others_read_nothing),
		ROW(a_receiver_that_cannot_be_woken_is_told_from_a_full_one),
	};

	/* What was inherited, so that the numbers of descriptors have no gaps. */
	for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
		close(fd);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
