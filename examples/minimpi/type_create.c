/* SPDX-License-Identifier: BSD-3-Clause */
/* Data types made of others. */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "job.h"
#include "type.h"

#define BUILD(expression) errors_check(MPI_COMM_WORLD, expression, __func__)

/* A type in the making: pieces are appended, bounds grow. */
struct maker {
	struct piece *pieces;
	size_t count, room;
	size_t size;
	bool bounded, any_data;
	MPI_Aint lower, upper; /* of what is bounded */
	MPI_Aint true_lower, true_upper, align;
	MPI_Datatype only; /* as in struct minimpi_type */
};

/* Pieces that touch become one: what is dense is found to be. */
static void add_piece(struct maker *maker, struct piece piece)
{
	struct piece *before = maker->count > 0 ? &maker->pieces[maker->count - 1] : NULL;
	if (before && before->basic == piece.basic &&
	    before->place + (MPI_Aint)(before->count * piece.basic->size) == piece.place) {
		before->count += piece.count;
		return;
	}
	if (maker->count == maker->room) {
		maker->room = maker->room ? 2 * maker->room : 4;
		maker->pieces = realloc(maker->pieces, maker->room * sizeof(*maker->pieces));
		if (!maker->pieces)
			job_fail("realloc", "no memory");
	}
	maker->pieces[maker->count++] = piece;
}

static void grow(bool first, MPI_Aint *lower, MPI_Aint *upper, MPI_Aint from, MPI_Aint to)
{
	if (first || from < *lower)
		*lower = from;
	if (first || to > *upper)
		*upper = to;
}

/* `count` of the old type, its extent apart, the first at `place`. */
static void add(struct maker *maker, MPI_Datatype old, MPI_Aint place, int count)
{
	for (int i = 0; i < count; i++, place += old->extent) {
		if (old->bounded) {
			grow(!maker->bounded, &maker->lower, &maker->upper, place + old->lower,
			     place + old->lower + old->extent);
			maker->bounded = true;
		}
		if (old->align > maker->align)
			maker->align = old->align;
		for (size_t k = 0; k < old->piece_count; k++) {
			struct piece piece = old->pieces[k];
			piece.place += place;
			add_piece(maker, piece);
		}
		if (old->size > 0) {
			maker->only = !maker->any_data || maker->only == old->only ? old->only : NULL;
			grow(!maker->any_data, &maker->true_lower, &maker->true_upper, place + old->true_lower,
			     place + old->true_lower + old->true_extent);
			maker->any_data = true;
		}
		maker->size += old->size;
	}
}

/* Bounds that were set hold, whatever lies beyond them.  Else they are the data's, padded as C pads arrays (MPI 3.1, 4.1). */
static void set_bounds(struct maker *maker)
{
	if (maker->bounded || !maker->any_data)
		return;
	const MPI_Aint beyond = (maker->true_upper - maker->true_lower) % maker->align;
	maker->lower = maker->true_lower;
	maker->upper = maker->true_upper + (beyond ? maker->align - beyond : 0);
}

static void make(struct maker *maker, MPI_Datatype *type)
{
	set_bounds(maker);
	struct minimpi_type *made = job_memory(sizeof(*made));
	*made = (struct minimpi_type){
		.name = "",
		.size = maker->size,
		.lower = maker->lower,
		.extent = maker->upper - maker->lower,
		.bounded = maker->bounded,
		.align = maker->align,
		.true_lower = maker->true_lower,
		.true_extent = maker->true_upper - maker->true_lower,
		.users = 1,
		.only = maker->only,
		.piece_count = maker->count,
		.pieces = maker->pieces,
	};
	made->dense = made->size == 0 ||
		      (maker->count == 1 && maker->pieces[0].place == 0 && (MPI_Aint)made->size == made->extent);
	*type = made;
}

/* All constructors but resized: blocks of one type or of several, at places in bytes. */
static int make_blocks(int count, const int *blocks, const MPI_Aint *places, const MPI_Datatype *olds, bool one,
		       MPI_Datatype *type)
{
	struct maker maker = {.align = 1};
	if (count < 0)
		return MPI_ERR_COUNT;
	if (!type || (count > 0 && (!blocks || !places || !olds)))
		return MPI_ERR_ARG;
	for (int i = 0; i < count; i++) {
		if (!olds[one ? 0 : i])
			return MPI_ERR_TYPE;
		if (blocks[i] < 0)
			return MPI_ERR_ARG;
	}
	for (int i = 0; i < count; i++)
		add(&maker, olds[one ? 0 : i], places[i], blocks[i]);
	make(&maker, type);
	return MPI_SUCCESS;
}

