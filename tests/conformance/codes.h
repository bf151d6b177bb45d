/* SPDX-License-Identifier: BSD-3-Clause */
/* Every return code and every event kind of Portals 3.3, in the order of their numbers. */
#ifndef TESTS_CONFORMANCE_CODES_H
#define TESTS_CONFORMANCE_CODES_H

#define RETURN_CODES(X)                                                                                                \
	X(PTL_OK)                                                                                                      \
	X(PTL_AC_INDEX_INVALID)                                                                                        \
	X(PTL_EQ_DROPPED)                                                                                              \
	X(PTL_EQ_EMPTY)                                                                                                \
	X(PTL_EQ_INVALID)                                                                                              \
	X(PTL_FAIL)                                                                                                    \
	X(PTL_HANDLE_INVALID)                                                                                          \
	X(PTL_IFACE_INVALID)                                                                                           \
	X(PTL_MD_ILLEGAL)                                                                                              \
	X(PTL_MD_INVALID)                                                                                              \
	X(PTL_MD_IN_USE)                                                                                               \
	X(PTL_MD_NO_UPDATE)                                                                                            \
	X(PTL_ME_INVALID)                                                                                              \
	X(PTL_ME_IN_USE)                                                                                               \
	X(PTL_ME_LIST_TOO_LONG)                                                                                        \
	X(PTL_NI_INVALID)                                                                                              \
	X(PTL_NO_INIT)                                                                                                 \
	X(PTL_NO_SPACE)                                                                                                \
	X(PTL_PID_INVALID)                                                                                             \
	X(PTL_PROCESS_INVALID)                                                                                         \
	X(PTL_PT_FULL)                                                                                                 \
	X(PTL_PT_INDEX_INVALID)                                                                                        \
	X(PTL_SEGV)                                                                                                    \
	X(PTL_SR_INDEX_INVALID)                                                                                        \
	X(PTL_UNKNOWN_ERROR)

#define EVENT_KINDS(X)                                                                                                 \
	X(PTL_EVENT_GET_START)                                                                                         \
	X(PTL_EVENT_GET_END)                                                                                           \
	X(PTL_EVENT_PUT_START)                                                                                         \
	X(PTL_EVENT_PUT_END)                                                                                           \
	X(PTL_EVENT_GETPUT_START)                                                                                      \
	X(PTL_EVENT_GETPUT_END)                                                                                        \
	X(PTL_EVENT_REPLY_START)                                                                                       \
	X(PTL_EVENT_REPLY_END)                                                                                         \
	X(PTL_EVENT_SEND_START)                                                                                        \
	X(PTL_EVENT_SEND_END)                                                                                          \
	X(PTL_EVENT_ACK)                                                                                               \
	X(PTL_EVENT_UNLINK)

#endif
