/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Portals 3.3: matched one-sided messages between processes.
 *
 * A target builds, under an index of its portal table, a list of match entries; each may carry a memory descriptor that
 * says which memory may be read or written, how often, and which event queue hears of it.  An initiator names a
 * process, an index and 64 match bits; data moves without the target's application taking part.  The order of this file
 * is that of the specification; the names in quotation marks are its sections.  "Our reading" marks what the
 * specification leaves open.
 *
 * What holds for every function; exceptions are stated where they occur:
 *
 * - Threads: any function may be called from any thread after PtlInit.  Each call is atomic with respect to other calls
 *   and to arriving messages; sequences of calls are not.
 * - Blocking: only PtlEQWait, PtlEQPoll with a timeout, and PtlNIFini and PtlFini (an interface at most PTL_LINGER)
 *   wait for other processes.
 * - Results: pointers are written only if the call succeeds, structures passed by pointer are not kept.
 * - Signals: calls from signal handlers are undefined.  One that interrupts a Portals call of its own thread returns
 *   PTL_FAIL where it would do harm.  So does one of a thread made by clone() without CLONE_SETTLS, while another that
 *   shares its storage is in a Portals call: threads are made by pthread_create().
 * - Handles: a handle carries its interface, its object's slot and a generation, so one whose object is gone, or that
 *   is of another kind, gives the PTL_*_INVALID code of the kind wanted.  A handle recurs after a second at the earliest,
 *   and not before some 2000 more objects for each slot that is free: 134 million of its kind where few are kept.
 * - Fork: in the child every call returns PTL_NO_INIT until the child has called PtlFini; then it may start anew, with
 *   PtlInit and another pid.  The parent goes on undisturbed.  The child of a signal handler that interrupted a Portals
 *   call may only exec.  (Our reading.)
 * - Memory: to unmap or free memory while a descriptor covers it, to protect it from the access that the descriptor
 *   offers, or to cut off the file behind it, is undefined.  What is guaranteed beyond that: a long message fails, and harms
 *   nothing else, if its source cannot be read (over a network: when it is offered, PTL_NI_FAIL), and within a node or a
 *   process (PTL_NI_PROTOCOL) also if its destination cannot be written.  Short messages are copied unseen, and over a
 *   network the destination is libfabric's business: there it is a SIGSEGV or SIGBUS.
 */
#ifndef PORTALS3_H
#define PORTALS3_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Version of the library that this header belongs to: for conditional compilation, and to compare with PtlLibraryVersion().
 * Not in the specification.
 */
#define PTL_LIBRARY_VERSION_MAJOR                       0
#define PTL_LIBRARY_VERSION_MINOR                       1
#define PTL_LIBRARY_VERSION_PATCH                       0
#define PTL_LIBRARY_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define PTL_LIBRARY_VERSION                                                                                            \
	PTL_LIBRARY_VERSION_NUMBER(PTL_LIBRARY_VERSION_MAJOR, PTL_LIBRARY_VERSION_MINOR, PTL_LIBRARY_VERSION_PATCH)

/*
 * Return codes ("Return Codes").  The comment is the general meaning; each function says when it returns which.  Three
 * mean the same everywhere and are only named there:
 *   PTL_NO_INIT  PtlInit was not called, or PtlFini was, or this is a forked child that has not called PtlFini.
 *   PTL_SEGV     a pointer that must not be NULL is; other bad addresses are not detected.
 *   PTL_FAIL     (not repeated below) called from a signal handler that interrupted a Portals call of this thread.
 */
typedef enum {
	PTL_OK = 0,           /* success */
	PTL_AC_INDEX_INVALID, /* access control index above max_ac_index */
	PTL_EQ_DROPPED,       /* an event is returned, and at least one before it was lost */
	PTL_EQ_EMPTY,         /* no event */
	PTL_EQ_INVALID,       /* not an event queue */
	PTL_FAIL,             /* initialisation failed, or call from a signal handler */
	PTL_HANDLE_INVALID,   /* not a handle of any kind */
	PTL_IFACE_INVALID,    /* unknown interface */
	PTL_MD_ILLEGAL,       /* contents of a memory descriptor or a region of it make no sense */
	PTL_MD_INVALID,       /* not a memory descriptor, or an inactive one where an active one is needed */
	PTL_MD_IN_USE,        /* operations are pending on the memory descriptor */
	PTL_MD_NO_UPDATE,     /* the test queue was not empty */
	PTL_ME_INVALID,       /* not a match entry */
	PTL_ME_IN_USE,        /* the match entry has a descriptor already, or operations are pending on that */
	PTL_ME_LIST_TOO_LONG, /* the match list has max_me_list entries */
	PTL_NI_INVALID,       /* not a network interface */
	PTL_NO_INIT,          /* library not initialised */
	PTL_NO_SPACE,         /* no memory, or a limit on the number of objects reached */
	PTL_PID_INVALID,      /* process id not to be had */
	PTL_PROCESS_INVALID,  /* process id that cannot name a process */
	PTL_PT_FULL,          /* every portal table entry has a match list */
	PTL_PT_INDEX_INVALID, /* portal table index above max_pt_index */
	PTL_SEGV,             /* NULL pointer */
	PTL_SR_INDEX_INVALID, /* unknown status register */
	PTL_UNKNOWN_ERROR     /* never returned; what PtlErrorStr calls a number that is no code */
} ptl_err_t;

/* Base types ("Base Types").  All scalars are integers. */

/* Bytes: lengths and offsets. */
typedef uint64_t ptl_size_t;

/*
 * Handles: valid in this process only, shared by its threads.  A handle of any kind converts to ptl_handle_any_t and
 * back without loss; == compares.
 */
