/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment variables the library understands: one table that makes the parser, the listing printed by
 * `ptlbench info` and that of docs/settings.md.  A row: field, variable, type, default, what it means.
 * Read once by PtlInit; later changes of the environment have no effect.
 */
#ifndef PORTALS_BASE_SETTINGS_H
#define PORTALS_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum nic_mode { NIC_MODE_AUTO, NIC_MODE_SHARED, NIC_MODE_DEDICATED, NIC_MODE_HOST };
enum dialect { DIALECT_STANDARD, DIALECT_CRAY };
enum launch { LAUNCH_AUTO, LAUNCH_NONE };
enum placing { PLACING_AUTO, PLACING_NEVER, PLACING_ALWAYS };
enum open_time { OPEN_AUTO, OPEN_WAIT, OPEN_BACKGROUND };
enum addresses { ADDRESSES_AUTO, ADDRESSES_PUBLISHED };
enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

#define SETTING_AUTO UINT64_MAX /* a number left to the library: the transport or the mode decides */

/*
 * Types: nic_mode, dialect, launch, addresses, placing, open_time, log_level, flag and signal are enumerations, debug is
 * several of one; number is below 2^32 - 1; bytes takes K, M, G; duration takes us, ms, s (bare: s).
 */
#define PORTALS_SETTINGS(X)                                                                                            \
	X(nic_mode, "PTL_NIC_MODE", nic_mode, "auto",                                                                  \
	  "what drives the NIC: auto, shared (NIC thread and waiting hosts), dedicated (NIC thread only), host (no "   \
	  "thread)")                                                                                                   \
	X(nic_cpus, "PTL_NIC_CPUS", cpus, "",                                                                          \
	  "CPUs for NIC threads, as in 1,3-5; the k-th process of the node takes the k-th; makes auto mean dedicated") \
	X(transport, "PTL_TRANSPORT", string, "auto",                                                                  \
	  "how bytes move: auto (node within the node, ofi beyond it), self, node (no network), ofi, ofi:PROVIDER "    \
	  "(tcp, net, ...); several, separated by commas: one for each interface")                                     \
	X(iface, "PTL_IFACE", string, "auto",                                                                          \
	  "network device or IPv4 address of the interface; its address is the nid")                                   \
	X(iface0, "PTL_IFACE0", string, "", "the same for interface 0 alone")                                          \
	X(iface1, "PTL_IFACE1", string, "", "the same for interface 1 alone")                                          \
	X(iface2, "PTL_IFACE2", string, "", "the same for interface 2 alone")                                          \
	X(iface3, "PTL_IFACE3", string, "", "the same for interface 3 alone")                                          \
	X(launch, "PTL_LAUNCH", launch, "auto",                                                                        \
	  "source of the job's other processes: auto (the launcher, if it speaks PMIx), none")                         \
	X(addresses, "PTL_ADDRESSES", addresses, "auto",                                                               \
	  "where peers are on a network: auto (follows from nid and pid where the provider allows it), published "     \
	  "(each tells its job, which a launcher has to have started)")                                                \
	X(rank, "PTL_MY_RID", late, "", "rank of this process in the job that the next two describe")                  \
	X(nid_map, "PTL_NIDMAP", late, "", "node ids of all ranks, separated by colons")                               \
	X(pid_map, "PTL_PIDMAP", late, "", "process ids of all ranks, separated by colons")                            \
	X(pid_ports, "PTL_PID2PORT_FILE", late, "", "accepted and ignored: TCP ports of the reference implementation") \
	X(ports, "PTL_DEF_PORTLIST", late, "", "accepted and ignored: likewise")                                       \
	X(job, "PTL_MY_JID", number, "auto", "job id of this process; auto: its pid on the first interface")           \
	X(short_max, "PTL_SHORT_MAX", bytes, "auto",                                                                   \
	  "largest payload sent with its header, if both fit into a message of the transport; auto: what suits the "   \
	  "provider")                                                                                                  \
	X(placed, "PTL_OFI_PLACED", placing, "auto",                                                                   \
	  "whether ofi:net sends what is short, but longer than a page, from the memory of the program, without a "    \
	  "copy: auto (not where TCP paces, as bbr does), never, always")                                              \
	X(tuning_file, "PTL_TUNING_FILE", string, "",                                                                  \
	  "file that says which way long messages go within a node, and what is short where PTL_SHORT_MAX does not; "  \
	  "ptlbench crossover --save writes one")                                                                      \
	X(tuning_save, "PTL_TUNING_SAVE", string, "",                                                                  \
	  "where an interface writes such a file, of what it has measured and of its PTL_SHORT_MAX, when it is "       \
	  "closed; what else is there stays")                                                                          \
	X(dialect, "PTL_DIALECT", dialect, "standard",                                                                 \
	  "what events mean: standard, cray (SEND events on gets, UNLINK only on request, thresholds before the "      \
	  "operation)")                                                                                                \
	X(connect_timeout, "PTL_CONNECT_TIMEOUT", duration, "30s",                                                     \
	  "how long the first message to a peer may wait for it")                                                      \
	X(peer_timeout, "PTL_PEER_TIMEOUT", duration, "60s",                                                           \
	  "a peer that owes an answer and stays silent is dead, also if it was stopped or its machine slept; 0: "      \
	  "never")                                                                                                     \
	X(linger, "PTL_LINGER", duration, "1s", "how long PtlNIFini waits for queued sends to leave")                  \
	X(spin, "PTL_SPIN", duration, "100us", "how long a waiter polls in vain before it sleeps")                     \
	X(tick, "PTL_NIC_TICK", duration, "1ms", "how often the NIC thread looks after an interface that hosts drive") \
	X(open_time, "PTL_OPEN", open_time, "auto",                                                                    \
	  "when PtlNIInit returns: wait (the network is open, or has failed to), background (it opens meanwhile), "    \
	  "auto (wait, unless node reaches others already)")                                                           \
	X(hold, "PTL_HOLD", flag, "no",                                                                                \
	  "what others send waits at its senders until the program finds an event queue empty or calls "               \
	  "PtlNicReadyToReceive, at most for PTL_CONNECT_TIMEOUT")                                                     \
	X(verified_uid, "PTL_REQUIRE_VERIFIED_UID", flag, "no",                                                        \
	  "refuse transports that cannot prove a peer's user id; makes auto mean node")                                \
	X(timing, "PTL_NIC_TIMING", timing, "no",                                                                      \
	  "measure the stages of every message from the start: yes, no; print (the table goes to p3_out when the "     \
	  "interface ends); batches (the same, without the clock in the NIC's stages); or a file's name with a / or "  \
	  "ending in .json (it goes to FILE.<nid>.<pid>.json)")                                                        \
	X(timeline, "PTL_TRACE", string, "",                                                                           \
	  "file for what an interface did when, for Perfetto: FILE.<nid>.<pid>.json, written when the interface "      \
	  "ends")                                                                                                      \
	X(stat, "PTL_STAT", flag, "no",                                                                                \
	  "publish counters, queues and peers to processes of this user: what ptlstat shows")                          \
	X(log, "PTL_LOG", log_level, "warn", "what is printed to p3_out (stderr): off, error, warn, info, debug")      \
	X(debug, "PTL_DEBUG", debug, "",                                                                               \
	  "what interfaces trace to p3_out, as PtlNIDebug has them do: all, or of api, parse, move, drop, request "    \
	  "(match), delivery, md, me, unlink, eq, event, memory, setup, shutdown some, separated by commas")           \
	X(dump_signal, "PTL_DUMP_SIGNAL", signal, "",                                                                  \
	  "a signal that has match entries and event queues of all interfaces printed to p3_out: HUP, QUIT, USR1, "    \
	  "USR2, WINCH")

typedef enum nic_mode setting_nic_mode;
typedef enum dialect setting_dialect;
typedef enum launch setting_launch;
typedef enum addresses setting_addresses;
typedef enum placing setting_placing;
typedef enum open_time setting_open_time;
typedef enum log_level setting_log_level;
typedef uint32_t setting_debug; /* PTL_DBG_* */
typedef int setting_signal;     /* 0: none */
typedef const char *setting_string;
typedef const char *setting_cpus; /* numbers and ranges */
typedef char setting_late;        /* of any length; read by its user, when needed */
typedef uint64_t setting_number;
typedef uint64_t setting_bytes;
typedef uint64_t setting_duration; /* nanoseconds */
typedef bool setting_flag;
typedef const char *setting_timing; /* NULL: off; "": on; "print", or the name of a file, where it goes at the end */

struct settings {
#define SETTING_FIELD(field, variable, type, value, text) setting_##type field;
	PORTALS_SETTINGS(SETTING_FIELD)
#undef SETTING_FIELD
};

/*
 * Reads the environment.  -EINVAL with a report if a variable's value makes no sense.  Warns, once per process, of
 * PTL_* variables that the table does not know, with the nearest name that it does.
 */
int settings_read(struct settings *);
void settings_print(FILE *);

#endif
