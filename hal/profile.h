/* profile.h: the report of a profiling session. */
#ifndef WIA__PROFILE_H
#define WIA__PROFILE_H

#include "object.h"

typedef struct wia__report_t {
  wia__object_t object;
  int32_t device; /* -1: all */
  int64_t begin_ns, end_ns;
  uint64_t count, lost;
  wia__event_t *events; /* in the order of their beginnings, outer ones first */
  char *output_file;    /* or NULL */
} wia__report_t;

/* Writes Chrome's trace events (profile_json.c): a file of its own name first, which then takes the
 * place of path. */
wia_status_t wia__write_report(const wia__report_t *report, const char *path);

/* The layer trace: a session of the whole process, which is written at its end or at exit. */
wia_status_t wia__start_trace(void);
wia_status_t wia__stop_trace(void);

#endif
