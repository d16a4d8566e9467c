/* memory DEVICE: copies beside memcpy, allocation beside malloc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

static const uint64_t SIZES[] = {4096, 65536, 1 << 20, 16 << 20, 64 << 20};

typedef struct memory_t {
  int32_t device;
  wia_context_t *context;
  wia_stream_t *stream;
  uint64_t size;
  void *device_memory[2];
  char *host_memory[2];
} memory_t;

static void repeat_to_device(void *context, uint32_t count) {
  memory_t *memory = context;
  for (uint32_t i = 0; i < count; i++)
    check(wia_copy_host_to_device(memory->device_memory[0], memory->host_memory[0], memory->size,
                                  NULL));
}

static void repeat_to_host(void *context, uint32_t count) {
  memory_t *memory = context;
  for (uint32_t i = 0; i < count; i++)
    check(wia_copy_device_to_host(memory->host_memory[1], memory->device_memory[0], memory->size,
                                  NULL));
}

static void repeat_between(void *context, uint32_t count) {
  memory_t *memory = context;
  for (uint32_t i = 0; i < count; i++)
    check(wia_copy_device_to_device(memory->device_memory[1], memory->device_memory[0],
                                    memory->size, NULL));
}

static void repeat_memcpy(void *context, uint32_t count) {
  memory_t *memory = context;
  for (uint32_t i = 0; i < count; i++) {
    memcpy(memory->host_memory[1], memory->host_memory[0], memory->size);
    __asm__ volatile("" ::"r"(memory->host_memory[1]) : "memory"); /* it isn't left out */
  }
}

static void repeat_allocate(void *context, uint32_t count) {
  memory_t *memory = context;
  for (uint32_t i = 0; i < count; i++) {
    void *address;
    check(wia_malloc(&address, memory->size, memory->device));
    check(wia_free(address));
  }
}

static void repeat_allocate_async(void *context, uint32_t count) {
  memory_t *memory = context;
  for (uint32_t i = 0; i < count; i++) {
    void *address;
    check(wia_malloc_async(memory->context, memory->size, NULL, memory->stream, &address));
    check(wia_free_async(address, memory->stream));
  }
}

static void repeat_malloc(void *context, uint32_t count) {
  memory_t *memory = context;
  for (uint32_t i = 0; i < count; i++) {
    void *address = malloc(memory->size);
    require_true(address != NULL, "malloc");
    __asm__ volatile("" ::"r"(address) : "memory");
    free(address);
  }
}

static void measure_copies(memory_t *memory) {
  char group[32];
  for (uint32_t i = 0; i < 2; i++) {
    REQUIRE(wia_malloc(&memory->device_memory[i], memory->size, memory->device));
    REQUIRE(wia_fill_memory(memory->device_memory[i], "", 1, memory->size, NULL));
    memory->host_memory[i] = malloc(memory->size);
    require_true(memory->host_memory[i] != NULL, "malloc");
    memset(memory->host_memory[i], 1, memory->size);
  }
  const variant_t variants[] = {{"to device", memory, repeat_to_device, NULL},
                                {"to host", memory, repeat_to_host, NULL},
                                {"between", memory, repeat_between, NULL},
                                {"memcpy", memory, repeat_memcpy, NULL}};
  snprintf(group, sizeof group, "copy %llu", (unsigned long long)memory->size);
  measure(group, "", variants, 4);
  for (uint32_t i = 0; i < 2; i++) {
    REQUIRE(wia_free(memory->device_memory[i]));
    free(memory->host_memory[i]);
  }
}

static void measure_allocation(memory_t *memory) {
  char group[32];
  const variant_t variants[] = {{"wia_malloc", memory, repeat_allocate, NULL},
                                {"wia_malloc_async", memory, repeat_allocate_async, NULL},
                                {"malloc", memory, repeat_malloc, NULL}};
  snprintf(group, sizeof group, "allocate %llu", (unsigned long long)memory->size);
  measure(group, "", variants, 3);
}

int main(int argc, char **argv) {
  memory_t memory;
  require_true(argc == 2, "usage: memory DEVICE");
  REQUIRE(wia_find_device(argv[1], &memory.device));
  REQUIRE(wia_create_context(&memory.context, memory.device));
  REQUIRE(wia_create_stream(&memory.stream, memory.context));
  for (uint32_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    memory.size = SIZES[i];
    measure_copies(&memory);
    measure_allocation(&memory);
  }
  REQUIRE(wia_destroy_stream(memory.stream));
  REQUIRE(wia_destroy_context(memory.context));
  return 0;
}
