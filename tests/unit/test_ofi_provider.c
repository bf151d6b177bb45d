/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the libfabric transport asks for and makes of the answers, with a libfabric of our own: providers that are not
 * here, and names as other versions give them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_memory.h"
#include "transports/ofi/ofi_provider.h"
#include "transports/ofi/ofi_published.h"
#include "transports/ofi/ofi_receive.h"
#include "transports/ofi/ofi_rma.h"
#include "transports/ofi/ofi_send.h"
#include "transports/ofi/ofi_shm.h"
#include "transports/ofi/ofi_sleep.h"
#include "transports/ofi/ofi_sockets.h"

#define MIB (1u << 20)

/* One provider as fi_getinfo() tells of it. */
struct offer {
	const char *name;
	uint32_t protocol, addresses;
	uint64_t order;
	int required_modes; /* FI_MR_* without which it is not to be had */
	size_t key_size;
	size_t greatest; /* message */
};

#define RXM_ORDER (FI_ORDER_SAS | FI_ORDER_SAW)

static const struct offer rxm = {"tcp;ofi_rxm", FI_PROTO_RXM, FI_SOCKADDR_IN, RXM_ORDER, 0, 8, SIZE_MAX};
static const struct offer old_net = {"net", FI_PROTO_XNET, FI_SOCKADDR_IN, RXM_ORDER, 0, 8, SIZE_MAX};
static const struct offer new_tcp = {"tcp", FI_PROTO_XNET, FI_SOCKADDR_IN, RXM_ORDER, 0, 8, SIZE_MAX};
static const struct offer verbs = {"verbs;ofi_rxm",
				   FI_PROTO_RXM,
				   FI_SOCKADDR_IN,
				   RXM_ORDER,
				   FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
				   4,
				   8 * MIB};
static const struct offer efa = {
	"efa", FI_PROTO_EFA, FI_ADDR_EFA, FI_ORDER_SAS, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
	4,     SIZE_MAX};
static const struct offer cxi = {"cxi", FI_PROTO_CXI, FI_ADDR_CXI, RXM_ORDER, FI_MR_ENDPOINT | FI_MR_ALLOCATED,
				 4,     UINT32_MAX};

static const struct offer *offers[4];
static char asked_node[64]; /* of the last question */
static uint64_t asked_flags;

/* ---- Our libfabric ---- */

/* All that a struct fi_info points to, in one piece. */
struct whole_info {
	struct fi_info info;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
	struct fi_fabric_attr fabric;
};

static struct fi_info *duplicate(const struct fi_info *info)
{
	struct whole_info *whole = calloc(1, sizeof(*whole));
	assert_non_null(whole);
	if (info)
		memcpy(whole, info, sizeof(*whole));
	whole->info.next = NULL;
	whole->info.tx_attr = &whole->tx;
	whole->info.rx_attr = &whole->rx;
	whole->info.ep_attr = &whole->ep;
	whole->info.domain_attr = &whole->domain;
	whole->info.fabric_attr = &whole->fabric;
	if (whole->fabric.prov_name)
		whole->fabric.prov_name = strdup(whole->fabric.prov_name);
	return &whole->info;
}

static void free_infos(struct fi_info *info)
{
	while (info) {
		struct fi_info *next = info->next;
		free(info->fabric_attr->prov_name);
		free(info);
		info = next;
	}
}

/* Naming a provider also yields the layers over it; anything else asked for has to be granted. */
static bool grants(const struct offer *offer, const struct fi_info *hints)
{
	const char *wanted = hints->fabric_attr->prov_name;
	uint32_t protocol = hints->ep_attr->protocol;

	return strncasecmp(offer->name, wanted, strlen(wanted)) == 0 && (!protocol || protocol == offer->protocol) &&
	       hints->ep_attr->type == FI_EP_RDM && hints->addr_format == offer->addresses &&
	       !(hints->tx_attr->msg_order & ~offer->order) && !(offer->required_modes & ~hints->domain_attr->mr_mode);
}

static struct fi_info *describe(const struct offer *offer, const struct fi_info *hints)
{
	struct fi_info *info = duplicate(NULL);

	info->caps = hints->caps;
	info->addr_format = offer->addresses;
	info->fabric_attr->prov_name = strdup(offer->name);
	info->ep_attr->protocol = offer->protocol;
	info->ep_attr->max_msg_size = offer->greatest;
	info->tx_attr->msg_order = info->rx_attr->msg_order = hints->tx_attr->msg_order;
	info->domain_attr->mr_mode = offer->required_modes;
	info->domain_attr->mr_key_size = offer->key_size;
	return info;
}

static int get_info(uint32_t version, const char *node, const char *service, uint64_t flags,
		    const struct fi_info *hints, struct fi_info **out)
{
	assert_int_equal(version, OFI_API);
	assert_int_equal(node == NULL, service == NULL);
	snprintf(asked_node, sizeof(asked_node), "%s", node ? node : "");
	asked_flags = flags;
	*out = NULL;
	for (size_t i = 4; i-- > 0;)
		if (offers[i] && grants(offers[i], hints)) {
			struct fi_info *info = describe(offers[i], hints);
			info->next = *out;
			*out = info;
		}
	return *out ? 0 : -FI_ENODATA;
}

static const char *error_text(int error)
{
	return strerror(error);
}

