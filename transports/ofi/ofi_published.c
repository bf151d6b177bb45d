/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that do not follow from (nid, pid): the provider chooses them when the endpoint is enabled (efa, cxi), so
 * each process publishes its own in its job's address book and looks up its peers'.
 *
 * A process that opens its interface again has another address under the same (nid, pid).  So the attempts of resolve()
 * are its lives here: 0 is what it published first, 1 what it published then.  The engine tries them in turn, as it does
 * the candidate ports of others, and HELLO says which one is right.
 *
 * NOTHING WAITS.  resolve() gives a peer its index at once, and asks the book; the provider gets to know the address in
 * whichever send() or resolve() finds that the answer has come.  Until then send() says -EAGAIN, which the engine repeats
 * until PTL_CONNECT_TIMEOUT, as for any peer that is not there yet.
 *
 * The (nid, pid) is claimed as everywhere.  The port that its claim holds is published with the address: what probes are
 * sent to has nothing to do with the provider.
 *
 * tcp and net can be told to do so too (PTL_ADDRESSES=published), which is how this is tested: they then listen at a port
 * that the kernel chose.
 */
#include "transports/ofi/ofi_published.h"
#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_common.h"
#include "transports/ofi/ofi_provider.h"
#include "transports/ofi/ofi_table.h"

#define PORT_BYTES 2 /* before the provider's own, least significant first */

int ofi_publish(struct ofi *ofi)
{
	uint8_t bytes[ADDRESS_LENGTH_MAX] = {(uint8_t)ofi->port, (uint8_t)(ofi->port >> 8)};
	size_t length = sizeof(bytes) - PORT_BYTES;
	int rc = fi_getname(&ofi->ep->fid, bytes + PORT_BYTES, &length);

	if (rc)
		return ofi_refuse_step(ofi, "fi_getname", rc);
	ofi->name_length = length;
	int life = ofi->book->publish(ofi->book, bytes, PORT_BYTES + length);
	if (life < 0)
		return ofi_refuse(ofi, life, "its address cannot be published: %s", report_last_error());
	ofi->life = (unsigned)life;
	return 0;
}

/* The provider reads as much as its names are long. */
static int insert(struct ofi *ofi, transport_address index, const uint8_t *bytes, size_t length)
{
	struct ofi_address *address = &ofi->addresses[index];

	if (length != PORT_BYTES + ofi->name_length)
		return report_error(-EHOSTUNREACH,
				    "process " ID_TEXT
				    " published %zu bytes as its address, %s's has %zu: is its provider "
				    "the same (PTL_TRANSPORT)?",
				    NID_PARTS(address->nid), address->pid, length, ofi->profile.name,
				    PORT_BYTES + ofi->name_length);
	int rc = ofi_insert_address(ofi, index, bytes + PORT_BYTES);

	if (rc)
		return report_error(-EHOSTUNREACH, "%s refuses the address that process " ID_TEXT " published: %s",
				    ofi->profile.name, NID_PARTS(address->nid), address->pid, strerror(-rc));
	address->port = (uint16_t)(bytes[0] | bytes[1] << 8);
	return 0;
}

/* 0: the provider knows it from now on; or what the book says, which asks the launcher: that enters the kernel. */
static int look_up(struct ofi *ofi, transport_address index)
{
	UNCANCELLED;
	const struct ofi_address *address = &ofi->addresses[index];
	uint8_t bytes[ADDRESS_LENGTH_MAX];
	int length = ofi->book->look_up(ofi->book, address->nid, address->pid, address->life, bytes);

	if (length < 0)
		return length;
	return insert(ofi, index, bytes, (size_t)length);
}

/* Of a second life it is not known whether there was one: it exists once it has been found. */
static int resolve(struct transport *transport, uint32_t nid, uint32_t pid, unsigned attempt, transport_address *out)
{
	struct ofi *ofi = ofi_of(transport);

	if (attempt >= ADDRESS_LIVES)
		return -ENOENT;
	int rc = ofi_make_published(ofi, nid, pid, attempt, out);
	if (rc || ofi->addresses[*out].number != FI_ADDR_NOTAVAIL)
		return rc;
	rc = look_up(ofi, *out);
	if (rc == -EAGAIN)
		return attempt == 0 ? 0 : -ENOENT;
	return rc;
}

static unsigned own_attempt(const struct transport *transport)
{
	return ((const struct ofi *)(const void *)transport)->life;
}

/* 0: the provider knows where it is. */
static int reach(struct ofi *ofi, transport_address to)
{
	if (unlikely(to >= ofi->address_count))
		return -EHOSTUNREACH;
	return likely(ofi->addresses[to].number != FI_ADDR_NOTAVAIL) ? 0 : look_up(ofi, to);
}

static int send_published(struct transport *transport, transport_address to, const void *header, size_t header_length,
			  const struct iovec *payload, int count)
{
	int rc = reach(ofi_of(transport), to);

	return unlikely(rc) ? rc : ofi_send_uncancelled(transport, to, header, header_length, payload, count);
}

static int read_published(struct transport *transport, const struct transport_read *read)
{
	int rc = reach(ofi_of(transport), read->peer);

	return rc ? rc : ofi_read_uncancelled(transport, read);
}

/* What it holds of the kernel's is not known by any address of ours: connections are left to the provider. */
const struct transport_ops transport_ofi_published = {
	OFI_SOCKET_OPS, .resolve = resolve, .own_attempt = own_attempt, .send = send_published, .read = read_published,
};
