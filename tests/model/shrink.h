/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PORTALS_TESTS_MODEL_SHRINK_H
#define PORTALS_TESTS_MODEL_SHRINK_H

#include "tests/model/program.h"

/* Makes a failing program as short and as plain as it can while it `fails` the same way, in at most `seconds`. */
void shrink(struct program *, bool (*fails)(const struct program *), double seconds);

#endif
