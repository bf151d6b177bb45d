/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs as they were written against Portals 3.3 long ago: each table uses the API the way one kind of real client does,
 * and depends on what that client depends on.
 */
#ifndef TESTS_CLIENTS_H
#define TESTS_CLIENTS_H

#include "tests/support/peers.h"

#define CLIENT_TABLES(X)                                                                                               \
	X(mpi_tests)                                                                                                   \
	X(btl_tests)                                                                                                   \
	X(block_tests)                                                                                                 \
	X(rpc_tests)                                                                                                   \
	X(storage_tests)                                                                                               \
	X(runtime_tests)                                                                                               \
	X(lock_tests)                                                                                                  \
	X(job_tests)                                                                                                   \
	X(call_tests)                                                                                                  \
	X(cray_tests)                                                                                                  \
	X(lustre_tests)                                                                                                \
	X(dialect_tests)

#define DECLARE_TABLE(table) extern const struct test table[];
CLIENT_TABLES(DECLARE_TABLE)
#undef DECLARE_TABLE

#endif
