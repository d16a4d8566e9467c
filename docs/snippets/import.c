/* Memory of the program as memory of a device. */
#include <stdio.h>
#include <stdlib.h>
#include <wia.h>

#define TRY(call)                                                                                  \
  do {                                                                                             \
    if (call) return 1;                                                                            \
  } while (0)

/* [release] */
static void give_back(void *values) {
  free(values);
  puts("given back");
}
/* [import] */

int main(int argc, char **argv) {
  wia_context_t *ctx = NULL;
  int32_t device_id = 0;
  wia_tensor_t x = NULL;
  const int64_t shape[] = {4};
  float *values = malloc(4 * sizeof *values);
  if (argc != 2 || !values) return 1;
  TRY(wia_find_device(argv[1], &device_id));
  TRY(wia_create_context(&ctx, device_id));
  for (int i = 0; i < 4; i++) values[i] = (float)i;
  wia_import_config_t config = WIA_IMPORT_CONFIG_INIT;
  config.release = give_back; /* on any thread, when nothing uses the memory any more */
  config.context = values;
  TRY(wia_import_tensor(ctx, values, shape, NULL, 1, WIA_FLOAT32, &config, &x));
  TRY(wia_add(ctx, x, x, x, NULL));
  printf("%g %g\n", values[1], values[3]);
  TRY(wia_destroy_tensor(x));
  /* [end] */
  TRY(wia_destroy_context(ctx));
  return 0;
}
