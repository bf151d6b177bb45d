/* SPDX-License-Identifier: BSD-3-Clause */
/* What compare measures, and with which libraries. */
#include "compare.h"

#include <string.h>

#include "bare.h"
#include "compare_tests.h"

/* clang-format off */
const struct candidate_kind_of candidate_kinds[CANDIDATES] = {
	[CANDIDATE_OURS] = {"ours", NULL, NULL, "--transport node", NULL, 1, false},
	[CANDIDATE_OTHER_BUILD] = {"other build", NULL, NULL, "--transport node", NULL, 1, false},
	[CANDIDATE_DEDICATED] = {"ours, dedicated", NULL, NULL, "--transport node --mode dedicated", NULL, 1, true},
	[CANDIDATE_SELF] = {"ours, self", NULL, NULL, "--transport self --mode dedicated", NULL, 1, true},
	[CANDIDATE_MPI] = {"MPI", "mpi.c", "mpicc", CANDIDATE_MPIRUN(""), CANDIDATE_MPI_WANTS, 2, false},
	[CANDIDATE_UCX] = {"UCX", "ucx.c", "cc -lucp -lucs", "", "cc and libucx-dev", 2, false},
	[CANDIDATE_SHM] = {"libfabric shm", NULL, NULL, "--transport ofi:shm --raw tagged", NULL, 1, false},
	[CANDIDATE_BARE] = {"bare", NULL, NULL, "--raw slots", NULL, 1, false},
	[CANDIDATE_OURS_TCP] = {"ours, ofi:tcp", NULL, NULL, "--transport ofi:tcp", NULL, 1, false},
	[CANDIDATE_RAW_TCP] = {"libfabric tcp", NULL, NULL, "--transport ofi:tcp --raw msg", NULL, 1, false},
	[CANDIDATE_OURS_NET] = {"ours, ofi:net", NULL, NULL, "--transport ofi:net", NULL, 1, false},
	[CANDIDATE_RAW_NET] = {"libfabric net", NULL, NULL, "--transport ofi:net --raw msg", NULL, 1, false},
};
/* clang-format on */

enum { OURS, OTHER_BUILD, MPI, UCX, LIBFABRIC, LINE, STAGED_16K, STAGED_64K, CROSS, SPLIT };

const struct compare_column compare_columns[COMPARE_COLUMNS] = {
	[OURS] = {"ours", "ours", SIDE_OURS},
	[OTHER_BUILD] = {"other", "other_build", SIDE_OTHER_BUILD},
	[MPI] = {"MPI", "mpi", SIDE_PEER},
	[UCX] = {"UCX", "ucx", SIDE_PEER},
	[LIBFABRIC] = {"libfabric", "libfabric", SIDE_PEER},
	[LINE] = {"lines", "bare_lines", SIDE_BARE},
	[STAGED_16K] = {"staged16", "bare_staged_16k", SIDE_BARE},
	[STAGED_64K] = {"staged64", "bare_staged_64k", SIDE_BARE},
	[CROSS] = {"cross", "bare_cross", SIDE_BARE},
	[SPLIT] = {"split", "bare_split", SIDE_BARE},
};

enum group {
	NODE = 1,
	LOADED = 2,
	DEDICATED = 4,
	SELF = 8,
	TCP = 16,
	NET = 32,
};

#define ON_NODE  (NODE | LOADED)
#define K(kind)  (1u << CANDIDATE_##kind)
#define ALL      UINT32_MAX
#define TRAFFIC  (K(PUT) | K(GET) | K(PUT_WINDOW) | K(GET_WINDOW))
#define PUTS     (K(PUT) | K(PUT_WINDOW))
#define ANY_SIZE 0, UINT64_MAX
#define IN_LINE  56u /* bytes */