static const struct ofi_library library = {
	.strerror = error_text, .getinfo = get_info, .freeinfo = free_infos, .dupinfo = duplicate};

/* ---- Choosing ---- */

static struct ofi ofi;

static int clear(void **state)
{
	(void)state;
	memset(&ofi, 0, sizeof(ofi));
	memset(offers, 0, sizeof(offers));
	ofi.library = &library;
	ofi.nid = 0x7f000001;
	ofi.port = 17000;
	ofi.base.limits.payload_max = SETTING_AUTO;
	return 0;
}

static int release(void **state)
{
	(void)state;
	free_infos(ofi.info);
	return 0;
}

/* The first profile under that name that libfabric has; NULL: none. */
static const char *found_for(const char *name)
{
	struct ofi_profile chosen[OFI_PROFILES];
	size_t count = ofi_choose_profiles(name, chosen);

	for (size_t i = 0; i < count; i++) {
		ofi.profile = chosen[i];
		if (ofi_query(&ofi) == 0)
			return ofi.info->fabric_attr->prov_name;
	}
	return NULL;
}

static void net_is_net_in_1_17(void **state)
{
	(void)state;
	offers[0] = &rxm;
	offers[1] = &old_net;
	assert_string_equal(found_for("net"), "net");
}

static void net_is_tcp_itself_from_1_18_on(void **state)
{
	(void)state;
	offers[0] = &new_tcp;
	offers[1] = &rxm;
	assert_string_equal(found_for("net"), "tcp");
	assert_int_equal(ofi.profile.protocol, FI_PROTO_XNET);
	assert_int_equal(ofi_choose_short_max(&ofi), (64 << 10) + OFI_HEADER_ALLOWANCE);
}

static void tcp_that_is_not_a_datagram_provider_is_not_net(void **state)
{
	static const struct offer other = {"tcp", FI_PROTO_SOCK_TCP, FI_SOCKADDR_IN, RXM_ORDER, 0, 8, SIZE_MAX};

	(void)state;
	offers[0] = &other;
	assert_null(found_for("net"));
}

static void tcp_is_rxm_whatever_stands_before_it(void **state)
{
	(void)state;
	offers[0] = &new_tcp;
	offers[1] = &rxm;
	assert_string_equal(found_for("tcp"), "tcp;ofi_rxm");
	assert_int_equal(ofi_choose_short_max(&ofi), 16 << 10);
}

static void a_full_name_is_taken_at_its_word(void **state)
{
	static const struct offer exotic = {"exotic;ofi_rxm", FI_PROTO_RXM, FI_SOCKADDR_IN, RXM_ORDER, 0, 8, SIZE_MAX};

	(void)state;
	offers[0] = &exotic;
	offers[1] = &rxm;
	assert_string_equal(found_for("TCP;OFI_RXM"), "tcp;ofi_rxm");
	free_infos(ofi.info);
	ofi.info = NULL;
	assert_string_equal(found_for("exotic;ofi_rxm"), "exotic;ofi_rxm");
	free_infos(ofi.info);
	ofi.info = NULL;
	assert_null(found_for("exotic"));
}

static void the_best_is_verbs_before_tcp_and_nothing_else(void **state)
{
	(void)state;
	offers[0] = &rxm;
	offers[1] = &verbs;
	assert_string_equal(found_for(""), "verbs;ofi_rxm");
	free_infos(ofi.info);
	ofi.info = NULL;
	offers[1] = &new_tcp;
	assert_string_equal(found_for(""), "tcp;ofi_rxm");
	free_infos(ofi.info);
	ofi.info = NULL;
	offers[0] = &efa;
	assert_null(found_for(""));
}

static void an_address_of_ours_is_asked_for(void **state)
{
	(void)state;
	offers[0] = &rxm;
	assert_non_null(found_for("tcp"));
	assert_string_equal(asked_node, "127.0.0.1");
	assert_int_equal(asked_flags, FI_SOURCE);
}

static void verbs_gets_its_registration_modes(void **state)
{
	(void)state;
	offers[0] = &verbs;
	assert_non_null(found_for("verbs"));
	assert_true(ofi.info->domain_attr->mr_mode & FI_MR_LOCAL);
	assert_int_equal(ofi_choose_short_max(&ofi), 16 << 10);
}

static void a_small_greatest_message_bounds_the_short_ones(void **state)
{
	static const struct offer narrow = {"narrow", FI_PROTO_RXM, FI_SOCKADDR_IN, RXM_ORDER, 0, 8, 1000};

	(void)state;
	offers[0] = &narrow;
	assert_non_null(found_for("narrow"));
	assert_int_equal(ofi_choose_short_max(&ofi), 1000);
	ofi.base.limits.payload_max = 8 * MIB;
	assert_int_equal(ofi_choose_short_max(&ofi), 1000);
}

static void efa_is_found_by_its_addresses_without_order_behind_writes(void **state)
{
	(void)state;
	offers[0] = &efa;
	assert_string_equal(found_for("efa"), "efa");
	assert_int_equal(ofi.info->tx_attr->msg_order, FI_ORDER_SAS);
	assert_string_equal(asked_node, "");
	assert_int_equal(asked_flags, 0);
}

