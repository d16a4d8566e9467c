/* profile.c: profiling sessions and their reports. */
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context.h"
#include "env.h"
#include "fork.h"
#include "log.h"

enum { DEFAULT_CAPACITY = 65536, MOST_EVENTS = 1 << 24, PATH_SIZE = 4096 };

typedef struct session_t {
  wia__object_t object;
  int32_t device; /* -1: all */
  wia_profiling_config_t config;
  char *output_file;
  wia__window_t window;
  pthread_mutex_t mutex; /* guards over: the window is closed once */
  bool over;
} session_t;

/* -- sessions ---------------------------------------------------------------------------------- */

static void end_session(session_t *session) {
  pthread_mutex_lock(&session->mutex);
  if (!session->over) wia__close_window(&session->window);
  session->over = true;
  pthread_mutex_unlock(&session->mutex);
}

static void destroy_session(wia__object_t *object) {
  session_t *session = (session_t *)object;
  end_session(session);
  pthread_mutex_destroy(&session->mutex);
  free(session->output_file);
  free(session);
}

static wia_status_t check_config(const wia_profiling_config_t *config) {
  if (config->mode != 0 && config->mode != WIA_PROFILE_DETAILED)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "mode is %d; expected WIA_PROFILE_DETAILED",
                     (int)config->mode);
  if (config->output_format != 0 && config->output_format != WIA_PROFILE_JSON)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "output_format is %d; expected WIA_PROFILE_JSON",
                     (int)config->output_format);
  if (config->event_capacity > MOST_EVENTS)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "event_capacity is %u; expected at most %d",
                     config->event_capacity, MOST_EVENTS);
  const char *what = config->capture_power        ? "capture_power: no driver measures power"
                     : config->num_counters       ? "num_counters: no driver has hardware counters "
                                                    "for sessions"
                     : config->flamegraph_enabled ? "flamegraph_enabled: the report has a timeline "
                                                    "only"
                                                  : NULL;
  if (what) return wia__fail(WIA_STATUS_UNIMPLEMENTED, "%s; leave it 0", what);
  return WIA_STATUS_OK;
}

static wia_status_t make_session(int32_t device, const wia_profiling_config_t *config,
                                 session_t **out_session) {
  session_t *session = calloc(1, sizeof *session);
  if (!session) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a session");
  session->device = device;
  session->config = *config;
  if (config->output_file && !(session->output_file = strdup(config->output_file))) {
    free(session);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a session");
  }
  const uint32_t capacity = config->event_capacity ? config->event_capacity : DEFAULT_CAPACITY;
  if (!wia__open_window(&session->window, capacity)) {
    free(session->output_file);
    free(session);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a session");
  }
  wia__init_object(&session->object, WIA__SESSION, destroy_session);
  pthread_mutex_init(&session->mutex, NULL);
  *out_session = session;
  return WIA_STATUS_OK;
}

static wia_status_t start_profiling(wia_context_t *context, const wia_profiling_config_t *given,
                                    wia_profiling_session_t **out_session) {
  if (!out_session) return wia__null("out_session");
  wia_profiling_config_t config = WIA_PROFILING_CONFIG_INIT;
  wia_status_t status =
      wia__read_struct(given, &config, sizeof config, sizeof config, "WIA_PROFILING_CONFIG_INIT");
  if (!status) status = check_config(&config);
  wia__device_t *device = NULL;
  if (!status && context) status = wia__context_device(context, &device);
  session_t *session = NULL;
  if (!status) status = make_session(device ? device->id : -1, &config, &session);
  if (status) return status;
  void *handle = NULL;
  status = wia__make_handle(&session->object, &handle);
  if (!status) *out_session = handle;
  return status;
}

WIA_API wia_status_t wia_start_profiling(wia_context_t *context,
                                         const wia_profiling_config_t *config,
                                         wia_profiling_session_t **out_session) {
  WIA__CALL(start_profiling(context, config, out_session));
}

/* -- reports ----------------------------------------------------------------------------------- */

static void destroy_report(wia__object_t *object) {
  wia__report_t *report = (wia__report_t *)object;
  free(report->events);
  free(report->output_file);
  free(report);
}

