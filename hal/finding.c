/* finding.c: keeping findings, and telling of them. */
#include "finding.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "fork.h"
#include "log.h"

enum { MOST_FINDINGS = 1000 };

/* Guards the list; taken under any other but that of the places. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static wia__finding_list_t found;
static uint64_t told;
static _Atomic uint32_t untold; /* 1: some in the list are not told yet */

static _Atomic int32_t mode;

/* Held for reading while the function runs; as log.c does. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static wia_finding_fn_t function;
static void *function_context;
static _Thread_local bool inside;

/* -- lists --------------------------------------------------------------------------------------- */

static bool is_same(const wia__finding_t *a, const wia__finding_t *b) {
  return a->kind == b->kind && a->hazard == b->hazard && a->site == b->site &&
         a->site_2 == b->site_2 && a->device == b->device && strcmp(a->object, b->object) == 0 &&
         strcmp(a->operation, b->operation) == 0 && strcmp(a->operation_2, b->operation_2) == 0;
}

bool wia__add_finding(wia__finding_list_t *list, const wia__finding_t *finding, uint64_t most) {
  for (uint64_t i = 0; i < list->count; i++) {
    if (!is_same(&list->findings[i], finding)) continue;
    list->findings[i].count += finding->count;
    if (finding->kind == WIA_FINDING_LEAK) list->findings[i].size += finding->size;
    return false;
  }
  if (list->count == list->capacity && list->count < most) {
    const uint64_t capacity = list->capacity ? 2 * list->capacity : 16;
    wia__finding_t *grown = realloc(list->findings, capacity * sizeof *grown);
    if (grown) {
      list->findings = grown;
      list->capacity = capacity;
    }
  }
  if (list->count == most || list->count == list->capacity) {
    list->lost++;
    return false;
  }
  list->findings[list->count++] = *finding;
  return true;
}

void wia__note_finding(const wia__finding_t *finding) {
  pthread_mutex_lock(&mutex);
  if (wia__add_finding(&found, finding, MOST_FINDINGS)) atomic_store(&untold, 1);
  pthread_mutex_unlock(&mutex);
}

static wia_status_t clear_findings(void) {
  pthread_mutex_lock(&mutex);
  free(found.findings);
  found = (wia__finding_list_t){0};
  told = 0;
  pthread_mutex_unlock(&mutex);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_clear_findings(void) { WIA__CALL(clear_findings()); }

/* -- telling ------------------------------------------------------------------------------------- */

char *wia__write_finding(const wia__finding_t *finding) {
  char *site = wia__describe_site(finding->site);
  char *site_2 = finding->second ? wia__describe_site(finding->site_2) : strdup("");
  char *text = NULL;
  if (site && site_2) {
    const size_t size = strlen(finding->text) + strlen(site) + strlen(site_2) + 128;
    text = malloc(size);
    if (text && finding->second)
      snprintf(text, size, "%s\n  %s: %s\n  %s: %s", finding->text, finding->first, site,
               finding->second, site_2);
    else if (text)
      snprintf(text, size, "%s\n  %s: %s", finding->text, finding->first, site);
  }
  free(site);
  free(site_2);
  return text;
}

typedef struct texts_t {
  char *message, *site, *site_2;
} texts_t;

static bool write_texts(const wia__finding_t *finding, texts_t *out_texts) {
  *out_texts = (texts_t){wia__write_finding(finding), wia__describe_site(finding->site),
                         finding->second ? wia__describe_site(finding->site_2) : strdup("")};
  return out_texts->message && out_texts->site && out_texts->site_2;
}

static void free_texts(texts_t *texts) {
  free(texts->message);
  free(texts->site);
  free(texts->site_2);
}

static wia_finding_t show(const wia__finding_t *finding, const texts_t *texts) {
  return (wia_finding_t){.struct_size = sizeof(wia_finding_t),
                         .kind = finding->kind,
                         .hazard = finding->hazard,
                         .device_id = finding->device,
                         .message = texts->message,
                         .object = finding->object,
                         .operation = finding->operation,
                         .function = wia__site_function(finding->site),
                         .site = texts->site,
                         .operation_2 = finding->operation_2,
                         .function_2 = finding->second ? wia__site_function(finding->site_2) : "",
                         .site_2 = texts->site_2,
                         .stream = finding->stream,
                         .stream_2 = finding->stream_2,
                         .address = finding->address,
                         .size = finding->size,
                         .count = finding->count};
}

static void tell(const wia__finding_t *finding) {
  texts_t texts;
  if (write_texts(finding, &texts)) {
    wia__log_text(WIA__LOG_VALIDATE, WIA_LOG_WARNING, NULL, texts.message);
    if (!inside) {
      pthread_rwlock_rdlock(&lock);
      inside = true;
      const wia_finding_t shown = show(finding, &texts);
      if (function) function(function_context, &shown);
      inside = false;
      pthread_rwlock_unlock(&lock);
    }
  }
  free_texts(&texts);
}

/* The thread's last error is that of its call, whatever is done here. */
void wia__tell_findings(void) {
  if (!atomic_load_explicit(&untold, memory_order_relaxed)) return;
  wia__thread_t *self = wia__thread();
  const char *outer = self->function;
  const wia__failure_t last = self->last;
  self->last = (wia__failure_t){0};
  while (atomic_load_explicit(&untold, memory_order_relaxed)) {
    wia__finding_t finding;
    pthread_mutex_lock(&mutex);
    const bool any = told < found.count;
    if (any) finding = found.findings[told++];
    if (told == found.count) atomic_store(&untold, 0);
    pthread_mutex_unlock(&mutex);
    if (any) tell(&finding);
  }
  wia__free_failure(&self->last);
  self->last = last;
  self->function = outer;
}

/* -- settings ------------------------------------------------------------------------------------ */

bool wia__findings_are_errors(void) {
  const int32_t set = atomic_load_explicit(&mode, memory_order_relaxed);
  if (set != WIA_VALIDATION_DEFAULT) return set == WIA_VALIDATION_ERROR;
  return strcmp(wia__env_text(WIA__ENV_VALIDATE), "error") == 0;
}

wia_status_t wia__fail_finding(const wia__finding_t *finding) {
  char *text = wia__write_finding(finding);
  const wia_status_t status =
      wia__fail(WIA_STATUS_FAILED_PRECONDITION, "%s", text ? text : finding->text);
  free(text);
  return status;
}

static wia_status_t configure(const wia_validation_config_t *given) {
  wia_validation_config_t config = {0};
  const wia_status_t status =
      wia__read_struct(given, &config, sizeof config, sizeof config, "WIA_VALIDATION_CONFIG_INIT");
  if (status) return status;
  if (config.mode < WIA_VALIDATION_DEFAULT || config.mode > WIA_VALIDATION_ERROR)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "mode is %d; expected WIA_VALIDATION_DEFAULT, _REPORT or _ERROR",
                     (int)config.mode);
  if (inside)
    return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                     "the function that takes findings can't replace itself: it would wait for its "
                     "own end");
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  pthread_rwlock_wrlock(&lock);
  function = config.function;
  function_context = config.context;
  atomic_store(&mode, config.mode);
  pthread_rwlock_unlock(&lock);
  wia__rejoin(self);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_configure_validation(const wia_validation_config_t *config) {
  WIA__CALL(configure(config));
}

