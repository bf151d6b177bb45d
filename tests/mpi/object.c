/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects; types that are parts of arrays, their names; statuses that a program fills; attributes. */
#include "mpi_test.h"

static void infos_keep_keys_and_values(void)
{
	MPI_Info info, copy;
	char key[MPI_MAX_INFO_KEY + 1], value[100];
	int count, length, flag;
	MPI_Info_create(&info);
	MPI_Info_set(info, "one", "1");
	MPI_Info_set(info, "two", "a longer value");
	MPI_Info_set(info, "one", "uno");
	MPI_Info_get_nkeys(info, &count);
	CHECK(count == 2);
	MPI_Info_get_nthkey(info, 0, key);
	CHECK(strcmp(key, "one") == 0);
	MPI_Info_get(info, "one", 99, value, &flag);
	CHECK(flag && strcmp(value, "uno") == 0);
	MPI_Info_get(info, "two", 3, value, &flag);
	CHECK(flag && strcmp(value, "a l") == 0);
	MPI_Info_get_valuelen(info, "two", &length, &flag);
	CHECK(flag && length == 14);
	MPI_Info_dup(info, &copy);
	MPI_Info_delete(info, "one");
	MPI_Info_get(info, "one", 99, value, &flag);
	CHECK(!flag);
	MPI_Info_get_nthkey(info, 0, key);
	CHECK(strcmp(key, "two") == 0);
	MPI_Info_get(copy, "one", 99, value, &flag);
	CHECK(flag && strcmp(value, "uno") == 0);
	MPI_Info_free(&info);
	MPI_Info_free(&copy);
	CHECK(info == MPI_INFO_NULL);
}

static void infos_of_communicators(void)
{
	MPI_Info info;
	MPI_Comm comm;
	int members, flag;
	char value[10];
	MPI_Info_create(&info);
	MPI_Info_set(info, "hint", "yes");
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Comm_set_info(comm, info);
	MPI_Info_free(&info);
	MPI_Comm_get_info(comm, &info);
	CHECK(info != MPI_INFO_NULL);
	MPI_Info_get(info, "not set", 9, value, &flag);
	CHECK(!flag);
	MPI_Info_free(&info);
	MPI_Comm_size(comm, &members);
	CHECK(members == size);
	MPI_Comm_free(&comm);
}

