/* profile_json.c: a report as Chrome's trace events. The host is process 0 with a row for each thread;
 * each device is a process of its own with a row for each stream. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "platform.h"
#include "profile.h"

static const char *const kinds[] = {"",     "call",    "kernel",   "group", "copy", "fill",
                                    "wait", "prepare", "function", "range", "graph"};

typedef struct row_t {
  int64_t process;
  uint64_t thread;
} row_t;

static row_t row_of(const wia__event_t *event) {
  if (event->stream) return (row_t){1 + (int64_t)event->device, event->stream};
  return (row_t){0, event->thread};
}

static void write_text(FILE *file, const char *text) {
  fputc('"', file);
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at == '"' || *at == '\\')
      fprintf(file, "\\%c", *at);
    else if (*at < 0x20)
      fprintf(file, "\\u%04x", *at);
    else
      fputc(*at, file);
  }
  fputc('"', file);
}

/* Microseconds, exact to the nanosecond. */
static void write_time(FILE *file, const char *key, int64_t time_ns) {
  fprintf(file, ",\"%s\":%lld.%03d", key, (long long)(time_ns / 1000), (int)(time_ns % 1000));
}

static void write_row(FILE *file, row_t row) {
  fprintf(file, ",\"pid\":%lld,\"tid\":%llu", (long long)row.process,
          (unsigned long long)row.thread);
}

static const char *device_name(int32_t id) {
  wia__device_t *device = NULL;
  return wia__get_device(id, &device) == WIA_STATUS_OK ? device->name : "a device";
}

static int64_t begin_of(const wia__report_t *report, const wia__event_t *event) {
  return (event->begin_ns > report->begin_ns ? event->begin_ns : report->begin_ns) -
         report->begin_ns;
}

static void write_event(FILE *file, const wia__report_t *report, const wia__event_t *event) {
  const int64_t begin_ns = begin_of(report, event);
  fputs(",\n{\"ph\":\"X\",\"name\":", file);
  write_text(file, event->name);
  fprintf(file, ",\"cat\":\"%s\"", kinds[event->kind]);
  write_row(file, row_of(event));
  write_time(file, "ts", begin_ns);
  write_time(file, "dur", event->end_ns - report->begin_ns - begin_ns);
  fprintf(file, ",\"args\":{\"correlation\":%llu,\"range\":%llu",
          (unsigned long long)event->correlation, (unsigned long long)event->range);
  if (event->device >= 0) {
    fputs(",\"device\":", file);
    write_text(file, device_name(event->device));
  }
  if (event->peer >= 0) {
    fputs(",\"from\":", file);
    write_text(file, device_name(event->peer));
  }
  if (event->size) fprintf(file, ",\"bytes\":%llu", (unsigned long long)event->size);
  if (event->begin_ns < report->begin_ns) fputs(",\"cut\":true", file);
  fputs("}}", file);
}

/* -- rows -------------------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right) {
  const row_t *a = left, *b = right;
  if (a->process != b->process) return a->process < b->process ? -1 : 1;
  return (a->thread > b->thread) - (a->thread < b->thread);
}

static void write_name(FILE *file, const char *what, row_t row, const char *name) {
  fprintf(file, ",\n{\"ph\":\"M\",\"name\":\"%s\"", what);
  write_row(file, row);
  fputs(",\"args\":{\"name\":", file);
  write_text(file, name);
  fputs("}}", file);
}

static bool write_rows(FILE *file, const wia__report_t *report) {
  row_t *rows = malloc((report->count + 1) * sizeof *rows);
  if (!rows) return false;
  for (uint64_t i = 0; i < report->count; i++) rows[i] = row_of(&report->events[i]);
  qsort(rows, report->count, sizeof *rows, compare_rows);
  for (uint64_t i = 0; i < report->count; i++) {
    char name[64];
    if (i && compare_rows(&rows[i - 1], &rows[i]) == 0) continue;
    if (!i || rows[i - 1].process != rows[i].process)
      write_name(file, "process_name", (row_t){rows[i].process, 0},
                 rows[i].process ? device_name((int32_t)(rows[i].process - 1)) : "host");
    snprintf(name, sizeof name, "%s %llu",
             rows[i].process                        ? "stream"
             : rows[i].thread == (uint64_t)getpid() ? "main thread"
                                                    : "thread",
             (unsigned long long)rows[i].thread);
    write_name(file, "thread_name", rows[i], name);
  }
  free(rows);
  return true;
}

/* -- arrows from a call to what it put on a stream --------------------------------------------- */

