/* SPDX-License-Identifier: BSD-3-Clause */
/* Strangers that know nothing of the protocol but the port, or only what they have overheard. */
#include <sys/socket.h>
#include <unistd.h>

#include "tests/security/security.h"
#include "tests/security/stranger.h"

#define SLOW 50

static void say(int fd, const void *bytes, size_t length)
{
	if (fd >= 0)
		send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_noise(const struct victims *victims, unsigned again)
{
	uint8_t bytes[4096];
	int fd = tcp_connect(victims->port[again % 2 ? TARGET : TALKER]);

	noise_fill(bytes, sizeof bytes);
	say(fd, bytes, noise() % sizeof bytes);
	if (fd >= 0)
		close(fd);
}

static void connections_that_send_noise(void)
{
	siege(send_noise);
}

static void connect_and_close(const struct victims *victims, unsigned again)
{
	int fd = tcp_connect(victims->port[again % 2 ? TARGET : TALKER]);

	if (fd >= 0)
		close(fd);
}

static void connections_that_close_at_once(void)
{
	siege(connect_and_close);
}

/* Kept to the end of the process. */
static void open_one_more(const struct victims *victims, unsigned again)
{
	if (again < SIEGE_SILENT)
		tcp_connect(victims->port[TARGET]);
	else
		usleep(1000);
}

static void connections_that_stay_silent(void)
{
	siege(open_one_more);
}

/* The provider's own greeting, from the record, a byte at a time. */
static void drip(const struct victims *victims, unsigned again)
{
	static int fds[SLOW];
	static uint8_t greeting[4096];
	static size_t length;

	if (length == 0)
		length = tcp_record_greeting(greeting, sizeof greeting);
	int *fd = &fds[again % SLOW];
	size_t at = again / SLOW % length;

	if (at == 0) {
		if (*fd > 0)
			close(*fd);
		*fd = tcp_connect(victims->port[TARGET]);
	}
	say(*fd, greeting + at, 1);
	if (again % SLOW == 0)
		usleep(5000);
}

static void connections_that_speak_slowly(void)
{
	siege(drip);
}

/* The true greeting, cut off, or with a byte changed, or complete and then nonsense. */
static void replay(const struct victims *victims, unsigned again)
{
	static uint8_t greeting[4096];
	static size_t length;
	uint8_t bytes[sizeof greeting];

	/* Over net each of these costs the target a descriptor for good: see README. */
	if (over_transport("ofi:net") && again > SIEGE_SILENT) {
		usleep(1000);
		return;
	}
	if (length == 0)
		length = tcp_record_greeting(greeting, sizeof greeting);
	CHECK(length > 0);
	int fd = tcp_connect(victims->port[again % 4 ? TARGET : TALKER]);

	for (size_t i = 0; i < length; i++)
		bytes[i] = greeting[i];
	if (again % 3 == 1)
		bytes[noise() % length] ^= (uint8_t)(1u << noise() % 8);
	say(fd, bytes, again % 3 == 0 ? noise() % length : length);
	if (again % 3 == 2) {
		noise_fill(bytes, 200);
		say(fd, bytes, 200);
	}
	if (fd >= 0)
		close(fd);
}

static void connections_that_begin_well(void)
{
	siege(replay);
}

#define SIEGE(test)                                                                                                    \
	{                                                                                                              \
		.name = #test, .run = test, .processes = PARTS, .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_OFI,      \
		.seconds = 60                                                                                          \
	}

const struct test tcp_tests[] = {
	SIEGE(connections_that_send_noise),  SIEGE(connections_that_close_at_once),
	SIEGE(connections_that_stay_silent), SIEGE(connections_that_speak_slowly),
	SIEGE(connections_that_begin_well),  {0},
};
