/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/scripted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define KEY_ADDRESS UINT64_C(0x100000000) /* remote addresses are this times the key, plus the offset: no pointers */
#define START_TIME  UINT64_C(1000000000)

#define PLACED_PIECES 4
#define HEADER_ROOM   64

enum choice { NOTHING, MESSAGE, COMPLETION, DEATH, LETTING_GO };

/* A message whose payload is where its sender has it. */
struct placed {
	void *context; /* NULL: there is none */
	unsigned to;
	bool passed;
	uint8_t header[HEADER_ROOM];
	size_t header_length;
	struct iovec payload[PLACED_PIECES];
	int count;
};

struct endpoint {
	struct scripted_message *in[SCRIPTED_ENDPOINTS], **in_end[SCRIPTED_ENDPOINTS];
	struct scripted_read *reads;
	struct placed placed;
	bool keeps_placed, arrives_while_placing;
	unsigned refuse_sends, refuse_reads, starved_resolves;
	int refusal; /* of sends */
	size_t expose_most;
	int expose_error;
	uint32_t nid;
	int users[SCRIPTED_ENDPOINTS]; /* of their addresses: resolved and not forgotten */
	bool open;
	bool dead;               /* as probes see it */
	transport_address place; /* the answer to a question for its address */
	/* What the next poll hands out. */
	enum choice choice;
	unsigned peer, index;
	int status;
};

/* One per endpoint for the network, one for itself. */
struct scripted {
	struct transport transport;
	struct transport_config config;
	unsigned endpoint;
	bool self;
};

static struct {
	bool open;
	struct scripted_terms terms;
	const struct scripted_observer *observer;
	struct endpoint endpoints[SCRIPTED_ENDPOINTS];
	struct scripted_memory_region **memory_regions; /* by key - 1 */
	unsigned memory_region_count, memory_region_room;
	_Atomic uint64_t time; /* the library's threads that open transports look, too */
	uint64_t random;
	unsigned severings, severed_last, severed_count, severed_at_once;
} script;

static struct scripted *scripted_of(struct transport *transport)
{
	return (struct scripted *)transport;
}

_Noreturn static void broken(const char *what)
{
	fprintf(stderr, "scripted transport: %s\n", what);
	abort();
}

static unsigned endpoint_at(transport_address address)
{
	return (unsigned)(address % SCRIPTED_ENDPOINTS);
}

/* --- what travels --- */

static struct scripted_message *message_new(unsigned from, unsigned to, const void *header, size_t header_length,
					    const struct iovec *payload, int count)
{
	size_t length = header_length;

	for (int i = 0; i < count; i++)
		length += payload[i].iov_len;
	struct scripted_message *message = malloc(sizeof(*message) + length);

	if (!message)
		broken("no memory");
	*message = (struct scripted_message){.from = from, .to = to, .length = length};
	memcpy(message->bytes, header, header_length);
	for (size_t i = 0, at = header_length; (int)i < count; at += payload[i++].iov_len)
		memcpy(message->bytes + at, payload[i].iov_base, payload[i].iov_len);
	return message;
}

static void message_queue(struct scripted_message *message)
{
	struct endpoint *to = &script.endpoints[message->to];

	*to->in_end[message->from] = message;
	to->in_end[message->from] = &message->next;
}

static struct scripted_message *message_take(unsigned from, unsigned to)
{
	struct endpoint *endpoint = &script.endpoints[to];
	struct scripted_message *message = endpoint->in[from];

	if (message && !(endpoint->in[from] = message->next))
		endpoint->in_end[from] = &endpoint->in[from];
	return message;
}

