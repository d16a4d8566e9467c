/* gradient.h: the gradient of an operation as a group of operations. */
#ifndef WIA_GRADIENT_H
#define WIA_GRADIENT_H

#include "base.h"
#include "plan.h"

WIA_BEGIN_DECLS

/* A call of an operation, as wia_execute() takes it, and what is to be known of it.
 * Layouts are those of wia_get_tensor_info(), or of the caller's making: dtype, rank, shape and
 * strides count, and strides NULL is row-major. */
typedef struct wia_gradient_config_t {
  uint32_t struct_size;
  wia_op_t op;
  const wia_tensor_layout_t *const *inputs;  /* an input that is left out is NULL */
  const wia_tensor_layout_t *const *outputs; /* likewise; NULL: row-major, as wia_infer_outputs()
                                                gives them, without those that may be left out */
  const wia_attribute_t *attributes;
  uint32_t input_count, output_count, attribute_count;
  uint32_t wanted; /* bit i: the gradient of input i; 0: of all inputs that have one */
  uint32_t known;  /* bit i: there is a gradient of output i, elsewhere it is 0; 0: of all outputs
                      that are floats */
  uint32_t reserved;
} wia_gradient_config_t;
#define WIA_GRADIENT_CONFIG_INIT WIA_INIT(wia_gradient_config_t)

enum {
  WIA_ROLE_NONE = 0,
  WIA_ROLE_INPUT = 1,   /* the input of the operation */
  WIA_ROLE_OUTPUT = 2,  /* its output, as the operation wrote it */
  WIA_ROLE_GRADIENT = 3 /* the gradient of an output, with its layout */
};

/* What an operand of the group is: `index` counts inputs or outputs of the operation. Frozen. */
typedef struct wia_role_t {
  int32_t role; /* WIA_ROLE_* */
  uint32_t index;
} wia_role_t;

/* The group can go to wia_create_plan() as it is; its nodes can be executed one by one, too, since
 * their attributes are those of wia_execute(). Values are named as on the operation's page, and nodes
 * by their operations. Outputs of the group are row-major. All of it lives until the gradient is
 * destroyed; a plan keeps nothing of it. */
typedef struct wia_gradient_info_t {
  uint32_t struct_size;
  wia_op_t op;
  const wia_group_t *group;
  const wia_role_t *inputs;  /* group->input_count: those that the gradient needs, and no others */
  const wia_role_t *outputs; /* group->output_count: WIA_ROLE_INPUT, by index: what each output is
                                the gradient of */
} wia_gradient_info_t;
#define WIA_GRADIENT_INFO_INIT WIA_INIT(wia_gradient_info_t)

/* The gradient of an operation: a group that computes, from its inputs and outputs and from the
 * gradients of its outputs, those of its inputs. Scalars of the operation are fixed at what the
 * attributes say. Needs no device; whether one has kernels for the nodes, wia_create_plan() tells.
 * A plan has at most 8 outputs: ask for fewer gradients at a time where there would be more.
 * Errors: INVALID_ARGUMENT as wia_infer_outputs(), and for bits of wanted that name no input, one
 * that is left out, or one that is no float; UNIMPLEMENTED, saying why, for an operation or an input
 * without a gradient, or for these ranks or attributes, also when the call read its output first
 * (beta of matmul). */
WIA_API wia_status_t wia_query_gradient(const wia_gradient_config_t *config,
                                        wia_gradient_t **out_gradient);

WIA_API wia_status_t wia_get_gradient_info(wia_gradient_t *gradient, wia_gradient_info_t *out_info);

/* Frees the group and all that it points to. */
WIA_API wia_status_t wia_destroy_gradient(wia_gradient_t *gradient);

WIA_END_DECLS
#endif
