/* Device memory by address: allocate, fill, copy, wrap, ask. */
#include <stdio.h>
#include <wia.h>

#define TRY(call)                                                                                  \
  do {                                                                                             \
    if ((call) != WIA_STATUS_OK) {                                                                 \
      wia_error_info_t error = WIA_ERROR_INFO_INIT;                                                \
      wia_get_last_error(&error);                                                                  \
      fprintf(stderr, "%s: %s\n", error.function, error.message);                                  \
      return 1;                                                                                    \
    }                                                                                              \
  } while (0)

/* [allocator] */
typedef struct counts {
  _Atomic uint32_t allocated, freed;
} counts_t;

static void *allocate(void *context, const wia_memory_request_t *request) {
  wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
  void *memory = NULL;
  config.alignment = request->alignment;
  if (wia_allocate_arena(&memory, request->size, request->device_id, &config)) return NULL;
  ((counts_t *)context)->allocated++;
  return memory;
}

static void give_back(void *context, void *memory, const wia_memory_request_t *request) {
  (void)request;
  wia_free_arena(memory);
  ((counts_t *)context)->freed++;
}
/* [allocator end] */

int main(int argc, char **argv) {
  int32_t device;
  wia_context_t *context;
  TRY(wia_find_device(argc > 1 ? argv[1] : NULL, &device));
  TRY(wia_create_context(&context, device));

  /* [by address] */
  void *memory;
  const float one = 1, values[2] = {5, 6};
  TRY(wia_malloc(&memory, 4 * sizeof(float), device));
  TRY(wia_fill_memory(memory, &one, sizeof(one), 4 * sizeof(float), NULL));
  TRY(wia_copy_host_to_device((char *)memory + 8, values, sizeof(values), NULL));

  const int64_t shape[1] = {4};
  wia_tensor_t tensor;
  TRY(wia_wrap_tensor(context, memory, shape, NULL, 1, WIA_FLOAT32, &tensor));
  /* [ask] */
  wia_address_info_t where = WIA_ADDRESS_INFO_INIT;
  TRY(wia_query_address((char *)memory + 8, &where));
  wia_memory_info_t usage = WIA_MEMORY_INFO_INIT;
  TRY(wia_get_memory_info(device, WIA_MEMORY_DEVICE, &usage));
  /* [end] */

  float result[4];
  TRY(wia_read_tensor(tensor, result, sizeof(result), NULL));
  printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
  printf("offset %d of %d, %d bytes live\n", (int)where.offset, (int)where.size,
         (int)usage.live_size);

  TRY(wia_destroy_tensor(tensor));
  TRY(wia_free(memory));

  /* [pool] */
  wia_memory_pool_config_t config = WIA_MEMORY_POOL_CONFIG_INIT;
  config.limit_size = UINT64_C(64) << 20;
  TRY(wia_configure_memory_pool(context, &config));

  wia_stream_t *stream;
  void *block;
  TRY(wia_create_stream(&stream, context));
  for (uint32_t step = 0; step < 100; step++) {
    TRY(wia_malloc_async(context, 4096, NULL, stream, &block));
    TRY(wia_fill_memory(block, &one, sizeof(one), 4096, stream));
    TRY(wia_free_async(block, stream)); /* the next step may have it at once */
  }
  TRY(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
  wia_memory_pool_info_t pool = WIA_MEMORY_POOL_INFO_INIT;
  TRY(wia_get_memory_pool_info(context, &pool));
  TRY(wia_trim_memory_pool(context, 0, NULL));
  /* [pool end] */
  printf("%d bytes in use, %s\n", (int)pool.used_size,
         pool.hit_count > 90 || pool.mode == WIA_MEMORY_POOL_OFF ? "reused" : "not reused");

  /* [set] */
  counts_t counts = {0};
  wia_allocator_t allocator = WIA_ALLOCATOR_INIT;
  allocator.allocate = allocate;
  allocator.free = give_back;
  allocator.context = &counts;
  allocator.name = "a counting allocator";
  TRY(wia_set_allocator(context, &allocator));
  TRY(wia_malloc_async(context, 4096, NULL, stream, &block));
  TRY(wia_fill_memory(block, &one, sizeof(one), 4096, stream));
  TRY(wia_free_async(block, stream));
  TRY(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
  TRY(wia_trim_memory_pool(context, 0, NULL));
  /* [set end] */
  printf("%d allocated, %d freed\n", (int)counts.allocated, (int)counts.freed);
  TRY(wia_destroy_stream(stream));
  TRY(wia_destroy_context(context));
  return 0;
}
