/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that go, and what stays of them: whole transports, several in one process, with nothing but their own polling.
 * A DISCONNECT can be lost at node_disconnect(), which is wrapped.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/harness.h"
#include "tests/support/resources.h"
#include "transports/node/node.h"
#include "transports/node/node_meet.h"
#include "transports/node/node_peers.h"
#include "transports/node/node_queue.h"

#define LOOPBACK 0x7f000001u
#define SERVER   1u
#define PATIENCE (60000000000u * SLOWNESS) /* ns until something that must happen is missed */

#define ROW(test)                                                                                                      \
	{                                                                                                              \
		.name = #test, .run = test, .processes = 1                                                             \
	}

/* ---- One side of the engine ---- */

static unsigned arrivals, gone;
static transport_address last_from, last_gone;
static char last_byte;
static transport_address forget_at_gone = TRANSPORT_ADDRESS_UNKNOWN;

static void arrived(void *owner, transport_address from, const void *bytes, size_t length, const void *body,
		    size_t body_length)
{
	(void)owner, (void)body, (void)body_length;
	CHECK_EQUAL(length, 1);
	arrivals++;
	last_from = from;
	last_byte = *(const char *)bytes;
}

static void rdma_done(void *owner, void *context, int status)
{
	(void)owner, (void)context, (void)status;
}

static void peer_gone(void *owner, transport_address peer)
{
	struct transport **transport = owner;

	gone++;
	last_gone = peer;
	if (peer == forget_at_gone)
		(*transport)->ops->forget(*transport, peer);
}

static bool host_waits(void *owner)
{
	(void)owner;
	return false;
}

static const struct transport_sink sink = {
	.arrived = arrived, .rdma_done = rdma_done, .peer_gone = peer_gone, .host_waits = host_waits};

static bool disconnects_are_lost;

void __real_node_disconnect(struct node *);
void __wrap_node_disconnect(struct node *);

void __wrap_node_disconnect(struct node *node)
{
	if (!disconnects_are_lost)
		__real_node_disconnect(node);
}

/* Pids that no other test of this machine uses at this time: the lower bits are the process's, and no process has such a Unix pid. */
static struct transport *start(uint32_t tag, struct transport **owner)
{
	static const struct settings settings = {.short_max = SETTING_AUTO, .tuning_file = "", .tuning_save = ""};
	struct transport_config config = {.settings = &settings,
					  .nid = LOOPBACK,
					  .pid = 1u << 30 | tag << 10 | (uint32_t)getpid() % 1000,
					  .sink = &sink,
					  .owner = owner};

	CHECK_EQUAL(transport_node.claim(&config, owner), 0);
	return *owner;
}

static uint32_t pid_of_transport(struct transport *transport)
{
	return node_of(transport)->pid;
}

/* Until it has left; both read their control messages. */
static void say(struct transport *from, transport_address to, char what, struct transport *listener)
{
	uint64_t deadline = now_ns() + PATIENCE;
	int rc;

	while ((rc = transport_node.send(from, to, &what, 1, NULL, 0)) != 0) {
		CHECK(rc == -EAGAIN || rc == -ENOENT);
		node_read_control(node_of(listener));
		node_read_control(node_of(from));
		CHECK(now_ns() < deadline);
	}
}

static transport_address address_of(struct transport *in, struct transport *of)
{
	transport_address address;

	CHECK_EQUAL(transport_node.resolve(in, LOOPBACK, pid_of_transport(of), 0, &address), 0);
	return address;
}

/* Polls, with a look at the control messages. */
static void look(struct transport *transport)
{
	node_of(transport)->control_due = true;
	transport_node.poll(transport, 16);
}

static void meet_and_leave(struct transport *server, uint32_t tag)
{
	struct transport *client;
	unsigned before = arrivals;

	start(tag, &client);
	say(client, address_of(client, server), 'c', server);
	while (arrivals == before)
		look(server);
	transport_node.close(client);
	look(server);
	look(server);
}

/* ---- What stays ---- */

struct holdings {
	size_t heap;
	int descriptors, segments;
	uint32_t entries;
};

