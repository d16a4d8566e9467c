/* calls.h: what the parts of fuzz_calls share. */
#ifndef CALLS_H
#define CALLS_H

#include "core_driver.h"
#include "fuzz.h"

/* A thread of a case. */
typedef struct calls_thread_t {
  fuzz_random_t random;
  uint32_t index, calls;
  uint64_t call; /* the number of the one that is made */
  uint32_t statuses[64];
  bool wrong;
} calls_thread_t;

/* Says what was wrong, with the thread's last error; the first of a thread only. */
void calls_wrong(calls_thread_t *t, const char *what, wia_status_t status);

/* What was promised to be called exactly once, and what was called. */
extern _Atomic uint32_t calls_promised, calls_kept;

/* The layout of 8 float32, which lives as long as the case. */
extern const wia_tensor_layout_t *calls_layout;

/* Threads that share handles: good, freed, of another type, and random ones. */
void wild_start(void);
void wild_call(calls_thread_t *t);
void wild_end(void);

/* Captures, changes and launches a graph of four tensors and an address (graphs.c). */
wia_status_t wild_graph(calls_thread_t *t, wia_context_t *context, wia_stream_t *stream,
                        const wia_tensor_t *tensors, void *address);

/* Registers operations, kernels and extensions, and uses those that there are (custom.c). */
void custom_start(void);
wia_status_t custom_call(calls_thread_t *t, wia_context_t *context, wia_stream_t *stream,
                         const wia_tensor_t *tensors);
wia_op_t custom_op(calls_thread_t *t); /* of one input and one output at least; 0: none yet */

/* Sets a context's pool, asks it, or changes its allocator. least_limit: what a limit leaves at least;
 * above 0 the context is the thread's own, and allocating in it doesn't fail (pools.c). */
wia_status_t pools_call(calls_thread_t *t, wia_context_t *context, uint64_t least_limit);
wia_status_t pools_device_call(calls_thread_t *t); /* allocators of devices, arenas */
void pools_end(void);

/* Threads with objects of their own, whose elements are known at any time. */
void ordered_run(calls_thread_t *t);

#endif
