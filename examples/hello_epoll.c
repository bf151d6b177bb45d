/* SPDX-License-Identifier: BSD-3-Clause */
/* A server whose loop sleeps in epoll: on its event queue's descriptor, and on a timer, as on any other file. */
#include "hello.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#define INDEX     4 /* portal table entry and match bits: what both sides agreed on */
#define BITS      0xe9011u
#define GREETINGS 3

static int watch(int epoll, int fd)
{
	struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
	if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted) != 0)
		perror("epoll_ctl"), exit(1);
	return fd;
}

/* All that is there: then the descriptor is unreadable until more comes.  Returns how many greetings. */
static int serve(ptl_handle_eq_t queue, const char *window)
{
	ptl_event_t event;
	int code, count = 0;
	while ((code = PtlEQGet(queue, &event)) == PTL_OK) {
		printf("target:    %s from " PROCESS ": \"%s\"\n", PtlEventKindStr(event.type), PARTS(event.initiator),
		       window + event.offset);
		count++;
	}
	if (code != PTL_EQ_EMPTY)
		CHECK(code);
	return count;
}

static void loop(ptl_handle_eq_t queue, const char *window)
{
	const struct itimerspec second = {{1, 0}, {1, 0}};
	struct epoll_event ready;
	uint64_t ticks;
	int served = 0, fd;
	CHECK(PtlNicEventFd(queue, &fd));
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int timer = watch(epoll, timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	watch(epoll, fd);
	timerfd_settime(timer, 0, &second, NULL);
	for (int idle = 0; served < GREETINGS && idle < 40;) {
		if (epoll_wait(epoll, &ready, 1, -1) != 1)
			continue;
		if (ready.data.fd == timer)
			idle += read(timer, &ticks, sizeof(ticks)) == sizeof(ticks);
		else
			served += serve(queue, window);
	}
	close(epoll); /* before PtlEQFree closes the queue's descriptor */
	close(timer);
	if (served < GREETINGS)
		fprintf(stderr, "only %d of %d greetings came\n", served, GREETINGS), exit(1);
}

static void target(FILE *address)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));

	/* Without PTL_MD_MANAGE_REMOTE each greeting goes behind the one before. */
	static char window[64 * GREETINGS];
	ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY}, self;
	ptl_handle_me_t entry;
	ptl_handle_md_t memory;
	ptl_md_t md = {.start = window, .length = sizeof(window) - 1, .threshold = GREETINGS, .eq_handle = queue};
	md.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMEAttach(ni, INDEX, anyone, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &entry));
	CHECK(PtlMDAttach(entry, md, PTL_RETAIN, &memory));

	CHECK(PtlGetId(ni, &self));
	print_address(address, self);
	loop(queue, window);
	PtlFini();
}

static void initiator(ptl_process_id_t peer)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue));

	char greeting[] = "hello, loop";
	ptl_handle_md_t memory;
	ptl_md_t md = {
		.start = greeting, .length = sizeof(greeting), .threshold = PTL_MD_THRESH_INF, .eq_handle = queue};
	md.options = PTL_MD_EVENT_START_DISABLE;
	CHECK(PtlMDBind(ni, md, PTL_RETAIN, &memory));
	for (int i = 0; i < GREETINGS; i++) {
		CHECK(PtlPut(memory, PTL_ACK_REQ, peer, INDEX, 0, BITS, 0, 0));
		while (next_event(queue).type != PTL_EVENT_ACK)
			;
	}
	PtlFini();
}

int main(int argc, char **argv)
{
	return hello_main(argc, argv, target, initiator);
}