static int scripted_send(struct transport *transport, transport_address to, const void *header, size_t header_length,
			 const struct iovec *payload, int count)
{
	struct scripted *scripted = scripted_of(transport);
	struct endpoint *endpoint = &script.endpoints[scripted->endpoint];
	struct scripted_message *message =
		message_new(scripted->endpoint, endpoint_at(to), header, header_length, payload, count);
	bool refused = endpoint->refuse_sends > 0;

	if (message->length > transport->limits.short_max) {
		if (transport->limits.short_max == script.terms.short_max)
			broken("a message is too long");
		free(message);
		return -EMSGSIZE; /* the test has made the limit smaller than it was when the message was queued */
	}
	endpoint->refuse_sends -= refused;
	script.observer->sending(message, !refused);
	if (refused)
		free(message);
	else
		message_queue(message);
	return refused ? endpoint->refusal : 0;
}

static int scripted_send_placed(struct transport *transport, transport_address to, const void *header,
				size_t header_length, const struct iovec *payload, int count, void *context)
{
	struct endpoint *endpoint = &script.endpoints[scripted_of(transport)->endpoint];
	struct placed *placed = &endpoint->placed;

	transport->kept = endpoint->arrives_while_placing;
	if (!endpoint->keeps_placed || placed->context || endpoint->refuse_sends > 0)
		return scripted_send(transport, to, header, header_length, payload, count);
	if (header_length > HEADER_ROOM || count > PLACED_PIECES)
		broken("a message has more pieces than may be placed");
	*placed = (struct placed){
		.context = context, .to = endpoint_at(to), .header_length = header_length, .count = count};
	memcpy(placed->header, header, header_length);
	memcpy(placed->payload, payload, (size_t)count * sizeof(*payload));
	return -EINPROGRESS;
}

/* --- memory --- */

static size_t bytes_exposed(unsigned owner)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < script.memory_region_count; i++)
		if (script.memory_regions[i]->owner == owner && script.memory_regions[i]->uses)
			bytes += script.memory_regions[i]->length;
	return bytes;
}

static int scripted_register(struct transport *transport, void *base, size_t length, unsigned uses,
			     struct memory_region *memory_region)
{
	const struct scripted *scripted = scripted_of(transport);
	const struct endpoint *endpoint = &script.endpoints[scripted->endpoint];

	if (uses != REGION_READ && uses != REGION_LOCAL)
		broken("a source may be constant: it is exposed to be read and nothing else");
	if (length > endpoint->expose_most || bytes_exposed(scripted->endpoint) > endpoint->expose_most - length)
		return endpoint->expose_error;
	struct scripted_memory_region *known = malloc(sizeof(*known));

	if (script.memory_region_count == script.memory_region_room) {
		script.memory_region_room = 2 * script.memory_region_room + 64;
		script.memory_regions = realloc(script.memory_regions,
						script.memory_region_room * sizeof(struct scripted_memory_region *));
	}
	if (!known || !script.memory_regions)
		broken("no memory");
	*known = (struct scripted_memory_region){
		.owner = scripted->endpoint, .own = scripted->self, .uses = uses, .base = base, .length = length};
	script.memory_regions[script.memory_region_count++] = known;
	*memory_region = (struct memory_region){.address = script.memory_region_count * KEY_ADDRESS,
						.key = script.memory_region_count,
						.region = known};
	return 0;
}

static void scripted_deregister(struct transport *transport, struct memory_region *memory_region)
{
	struct scripted_memory_region *known = memory_region->region;

	if (known->owner != scripted_of(transport)->endpoint || known->own != scripted_of(transport)->self ||
	    !known->uses)
		broken("memory is deregistered that is not exposed");
	known->uses = 0;
	if (script.observer->deregistered)
		script.observer->deregistered(known);
}

static bool covers(const struct scripted_memory_region *memory_region, unsigned owner, unsigned use, const void *start,
		   size_t length)
{
	const uint8_t *first = start;

	return memory_region->owner == owner && memory_region->uses & use && first >= memory_region->base &&
	       length <= memory_region->length &&
	       (size_t)(first - memory_region->base) <= memory_region->length - length;
}

/* What a made-up key names. */
static const struct scripted_memory_region nowhere;