typedef uint32_t ptl_handle_any_t;
typedef ptl_handle_any_t ptl_handle_ni_t; /* network interface */
typedef ptl_handle_any_t ptl_handle_me_t; /* match entry */
typedef ptl_handle_any_t ptl_handle_md_t; /* memory descriptor */
typedef ptl_handle_any_t ptl_handle_eq_t; /* event queue */

#define PTL_INVALID_HANDLE 0xffffffffU /* never a live handle of any kind */
#define PTL_HANDLE_NONE    0x7fffffffU /* "no object", for the use of applications; never a live handle */
#define PTL_EQ_NONE        0xbfffffffU /* no event queue: nothing is logged, nothing is tested */

typedef uint32_t ptl_pt_index_t;   /* portal table entry, 0 to max_pt_index */
typedef uint32_t ptl_ac_index_t;   /* access control entry, 0 to max_ac_index */
typedef uint64_t ptl_match_bits_t; /* compared bit by bit, see PtlMEAttach */
typedef uint64_t ptl_hdr_data_t;   /* user word carried by a put; all 64 bits arrive as they were */
typedef uint32_t ptl_interface_t;  /* names an interface to PtlNIInit */
typedef uint32_t ptl_nid_t;        /* node: the interface's IPv4 address in host byte order */
typedef uint32_t ptl_pid_t;        /* process on its node; any number but PTL_PID_ANY */
typedef uint32_t ptl_uid_t;        /* user: the effective Unix user id */
typedef uint32_t ptl_jid_t;        /* job, see PtlGetJid */
typedef uint32_t ptl_sr_index_t;   /* status register, PTL_SR_* */
typedef int64_t ptl_sr_value_t;    /* its value */
typedef uint32_t ptl_ni_fail_t;    /* outcome of an operation, PTL_NI_* */
typedef uint32_t ptl_seq_t;        /* counts events or operations; wraps to 0 */
typedef uint32_t ptl_time_t;       /* milliseconds */

/* A process as others name it.  Either member, or both, may be a wildcard where the call says so. */
typedef struct {
	ptl_nid_t nid;
	ptl_pid_t pid;
} ptl_process_id_t;

/* Wildcards: all ones of their type. */
#define PTL_NID_ANY      0xffffffffU
#define PTL_PID_ANY      0xffffffffU
#define PTL_UID_ANY      0xffffffffU
#define PTL_JID_ANY      0xffffffffU
#define PTL_PT_INDEX_ANY 0xffffffffU

#define PTL_JID_NONE 0U /* process without a job (our reading) */

/* Library and interfaces ("Initialization and Cleanup", "Network Interfaces"). */

/*
 * The interface to take when there is no reason to take another.  The reference implementation defines it in the header
 * of its network layer, which programs include before or after this one: hence the guard.
 */
#ifndef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT 0
#endif

/* Limits of an interface.  Objects are counted per interface.  In brackets: the most this library grants. */
typedef struct {
	int max_mes;       /* match entries at one time [65536] */
	int max_mds;       /* memory descriptors at one time [65536] */
	int max_eqs;       /* event queues at one time [1024] */
	int max_ac_index;  /* greatest index of the access control table [7] */
	int max_pt_index;  /* greatest index of the portal table [63] */
	int max_md_iovecs; /* elements of one PTL_MD_IOVEC descriptor [256] */
	int max_me_list;   /* match entries under one portal table index [65536] */
	int max_getput_md; /* bytes of a PtlGetPut [256] */
} ptl_ni_limits_t;

/*
 * Status registers.  All count from PtlNIInit on.  Dropped is a put, get or getput with a bad portal table or access
 * control index, refused by access control, or for which no descriptor was found; and an ACK or REPLY whose memory
 * descriptor is gone or inactive, or (ACK) has no event queue.  Truncated messages and lost events are not drops.
 */
#define PTL_SR_DROP_COUNT    0 /* messages dropped */
#define PTL_SR_DROP_LENGTH   1 /* bytes that dropped requests asked for and dropped replies brought */
#define PTL_SR_RECV_COUNT    2 /* messages received */
#define PTL_SR_RECV_LENGTH   3 /* bytes of data that requests brought (replies are not counted) */
#define PTL_SR_SEND_COUNT    4 /* messages sent */
#define PTL_SR_SEND_LENGTH   5 /* bytes of data sent, with requests and replies */
#define PTL_SR_MLIST_LEN(pt) (0x10000U + (ptl_sr_index_t)(pt)) /* match entries under index pt now */
#define PTL_SR_MLIST_MAX(pt) (0x20000U + (ptl_sr_index_t)(pt)) /* ... and the most there ever were */

/*
 * Initialises the library and reads the environment (PTL_* variables).  Must precede every other call of a process but
 * PtlFini and the PtlErrorStr family; may be repeated, from any thread.  *max_interfaces becomes the number of
 * interfaces that may be open at one time (8), at every call.
 *   PTL_OK    initialised, now or before
 *   PTL_FAIL  the library cannot start: no memory, or a variable has a value that makes no sense
 *   PTL_SEGV  max_interfaces is NULL
 * ("Initialization and Cleanup")
 */
int PtlInit(int *max_interfaces);

/*
 * Ends every interface as PtlNIFini does, then the library.  To be called once per process, not per thread, when no
 * other thread is in a Portals call.  Afterwards all handles are dead; PtlInit may start anew.  Without PtlInit, or
 * repeated, it does nothing.  In a forked child it only abandons the parent's objects.
 * A process that ends without calling it leaves nothing behind.  ("Initialization and Cleanup")
 */
void PtlFini(void);