static struct holdings holdings_of(struct transport *server)
{
	return (struct holdings){.heap = mallinfo2().uordblks,
				 .descriptors = open_descriptors(),
				 .segments = mappings_of("memfd:portals3"),
				 .entries = node_of(server)->peer_count};
}

static void check_nothing_stays(unsigned first, unsigned then, bool exactly)
{
	struct transport *server;
	uint32_t tag = SERVER;
	enum { SLACK = 16 };

	start(tag++, &server);
	while (tag < first)
		meet_and_leave(server, tag++);
	struct holdings before = holdings_of(server);

	while (tag < first + then)
		meet_and_leave(server, tag++);
	struct holdings after = holdings_of(server);

	CHECK_LESS(after.entries, SLACK);
	CHECK_LESS(node_of(server)->sender_count, 1024 + SLACK);
	CHECK_LESS(after.descriptors, before.descriptors + (exactly ? 1 : SLACK));
	CHECK_LESS(after.segments, before.segments + (exactly ? 1 : SLACK));
	if (!UNDER_SANITIZER) /* whose allocator tells nothing */
		CHECK_LESS(after.heap, before.heap + 4096);
	transport_node.close(server);
}

static void nothing_stays_of_peers_that_went(void)
{
	check_nothing_stays(FEWER(1500), FEWER(3000), true);
}

static void nothing_stays_of_peers_whose_disconnect_was_lost(void)
{
	disconnects_are_lost = true;
	check_nothing_stays(FEWER(1500), FEWER(1500), false);
}

static void be_killed_in_mid_meeting(struct transport *server, uint32_t tag)
{
	struct transport *client;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	server->ops->forked(server);
	start(tag, &client);
	transport_address address;
	char byte = 0;

	CHECK_EQUAL(transport_node.resolve(client, LOOPBACK, node_of(server)->pid, 0, &address), 0);
	transport_node.send(client, address, &byte, 1, NULL, 0);
	raise(SIGKILL);
}

static void nothing_stays_of_processes_that_were_killed_in_mid_meeting(void)
{
	enum { PROCESSES = FEWER(200) };
	struct transport *server;

	start(SERVER, &server);
	int descriptors = open_descriptors();

	for (uint32_t i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0)
			be_killed_in_mid_meeting(server, SERVER + 1 + i);
		look(server);
		CHECK_EQUAL(waitpid(child, NULL, 0), child);
		look(server);
		look(server);
	}
	CHECK_EQUAL(open_descriptors(), descriptors);
	CHECK_LESS(node_of(server)->peer_count, 16);
	transport_node.close(server);
}

/* ---- Addresses ---- */

static void an_address_is_the_same_as_long_as_it_is_in_use(void)
{
	struct transport *server;
	transport_address first, again, other;

	start(SERVER, &server);
	CHECK_EQUAL(transport_node.resolve(server, LOOPBACK, 5000001, 0, &first), 0);
	CHECK_EQUAL(transport_node.resolve(server, LOOPBACK, 5000001, 0, &again), 0);
	CHECK_EQUAL(first, again);
	transport_node.forget(server, first);
	for (uint32_t pid = 6000000; pid < 6100000; pid++) {
		CHECK_EQUAL(transport_node.resolve(server, LOOPBACK, pid, 0, &other), 0);
		CHECK(other != first);
		transport_node.forget(server, other);
	}
	CHECK_LESS(node_of(server)->peer_count, 16);
	transport_node.forget(server, first);
	transport_node.close(server);
}

static void an_address_can_be_given_back_by_whoever_is_told_that_its_peer_has_gone(void)
{
	struct transport *server, *client;

	start(SERVER, &server);
	for (uint32_t tag = SERVER + 1; tag < SERVER + 200; tag++) {
		unsigned before = gone;

		start(tag, &client);
		forget_at_gone = address_of(server, client);
		say(client, address_of(client, server), 'x', server);
		look(server);
		CHECK_EQUAL(last_from, forget_at_gone);
		transport_node.close(client);
		while (gone == before)
			look(server);
		CHECK_EQUAL(last_gone, forget_at_gone);
	}
	CHECK_LESS(node_of(server)->peer_count, 16);
	transport_node.close(server);
}

/* ---- Sending ---- */