static bool is_wanted(void *context, const wia__event_t *event) {
  const session_t *session = context;
  if (session->device >= 0 && event->device >= 0 && event->device != session->device &&
      event->peer != session->device)
    return false;
  switch (event->kind) {
  case WIA_PROFILE_KERNEL:
  case WIA_PROFILE_GROUP:
  case WIA_PROFILE_GRAPH:
  case WIA_PROFILE_PREPARE:
    return session->config.capture_kernels;
  case WIA_PROFILE_COPY:
    return event->peer >= 0 ? session->config.capture_communication
                            : session->config.capture_memory;
  case WIA_PROFILE_FILL:
    return session->config.capture_memory;
  default:
    return true;
  }
}

static int compare_events(const void *left, const void *right) {
  const wia__event_t *a = left, *b = right;
  if (a->begin_ns != b->begin_ns) return a->begin_ns < b->begin_ns ? -1 : 1;
  if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns ? -1 : 1;
  return 0;
}

static wia_status_t make_report(session_t *session, wia__report_t **out_report) {
  wia__report_t *report = calloc(1, sizeof *report);
  const bool named = report && session->output_file;
  if (named) report->output_file = strdup(session->output_file);
  if (!report || (named && !report->output_file) ||
      !wia__read_window(&session->window, is_wanted, session, &report->events, &report->count,
                        &report->lost)) {
    if (report) free(report->output_file);
    free(report);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED,
                     "no memory for a report; the session goes on, and may be stopped again");
  }
  wia__init_object(&report->object, WIA__REPORT, destroy_report);
  report->device = session->device;
  report->begin_ns = session->window.begin_ns;
  report->end_ns = session->window.end_ns;
  if (report->count) qsort(report->events, report->count, sizeof *report->events, compare_events);
  *out_report = report;
  return WIA_STATUS_OK;
}

/* The report of a session that is not over yet, which is then. */
static wia_status_t close_session(session_t *session, wia__report_t **out_report) {
  wia_status_t status = WIA_STATUS_OK;
  pthread_mutex_lock(&session->mutex);
  if (session->over)
    status = wia__fail(WIA_STATUS_INVALID_HANDLE, "the session was stopped by another thread");
  else
    status = make_report(session, out_report);
  if (!status) {
    wia__close_window(&session->window);
    session->over = true;
  }
  pthread_mutex_unlock(&session->mutex);
  return status;
}

static wia_status_t stop_profiling(wia_profiling_session_t *handle,
                                   wia_profiling_report_t **out_report) {
  if (!out_report) return wia__null("out_report");
  session_t *session = NULL;
  wia__report_t *report = NULL;
  wia_status_t status = wia__resolve(handle, WIA__SESSION, "session", &session);
  if (!status) status = close_session(session, &report);
  if (status) return status;
  (void)wia__close_handle(handle, WIA__SESSION); /* nobody else got past close_session */
  void *made = NULL;
  status = wia__make_handle(&report->object, &made);
  if (!status) *out_report = made;
  return status;
}

WIA_API wia_status_t wia_stop_profiling(wia_profiling_session_t *session,
                                        wia_profiling_report_t **out_report) {
  WIA__CALL(stop_profiling(session, out_report));
}

static wia_status_t drop_session(wia_profiling_session_t *handle) {
  session_t *session = NULL;
  const wia_status_t status = wia__resolve(handle, WIA__SESSION, "session", &session);
  if (status) return status;
  end_session(session);
  return wia__close_handle(handle, WIA__SESSION);
}

WIA_API wia_status_t wia_destroy_profiling_session(wia_profiling_session_t *session) {
  WIA__CALL(drop_session(session));
}