/* Places and blocks that the caller has not listed. */
static int make_regular(int count, int block, const int *blocks, MPI_Aint stride, const int *places, MPI_Datatype old,
			MPI_Datatype *type)
{
	if (count < 0)
		return MPI_ERR_COUNT;
	if (!old)
		return MPI_ERR_TYPE;
	int *sizes = job_memory((size_t)count * sizeof(*sizes));
	MPI_Aint *bytes = job_memory((size_t)count * sizeof(*bytes));
	for (int i = 0; i < count; i++) {
		sizes[i] = blocks ? blocks[i] : block;
		bytes[i] = places ? places[i] * old->extent : i * stride;
	}
	const int error = make_blocks(count, sizes, bytes, &old, true, type);
	free(sizes);
	free(bytes);
	return error;
}

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *type)
{
	const int block = count;
	const MPI_Aint place = 0;
	return BUILD(count < 0 ? MPI_ERR_COUNT : make_blocks(1, &block, &place, &old, true, type));
}

int MPI_Type_vector(int count, int block, int stride, MPI_Datatype old, MPI_Datatype *type)
{
	return BUILD(make_regular(count, block, NULL, old ? stride * old->extent : 0, NULL, old, type));
}

int MPI_Type_create_hvector(int count, int block, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type)
{
	return BUILD(make_regular(count, block, NULL, stride, NULL, old, type));
}

int MPI_Type_indexed(int count, const int *blocks, const int *places, MPI_Datatype old, MPI_Datatype *type)
{
	if (count > 0 && (!blocks || !places))
		return BUILD(MPI_ERR_ARG);
	return BUILD(make_regular(count, 0, blocks, 0, places, old, type));
}

int MPI_Type_create_indexed_block(int count, int block, const int *places, MPI_Datatype old, MPI_Datatype *type)
{
	if (count > 0 && !places)
		return BUILD(MPI_ERR_ARG);
	return BUILD(make_regular(count, block, NULL, 0, places, old, type));
}

int MPI_Type_create_hindexed(int count, const int *blocks, const MPI_Aint *places, MPI_Datatype old, MPI_Datatype *type)
{
	return BUILD(make_blocks(count, blocks, places, &old, true, type));
}

int MPI_Type_create_hindexed_block(int count, int block, const MPI_Aint *places, MPI_Datatype old, MPI_Datatype *type)
{
	if (count < 0 || block < 0)
		return BUILD(count < 0 ? MPI_ERR_COUNT : MPI_ERR_ARG);
	int *blocks = job_memory((size_t)count * sizeof(*blocks));
	for (int i = 0; i < count; i++)
		blocks[i] = block;
	const int error = make_blocks(count, blocks, places, &old, true, type);
	free(blocks);
	return BUILD(error);
}

int MPI_Type_create_struct(int count, const int *blocks, const MPI_Aint *places, const MPI_Datatype *olds,
			   MPI_Datatype *type)
{
	return BUILD(make_blocks(count, blocks, places, olds, false, type));
}

int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent, MPI_Datatype *type)
{
	struct maker maker = {.align = 1};
	if (!old)
		return BUILD(MPI_ERR_TYPE);
	add(&maker, old, 0, 1);
	maker.bounded = true;
	maker.lower = lower;
	maker.upper = lower + extent;
	make(&maker, type);
	return MPI_SUCCESS;
}

int MPI_Type_dup(MPI_Datatype old, MPI_Datatype *type)
{
	if (!old)
		return BUILD(MPI_ERR_TYPE);
	const int error = MPI_Type_create_resized(old, old->lower, old->extent, type);
	if (!error) {
		(*type)->bounded = old->bounded;
		(*type)->committed = old->committed;
	}
	return error ? error : BUILD(attribute_copy_all(type_owner(old), type_owner(*type)));
}

/* By their names in MPI-1 */

int MPI_Type_hvector(int count, int block, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type)
{
	return MPI_Type_create_hvector(count, block, stride, old, type);
}

int MPI_Type_hindexed(int count, int *blocks, MPI_Aint *places, MPI_Datatype old, MPI_Datatype *type)
{
	return MPI_Type_create_hindexed(count, blocks, places, old, type);
}

int MPI_Type_struct(int count, int *blocks, MPI_Aint *places, MPI_Datatype *olds, MPI_Datatype *type)
{
	return MPI_Type_create_struct(count, blocks, places, olds, type);
}
