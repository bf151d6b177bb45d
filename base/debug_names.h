/* SPDX-License-Identifier: BSD-3-Clause */
/* What PtlNIDebug traces: PTL_DBG_* in the words of PTL_DEBUG and of the lines printed, in the order of the bits. */
#ifndef PORTALS_BASE_DEBUG_NAMES_H
#define PORTALS_BASE_DEBUG_NAMES_H

#include <p3api/debug.h>

#define PORTALS_DEBUG_NAMES(X)                                                                                         \
	X("api", PTL_DBG_API)                                                                                          \
	X("parse", PTL_DBG_PARSE)                                                                                      \
	X("move", PTL_DBG_MOVE)                                                                                        \
	X("drop", PTL_DBG_DROP)                                                                                        \
	X("request", PTL_DBG_REQUEST)                                                                                  \
	X("delivery", PTL_DBG_DELIVERY)                                                                                \
	X("md", PTL_DBG_MD)                                                                                            \
	X("me", PTL_DBG_ME)                                                                                            \
	X("unlink", PTL_DBG_UNLINK)                                                                                    \
	X("eq", PTL_DBG_EQ)                                                                                            \
	X("event", PTL_DBG_EVENT)                                                                                      \
	X("memory", PTL_DBG_MEMORY)                                                                                    \
	X("setup", PTL_DBG_SETUP)                                                                                      \
	X("shutdown", PTL_DBG_SHUTDOWN)

#endif
