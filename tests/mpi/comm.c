/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups, communicators, attributes, topologies. */
#include "mpi_test.h"

static void groups(void)
{
	MPI_Group world, even, odd, both, none, back;
	int result, count = 0, n, range[1][3] = {{0, size - 1, 2}};
	int *ranks = bytes((size_t)size * sizeof(*ranks));
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	for (int i = 0; i < size; i += 2)
		ranks[count++] = i;
	MPI_Group_incl(world, count, ranks, &even);
	MPI_Group_excl(world, count, ranks, &odd);
	MPI_Group_size(even, &n);
	CHECK(n == (size + 1) / 2);
	MPI_Group_rank(even, &n);
	CHECK(n == (rank % 2 ? MPI_UNDEFINED : rank / 2));
	MPI_Group_range_incl(world, 1, range, &back);
	MPI_Group_compare(back, even, &result);
	CHECK(result == MPI_IDENT);
	MPI_Group_free(&back);
	MPI_Group_range_excl(world, 1, range, &back);
	MPI_Group_compare(back, odd, &result);
	CHECK(result == MPI_IDENT);
	MPI_Group_free(&back);
	MPI_Group_union(odd, even, &both);
	MPI_Group_compare(world, both, &result);
	CHECK(result == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
	MPI_Group_intersection(odd, even, &none);
	MPI_Group_compare(none, MPI_GROUP_EMPTY, &result);
	CHECK(result == MPI_IDENT);
	MPI_Group_difference(world, odd, &back);
	MPI_Group_compare(back, even, &result);
	CHECK(result == MPI_IDENT);
	MPI_Group_free(&back);
	MPI_Group_free(&both);
	MPI_Group_free(&even);
	MPI_Group_free(&odd);
	MPI_Group_free(&none);
	MPI_Group_free(&world);
	CHECK(world == MPI_GROUP_NULL);
	free(ranks);
}

static void ranks_translate(void)
{
	MPI_Group world, last;
	int ranks[2] = {0, MPI_PROC_NULL}, translated[2] = {-9, -9}, end = size - 1;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &end, &last);
	MPI_Group_translate_ranks(last, 2, ranks, world, translated);
	CHECK(translated[0] == size - 1 && translated[1] == MPI_PROC_NULL);
	MPI_Group_translate_ranks(world, 1, ranks, last, translated);
	CHECK(translated[0] == (size == 1 ? 0 : MPI_UNDEFINED));
	MPI_Group_free(&last);
	MPI_Group_free(&world);
}

static void communicators_compare(void)
{
	MPI_Comm same, reversed;
	int result, flag = 1;
	MPI_Comm_dup(MPI_COMM_WORLD, &same);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
	MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
	CHECK(result == MPI_IDENT);
	MPI_Comm_compare(MPI_COMM_WORLD, same, &result);
	CHECK(result == MPI_CONGRUENT);
	MPI_Comm_compare(same, reversed, &result);
	CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
	MPI_Comm_compare(same, MPI_COMM_SELF, &result);
	CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
	MPI_Comm_test_inter(same, &flag);
	CHECK(!flag);
	int there;
	MPI_Comm_rank(reversed, &there);
	CHECK(there == size - 1 - rank);
	MPI_Comm_free(&same);
	MPI_Comm_free(&reversed);
	CHECK(same == MPI_COMM_NULL);
}

static void splits(void)
{
	MPI_Comm half, none;
	int there, count, sum;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
	MPI_Comm_rank(half, &there);
	MPI_Comm_size(half, &count);
	CHECK(there == rank / 2 && count == (size + 1 - rank % 2) / 2);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
	int expected = 0;
	for (int i = rank % 2; i < size; i += 2)
		expected += i;
	CHECK(sum == expected);
	MPI_Comm_split(half, there == 0 ? MPI_UNDEFINED : 1, 0, &none);
	CHECK((none == MPI_COMM_NULL) == (there == 0));
	if (none != MPI_COMM_NULL)
		MPI_Comm_free(&none);
	MPI_Comm_free(&half);
}

static void create_from_a_group(void)
{
	MPI_Group world, last;
	MPI_Comm comm;
	int end = size - 1, n = -1;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &end, &last);
	MPI_Comm_create(MPI_COMM_WORLD, last, &comm);
	CHECK((comm != MPI_COMM_NULL) == (rank == end));
	if (comm != MPI_COMM_NULL) {
		MPI_Comm_size(comm, &n);
		CHECK(n == 1);
		MPI_Comm_free(&comm);
	}
	MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm);
	CHECK(comm == MPI_COMM_NULL);
	MPI_Group_free(&last);
	MPI_Group_free(&world);
}

