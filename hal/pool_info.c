/* pool_info.c: the public side of pools: allocating, settings, statistics. */
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "env.h"
#include "log.h"
#include "stream.h"

enum { KEEP_SIZE = 256 << 20 };

/* -- settings ------------------------------------------------------------------------------------ */

static bool read_size(const char *text, const char *end, uint64_t *out_size) {
  char *behind = NULL;
  if (text == end || *text < '0' || *text > '9') return false;
  const uint64_t number = strtoull(text, &behind, 10);
  static const char units[] = "KMG";
  uint32_t shift = 0;
  const char *unit = behind < end ? strchr(units, *behind) : NULL;
  if (unit) {
    shift = 10 * (uint32_t)(unit - units + 1);
    behind++;
  }
  if (behind != end || number > UINT64_MAX >> shift) return false;
  *out_size = number << shift;
  return true;
}

static bool read_setting(const char *text, const char *end, wia__pool_settings_t *settings) {
  const size_t length = (size_t)(end - text);
  if (length == 2 && !memcmp(text, "on", 2)) return !(settings->off = false);
  if (length == 3 && !memcmp(text, "off", 3)) return settings->off = true;
  if (length > 6 && !memcmp(text, "limit=", 6)) return read_size(text + 6, end, &settings->limit);
  if (length > 5 && !memcmp(text, "keep=", 5)) return read_size(text + 5, end, &settings->keep);
  return false;
}

static wia__pool_settings_t defaults;
static pthread_once_t defaults_once = PTHREAD_ONCE_INIT;

static void read_defaults(void) {
  const char *text = wia__env_text(WIA__ENV_MEMORY_POOL);
  defaults = (wia__pool_settings_t){.keep = KEEP_SIZE};
  for (const char *end; *text; text = *end ? end + 1 : end) {
    end = strchr(text, ',');
    if (!end) end = text + strlen(text);
    if (read_setting(text, end, &defaults)) continue;
    wia__log(WIA__LOG_ENVIRONMENT, WIA_LOG_WARNING, NULL,
             "WIA_MEMORY_POOL has \"%.*s\"; expected on, off, limit=SIZE or keep=SIZE, as in "
             "limit=2G,keep=64M; it is ignored",
             (int)(end - text), text);
  }
}

wia__pool_settings_t wia__pool_defaults(void) {
  pthread_once(&defaults_once, read_defaults);
  return defaults;
}

static wia_status_t resolve_pool(wia_context_t *handle, wia__memory_pool_t **out_pool) {
  wia__context_t *context = NULL;
  const wia_status_t status = wia__resolve(handle, WIA__CONTEXT, "context", &context);
  if (!status) *out_pool = context->pool;
  return status;
}

static wia_status_t configure_pool(wia_context_t *context, const wia_memory_pool_config_t *given) {
  wia_memory_pool_config_t config = {0};
  wia__memory_pool_t *pool = NULL;
  wia_status_t status =
      wia__read_struct(given, &config, sizeof config, sizeof config, "WIA_MEMORY_POOL_CONFIG_INIT");
  if (!status) status = resolve_pool(context, &pool);
  if (status) return status;
  if (config.mode < WIA_MEMORY_POOL_DEFAULT || config.mode > WIA_MEMORY_POOL_OFF)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "mode is %d; expected WIA_MEMORY_POOL_DEFAULT, _ON or _OFF", (int)config.mode);
  const wia__pool_settings_t ours = wia__pool_defaults();
  wia__lock_pool(pool);
  pool->off = config.mode ? config.mode == WIA_MEMORY_POOL_OFF : ours.off;
  pool->limit = config.limit_size ? config.limit_size : ours.limit;
  pool->keep = config.keep_size ? config.keep_size : ours.keep;
  const bool exceeds = pool->limit && pool->reserved > pool->limit;
  const uint64_t keep = pool->off || exceeds ? 0 : pool->keep;
  wia__unlock_pool(pool);
  wia__trim_pool(pool, keep);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_configure_memory_pool(wia_context_t *context,
                                               const wia_memory_pool_config_t *config) {
  WIA__CALL(configure_pool(context, config));
}

