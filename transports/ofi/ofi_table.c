/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses that are known: by what tells them apart, by their index, which is the transport_address, and by the
 * provider's number.  An entry lives as long as the engine uses it, and ofi_forget.c says how it ends.
 */
#include <stdlib.h>

#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_table.h"

#define ADDRESSES_FIRST  64
#define ADDRESS_GREATEST (1u << 24)

/* What tells addresses apart: where they are computed pid and life are 0, where they are published the port is. */
struct place {
	uint32_t nid, pid;
	uint16_t port;
	uint8_t life;
};

static struct place place_of(const struct ofi *ofi, const struct ofi_address *address)
{
	return (struct place){address->nid, address->pid, ofi->published ? 0 : address->port, address->life};
}

static uint32_t *index_slot(const struct ofi *ofi, struct place wanted)
{
	size_t mask = ofi->address_index_size - 1;
	uint32_t hash = ofi_mix(wanted.nid * 31 + wanted.port + ofi_mix(wanted.pid * ADDRESS_LIVES + wanted.life));

	for (size_t at = hash & mask;; at = (at + 1) & mask) {
		uint32_t entry = ofi->address_index[at];
		if (!entry)
			return &ofi->address_index[at];
		struct place place = place_of(ofi, &ofi->addresses[entry - 1]);
		if (place.nid == wanted.nid && place.port == wanted.port && place.pid == wanted.pid &&
		    place.life == wanted.life)
			return &ofi->address_index[at];
	}
}

static struct ofi_address *find_place(const struct ofi *ofi, struct place place)
{
	uint32_t entry = ofi->address_index_size ? *index_slot(ofi, place) : 0;
	return entry ? &ofi->addresses[entry - 1] : NULL;
}

struct ofi_address *ofi_find_address(const struct ofi *ofi, uint32_t nid, uint16_t port)
{
	return find_place(ofi, (struct place){.nid = nid, .port = port});
}

/* The table, with room for one more behind the last, or NULL; no entry is free.  The hash stays at most half full. */
static struct ofi_address *grow_addresses(struct ofi *ofi)
{
	if (ofi->address_count < ofi->address_room)
		return ofi->addresses;
	size_t room = ofi->address_room ? ofi->address_room * 2 : ADDRESSES_FIRST;
	struct ofi_address *addresses = realloc(ofi->addresses, room * sizeof(*addresses));
	if (!addresses)
		return NULL;
	memset(addresses + ofi->address_room, 0, (room - ofi->address_room) * sizeof(*addresses));
	ofi->addresses = addresses;
	uint32_t *index = calloc(room * 2, sizeof(*index));
	if (!index)
		return NULL;
	free(ofi->address_index);
	ofi->address_index = index;
	ofi->address_index_size = room * 2;
	ofi->address_room = room;
	for (size_t i = 0; i < ofi->address_count; i++)
		*index_slot(ofi, place_of(ofi, &addresses[i])) = (uint32_t)i + 1;
	return addresses;
}

/* Those behind it in the hash may have been put there for want of its place. */
static void remove_from_index(struct ofi *ofi, uint32_t *slot)
{
	size_t mask = ofi->address_index_size - 1, at = (size_t)(slot - ofi->address_index);
	uint32_t entry;

	*slot = 0;
	while ((entry = ofi->address_index[at = (at + 1) & mask])) {
		ofi->address_index[at] = 0;
		*index_slot(ofi, place_of(ofi, &ofi->addresses[entry - 1])) = entry;
	}
}

void ofi_free_address(struct ofi *ofi, transport_address index)
{
	struct ofi_address *address = &ofi->addresses[index];

	ofi_number_address(ofi, index, FI_ADDR_NOTAVAIL);
	remove_from_index(ofi, index_slot(ofi, place_of(ofi, address)));
	address->next = ofi->free_entries;
	ofi->free_entries = (uint32_t)index + 1;
}

/* The index of an entry that is not in use, in *out.  0 or -ENOMEM. */
static int take_entry(struct ofi *ofi, transport_address *out)
{
	if (ofi->addresses && ofi->free_entries) {
		*out = ofi->free_entries - 1;
		ofi->free_entries = ofi->addresses[*out].next;
		return 0;
	}
	if (!grow_addresses(ofi))
		return -ENOMEM;
	*out = ofi->address_count++;
	return 0;
}

static int make(struct ofi *ofi, struct place place, transport_address *out)
{
	const struct ofi_address *known = find_place(ofi, place);

	if (known) {
		*out = (transport_address)(known - ofi->addresses);
		return 0;
	}
	int rc = take_entry(ofi, out);
	if (rc)
		return rc;
	ofi->addresses[*out] = (struct ofi_address){
		.number = FI_ADDR_NOTAVAIL, .nid = place.nid, .pid = place.pid, .port = place.port, .life = place.life};
	*index_slot(ofi, place) = (uint32_t)*out + 1;
	return 0;
}

int ofi_make_address(struct ofi *ofi, uint32_t nid, uint16_t port, transport_address *out)
{
	return make(ofi, (struct place){.nid = nid, .port = port}, out);
}

int ofi_make_published(struct ofi *ofi, uint32_t nid, uint32_t pid, unsigned life, transport_address *out)
{
	return make(ofi, (struct place){.nid = nid, .pid = pid, .life = (uint8_t)life}, out);
}

/* The provider numbers its addresses from 0 (FI_AV_TABLE). */
static bool grow_numbered(struct ofi *ofi, fi_addr_t last)
{
	size_t room = ofi->numbered_room ? ofi->numbered_room : ADDRESSES_FIRST;

	while (room <= last)
		room *= 2;
	uint32_t *numbered = realloc(ofi->numbered, room * sizeof(*numbered));
	if (!numbered)
		return false;
	for (size_t i = ofi->numbered_room; i < room; i++)
		numbered[i] = OFI_UNNUMBERED;
	ofi->numbered = numbered;
	ofi->numbered_room = room;
	return true;
}

int ofi_number_address(struct ofi *ofi, transport_address index, fi_addr_t number)
{
	struct ofi_address *address = &ofi->addresses[index];

	if (number != FI_ADDR_NOTAVAIL && number >= ofi->numbered_room && !grow_numbered(ofi, number))
		return -ENOMEM;
	if (address->number != FI_ADDR_NOTAVAIL)
		ofi->numbered[address->number] = OFI_UNNUMBERED;
	if (number != FI_ADDR_NOTAVAIL)
		ofi->numbered[number] = (uint32_t)index;
	address->number = number;
	return 0;
}

int ofi_insert_address(struct ofi *ofi, transport_address index, const void *name)
{
	fi_addr_t number = FI_ADDR_NOTAVAIL;
	int inserted = fi_av_insert(ofi->av, name, 1, &number, 0, NULL);

	if (inserted != 1 || number >= ADDRESS_GREATEST)
		return inserted < 0 ? ofi_errno(inserted) : -EIO;
	return ofi_number_address(ofi, index, number);
}
