/* layer.c: the list of layers, and switching them on and off. */
#include "wia/layer.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "env.h"
#include "fork.h"
#include "log.h"
#include "object.h"
#include "profile.h"
#include "validate.h"

enum { NAMES_SIZE = 128 };

typedef struct layer_t {
  const char *name, *description;
  wia_status_t (*start)(void);
  wia_status_t (*stop)(void); /* the layer is off afterwards, also on failure */
  bool inherited;             /* a process that is forked off has it too */
  uint32_t users;
} layer_t;

/* Guards the counts, and is held while a layer starts or stops. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static layer_t layers[] = {
    {"validate", "races between streams, overlaps, cyclic waits, and leaks", wia__start_validate,
     wia__stop_validate, true, 0},
    {"trace", "spans of calls, kernels, copies and waits, written to WIA_TRACE_FILE",
     wia__start_trace, wia__stop_trace, false, 0},
};
enum { LAYER_COUNT = sizeof layers / sizeof *layers };

static const char *list_names(char names[NAMES_SIZE]) {
  size_t used = 0;
  for (uint32_t i = 0; i < LAYER_COUNT && used < NAMES_SIZE; i++)
    used +=
        (size_t)snprintf(names + used, NAMES_SIZE - used, "%s%s", i ? ", " : "", layers[i].name);
  return names;
}

static layer_t *find_layer(const char *name, size_t length) {
  for (uint32_t i = 0; i < LAYER_COUNT; i++) {
    if (strlen(layers[i].name) == length && memcmp(layers[i].name, name, length) == 0)
      return &layers[i];
  }
  return NULL;
}

static wia_status_t resolve_layer(const char *name, layer_t **out_layer) {
  if (!name) return wia__null("name");
  *out_layer = find_layer(name, strlen(name));
  if (*out_layer) return WIA_STATUS_OK;
  char names[NAMES_SIZE];
  return wia__fail(WIA_STATUS_NOT_FOUND, "no layer is called \"%.80s\"; there are %s", name,
                   list_names(names));
}

/* -- on and off ---------------------------------------------------------------------------------- */

static wia_status_t start_layer(layer_t *layer) {
  wia_status_t status = WIA_STATUS_OK;
  pthread_mutex_lock(&mutex);
  if (!layer->users) status = layer->start();
  if (!status) layer->users++;
  pthread_mutex_unlock(&mutex);
  return status;
}

static wia_status_t enable_layer(const char *name) {
  layer_t *layer = NULL;
  const wia_status_t status = resolve_layer(name, &layer);
  return status ? status : start_layer(layer);
}

WIA_API wia_status_t wia_enable_layer(const char *name) { WIA__CALL(enable_layer(name)); }

static wia_status_t disable_layer(const char *name) {
  layer_t *layer = NULL;
  wia_status_t status = resolve_layer(name, &layer);
  if (status) return status;
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  pthread_mutex_lock(&mutex);
  if (!layer->users)
    status = wia__fail(WIA_STATUS_FAILED_PRECONDITION, "the layer %s is not on", layer->name);
  else if (--layer->users == 0)
    status = layer->stop();
  pthread_mutex_unlock(&mutex);
  wia__rejoin(self);
  return status;
}

WIA_API wia_status_t wia_disable_layer(const char *name) { WIA__CALL(disable_layer(name)); }

/* -- questions ----------------------------------------------------------------------------------- */

static wia_status_t get_layer_count(uint32_t *out_count) {
  if (!out_count) return wia__null("out_count");
  *out_count = LAYER_COUNT;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_layer_count(uint32_t *out_count) {
  WIA__CALL(get_layer_count(out_count));
}

static wia_status_t get_layer_info(uint32_t index, wia_layer_info_t *out_info) {
  const wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_LAYER_INFO_INIT");
  if (status) return status;
  if (index >= LAYER_COUNT)
    return wia__fail(WIA_STATUS_OUT_OF_RANGE, "index is %u; there are %d layers", index,
                     LAYER_COUNT);
  pthread_mutex_lock(&mutex);
  const wia_layer_info_t info = {.enabled = layers[index].users != 0,
                                 .name = layers[index].name,
                                 .description = layers[index].description};
  pthread_mutex_unlock(&mutex);
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_layer_info(uint32_t index, wia_layer_info_t *out_info) {
  WIA__CALL(get_layer_info(index, out_info));
}

/* -- the environment ----------------------------------------------------------------------------- */

static void start_named(const char *name, size_t length) {
  layer_t *layer = find_layer(name, length);
  char names[NAMES_SIZE];
  if (!layer)
    wia__log(WIA__LOG_ENVIRONMENT, WIA_LOG_WARNING, NULL,
             "WIA_LAYERS names \"%.*s\", which is no layer; there are %s",
             length < 80 ? (int)length : 80, name, list_names(names));
  else if (start_layer(layer))
    wia__log(WIA__LOG_ENVIRONMENT, WIA_LOG_WARNING, NULL, "the layer %s did not start: %s",
             layer->name, wia__thread()->last.message);
}

__attribute__((constructor)) static void start_layers(void) {
  const char *list = wia__env_text(WIA__ENV_LAYERS);
  while (*list) {
    const size_t length = strcspn(list, ", ");
    if (length) start_named(list, length);
    list += length;
    list += strspn(list, ", ");
  }
}

void wia__fork_layers(wia__fork_t stage) {
  if (stage == WIA__FORK_CHILD) {
    for (uint32_t i = 0; i < LAYER_COUNT; i++)
      if (!layers[i].inherited) layers[i].users = 0;
  }
  wia__fork_mutex(stage, &mutex);
}
