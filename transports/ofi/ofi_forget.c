/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that the engine has taken back: when an entry and the provider's number are somebody else's.
 *
 * WHO OWNS WHAT.  The engine owns an entry from resolve() to its last forget() (`uses`).  After that the entry is ours: it
 * is queued in `unused`, oldest first, and resolve() may still find it.  Who is tried at one candidate port after the
 * other, and an unverified peer that repeats itself, are resolved again soon; whoever comes from an address that we do
 * not know is refused in the name of a peer whose source has been shown, until it repeats itself within a second and
 * its source is known (introduce() in contact.c).  So OFI_UNUSED_KEPT of them stay, more than unverified peers are
 * answered in that time (in unverified.c: unverified_affordable()).  The oldest of more than that are freed by poll().
 *
 * WHO STILL NAMES AN ENTRY.  Sends and reads that the provider has yet to end: they keep it (`sends`, `rma_bytes`), as does
 * the search for its connection (`suspect`).  Whoever was lost last (ofi.suspect) is looked after no longer.
 * Refusals of probes name a port and a number that no other probe had.  Nothing else does, so that an index needs no
 * generation.
 *
 * WHEN A NUMBER IS FREE.  The provider goes on to name what comes over an open connection by the number that its address had,
 * also after fi_av_remove(), and the next fi_av_insert() gives that number to somebody else.  Nobody can tell for
 * certain that the connection is closed: whoever was forgotten may live, or have left it to a child, and which
 * connection that came to us is whose is unknown (ofi_sockets.c).  But fi_av_insert() renames the connections of the
 * address that it inserts, and it gives the lowest number that is free.  So one number is a grave, whose messages are from
 * nobody (TRANSPORT_ADDRESS_UNKNOWN), held by an address where no peer can be:
 *
 *	remove the address; remove the grave's; insert the address: it has the number of the grave, and so have its
 *	connections; remove it; insert the grave's again.
 *
 * Now the former number means nobody.  What was read before with that number is in the completion queue, if anywhere: so
 * that is only done when the queue has been found empty and nothing of it is kept (`stash`).  A message that is half
 * received then, or waits for a buffer, is named when it completes.
 *
 * WHICH LATE MESSAGE COULD NAME IT.  One of whoever was forgotten comes from nobody, as that of somebody who was never
 * resolved does.  Its HELLO is a newcomer's: it says what it says of itself, the answer goes to the address of that name,
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

#define GRAVE_PORT       1                 /* no candidate of anybody */
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

static void append(struct ofi *ofi, uint32_t index)
{
	struct ofi_address *address = &ofi->addresses[index];

	address->queued = true;
	address->next = 0;
	if (ofi->unused_first)
		ofi->addresses[ofi->unused_last - 1].next = index + 1;
	else
		ofi->unused_first = index + 1;
	ofi->unused_last = index + 1;
	ofi->unused_count++;
}

static uint32_t take_first(struct ofi *ofi)
{
	uint32_t index = ofi->unused_first - 1;

	ofi->unused_first = ofi->addresses[index].next;
	ofi->addresses[index].queued = false;
	ofi->unused_count--;
	return index;
}

void ofi_forget(struct transport *transport, transport_address index)
{
	struct ofi *ofi = ofi_of(transport);
	struct ofi_address *address = &ofi->addresses[index];

	if (--address->uses == 0 && !address->queued && ofi->grave != FI_ADDR_NOTAVAIL)
		append(ofi, (uint32_t)index);
}

/* Whether the address is in the grave, and the grave is the grave's own again. */
static bool lay_in_grave(struct ofi *ofi, uint32_t index)
{
	const struct ofi_address *address = &ofi->addresses[index];
	fi_addr_t former = address->number, grave = ofi->grave;

	if (former == FI_ADDR_NOTAVAIL)
		return true;
	ofi_number_address(ofi, index, FI_ADDR_NOTAVAIL);
	fi_av_remove(ofi->av, &former, 1, 0);
	fi_av_remove(ofi->av, &grave, 1, 0);
	fi_addr_t number = insert(ofi, address->nid, address->port);

	if (number == grave)
		fi_av_remove(ofi->av, &number, 1, 0);
	else
		ofi_number_address(ofi, index, number);
	ofi->grave = insert(ofi, ofi->nid, GRAVE_PORT);
	return number == grave && ofi->grave == grave;
}

/* The provider numbers otherwise than we know it: those that are queued stay so, and nothing is any more. */
static void keep_all(struct ofi *ofi)
{
	ofi->grave = FI_ADDR_NOTAVAIL;
	ofi->unused_count = 0;
}

static bool is_held(const struct ofi_address *address)
{
	return address->sends > 0 || address->rma_bytes > 0 || address->suspect != 0;
}

void ofi_reap_unused(struct ofi *ofi)
{
	for (int i = 0; i < REAPED_AT_A_TIME && ofi->unused_count > OFI_UNUSED_KEPT; i++) {
		uint32_t index = take_first(ofi);

		if (ofi->addresses[index].uses > 0)
			continue;
		if (is_held(&ofi->addresses[index])) {
			append(ofi, index);
			continue;
		}
		if (ofi->suspicion && ofi->suspect == index)
			ofi->suspicion = 0;
		if (!lay_in_grave(ofi, index)) {
			keep_all(ofi);
			return;
		}
		ofi_free_address(ofi, index);
	}
}
