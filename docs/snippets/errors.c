/* What a failing call leaves behind. */
#include <stdio.h>
#include <wia.h>

int main(int argc, char **argv) {
  int32_t device;
  wia_context_t *context;
  wia_tensor_t a, b;
  const int64_t shape_of_a[1] = {4}, shape_of_b[1] = {3};
  if (wia_find_device(argc > 1 ? argv[1] : NULL, &device) != WIA_STATUS_OK) return 1;
  if (wia_create_context(&context, device) != WIA_STATUS_OK) return 1;
  if (wia_allocate_tensor(context, shape_of_a, 1, WIA_FLOAT32, &a) != WIA_STATUS_OK) return 1;
  if (wia_allocate_tensor(context, shape_of_b, 1, WIA_FLOAT32, &b) != WIA_STATUS_OK) return 1;

  /* [error] */
  const wia_status_t status = wia_add(context, a, b, a, NULL);
  if (status != WIA_STATUS_OK) {
    wia_error_info_t error = WIA_ERROR_INFO_INIT;
    wia_get_last_error(&error);
    printf("%s in %s\n%s\n", wia_get_status_name(status), error.function, error.message);
  }
  /* [end] */

  wia_destroy_tensor(b);
  wia_destroy_tensor(a);
  wia_destroy_context(context);
  return 0;
}