/* -- reports ------------------------------------------------------------------------------------- */

typedef struct report_t {
  wia__object_t object;
  wia__finding_list_t list;
  texts_t texts[]; /* of each */
} report_t;

static void destroy_report(wia__object_t *object) {
  report_t *report = (report_t *)object;
  for (uint64_t i = 0; i < report->list.count; i++) free_texts(&report->texts[i]);
  free(report->list.findings);
  free(report);
}

wia_status_t wia__make_validation_report(wia__finding_list_t *list,
                                         wia_validation_report_t **out_report) {
  report_t *report = calloc(1, sizeof *report + list->count * sizeof *report->texts);
  bool enough = report != NULL;
  if (report) report->list = *list;
  for (uint64_t i = 0; i < list->count && enough; i++)
    enough = write_texts(&list->findings[i], &report->texts[i]);
  if (!enough) {
    if (report)
      destroy_report(&report->object);
    else
      free(list->findings);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a report");
  }
  wia__init_object(&report->object, WIA__FINDINGS, destroy_report);
  void *handle = NULL;
  const wia_status_t status = wia__make_handle(&report->object, &handle);
  if (!status) *out_report = handle;
  return status;
}

static wia_status_t get_validation_report(wia_validation_report_t **out_report) {
  if (!out_report) return wia__null("out_report");
  wia__finding_list_t list = {0};
  pthread_mutex_lock(&mutex);
  const uint64_t count = found.count;
  list.findings = calloc(count ? count : 1, sizeof *list.findings);
  if (list.findings) {
    if (count) memcpy(list.findings, found.findings, count * sizeof *list.findings);
    list.count = list.capacity = count;
    list.lost = found.lost;
  }
  pthread_mutex_unlock(&mutex);
  if (!list.findings) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a report");
  return wia__make_validation_report(&list, out_report);
}

WIA_API wia_status_t wia_get_validation_report(wia_validation_report_t **out_report) {
  WIA__CALL(get_validation_report(out_report));
}

static wia_status_t get_report_info(wia_validation_report_t *handle,
                                    wia_validation_report_info_t *out_info) {
  wia_status_t status =
      wia__check_out(out_info, sizeof *out_info, "WIA_VALIDATION_REPORT_INFO_INIT");
  report_t *report = NULL;
  if (!status) status = wia__resolve(handle, WIA__FINDINGS, "report", &report);
  if (status) return status;
  const wia_validation_report_info_t info = {.finding_count = report->list.count,
                                             .lost_count = report->list.lost};
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_validation_report_info(wia_validation_report_t *report,
                                                    wia_validation_report_info_t *out_info) {
  WIA__CALL(get_report_info(report, out_info));
}

static wia_status_t get_finding(wia_validation_report_t *handle, uint64_t index,
                                wia_finding_t *out_finding) {
  wia_status_t status = wia__check_out(out_finding, sizeof *out_finding, "WIA_FINDING_INIT");
  report_t *report = NULL;
  if (!status) status = wia__resolve(handle, WIA__FINDINGS, "report", &report);
  if (status) return status;
  if (index >= report->list.count)
    return wia__fail(WIA_STATUS_OUT_OF_RANGE, "index is %llu; the report has %llu findings",
                     (unsigned long long)index, (unsigned long long)report->list.count);
  const wia_finding_t shown = show(&report->list.findings[index], &report->texts[index]);
  wia__write_struct(out_finding, &shown, sizeof shown);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_finding(wia_validation_report_t *report, uint64_t index,
                                     wia_finding_t *out_finding) {
  WIA__CALL(get_finding(report, index, out_finding));
}

WIA_API wia_status_t wia_destroy_validation_report(wia_validation_report_t *report) {
  WIA__CALL(wia__close_handle(report, WIA__FINDINGS));
}

/* The function may be what forks: as log.c. */
void wia__fork_findings(wia__fork_t stage) {
  static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  wia__fork_mutex(stage, &mutex);
  if (stage != WIA__FORK_CHILD) return;
  lock = fresh;
  if (inside) pthread_rwlock_rdlock(&lock);
}