/*
 * Opens an interface, once for the process: a repeated call, from any thread, ignores `pid` and `desired` and gives the
 * handle and limits of the first.  There is no count: one PtlNIFini ends it.
 *   interface  PTL_IFACE_DEFAULT, or another the library knows
 *   pid        the wanted process id; PTL_PID_ANY: the runtime's choice for this process, else a free one
 *   desired    hints, or NULL
 *   actual     receives the limits in force, unless NULL
 * Where others are reached through a network alone it returns when the network is open, at the first time in a process
 * after some 0.3 s (PTL_OPEN=background: at once, and what is sent waits).
 *   PTL_OK             opened, now or before; *ni_handle is valid until PtlNIFini or PtlFini
 *   PTL_NO_INIT
 *   PTL_IFACE_INVALID  no such interface, or it cannot be had (no such device or transport)
 *   PTL_PID_INVALID    another process of the node has this pid, or the job (p3rt/p3rt.h) has another for this process
 *   PTL_FAIL           the environment says that this is one of several processes, and how to find them is not to be had
 *   PTL_NO_SPACE       no memory, thread or descriptor was to be had
 *   PTL_SEGV           ni_handle is NULL
 * ("Network Interfaces")
 */
int PtlNIInit(ptl_interface_t interface, ptl_pid_t pid, ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
	      ptl_handle_ni_t *ni_handle);

/*
 * Closes an interface and frees its objects without UNLINK events; their handles are dead, user memory is not touched
 * any more.  Queued sends may leave for up to PTL_LINGER (1 s), so this call blocks as long; operations still
 * unfinished then fail with PTL_NI_SHUTDOWN.  Other threads' calls on the interface meanwhile, and messages arriving,
 * have undefined effects.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID  ni_handle
 * ("Network Interfaces")
 */
int PtlNIFini(ptl_handle_ni_t ni_handle);

/*
 * Reads one status register (PTL_SR_*).
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID        ni_handle
 *   PTL_SR_INDEX_INVALID  no such register, or PTL_SR_MLIST_* of an index above max_pt_index
 *   PTL_SEGV              status is NULL
 * ("Network Interfaces")
 */
int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t register_index, ptl_sr_value_t *status);

/*
 * A measure of how far a process is: smaller is nearer; the unit means nothing beyond that, and only values of one
 * interface compare.  Static: causes no traffic, needs neither contact with the process nor its existence.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID       ni_handle
 *   PTL_PROCESS_INVALID  process has a wildcard
 *   PTL_SEGV             distance is NULL
 * ("Network Interfaces")
 */
int PtlNIDist(ptl_handle_ni_t ni_handle, ptl_process_id_t process, unsigned long *distance);

/*
 * The interface an object belongs to; of an interface, itself.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_HANDLE_INVALID  handle is no live object of any kind
 *   PTL_SEGV            ni_handle is NULL
 * ("Network Interfaces")
 */
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle);

/* Identity ("User Identification", "Process Identification", "Process Aggregation"). */

/*
 * The user id that this process's requests carry on the interface: its effective Unix user id.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID  ni_handle
 *   PTL_SEGV        uid is NULL
 * ("User Identification")
 */
int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid);

/*
 * The nid and pid by which others reach this process on the interface; fixed from PtlNIInit on.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID  ni_handle
 *   PTL_SEGV        id is NULL
 * ("Process Identification")
 */
int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_id_t *id);

/*
 * The job id that this process's requests carry: given by the runtime (PTL_MY_JID), else the pid of the first interface
 * opened.  PTL_JID_NONE would mean that there is no job.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID  ni_handle
 *   PTL_SEGV        jid is NULL
 * ("Process Aggregation")
 */
int PtlGetJid(ptl_handle_ni_t ni_handle, ptl_jid_t *jid);

/*
 * Match entries ("Match List Entries and Match Lists").
 *
 * A request walks the match list of its portal table index from the head and is taken by the first entry whose match_id
 * and match bits fit and whose memory descriptor accepts it (see ptl_md_t); an entry without a descriptor, or with an
 * inactive or refusing one, is passed over.  No entry: the request is dropped, and the initiator is not told.
 */

/* For an entry: does it go when its memory descriptor goes?  For a descriptor: does it go when it becomes inactive? */
typedef enum { PTL_RETAIN, PTL_UNLINK } ptl_unlink_t;

/* PtlMEAttach: head or tail of the list.  PtlMEInsert: just before or just after the base entry. */
typedef enum { PTL_INS_BEFORE, PTL_INS_AFTER } ptl_ins_pos_t;

/*
 * Creates a match entry, without a memory descriptor yet, at the head or tail of the match list of an index.
 *   match_id     the process that may match; nid and pid may be wildcards.  The id of no process is legal and matches none
 *   match_bits,  a request fits if ((its bits ^ match_bits) & ~ignore_bits) == 0
 *   ignore_bits
 *   unlink       PTL_UNLINK: the entry goes when its descriptor is unlinked; looked at only in that moment, so an entry
 *                that never had a descriptor stays
 *   me_handle    the entry; dead after PtlMEUnlink or when the entry goes with its descriptor
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID        ni_handle
 *   PTL_PT_INDEX_INVALID  pt_index above max_pt_index
 *   PTL_PROCESS_INVALID   match_id cannot be matched; this library accepts every id and never returns it
 *   PTL_NO_SPACE          max_mes entries exist, or no memory
 *   PTL_ME_LIST_TOO_LONG  the list has max_me_list entries
 *   PTL_SEGV              me_handle is NULL
 * ("Match List Entries and Match Lists")
 */
int PtlMEAttach(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_me_t *me_handle);

