/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the first detector of an error says what happened: object, value, limit, what to do.  The text is kept for
 * PtlNicErrorText() (per thread) and printed to p3_out if PTL_LOG allows; callers only pass the errno value on.
 */
#ifndef PORTALS_BASE_REPORT_H
#define PORTALS_BASE_REPORT_H

#include "base/settings.h"

/* A process in a text, as people write it: report(..., "peer " ID_TEXT, ID_PARTS(peer->id)). */
#define ID_TEXT        "%u.%u.%u.%u:%u"
#define ID_PARTS(id)   NID_PARTS((id).nid), (id).pid
#define NID_PARTS(nid) (nid) >> 24, (nid) >> 16 & 255, (nid) >> 8 & 255, (nid)&255

/* Returns `error` so that a detector can write: return report_error(-EINVAL, "..."). */
int report_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same about a setting, which the user got wrong and not the program: printed as an error. */
int report_setting(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, kept but not printed: of what may happen at any rate. */
int report_kept(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same about what needs no explaining: the text becomes empty. */
int report_nothing(int error);
void report(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool report_wanted(enum log_level level); /* would report() print it? */
void report_set_level(enum log_level level);
void report_errors_aloud(bool aloud); /* prints what report_error() keeps for callers, whatever the level */

/*
 * Where the calling thread's texts are, until it ends; and that from now on they are those: for work done on another's behalf.
 * report_into() returns where they were, or NULL, if there are none yet, and is to be called with that in the end.
 */
struct report_texts;
struct report_texts *report_texts(void);
struct report_texts *report_into(struct report_texts *);
/* Makes that place early, if no memory need be allocated for it, as a signal handler must not: the library may have been loaded late. */
void report_prepare(void);

/* "; what to do" about -ENOMEM where memory had to be pinned, if it is limited, else "".  Until the thread's next call. */
const char *report_lock_hint(int error);

/* 0 if so many more descriptors can be had now; or what they would be refused with: -EMFILE, -ENFILE, -ENOMEM. */
int report_descriptors(int count);

/* What libraries say that get no descriptor, -EIO and -ELIBACC, is why there is none if hardly one is left; every other error is what it is. */
int report_cause(int error);

/* What to do about -EMFILE and -ENFILE: descriptors have run out; about others if that is their cause. */
const char *report_descriptor_hint(int error);

/* Text of the calling thread's last report_error(), "" if there was none. */
const char *report_last_error(void);

#endif