static const struct scripted_memory_region *find_source(uint64_t key, uint64_t remote, size_t length, unsigned owner)
{
	const struct scripted_memory_region *source = scripted_memory_region(key);
	uint64_t offset = remote - key * KEY_ADDRESS;
	bool given_out = source && source->owner == owner;

	if (!script.terms.hostile)
		return given_out ? source : NULL;
	return given_out && offset <= source->length && length <= source->length - offset ? source : &nowhere;
}

static void read_check(const struct scripted_read *read, const struct memory_region *memory_region)
{
	const bool streams = read->window > 0 && script.terms.stream_chunk > script.terms.rma_chunk;

	if (read->length == 0 || read->length > (streams ? script.terms.stream_chunk : script.terms.rma_chunk))
		broken("a read is empty or longer than the chunk");
	if (read->source == &nowhere)
		return;
	if (read->offset > read->source->length || read->length > read->source->length - read->offset)
		broken("a read reaches beyond what is exposed");
	if (script.terms.local_registration &&
	    (!memory_region || !covers(memory_region->region, read->reader, REGION_LOCAL, read->local, read->length)))
		broken("the local end of a read is not registered");
}

static int scripted_begin_read(struct transport *transport, const struct transport_read *wanted)
{
	struct scripted *scripted = scripted_of(transport);
	struct endpoint *endpoint = &script.endpoints[scripted->endpoint];
	const struct scripted_memory_region *source =
		find_source(wanted->key, wanted->remote, wanted->length, endpoint_at(wanted->peer));
	struct scripted_read *read = malloc(sizeof(*read)), **end = &endpoint->reads;
	bool refused = endpoint->refuse_reads > 0;

	if (!read || !source)
		broken("a read uses a key that its owner has not given out");
	*read = (struct scripted_read){.reader = scripted->endpoint,
				       .source = source,
				       .offset = wanted->remote - wanted->key * KEY_ADDRESS,
				       .local = wanted->local,
				       .length = wanted->length,
				       .window = wanted->window,
				       .context = wanted->context,
				       .own = scripted->self};
	read_check(read, wanted->memory_region);
	endpoint->refuse_reads -= refused;
	script.observer->reading(read, !refused);
	if (refused) {
		free(read);
		return -EAGAIN;
	}
	while (*end)
		end = &(*end)->next;
	*end = read;
	return 0;
}

/* --- what a poll hands out --- */

static void hand_out_message(struct scripted *scripted, struct scripted_message *message)
{
	const struct transport_config *config = &scripted->config;

	script.observer->arriving(message);
	config->sink->arrived(config->owner, script.terms.anonymous ? TRANSPORT_ADDRESS_UNKNOWN : message->from,
			      message->bytes, message->length, NULL, 0);
	script.observer->arrived(message);
	free(message);
}

static struct scripted_read *read_take(struct endpoint *endpoint, unsigned index)
{
	struct scripted_read **at = &endpoint->reads, *read;

	while (index-- > 0)
		at = &(*at)->next;
	read = *at;
	*at = read->next;
	return read;
}

static void hand_out_completion(struct scripted *scripted, struct scripted_read *read, int status)
{
	const struct transport_config *config = &scripted->config;

	if (!(read->source->uses & REGION_READ))
		status = -EACCES;
	if (status == 0)
		memmove(read->local, read->source->base + read->offset, read->length);
	script.observer->read_ended(read, status);
	config->sink->rdma_done(config->owner, read->context, status);
	free(read);
}

static struct scripted_read *read_at(const struct endpoint *endpoint, unsigned index)
{
	struct scripted_read *read = endpoint->reads;

	while (read && index-- > 0)
		read = read->next;
	return read;
}

static void hand_back_placed(struct scripted *scripted, struct placed *placed)
{
	void *context = placed->context;

	placed->context = NULL;
	scripted->config.sink->sent(scripted->config.owner, context);
}

