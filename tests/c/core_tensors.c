#include "core_driver.h"

wia_tensor_t core_empty(wia_context_t *context, uint32_t rank, const int64_t *shape) {
  wia_tensor_t tensor = NULL;
  CHECK_STATUS(wia_allocate_tensor(context, shape, rank, WIA_FLOAT32, &tensor), WIA_STATUS_OK);
  return tensor;
}

wia_tensor_t core_tensor(wia_context_t *context, int64_t count, float first) {
  wia_tensor_t tensor = core_empty(context, 1, &count);
  float *values = malloc((size_t)count * sizeof *values + 1);
  if (!values) abort();
  for (int64_t i = 0; i < count; i++) values[i] = first + (float)i;
  CHECK_STATUS(wia_write_tensor(tensor, values, (uint64_t)count * sizeof *values, NULL),
               WIA_STATUS_OK);
  free(values);
  return tensor;
}

void *core_allocate(uint64_t size, uint32_t device) {
  void *memory = NULL;
  CHECK_STATUS(wia_malloc(&memory, size, core_id(device)), WIA_STATUS_OK);
  return memory;
}

char *core_at(void *memory, int64_t offset) {
  return (char *)(uintptr_t)((uint64_t)(uintptr_t)memory + (uint64_t)offset);
}

void core_extend(uint32_t device, const char *extension_id, const char *version) {
  wia_context_t *context = core_context(device);
  wia_device_extension_t extension = WIA_DEVICE_EXTENSION_INIT;
  extension.extension_id = extension_id;
  extension.version = version;
  CHECK_STATUS(wia_register_device_extension(context, &extension), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
}

bool core_has(wia_tensor_t tensor, float first, float step) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  if (!CHECK_STATUS(wia_get_tensor_info(tensor, &info), WIA_STATUS_OK)) return false;
  float *values = malloc(info.size + 1);
  if (!values) abort();
  bool same = CHECK_STATUS(wia_read_tensor(tensor, values, info.size, NULL), WIA_STATUS_OK);
  for (uint64_t i = 0; i < info.element_count && same; i++) {
    same = values[i] == first + (float)i * step;
    if (!same) printf("element %llu is %g\n", (unsigned long long)i, (double)values[i]);
  }
  free(values);
  return same;
}

void core_destroy(wia_tensor_t tensor) { CHECK_STATUS(wia_destroy_tensor(tensor), WIA_STATUS_OK); }

void core_evict(void) {
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  for (uint32_t device = 0; device < CORE_ALL_COUNT; device++) {
    wia_context_t *context = core_context(device);
    for (int64_t i = 0; i < 3 * (int64_t)core_cache(device).capacity; i++) {
      wia_tensor_t tensor = core_empty(context, 2, (const int64_t[]){2000 + i, 1});
      CHECK_STATUS(wia_mul(context, tensor, tensor, tensor, NULL), WIA_STATUS_OK);
      core_destroy(tensor);
    }
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
}

wia_memory_info_t core_memory(uint32_t device) {
  wia_memory_info_t info = WIA_MEMORY_INFO_INIT;
  CHECK_STATUS(wia_get_memory_info(core_id(device), WIA_MEMORY_DEVICE, &info), WIA_STATUS_OK);
  return info;
}

wia_plan_cache_stats_t core_cache(uint32_t device) {
  wia_plan_cache_stats_t stats = WIA_PLAN_CACHE_STATS_INIT;
  CHECK_STATUS(wia_get_plan_cache_stats(core_id(device), &stats), WIA_STATUS_OK);
  return stats;
}
