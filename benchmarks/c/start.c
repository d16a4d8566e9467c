/* start DEVICE: a whole program that adds two numbers and says so. */
#include <dlfcn.h>
#include <stdio.h>

#include "timing.h"

int main(int argc, char **argv) {
  wia_context_t *context;
  wia_tensor_t tensors[3];
  int32_t device = 0;
  const float values[] = {2, 3};
  float sum = 0;
  require_true(argc == 2, "usage: start DEVICE");
  REQUIRE(wia_find_device(argv[1], &device));
  REQUIRE(wia_create_context(&context, device));
  for (uint32_t i = 0; i < 3; i++)
    REQUIRE(wia_allocate_tensor(context, NULL, 0, WIA_FLOAT32, &tensors[i]));
  for (uint32_t i = 0; i < 2; i++)
    REQUIRE(wia_write_tensor(tensors[i], &values[i], sizeof values[i], NULL));
  REQUIRE(wia_add(context, tensors[0], tensors[1], tensors[2], NULL));
  REQUIRE(wia_read_tensor(tensors[2], &sum, sizeof sum, NULL));
  printf("%g, %s\n", (double)sum,
         dlsym(RTLD_DEFAULT, "Py_IsInitialized") == NULL ? "no Python" : "with Python");
  return 0;
}
