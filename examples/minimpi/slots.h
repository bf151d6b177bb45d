/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages leave from copies, in slots.  A slot is free when its message is in a receive or in a block, or has been fetched.
 *
 * The first few to a peer ask for no ACK: the peer counts those that it has, and the next message the other way, whatever it is,
 * carries the number.  When it has told of all, they may be as many again.  What is beyond asks for an ACK.  A GET says
 * the same of a message that found no block.
 */
#ifndef MINIMPI_SLOTS_H
#define MINIMPI_SLOTS_H

#include "request.h"

/*
 * The header data of every message:
 *
 *     63       57  56       55   36  35                     0
 *     has of ours | counted | rank  | where it can be fetched
 *
 * `rank` is the sender's in MPI_COMM_WORLD.  A counted message has asked for no ACK.  `where` is the offset of a short
 * message, under the match bits SLOTS_BITS; those of a long one.
 */
#define SLOTS_BITS        UINT64_C(0)
#define HEADER_WHERE_BITS 36
#define HEADER_WHERE      ((UINT64_C(1) << HEADER_WHERE_BITS) - 1)
#define HEADER_COUNTED    (UINT64_C(1) << 56)

/* Of a message to the peer; tells it how many of its messages are here. */
ptl_hdr_data_t slots_header(struct peer *peer, uint64_t where);
/* The sender of a message. */
struct peer *slots_sender(ptl_hdr_data_t header);
/* A message has come: takes the number from its header. */
void slots_learn(ptl_hdr_data_t header);
/* All of it is here: its sender will be told, if it counts on it. */
void slots_count(ptl_hdr_data_t header);

/* `answered` is called when one that has asked for an ACK has its answer. */
void slots_open(void (*answered)(struct peer *peer, enum lane_of lane));
void slots_close(void);
/* Sends a request's message, which is complete then, without an ACK, or with one; false: there is no such slot. */
bool slots_send_counted(MPI_Request request);
bool slots_send(MPI_Request request, enum lane_of lane);
/* Nothing will come of the messages to a process that has died. */
void slots_fail(const struct peer *peer);

#endif
