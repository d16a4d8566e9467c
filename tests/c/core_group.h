/* core_group.h: plans of groups on a device of the test's driver, which chains add, sub, mul and div, and
 * takes relu, softmax and matmul alone. */
#ifndef TEST_CORE_GROUP_H
#define TEST_CORE_GROUP_H

#include "core_driver.h"
#include "groups.h"

enum { ADD = WIA_OP_ADD, SUB = WIA_OP_SUB, MUL = WIA_OP_MUL, DIV = WIA_OP_DIV, RELU = WIA_OP_RELU };
enum { SOFTMAX = WIA_OP_SOFTMAX, MATMUL = WIA_OP_MATMUL };

static wia_context_t *context;
static const wia_status_t bad = WIA_STATUS_INVALID_ARGUMENT;

static inline wia_plan_t *make(const groups_t *g) {
  wia_plan_t *plan = NULL;
  CHECK_STATUS(wia_create_plan(context, &g->group, &plan), WIA_STATUS_OK);
  return plan;
}

static inline void execute(wia_plan_t *plan, wia_stream_t *stream, uint32_t count,
                           wia_tensor_t *operands) {
  CHECK_STATUS(wia_execute_plan(plan, operands, count, NULL, 0, stream), WIA_STATUS_OK);
}
#define EXECUTE(plan, stream, ...)                                                                 \
  execute(plan, stream, sizeof((wia_tensor_t[]){__VA_ARGS__}) / sizeof(wia_tensor_t),              \
          (wia_tensor_t[]){__VA_ARGS__})

static inline void check_refused(const groups_t *g, wia_status_t expected, const char *message) {
  wia_plan_t *plan = NULL;
  if (CHECK_STATUS(wia_create_plan(context, &g->group, &plan), expected)) CHECK_MESSAGE(message);
  CHECK(plan == NULL);
}

static inline void destroy(wia_plan_t *plan) {
  CHECK_STATUS(wia_destroy_plan(plan), WIA_STATUS_OK);
}

/* relu(a - b) * c - b, in which relu can't be chained: values 0 to 2 are a, b, c. */
static const groups_node_t mixed[] = {{SUB, {0, 1, NONE}, 3},
                                      {RELU, {3, NONE, NONE}, 4},
                                      {MUL, {4, 2, NONE}, 5},
                                      {SUB, {5, 1, NONE}, 6},
                                      {0}};

static inline void run_on_plain(void (*run_tests)(void)) {
  core_start();
  context = core_context(CORE_PLAIN);
  run_tests();
  core_evict();
  CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  CHECK_CLEAN();
}

#endif