/*
 * PtlMEAttach under an index that has no match entries; *pt_index receives the index.  It is free again when its list
 * becomes empty.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID       ni_handle
 *   PTL_PT_FULL          every index has match entries
 *   PTL_PROCESS_INVALID  as for PtlMEAttach: never
 *   PTL_NO_SPACE         max_mes entries exist, or no memory
 *   PTL_SEGV             pt_index or me_handle is NULL
 * ("Match List Entries and Match Lists")
 */
int PtlMEAttachAny(ptl_handle_ni_t ni_handle, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
		   ptl_handle_me_t *me_handle);

/*
 * PtlMEAttach just before or just after the entry `base`, in its list.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_ME_INVALID        base
 *   PTL_PROCESS_INVALID   as for PtlMEAttach: never
 *   PTL_NO_SPACE          max_mes entries exist, or no memory
 *   PTL_ME_LIST_TOO_LONG  the list has max_me_list entries
 *   PTL_SEGV              me_handle is NULL
 * ("Match List Entries and Match Lists")
 */
int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t position, ptl_handle_me_t *me_handle);

/*
 * Removes an entry from its list and frees it together with its memory descriptor, whatever the unlink_op of that.
 * Both handles are dead, no UNLINK event is logged, the memory is the user's again.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_ME_INVALID  me_handle
 *   PTL_ME_IN_USE   operations are pending on its descriptor (see PtlMDUnlink); nothing changed (our reading)
 * ("Match List Entries and Match Lists")
 */
int PtlMEUnlink(ptl_handle_me_t me_handle);

/*
 * Memory descriptors ("Memory Descriptors").
 *
 * At the target, a descriptor accepts a request if it is active, allows the operation and has room: offset + requested
 * length <= bytes of the region, or with PTL_MD_TRUNCATE offset <= bytes of the region; then at most what fits is
 * moved, possibly nothing, which counts as success.  The offset is the request's with PTL_MD_MANAGE_REMOTE; otherwise
 * it is the descriptor's local offset, which starts at 0 and grows by the bytes moved with every request accepted.
 *
 * A descriptor becomes inactive when its threshold reaches 0, and with PTL_MD_MAX_SIZE by an accepted request that
 * leaves fewer than max_size bytes behind the local offset (exactly max_size: still active; without meaning with
 * PTL_MD_MANAGE_REMOTE; our reading: a request longer than max_size is not refused for that).  It then takes no new
 * operation; those under way finish.  If it was made with PTL_UNLINK it goes: after the END of the last operation
 * pending on it, with an UNLINK event if it has a queue, and takes along an entry made with PTL_UNLINK.  Both handles
 * are dead before the UNLINK event can be read.  A descriptor whose threshold was 0 from the start, or was made 0 by
 * PtlMDUpdate, is inactive but stays.
 *
 * Several descriptors may cover the same memory.
 */

/* A memory descriptor as the user states it.  Passed by value; later changes of the structure have no effect. */
typedef struct {
	void *start;       /* the region, or an array of ptl_md_iovec_t (copied); may be NULL if it has no bytes */
	ptl_size_t length; /* bytes of the region, or elements of the array */
	/*
	 * Operations until it becomes inactive; 0, or negative but for PTL_MD_THRESH_INF: inactive from the start.  One
	 * each: a put or getput issued from it, an ACK or REPLY that arrives for it, a request accepted by it.  Events
	 * need not be logged for that.  Issuing a get, sending an ACK or REPLY and local calls cost nothing.
	 */
	int threshold;
	ptl_size_t max_size;       /* bytes; looked at with PTL_MD_MAX_SIZE only */
	unsigned int options;      /* PTL_MD_*, or-ed */
	void *user_ptr;            /* the user's; comes back in the events' `md` */
	ptl_handle_eq_t eq_handle; /* where its events go, or PTL_EQ_NONE; a queue of the same interface */
} ptl_md_t;

/* An element of a PTL_MD_IOVEC descriptor.  iov_len may be 0.  On 64-bit systems laid out as struct iovec. */
typedef struct {
	void *iov_base;
	ptl_size_t iov_len; /* bytes */
} ptl_md_iovec_t;

#define PTL_MD_THRESH_INF (-1) /* threshold: never inactive by counting */

/* Options of a memory descriptor.  Those that begin with OP are about requests from elsewhere: its owner needs none. */
#define PTL_MD_OP_PUT              0x001U /* accepts puts */
#define PTL_MD_OP_GET              0x002U /* accepts gets; a getput needs both */
#define PTL_MD_MANAGE_REMOTE       0x004U /* the request's offset is used, not the local one */
#define PTL_MD_TRUNCATE            0x008U /* shortens a request that does not fit, instead of refusing it */
#define PTL_MD_ACK_DISABLE         0x010U /* puts that land here are never acknowledged */
#define PTL_MD_IOVEC               0x020U /* `start` is an array; otherwise as one region of the summed length */
#define PTL_MD_MAX_SIZE            0x040U /* inactive once fewer than max_size bytes remain */
#define PTL_MD_EVENT_START_DISABLE 0x080U /* logs no *_START events */
#define PTL_MD_EVENT_END_DISABLE   0x100U /* logs no *_END events; ACK and UNLINK remain (our reading) */

