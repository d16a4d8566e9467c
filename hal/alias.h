/* alias.h: which outputs of a call are exactly an input, and that they overlap nothing else. */
#ifndef WIA__ALIAS_H
#define WIA__ALIAS_H

#include "tensor.h"

/* For an output and an operand before it whose ranges meet: notes an alias, or fails. */
wia_status_t wia__check_near(const char *name, const wia__tensor_t *const *operands,
                             uint32_t input_count, uint32_t output, uint32_t other,
                             uint64_t *aliases);

static inline bool wia__is_apart(const wia__tensor_t *a, const wia__tensor_t *b) {
  return a->end <= b->begin || b->end <= a->begin;
}

/* 8 bits an output: the input's number plus 1, or 0. Fails when an output overlaps an input in another
 * way, or another output. Operands that are left out are NULL. */
static inline wia_status_t wia__check_aliases(const char *name,
                                              const wia__tensor_t *const *operands,
                                              uint32_t input_count, uint32_t output_count,
                                              uint64_t *out_aliases) {
  *out_aliases = 0;
  for (uint32_t o = 0; o < output_count; o++) {
    const wia__tensor_t *output = operands[input_count + o];
    if (!output || !output->allocation) continue;
    const wia_status_t writable = wia__check_writable(output->allocation, "an output");
    if (__builtin_expect(writable != WIA_STATUS_OK, 0)) return writable;
    for (uint32_t i = 0; i < input_count + o; i++) {
      if (!operands[i] || __builtin_expect(wia__is_apart(output, operands[i]), 1)) continue;
      const wia_status_t status = wia__check_near(name, operands, input_count, o, i, out_aliases);
      if (status) return status;
    }
  }
  return WIA_STATUS_OK;
}

#endif