static void a_full_queue_is_told_from_a_peer_that_is_not_met(void)
{
	struct transport *server, *client;
	unsigned sent = 1;
	int rc;

	start(SERVER, &server);
	start(2, &client);
	transport_address there = address_of(client, server);

	CHECK_EQUAL(transport_node.send(client, there, "", 1, NULL, 0), -EAGAIN);
	say(client, there, 'a', server);
	while ((rc = transport_node.send(client, there, "", 1, NULL, 0)) == 0)
		sent++;
	CHECK_EQUAL(rc, -ENOBUFS);
	while (arrivals < sent)
		look(server);
	CHECK_EQUAL(transport_node.send(client, there, "", 1, NULL, 0), 0);
	transport_node.close(server);
	transport_node.close(client);
}

/* ---- Successors ---- */

/* The server has lost one that lives and does not know it yet: what that appends is no peer's. */
static void a_late_record_is_not_taken_for_the_successors(void)
{
	enum { OTHERS = 1500 };
	struct transport *server, *client, *other;

	start(SERVER, &server);
	start(2, &client);
	transport_address there = address_of(client, server), here = address_of(server, client);

	say(client, there, 'a', server);
	look(server);
	CHECK_EQUAL(last_byte, 'a');
	struct node_peer *lost = node_of(server)->peers[here];
	uint16_t number = lost->number;

	node_peer_lost(node_of(server), lost, true);
	unsigned before = arrivals;

	for (uint32_t tag = 3; tag < 3 + OTHERS; tag++) {
		meet_and_leave(server, tag);
		CHECK(node_of(server)->senders[number] == NULL);
	}
	CHECK_EQUAL(arrivals, before + OTHERS);
	start(3 + OTHERS, &other);
	say(other, address_of(other, server), 'b', server);
	look(server);
	CHECK_EQUAL(transport_node.send(client, there, "late", 1, NULL, 0), 0);
	before = arrivals;
	look(server);
	CHECK_EQUAL(arrivals, before);
	CHECK_EQUAL(node_of(server)->counters.malformed, 1);
	/* They meet again, and then the number is no peer's. */
	say(server, here, 'c', client);
	say(client, there, 'd', server);
	look(client);
	look(server);
	CHECK_EQUAL(last_byte, 'd');
	CHECK(lost->number != number && lost->former == NODE_NO_SENDER);
	transport_node.close(other);
	transport_node.close(client);
	transport_node.close(server);
}

/* Its process lives on; what its segment says is all that the server learns. */
static void leave_unheard(struct transport *client, struct transport *server, struct node_peer *entry)
{
	node_attend(node_of(client), NODE_CLOSED);
	entry->failed = node_of(server)->any_failed = true;
	transport_node.poll(server, 16);
	CHECK(!entry->segment && entry->former != NODE_NO_SENDER);
	transport_node.close(client);
}

static void meet_half(struct transport *server, transport_address there, struct transport *client)
{
	const struct node_peer *entry = node_of(server)->peers[there];

	while (entry->meeting != NODE_MET) {
		transport_node.send(server, there, "", 1, NULL, 0);
		node_read_control(node_of(client));
		node_read_control(node_of(server));
	}
}

/* A number that was given, and that its peer has not shown to know, is its holder's when that is met again. */
static void who_is_lost_again_in_mid_meeting_is_heard_afterwards(void)
{
	struct transport *server, *client;

	disconnects_are_lost = true;
	start(SERVER, &server);
	start(2, &client);
	transport_address here = address_of(server, client);
	struct node_peer *entry = node_of(server)->peers[here];

	say(client, address_of(client, server), 'a', server);
	look(server);
	leave_unheard(client, server, entry);
	start(2, &client);
	meet_half(server, here, client); /* it answers once */
	leave_unheard(client, server, entry);
	start(2, &client);
	unsigned before = arrivals;

	say(client, address_of(client, server), 'b', server);
	look(server);
	CHECK_EQUAL(node_of(server)->counters.malformed, 0);
	CHECK_EQUAL(arrivals, before + 1);
	transport_node.close(client);
	transport_node.close(server);
}

/* Each can send to the other.  Returns where the client is. */
static transport_address meet(struct transport *server, struct transport *client, transport_address there)
{
	transport_address here = address_of(server, client);

	say(client, there, 'a', server);
	say(server, here, 'b', client);
	return here;
}