/* Is it for this one of the endpoint's two transports? */
static bool is_mine(const struct scripted *scripted, const struct endpoint *endpoint)
{
	bool own = endpoint->choice == COMPLETION   ? read_at(endpoint, endpoint->index)->own
		   : endpoint->choice == LETTING_GO ? false
						    : endpoint->peer == scripted->endpoint;

	return endpoint->choice != NOTHING && own == scripted->self;
}

static int scripted_poll(struct transport *transport, int budget)
{
	struct scripted *scripted = scripted_of(transport);
	struct endpoint *endpoint = &script.endpoints[scripted->endpoint];
	int done = is_mine(scripted, endpoint);

	(void)budget;
	transport->kept = false;
	if (done) {
		enum choice choice = endpoint->choice;

		endpoint->choice = NOTHING;
		if (choice == MESSAGE)
			hand_out_message(scripted, message_take(endpoint->peer, scripted->endpoint));
		else if (choice == COMPLETION)
			hand_out_completion(scripted, read_take(endpoint, endpoint->index), endpoint->status);
		else if (choice == LETTING_GO)
			hand_back_placed(scripted, &endpoint->placed);
		else
			scripted->config.sink->peer_gone(scripted->config.owner, endpoint->peer);
	}
	if (!scripted->self) /* the last to be polled */
		script.observer->polled(scripted->endpoint);
	return done;
}

/* --- life --- */

static const struct transport_ops scripted_ops;

static int claim(struct transport_config *config, struct transport **out, bool self)
{
	struct scripted *scripted = calloc(1, sizeof(*scripted));

	if (!scripted || config->pid - SCRIPTED_PID >= SCRIPTED_ENDPOINTS)
		broken("an interface has none of the pids of the script");
	scripted->transport.ops = &scripted_ops;
	scripted->transport.limits = (struct transport_limits){
		.short_max = script.terms.short_max,
		.payload_max = config->settings->short_max,
		.rma_chunk = script.terms.rma_chunk,
		.rma_depth = script.terms.rma_depth,
		.stream_window = script.terms.stream_window,
		.stream_chunk = script.terms.stream_chunk,
		.placed_min = self ? 0 : script.terms.placed_min,
		.local_registration = script.terms.local_registration,
		.pins = script.terms.pins,
		.sleepable = true,
		.ping_pause = script.terms.ping_pause,
	};
	scripted->config = *config;
	scripted->self = self;
	scripted->endpoint = config->pid - SCRIPTED_PID;
	script.endpoints[scripted->endpoint].nid = config->nid;
	script.endpoints[scripted->endpoint].open = true;
	*out = &scripted->transport;
	return 0;
}

static int scripted_start(struct transport *transport)
{
	(void)transport;
	return 0;
}

/* Reads that it began are forgotten; what others have sent it waits for its successor. */
static void scripted_stop(struct transport *transport)
{
	const struct scripted *scripted = scripted_of(transport);
	struct endpoint *endpoint = &script.endpoints[scripted->endpoint];
	struct scripted_read *read;

	for (unsigned i = 0; i < script.memory_region_count; i++)
		if (script.memory_regions[i]->uses && script.memory_regions[i]->owner == scripted->endpoint &&
		    script.memory_regions[i]->own == scripted->self)
			broken("memory is still exposed to a transport that closes");
	for (unsigned i = 0; (read = read_at(endpoint, i));)
		if (read->own == scripted->self)
			free(read_take(endpoint, i));
		else
			i++;
	if (scripted->self)
		scripted_lose(scripted->endpoint, scripted->endpoint);
	endpoint->open = false;
	endpoint->choice = NOTHING;
	endpoint->refuse_sends = endpoint->refuse_reads = 0;
	endpoint->placed.context = NULL;
	free(transport);
}

static void scripted_forked(struct transport *transport)
{
	(void)transport;
}

static void scripted_forget(struct transport *transport, transport_address peer)
{
	if (!scripted_of(transport)->self)
		script.endpoints[scripted_of(transport)->endpoint].users[endpoint_at(peer)]--;
}

