/* Scenario 15, of what stays to the end of the process: registering operations, kernels and extensions. For
 * every n a process of its own: the n-th allocation fails, that or all after it; a call says
 * RESOURCE_EXHAUSTED and registers nothing, and then all can be registered and used, in as many blocks
 * as if nothing had been. */
#include <sys/mman.h>

#include "custom_gain.h"
#include "failing.h"

enum { MOST = 500, KERNELS = 40 }; /* so many that lists of them grow */

static const wia_status_t short_of = WIA_STATUS_RESOURCE_EXHAUSTED;
static wia_context_t *context;
static wia_op_t ops[2]; /* of the test's kernels, and of the extension's */
static uint32_t op_count, kernel_count, extension_count;

#define TRY(expression)                                                                            \
  do {                                                                                             \
    if (!status) status = (expression);                                                            \
  } while (0)

static wia_status_t register_op(uint32_t i) {
  static const char *const names[] = {"test::gained", "test::extended"};
  static const double one = 1;
  static const wia_attribute_definition_t mode = {
      .name = "mode", .type = WIA_ATTRIBUTE_INT64, .maximum.i64 = 1};
  static const wia_attribute_definition_t gain = {
      .name = "gain", .type = WIA_ATTRIBUTE_FLOAT64, .defaults = &one};
  wia_op_definition_t definition = unary(names[i], "same");
  definition.documentation = "What it does.";
  definition.attributes = &mode;
  definition.scalars = &gain;
  definition.attribute_count = definition.scalar_count = 1;
  return wia_register_op(&definition, &ops[i]);
}

static wia_status_t register_kernel(uint32_t i) {
  char device[32];
  wia_kernel_config_t config = WIA_KERNEL_CONFIG_INIT;
  snprintf(device, sizeof device, "later:%u", i);
  return wia_register_kernel(ops[0], i ? device : NULL, prepare_gain, "gains", &config);
}

static wia_status_t register_extension(void) {
  wia_device_extension_t extension = WIA_DEVICE_EXTENSION_INIT;
  extension.extension_id = "test::gains";
  extension.version = "1.2";
  extension.capabilities[0] = "loud";
  extension.operations[0] = (wia_extension_operation_t){"test::extended", prepare_gain};
  extension.context = "extends";
  return wia_register_device_extension(context, &extension);
}

/* Stops at the first call that fails, and goes on from there the next time. */
static wia_status_t register_all(void) {
  wia_status_t status = WIA_STATUS_OK;
  while (op_count < 2 && !status) {
    TRY(register_op(op_count));
    op_count += !status;
  }
  while (kernel_count < KERNELS && !status) {
    TRY(register_kernel(kernel_count));
    kernel_count += !status;
  }
  while (extension_count < 1 && !status) {
    TRY(register_extension());
    extension_count += !status;
  }
  return status;
}

typedef struct outcome_t {
  bool fired;
  int64_t live;
} outcome_t;
static outcome_t *outcome; /* of the child, in shared memory */
static uint64_t failing;
static bool also_later;

static void use_both(void) {
  const void *table = NULL;
  for (uint32_t i = 0; i < 2; i++) {
    wia_tensor_t x = core_tensor(context, 4, 3), y = core_tensor(context, 4, 0);
    CHECK_STATUS(wia_execute(context, ops[i], &x, 1, &y, 1, NULL, 0, NULL), WIA_STATUS_OK);
    CHECK(core_has(y, 3, 1));
    core_destroy(x);
    core_destroy(y);
  }
  CHECK_STATUS(wia_query_extension(core_id(CORE_PLAIN), "test::gains", "1.2", &table),
               WIA_STATUS_OK);
}

static void register_short(void) {
  core_start();
  context = core_context(CORE_PLAIN);
  failing_arm(failing, also_later);
  const wia_status_t status = register_all();
  outcome->fired = failing_disarm();
  CHECK(status == short_of || (!outcome->fired && status == WIA_STATUS_OK));
  if (!CHECK_STATUS(register_all(), WIA_STATUS_OK)) return;
  CHECK_STATUS(register_op(0), WIA_STATUS_ALREADY_EXISTS);
  CHECK_STATUS(register_kernel(KERNELS - 1), WIA_STATUS_ALREADY_EXISTS);
  CHECK_STATUS(register_extension(), WIA_STATUS_ALREADY_EXISTS);
  wia_destroy_tensor(NULL); /* a known last error */
  outcome->live = failing_live();
  use_both();
}

int main(void) {
  outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcome == MAP_FAILED) abort();
  failing = UINT64_MAX;
  RUN_ALONE(register_short);
  const int64_t expected = outcome->live;
  for (uint32_t later = 0; later < 2; later++) {
    also_later = later != 0;
    outcome->fired = true;
    for (failing = 1; outcome->fired && failing < MOST; failing++) {
      RUN_ALONE(register_short);
      if (CHECK(outcome->live == expected)) continue;
      printf("  allocation %llu%s: %lld blocks; expected %lld\n", (unsigned long long)failing,
             also_later ? " and later" : "", (long long)outcome->live, (long long)expected);
    }
    CHECK(failing > 10 && failing < MOST);
  }
  return CHECK_DONE();
}
