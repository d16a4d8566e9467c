#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "fork.h"
#include "log.h"
#include "slots.h"

pthread_mutex_t wia__records_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wia__records_changed = PTHREAD_COND_INITIALIZER;

static wia__record_t *first, **end = &first;

wia__record_t *wia__make_record(int32_t kind, const char *name, const char *source) {
  wia__record_t *record = calloc(1, sizeof *record);
  if (record == NULL) return NULL;
  record->shown = (wia_load_record_t){.struct_size = sizeof record->shown,
                                      .kind = kind,
                                      .state = WIA_DRIVER_STATE_FOUND,
                                      .slot = -1,
                                      .name = name,
                                      .source = source,
                                      .version = "",
                                      .message = "",
                                      .cause = ""};
  record->may_be_default = kind == WIA_DRIVER_KIND_NATIVE;
  return record;
}

void wia__refuse_record(wia__record_t *record, wia_status_t status, const char *message,
                        const char *cause) {
  record->shown.state = WIA_DRIVER_STATE_REFUSED;
  record->shown.status = status;
  record->shown.message = message;
  record->shown.cause = cause;
}

static bool is_same_driver(const wia__record_t *a, const wia__record_t *b) {
  if (a->shown.kind != b->shown.kind) return false;
  if (a->library == NULL || b->library == NULL)
    return strcmp(a->shown.source, b->shown.source) == 0;
  if (a->inode != 0 || b->inode != 0) return a->inode == b->inode && a->device == b->device;
  return strcmp(a->library, b->library) == 0;
}

static void judge(wia__record_t *record) {
  const char *name = record->shown.name;
  const wia__record_t *owner = wia__find_owner(name);
  const char *patterns = wia__env_text(WIA__ENV_DRIVERS);
  if (owner != NULL && is_same_driver(owner, record)) {
    record->shown.state = WIA_DRIVER_STATE_DUPLICATE;
    record->shown.message =
        wia__text("the same driver was announced before, by %s", owner->shown.source);
  } else if (owner != NULL) {
    wia__refuse_record(record, WIA_STATUS_ALREADY_EXISTS,
                       wia__text("the name \"%s\" is taken by the driver from %s; this one, from "
                                 "%s, is not used: remove or rename one of them",
                                 name, owner->shown.source, record->shown.source),
                       "");
  } else if (!wia__is_enabled(name, patterns)) {
    record->shown.state = WIA_DRIVER_STATE_DISABLED;
    record->shown.message = wia__text("the driver \"%s\" is switched off by WIA_DRIVERS=%s; add "
                                      "\"%s\" at its end to use it",
                                      name, patterns, name);
  } else {
    record->owner = true;
    wia__offer_default(record);
  }
}

void wia__add_record(wia__record_t *record) {
  if (record->shown.state == WIA_DRIVER_STATE_FOUND) judge(record);
  *end = record;
  end = &record->next;
}

void wia__remove_record(wia__record_t *record) {
  wia__record_t **link = &first;
  while (*link != record) link = &(*link)->next;
  *link = record->next;
  if (end == &record->next) end = link;
}

wia__record_t *wia__first_record(void) { return first; }

wia__record_t *wia__find_owner(const char *name) {
  for (wia__record_t *record = first; record != NULL; record = record->next)
    if (record->owner && strcmp(record->shown.name, name) == 0) return record;
  return NULL;
}

wia__record_t *wia__find_refused(const char *name) {
  for (wia__record_t *record = first; record != NULL; record = record->next)
    if (!record->owner && strcmp(record->shown.name, name) == 0) return record;
  return NULL;
}

static const char *find_near(const char *name) {
  const char *near = NULL;
  uint32_t least = 3; /* farther names are no typing error */
  for (const wia__record_t *record = first; record != NULL; record = record->next) {
    if (!record->owner) continue;
    const uint32_t distance = wia__name_distance(name, record->shown.name);
    if (distance >= least || distance >= strlen(record->shown.name)) continue;
    least = distance;
    near = record->shown.name;
  }
  return near;
}

void wia__list_names(const char *name, char out_text[WIA__NAMES_SIZE]) {
  const char *near = find_near(name);
  int length = near == NULL ? snprintf(out_text, WIA__NAMES_SIZE, "known drivers:")
                            : snprintf(out_text, WIA__NAMES_SIZE,
                                       "did you mean \"%s\"? known drivers:", near);
  const char *separator = " ";
  for (const wia__record_t *record = first; record != NULL; record = record->next) {
    if (!record->owner) continue;
    if (length + strlen(record->shown.name) + sizeof ", ..." > WIA__NAMES_SIZE) {
      snprintf(out_text + length, (size_t)(WIA__NAMES_SIZE - length), ", ...");
      return;
    }
    length += snprintf(out_text + length, (size_t)(WIA__NAMES_SIZE - length), "%s%s", separator,
                       record->shown.name);
    separator = ", ";
  }
  if (separator[0] == ' ') snprintf(out_text + length, (size_t)(WIA__NAMES_SIZE - length), " none");
}

/* The next failure that nobody was told of, as a copy; from here on it counts as told. */
static bool take_failure(wia_load_record_t *out_shown) {
  bool found = false;
  pthread_mutex_lock(&wia__records_mutex);
  for (wia__record_t *record = first; record != NULL && !found; record = record->next) {
    const wia_load_record_t *shown = &record->shown;
    found = shown->status != WIA_STATUS_OK && shown->message != record->told;
    if (!found) continue;
    record->told = shown->message;
    *out_shown = *shown;
  }
  pthread_mutex_unlock(&wia__records_mutex);
  return found;
}

void wia__log_failures(void) {
  wia_load_record_t shown;
  while (take_failure(&shown)) {
    const bool absent = shown.status == WIA_STATUS_UNAVAILABLE;
    wia__log(WIA__LOG_DISCOVERY, absent ? WIA_LOG_INFO : WIA_LOG_WARNING, shown.name,
             "%s (from %s; wia devices -v or wia_get_load_record() tell more)", shown.message,
             shown.source);
    if (shown.cause[0] != '\0')
      wia__log_text(WIA__LOG_DISCOVERY, WIA_LOG_DEBUG, shown.name, shown.cause);
  }
}

void wia__fork_records(wia__fork_t stage) {
  wia__fork_mutex(stage, &wia__records_mutex);
  if (stage != WIA__FORK_CHILD) return;
  pthread_cond_init(&wia__records_changed, NULL);
  for (wia__record_t *record = first; record != NULL; record = record->next)
    record->loading = false;
}
