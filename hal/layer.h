/* layer.h: the layers that are on: one word, at which every hook looks. Off, a hook is one branch. */
#ifndef WIA__LAYER_H
#define WIA__LAYER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WIA__LAYER_TRACE = 1u << 0, WIA__LAYER_VALIDATE = 1u << 1 };

extern _Atomic uint32_t wia__layers; /* of trace.c */

/* Not 0: a hook has something to do, and asks further. */
static inline uint32_t wia__layers_on(void) {
  const uint32_t layers = atomic_load_explicit(&wia__layers, memory_order_relaxed);
  return (uint32_t)__builtin_expect((long)layers, 0);
}

static inline bool wia__is_validating(void) {
  return (wia__layers_on() & WIA__LAYER_VALIDATE) != 0;
}

static inline void wia__set_layer(uint32_t layer, bool on) {
  if (on)
    atomic_fetch_or(&wia__layers, layer);
  else
    atomic_fetch_and(&wia__layers, ~layer);
}

#endif
