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
  TRY(wia_destroy_context(context));
  return 0;
}
