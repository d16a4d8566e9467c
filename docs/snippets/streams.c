/* Asynchronous work: a stream, an event, a wait with a time-out. */
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

  const int64_t shape[1] = {4};
  const float values[4] = {1, 2, 3, 4};
  wia_tensor_t a, sum, product;
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &a));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &sum));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &product));
  TRY(wia_write_tensor(a, values, sizeof(values), NULL));

  /* [streams] */
  wia_stream_t *first, *second;
  wia_event_t *ready;
  TRY(wia_create_stream(&first, context));
  TRY(wia_create_stream(&second, context));
  TRY(wia_create_event(&ready, context));

  TRY(wia_add(context, a, a, sum, first));
  TRY(wia_record_event(ready, first));
  TRY(wia_enqueue_wait(second, ready)); /* later work on second begins after the sum */
  TRY(wia_mul(context, sum, a, product, second));
  TRY(wia_synchronize_stream(second, INT64_C(30000000000)));
  /* [end] */

  float result[4];
  TRY(wia_read_tensor(product, result, sizeof(result), NULL));
  printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);

  TRY(wia_destroy_event(ready));
  TRY(wia_destroy_stream(second));
  TRY(wia_destroy_stream(first));
  TRY(wia_destroy_tensor(product));
  TRY(wia_destroy_tensor(sum));
  TRY(wia_destroy_tensor(a));
  TRY(wia_destroy_context(context));
  return 0;
}
