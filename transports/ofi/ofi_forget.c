/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that the engine has taken back: when an entry and the provider's number become another peer's.
 *
 * OWNERSHIP.  The engine owns an entry from resolve() to its last forget() (`uses`).  After that the entry is ours: it
 * is queued in `unused` in the order of these, and resolve() may still find it and takes it out.  A peer that is tried at one candidate
 * port after the other, and an unverified peer that repeats itself, are resolved again soon; a peer from an address that we
 * do not know is refused in the name of a peer whose source has been shown, until it repeats itself within a second and
 * its source is known (introduce() in contact.c).  So OFI_UNUSED_KEPT of them stay, more than unverified peers are
 * answered in that time (in unverified.c: unverified_affordable()).  The oldest of more than that are freed by poll().
 *
 * WHAT STILL NAMES AN ENTRY.  Sends and reads that the provider has yet to end: they keep it (`sends`, `rma_bytes`), as does
 * the search for its connection (`suspect`).  The peer that was lost last (ofi.suspect) is looked after no longer.
 * Refusals of probes name a port and a number that no other probe had.  Nothing else does, so that an index needs no
 * generation.
 *
 * WHEN A NUMBER IS FREE.  The provider goes on to name what comes over an open connection by the number that its address had,
 * also after fi_av_remove(), and the next fi_av_insert() gives that number to another peer.  There is no certain
 * sign that the connection is closed: the forgotten process may live, or have left it to a child, and the owner of a
 * connection that came to us is unknown (ofi_sockets.c).  But fi_av_insert() renames the connections of the
 * address that it inserts, and it gives the lowest number that is free.  So one number is a grave, whose messages are from
 * no known peer (TRANSPORT_ADDRESS_UNKNOWN), held by an address where no peer can be:
 *
 *	remove the address; remove the grave's; insert the address: it has the number of the grave, and so have its
 *	connections; remove it; insert the grave's again.
 *
 * Should the provider have no memory for one of the two insertions, connections are left with a number that is free, and whatever
 * is inserted next would have it.  So nothing is (`half_reaped`): resolve() refuses, and poll() tries again.
 *
 * Now the former number names no peer.  What was read before with that number is in the completion queue, if anywhere: so
 * that is only done when the queue has been found empty and nothing of it is kept (`stash`).  A message that is half
 * received then, or waits for a buffer, is named when it completes.
 *
 * WHICH LATE MESSAGE COULD NAME IT.  One of a forgotten process has no known source, as that of a process that was never
 * resolved.  Its HELLO is a newcomer's: it says what it says of itself, the answer goes to the address of that name,
 * and in the name of a peer that has been heard from its own address it is refused.  resolve() of its address
 * renames the connection, and from then on its messages have a source again.  Anything else needs the tags of a
 * conversation that is going on, and of its own there is none.
 *
 * All this was found out by trying libfabric 1.17 (tcp;ofi_rxm and net): removal with the connection open, made by
 * either side, being made, or refused; with sends queued, messages half received or without a buffer; the same address
 * coming again, at once and later.  Of other versions nothing is known, there addresses are kept: at most one for each
 * port of each host.  A number other than the grave's ends it as well.
 */
#include "transports/ofi/ofi_forget.h"
#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_table.h"

#define GRAVE_PORT       1                 /* no candidate of any process */
#define TRIED            FI_VERSION(1, 17) /* of libfabric */
#define REAPED_AT_A_TIME 16

static fi_addr_t insert(struct ofi *ofi, uint32_t nid, uint16_t port)
{
	struct sockaddr_in name = ofi_socket_address(nid, port);
	fi_addr_t number = FI_ADDR_NOTAVAIL;

	return fi_av_insert(ofi->av, &name, 1, &number, 0, NULL) == 1 ? number : FI_ADDR_NOTAVAIL;
}

void ofi_dig_grave(struct ofi *ofi)
{
	bool possible = ofi->profile.renames && !ofi->published && ofi->library->version() == TRIED;

	ofi->grave = possible ? insert(ofi, ofi->nid, GRAVE_PORT) : FI_ADDR_NOTAVAIL;
}