static void cxi_is_found_by_its_addresses_and_endpoint_registration(void **state)
{
	(void)state;
	offers[0] = &cxi;
	assert_string_equal(found_for("cxi"), "cxi");
	assert_true(ofi.info->domain_attr->mr_mode & FI_MR_ENDPOINT);
	assert_string_equal(asked_node, "");
}

static const struct settings plain = {.addresses = ADDRESSES_AUTO}, forced = {.addresses = ADDRESSES_PUBLISHED};

/* What claim() and open() make of a user's wish. */
static void choose(const char *name, const struct settings *settings)
{
	struct ofi_profile chosen[OFI_PROFILES];

	assert_true(ofi_choose_profiles(name, chosen) > 0);
	ofi.profile = chosen[0];
	snprintf(ofi.provider, sizeof(ofi.provider), "%s", name);
	ofi_choose_ops(&ofi, settings);
}

static void addresses_that_need_publishing_are_refused_without_a_job(void **state)
{
	static const char *const names[] = {"efa", "cxi"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		choose(names[i], &plain);
		assert_int_equal(ofi_check_addresses(&ofi), -ENOTSUP);
		assert_non_null(strstr(ofi.refusals, names[i]));
	}
	assert_non_null(strstr(ofi.refusals, "PMIx"));
	choose("net", &forced);
	assert_int_equal(ofi_check_addresses(&ofi), -ENOTSUP);
	assert_non_null(strstr(ofi.refusals, "PTL_ADDRESSES"));
}

static void others_are_computed_unless_the_user_wants_it(void **state)
{
	static const char *const names[] = {"", "net", "tcp", "verbs", "udp", "exotic"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		choose(names[i], &plain);
		assert_int_equal(ofi_check_addresses(&ofi), 0);
		assert_ptr_equal(ofi.base.ops, &transport_ofi);
		choose(names[i], &forced);
		assert_ptr_equal(ofi.base.ops, &transport_ofi_published);
	}
	choose("shm", &forced); /* its names are ours */
	assert_int_equal(ofi_check_addresses(&ofi), 0);
	assert_ptr_equal(ofi.base.ops, &transport_ofi_shm);
}

/* ---- Publishing ---- */

enum { NAME_LENGTH = 32 };

static struct fid_ep endpoint;
static char memory[4096];
static uint8_t own_name[NAME_LENGTH] = "an endpoint's own name in 32 b.";

static struct {
	uint8_t bytes[ADDRESS_LENGTH_MAX]; /* published */
	size_t length;
	int lives, answer; /* of look_up(): a length or an error */
	uint32_t nid, pid;
	unsigned attempt;
	unsigned asked;
} book;

static int get_name(fid_t fid, void *address, size_t *length)
{
	assert_ptr_equal(fid, &endpoint.fid);
	assert_true(*length >= NAME_LENGTH);
	memcpy(address, own_name, NAME_LENGTH);
	*length = NAME_LENGTH;
	return 0;
}

/* The caller may own the engine: to be cancelled here would leave it without an owner. */
static void expect_no_cancellation(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcancelstate(state, NULL);
	assert_int_equal(state, PTHREAD_CANCEL_DISABLE);
}

static int book_publish(struct address_book *self, const void *address, size_t length)
{
	(void)self;
	memcpy(book.bytes, address, length);
	book.length = length;
	return book.lives++;
}

static int book_look_up(struct address_book *self, uint32_t nid, uint32_t pid, unsigned attempt, void *address)
{
	(void)self;
	expect_no_cancellation();
	book.nid = nid, book.pid = pid, book.attempt = attempt;
	book.asked++;
	if (book.answer > 0)
		memcpy(address, book.bytes, book.length);
	return book.answer;
}

static uint8_t inserted_name[NAME_LENGTH];
static int inserted, injected;
static fi_addr_t first_number;

static int insert_name(struct fid_av *av, const void *address, size_t count, fi_addr_t *number, uint64_t flags,
		       void *context)
{
	(void)av, (void)context;
	assert_int_equal(count, 1);
	assert_int_equal(flags, 0);
	expect_no_cancellation();
	memcpy(inserted_name, address, NAME_LENGTH);
	*number = first_number + (fi_addr_t)inserted++;
	return 1;
}

static ssize_t inject(struct fid_ep *ep, const void *bytes, size_t length, fi_addr_t to)
{
	(void)ep, (void)bytes, (void)length;
	assert_int_equal(to, 0);
	expect_no_cancellation();
	injected++;
	return 0;
}

static void open_published(const char *name)
{
	static struct address_book self = {.publish = book_publish, .look_up = book_look_up};
	static struct fi_ops_cm cm = {.size = sizeof(cm), .getname = get_name};
	static struct fi_ops_msg msg = {.size = sizeof(msg), .inject = inject};
	static struct fi_ops_av av_ops = {.size = sizeof(av_ops), .insert = insert_name};
	static struct fid_av av = {.ops = &av_ops};
	static struct ofi_operation slot;

	memset(&book, 0, sizeof(book));
	inserted = injected = 0;
	first_number = 0;
	choose(name, &plain);
	endpoint = (struct fid_ep){.cm = &cm, .msg = &msg};
	ofi.ep = &endpoint;
	ofi.av = &av;
	ofi.book = &self;
	ofi.free_slots = &slot;
	ofi.inject_size = 64;
	ofi.base.limits.short_max = 1024;
	assert_int_equal(ofi_check_addresses(&ofi), 0);
}