/*
 * Creates a memory descriptor and attaches it to a match entry that has none: from now on requests find it there.  It
 * may also be the source or destination of the owner's own operations.
 *   unlink_op  PTL_UNLINK: freed when an operation makes it inactive
 *   md_handle  dead after PtlMDUnlink, PtlMEUnlink of the entry or that automatic unlink
 * The memory must stay mapped until then; START and END events say when its contents are in use.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_ME_INVALID  me_handle
 *   PTL_ME_IN_USE   the entry has a descriptor
 *   PTL_MD_ILLEGAL  start (or an element's iov_base) is NULL though there are bytes or elements; the region wraps round
 *                   the address space; more than max_md_iovecs elements; the queue belongs to another interface
 *   PTL_EQ_INVALID  md.eq_handle is neither an event queue nor PTL_EQ_NONE
 *   PTL_NO_SPACE    max_mds descriptors exist, or no memory
 *   PTL_SEGV        md_handle is NULL
 * ("Memory Descriptors")
 */
int PtlMDAttach(ptl_handle_me_t me_handle, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *md_handle);

/*
 * Creates a memory descriptor that no request can find: for the owner's own operations.  Arguments and lifetime as for
 * PtlMDAttach.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID  ni_handle
 *   PTL_MD_ILLEGAL  as for PtlMDAttach
 *   PTL_EQ_INVALID  as for PtlMDAttach
 *   PTL_NO_SPACE    max_mds descriptors exist, or no memory
 *   PTL_SEGV        md_handle is NULL
 * ("Memory Descriptors")
 */
int PtlMDBind(ptl_handle_ni_t ni_handle, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *md_handle);

/*
 * Frees a memory descriptor, and its match entry if that was made with PTL_UNLINK.  The handle is dead, no UNLINK event
 * is logged, and the memory is the user's again: no late write will hit it.
 * Pending is an operation that has started and not ended, a send not yet gone for instance.  A put whose ACK or a get
 * whose REPLY has still to come is not: the call succeeds, and what comes later is dropped.  Once the END event of its
 * last operation can be read, a descriptor is not pending.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_MD_INVALID  md_handle, for instance after an automatic unlink
 *   PTL_MD_IN_USE   operations are pending; nothing changed
 * ("Memory Descriptors")
 */
int PtlMDUnlink(ptl_handle_md_t md_handle);

/*
 * Replaces what PtlMDAttach or PtlMDBind was told of a descriptor, provided a queue is empty; test and replacement are
 * one step for arriving messages.  So a program looks through its unexpected messages and then posts a receive without
 * a gap: on PTL_MD_NO_UPDATE it takes the events and tries again.
 *   old_md     receives the descriptor as it was before the call, on PTL_MD_NO_UPDATE too (our reading); may be NULL
 *   new_md     all fields count; NULL: nothing is tested or changed.  The local offset becomes 0, the entry and
 *              unlink_op stay, a threshold other than 0 activates, 0 deactivates without unlinking.  Operations under
 *              way finish with the old region
 *   eq_handle  the queue that must be empty: no unread event in it, and no operation started that will still log one
 *              there.  PTL_EQ_NONE: no test.  Need not be the descriptor's own queue
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_MD_INVALID    md_handle
 *   PTL_MD_ILLEGAL    *new_md, as for PtlMDAttach
 *   PTL_EQ_INVALID    eq_handle or new_md->eq_handle is neither an event queue nor PTL_EQ_NONE
 *   PTL_MD_NO_UPDATE  the test queue is not empty; nothing changed.  Told before anything that is wrong with *new_md
 *                     or short of space, so the next try may still fail for that
 *   PTL_NO_SPACE      no memory for the copy of an array of ptl_md_iovec_t
 *   PTL_SEGV          reserved for bad addresses; NULL is legal for both structures
 * ("Memory Descriptors")
 */
int PtlMDUpdate(ptl_handle_md_t md_handle, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t eq_handle);

/*
 * Posts a receive: PtlMEInsert and PtlMDAttach provided a queue is empty, the three of them one step for arriving
 * messages and for other threads.  Not in Portals 3.3; MPI layers of the Cray XT use it where the specification wants
 * an inactive descriptor and PtlMDUpdate.  Anything but PTL_OK means that nothing was created.
 *   base, match_id, match_bits, ignore_bits, me_unlink_op, position   as for PtlMEInsert
 *   md, md_unlink_op   as for PtlMDAttach
 *   eq_handle          the queue that must be empty, as for PtlMDUpdate; PTL_EQ_NONE: no test
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID        ni_handle
 *   PTL_ME_INVALID        base is no entry of that interface
 *   PTL_PROCESS_INVALID   as for PtlMEAttach: never
 *   PTL_MD_ILLEGAL        md, as for PtlMDAttach
 *   PTL_EQ_INVALID        eq_handle or md.eq_handle is neither an event queue nor PTL_EQ_NONE
 *   PTL_MD_NO_UPDATE      the test queue is not empty: take its events and try again.  Told before anything that is
 *                         wrong with md (PTL_MD_ILLEGAL, its PTL_EQ_INVALID) or short of room (the next two), so the
 *                         next try may still fail for that
 *   PTL_NO_SPACE          max_mes entries or max_mds descriptors exist, or no memory
 *   PTL_ME_LIST_TOO_LONG  the list has max_me_list entries
 *   PTL_SEGV              me_handle or md_handle is NULL
 */
int PtlMEMDPost(ptl_handle_ni_t ni_handle, ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t me_unlink_op, ptl_ins_pos_t position, ptl_md_t md,
		ptl_unlink_t md_unlink_op, ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle,
		ptl_handle_eq_t eq_handle);

/*
 * Events and event queues ("Events and Event Queues").
 *
 * Every operation on a descriptor that has a queue logs a START and an END event there, suppressed by the descriptor's
 * PTL_MD_EVENT_*_DISABLE; ACK and UNLINK stand alone.  START comes before its END, END before UNLINK, SEND_END before
 * the ACK of the same put.  STARTs of requests of one pair of processes come in the order the requests were issued;
 * ENDs in any.  Between START and END memory being written must not be read, memory being read must not be written;
 * without START events that holds from the call, or at a target from the attaching, to the END.
 */