static void bad_arguments_of_infos(void)
{
	MPI_Info info, none = MPI_INFO_NULL;
	char long_key[MPI_MAX_INFO_KEY + 2], key[MPI_MAX_INFO_KEY + 1];
	memset(long_key, 'k', sizeof(long_key) - 1);
	long_key[sizeof(long_key) - 1] = '\0';
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Info_create(&info);
	FAILS(MPI_Info_set(info, long_key, "1"), MPI_ERR_INFO_KEY);
	FAILS(MPI_Info_set(info, "", "1"), MPI_ERR_INFO_KEY);
	FAILS(MPI_Info_set(info, "key", NULL), MPI_ERR_INFO_VALUE);
	FAILS(MPI_Info_delete(info, "key"), MPI_ERR_INFO_NOKEY);
#ifdef MINIMPI /* the standard leaves the class open */
	FAILS(MPI_Info_get_nthkey(info, 0, key), MPI_ERR_ARG);
#endif
	FAILS(MPI_Info_free(&none), MPI_ERR_INFO);
	MPI_Info_free(&info);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Numbers of a 4 x 5 x 6 array that one of a type takes, in their order. */
static void check_takes(MPI_Datatype type, const int *expected, int count)
{
	int array[4 * 5 * 6], got[4 * 5 * 6], position = 0;
	for (int i = 0; i < 4 * 5 * 6; i++)
		array[i] = i;
	MPI_Type_commit(&type);
	MPI_Pack(array, 1, type, got, sizeof(got), &position, MPI_COMM_WORLD);
	CHECK(position == count * (int)sizeof(int) && memcmp(got, expected, (size_t)position) == 0);
	MPI_Type_free(&type);
}

static void parts_of_arrays(void)
{
	const int sizes[] = {4, 5, 6}, parts[] = {2, 1, 3}, starts[] = {1, 2, 3};
	const int c[] = {45, 46, 47, 75, 76, 77},
		  fortran[] = {1 + 4 * 2 + 20 * 3, 2 + 4 * 2 + 20 * 3, 1 + 4 * 2 + 20 * 4,
			       2 + 4 * 2 + 20 * 4, 1 + 4 * 2 + 20 * 5, 2 + 4 * 2 + 20 * 5};
	MPI_Datatype type;
	MPI_Aint lower, extent;
	MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
	MPI_Type_get_extent(type, &lower, &extent);
	CHECK(lower == 0 && extent == 120 * sizeof(int));
	check_takes(type, c, 6);
	MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
	check_takes(type, fortran, 6);
	const MPI_Aint places[] = {40, 8};
	const int blocks[] = {10, 11, 2, 3};
	MPI_Type_create_hindexed_block(2, 2, places, MPI_INT, &type);
	check_takes(type, blocks, 4);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	const int beyond[] = {3, 2, 3};
	FAILS(MPI_Type_create_subarray(3, sizes, parts, beyond, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
	FAILS(MPI_Type_create_subarray(3, sizes, parts, starts, 77, MPI_INT, &type), MPI_ERR_ARG);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void names_of_types(void)
{
	char name[MPI_MAX_OBJECT_NAME];
	int length;
	MPI_Datatype type;
	MPI_Type_get_name(MPI_INT, name, &length);
	CHECK(strcmp(name, "MPI_INT") == 0 && length == 7);
	MPI_Type_contiguous(2, MPI_INT, &type);
	MPI_Type_get_name(type, name, &length);
	CHECK(length == 0 && name[0] == '\0');
	MPI_Type_set_name(type, "two");
	MPI_Type_get_name(type, name, &length);
	CHECK(strcmp(name, "two") == 0 && length == 3);
	MPI_Type_free(&type);
}

static void statuses_that_are_filled(void)
{
	MPI_Status status;
	MPI_Count many;
	int count, flag;
	MPI_Status_set_elements(&status, MPI_DOUBLE_INT, 5);
	MPI_Get_elements(&status, MPI_DOUBLE_INT, &count);
	CHECK(count == 5);
	MPI_Get_count(&status, MPI_DOUBLE_INT, &count);
	CHECK(count == MPI_UNDEFINED);
	MPI_Status_set_elements_x(&status, MPI_CHAR, (MPI_Count)1 << 40);
	MPI_Get_elements_x(&status, MPI_CHAR, &many);
	CHECK(many == (MPI_Count)1 << 40);
	MPI_Get_elements(&status, MPI_CHAR, &count);
	CHECK(count == MPI_UNDEFINED);
	MPI_Status_set_cancelled(&status, 1);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag);
	MPI_Type_size_x(MPI_INT, &many);
	CHECK(many == sizeof(int));
}

/* To each rank a strided type of its own length, at a place in bytes. */
static void alltoallw_has_types_of_each(void)
{
	enum { MOST = 16 };
	int *from = ints((size_t)size * MOST, -1), *to = ints((size_t)size * MOST, -1);
	int *sent_counts = ints((size_t)size, 1), *places = ints((size_t)size, 0),
	    *received_counts = ints((size_t)size, 0);
	MPI_Datatype *strided = bytes((size_t)size * sizeof(MPI_Datatype)),
		     *plain = bytes((size_t)size * sizeof(MPI_Datatype));
	for (int i = 0; i < size; i++) {
		places[i] = i * MOST * (int)sizeof(int);
		received_counts[i] = (rank + i) % 5;
		MPI_Type_vector(received_counts[i], 1, 2, MPI_INT, &strided[i]);
		MPI_Type_commit(&strided[i]);
		plain[i] = MPI_INT;
		for (int k = 0; k < received_counts[i]; k++)
			from[i * MOST + 2 * k] = 1000 * rank + 10 * i + k;
	}
	MPI_Alltoallw(from, sent_counts, places, strided, to, received_counts, places, plain, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		for (int k = 0; k < MOST; k++)
			CHECK(to[i * MOST + k] == (k < received_counts[i] ? 1000 * i + 10 * rank + k : -1));
	for (int i = 0; i < size; i++)
		MPI_Type_free(&strided[i]);
	free(from);
	free(to);
	free(sent_counts);
	free(places);
	free(received_counts);
	free(strided);
	free(plain);
}

/* ---- attributes of types and windows; those of communicators are in comm.c ---- */

static int copied, deleted;

static int copy_of_type(MPI_Datatype type, int key, void *state, void *value, void *copy, int *flag)
{
	(void)type, (void)key;
	++*(int *)state;
	*(void **)copy = (char *)value + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is MPI's */
static int delete_of_type(MPI_Datatype type, int key, void *value, void *state)
{
	(void)type, (void)key, (void)value, (void)state;
	deleted++;
	return MPI_SUCCESS;
}

#ifdef MINIMPI
/* Nothing is left of the attribute and of its key but what the copy is about to get. */
static int copy_and_forget(MPI_Datatype type, int key, void *state, void *value, void *copy, int *flag)
{
	int freed = key;
	MPI_Type_delete_attr(type, *(int *)state);
	MPI_Type_delete_attr(type, key);
	MPI_Type_free_keyval(&freed);
	return copy_of_type(type, key, &copied, value, copy, flag);
}

static void a_copy_function_may_delete_what_it_copies(void)
{
	char value[2], *got;
	int key, newer, flag;
	MPI_Datatype type, copy;
	MPI_Type_create_keyval(copy_and_forget, delete_of_type, &key, &newer);
	MPI_Type_create_keyval(copy_of_type, delete_of_type, &newer, &copied);
	MPI_Type_contiguous(3, MPI_INT, &type);
	MPI_Type_set_attr(type, key, value);
	MPI_Type_set_attr(type, newer, value);
	copied = deleted = 0;
	MPI_Type_dup(type, &copy);
	CHECK(copied == 1 && deleted == 2);
	MPI_Type_get_attr(copy, key, &got, &flag);
	CHECK(flag && got == value + 1);
	MPI_Type_get_attr(copy, newer, &got, &flag);
	CHECK(!flag);
	MPI_Type_free(&copy);
	CHECK(deleted == 3);
	MPI_Type_free(&type);
	MPI_Type_free_keyval(&newer);
}
#endif

static void attributes_of_types(void)
{
	char value[2], *got;
	int key, window_key, flag;
	MPI_Datatype type, copy;
	MPI_Type_create_keyval(copy_of_type, delete_of_type, &key, &copied);
	MPI_Type_contiguous(3, MPI_INT, &type);
	MPI_Type_get_attr(type, key, &got, &flag);
	CHECK(!flag);
	MPI_Type_set_attr(type, key, value);
	copied = deleted = 0;
	MPI_Type_dup(type, &copy);
	MPI_Type_get_attr(copy, key, &got, &flag);
	CHECK(flag && got == value + 1 && copied == 1);
	MPI_Type_free(&copy);
	CHECK(deleted == 1);
	MPI_Type_delete_attr(type, key);
	CHECK(deleted == 2);
	MPI_Type_free(&type);
	CHECK(deleted == 2);
	/* A key is of one kind of object. */
	MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &window_key, NULL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#ifdef MINIMPI
	FAILS(MPI_Type_set_attr(MPI_INT, window_key, value), MPI_ERR_KEYVAL);
#endif
	FAILS(MPI_Type_set_attr(MPI_DATATYPE_NULL, key, value), MPI_ERR_TYPE);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Win_free_keyval(&window_key);
	MPI_Type_free_keyval(&key);
}

static void attributes_of_windows(void)
{
	int memory[10], key, flag, *unit, *flavor;
	void *base, *got;
	MPI_Aint *length;
	MPI_Win win;
	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
	CHECK(flag && base == memory);
	MPI_Win_get_attr(win, MPI_WIN_SIZE, &length, &flag);
	CHECK(flag && *length == sizeof(memory));
	MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
	CHECK(flag && *unit == sizeof(int));
	MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
	CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
	MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
	MPI_Win_set_attr(win, key, &memory[3]);
	MPI_Win_get_attr(win, key, &got, &flag);
	CHECK(flag && got == &memory[3]);
	MPI_Win_delete_attr(win, key);
	MPI_Win_get_attr(win, key, &got, &flag);
	CHECK(!flag);
	MPI_Win_free_keyval(&key);
	MPI_Win_free(&win);
}

const struct test object_tests[] = {
	TEST(attributes_of_types),
	TEST(attributes_of_windows),
#ifdef MINIMPI
	TEST(a_copy_function_may_delete_what_it_copies),
#endif
	TEST(infos_keep_keys_and_values),
	TEST(infos_of_communicators),
	TEST(bad_arguments_of_infos),
	TEST(parts_of_arrays),
	TEST(names_of_types),
	TEST(statuses_that_are_filled),
	TEST(alltoallw_has_types_of_each),
	{0},
};