static int scripted_resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt,
			    transport_address *address)
{
	const struct scripted *scripted = scripted_of(transport);
	unsigned peer = pid - SCRIPTED_PID;

	if (attempt > 0)
		return -ENOENT;
	if (!scripted->self && script.endpoints[scripted->endpoint].starved_resolves > 0) {
		script.endpoints[scripted->endpoint].starved_resolves--;
		return -ENOMEM;
	}
	if (peer >= SCRIPTED_ENDPOINTS || !script.endpoints[peer].open || script.endpoints[peer].nid != nid) {
		script.observer->unknown(scripted->endpoint, nid, pid);
		return -ENOENT;
	}
	*address = script.endpoints[peer].place;
	if (!scripted->self)
		script.endpoints[scripted->endpoint].users[peer]++;
	return 0;
}

static unsigned scripted_own_attempt(const struct transport *transport)
{
	(void)transport;
	return 0;
}

static int scripted_arm(struct transport *transport)
{
	return transport->kept ? -EAGAIN : 0;
}

static unsigned scripted_unsent(const struct transport *transport)
{
	(void)transport;
	return 0;
}

static int scripted_wait_fd(const struct transport *transport)
{
	(void)transport;
	return -1;
}

static int scripted_probe(struct transport *transport, transport_address peer)
{
	(void)transport;
	return script.endpoints[endpoint_at(peer)].dead ? -ECONNREFUSED : 0;
}

static void scripted_sever(struct transport *transport, transport_address peer)
{
	(void)transport, (void)peer;
	script.severed_at_once++;
}

static void scripted_sever_unheard(struct transport *transport, const transport_address *peers, unsigned count)
{
	(void)transport;
	script.severings++;
	script.severed_last = (unsigned)peers[count - 1];
	script.severed_count = count;
}

static int scripted_describe(const struct transport *transport, char *text, size_t size)
{
	return snprintf(text, size, "scripted, short up to %zu bytes with header", transport->limits.short_max);
}

static const struct transport_ops scripted_ops = {
	.name = "scripted",
	.open = scripted_start,
	.close = scripted_stop,
	.forked = scripted_forked,
	.resolve = scripted_resolve,
	.forget = scripted_forget,
	.own_attempt = scripted_own_attempt,
	.send = scripted_send,
	.send_placed = scripted_send_placed,
	.read = scripted_begin_read,
	.register_memory = scripted_register,
	.deregister = scripted_deregister,
	.poll = scripted_poll,
	.arm = scripted_arm,
	.unsent = scripted_unsent,
	.wait_fd = scripted_wait_fd,
	.probe = scripted_probe,
	.sever = scripted_sever,
	.sever_unheard = scripted_sever_unheard,
	.describe = scripted_describe,
};

void scripted_open(const struct scripted_terms *terms, const struct scripted_observer *observer)
{
	memset(script.endpoints, 0, sizeof(script.endpoints));
	for (unsigned to = 0; to < SCRIPTED_ENDPOINTS; to++) {
		script.endpoints[to].expose_most = SIZE_MAX;
		script.endpoints[to].place = to;
		for (unsigned from = 0; from < SCRIPTED_ENDPOINTS; from++)
			script.endpoints[to].in_end[from] = &script.endpoints[to].in[from];
	}
	script.open = true;
	script.terms = *terms;
	script.observer = observer;
	script.time = START_TIME;
	script.severings = script.severed_at_once = 0;
	script.random = terms->seed;
}

void scripted_close(void)
{
	for (unsigned one = 0; one < SCRIPTED_ENDPOINTS; one++) {
		for (unsigned other = 0; other < SCRIPTED_ENDPOINTS; other++)
			scripted_lose(one, other);
		while (script.endpoints[one].reads)
			free(read_take(&script.endpoints[one], 0));
	}
	while (script.memory_region_count > 0)
		free(script.memory_regions[--script.memory_region_count]);
	free(script.memory_regions);
	script.memory_regions = NULL;
	script.memory_region_room = 0;
	script.open = false;
}