static void close_published(void)
{
	free(ofi.addresses);
	free(ofi.address_index);
	free(ofi.numbered);
}

static void an_endpoint_publishes_its_name_and_the_port_of_its_claim(void **state)
{
	(void)state;
	open_published("efa");
	assert_int_equal(ofi_publish(&ofi), 0);
	assert_int_equal(book.length, 2 + NAME_LENGTH);
	assert_int_equal(book.bytes[0] | book.bytes[1] << 8, 17000);
	assert_memory_equal(book.bytes + 2, own_name, NAME_LENGTH);
	assert_int_equal(ofi.base.ops->own_attempt(&ofi.base), 0);
	assert_int_equal(ofi_publish(&ofi), 0);
	assert_int_equal(ofi.base.ops->own_attempt(&ofi.base), 1); /* its second life */
	book.lives = -ENOSPC;
	assert_int_equal(ofi_publish(&ofi), -ENOSPC);
	close_published();
}

static void a_peer_is_sent_to_once_its_name_is_known(void **state)
{
	const struct transport_ops *ops;
	transport_address peer, other;

	(void)state;
	open_published("cxi");
	ops = ofi.base.ops;
	assert_ptr_equal(ops->poll, transport_ofi.poll); /* likewise not to be cancelled */
	assert_int_equal(ofi_publish(&ofi), 0);
	book.answer = -EAGAIN;
	assert_int_equal(ops->resolve(&ofi.base, 1, 70000, 0, &peer), 0);
	assert_int_equal(ops->send(&ofi.base, peer, "x", 1, NULL, 0), -EAGAIN);
	assert_int_equal(ops->read(&ofi.base, &(struct transport_read){.peer = peer, .local = memory, .length = 1}),
			 -EAGAIN);
	assert_int_equal(ops->probe(&ofi.base, peer), 0);
	assert_int_equal(inserted, 0);
	book.answer = (int)book.length;
	assert_int_equal(ops->send(&ofi.base, peer, "x", 1, NULL, 0), 0);
	assert_int_equal(book.nid, 1);
	assert_int_equal(book.pid, 70000);
	assert_memory_equal(inserted_name, own_name, NAME_LENGTH);
	assert_int_equal(ofi_source(&ofi, 0), peer);
	const unsigned asked = book.asked;
	assert_int_equal(ops->send(&ofi.base, peer, "y", 1, NULL, 0), 0);
	assert_int_equal(ops->resolve(&ofi.base, 1, 70000, 0, &other), 0);
	assert_int_equal(other, peer);
	assert_int_equal(book.asked, asked);
	assert_int_equal(inserted, 1);
	assert_int_equal(injected, 2);
	close_published();
}

static void a_process_has_an_address_for_each_life(void **state)
{
	transport_address first, second, twin;

	(void)state;
	open_published("efa");
	assert_int_equal(ofi_publish(&ofi), 0);
	book.answer = -EAGAIN;
	assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 2, 0, &first), 0);
	assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 2, 1, &second), -ENOENT); /* perhaps never */
	assert_int_equal(book.attempt, 1);
	book.answer = (int)book.length;
	assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 2, 1, &second), 0);
	assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 3, 0, &twin), 0);
	assert_int_not_equal(first, second);
	assert_int_not_equal(first, twin);
	assert_int_not_equal(second, twin);
	assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 2, ADDRESS_LIVES, &second), -ENOENT);
	close_published();
}

/* Another provider's, perhaps.  Ours would read behind the end of what is shorter. */
static void what_is_no_name_of_this_provider_is_not_shown_to_it(void **state)
{
	static const int lengths[] = {1, 2, 2 + NAME_LENGTH - 1, 2 + NAME_LENGTH + 1, ADDRESS_LENGTH_MAX};
	transport_address peer;

	(void)state;
	open_published("efa");
	assert_int_equal(ofi_publish(&ofi), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		book.answer = lengths[i];
		assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 2, 0, &peer), -EHOSTUNREACH);
	}
	assert_int_equal(inserted, 0);
	book.answer = 2 + NAME_LENGTH;
	first_number = UINT64_MAX - 1; /* no index of a table */
	assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 2, 0, &peer), -EHOSTUNREACH);
	assert_int_equal(inserted, 1);
	close_published();
}

static void nobody_of_the_job_is_unreachable(void **state)
{
	transport_address peer;

	(void)state;
	open_published("efa");
	book.answer = -EHOSTUNREACH;
	assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 2, 0, &peer), -EHOSTUNREACH);
	book.answer = -EAGAIN;
	assert_int_equal(ofi.base.ops->resolve(&ofi.base, 1, 2, 0, &peer), 0);
	book.answer = -EHOSTUNREACH; /* the last of the others has come */
	assert_int_equal(ofi.base.ops->send(&ofi.base, peer, "x", 1, NULL, 0), -EHOSTUNREACH);
	close_published();
}

/* ---- Registering ---- */

enum { GREATEST_KEYS = 16 };

static struct fid_mr region;
static uint64_t keys[GREATEST_KEYS]; /* asked for */
static int tries, refusals_left, register_error, bind_error;
static int bound, enabled, closed; /* in which order: 1, 2 ...; 0: not */
static int steps;