static const struct entrant entrants[] = {
	{OURS, CANDIDATE_OURS, 0, ON_NODE, ALL, ANY_SIZE},
	{OTHER_BUILD, CANDIDATE_OTHER_BUILD, 0, ON_NODE, ALL, ANY_SIZE},
	{MPI, CANDIDATE_MPI, 0, ON_NODE, ALL, ANY_SIZE},
	{UCX, CANDIDATE_UCX, 0, ON_NODE, ALL, ANY_SIZE},
	{LIBFABRIC, CANDIDATE_SHM, 0, ON_NODE, TRAFFIC, ANY_SIZE},
	{LINE, CANDIDATE_BARE, BARE_PATH, NODE | SELF, K(PUT), 0, PATH_LARGEST},
	{LINE, CANDIDATE_BARE, BARE_PATH, NODE, K(PUT_WINDOW), 0, IN_LINE},
	{LINE, CANDIDATE_BARE, BARE_BLOCKING, LOADED, K(PUT), 0, IN_LINE},
	{LINE, CANDIDATE_BARE, BARE_WAKE, DEDICATED, K(PUT), ANY_SIZE},
	{STAGED_16K, CANDIDATE_BARE, BARE_STAGED_16K, NODE, PUTS, PATH_LARGEST, UINT64_MAX},
	{STAGED_64K, CANDIDATE_BARE, BARE_STAGED_64K, NODE, PUTS, 65536, UINT64_MAX},
	{CROSS, CANDIDATE_BARE, BARE_CROSS, NODE, PUTS, 4096, UINT64_MAX},
	{SPLIT, CANDIDATE_BARE, BARE_SPLIT, NODE, PUTS, 65536, UINT64_MAX},
	{OURS, CANDIDATE_DEDICATED, 0, DEDICATED, ALL, ANY_SIZE},
	{OURS, CANDIDATE_SELF, 0, SELF, ALL, ANY_SIZE},
	{OURS, CANDIDATE_OURS_TCP, 0, TCP, ALL, ANY_SIZE},
	{LIBFABRIC, CANDIDATE_RAW_TCP, 0, TCP, ALL, ANY_SIZE},
	{OURS, CANDIDATE_OURS_NET, 0, NET, ALL, ANY_SIZE},
	{LIBFABRIC, CANDIDATE_RAW_NET, 0, NET, ALL, ANY_SIZE},
};

const struct entrant *compare_entrant(const struct compare_row *row, unsigned column)
{
	for (const struct entrant *entrant = entrants; entrant < entrants + sizeof(entrants) / sizeof(entrants[0]);
	     entrant++)
		if (entrant->column == column && entrant->groups & row->group && entrant->kinds >> row->kind & 1 &&
		    row->size >= entrant->size_min && row->size <= entrant->size_max)
			return entrant;
	return NULL;
}

#define PUT_LATENCY(size, quick)                                                                                       \
	{                                                                                                              \
		"put-latency", "us", NODE, CANDIDATE_PUT, size, 0, 0, quick, false, false                              \
	}
#define GET_LATENCY(size, quick)                                                                                       \
	{                                                                                                              \
		"get-latency", "us", NODE, CANDIDATE_GET, size, 0, 0, quick, false, false                              \
	}
#define PUT_BANDWIDTH(size, quick)                                                                                     \
	{                                                                                                              \
		"put-bandwidth", "GB/s", NODE, CANDIDATE_PUT_WINDOW, size, 0, 16, quick, false, true                   \
	}
#define GET_BANDWIDTH(size, quick)                                                                                     \
	{                                                                                                              \
		"get-bandwidth", "GB/s", NODE, CANDIDATE_GET_WINDOW, size, 0, 16, quick, false, true                   \
	}
#define DEPTH(depth, quick)                                                                                            \
	{                                                                                                              \
		"match-depth", "us", NODE, CANDIDATE_DEPTH, 8, depth, 0, quick, false, false                           \
	}
#define UNEXPECTED(depth, quick)                                                                                       \
	{                                                                                                              \
		"unexpected", "us", NODE, CANDIDATE_UNEXPECTED, 8, depth, 0, quick, false, false                       \
	}
#define REWRITTEN(size, quick)                                                                                         \
	{                                                                                                              \
		"rewritten", "us", NODE, CANDIDATE_REWRITTEN, size, 0, 0, quick, false, false                          \
	}
#define OVERLAP(size, quick)                                                                                           \
	{                                                                                                              \
		"overlap", "us", NODE, CANDIDATE_BUSY, size, 0, 0, quick, false, false                                 \
	}
#define OVER(name, group, size, quick)                                                                                 \
	{                                                                                                              \
		name "-latency", "us", group, CANDIDATE_PUT, size, 0, 0, quick, false, false                           \
	}