static wia_status_t get_report_info(wia_profiling_report_t *handle,
                                    wia_profiling_report_info_t *out_info) {
  wia_status_t status =
      wia__check_out(out_info, sizeof *out_info, "WIA_PROFILING_REPORT_INFO_INIT");
  wia__report_t *report = NULL;
  if (!status) status = wia__resolve(handle, WIA__REPORT, "report", &report);
  if (status) return status;
  const wia_profiling_report_info_t info = {.device_id = report->device,
                                            .event_count = report->count,
                                            .lost_count = report->lost,
                                            .begin_ns = report->begin_ns,
                                            .end_ns = report->end_ns};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_profile_report_info(wia_profiling_report_t *report,
                                                 wia_profiling_report_info_t *out_info) {
  WIA__CALL(get_report_info(report, out_info));
}

static wia_status_t get_event(wia_profiling_report_t *handle, uint64_t index,
                              wia_profile_event_t *out_event) {
  wia_status_t status = wia__check_out(out_event, sizeof *out_event, "WIA_PROFILE_EVENT_INIT");
  wia__report_t *report = NULL;
  if (!status) status = wia__resolve(handle, WIA__REPORT, "report", &report);
  if (status) return status;
  if (index >= report->count)
    return wia__fail(WIA_STATUS_OUT_OF_RANGE, "index is %llu; the report has %llu events",
                     (unsigned long long)index, (unsigned long long)report->count);
  const wia__event_t *event = &report->events[index];
  const bool cut = event->begin_ns < report->begin_ns;
  const wia_profile_event_t shown = {.kind = event->kind,
                                     .name = event->name,
                                     .begin_ns = cut ? report->begin_ns : event->begin_ns,
                                     .end_ns = event->end_ns,
                                     .correlation_id = event->correlation,
                                     .range_id = event->range,
                                     .thread = event->thread,
                                     .stream = event->stream,
                                     .device_id = event->device,
                                     .peer_device_id = event->peer,
                                     .cut = cut,
                                     .size = event->size};
  wia__write_struct(out_event, &shown, sizeof shown);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_profile_event(wia_profiling_report_t *report, uint64_t index,
                                           wia_profile_event_t *out_event) {
  WIA__CALL(get_event(report, index, out_event));
}

static wia_status_t save_report(wia_profiling_report_t *handle, const char *path) {
  wia__report_t *report = NULL;
  wia_status_t status = wia__resolve(handle, WIA__REPORT, "report", &report);
  if (status) return status;
  if (!path) path = report->output_file;
  if (!path || path[0] == '\0')
    return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                     "path is %s, and the session was started without an output_file; give one",
                     path ? "\"\"" : "NULL");
  wia__thread_t *self = wia__thread();
  wia__retain(&report->object);
  wia__leave(self);
  status = wia__write_report(report, path);
  wia__rejoin(self);
  wia__release(&report->object);
  return status;
}

WIA_API wia_status_t wia_save_profile_report(wia_profiling_report_t *report, const char *path) {
  WIA__CALL(save_report(report, path));
}

WIA_API wia_status_t wia_destroy_profile_report(wia_profiling_report_t *report) {
  WIA__CALL(wia__close_handle(report, WIA__REPORT));
}

/* -- the whole process ------------------------------------------------------------------------- */

static _Atomic(session_t *) process_session; /* of the layer trace */

/* "%p" in the name stands for the process, so that those that one starts don't share a file. */
static bool name_file(char out_path[PATH_SIZE]) {
  const char *name = wia__env_text(WIA__ENV_TRACE_FILE), *place = strstr(name, "%p");
  const int length = place ? snprintf(out_path, PATH_SIZE, "%.*s%ld%s", (int)(place - name), name,
                                      (long)getpid(), place + 2)
                           : snprintf(out_path, PATH_SIZE, "%s", name);
  return length >= 0 && length < PATH_SIZE;
}

wia_status_t wia__stop_trace(void) {
  session_t *session = atomic_exchange(&process_session, NULL);
  if (!session) return WIA_STATUS_OK;
  char path[PATH_SIZE];
  wia__report_t *report = NULL;
  wia_status_t status = name_file(path) ? close_session(session, &report)
                                        : wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                                                    "WIA_TRACE_FILE is too long for a path");
  if (!status) status = wia__write_report(report, path);
  if (report) wia__release(&report->object);
  wia__release(&session->object);
  return status;
}

static void write_at_exit(void) {
  wia__thread_t *self = wia__enter("WIA_LAYERS");
  const wia_status_t status = wia__stop_trace();
  if (status)
    wia__log(WIA__LOG_ENVIRONMENT, WIA_LOG_WARNING, NULL, "the trace was not written: %s",
             self->last.message ? self->last.message : wia_get_status_text(status));
  wia__exit(self);
}

static void register_exit(void) { atexit(write_at_exit); }

wia_status_t wia__start_trace(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const wia_profiling_config_t config = WIA_PROFILING_CONFIG_INIT;
  session_t *session = NULL;
  const wia_status_t status = make_session(-1, &config, &session);
  if (status) return status;
  pthread_once(&once, register_exit);
  atomic_store(&process_session, session);
  return WIA_STATUS_OK;
}

/* The file is the parent's to write. */
void wia__fork_profile(wia__fork_t stage) {
  if (stage == WIA__FORK_CHILD) atomic_store(&process_session, NULL);
}