static int bind_region(struct fid *fid, struct fid *to, uint64_t flags)
{
	assert_ptr_equal(fid, &region.fid);
	assert_ptr_equal(to, &endpoint.fid);
	assert_int_equal(flags, 0);
	bound = ++steps;
	return bind_error;
}

static int control_region(struct fid *fid, int command, void *argument)
{
	assert_ptr_equal(fid, &region.fid);
	assert_int_equal(command, FI_ENABLE);
	(void)argument;
	enabled = ++steps;
	return 0;
}

static int close_region(struct fid *fid)
{
	assert_ptr_equal(fid, &region.fid);
	closed = ++steps;
	return 0;
}

static int register_region(struct fid *fid, const void *base, size_t length, uint64_t access, uint64_t offset,
			   uint64_t key, uint64_t flags, struct fid_mr **out, void *context)
{
	(void)fid, (void)context;
	assert_ptr_equal(base, memory);
	assert_int_equal(length, sizeof(memory));
	assert_int_equal(access, FI_REMOTE_READ);
	assert_int_equal(offset, 0);
	assert_int_equal(flags, 0);
	assert_in_range(tries, 0, GREATEST_KEYS - 1);
	keys[tries++] = key;
	if (refusals_left > 0) {
		refusals_left--;
		return -FI_ENOKEY;
	}
	if (register_error)
		return register_error;
	*out = &region;
	return 0;
}

static struct fi_ops region_ops = {
	.size = sizeof(region_ops), .close = close_region, .bind = bind_region, .control = control_region};
static struct fi_ops_mr mr_ops = {.size = sizeof(mr_ops), .reg = register_region};

/* A domain that registers as `offer` says. */
static void open_domain(const struct offer *offer)
{
	static struct fid_domain domain = {.mr = &mr_ops};

	offers[0] = offer;
	assert_non_null(found_for(offer->name));
	ofi.domain = &domain;
	ofi.ep = &endpoint;
	region = (struct fid_mr){.fid.ops = &region_ops, .key = 4711};
	tries = refusals_left = register_error = bind_error = bound = enabled = closed = steps = 0;
}

static void register_and_deregister(struct memory_region *seen)
{
	struct memory_region memory_region;

	assert_int_equal(ofi_register_memory(&ofi.base, memory, sizeof(memory), REGION_READ, &memory_region), 0);
	*seen = memory_region;
	assert_int_equal(closed, 0);
	ofi_deregister(&ofi.base, &memory_region);
	assert_int_equal(closed, steps);
}

static void a_region_is_bound_to_the_endpoint_and_then_enabled(void **state)
{
	struct memory_region seen;

	(void)state;
	open_domain(&cxi);
	register_and_deregister(&seen);
	assert_int_equal(bound, 1);
	assert_int_equal(enabled, 2);
	assert_int_equal(seen.address, 0); /* no FI_MR_VIRT_ADDR */
	ofi_memory_destroy(&ofi);
}

static void a_region_that_cannot_be_bound_is_closed(void **state)
{
	struct memory_region memory_region;

	(void)state;
	open_domain(&cxi);
	bind_error = -FI_EINVAL;
	assert_int_equal(ofi_register_memory(&ofi.base, memory, sizeof(memory), REGION_READ, &memory_region), -EINVAL);
	assert_int_equal(enabled, 0);
	assert_int_equal(closed, 2);
	assert_null(ofi.regions);
	ofi_memory_destroy(&ofi);
}

static void other_regions_are_neither_bound_nor_enabled(void **state)
{
	struct memory_region seen;

	(void)state;
	open_domain(&verbs);
	register_and_deregister(&seen);
	assert_int_equal(bound, 0);
	assert_int_equal(enabled, 0);
	assert_int_equal(seen.address, (uintptr_t)memory);
	assert_int_equal(seen.key, 4711);
	assert_int_equal(keys[0], 0); /* the provider's to choose */
	ofi_memory_destroy(&ofi);
}

static void keys_are_random_as_wide_as_they_may_be_and_tried_again(void **state)
{
	struct memory_region seen;
	uint64_t all = 0;

	(void)state;
	open_domain(&cxi);
	refusals_left = 3;
	register_and_deregister(&seen);
	assert_int_equal(tries, 4);
	for (int i = 0; i < tries; i++) {
		all |= keys[i];
		for (int k = 0; k < i; k++)
			assert_int_not_equal(keys[i], keys[k]); /* once in 2^32 runs or so they are */
	}
	assert_in_range(all, 1u << 16, UINT32_MAX);
	ofi_memory_destroy(&ofi);
}

/* The engine would take it for a full queue and try again for ever. */
static void no_memory_region_asks_to_be_tried_again(void **state)
{
	struct memory_region memory_region;

	(void)state;
	open_domain(&verbs);
	register_error = -FI_EAGAIN;
	assert_int_equal(ofi_register_memory(&ofi.base, memory, sizeof(memory), REGION_READ, &memory_region), -ENOMEM);
	register_error = -FI_EFAULT;
	assert_int_equal(ofi_register_memory(&ofi.base, memory, sizeof(memory), REGION_READ, &memory_region), -EFAULT);
	assert_null(ofi.regions);
	ofi_memory_destroy(&ofi);
}

/* ---- What the environment tells it ---- */

