/* core_structs.h: structs of any size, for tests of the sizes that callers' structs may have (scenario 1). */
#ifndef TEST_CORE_STRUCTS_H
#define TEST_CORE_STRUCTS_H

#include "core_driver.h"

/* A struct at the start of a larger piece of memory. */
typedef union room_t {
  uint32_t size;
  unsigned char bytes[2048];
} room_t;

typedef wia_status_t (*try_t)(room_t *room);

#endif
