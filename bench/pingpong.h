/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges of pingpong.c, for others that vary them. */
#ifndef PTLBENCH_PINGPONG_H
#define PTLBENCH_PINGPONG_H

#include "measure.h"

void put_prepare(struct session *session, const struct run *run);
void put_initiate(struct session *session, const struct run *run, uint32_t iteration);
void put_serve(struct session *session, const struct run *run, uint32_t iteration);
void put_finish(struct session *session, const struct run *run);

/* The target of any number of gets: attach, wait until the initiator says done, detach. */
void get_target_prepare(struct session *session, const struct run *run);
void get_target_serve(struct session *session, const struct run *run, uint32_t iteration);
void get_target_finish(struct session *session);
void get_say_done(struct session *session);

#endif
