/* profile.h: where the time goes: spans of calls, kernels, copies and waits, as a report or a file.
 *
 * A session is a window of time on one device or on all. Each thread records into a ring of its own,
 * which holds the newest events: what was overwritten is counted as lost. A span is recorded when it
 * ends, so what still runs when a session stops is left out; what ran when it started is cut at the
 * window's beginning. */
#ifndef WIA_PROFILE_H
#define WIA_PROFILE_H

#include "base.h"
#include "status.h"

WIA_BEGIN_DECLS

typedef struct wia_profiling_session wia_profiling_session_t;
typedef struct wia_profiling_report wia_profiling_report_t;

enum { WIA_PROFILE_DETAILED = 1 }; /* modes: every event, with its times */
enum { WIA_PROFILE_JSON = 1 };     /* formats: Chrome's trace events, for Perfetto and the like */
enum { WIA_PROFILE_COUNTERS = 8, WIA_PROFILE_NAME_SIZE = 48 };

/* Kinds of events. */
enum {
  WIA_PROFILE_CALL = 1,     /* of a public function; name: the function */
  WIA_PROFILE_KERNEL = 2,   /* name: the operation */
  WIA_PROFILE_GROUP = 3,    /* a group that runs as several kernels, which lie inside of it */
  WIA_PROFILE_COPY = 4,     /* name: upload, download, move, peer, write or read */
  WIA_PROFILE_FILL = 5,     /* of memory */
  WIA_PROFILE_WAIT = 6,     /* of a thread or a stream; name: for what */
  WIA_PROFILE_PREPARE = 7,  /* of a kernel, by its driver; name: the operation */
  WIA_PROFILE_FUNCTION = 8, /* a host function on a stream */
  WIA_PROFILE_RANGE = 9,    /* pushed by the program; name: as it was given */
  WIA_PROFILE_GRAPH = 10 /* a launch of a graph, whose nodes lie inside of it; name: the graph's */
};

typedef struct wia_profiling_config_t {
  uint32_t struct_size;
  int32_t mode;                   /* WIA_PROFILE_DETAILED, which 0 means too */
  uint32_t capture_kernels;       /* kernels, groups, preparations; 1 in the default */
  uint32_t capture_memory;        /* copies and fills; 1 in the default */
  uint32_t capture_communication; /* copies between two devices; 1 in the default */
  uint32_t capture_power;         /* 1: UNIMPLEMENTED */
  uint32_t num_counters;          /* of hardware_counters; above 0: UNIMPLEMENTED */
  int32_t hardware_counters[WIA_PROFILE_COUNTERS];
  int32_t output_format;   /* WIA_PROFILE_JSON, which 0 means too */
  const char *output_file; /* where wia_save_profile_report() writes when it gets no path; copied */
  uint32_t timeline_enabled;   /* what WIA_PROFILE_JSON is, so it changes nothing */
  uint32_t flamegraph_enabled; /* 1: UNIMPLEMENTED */
  /* Events that a thread's ring holds; 0: 65536. Sessions share rings: while another session is going
   * on, its number counts. */
  uint32_t event_capacity;
  uint32_t reserved;
} wia_profiling_config_t;
#ifdef __cplusplus
#define WIA_PROFILING_CONFIG_INIT                                                                  \
  ([] {                                                                                            \
    wia_profiling_config_t wia_init_value = WIA_INIT(wia_profiling_config_t);                      \
    wia_init_value.capture_kernels = wia_init_value.capture_memory = 1;                            \
    wia_init_value.capture_communication = 1;                                                      \
    return wia_init_value;                                                                         \
  }())
#else
#define WIA_PROFILING_CONFIG_INIT                                                                  \
  ((wia_profiling_config_t){.struct_size = (uint32_t)sizeof(wia_profiling_config_t),               \
                            .capture_kernels = 1,                                                  \
                            .capture_memory = 1,                                                   \
                            .capture_communication = 1})
#endif

/* Starts a session for the device of a context; context NULL: for all devices. Several may go on at a
 * time. Errors: INVALID_ARGUMENT for a mode or format outside the enums, UNIMPLEMENTED for what can't
 * be measured: power, hardware counters, flame graphs. */
WIA_API wia_status_t wia_start_profiling(wia_context_t *context,
                                         const wia_profiling_config_t *config,
                                         wia_profiling_session_t **out_session);

/* Ends a session, whose handle is invalid afterwards, and gives its events as a report. Work that is
 * going on is not waited for. */
WIA_API wia_status_t wia_stop_profiling(wia_profiling_session_t *session,
                                        wia_profiling_report_t **out_report);

/* Ends a session and drops what it recorded. */
WIA_API wia_status_t wia_destroy_profiling_session(wia_profiling_session_t *session);

typedef struct wia_profiling_report_info_t {
  uint32_t struct_size;
  int32_t device_id; /* of the session; -1: all */
  uint64_t event_count;
  uint64_t lost_count;      /* events of the window that were overwritten, whatever their device */
  int64_t begin_ns, end_ns; /* the window, on the host's monotonic clock */
} wia_profiling_report_info_t;
#define WIA_PROFILING_REPORT_INFO_INIT WIA_INIT(wia_profiling_report_info_t)

WIA_API wia_status_t wia_get_profile_report_info(wia_profiling_report_t *report,
                                                 wia_profiling_report_info_t *out_info);

typedef struct wia_profile_event_t {
  uint32_t struct_size;
  int32_t kind;             /* WIA_PROFILE_CALL ... */
  const char *name;         /* cut to WIA_PROFILE_NAME_SIZE; valid as long as the report */
  int64_t begin_ns, end_ns; /* on the host's monotonic clock */
  uint64_t correlation_id;  /* of the call that the event belongs to; a call's own; 0: of none */
  uint64_t range_id;        /* the correlation_id of the innermost range around that call */
  uint64_t thread;          /* the system's number of the thread it was recorded on */
  uint32_t stream;          /* 0: it ran on that thread; else on this stream, counted from 1 */
  int32_t device_id;        /* -1: none */
  int32_t peer_device_id;   /* of a copy between two devices: the source; else -1 */
  uint32_t cut;             /* 1: it began before the session */
  uint64_t size;            /* bytes that were copied or filled */
} wia_profile_event_t;
#define WIA_PROFILE_EVENT_INIT WIA_INIT(wia_profile_event_t)

/* The events in the order in which they began, outer ones first. Those of one thread nest or are
 * disjoint, and so are those of one stream. Errors: OUT_OF_RANGE. */
WIA_API wia_status_t wia_get_profile_event(wia_profiling_report_t *report, uint64_t index,
                                           wia_profile_event_t *out_event);

/* Writes the report to a file, whole or not at all. path NULL: the session's output_file. Times are
 * microseconds from the window's beginning. Errors: FAILED_PRECONDITION without any path;
 * NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED or UNKNOWN with the system's text. */
WIA_API wia_status_t wia_save_profile_report(wia_profiling_report_t *report, const char *path);

WIA_API wia_status_t wia_destroy_profile_report(wia_profiling_report_t *report);

/* Opens and closes a range on this thread, around what follows. Ranges nest, up to 64 deep. The name is
 * copied, cut to WIA_PROFILE_NAME_SIZE; correlation_id is the caller's, and goes to the events of the
 * calls inside. Both may be called without a session. Errors: RESOURCE_EXHAUSTED for a range too
 * deep; FAILED_PRECONDITION when none is open on this thread. */
WIA_API wia_status_t wia_push_range(const char *name, uint64_t correlation_id);
WIA_API wia_status_t wia_pop_range(void);

WIA_END_DECLS
#endif
