/* SPDX-License-Identifier: BSD-3-Clause */
/* Outsiders that know nothing of the protocol but the port, or only what they have overheard. */
#include <sys/socket.h>
#include <unistd.h>

#include "tests/faults/security/outsider.h"
#include "tests/faults/security/security.h"

#define SLOW 50

static bool say(int fd, const void *bytes, size_t length)
{
	return fd >= 0 && send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void hang_up(int fd)
{
	if (fd >= 0)
		close(fd);
}

static bool send_noise(const struct victims *victims, unsigned again)
{
	uint8_t bytes[4096];
	int fd = tcp_connect(victims->port[again % 2 ? TARGET : TALKER]);

	noise_fill(bytes, sizeof(bytes));
	bool said = say(fd, bytes, noise() % sizeof(bytes));

	hang_up(fd);
	return said;
}

static void connections_that_send_noise(void)
{
	run_attack(send_noise, NO_TRACE);
}

static bool connect_and_close(const struct victims *victims, unsigned again)
{
	int fd = tcp_connect(victims->port[again % 2 ? TARGET : TALKER]);

	hang_up(fd);
	return fd >= 0;
}

static void connections_that_close_at_once(void)
{
	run_attack(connect_and_close, NO_TRACE);
}

/* Kept to the end of the process. */
static bool open_one_more(const struct victims *victims, unsigned again)
{
	if (again < ATTACK_SILENT)
		return tcp_connect(victims->port[TARGET]) >= 0;
	usleep(1000);
	return false;
}

static void connections_that_stay_silent(void)
{
	run_attack(open_one_more, NO_TRACE);
}

/* The provider's own greeting, from the record, a byte at a time. */
static bool drip(const struct victims *victims, unsigned again)
{
	static int fds[SLOW];
	static uint8_t greeting[4096];
	static size_t length;

	if (length == 0)
		length = tcp_record_greeting(greeting, sizeof(greeting));
	int *fd = &fds[again % SLOW];
	size_t at = again / SLOW % length;

	if (at == 0) {
		if (*fd > 0)
			close(*fd);
		*fd = tcp_connect(victims->port[TARGET]);
	}
	if (again % SLOW == 0)
		usleep(5000);
	return say(*fd, greeting + at, 1);
}

static void connections_that_speak_slowly(void)
{
	run_attack(drip, NO_TRACE);
}

/* The true greeting, cut off, or with a byte changed, or complete and then nonsense. */
static bool replay(const struct victims *victims, unsigned again)
{
	static uint8_t greeting[4096];
	static size_t length;
	uint8_t bytes[sizeof(greeting)];

	/* Over net each of these costs the target a descriptor for good: see docs/security.md. */
	if (over_transport("ofi:net") && again > ATTACK_SILENT) {
		usleep(1000);
		return false;
	}
	if (length == 0)
		length = tcp_record_greeting(greeting, sizeof(greeting));
	CHECK(length > 0);
	int fd = tcp_connect(victims->port[again % 4 ? TARGET : TALKER]);

	for (size_t i = 0; i < length; i++)
		bytes[i] = greeting[i];
	if (again % 3 == 1)
		bytes[noise() % length] ^= (uint8_t)(1u << noise() % 8);
	bool said = say(fd, bytes, again % 3 == 0 ? noise() % length : length);

	if (again % 3 == 2) {
		noise_fill(bytes, 200);
		say(fd, bytes, 200);
	}
	hang_up(fd);
	return said;
}

static void connections_that_begin_well(void)
{
	run_attack(replay, NO_TRACE);
}

#define ATTACK(test)                                                                                                   \
	{                                                                                                              \
		.name = #test, .run = test, .processes = PARTS, .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_OFI,      \
		.environment = "PTL_CONNECT_TIMEOUT=90s", .seconds = 300                                               \
	}

const struct test tcp_tests[] = {
	ATTACK(connections_that_send_noise),  ATTACK(connections_that_close_at_once),
	ATTACK(connections_that_stay_silent), ATTACK(connections_that_speak_slowly),
	ATTACK(connections_that_begin_well),  {0},
};