/* Made by the odd ranks and by the even ones at once, in reverse order; then once more by the even ones alone. */
static void create_group_is_of_its_members(void)
{
	int *ranks = ints((size_t)size, 0), count = 0, place, members, sum;
	MPI_Group world, half;
	MPI_Comm comm = MPI_COMM_NULL, again = MPI_COMM_NULL;
	for (int i = size - 1; i >= 0; i--)
		if (i % 2 == rank % 2)
			ranks[count++] = i;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, count, ranks, &half);
	MPI_Comm_create_group(MPI_COMM_WORLD, half, 0, &comm);
	if (rank % 2 == 0)
		MPI_Comm_create_group(MPI_COMM_WORLD, half, 0, &again);
	MPI_Comm_rank(comm, &place);
	MPI_Comm_size(comm, &members);
	CHECK(members == count && ranks[place] == rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < count; i++)
		sum -= ranks[i];
	CHECK(sum == 0);
	CHECK((again != MPI_COMM_NULL) == (rank % 2 == 0));
	if (again != MPI_COMM_NULL)
		MPI_Comm_free(&again);
	MPI_Comm_free(&comm);
	MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 0, &comm);
	CHECK(comm == MPI_COMM_NULL);
	MPI_Group_free(&half);
	MPI_Group_free(&world);
	free(ranks);
}

/* Numbers of communicators are used again. */
static void many_communicators(void)
{
	MPI_Comm chain[20] = {MPI_COMM_WORLD};
	for (int round = 0; round < 20; round++) {
		int sum = 0;
		for (int i = 1; i < 20; i++)
			MPI_Comm_dup(chain[i - 1], &chain[i]);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, chain[19]);
		CHECK(sum == size * (size - 1) / 2);
		for (int i = 1; i < 20; i++)
			MPI_Comm_free(&chain[i]);
	}
}

/* A communicator may be freed while a receive on it is under way. */
static void freed_while_in_use(void)
{
	MPI_Comm comm;
	MPI_Request request;
	int got = -1;
	const int before = (rank + size - 1) % size;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Irecv(&got, 1, MPI_INT, before, 0, comm, &request);
	MPI_Barrier(comm);
	MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, comm);
	MPI_Comm_free(&comm);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(got == before);
}

static void names(void)
{
	char name[MPI_MAX_OBJECT_NAME];
	int length = -1;
	MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
	CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
	MPI_Comm comm;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_name(comm, "mine");
	MPI_Comm_get_name(comm, name, &length);
	CHECK(strcmp(name, "mine") == 0 && length == 4);
	MPI_Comm_free(&comm);
}

static int copies, deletes;

static int copy_next(MPI_Comm comm, int key, void *state, void *value, void *copy, int *flag)
{
	(void)comm, (void)key;
	CHECK(state == &copies);
	copies++;
	*(void **)copy = (char *)value + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

static int count_delete(MPI_Comm comm, int key, void *value, void *state)
{
	(void)comm, (void)key, (void)value, (void)state;
	deletes++;
	return MPI_SUCCESS;
}

static void attributes(void)
{
	static char value[2];
	int key, none, flag, *bound;
	char *got;
	MPI_Comm comm;
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
	CHECK(flag && *bound >= 32767);
	MPI_Comm_create_keyval(copy_next, count_delete, &key, &copies);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none, NULL);
	const int kept = none;
	MPI_Comm_get_attr(MPI_COMM_WORLD, key, &got, &flag);
	CHECK(!flag);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, value);
	MPI_Comm_set_attr(MPI_COMM_WORLD, none, value);
	copies = deletes = 0;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	CHECK(copies == 1);
	MPI_Comm_get_attr(comm, key, &got, &flag);
	CHECK(flag && got == value + 1);
	MPI_Comm_get_attr(comm, none, &got, &flag);
	CHECK(!flag);
	MPI_Comm_free(&comm);
	CHECK(deletes == 1);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
	CHECK(deletes == 2);
	MPI_Comm_get_attr(MPI_COMM_WORLD, key, &got, &flag);
	CHECK(!flag);
	MPI_Comm_free_keyval(&key);
	MPI_Comm_free_keyval(&none);
	CHECK(key == MPI_KEYVAL_INVALID);
#ifdef MINIMPI /* another copy of the handle, while an attribute keeps the key */
	int again = kept;
	MPI_Comm_free_keyval(&again);
	CHECK(again == MPI_KEYVAL_INVALID);
#endif
	MPI_Comm_delete_attr(MPI_COMM_WORLD, kept);
}