/* --- an observer --- */

static void see_message(struct scripted_message *message, bool taken)
{
	(void)message, (void)taken;
}

static void see_arrival(const struct scripted_message *message)
{
	(void)message;
}

static void see_read(struct scripted_read *read, bool taken)
{
	(void)read, (void)taken;
}

static void see_end(const struct scripted_read *read, int status)
{
	(void)read, (void)status;
}

static void see_poll(unsigned endpoint)
{
	(void)endpoint;
}

static void see_unknown(unsigned endpoint, uint32_t nid, uint32_t pid)
{
	(void)endpoint, (void)nid, (void)pid;
}

const struct scripted_observer scripted_blind = {.sending = see_message,
						 .arriving = see_arrival,
						 .arrived = see_arrival,
						 .reading = see_read,
						 .read_ended = see_end,
						 .polled = see_poll,
						 .unknown = see_unknown};

/* --- the script --- */

unsigned scripted_waiting(unsigned from, unsigned to)
{
	unsigned count = 0;

	for (const struct scripted_message *message = script.endpoints[to].in[from]; message; message = message->next)
		count++;
	return count;
}

unsigned scripted_reads(unsigned reader)
{
	unsigned count = 0;

	while (read_at(&script.endpoints[reader], count))
		count++;
	return count;
}

unsigned scripted_exposed_of(unsigned owner)
{
	unsigned count = 0;

	for (unsigned i = 0; i < script.memory_region_count; i++)
		count += script.memory_regions[i]->uses != 0 && script.memory_regions[i]->owner == owner;
	return count;
}

unsigned scripted_exposed(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < SCRIPTED_ENDPOINTS; i++)
		count += scripted_exposed_of(i);
	return count;
}

unsigned scripted_exposed_ever(void)
{
	return script.memory_region_count;
}

struct scripted_memory_region *scripted_memory_region(uint64_t key)
{
	return key > 0 && key <= script.memory_region_count ? script.memory_regions[key - 1] : NULL;
}

void scripted_inject(unsigned from, unsigned to, const void *bytes, size_t length)
{
	message_queue(message_new(from, to, bytes, length, &(struct iovec){0}, 0));
}

bool scripted_deliver(unsigned from, unsigned to)
{
	struct endpoint *endpoint = &script.endpoints[to];

	if (!endpoint->in[from])
		return false;
	endpoint->choice = MESSAGE;
	endpoint->peer = from;
	return true;
}

bool scripted_complete(unsigned reader, unsigned index, int status)
{
	struct endpoint *endpoint = &script.endpoints[reader];

	if (!read_at(endpoint, index))
		return false;
	endpoint->choice = COMPLETION;
	endpoint->index = index;
	endpoint->status = status;
	return true;
}

void scripted_keep_placed(unsigned endpoint, bool keep)
{
	script.endpoints[endpoint].keeps_placed = keep;
}

void scripted_arrive_while_placing(unsigned endpoint, bool arrives)
{
	script.endpoints[endpoint].arrives_while_placing = arrives;
}

bool scripted_pass_placed(unsigned endpoint)
{
	struct placed *placed = &script.endpoints[endpoint].placed;

	if (!placed->context || placed->passed)
		return false;
	placed->passed = true;
	message_queue(message_new(endpoint, placed->to, placed->header, placed->header_length, placed->payload,
				  placed->count));
	return true;
}

bool scripted_let_placed_go(unsigned endpoint)
{
	if (!script.endpoints[endpoint].placed.context)
		return false;
	script.endpoints[endpoint].choice = LETTING_GO;
	return true;
}

void scripted_gone(unsigned endpoint, unsigned peer)
{
	script.endpoints[endpoint].choice = DEATH;
	script.endpoints[endpoint].peer = peer;
}

void scripted_lose(unsigned one, unsigned other)
{
	struct scripted_message *message;

	while ((message = message_take(one, other)) || (message = message_take(other, one)))
		free(message);
}

