/* Scenario 1: the sizes that callers' structs may have, of those that calls write. */
#include <stddef.h>

#include "core_structs.h"

static wia_context_t *context;
static wia_tensor_t a;
static wia_plan_t *plan;

static wia_status_t try_context_info(room_t *room) {
  return wia_get_context_info(context, (wia_context_info_t *)room);
}
static wia_status_t try_device_info(room_t *room) {
  return wia_get_device_info(core_id(CORE_PLAIN), (wia_device_info_t *)room);
}
static wia_status_t try_load_record(room_t *room) {
  return wia_get_load_record(0, (wia_load_record_t *)room);
}
static wia_status_t try_address_info(room_t *room) {
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  wia_get_tensor_info(a, &info);
  return wia_query_address((void *)(uintptr_t)info.address, (wia_address_info_t *)room);
}
static wia_status_t try_memory_info(room_t *room) {
  return wia_get_memory_info(core_id(CORE_PLAIN), WIA_MEMORY_DEVICE, (wia_memory_info_t *)room);
}
static wia_status_t try_tensor_info(room_t *room) {
  return wia_get_tensor_info(a, (wia_tensor_info_t *)room);
}
static wia_status_t try_op_info(room_t *room) {
  return wia_get_op_info(WIA_OP_ADD, (wia_op_info_t *)room);
}
static wia_status_t try_extension_info(room_t *room) {
  return wia_get_extension_info(core_id(CORE_OTHER), 0, (wia_extension_info_t *)room);
}
static wia_status_t try_plan_info(room_t *room) {
  return wia_get_plan_info(plan, (wia_plan_info_t *)room);
}
static wia_status_t try_cache_stats(room_t *room) {
  return wia_get_plan_cache_stats(core_id(CORE_PLAIN), (wia_plan_cache_stats_t *)room);
}
static wia_status_t try_error_info(room_t *room) {
  return wia_get_last_error((wia_error_info_t *)room);
}

static bool is_untouched(const room_t *room, uint32_t from) {
  for (uint32_t i = from; i < sizeof *room; i++) {
    if (room->bytes[i] != 0x5a) return false;
  }
  return true;
}

/* first: the size of its first release. */
static void check_written(const char *macro, uint32_t size, uint32_t first, try_t call,
                          bool has_message) {
  room_t room;
  printf("%s\n", macro);
  const uint32_t small[] = {0, 1, sizeof(uint32_t), first - 1};
  for (uint32_t i = 0; i < 4; i++) {
    memset(&room, 0x5a, sizeof room);
    room.size = small[i];
    if (CHECK_STATUS(call(&room), WIA_STATUS_INVALID_ARGUMENT) && has_message) CHECK_MESSAGE(macro);
    CHECK(is_untouched(&room, sizeof(uint32_t)) && room.size == small[i]);
  }
  const uint32_t longer[] = {size, size + 1, sizeof room, UINT32_MAX};
  for (uint32_t i = 0; i < 4; i++) { /* a newer caller's struct may have anything behind */
    memset(&room, 0x5a, sizeof room);
    room.size = longer[i];
    CHECK_STATUS(call(&room), WIA_STATUS_OK);
    CHECK(room.size == size);
    CHECK(is_untouched(&room, size) && !is_untouched(&room, sizeof(uint32_t)));
  }
  CHECK_STATUS(call(NULL), WIA_STATUS_INVALID_ARGUMENT);
}

#define CHECK_WRITTEN(macro, type, call)                                                           \
  check_written(macro, sizeof(type), sizeof(type), call, true)

static void test_written(void) {
  CHECK_WRITTEN("WIA_CONTEXT_INFO_INIT", wia_context_info_t, try_context_info);
  CHECK_WRITTEN("WIA_DEVICE_INFO_INIT", wia_device_info_t, try_device_info);
  CHECK_WRITTEN("WIA_LOAD_RECORD_INIT", wia_load_record_t, try_load_record);
  CHECK_WRITTEN("WIA_ADDRESS_INFO_INIT", wia_address_info_t, try_address_info);
  CHECK_WRITTEN("WIA_MEMORY_INFO_INIT", wia_memory_info_t, try_memory_info);
  CHECK_WRITTEN("WIA_TENSOR_INFO_INIT", wia_tensor_info_t, try_tensor_info);
  check_written("WIA_OP_INFO_INIT", sizeof(wia_op_info_t), offsetof(wia_op_info_t, documentation),
                try_op_info, true);
  CHECK_WRITTEN("WIA_EXTENSION_INFO_INIT", wia_extension_info_t, try_extension_info);
  CHECK_WRITTEN("WIA_PLAN_INFO_INIT", wia_plan_info_t, try_plan_info);
  CHECK_WRITTEN("WIA_PLAN_CACHE_STATS_INIT", wia_plan_cache_stats_t, try_cache_stats);
  /* the last error stays what it was, so its own refusal has no message */
  check_written("WIA_ERROR_INFO_INIT", sizeof(wia_error_info_t), sizeof(wia_error_info_t),
                try_error_info, false);
}

int main(void) {
  core_start();
  context = core_context(CORE_PLAIN);
  a = core_tensor(context, 4, 1);
  const wia_tensor_t operands[] = {a, a, a};
  CHECK_STATUS(
      wia_create_operation_plan(context, WIA_OP_ADD, operands, 2, operands + 2, 1, NULL, 0, &plan),
      WIA_STATUS_OK);
  core_extend(CORE_OTHER, "test::told", "1.0");
  test_written();
  core_destroy(a);
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
  return CHECK_DONE();
}
