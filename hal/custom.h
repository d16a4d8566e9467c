/* custom.h: operations that a program registers: entries beside those of the catalog. */
#ifndef WIA__CUSTOM_H
#define WIA__CUSTOM_H

#include "op.h"

typedef struct wia__custom_t {
  wia__op_t op; /* first: a registered operation is one of these */
  const char *documentation;
  wia_infer_fn_t infer; /* NULL: a rule of the catalog */
  wia_op_cost_fn_t cost;
  wia_gradient_fn_t gradient; /* NULL: it has none */
  void *context;
  void *blocks; /* the memory of what op points to */
} wia__custom_t;

/* NULL: none has that number. */
const wia__custom_t *wia__get_custom(wia_op_t number);
uint32_t wia__custom_count(void);

/* An operation's registration; NULL: it is one of the catalog. */
static inline const wia__custom_t *wia__custom_of(const wia__op_t *op) {
  return op->op < WIA_OP_CUSTOM_FIRST ? NULL : (const wia__custom_t *)op;
}

/* All attributes as a function of the operation gets them. dtypes is where those of dtypes go. Returns how
 * many. */
uint32_t wia__give_attributes(const wia__op_t *op, const wia_scalar_t *words,
                              wia_attribute_t out[WIA__MAX_WORDS], int32_t dtypes[WIA__MAX_WORDS]);

/* The rule of operations with a function of their own: calls it outside the epoch and checks what it
 * says. */
wia_status_t wia__infer_custom(const wia__infer_t *call);

/* Finds the rule of a family for an operation that is defined but for it, and checks that the
 * operation has what the rule reads. Attributes without bounds get those of the catalog. specs are
 * those of op, still to be written to; bounded[i]: the definition gives bounds. */
wia_status_t wia__adopt_family(wia__op_t *op, const char *family, wia__attribute_spec_t *specs,
                               const bool *bounded);

#endif
