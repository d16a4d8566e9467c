/* leak.c: what is live, and where it was made. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "executable.h"
#include "finding.h"
#include "fork.h"
#include "log.h"
#include "validate.h"

enum { MOST_LEAKS = 1000, FIRST_BUCKETS = 1024 };

typedef struct birth_t {
  uint64_t key;
  wia__site_t site;
  struct birth_t *next;
} birth_t;

/* Guards the table. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static birth_t **buckets;
static uint64_t bucket_count, birth_count;

/* -- births -------------------------------------------------------------------------------------- */

static birth_t **find(uint64_t key) {
  const uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
  birth_t **link = &buckets[hash & (bucket_count - 1)];
  while (*link && (*link)->key != key) link = &(*link)->next;
  return link;
}

/* A table that can't grow is slow, and no table knows nothing. */
static bool grow(void) {
  if (birth_count < bucket_count) return true;
  birth_t **old = buckets, **fresh = NULL;
  const uint64_t old_count = bucket_count, count = old ? 2 * old_count : FIRST_BUCKETS;
  fresh = calloc(count, sizeof *fresh);
  if (!fresh) return old != NULL;
  buckets = fresh;
  bucket_count = count;
  for (uint64_t i = 0; i < old_count; i++) {
    for (birth_t *birth = old[i], *next; birth; birth = next) {
      next = birth->next;
      birth->next = NULL;
      *find(birth->key) = birth;
    }
  }
  free(old);
  return true;
}

void wia__note_birth(uint64_t key) {
  const wia__site_t site = wia__capture_site();
  pthread_mutex_lock(&mutex);
  birth_t *birth = grow() ? *find(key) : NULL;
  if (birth) {
    birth->site = site;
  } else if (buckets && (birth = calloc(1, sizeof *birth))) {
    *birth = (birth_t){.key = key, .site = site};
    *find(key) = birth;
    birth_count++;
  }
  pthread_mutex_unlock(&mutex);
}

void wia__note_death(uint64_t key) {
  pthread_mutex_lock(&mutex);
  birth_t **link = buckets ? find(key) : NULL, *birth = link ? *link : NULL;
  if (birth) {
    *link = birth->next;
    birth_count--;
  }
  pthread_mutex_unlock(&mutex);
  free(birth);
}

static wia__site_t find_birth(uint64_t key) {
  pthread_mutex_lock(&mutex);
  const birth_t *birth = buckets ? *find(key) : NULL;
  const wia__site_t site = birth ? birth->site : 0;
  pthread_mutex_unlock(&mutex);
  return site;
}

void wia__forget_births(void) {
  pthread_mutex_lock(&mutex);
  for (uint64_t i = 0; i < bucket_count; i++) {
    for (birth_t *birth = buckets[i], *next; birth; birth = next) {
      next = birth->next;
      free(birth);
    }
  }
  free(buckets);
  buckets = NULL;
  bucket_count = birth_count = 0;
  pthread_mutex_unlock(&mutex);
}

/* -- what is live -------------------------------------------------------------------------------- */

static void add(wia__finding_list_t *list, uint64_t key, const char *object,
                const wia__device_t *device, uint64_t address, uint64_t size) {
  wia__finding_t finding = {.kind = WIA_FINDING_LEAK,
                            .device = device ? device->id : -1,
                            .first = "made at",
                            .site = find_birth(key),
                            .address = address,
                            .size = size,
                            .count = 1};
  snprintf(finding.object, sizeof finding.object, "%s", object);
  wia__add_finding(list, &finding, MOST_LEAKS);
}

static void add_object(void *context, uint64_t key, wia__object_t *object) {
  const wia__device_t *device = NULL;
  const wia__tensor_t *tensor = NULL;
  wia__queue_t *queue = NULL;
  switch ((wia__type_t)object->type) {
  case WIA__CONTEXT:
    device = ((const wia__context_t *)object)->device;
    break;
  case WIA__STREAM:
    if (!wia__resolve_stream((wia_stream_t *)(uintptr_t)key, &queue))
      device = wia__queue_device(queue);
    break;
  case WIA__PLAN:
    device = wia__planned_device(object);
    break;
  case WIA__GRAPH:
    device = ((const wia__graph_t *)object)->device;
    break;
  case WIA__EXECUTABLE:
    device = ((const wia__executable_t *)object)->device;
    break;
  case WIA__TENSOR:
    tensor = (const wia__tensor_t *)object;
    device = tensor->device;
    break;
  default:
    break;
  }
  add(context, key, wia__type_name(object->type), device, tensor ? tensor->operand.address : 0,
      tensor && !tensor->borrowed ? wia__tensor_layout(tensor)->size : 0);
}

static void add_allocation(void *context, const wia__allocation_t *allocation) {
  if (!allocation->owned)
    add(context, (uint64_t)(uintptr_t)allocation, "memory", allocation->device,
        allocation->memory.address, allocation->size);
}

/* Says how many of each there are, once they are counted. */
static void write_text(wia__finding_t *finding) {
  wia__device_t *device = NULL;
  const bool named = finding->device >= 0 && !wia__get_device(finding->device, &device);
  char size[64] = "";
  if (finding->size) snprintf(size, sizeof size, ", %llu bytes", (unsigned long long)finding->size);
  snprintf(finding->text, sizeof finding->text, "leak: %s%s%s (%llu live%s)", finding->object,
           named ? " on " : "", named ? device->name : "", (unsigned long long)finding->count,
           size);
}

static void list_leaks(wia__finding_list_t *list) {
  wia__each_handle(add_object, list);
  wia__each_allocation(add_allocation, list);
  for (uint64_t i = 0; i < list->count; i++) write_text(&list->findings[i]);
}

static wia_status_t get_leak_report(wia_validation_report_t **out_report) {
  if (!out_report) return wia__null("out_report");
  wia__finding_list_t list = {0};
  list_leaks(&list);
  return wia__make_validation_report(&list, out_report);
}

WIA_API wia_status_t wia_get_leak_report(wia_validation_report_t **out_report) {
  WIA__CALL(get_leak_report(out_report));
}

void wia__log_leaks(void) {
  wia__finding_list_t list = {0};
  wia__thread_t *self = wia__enter("WIA_LAYERS");
  list_leaks(&list);
  wia__exit(self);
  for (uint64_t i = 0; i < list.count; i++) {
    char *text = wia__write_finding(&list.findings[i]);
    if (text) wia__log_text(WIA__LOG_VALIDATE, WIA_LOG_WARNING, NULL, text);
    free(text);
  }
  free(list.findings);
}

void wia__fork_leaks(wia__fork_t stage) { wia__fork_mutex(stage, &mutex); }