static const char *const variables[] = {"FI_MR_CACHE_MAX_COUNT", "FI_OFI_RXM_USE_SRX", "FI_UNIVERSE_SIZE"};
static const char *const unset[3];

/* Prepares beside a device (NULL: none) with these values of the user's, NULL: none. */
static void prepare(const char *provider, const char *device, const char *const user[3])
{
	char devices[] = "/tmp/portals3-devices-XXXXXX", path[64] = "";

	for (size_t i = 0; i < 3; i++) {
		unsetenv(variables[i]);
		if (user[i])
			setenv(variables[i], user[i], 1);
	}
	assert_non_null(mkdtemp(devices));
	if (device) {
		snprintf(path, sizeof(path), "%s/%s", devices, device);
		fclose(fopen(path, "w"));
	}
	ofi_prepare_verbs(provider, devices);
	if (device)
		unlink(path);
	rmdir(devices);
}

static void assert_variables(const char *const expected[3])
{
	for (size_t i = 0; i < 3; i++) {
		const char *value = getenv(variables[i]);

		assert_string_equal(value ? value : "unset", expected[i] ? expected[i] : "unset");
	}
}

static void verbs_is_prepared_where_there_is_a_device(void **state)
{
	const char *const hca[3] = {"0", "1", NULL}, *const soft[3] = {"0", "1", "127"};

	(void)state;
	prepare("", "mlx5_0", unset);
	assert_variables(hca);
	prepare("verbs", "rxe0", unset);
	assert_variables(soft);
	prepare("verbs;ofi_rxd", "mlx5_0", unset);
	assert_variables(hca);
}

/* Another library in the process, or in its children, goes by the same variables. */
static void nothing_is_prepared_for_verbs_that_is_not_there_or_not_wanted(void **state)
{
	(void)state;
	prepare("", NULL, unset);
	assert_variables(unset);
	prepare("tcp", "mlx5_0", unset);
	assert_variables(unset);
	ofi_prepare_verbs("", "/nowhere/infiniband");
	assert_variables(unset);
}

static void what_the_user_says_about_verbs_stays(void **state)
{
	const char *const user[3] = {"1024", "0", "16"};

	(void)state;
	prepare("", "rxe0", user);
	assert_variables(user);
}

/* ---- Receiving ---- */

static struct fi_cq_data_entry completion; /* to be read next, if it has a context */
static int posts_refused, buffers_posted;
static void *oldest_buffer;

static ssize_t post_receive(struct fid_ep *to, const struct fi_msg *message, uint64_t flags)
{
	assert_ptr_equal(to, &endpoint);
	assert_int_equal(flags, FI_MULTI_RECV);
	if (posts_refused > 0) {
		posts_refused--;
		return -FI_EAGAIN;
	}
	if (buffers_posted++ == 0)
		oldest_buffer = message->context;
	return 0;
}

static ssize_t read_queue(struct fid_cq *queue, void *entries, size_t count, fi_addr_t *sources)
{
	(void)queue, (void)count;
	if (!completion.op_context)
		return -FI_EAGAIN;
	memcpy(entries, &completion, sizeof(completion));
	sources[0] = 0;
	completion.op_context = NULL;
	return 1;
}

static struct fi_ops_msg message_ops = {.size = sizeof(message_ops), .recvmsg = post_receive};
static struct fi_ops_cq queue_ops = {.size = sizeof(queue_ops), .readfrom = read_queue};

/* An endpoint that has none left is deaf, and nothing else would make it look again. */
static void a_buffer_that_was_refused_is_offered_again(void **state)
{
	struct fid_cq queue = {.ops = &queue_ops};

	(void)state;
	endpoint = (struct fid_ep){.msg = &message_ops};
	ofi = (struct ofi){.ep = &endpoint, .cq = &queue, .library = &library, .profile.name = "none"};
	posts_refused = buffers_posted = 0;
	assert_int_equal(ofi_buffers_create(&ofi), 0);
	assert_int_equal(buffers_posted, OFI_BUFFERS);
	completion = (struct fi_cq_data_entry){.op_context = oldest_buffer, .flags = FI_RECV | FI_MULTI_RECV};
	posts_refused = 2;
	assert_true(ofi_poll(&ofi.base, 16) >= 0);
	assert_int_equal(buffers_posted, OFI_BUFFERS);
	assert_true(ofi_poll(&ofi.base, 16) >= 0);
	assert_true(ofi_poll(&ofi.base, 16) >= 0);
	assert_true(ofi_poll(&ofi.base, 16) >= 0);
	assert_int_equal(buffers_posted, OFI_BUFFERS + 1);
	ofi_buffers_destroy(&ofi);
	endpoint = (struct fid_ep){0};
	ofi = (struct ofi){0};
}

/* ---- What fails, and what is lacking ---- */

