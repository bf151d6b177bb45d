/* SPDX-License-Identifier: BSD-3-Clause */
#include "clocked.h"

#include <string.h>

#define BATCHES "; batches of 10 to 50 between two readings"

static const struct {
	const char *test, *text;
} spans[] = {
	{"put-latency",
	 "a round trip, halved: attaching the receive for the pong, PtlPut, and taking SEND_END and PUT_END" BATCHES},
	{"get-latency", "binding the destination, PtlGet, and taking REPLY_END" BATCHES},
	{"put-bandwidth", "a window: from its first PtlPut until the empty put is taken that the target sends when it "
			  "has taken all PUT_ENDs"},
	{"get-bandwidth", "a window: from its first PtlGet until its last REPLY_END is taken"},
	{"message-rate", "a window: from its first PtlPut until the empty put is taken that the target sends when it "
			 "has taken all PUT_ENDs"},
	{"bidirectional-latency", "PtlPut, and taking its SEND_END and the PUT_END of the other side's put" BATCHES},
	{"bidirectional-bandwidth",
	 "posting a window, taking the PUT_ENDs of the other side's, and an empty put each way"},
	{"initiator-timing", "each call of an iteration alone, and one reading of the clock with each"},
	{"nic-timing", "laps of the NIC's stage clocks: each has one reading in it, whose cost is in the column clock; "
		       "in batches: without"},
	{"logp", "RTT/2: a round trip, halved; o_s, o_r: bursts of 8 calls, with one reading a burst; g: a window by "
		 "its messages"},
	{"operations", "16 calls of a kind between two readings; PtlNIInit, PtlNIFini and first contact each alone"},
	{"host-overhead",
	 "PtlPut alone, and the one call of PtlEQGet that finds the event, each with one reading; no waiting"},
	{"availability",
	 "posting a window, computing, taking the PUT_ENDs of the other side's, and an empty put each way"},
	{"completion", "a round trip of puts to a descriptor that stays attached, halved; ACK: PtlPut until the ACK is "
		       "taken" BATCHES},
	{"buffer-reuse", "latency: a round trip, halved, to descriptors that stay attached" BATCHES
			 "; MB/s: a window and an empty put back"},
	{"segments", "a round trip, halved, to descriptors that stay attached" BATCHES},
	{"sequence", "the times of the trace's events; recording them is in the figures"},
	{"blocking", "a round trip of puts to a descriptor that stays attached, halved" BATCHES},
	{"crossover", "a round trip of puts to a descriptor that stays attached, halved" BATCHES},
	{"injection", "a round trip of puts to a descriptor that stays attached, halved" BATCHES},
	{"am",
	 "RTT/2: a request until its reply's handler, halved; gap: a stream of requests until its last reply's; o: "
	 "bursts, with one reading a burst"},
	{"splitc", "operations of a kind and the sc_sync() behind them, by their number"},
	{"breakdown",
	 "bursts of exchanges, and in them each part, with a reading at either end, whose own time is taken off"},
	{"grim", "a round trip of messages of the layer, halved" BATCHES},
	{"driver", "a round trip of messages of the layer, halved" BATCHES},
	{"hot-spot", "from the first put of a round to the last answer taken; 10 rounds between two readings"},
	{"peers", "latency: PtlPut until the answer is taken, halved; MB/s: a window until its answer is taken; 10 of "
		  "them between two readings"},
	{"fragment",
	 "from the first PtlPut of a message's fragments until the note is taken that the last has arrived" BATCHES},
	{"match-depth", "a round trip, halved, as of put-latency: the receive for the pong is attached inside" BATCHES},
	{"unexpected-depth", "a round trip of puts to a descriptor that stays attached, halved" BATCHES},
	{"attach", "attaching an entry and unlinking it, many between two readings"},
	{"bypass", "from the call to its completion event taken; the target's computing is outside"},
	{"idle", "no clock: CPU time of all threads of a process, by the system's account"},
	{"wake", "from PtlPut at one process to the return of PtlEQWait at the other, by the clock that both share; "
		 "stage clocks are on"},
	{"pairs", "0.1 s of time by all messages that were exchanged in it"},
	{"self-latency", "PtlPut to oneself until both its events are taken" BATCHES},
	{"open", "each call between two readings"},
	{"memory", "no clock: bytes of the process, by the system's account"},
	{"recovery", "from the kill, or from the put that came after it, until the survivor has taken the event"},
	{"limits", "one way or one operation, as each row says; medians of batches"},
	{"compare", "as of put-latency, put-bandwidth and get-latency, of each candidate by calls of its own; median, "
		    "p99, p99.9 and CPU time of each in CSV and JSON"},
};

void clocked_print(FILE *out, const char *test)
{
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		if (!strcmp(spans[i].test, test))
			fprintf(out, "\nWhat the clock includes:\n  %s\n", spans[i].text);
}
