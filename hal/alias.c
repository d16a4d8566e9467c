/* alias.c: outputs that meet other operands. */
#include "alias.h"

static wia_status_t overlap(const char *name, uint32_t output, const char *with, uint32_t other) {
  return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                   "%s: output %u overlaps %s %u without being the same tensor; give another "
                   "output",
                   name, output, with, other);
}

wia_status_t wia__check_near(const char *name, const wia__tensor_t *const *operands,
                             uint32_t input_count, uint32_t output, uint32_t i, uint64_t *aliases) {
  const wia__tensor_t *a = operands[input_count + output], *b = operands[i];
  if (i < input_count && a->operand.layout == b->operand.layout &&
      a->operand.address == b->operand.address) {
    if (!(*aliases >> (8 * output) & 0xff)) *aliases |= (uint64_t)(i + 1) << (8 * output);
    return WIA_STATUS_OK;
  }
  if (!wia__may_overlap(a->operand.layout, a->operand.address, b->operand.layout,
                        b->operand.address))
    return WIA_STATUS_OK;
  return i < input_count ? overlap(name, output, "input", i)
                         : overlap(name, output, "output", i - input_count);
}
