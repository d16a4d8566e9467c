/* failing_each.h: for every n, what a program does with the n-th allocation failing: the call says
 * RESOURCE_EXHAUSTED and leaves nothing behind, what it would have destroyed can be destroyed, and the same
 * works afterwards. Once for that one allocation, and once for all after it. Included once a program. */
#ifndef TEST_FAILING_EACH_H
#define TEST_FAILING_EACH_H

#include "core_driver.h"
#include "failing.h"

/* Sanitizers make threads and waits expensive. */
#if defined(__SANITIZE_THREAD__)
enum { STEP = 11 };
#elif defined(__SANITIZE_ADDRESS__)
enum { STEP = 3 };
#else
enum { STEP = 1 };
#endif
enum { MOST = 2000, SETTLE_MS = 50, REPEATS = 4 };

static uint32_t device; /* that the scenario is on */
static wia_context_t *context;
static const wia_status_t short_of = WIA_STATUS_RESOURCE_EXHAUSTED;

/* A scenario goes on until a call fails, and then destroys what it made. */
#define TRY(expression)                                                                            \
  do {                                                                                             \
    if (!status) status = (expression);                                                            \
  } while (0)
#define END(destroy, handle)                                                                       \
  do {                                                                                             \
    if (handle) CHECK_STATUS(destroy(handle), WIA_STATUS_OK);                                      \
  } while (0)

typedef struct scenario_t {
  const char *name;
  wia_status_t (*run)(void);
  uint32_t devices; /* a bit each */
} scenario_t;

enum { PLAIN = 1 << CORE_PLAIN, ALL = PLAIN | 1 << CORE_OPAQUE | 1 << CORE_QUEUED };

/* Blocks that the library holds once its workers and its collector are through, with a known last error. */
static inline int64_t settled(int64_t expected) {
  for (uint32_t i = 0; i < SETTLE_MS; i++) {
    for (uint32_t j = 0; j < 64; j++) wia_destroy_tensor(NULL); /* has it collect */
    if (failing_live() <= expected) break;
    usleep(1000);
  }
  return failing_live();
}

/* Clean runs, until pools, caches and lists of threads are full. */
static inline int64_t warm_up(const scenario_t *scenario) {
  for (uint32_t i = 0; i < 10; i++) CHECK_STATUS(scenario->run(), WIA_STATUS_OK);
  usleep(20000);
  return settled(failing_live());
}

/* What the library keeps for later use may be a block more than before, by chance; what it loses is one
 * more each time. */
static inline bool fail_one(const scenario_t *scenario, uint64_t n, bool also_later, int64_t *held,
                            bool *out_fired) {
  bool grows = true;
  for (uint32_t i = 0; i < REPEATS && grows; i++) {
    failing_arm(n, also_later);
    const wia_status_t status = scenario->run();
    *out_fired = failing_disarm();
    const int64_t now = settled(*held);
    grows = now > *held;
    *held = now;
    if (!CHECK(status == short_of || status == WIA_STATUS_OK)) return false;
    if (!CHECK_STATUS(scenario->run(), WIA_STATUS_OK)) return false;
  }
  return CHECK(!grows);
}

static inline void fail_each(const scenario_t *scenario, bool also_later) {
  int64_t held = warm_up(scenario);
  bool fired = true;
  uint64_t n = also_later ? 1 + STEP / 2 : 1;
  for (; fired && n < MOST; n += STEP) {
    if (!fail_one(scenario, n, also_later, &held, &fired))
      printf("  %s on %s, allocation %llu%s\n", scenario->name, core_name(device),
             (unsigned long long)n, also_later ? " and later" : "");
  }
  CHECK(n > 1 && n < MOST);
}

static inline void fail_all(const scenario_t *scenarios, uint32_t count) {
  for (device = 0; device < CORE_ALL_COUNT; device++) {
    if (!(ALL >> device & 1)) continue;
    context = core_context(device);
    for (uint32_t i = 0; i < count; i++) {
      if (!(scenarios[i].devices >> device & 1)) continue;
      fail_each(&scenarios[i], false);
      fail_each(&scenarios[i], true);
    }
    CHECK_STATUS(wia_destroy_context(context), WIA_STATUS_OK);
  }
  core_evict(); /* what keeps a workspace */
  CHECK_CLEAN();
  CHECK(failing_mapped() == 0);
}

#endif