/* Whatever a connection can end with may pass; what is refused because of the call itself does not. */
static void what_connections_end_with_is_tried_again(void **state)
{
	static const int passing[] = {EAGAIN,        ENOBUFS,   ENOMEM,    EBUSY,       EMFILE,       ENFILE,
				      EADDRNOTAVAIL, EINTR,     EALREADY,  EINPROGRESS, ENOTCONN,     ENOENT,
				      ECONNREFUSED,  EHOSTDOWN, EPIPE,     ECONNRESET,  ECONNABORTED, ENETRESET,
				      ESHUTDOWN,     ETIMEDOUT, ECANCELED, ENETDOWN,    ENETUNREACH,  EHOSTUNREACH};
	static const int lasting[] = {EINVAL, EMSGSIZE, EOPNOTSUPP, EACCES, EPERM, EFAULT, EIO, FI_ETRUNC, FI_ENOAV};

	(void)state;
	ofi.library = &library;
	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		assert_int_equal(ofi_post_error(&ofi, "a send", 0, -passing[i]), -EAGAIN);
	for (size_t i = 0; i < sizeof(lasting) / sizeof(*lasting); i++)
		assert_int_equal(ofi_post_error(&ofi, "a send", 0, -lasting[i]), -EHOSTUNREACH);
}

#define SERVED (-1)

static int kernel_says;

static ssize_t answer_read(struct fid_ep *of, const struct fi_msg_rma *message, uint64_t flags)
{
	(void)of, (void)message, (void)flags;
	errno = kernel_says;
	return kernel_says == SERVED ? 0 : -FI_EAGAIN;
}

static void read_ended(void *owner, void *context, int status)
{
	(void)owner, (void)context, (void)status;
}

/*
 * It says EAGAIN of whatever the kernel has refused, and of a lack of room.  A first EPERM may be of its own test of reading, also
 * after a read that was served: the peer may have begun anew.
 */
static void what_the_kernel_refuses_shm_for_good_ends_the_read(void **state)
{
	static const struct {
		int says, means;
	} cases[] = {{0, -EAGAIN},     {EAGAIN, -EAGAIN},       {ENOMEM, -EAGAIN},
		     {EINTR, -EAGAIN}, {EFAULT, -EHOSTUNREACH}, {EPERM, -EAGAIN},
		     {SERVED, 0},      {EPERM, -EAGAIN},        {0, -EAGAIN},
		     {EPERM, -EAGAIN}, {EPERM, -EHOSTUNREACH},  {ESRCH, -ECONNRESET}};
	struct fi_ops_rma rma_ops = {.readmsg = answer_read};
	static const struct transport_sink sink = {.rdma_done = read_ended};
	struct ofi_address peer = {0};

	(void)state;
	endpoint = (struct fid_ep){.rma = &rma_ops};
	ofi = (struct ofi){.sink = &sink,
			   .ep = &endpoint,
			   .library = &library,
			   .profile = {.name = "shm", .lone_rma = true},
			   .addresses = &peer,
			   .address_count = 1,
			   .outstanding_max = 1,
			   .rma_greatest = 1};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct transport_read read = {.local = memory, .length = 1};

		kernel_says = cases[i].says;
		assert_int_equal(ofi_read(&ofi.base, &read), cases[i].means);
		if (ofi.lone_rma)
			ofi_rma_done(&ofi, ofi.lone_rma, 0);
	}
	ofi_rma_destroy(&ofi);
	endpoint = (struct fid_ep){0};
	ofi = (struct ofi){0};
}

static ssize_t take_read(struct fid_ep *of, const struct fi_msg_rma *message, uint64_t flags)
{
	(void)of, (void)flags;
	*(struct ofi_operation **)message->msg_iov->iov_base = message->context;
	return 0;
}

enum { ROOM = 64, PIECE = 4096, OWN = 2 * PIECE, STREAM = 16 * PIECE };

/* Reads of a piece each in a window of that size, until one is refused; they end when they have taken so long. */
static unsigned reads_at_once(uint64_t wanted, uint64_t took)
{
	static struct ofi_operation *taken[ROOM][PIECE / sizeof(struct ofi_operation *)];
	unsigned count = 0;

	for (; count < ROOM; count++) {
		const struct transport_read read = {.local = taken[count], .length = PIECE, .window = wanted};

		if (ofi_read(&ofi.base, &read) != 0)
			break;
	}
	for (unsigned i = 0; i < count; i++) {
		taken[i][0]->began -= took;
		ofi_rma_done(&ofi, taken[i][0], 0);
	}
	return count;
}

static void a_stream_has_as_much_in_flight_as_it_takes_no_time_to_wait_for(void **state)
{
	enum { SECOND = 1000000000 };
	struct fi_ops_rma rma_ops = {.readmsg = take_read};
	static const struct transport_sink sink = {.rdma_done = read_ended};
	struct ofi_address peer = {0};
	unsigned count = 0;

	(void)state;
	endpoint = (struct fid_ep){.rma = &rma_ops};
	ofi = (struct ofi){.sink = &sink,
			   .ep = &endpoint,
			   .library = &library,
			   .profile = {.name = "net", .stream_window = STREAM},
			   .addresses = &peer,
			   .address_count = 1,
			   .outstanding_max = ROOM,
			   .rma_window = OWN,
			   .rma_greatest = PIECE};
	assert_int_equal(reads_at_once(STREAM, SECOND), OWN / PIECE);
	assert_int_equal(reads_at_once(STREAM, SECOND), OWN / PIECE);
	/* A busy machine may make a read late. */
	for (unsigned rounds = 0; count < STREAM / PIECE && rounds < 1000; rounds++)
		count = reads_at_once(STREAM, 0);
	assert_int_equal(count, STREAM / PIECE);
	peer.rma_bound = STREAM;
	assert_int_equal(reads_at_once(0, 0), OWN / PIECE);
	peer.rma_bound = STREAM;
	assert_int_equal(reads_at_once(STREAM, SECOND), STREAM / PIECE);
	assert_int_equal(reads_at_once(STREAM, SECOND), OWN / PIECE);
	ofi_rma_destroy(&ofi);
	endpoint = (struct fid_ep){0};
	ofi = (struct ofi){0};
}

