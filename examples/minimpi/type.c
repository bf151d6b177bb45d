/* SPDX-License-Identifier: BSD-3-Clause */
#include "type.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "job.h"

/* The named types.  Their pieces are themselves, or, of pairs, their two members. */
#define NAMED(symbol, text, c_type, type_kind, signedness)                                                             \
	static struct piece symbol##_piece[] = {{0, 1, &symbol}};                                                      \
	struct minimpi_type symbol = {.name = text,                                                                    \
				      .size = sizeof(c_type),                                                          \
				      .extent = sizeof(c_type),                                                        \
				      .align = _Alignof(c_type),                                                       \
				      .true_extent = sizeof(c_type),                                                   \
				      .dense = true,                                                                   \
				      .committed = true,                                                               \
				      .predefined = true,                                                              \
				      .kind = type_kind,                                                               \
				      .is_signed = signedness,                                                         \
				      .users = 1,                                                                      \
				      .only = &symbol,                                                                 \
				      .piece_count = 1,                                                                \
				      .pieces = symbol##_piece};

NAMED(minimpi_char, "MPI_CHAR", char, TYPE_NONE, true)
NAMED(minimpi_schar, "MPI_SIGNED_CHAR", signed char, TYPE_INTEGER, true)
NAMED(minimpi_uchar, "MPI_UNSIGNED_CHAR", unsigned char, TYPE_INTEGER, false)
NAMED(minimpi_byte, "MPI_BYTE", unsigned char, TYPE_BYTE, false)
NAMED(minimpi_packed, "MPI_PACKED", unsigned char, TYPE_NONE, false)
NAMED(minimpi_wchar, "MPI_WCHAR", wchar_t, TYPE_NONE, false)
NAMED(minimpi_short, "MPI_SHORT", short, TYPE_INTEGER, true)
NAMED(minimpi_ushort, "MPI_UNSIGNED_SHORT", unsigned short, TYPE_INTEGER, false)
NAMED(minimpi_int, "MPI_INT", int, TYPE_INTEGER, true)
NAMED(minimpi_uint, "MPI_UNSIGNED", unsigned, TYPE_INTEGER, false)
NAMED(minimpi_long, "MPI_LONG", long, TYPE_INTEGER, true)
NAMED(minimpi_ulong, "MPI_UNSIGNED_LONG", unsigned long, TYPE_INTEGER, false)
NAMED(minimpi_llong, "MPI_LONG_LONG_INT", long long, TYPE_INTEGER, true)
NAMED(minimpi_ullong, "MPI_UNSIGNED_LONG_LONG", unsigned long long, TYPE_INTEGER, false)
NAMED(minimpi_float, "MPI_FLOAT", float, TYPE_FLOATING, true)
NAMED(minimpi_double, "MPI_DOUBLE", double, TYPE_FLOATING, true)
NAMED(minimpi_ldouble, "MPI_LONG_DOUBLE", long double, TYPE_FLOATING, true)
NAMED(minimpi_bool, "MPI_C_BOOL", _Bool, TYPE_LOGICAL, false)
NAMED(minimpi_int8, "MPI_INT8_T", int8_t, TYPE_INTEGER, true)
NAMED(minimpi_int16, "MPI_INT16_T", int16_t, TYPE_INTEGER, true)
NAMED(minimpi_int32, "MPI_INT32_T", int32_t, TYPE_INTEGER, true)
NAMED(minimpi_int64, "MPI_INT64_T", int64_t, TYPE_INTEGER, true)
NAMED(minimpi_uint8, "MPI_UINT8_T", uint8_t, TYPE_INTEGER, false)
NAMED(minimpi_uint16, "MPI_UINT16_T", uint16_t, TYPE_INTEGER, false)
NAMED(minimpi_uint32, "MPI_UINT32_T", uint32_t, TYPE_INTEGER, false)
NAMED(minimpi_uint64, "MPI_UINT64_T", uint64_t, TYPE_INTEGER, false)
NAMED(minimpi_aint, "MPI_AINT", MPI_Aint, TYPE_INTEGER, true)
NAMED(minimpi_offset, "MPI_OFFSET", MPI_Offset, TYPE_INTEGER, true)
NAMED(minimpi_count, "MPI_COUNT", MPI_Count, TYPE_INTEGER, true)
NAMED(minimpi_cfloat, "MPI_C_FLOAT_COMPLEX", float _Complex, TYPE_COMPLEX, true)
NAMED(minimpi_cdouble, "MPI_C_DOUBLE_COMPLEX", double _Complex, TYPE_COMPLEX, true)
NAMED(minimpi_cldouble, "MPI_C_LONG_DOUBLE_COMPLEX", long double _Complex, TYPE_COMPLEX, true)

#define PAIR(symbol, text, c_type, first)                                                                              \
	struct symbol##_layout {                                                                                       \
		c_type value;                                                                                          \
		int index;                                                                                             \
	};                                                                                                             \
	static struct piece symbol##_pieces[] = {{0, 1, &(first)},                                                     \
						 {offsetof(struct symbol##_layout, index), 1, &minimpi_int}};          \
	struct minimpi_type symbol = {.name = text,                                                                    \
				      .size = sizeof(c_type) + sizeof(int),                                            \
				      .extent = sizeof(struct symbol##_layout),                                        \
				      .align = _Alignof(struct symbol##_layout),                                       \
				      .true_extent = offsetof(struct symbol##_layout, index) + sizeof(int),            \
				      .dense = sizeof(struct symbol##_layout) == sizeof(c_type) + sizeof(int),         \
				      .committed = true,                                                               \
				      .predefined = true,                                                              \
				      .kind = TYPE_PAIR,                                                               \
				      .users = 1,                                                                      \
				      .only = &symbol,                                                                 \
				      .piece_count = 2,                                                                \
				      .pieces = symbol##_pieces};

PAIR(minimpi_float_int, "MPI_FLOAT_INT", float, minimpi_float)
PAIR(minimpi_double_int, "MPI_DOUBLE_INT", double, minimpi_double)
PAIR(minimpi_long_int, "MPI_LONG_INT", long, minimpi_long)
PAIR(minimpi_2int, "MPI_2INT", int, minimpi_int)
PAIR(minimpi_short_int, "MPI_SHORT_INT", short, minimpi_short)
PAIR(minimpi_ldouble_int, "MPI_LONG_DOUBLE_INT", long double, minimpi_ldouble)

void type_pack(MPI_Datatype type, const void *from, int count, void *bytes)
{
	char *out = bytes;
	if (type->dense) {
		if (count > 0 && type->size > 0)
			memcpy(out, from, (size_t)count * type->size);
		return;
	}
	for (int i = 0; i < count; i++) {
		const uintptr_t element = (uintptr_t)type_at(from, i, type);
		for (size_t k = 0; k < type->piece_count; k++) {
			const struct piece *piece = &type->pieces[k];
			const size_t size = piece->count * piece->basic->size;
			memcpy(out, (const void *)(element + (uintptr_t)piece->place), size);
			out += size;
		}
	}
}

void type_unpack(MPI_Datatype type, const void *bytes, size_t length, void *to, int count)
{
	const char *in = bytes;
	if (type->dense) {
		if (length > 0)
			memcpy(to, in, length);
		return;
	}
	for (int i = 0; i < count; i++) {
		const uintptr_t element = (uintptr_t)type_at(to, i, type);
		for (size_t k = 0; k < type->piece_count && length > 0; k++) {
			const struct piece *piece = &type->pieces[k];
			const size_t all = piece->count * piece->basic->size, size = all < length ? all : length;
			memcpy((void *)(element + (uintptr_t)piece->place), in, size);
			in += size;
			length -= size;
		}
	}
}

void type_copy(MPI_Datatype type, const void *from, void *to, int count)
{
	if (type->dense) {
		type_pack(type, from, count, to);
		return;
	}
	const size_t length = (size_t)count * type->size;
	void *bytes = job_memory(length);
	type_pack(type, from, count, bytes);
	type_unpack(type, bytes, length, to, count);
	free(bytes);
}

void *type_memory(MPI_Datatype type, int count, void **address)
{
	/* All of the extent, though data may end before it: operations assign whole structures. */
	const MPI_Aint upper = type->lower + type->extent, true_upper = type->true_lower + type->true_extent;
	const MPI_Aint low = type->lower < type->true_lower ? type->lower : type->true_lower;
	const MPI_Aint high = upper > true_upper ? upper : true_upper;
	const MPI_Aint between = count > 0 ? (count - 1) * type->extent : 0;
	const MPI_Aint first = low + (between < 0 ? between : 0);
	const MPI_Aint bytes = high - low + (between < 0 ? -between : between);
	char *memory = job_memory((size_t)bytes);
	memset(memory, 0,
	       (size_t)bytes); /* what the type leaves out is never copied, but operations of users may look at it */
	*address = (void *)((uintptr_t)memory - (uintptr_t)first);
	return memory;
}

void type_release(MPI_Datatype type)
{
	if (--type->users > 0 || type->predefined)
		return;
	free(type->pieces);
	free(type);
}