#define STREAM(name, group, size, quick)                                                                               \
	{                                                                                                              \
		name "-bandwidth", "GB/s", group, CANDIDATE_PUT_WINDOW, size, 0, 16, quick, false, true                \
	}

/* clang-format off */
const struct compare_row compare_rows[] = {
	PUT_LATENCY(8, true), PUT_LATENCY(64, false), PUT_LATENCY(1024, false), PUT_LATENCY(4096, true),
	PUT_LATENCY(16384, false), PUT_LATENCY(65536, true), PUT_LATENCY(262144, false), PUT_LATENCY(1048576, true),
	PUT_LATENCY(4194304, false),
	GET_LATENCY(8, true), GET_LATENCY(4096, false), GET_LATENCY(65536, false), GET_LATENCY(1048576, false),
	REWRITTEN(16384, false), REWRITTEN(65536, true), REWRITTEN(1048576, false),
	{"rate", "M/s", NODE, CANDIDATE_PUT_WINDOW, 8, 0, 64, true, false, true},
	PUT_BANDWIDTH(4096, false), PUT_BANDWIDTH(16384, false), PUT_BANDWIDTH(65536, true), PUT_BANDWIDTH(262144, false),
	PUT_BANDWIDTH(1048576, false), PUT_BANDWIDTH(4194304, false),
	GET_BANDWIDTH(65536, true), GET_BANDWIDTH(262144, false), GET_BANDWIDTH(1048576, false), GET_BANDWIDTH(4194304, false),
	DEPTH(0, false), DEPTH(100, true), DEPTH(1000, false), DEPTH(10000, false),
	UNEXPECTED(0, false), UNEXPECTED(1000, true), UNEXPECTED(10000, false),
	OVERLAP(8, false), OVERLAP(65536, false), OVERLAP(1048576, true),
	{"loaded", "us", LOADED, CANDIDATE_PUT, 8, 0, 0, true, true, false},
	{"loaded", "us", LOADED, CANDIDATE_PUT, 65536, 0, 0, false, true, false},
	{"dedicated", "us", DEDICATED, CANDIDATE_PUT, 8, 0, 0, true, false, false},
	{"self", "us", SELF, CANDIDATE_PUT, 8, 0, 0, true, false, false},
	OVER("tcp", TCP, 8, true), OVER("tcp", TCP, 1024, false), OVER("tcp", TCP, 4096, false),
	OVER("tcp", TCP, 16384, false), OVER("tcp", TCP, 65536, false),
	STREAM("tcp", TCP, 65536, true), STREAM("tcp", TCP, 1048576, false), STREAM("tcp", TCP, 4194304, false),
	OVER("net", NET, 8, true), OVER("net", NET, 1024, false), OVER("net", NET, 4096, false),
	OVER("net", NET, 16384, false), OVER("net", NET, 65536, false),
	STREAM("net", NET, 65536, true), STREAM("net", NET, 1048576, false), STREAM("net", NET, 4194304, false),
};
/* clang-format on */

const size_t compare_row_count = sizeof(compare_rows) / sizeof(compare_rows[0]);

static bool is_round_trip(const struct compare_row *row)
{
	return (row->kind == CANDIDATE_PUT && row->group != SELF) || row->kind == CANDIDATE_DEPTH ||
	       row->kind == CANDIDATE_UNEXPECTED || row->kind == CANDIDATE_REWRITTEN;
}

double compare_messages(const struct compare_row *row)
{
	return row->window ? row->window : is_round_trip(row) ? 2 : 1;
}

double compare_figure(const struct compare_row *row, double nanoseconds)
{
	double per_message = nanoseconds / compare_messages(row);

	if (!row->more_wins)
		return per_message / 1e3;
	return strcmp(row->unit, "M/s") ? (double)row->size / per_message : 1e3 / per_message;
}

static bool is_test(const char *name, size_t length)
{
	for (const struct compare_row *row = compare_rows; row < compare_rows + compare_row_count; row++)
		if (strlen(row->test) == length && !memcmp(row->test, name, length))
			return true;
	return false;
}

const char *compare_refuses(const char *names)
{
	for (;; names++) {
		size_t length = strcspn(names, ",");
		if (!is_test(names, length))
			return "some of " COMPARE_TESTS ", with commas between";
		names += length;
		if (!*names)
			return NULL;
	}
}
