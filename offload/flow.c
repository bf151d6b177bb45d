/* SPDX-License-Identifier: BSD-3-Clause */
#include "offload/flow.h"

#include "offload/peer/peer.h"
#include "offload/timeline.h"

struct end {
	ptl_process_id_t id;
	uint16_t tag;
};

/* From one of the numbers that a process has drawn to another without a pattern (the finaliser of splitmix64). */
static uint64_t mixed(uint64_t state, uint64_t value)
{
	state += value + UINT64_C(0x9e3779b97f4a7c15);
	state = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	state = (state ^ state >> 27) * UINT64_C(0x94d049bb133111eb);
	return state ^ state >> 31;
}

static uint64_t flow_of(struct end from, struct end to, uint32_t number)
{
	uint64_t flow = mixed(number, (uint64_t)from.tag << 16 | to.tag);

	flow = mixed(flow, (uint64_t)from.id.nid << 32 | from.id.pid);
	flow = mixed(flow, (uint64_t)to.id.nid << 32 | to.id.pid);
	return flow ? flow : 1;
}

static struct timeline_message described(const struct peer *peer, const struct wire_message *message)
{
	return (struct timeline_message){.operation = message->operation,
					 .nid = peer->id.nid,
					 .pid = peer->id.pid,
					 .bytes = message->length ? message->length : message->mlength,
					 .match_bits = message->match_bits};
}

void flow_sent(const struct nic *nic, const struct peer *peer, const struct wire_message *message, uint64_t start)
{
	if (!nic->timing.timeline)
		return;
	struct timeline_message sent = described(peer, message);

	if (wire_is_counted(message->operation))
		sent.flow = flow_of((struct end){nic->self.id, peer->local_tag},
				    (struct end){peer->id, peer->remote_tag}, peer->said);
	timeline_note(nic->timing.timeline, TIMELINE_SENT, start, &sent);
}

void flow_arrived(const struct nic *nic, const struct peer *peer, const struct wire_message *message)
{
	if (!nic->timing.timeline)
		return;
	nic->timing.timeline->current = described(peer, message);
	if (wire_is_counted(message->operation))
		nic->timing.timeline->current.flow = flow_of((struct end){peer->id, peer->remote_tag},
							     (struct end){nic->self.id, peer->local_tag}, peer->heard);
}

void flow_dropped(const struct nic *nic)
{
	if (nic->timing.timeline)
		timeline_note(nic->timing.timeline, TIMELINE_DROPPED, cycle_clock(), &nic->timing.timeline->current);
}

uint64_t flow_current(const struct nic *nic)
{
	return nic->timing.timeline ? nic->timing.timeline->current.flow : 0;
}

void flow_landed(const struct nic *nic, const struct operation *op)
{
	if (!nic->timing.timeline)
		return;
	struct timeline_message put = nic->timing.timeline->current;

	if (op)
		put = (struct timeline_message){.flow = op->flow,
						.operation = WIRE_PUT_LONG,
						.nid = op->peer->id.nid,
						.pid = op->peer->id.pid,
						.bytes = op->info.mlength,
						.match_bits = op->info.match_bits};
	timeline_note(nic->timing.timeline, TIMELINE_LANDED, cycle_clock(), &put);
}
