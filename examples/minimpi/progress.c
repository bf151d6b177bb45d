/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include "job.h"

ptl_handle_eq_t progress_done, progress_unexpected;

static void (*tell_died)(ptl_process_id_t);

void progress_open(unsigned events, void (*died)(ptl_process_id_t))
{
	tell_died = died;
	/*
	 * A receive, a fetch and a move have two events, a send three and one more when it is called for, a process one when
	 * it dies.  Waiting receives may be given as many messages at once as have come, beside those that are fetched
	 * already.  Room that is never used costs address space only.
	 */
	const ptl_size_t most =
		2ull * JOB_POSTED + 3ull * JOB_SENT + 4ull * JOB_SENT + 2ull * JOB_MOVED + 6ull * JOB_CALLED;
	PORTALS(PtlEQAlloc(job.ni, most + (unsigned)job.size, PTL_EQ_HANDLER_NONE, &progress_done));
	PORTALS(PtlEQAlloc(job.ni, events, PTL_EQ_HANDLER_NONE, &progress_unexpected));
	PORTALS(PtlNicPeerEvents(job.ni, progress_done));
}

static void handle(const ptl_event_t *event)
{
	if (event->type == PTL_NIC_EVENT_PEER_DIED) {
		tell_died(event->initiator);
	} else {
		struct listener *listener = event->md.user_ptr;
		listener->hear(listener, event);
	}
}

static bool take(ptl_handle_eq_t queue)
{
	ptl_event_t event;
	const int code = PtlEQGet(queue, &event);
	if (code == PTL_EQ_EMPTY)
		return false;
	PORTALS(code); /* PTL_EQ_DROPPED too: the queues are as long as what can be under way */
	handle(&event);
	return true;
}

void progress_poll(void)
{
	while (take(progress_done) || take(progress_unexpected))
		;
}

bool progress_take_unexpected(void)
{
	return take(progress_unexpected);
}

void progress_wait(void)
{
	ptl_handle_eq_t queues[] = {progress_done, progress_unexpected};
	ptl_event_t event;
	int which;
	PORTALS(PtlEQPoll(queues, 2, PTL_TIME_FOREVER, &event, &which));
	handle(&event);
}
