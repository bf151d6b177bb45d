/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions in headers: old programs are compiled as C89 too, which has no `inline`. */
#ifndef P3_INLINE_H
#define P3_INLINE_H

#ifdef __GNUC__
#define P3_INLINE static __inline__
#else
#define P3_INLINE static inline
#endif

#endif