/* Kinds of events. */
typedef enum {
	PTL_EVENT_GET_START,    /* target: a get was accepted */
	PTL_EVENT_GET_END,      /* target: its reply has left, the memory may change */
	PTL_EVENT_PUT_START,    /* target: a put was accepted */
	PTL_EVENT_PUT_END,      /* target: its data is in memory and will not be touched again */
	PTL_EVENT_GETPUT_START, /* target: a getput was accepted */
	PTL_EVENT_GETPUT_END,   /* target: memory is swapped, the reply has left */
	PTL_EVENT_REPLY_START,  /* initiator, get descriptor: the reply to a get or getput has begun to arrive */
	PTL_EVENT_REPLY_END,    /* initiator: its data is in memory */
	PTL_EVENT_SEND_START,   /* initiator, put descriptor: a put or getput was issued (PTL_DIALECT=cray: or a get) */
	PTL_EVENT_SEND_END,     /* initiator: the memory may change; says nothing about arrival */
	PTL_EVENT_ACK,          /* initiator: the target has stored the data of a put */
	PTL_EVENT_UNLINK        /* either side: a descriptor was unlinked automatically */
} ptl_event_kind_t;

/*
 * Outcome of an operation, in its END or ACK event; START events say PTL_NI_OK.  A failed operation is over like any
 * other: it has used up its threshold, the memory is not touched any more.  Clients compare with PTL_NI_OK (0).
 * A request dropped by a living target is no failure: nothing is heard of it.  PTL_NI_PEER_DIED also ends what was under way
 * with a process that lives, if a connection has broken and taken some of it with it.
 */
enum {
	PTL_NI_OK = 0,          /* it worked */
	PTL_NI_FAIL = 1,        /* it did not, for no reason below */
	PTL_NI_UNREACHABLE = 2, /* no first contact with the process within PTL_CONNECT_TIMEOUT (30 s) */
	PTL_NI_PEER_DIED = 3,   /* the process ended, or owed an answer and was silent for PTL_PEER_TIMEOUT (60 s) */
	PTL_NI_SHUTDOWN = 4,    /* the interface is being finalised */
	PTL_NI_PROTOCOL = 5     /* the peer answered with something impossible, or its RDMA failed */
};

/*
 * An event.  What the fields hold, by kind ("requester": the process that issued the request; "echo": as the initiator
 * passed it; UNLINK: all as in the event that caused it, but ni_fail_type,
 * which is PTL_NI_OK: END and ACK tell of failures):
 *
 *               SEND             ACK              REPLY             PUT, GETPUT      GET
 *   initiator   this process     the target       the target        requester        requester
 *   uid, jid    own              unspecified      the target's      requester's      requester's
 *   pt_index    as passed        echo             echo              of the request   of the request
 *   match_bits  as passed        echo             echo              of the request   of the request
 *   rlength     bytes sent       length of put    bytes asked for   of the request   of the request
 *   mlength     = rlength        bytes kept       bytes stored      bytes stored     bytes sent
 *   offset      local            local            local             used             used
 *   hdr_data    as passed        0                0                 of the request   0
 *   link        pair             own              pair              pair             pair
 *
 * local: where the operation's bytes begin in this process's descriptor (0, or local_offset of a Region call).
 * used: where the target's descriptor was accessed.  pair: START and END share the number, and UNLINK has that of the
 * operation that caused it; unique among the operations in flight on a queue, whether or not START events are logged.
 */
typedef struct {
	ptl_event_kind_t type;
	ptl_process_id_t initiator;
	ptl_uid_t uid;
	ptl_jid_t jid;
	ptl_pt_index_t pt_index;
	ptl_match_bits_t match_bits;
	ptl_size_t rlength;        /* bytes requested */
	ptl_size_t mlength;        /* bytes moved; less than rlength if truncated */
	ptl_size_t offset;         /* bytes from the beginning of the region */
	ptl_handle_md_t md_handle; /* the descriptor the event is about; may be dead when the event is read */
	ptl_md_t md;               /* its state, start and length as the user stated them; its threshold is that right
				    * after this operation took its unit (PTL_DIALECT=cray: before), in START and END
				    * alike, so that of several that overlap each tells another: the last one 0 (cray:
				    * 1).  UNLINK tells what the descriptor has left */
	ptl_hdr_data_t hdr_data;
	ptl_seq_t link;              /* connects the events of one operation */
	ptl_ni_fail_t ni_fail_type;  /* PTL_NI_OK, or why the operation failed */
	volatile ptl_seq_t sequence; /* number of the event in its queue; consecutive, so a gap means lost events */
} ptl_event_t;

/*
 * Called once for every event taken from a queue that was allocated with it, in the thread that takes the event, just
 * before PtlEQGet, PtlEQWait or PtlEQPoll returns it; no lock is held.  It must be short and reentrant, must not block,
 * and must not call these three; other Portals calls are allowed.
 */
typedef void (*ptl_eq_handler_t)(ptl_event_t *event);

#define PTL_EQ_HANDLER_NONE NULL
#define PTL_TIME_FOREVER    0xffffffffU /* timeout of PtlEQPoll: none */