static wia_status_t trim_pool(wia_context_t *context, uint64_t keep_size, uint64_t *out_size) {
  wia__memory_pool_t *pool = NULL;
  const wia_status_t status = resolve_pool(context, &pool);
  if (status) return status;
  const uint64_t size = wia__trim_pool(pool, keep_size);
  if (out_size) *out_size = size;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_trim_memory_pool(wia_context_t *context, uint64_t keep_size,
                                          uint64_t *out_size) {
  WIA__CALL(trim_pool(context, keep_size, out_size));
}

static wia_status_t reset_peaks(wia_context_t *context) {
  wia__memory_pool_t *pool = NULL;
  const wia_status_t status = resolve_pool(context, &pool);
  if (status) return status;
  wia__lock_pool(pool);
  pool->peak_used = pool->used;
  pool->peak_reserved = pool->reserved;
  wia__unlock_pool(pool);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_reset_memory_peaks(wia_context_t *context) {
  WIA__CALL(reset_peaks(context));
}

/* -- statistics ---------------------------------------------------------------------------------- */

static void count_pieces(const wia__heap_t *heap, wia_memory_pool_info_t *info) {
  for (const wia__segment_t *s = heap->segments; s; s = s->next) {
    for (const wia__piece_t *p = s->first; p; p = p->after) {
      uint32_t class = 63u - (uint32_t)__builtin_clzll(p->size / WIA__HEAP_GRANULE);
      if (class >= WIA_MEMORY_POOL_CLASSES) class = WIA_MEMORY_POOL_CLASSES - 1;
      if (p->lane)
        info->free_classes[class]++;
      else
        info->used_classes[class]++;
      if (p->lane && p->mark_count) info->pending_size += p->size;
    }
  }
}

static wia_status_t get_pool_info(wia_context_t *context, wia_memory_pool_info_t *out_info) {
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_MEMORY_POOL_INFO_INIT");
  wia__memory_pool_t *pool = NULL;
  if (!status) status = resolve_pool(context, &pool);
  if (status) return status;
  wia__lock_pool(pool);
  wia__heap_sweep(&pool->heap, true);
  const uint64_t free_size = pool->heap.free_size, largest = wia__heap_largest(&pool->heap);
  wia_memory_pool_info_t info = {
      .mode = pool->off ? WIA_MEMORY_POOL_OFF : WIA_MEMORY_POOL_ON,
      .limit_size = pool->limit,
      .keep_size = pool->keep,
      .reserved_size = pool->reserved,
      .peak_reserved_size = pool->peak_reserved,
      .used_size = pool->used,
      .peak_used_size = pool->peak_used,
      .requested_size = pool->requested,
      .free_size = free_size,
      .largest_free_size = largest,
      .fragmentation = wia__pool_fragmentation(free_size, largest),
      .segment_count = (uint32_t)pool->heap.segment_count,
      .used_count = pool->used_count,
      .free_count = pool->heap.free_count,
      .hit_count = pool->hit_count,
      .miss_count = pool->miss_count,
      .wait_count = pool->wait_count,
      .released_count = pool->released_count,
      .failed_count = pool->failed_count,
  };
  count_pieces(&pool->heap, &info);
  wia__unlock_pool(pool);
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_memory_pool_info(wia_context_t *context,
                                              wia_memory_pool_info_t *out_info) {
  WIA__CALL(get_pool_info(context, out_info));
}

/* -- allocate ------------------------------------------------------------------------------------ */

wia_status_t wia__allocate_for(wia__context_t *context, uint64_t size,
                               const wia_memory_config_t *config, const wia_stream_t *stream,
                               bool owned, wia__allocation_t **out_allocation) {
  wia__device_t *device = context->device;
  wia__memory_pool_t *pool = context->pool;
  wia__queue_t *queue = NULL;
  int32_t kind;
  uint64_t alignment;
  wia_status_t status = wia__check_memory_config(device, config, &kind, &alignment);
  if (!status && stream) status = wia__resolve_stream(stream, &queue);
  if (status) return status;
  if (queue && wia__queue_device(queue) != device)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the stream is of %s and the context of %s",
                     wia__queue_device(queue)->name, device->name);
  *out_allocation = NULL;
  if (!size) return WIA_STATUS_OK;
  wia__retain(&pool->object);
  if (queue) wia__retain_queue(queue);
  const wia__demand_t demand = {pool, queue, (wia_stream_t *)(uintptr_t)stream};
  status = wia__allocate_in(device, &demand, size, config, owned, out_allocation);
  if (queue) wia__release_queue(queue);
  wia__release(&pool->object);
  return status;
}

static wia_status_t malloc_async(wia_context_t *handle, uint64_t size,
                                 const wia_memory_config_t *config, wia_stream_t *stream,
                                 void **out_ptr) {
  if (!out_ptr) return wia__null("out_ptr");
  wia__context_t *context = NULL;
  wia__allocation_t *allocation = NULL;
  wia_status_t status = wia__resolve(handle, WIA__CONTEXT, "context", &context);
  if (!status) status = wia__allocate_for(context, size, config, stream, false, &allocation);
  if (status) return status;
  *out_ptr = allocation ? (void *)(uintptr_t)allocation->memory.address : NULL;
  if (allocation) wia__release(&allocation->object); /* the use stays, for the free to end */
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_malloc_async(wia_context_t *context, uint64_t size,
                                      const wia_memory_config_t *config, wia_stream_t *stream,
                                      void **out_ptr) {
  WIA__CALL(malloc_async(context, size, config, stream, out_ptr));
}
