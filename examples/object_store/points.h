/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points at which a test kills a process, as a power failure or kill -9 might: OBJECT_STORE_CRASH=NAME:COUNT kills it when it
 * passes the point for the COUNT-th time.  Without the variable a point does nothing.
 */
#ifndef OBJECT_STORE_POINTS_H
#define OBJECT_STORE_POINTS_H

/* What a put passes in the server, in this order; a removal passes the first one and the last three. */
#define OBJECT_POINTS(X)                                                                                               \
	X("received")         /* the request is taken from the queue */                                                \
	X("pulled")           /* a chunk is in the server's memory */                                                  \
	X("written")          /* ... and in the file, which has a temporary name */                                    \
	X("synced")           /* all of it is on the disk */                                                           \
	X("linked")           /* it has the name under which the index will know it */                                 \
	X("directory-synced") /* ... on the disk */                                                                    \
	X("in-transaction")   /* the index is changed, the change not committed */                                     \
	X("committed")        /* from here on the object is the new one */                                             \
	X("replied")          /* the client may know */

/* Passed by a client while the server takes its data or brings some. */
#define OBJECT_CLIENT_POINT "client-moving"

void object_point(const char *name);

#endif