static int compare_calls(const void *left, const void *right) {
  const wia__event_t *a = *(const wia__event_t *const *)left,
                     *b = *(const wia__event_t *const *)right;
  return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

static void write_end(FILE *file, char phase, uint64_t id, row_t row, int64_t time_ns) {
  fprintf(file, ",\n{\"ph\":\"%c\",\"name\":\"enqueue\",\"cat\":\"enqueue\",\"id\":%llu", phase,
          (unsigned long long)id);
  if (phase == 'f') fputs(",\"bp\":\"e\"", file);
  write_row(file, row);
  write_time(file, "ts", time_ns);
  fputc('}', file);
}

static bool write_arrows(FILE *file, const wia__report_t *report) {
  const wia__event_t **calls = malloc((report->count + 1) * sizeof *calls);
  if (!calls) return false;
  uint64_t call_count = 0, id = 0;
  for (uint64_t i = 0; i < report->count; i++) {
    if (report->events[i].kind == WIA_PROFILE_CALL) calls[call_count++] = &report->events[i];
  }
  qsort(calls, call_count, sizeof *calls, compare_calls);
  for (uint64_t i = 0; i < report->count; i++) {
    const wia__event_t *event = &report->events[i];
    if (!event->stream || !event->correlation) continue;
    const wia__event_t **call = bsearch(&event, calls, call_count, sizeof *calls, compare_calls);
    if (!call) continue;
    write_end(file, 's', ++id, row_of(*call), begin_of(report, *call));
    write_end(file, 'f', id, row_of(event), begin_of(report, event));
  }
  free(calls);
  return true;
}

/* -- the file ---------------------------------------------------------------------------------- */

static bool write_report(FILE *file, const wia__report_t *report) {
  fprintf(file,
          "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"library\":\"WIA %d.%d.%d\",\"device\":",
          WIA_VERSION_MAJOR, WIA_VERSION_MINOR, WIA_VERSION_PATCH);
  write_text(file, report->device >= 0 ? device_name(report->device) : "all");
  fprintf(file,
          ",\"process\":%ld,\"lost_events\":%llu,\"duration_ns\":%lld},\n\"traceEvents\":["
          "\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"host\"}}",
          (long)getpid(), (unsigned long long)report->lost,
          (long long)(report->end_ns - report->begin_ns));
  for (uint64_t i = 0; i < report->count; i++) write_event(file, report, &report->events[i]);
  const bool enough = write_rows(file, report) && write_arrows(file, report);
  fputs("\n]}\n", file);
  return enough;
}

static wia_status_t refuse(const char *path, int error) {
  const wia_status_t status =
      error == ENOENT || error == ENOTDIR ? WIA_STATUS_NOT_FOUND
      : error == EACCES || error == EPERM || error == EROFS || error == EISDIR
          ? WIA_STATUS_PERMISSION_DENIED
      : error == ENOSPC || error == ENOMEM || error == EDQUOT ? WIA_STATUS_RESOURCE_EXHAUSTED
                                                              : WIA_STATUS_UNKNOWN;
  char text[128] = "";
  return wia__fail(status,
                   "the report can't be written to \"%.300s\": %s; expected a path in a "
                   "folder that can be written to",
                   path, strerror_r(error, text, sizeof text));
}

/* The file gets the permissions that any new file would, so this is not mkstemp(). */
static FILE *create_file(const char *path) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return NULL;
  FILE *file = fdopen(descriptor, "w");
  if (file) return file;
  const int error = errno;
  close(descriptor);
  unlink(path);
  errno = error;
  return NULL;
}

wia_status_t wia__write_report(const wia__report_t *report, const char *path) {
  const size_t size = strlen(path) + 64;
  char *temporary = malloc(size);
  if (!temporary) return refuse(path, ENOMEM);
  snprintf(temporary, size, "%s.%ld.%llu", path, (long)getpid(),
           (unsigned long long)wia__thread_id());
  FILE *file = create_file(temporary);
  int error = file ? 0 : errno;
  if (file) {
    errno = 0;
    const bool enough = write_report(file, report);
    const bool failed = ferror(file) != 0;
    const bool closed = fclose(file) == 0;
    if (!enough)
      error = ENOMEM;
    else if (failed || !closed)
      error = errno ? errno : EIO;
    else if (rename(temporary, path) != 0)
      error = errno;
    if (error) unlink(temporary);
  }
  free(temporary);
  return error ? refuse(path, error) : WIA_STATUS_OK;
}
