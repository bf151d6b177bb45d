/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of the reference implementation's portals3.h that some programs include by itself. */
#ifndef P3API_API_H
#define P3API_API_H

#include <portals3.h>

#endif
