/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of return codes, event kinds and failure codes. */
#include <portals3.h>
#include <portals3_nic.h>

#define ERRORS(X)                                                                                                      \
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

#define FAILURES(X)                                                                                                    \
	X(PTL_NI_OK)                                                                                                   \
	X(PTL_NI_FAIL)                                                                                                 \
	X(PTL_NI_UNREACHABLE)                                                                                          \
	X(PTL_NI_PEER_DIED)                                                                                            \
	X(PTL_NI_SHUTDOWN)                                                                                             \
	X(PTL_NI_PROTOCOL)

#define NAME_AT_VALUE(name) [name] = #name,
#define COUNT(table)        (sizeof(table) / sizeof(*(table)))

/*
 * The two arrays are part of the ABI: old programs declare them themselves.  They do not agree on the type of
 * ptl_event_str, therefore no header declares it.
 */
extern const char *ptl_event_str[];

const char *ptl_err_str[] = {ERRORS(NAME_AT_VALUE)};
const char *ptl_event_str[] = {EVENT_KINDS(NAME_AT_VALUE)};
static const char *const failure_names[] = {FAILURES(NAME_AT_VALUE)};

/* No holes: a name left out of the middle of a list, or written twice, makes list and array differ in length. */
#define ONE(name)    1,
#define LENGTH(list) sizeof((char[]){list(ONE)})
_Static_assert(COUNT(ptl_err_str) == LENGTH(ERRORS), "return codes are consecutive");
_Static_assert(COUNT(ptl_event_str) == LENGTH(EVENT_KINDS), "event kinds are consecutive");
_Static_assert(COUNT(failure_names) == LENGTH(FAILURES), "failure codes are consecutive");

const char *PtlErrorStr(unsigned ptl_errno)
{
	return ptl_errno < COUNT(ptl_err_str) ? ptl_err_str[ptl_errno] : ptl_err_str[PTL_UNKNOWN_ERROR];
}

const char *PtlEventKindStr(ptl_event_kind_t kind)
{
	if (kind == PTL_NIC_EVENT_PEER_DIED)
		return "PTL_NIC_EVENT_PEER_DIED";
	return (unsigned)kind < COUNT(ptl_event_str) ? ptl_event_str[kind] : "PTL_UNKNOWN_EVENT_KIND";
}

const char *PtlNIFailStr(ptl_handle_ni_t ni_handle, ptl_ni_fail_t fail_type)
{
	(void)ni_handle;
	return fail_type < COUNT(failure_names) ? failure_names[fail_type] : "PTL_NI_UNKNOWN_ERROR";
}

int PtlLibraryVersion(void)
{
	return PTL_LIBRARY_VERSION;
}