/*
 * It has mapped the server's segment under a second number since, and its control message that says so is not read in
 * time.
 */
static void who_lives_and_is_lost_again_in_mid_meeting_is_met_again(void)
{
	struct transport *server, *client;

	start(SERVER, &server);
	start(2, &client);
	transport_address there = address_of(client, server), here = meet(server, client, there);
	struct node_peer *entry = node_of(server)->peers[here];

	node_peer_lost(node_of(server), entry, true);
	meet_half(server, here, client);
	node_read_control(node_of(client));
	CHECK_EQUAL(node_of(client)->peers[there]->meeting, NODE_OPEN);
	node_peer_lost(node_of(server), entry, true);
	CHECK(entry->former != NODE_NO_SENDER && entry->number != NODE_NO_SENDER);
	say(server, here, 'c', client);
	say(client, there, 'd', server);
	look(client);
	look(server);
	CHECK_EQUAL(last_byte, 'd');
	CHECK_EQUAL(entry->former, NODE_NO_SENDER);
	transport_node.close(client);
	transport_node.close(server);
}

/* It repeats that number in a control message that is read later. */
static void who_lives_and_is_lost_again_before_it_is_mapped_is_heard_afterwards(void)
{
	struct transport *server, *client;
	char byte;

	start(SERVER, &server);
	start(2, &client);
	transport_address there = address_of(client, server), here = meet(server, client, there);
	struct node_peer *entry = node_of(server)->peers[here];

	look(server);
	node_peer_lost(node_of(server), entry, true);
	transport_node.send(server, here, "", 1, NULL, 0);
	while (node_of(client)->peers[there]->meeting == NODE_OPEN)
		look(client);
	while (recv(node_of(server)->socket, &byte, 1, MSG_DONTWAIT) >= 0)
		;
	while (node_of(client)->peers[there]->meeting != NODE_MET) {
		transport_node.send(client, there, "", 1, NULL, 0);
		node_read_control(node_of(server));
		node_read_control(node_of(client));
	}
	node_peer_lost(node_of(server), entry, true);
	CHECK(entry->former != NODE_NO_SENDER && entry->number != NODE_NO_SENDER);
	unsigned before = arrivals;

	say(client, there, 'c', server);
	look(server);
	CHECK_EQUAL(arrivals, before + 1);
	CHECK_EQUAL(node_of(server)->counters.malformed, 0);
	transport_node.close(client);
	transport_node.close(server);
}

static void the_intent_of_a_former_sender_covers_nobodys_lines(void)
{
	struct transport *server, *client;

	start(SERVER, &server);
	start(2, &client);
	say(server, address_of(server, client), 'a', client);
	CHECK(atomic_load(&node_of(server)->segment->intent) != 0);
	transport_node.close(client);
	while (gone == 0)
		look(server);
	CHECK_EQUAL(atomic_load(&node_of(server)->segment->intent), 0);
	transport_node.close(server);
}

static const struct test tests[] = {
	ROW(nothing_stays_of_peers_that_went),
	ROW(nothing_stays_of_peers_whose_disconnect_was_lost),
	ROW(nothing_stays_of_processes_that_were_killed_in_mid_meeting),
	ROW(an_address_is_the_same_as_long_as_it_is_in_use),
	ROW(an_address_can_be_given_back_by_whoever_is_told_that_its_peer_has_gone),
	ROW(a_full_queue_is_told_from_a_peer_that_is_not_met),
	ROW(a_late_record_is_not_taken_for_the_successors),
	ROW(who_is_lost_again_in_mid_meeting_is_heard_afterwards),
	ROW(who_lives_and_is_lost_again_in_mid_meeting_is_met_again),
	ROW(who_lives_and_is_lost_again_before_it_is_mapped_is_heard_afterwards),
	ROW(the_intent_of_a_former_sender_covers_nobodys_lines),
	{0},
};

int main(int argc, char **argv)
{
	static const struct test *const tables[] = {tests, NULL};
	const struct harness harness = {.tables = tables, .only = argc > 1 ? argv[1] : NULL};

	return harness_run(&harness);
}