/* Delete functions that delete the attributes before and behind theirs, and that free their key. */
static int keys[3];

static int delete_others(MPI_Comm comm, int key, void *value, void *state)
{
	(void)key, (void)value, (void)state;
	MPI_Comm_delete_attr(comm, keys[0]);
	MPI_Comm_delete_attr(comm, keys[2]);
	return MPI_SUCCESS;
}

#ifdef MINIMPI
static int free_own_key(MPI_Comm comm, int key, void *value, void *state)
{
	(void)comm, (void)value, (void)state;
	return MPI_Comm_free_keyval(&key);
}
#endif

static void delete_functions_delete_and_free(void)
{
	int key, flag, value = 0, *got;
	for (int i = 0; i < 3; i++)
		MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, i == 1 ? delete_others : MPI_COMM_NULL_DELETE_FN,
				       &keys[i], NULL);
	for (int i = 0; i < 3; i++)
		MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &value);
	MPI_Comm_delete_attr(MPI_COMM_SELF, keys[1]);
	for (int i = 0; i < 3; i++) {
		MPI_Comm_get_attr(MPI_COMM_SELF, keys[i], &got, &flag);
		CHECK(!flag);
		MPI_Comm_free_keyval(&keys[i]);
	}
#ifdef MINIMPI
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_own_key, &key, NULL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
	FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value), MPI_ERR_KEYVAL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#endif
}

static void dimensions(void)
{
	int two[2] = {0, 0}, three[3] = {0, 0, 0}, fixed[3] = {0, 2, 0};
	MPI_Dims_create(12, 2, two);
	CHECK(two[0] == 4 && two[1] == 3);
	MPI_Dims_create(8, 3, three);
	CHECK(three[0] == 2 && three[1] == 2 && three[2] == 2);
	MPI_Dims_create(12, 3, fixed);
	CHECK(fixed[0] == 3 && fixed[1] == 2 && fixed[2] == 2);
	memset(three, 0, sizeof(three));
	MPI_Dims_create(24, 3, three);
	CHECK(three[0] == 4 && three[1] == 3 && three[2] == 2);
	memset(three, 0, sizeof(three));
	MPI_Dims_create(1, 3, three);
	CHECK(three[0] == 1 && three[1] == 1 && three[2] == 1);
	two[0] = two[1] = 0;
	MPI_Dims_create(7, 2, two);
	CHECK(two[0] == 7 && two[1] == 1);
}

static void cartesian(void)
{
	int dims[2] = {0, 1}, periods[2] = {1, 0}, at[2], back, from, to, n, got[2], got_periods[2];
	MPI_Comm grid, line;
	dims[0] = size;
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
	MPI_Topo_test(grid, &n);
	CHECK(n == MPI_CART);
	MPI_Cartdim_get(grid, &n);
	CHECK(n == 2);
	MPI_Cart_coords(grid, rank, 2, at);
	CHECK(at[0] == rank && at[1] == 0);
	at[0] += size; /* wraps round */
	MPI_Cart_rank(grid, at, &back);
	CHECK(back == rank);
	MPI_Cart_shift(grid, 0, 1, &from, &to);
	CHECK(from == (rank + size - 1) % size && to == (rank + 1) % size);
	MPI_Cart_shift(grid, 1, 1, &from, &to);
	CHECK(from == MPI_PROC_NULL && to == MPI_PROC_NULL);
	MPI_Cart_get(grid, 2, got, got_periods, at);
	CHECK(got[0] == size && got[1] == 1 && got_periods[0] && !got_periods[1] && at[0] == rank);
	const int remains[2] = {0, 1};
	MPI_Cart_sub(grid, remains, &line);
	MPI_Comm_size(line, &n);
	CHECK(n == 1);
	MPI_Comm_free(&line);
	MPI_Comm_dup(grid, &line);
	MPI_Topo_test(line, &n);
	CHECK(n == MPI_CART);
	MPI_Comm_free(&line);
	MPI_Comm_free(&grid);
	MPI_Topo_test(MPI_COMM_WORLD, &n);
	CHECK(n == MPI_UNDEFINED);
}

const struct test comm_tests[] = {
	TEST(groups),
	TEST(ranks_translate),
	TEST(communicators_compare),
	TEST(splits),
	TEST(create_from_a_group),
	TEST(create_group_is_of_its_members),
	TEST(many_communicators),
	TEST(freed_while_in_use),
	TEST(names),
	TEST(attributes),
	TEST(delete_functions_delete_and_free),
	TEST(dimensions),
	TEST(cartesian),
	{0},
};