/*
 * Creates an event queue with room for at least `count` events.  If it overflows, the oldest unread events are
 * overwritten and the next call that takes one says PTL_EQ_DROPPED; no operation is refused or delayed.  Room that was
 * never used costs address space only, an event 128 bytes; PtlEQFree gives the memory back.
 *   count       events; with 0 nothing is created and *eq_handle becomes PTL_EQ_NONE
 *   eq_handler  called for every event taken, or PTL_EQ_HANDLER_NONE
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID  ni_handle
 *   PTL_NO_SPACE    max_eqs queues exist, or no memory for that many events
 *   PTL_SEGV        eq_handle is NULL
 * ("Events and Event Queues")
 */
int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_eq_handler_t eq_handler, ptl_handle_eq_t *eq_handle);

/*
 * Frees an event queue with the events in it.  The specification leaves undefined what becomes of descriptors that
 * refer to it; here they go on as if with PTL_EQ_NONE.  Threads that wait for it return PTL_EQ_INVALID.
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_EQ_INVALID  eq_handle
 * ("Events and Event Queues")
 */
int PtlEQFree(ptl_handle_eq_t eq_handle);

/*
 * Takes the oldest event of a queue, if there is one.  Never blocks; a call that finds nothing may drive the interface
 * for a bounded time, so that polling makes progress in every mode.
 *   PTL_OK          *event is the event
 *   PTL_EQ_DROPPED  likewise, and at least one between the one taken before and this was lost
 *   PTL_EQ_EMPTY    no event, or another thread took it; of *event only ni_fail_type is written: PTL_NI_OK
 *   PTL_NO_INIT
 *   PTL_EQ_INVALID  eq_handle
 *   PTL_SEGV        event is NULL
 * ("Events and Event Queues")
 */
int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event);

/*
 * Takes the oldest event of a queue, waiting for one if need be.  Of several threads that wait for one queue exactly
 * one gets each event, in no particular order.  Signals do not end the wait; it is no cancellation point.
 *   PTL_OK          *event is the event
 *   PTL_EQ_DROPPED  likewise, and at least one between the one taken before and this was lost
 *   PTL_NO_INIT
 *   PTL_EQ_INVALID  eq_handle; or the queue was freed or its interface ended meanwhile
 *   PTL_SEGV        event is NULL
 * ("Events and Event Queues")
 */
int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event);

/*
 * Takes the oldest event of the first queue, in the order of the array, that has one; waits up to `timeout` for it.
 *   eq_handles  queues of one interface
 *   size        how many
 *   timeout     milliseconds; 0: look once, PTL_TIME_FOREVER: wait as PtlEQWait does
 *   which_eq    receives the index of the queue
 *   PTL_OK          *event is an event of eq_handles[*which_eq]
 *   PTL_EQ_DROPPED  likewise, and at least one of that queue between the one taken before and this was lost
 *   PTL_EQ_EMPTY    no event within the timeout; of *event only ni_fail_type is written: PTL_NI_OK
 *   PTL_NO_INIT
 *   PTL_EQ_INVALID  size is not positive, a handle is no event queue or belongs to another interface than the first;
 *                   or a queue was freed or its interface ended meanwhile
 *   PTL_SEGV        eq_handles, event or which_eq is NULL
 * ("Events and Event Queues")
 */
int PtlEQPoll(ptl_handle_eq_t *eq_handles, int size, ptl_time_t timeout, ptl_event_t *event, int *which_eq);

/*
 * Access control ("The Access Control Table").
 *
 * A request names an entry of the target's table and is dropped unless the entry's process, user, job and portal table
 * index all fit it; ACKs and REPLYs are not checked.  Entries from the start: every process of our own user, any job,
 * any index.  Whether a user id can be believed depends on the transport.
 */

/*
 * Overwrites an entry; holds for requests that arrive later.
 *   match_id, user_id, job_id, pt_index  which processes to admit, and where; wildcards are allowed in all
 *   PTL_OK
 *   PTL_NO_INIT
 *   PTL_NI_INVALID        ni_handle
 *   PTL_AC_INDEX_INVALID  ac_index above max_ac_index
 *   PTL_PROCESS_INVALID   match_id cannot be matched; this library accepts every id and never returns it
 *   PTL_PT_INDEX_INVALID  pt_index above max_pt_index and not PTL_PT_INDEX_ANY
 * ("The Access Control Table")
 */
int PtlACEntry(ptl_handle_ni_t ni_handle, ptl_ac_index_t ac_index, ptl_process_id_t match_id, ptl_uid_t user_id,
	       ptl_jid_t job_id, ptl_pt_index_t pt_index);

/*
 * Data movement ("Data Movement Operations").
 *
 * All calls return at once: PTL_OK says that the operation was accepted, events say how it went.  The target need not
 * exist yet: first contact is tried for PTL_CONNECT_TIMEOUT, then the operation fails with PTL_NI_UNREACHABLE.  It may
 * be the calling process itself.
 *
 * Requests from one process to another are matched in the order of the calls (concurrent calls: in some order),
 * whatever their kind and length.  Nothing is said about different targets, nor about the order of completion.
 *
 * Arguments they share:
 *   md_handle      active descriptor of this process, with or without a match entry; its PTL_MD_OP_* do not matter and
 *                  its local offset is neither used nor moved.  Whole region, or bytes [local_offset, local_offset +
 *                  length) of it in the Region calls; 0 bytes are legal everywhere, at the very end too
 *   target_id      process, without wildcards
 *   pt_index       index into the target's portal table, and
 *   ac_index       into its access control table: checked there, where bad ones drop the request
 *   match_bits     what the target's match entries look at
 *   remote_offset  bytes from the beginning of the target's region; used if that has PTL_MD_MANAGE_REMOTE
 *   hdr_data       64 bits for the target's event
 */

