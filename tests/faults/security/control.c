/* SPDX-License-Identifier: BSD-3-Clause */
/* Outsiders at the socket by which processes of a node meet; as another user, if this one can become that. */
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/faults/security/outsider.h"
#include "tests/faults/security/security.h"
#include "transports/node/node.h"
#include "transports/node/node_name.h"

#define NOBODY  65534
#define LONGEST 300

static bool post(const struct victims *victims, unsigned again)
{
	static int fd = -1;
	enum part victim = again % 2 ? TARGET : TALKER;
	uint8_t bytes[LONGEST];
	struct control_name name = node_name(victims->id[victim].nid, victims->id[victim].pid);

	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK(fd >= 0);
	noise_fill(bytes, sizeof(bytes));
	/* Wake-ups, noise, and what begins like a control message of the other one's. */
	if (again % 5 == 0)
		memcpy(bytes, &(uint32_t){0x506f3374u}, 4);
	if (again % 10 == 0)
		memcpy(bytes + 4, &(uint16_t){1}, 2);
	return sendto(fd, bytes, again % 3 ? noise() % sizeof(bytes) : 1, MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&name.address, name.length) >= 0;
}

static void a_flood_of_control_messages_from_a_socket_without_a_name(void)
{
	run_attack(post, NO_TRACE);
}

static void a_flood_of_control_messages_from_another_user(void)
{
	if (my_rank == OUTSIDER)
		CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	run_attack(post, NO_TRACE);
}

const struct test control_tests[] = {
	{.name = "a_flood_of_control_messages_from_a_socket_without_a_name",
	 .run = a_flood_of_control_messages_from_a_socket_without_a_name,
	 .processes = PARTS,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_NODE,
	 .environment = "PTL_CONNECT_TIMEOUT=90s"},
	{.name = "a_flood_of_control_messages_from_another_user",
	 .run = a_flood_of_control_messages_from_another_user,
	 .processes = PARTS,
	 .traits = TRAIT_SEVERAL | TRAIT_BARE | TRAIT_NODE | TRAIT_ROOT,
	 .environment = "PTL_CONNECT_TIMEOUT=90s"},
	{0},
};
