/* A first C program: multiplies two matrices on a device. */
#include <stdio.h>
#include <wia.h>

/* Ends the program with what WIA says of the error. */
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
  TRY(wia_find_device(argc > 1 ? argv[1] : NULL, &device)); /* NULL: the default device */
  wia_context_t *context;
  TRY(wia_create_context(&context, device));

  const float values[4] = {1, 2, 3, 4};
  const int64_t shape[2] = {2, 2};
  wia_tensor_t a, product;
  TRY(wia_allocate_tensor(context, shape, 2, WIA_FLOAT32, &a));
  TRY(wia_allocate_tensor(context, shape, 2, WIA_FLOAT32, &product));
  TRY(wia_write_tensor(a, values, sizeof(values), NULL));

  wia_matmul_config_t config = WIA_MATMUL_CONFIG_INIT;
  config.transpose_b = 1;
  TRY(wia_matmul(context, a, a, product, &config, NULL));

  float result[4];
  TRY(wia_read_tensor(product, result, sizeof(result), NULL));
  printf("%g %g\n%g %g\n", result[0], result[1], result[2], result[3]);

  TRY(wia_destroy_tensor(product));
  TRY(wia_destroy_tensor(a));
  TRY(wia_destroy_context(context));
  return 0;
}