/* Is the target asked to acknowledge a put?  (PTL_NOACK_REQ is an older name of PTL_NO_ACK_REQ.) */
typedef enum { PTL_ACK_REQ, PTL_NO_ACK_REQ, PTL_NOACK_REQ = PTL_NO_ACK_REQ } ptl_ack_req_t;

/*
 * Sends the whole region of a descriptor.  Costs one of its threshold now and one when the ACK arrives: to get the
 * ACK it needs a threshold of 2, because an inactive descriptor drops it.  The memory must not change until SEND_END (or
 * the ACK).
 *   ack_req  PTL_ACK_REQ asks for an ACK if the descriptor has an event queue.  The target grants it, once the data is
 *            in memory, unless the descriptor there has PTL_MD_ACK_DISABLE or the put was dropped
 *   PTL_OK               accepted
 *   PTL_NO_INIT
 *   PTL_MD_INVALID       md_handle, or the descriptor is inactive (our reading)
 *   PTL_PROCESS_INVALID  target_id has a wildcard
 *   PTL_NO_SPACE         too many operations are under way towards the target (262144, fewer where others wait too)
 * ("Data Movement Operations")
 */
int PtlPut(ptl_handle_md_t md_handle, ptl_ack_req_t ack_req, ptl_process_id_t target_id, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/*
 * PtlPut of a part of the region.
 *   PTL_OK               accepted
 *   PTL_NO_INIT
 *   PTL_MD_INVALID       md_handle, or the descriptor is inactive
 *   PTL_MD_ILLEGAL       local_offset and length reach beyond the region
 *   PTL_PROCESS_INVALID  target_id has a wildcard
 *   PTL_NO_SPACE         too many operations are under way towards the target (262144, fewer where others wait too)
 * ("Data Movement Operations")
 */
int PtlPutRegion(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
		 ptl_process_id_t target_id, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/*
 * Fetches as many bytes as the region of a descriptor has; the REPLY may bring fewer.  Costs one of its threshold, when
 * the REPLY arrives; the call itself nothing, and it logs no SEND events (PTL_DIALECT=cray: one more, and it logs them).
 * The memory must not be read until REPLY_END.
 * A REPLY that finds the descriptor unlinked, or inactive (our reading), is dropped.
 *   PTL_OK               accepted
 *   PTL_NO_INIT
 *   PTL_MD_INVALID       md_handle, or the descriptor is inactive (our reading)
 *   PTL_PROCESS_INVALID  target_id has a wildcard
 *   PTL_NO_SPACE         too many operations are under way towards the target (262144, fewer where others wait too)
 * ("Data Movement Operations")
 */
int PtlGet(ptl_handle_md_t md_handle, ptl_process_id_t target_id, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
	   ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/*
 * PtlGet into a part of the region.
 *   PTL_OK               accepted
 *   PTL_NO_INIT
 *   PTL_MD_INVALID       md_handle, or the descriptor is inactive
 *   PTL_MD_ILLEGAL       local_offset and length reach beyond the region
 *   PTL_PROCESS_INVALID  target_id has a wildcard
 *   PTL_NO_SPACE         too many operations are under way towards the target (262144, fewer where others wait too)
 * ("Data Movement Operations")
 */
int PtlGetRegion(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_id_t target_id,
		 ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
		 ptl_size_t remote_offset);

/*
 * Exchanges memory: the region of the put descriptor replaces as many bytes at the target, whose old contents arrive in the
 * region of the get descriptor.  Atomic against other getputs to the same bytes; against plain puts and the target's
 * processors nothing is guaranteed.  If the target truncates, only the bytes it moves are exchanged.
 * SEND events on the put descriptor, REPLY events on the get descriptor, one of the threshold each; they may be the
 * same, which then needs 2.  Both should have the same length (our reading: a longer reply is truncated).
 *   PTL_OK               accepted
 *   PTL_NO_INIT
 *   PTL_MD_INVALID       one of the handles, or one of the descriptors is inactive
 *   PTL_MD_ILLEGAL       either region is longer than max_getput_md, or the descriptors are of different interfaces
 *   PTL_PROCESS_INVALID  target_id has a wildcard
 *   PTL_NO_SPACE         too many operations are under way towards the target (262144, fewer where others wait too)
 * ("Data Movement Operations")
 */
int PtlGetPut(ptl_handle_md_t get_md_handle, ptl_handle_md_t put_md_handle, ptl_process_id_t target_id,
	      ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
	      ptl_hdr_data_t hdr_data);

/*
 * Version of the library that runs: its PTL_LIBRARY_VERSION, which may be another one than the program was compiled with.
 * Callable at any time: before PtlInit, in signal handlers.
 */
int PtlLibraryVersion(void);

/*
 * Strings.  Not in the specification; as the reference implementation has them.  Names as in this file, for instance
 * "PTL_EQ_EMPTY": constant, valid for ever, never NULL.  Callable at any time: before PtlInit, in signal handlers.
 */

/* Name of a return code; "PTL_UNKNOWN_ERROR" for every other number. */
const char *PtlErrorStr(unsigned ptl_errno);

/* Name of an event kind; "PTL_UNKNOWN_EVENT_KIND" for every other number. */
const char *PtlEventKindStr(ptl_event_kind_t kind);

/*
 * Name of a failure code (PTL_NI_*); "PTL_NI_UNKNOWN_ERROR" for every other number.  All interfaces share their codes,
 * so ni_handle need not be valid.
 */
const char *PtlNIFailStr(ptl_handle_ni_t ni_handle, ptl_ni_fail_t fail_type);

/* Names of the return codes, PTL_OK to PTL_UNKNOWN_ERROR; not to be written. */
extern const char *ptl_err_str[];

#ifdef __cplusplus
}
#endif

#include "portals3_ext.h"

#endif