int scripted_users(unsigned endpoint, unsigned peer)
{
	return script.endpoints[endpoint].users[peer];
}

void scripted_close_port(unsigned endpoint)
{
	script.endpoints[endpoint].dead = true;
}

void scripted_open_port(unsigned endpoint)
{
	script.endpoints[endpoint].dead = false;
}

void scripted_move(unsigned endpoint)
{
	script.endpoints[endpoint].place = endpoint + SCRIPTED_ENDPOINTS;
}

void scripted_take_over(unsigned endpoint, unsigned former)
{
	script.endpoints[endpoint].place = former;
}

unsigned scripted_severings(void)
{
	return script.severings;
}

unsigned scripted_severed_at_once(void)
{
	return script.severed_at_once;
}

unsigned scripted_severed_last(void)
{
	return script.severed_last;
}

unsigned scripted_severed_count(void)
{
	return script.severed_count;
}

void scripted_limit_memory_regions(unsigned endpoint, size_t most, int error)
{
	script.endpoints[endpoint].expose_most = most;
	script.endpoints[endpoint].expose_error = error;
}

void scripted_refuse_sends(unsigned endpoint, unsigned count)
{
	script.endpoints[endpoint].refuse_sends = count;
	script.endpoints[endpoint].refusal = -EAGAIN;
}

void scripted_fill_sends(unsigned endpoint, unsigned count)
{
	script.endpoints[endpoint].refuse_sends = count;
	script.endpoints[endpoint].refusal = -ENOBUFS;
}

void scripted_fail_sends(unsigned endpoint, unsigned count)
{
	script.endpoints[endpoint].refuse_sends = count;
	script.endpoints[endpoint].refusal = -EHOSTUNREACH;
}

void scripted_starve_resolves(unsigned endpoint, unsigned count)
{
	script.endpoints[endpoint].starved_resolves = count;
}

void scripted_refuse_reads(unsigned endpoint, unsigned count)
{
	script.endpoints[endpoint].refuse_reads = count;
}

void scripted_pass_time(uint64_t ns)
{
	script.time += ns;
}

uint64_t scripted_time(void)
{
	return script.time - START_TIME;
}

/* --- instead of what the library refers to; the linker wants these names --- */

extern const struct transport_ops __real_transport_ofi, __real_transport_self;
extern struct transport_ops __wrap_transport_ofi, __wrap_transport_self;
struct transport_ops __wrap_transport_ofi, __wrap_transport_self;
int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
ssize_t __real_getrandom(void *, size_t, unsigned);
ssize_t __wrap_getrandom(void *, size_t, unsigned);

static int claim_network(struct transport_config *config, struct transport **out)
{
	return script.open ? claim(config, out, false) : __real_transport_ofi.claim(config, out);
}

static int claim_self(struct transport_config *config, struct transport **out)
{
	return script.open ? claim(config, out, true) : __real_transport_self.claim(config, out);
}

/* After claim() the library goes by the transport's own table. */
__attribute__((constructor)) static void step_between(void)
{
	__wrap_transport_ofi = __real_transport_ofi;
	__wrap_transport_ofi.claim = claim_network;
	__wrap_transport_self = __real_transport_self;
	__wrap_transport_self.claim = claim_self;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!script.open || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, now);
	const uint64_t time = script.time;

	*now = (struct timespec){.tv_sec = (time_t)(time / 1000000000u), .tv_nsec = (long)(time % 1000000000u)};
	return 0;
}

/* Different every time, which is all that the library asks of them. */
ssize_t __wrap_getrandom(void *to, size_t length, unsigned flags)
{
	if (!script.open)
		return __real_getrandom(to, length, flags);
	for (size_t i = 0; i < length; i++) { /* the bytes that change most come first, whatever the byte order */
		script.random += i % sizeof(script.random) == 0;
		((uint8_t *)to)[i] = (uint8_t)(script.random >> 8 * (i % sizeof(script.random)));
	}
	return (ssize_t)length;
}
