/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MINIMPI_TOPOLOGY_H
#define MINIMPI_TOPOLOGY_H

struct topology;
struct topology *topology_copy(const struct topology *topology);
void topology_free(struct topology *topology);

#endif