/* As if a provider listened on a port of the loopback, where a client has connected and was not accepted yet. */
struct place {
	struct sockaddr_in name;
	int listener, outsider;
};

static struct place listen_somewhere(void)
{
	struct place place = {.name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
	struct sockaddr *name = (struct sockaddr *)&place.name;
	socklen_t length = sizeof(place.name);

	place.listener = socket(AF_INET, SOCK_STREAM, 0);
	place.outsider = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(place.listener, name, length), 0);
	assert_int_equal(listen(place.listener, 4), 0);
	assert_int_equal(getsockname(place.listener, name, &length), 0);
	assert_int_equal(connect(place.outsider, name, length), 0);
	ofi = (struct ofi){.nid = INADDR_LOOPBACK,
			   .port = ntohs(place.name.sin_port),
			   .listener_fd = -1,
			   .edge_fd = -1,
			   .profile.tcp_sockets = true};
	return place;
}

static void close_place(const struct place *place)
{
	close(place->listener);
	close(place->outsider);
	ofi = (struct ofi){0};
}

/* What has come to it has the same name. */
static void the_listener_is_the_socket_that_listens(void **state)
{
	struct place place = listen_somewhere();
	int came = accept(place.listener, NULL, NULL);

	(void)state;
	assert_true(came > place.listener);
	ofi_note_listener(&ofi);
	assert_int_equal(ofi.listener_fd, place.listener);
	assert_true(fcntl(came, F_GETFD) & FD_CLOEXEC);
	close(came);
	close_place(&place);
}

static unsigned attempts_to_sleep;

static int try_to_sleep(struct fid_fabric *of, struct fid **fids, int count)
{
	(void)of, (void)fids, (void)count;
	attempts_to_sleep++;
	return 0;
}

static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops), .trywait = try_to_sleep};

static unsigned attempts_to_take(void)
{
	attempts_to_sleep = 0;
	ofi_take_connections(&ofi);
	return attempts_to_sleep;
}

/* They stay in the queue, so each of many looks a poll would find them there again. */
static void no_connection_is_taken_where_no_descriptor_is_left(void **state)
{
	struct place place = listen_somewhere();
	struct fid_fabric fabric = {.ops = &fabric_ops};
	struct fid_cq queue = {.ops = NULL};
	struct rlimit limit, none;

	(void)state;
	ofi.listener_fd = place.listener;
	ofi.fabric = &fabric;
	ofi.cq = &queue;
	assert_true(attempts_to_take() > 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	/* One is what poll() wants. */
	none = (struct rlimit){.rlim_cur = 1, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	unsigned attempts = attempts_to_take();

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(attempts, 0);
	close_place(&place);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, clear, release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(net_is_net_in_1_17),
		ROW(net_is_tcp_itself_from_1_18_on),
		ROW(tcp_that_is_not_a_datagram_provider_is_not_net),
		ROW(tcp_is_rxm_whatever_stands_before_it),
		ROW(a_full_name_is_taken_at_its_word),
		ROW(the_best_is_verbs_before_tcp_and_nothing_else),
		ROW(an_address_of_ours_is_asked_for),
		ROW(verbs_gets_its_registration_modes),
		ROW(a_small_greatest_message_bounds_the_short_ones),
		ROW(efa_is_found_by_its_addresses_without_order_behind_writes),
		ROW(cxi_is_found_by_its_addresses_and_endpoint_registration),
		ROW(addresses_that_need_publishing_are_refused_without_a_job),
		ROW(others_are_computed_unless_the_user_wants_it),
		ROW(an_endpoint_publishes_its_name_and_the_port_of_its_claim),
		ROW(a_peer_is_sent_to_once_its_name_is_known),
		ROW(a_process_has_an_address_for_each_life),
		ROW(what_is_no_name_of_this_provider_is_not_shown_to_it),
		ROW(nobody_of_the_job_is_unreachable),
		ROW(a_region_is_bound_to_the_endpoint_and_then_enabled),
		ROW(a_region_that_cannot_be_bound_is_closed),
		ROW(other_regions_are_neither_bound_nor_enabled),
		ROW(no_memory_region_asks_to_be_tried_again),
		ROW(keys_are_random_as_wide_as_they_may_be_and_tried_again),
		cmocka_unit_test(a_buffer_that_was_refused_is_offered_again),
		cmocka_unit_test(what_connections_end_with_is_tried_again),
		cmocka_unit_test(what_the_kernel_refuses_shm_for_good_ends_the_read),
		cmocka_unit_test(a_stream_has_as_much_in_flight_as_it_takes_no_time_to_wait_for),
		cmocka_unit_test(the_listener_is_the_socket_that_listens),
		cmocka_unit_test(no_connection_is_taken_where_no_descriptor_is_left),
		cmocka_unit_test(verbs_is_prepared_where_there_is_a_device),
		cmocka_unit_test(nothing_is_prepared_for_verbs_that_is_not_there_or_not_wanted),
		cmocka_unit_test(what_the_user_says_about_verbs_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
