/* kernel.c: one preparation for the plans of many shapes. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "cache.h"

static bool is_class(const wia__class_t *a, const wia__class_t *b) {
  return a->hash == b->hash && a->count == b->count &&
         memcmp(a->words, b->words, a->count * sizeof *a->words) == 0;
}

static void add_word(wia__class_t *class, uint64_t word) {
  class->words[class->count++] = word;
  class->hash = wia__hash_word(class->hash ^ class->hash >> 32, word);
}

void wia__classify(const wia__plan_t *plan, const wia__op_t *op, const wia_scalar_t *words,
                   wia__class_t *out_class) {
  memset(out_class, 0, sizeof *out_class);
  add_word(out_class, (uint64_t)op->op);
  add_word(out_class, plan->aliases);
  for (uint32_t i = 0; i < plan->input_count + plan->output_count; i++) {
    const wia_tensor_layout_t *layout = plan->layouts[i];
    if (layout && !layout->contiguous) {
      out_class->count = 0;
      return;
    }
    add_word(out_class, layout ? (uint64_t)layout->dtype << 32 | (layout->rank + 1) : 0);
  }
  for (uint32_t i = 0; i < op->word_count; i++) add_word(out_class, (uint64_t)words[i].i64);
}

/* -- life ---------------------------------------------------------------------------------------- */

static wia__kernel_t **place_of(wia__device_t *device, const wia__class_t *class) {
  return &device->cache->kernels[class->hash % WIA__CACHE_KERNELS];
}

/* Nobody refers to it any more; until here the list still had it, and wia__try_retain kept finders
 * away. */
static void destroy_kernel(wia__object_t *object) {
  wia__kernel_t *kernel = (wia__kernel_t *)object;
  if (kernel->device) {
    pthread_mutex_lock(&kernel->device->cache->mutex);
    wia__kernel_t **link = place_of(kernel->device, &kernel->class);
    while (*link != kernel) link = &(*link)->next;
    *link = kernel->next;
    pthread_mutex_unlock(&kernel->device->cache->mutex);
  }
  if (kernel->kernel.release) kernel->kernel.release(kernel->kernel.state);
  pthread_mutex_destroy(&kernel->turn);
  free(kernel);
}

wia__kernel_t *wia__find_kernel(wia__device_t *device, const wia__class_t *class) {
  if (!class->count) return NULL;
  pthread_mutex_lock(&device->cache->mutex);
  wia__kernel_t *kernel = *place_of(device, class);
  while (kernel && !(is_class(&kernel->class, class) && wia__try_retain(&kernel->object)))
    kernel = kernel->next;
  pthread_mutex_unlock(&device->cache->mutex);
  return kernel;
}

wia__kernel_t *wia__adopt_kernel(wia__device_t *device, const wia_driver_kernel_t *given,
                                 const wia__class_t *class) {
  wia__kernel_t *kernel = calloc(1, sizeof *kernel);
  if (!kernel) {
    if (given->release) given->release(given->state);
    return NULL;
  }
  wia__init_object(&kernel->object, WIA__INTERNAL, destroy_kernel);
  kernel->kernel = *given;
  pthread_mutex_init(&kernel->turn, NULL);
  /* a workspace is of the size for one shape */
  if (!class || !class->count || !(given->flags & WIA_KERNEL_ANY_SHAPE) || given->workspace_size)
    return kernel;
  kernel->class = *class;
  kernel->device = device;
  pthread_mutex_lock(&device->cache->mutex);
  wia__kernel_t **place = place_of(device, class);
  kernel->next = *place;
  *place = kernel;
  pthread_mutex_unlock(&device->cache->mutex);
  return kernel;
}
