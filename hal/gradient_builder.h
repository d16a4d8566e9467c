/* gradient_builder.h: what the gradient function of a registered operation has added so far. */
#ifndef WIA__GRADIENT_BUILDER_H
#define WIA__GRADIENT_BUILDER_H

#include <pthread.h>

#include "gradient.h"

enum { WIA__NO_VALUE = -1 };

typedef struct wia__built_value_t {
  wia_shape_t shape; /* of an operand that is left out: all zero */
  bool needed;
  int32_t value; /* of the group; WIA__NO_VALUE: not yet */
} wia__built_value_t;

typedef struct wia__built_node_t {
  const wia__op_t *op;
  uint32_t *inputs;
  wia_attribute_t *attributes;
  uint32_t input_count, attribute_count;
  uint32_t first; /* the value of its first output */
} wia__built_node_t;

/* What the function has a handle of. */
typedef struct wia__builder_t {
  wia__object_t object;
  pthread_mutex_t mutex;
  wia__gradient_build_t *build; /* NULL: the function has returned */
  wia__items_t values, nodes;
} wia__builder_t;

static inline wia__built_value_t *wia__built_value(const wia__builder_t *builder, uint32_t i) {
  return (wia__built_value_t *)builder->values.items + i;
}

/* 1 reference. NULL: no memory. */
wia__builder_t *wia__create_builder(wia__gradient_build_t *build);

#endif