/* --- the order in which they were forgotten --- */

static uint32_t *link_to(struct ofi *ofi, uint32_t index_after)
{
	return index_after ? &ofi->addresses[index_after - 1].next : &ofi->unused_first;
}

static uint32_t *link_back_to(struct ofi *ofi, uint32_t index_after)
{
	return index_after ? &ofi->addresses[index_after - 1].previous : &ofi->unused_last;
}

static void append(struct ofi *ofi, uint32_t index)
{
	struct ofi_address *address = &ofi->addresses[index];

	address->queued = true;
	address->next = 0;
	address->previous = ofi->unused_last;
	*link_to(ofi, address->previous) = index + 1;
	ofi->unused_last = index + 1;
	ofi->unused_count++;
}

static void take_out(struct ofi *ofi, uint32_t index)
{
	struct ofi_address *address = &ofi->addresses[index];

	address->queued = false;
	*link_to(ofi, address->previous) = address->next;
	*link_back_to(ofi, address->next) = address->previous;
	ofi->unused_count--;
}

void ofi_use(struct ofi *ofi, transport_address index)
{
	if (ofi->addresses[index].queued)
		take_out(ofi, (uint32_t)index);
	ofi->addresses[index].uses++;
}

void ofi_forget(struct transport *transport, transport_address index)
{
	struct ofi *ofi = ofi_of(transport);

	if (--ofi->addresses[index].uses == 0 && ofi->grave != FI_ADDR_NOTAVAIL)
		append(ofi, (uint32_t)index);
}

/* --- the end of an entry --- */

/*
 * 0: the address has no number any more, and what comes over its connections has no source; -ENOMEM: not yet, it is half
 * reaped; -EIO: the provider numbers otherwise than we know it.
 */
static int reap_number(struct ofi *ofi, uint32_t index)
{
	const struct ofi_address *address = &ofi->addresses[index];
	fi_addr_t former = address->number, grave = ofi->grave;

	if (!ofi->half_reaped) {
		if (former == FI_ADDR_NOTAVAIL)
			return 0;
		ofi_number_address(ofi, index, FI_ADDR_NOTAVAIL);
		fi_av_remove(ofi->av, &former, 1, 0);
		fi_av_remove(ofi->av, &grave, 1, 0);
		ofi->half_reaped = true;
	}
	fi_addr_t number = insert(ofi, address->nid, address->port);

	if (number == FI_ADDR_NOTAVAIL)
		return -ENOMEM;
	if (number != grave) {
		ofi_number_address(ofi, index, number);
		return -EIO;
	}
	fi_av_remove(ofi->av, &number, 1, 0);
	number = insert(ofi, ofi->nid, GRAVE_PORT);
	if (number == FI_ADDR_NOTAVAIL)
		return -ENOMEM;
	ofi->half_reaped = false;
	return number == grave ? 0 : -EIO;
}

/* The provider numbers otherwise than we know it: nothing is forgotten any more. */
static void keep_all(struct ofi *ofi)
{
	ofi->grave = FI_ADDR_NOTAVAIL;
	ofi->half_reaped = false;
	while (ofi->unused_first)
		take_out(ofi, ofi->unused_first - 1);
}

static bool is_held(const struct ofi_address *address)
{
	return address->sends > 0 || address->rma_bytes > 0 || address->suspect != 0;
}

void ofi_reap_unused(struct ofi *ofi)
{
	for (int i = 0; i < REAPED_AT_A_TIME && ofi->unused_count > OFI_UNUSED_KEPT; i++) {
		uint32_t index = ofi->unused_first - 1;

		if (is_held(&ofi->addresses[index])) {
			take_out(ofi, index);
			append(ofi, index);
			continue;
		}
		if (ofi->suspicion && ofi->suspect == index)
			ofi->suspicion = 0;
		int rc = reap_number(ofi, index);

		if (rc == -ENOMEM)
			return;
		if (rc) {
			keep_all(ofi);
			return;
		}
		take_out(ofi, index);
		ofi_free_address(ofi, index);
	}
}
