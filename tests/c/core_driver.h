/* core_driver.h: drivers in memory for the tests of the core, under the test's control.
 *
 * "core" has a device of each sort, numbered as below; "bare" has one device and none of the
 * optional entries; "queued" and "sparse" have one each with streams of its own, where kernels run by
 * themselves, "sparse" with nothing but what is required of those. Kernels compute on float32 of any strides:
 *
 *   add, sub, mul    what they are called; a group may chain them
 *   div              the same, through a workspace that it checks for other users
 *   relu             waits at the gate, then does what it is called
 *   softmax          fails as `fail_status` and `fail_message` say, else copies
 *   scale, dropout   times factor; plus seed, without a mask
 *   matmul           ranks 2 and 3 of equal batch, alpha and beta from the launch
 *
 * Everything else is UNIMPLEMENTED. What the drivers are given is checked: a breach of the contract
 * counts as a fault and is printed. */
#ifndef TEST_CORE_DRIVER_H
#define TEST_CORE_DRIVER_H

#include <pthread.h>
#include <time.h>

#include "check.h"
#include "wia_driver.h"

enum {
  CORE_PLAIN = 0,
  CORE_OTHER = 1, /* host addressable too */
  CORE_OPAQUE = 2,
  CORE_SERIAL = 3,
  CORE_SPLIT = 4, /* neither opaque nor host addressable: addresses of its own */
  CORE_DEVICE_COUNT = 5,
  CORE_BARE = 5, /* the devices of "bare", "queued" and "sparse" */
  CORE_QUEUED = 6,
  CORE_SPARSE = 7,
  CORE_ALL_COUNT = 8,
  CORE_LEAST_PRIORITY = 3,    /* of the streams of the last two */
  CORE_KERNEL_WAITS = 1 << 30 /* in kernel_flags: the kernel of these is none for their streams */
};

static inline int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* A thread that a busy machine holds up isn't where a test wants it when it goes on: what says so, by
 * giving false, is tried again, with more time to pause each time. */
static inline void core_retry(bool (*test)(uint32_t argument, uint32_t pause_us),
                              uint32_t argument) {
  uint32_t pause_us = 20000;
  while (!test(argument, pause_us) && CHECK(pause_us < 10000000)) pause_us *= 2;
}

typedef struct core_state_t {
  /* set by tests: at prepare */
  uint32_t kernel_flags; /* WIA_KERNEL_*, both at the start */
  uint64_t workspace_size, workspace_alignment;
  wia_status_t prepare_status;
  uint32_t prepare_delay_ms;
  bool prepare_nothing;             /* says OK and gives no function */
  wia_status_t (*in_prepare)(void); /* called during prepare */
  /* at launch */
  _Atomic wia_status_t fail_status;
  const char *fail_message, *fail_cause; /* NULL message: the kernel says nothing */
  const char *chatter;                   /* said by kernels that then succeed; NULL: nothing */
  _Atomic bool imports;                  /* host memory may be on both sides of a copy */
  _Atomic bool
      only_touch; /* kernels and copies read a byte of each operand, in any order, and do no
                     more: for tests whose streams are not ordered */
  _Atomic uint32_t launch_delay_us;
  /* elsewhere */
  _Atomic wia_status_t copy_status, peer_status; /* peer: of direct copies between devices */
  _Atomic uint64_t memory_limit;                 /* bytes of each device */
  uint64_t allocate_offset;                      /* added to addresses that are given out */
  /* of streams of the driver's own: of create, of work, of signals */
  _Atomic wia_status_t stream_status, submit_status, signal_status;
  /* of graphs of the driver's own: of create, UNIMPLEMENTED at the start, and of update */
  _Atomic wia_status_t graph_status, graph_update_status;
  /* counted */
  _Atomic uint32_t graph_launches, graph_updates;
  _Atomic uint32_t opens;    /* of devices */
  _Atomic uint32_t prepares; /* calls; kernels: those that gave one */
  _Atomic uint32_t kernels, releases, launches, running, most_running, copies, peer_copies;
  _Atomic uint32_t allocations, frees, faults;
  _Atomic uint64_t live_size;
  _Atomic uint64_t last_thread;  /* of the last launch */
  _Atomic int32_t last_priority; /* of a stream of the driver's own */
} core_state_t;
extern core_state_t core;

/* Registers the drivers, first thing of a test program. No driver is looked for elsewhere. */
void core_start(void);
/* The same for a program that looks for others too (unless WIA_DRIVERS says otherwise), and whose
 * registration may fail: called again it goes on where it failed. */
wia_status_t core_register(void);
int32_t core_id(uint32_t device);
const char *core_name(uint32_t device); /* "core:0", "bare:0" */
wia_context_t *core_context(uint32_t device);

/* The gate at which relu waits: closed, until it is opened. */
void core_close_gate(void);
void core_open_gate(void);
/* Waits until that many launches stand at the gate; false after 10 seconds. */
bool core_await_gate(uint32_t count);

/* Everything made was given back: no allocation or stream of a driver is left, no kernel but those in caches, and no fault
 * was counted. Waits for what the library does a little later. */
bool core_is_clean(void);
#define CHECK_CLEAN() CHECK(core_is_clean())

/* float32 tensors: of count elements first, first + 1, ...; of a shape, not set. */
wia_tensor_t core_tensor(wia_context_t *context, int64_t count, float first);
void *core_allocate(uint64_t size, uint32_t device);
char *core_at(void *memory, int64_t offset); /* also behind its end */
void core_extend(uint32_t device, const char *extension_id, const char *version);
wia_tensor_t core_empty(wia_context_t *context, uint32_t rank, const int64_t *shape);
/* The elements of a tensor are first, first + step, ... */
bool core_has(wia_tensor_t tensor, float first, float step);
void core_destroy(wia_tensor_t tensor);

/* Fills the cache of each device with kernels that keep no workspace, so that none of others is left. */
void core_evict(void);

wia_memory_info_t core_memory(uint32_t device);
wia_plan_cache_stats_t core_cache(uint32_t device);

/* Streams of the driver's own (core_queue.c). */
extern const wia_driver_streams_t core_streams, core_sparse_streams;
uint32_t core_live_streams(void);
/* Graphs of the driver's own (core_graphs.c), of "core" and "queued". */
extern const wia_driver_graphs_t core_graphs;
uint32_t core_live_graphs(void);
void core_check_not_telling(void); /* else a fault: entries are not called from there */
wia_status_t core_launch_on(wia_driver_stream_t stream, wia_kernel_fn_t fn, void *state,
                            const wia_kernel_args_t *args);
wia_status_t core_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                       wia_error_t *error);
wia_status_t core_fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                       const void *pattern, uint32_t pattern_size, wia_error_t *error);

/* Kernels (core_kernels.c). */
void core_fault(const char *what);
unsigned char *core_operand_bytes(const wia_operand_t *operand);
void core_touch(const wia_operand_t *operand);
wia_status_t core_prepare(const wia_request_t *request, wia_driver_kernel_t *out_kernel,
                          wia_error_t *out_error);
/* Around what a device does, here on memory of it (NULL: imported): the serial one is found to be
 * entered twice. */
void core_enter(wia_driver_memory_t memory);
void core_leave(wia_driver_memory_t memory);

#endif
