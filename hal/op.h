/* op.h: operations of the catalog as tables, made at build time, and what is done with them. */
#ifndef WIA__OP_H
#define WIA__OP_H

#include <stdbool.h>

#include "status.h"

enum {
  WIA__MAX_WORDS = 64, /* attribute words of one operation */
  WIA__MAX_SCALARS = 32,
  WIA__MAX_CONFIG_SIZE = 512, /* bytes of a config struct; ops_table.c asserts it of each */
  WIA__FIELD_NONE = 0,        /* not in the config struct */
  WIA__FIELD_U32 = 1,
  WIA__FIELD_I32 = 2,
  WIA__FIELD_I64 = 3,
  WIA__FIELD_U64 = 4,
  WIA__FIELD_F64 = 5,
  WIA__OPTION_REQUEST = 1, /* an option that goes into the request to the driver */
  WIA__OPTION_IN_CALL =
      2 /* one that the function in ops.h carries out: no list or request has it */
};

#define WIA__NO_INPUT UINT32_MAX

/* An attribute, option or scalar. Attributes and options are kept as words: one for a single value,
 * `count` for a fixed list, 1 + `count` for a list of any length up to `count` (its length first,
 * -1 when it is not given). */
typedef struct wia__attribute_spec_t {
  const char *name;
  int32_t type;                  /* WIA_ATTRIBUTE_INT64, _FLOAT64 or _DTYPE */
  uint32_t count;                /* 1, or the (largest) length of the list */
  uint32_t variable;             /* 1: a list of any length up to count */
  uint32_t word;                 /* the first one */
  uint32_t field;                /* WIA__FIELD_*: the C type in the config struct */
  uint32_t offset;               /* of the field */
  uint32_t length_offset;        /* of the uint32_t that has the length of a variable list */
  uint32_t zero_is_default;      /* a zero in the config struct (per list element) is the default */
  uint32_t option;               /* WIA__OPTION_*; 0: an attribute */
  const char *const *choices;    /* of an option: what a request calls each value; 0 is NULL */
  wia_scalar_t minimum, maximum; /* .f64 of FLOAT64 values, else .i64; checked at the border */
} wia__attribute_spec_t;

typedef struct wia__infer_t wia__infer_t;
/* A shape and dtype rule. Writes call->outputs; on failure returns wia__fail(INVALID_ARGUMENT, ...)
 * with the operation's name, what was given and what was expected. */
typedef wia_status_t (*wia__infer_fn_t)(const wia__infer_t *call);

typedef struct wia__op_t {
  wia_op_t op;
  const char *name, *family;
  wia__infer_fn_t infer;
  uint64_t dtypes;                /* of the operand that leads */
  const uint64_t *operand_dtypes; /* per input: dtypes of its own, or 0; NULL: none has them */
  uint32_t dtype_input;           /* the one that leads: the first without dtypes of its own;
                                     WIA__NO_INPUT: there is none, and the first output leads */
  uint32_t
      same_dtype; /* 1: all others without dtypes of their own have that of the one that leads */
  uint32_t min_input_count, max_input_count; /* inputs beyond the first number may be left out */
  uint32_t min_output_count, output_count;   /* outputs beyond the first number may be left out */
  int32_t read_scalar; /* unless this one is 0, the output is read as it was before; -1: it isn't */
  uint32_t attribute_count, scalar_count, word_count;
  const wia__attribute_spec_t *attributes, *scalars; /* a scalar's word is its index */
  const wia_scalar_t *default_words, *default_scalars;
  uint32_t config_size, config_first_size; /* 0: has no config struct */
  const char *config_init;                 /* "WIA_MATMUL_CONFIG_INIT" */
  const char *const *operand_names;        /* inputs, then outputs */
} wia__op_t;

struct wia__infer_t {
  const wia__op_t *op;
  const wia_shape_t *inputs; /* op->max_input_count; left out: all zero (dtype WIA_DTYPE_NONE) */
  uint32_t input_count;      /* as given; those behind are left out */
  uint32_t given_count;      /* 0, or op->output_count; one that is left out is all zero */
  const wia_scalar_t *words;
  const wia_shape_t *given; /* the outputs that the caller has: for rules whose result is the
                               caller's choice (reshape without its attribute); NULL in a query */
  wia_shape_t *outputs;
};

/* Made by the generator: the table, in the order of numbers, which have gaps; and by number up to
 * the last one, where in the table it is, plus 1. wia__get_op: NULL for a number that is none. */
extern const wia__op_t wia__ops[];
extern const uint32_t wia__op_count;
extern const uint16_t wia__op_places[];
extern const wia_op_t wia__op_last;
const wia__op_t *wia__get_op(wia_op_t op);
/* The same, and fails with INVALID_ARGUMENT. */
wia_status_t wia__resolve_op(wia_op_t op, const wia__op_t **out_op);

/* Whether an operand, counted over inputs and then outputs, may be left out. */
static inline bool wia__is_optional(const wia__op_t *op, uint32_t i) {
  return i < op->max_input_count ? i >= op->min_input_count
                                 : i - op->max_input_count >= op->min_output_count;
}

/* Reads attributes in a rule by name (rules run on a miss only). An unknown name asserts. A list of
 * any length that is not given is NULL. Elements of a FLOAT64 list are in .f64. */
int64_t wia__attribute(const wia__infer_t *call, const char *name);
double wia__attribute_f64(const wia__infer_t *call, const char *name);
const wia_scalar_t *wia__attribute_list(const wia__infer_t *call, const char *name,
                                        uint32_t *out_count);

/* "[2, 3, 4]" into a caller's buffer of WIA__SHAPE_TEXT bytes; returns it. */
enum { WIA__SHAPE_TEXT = 192 };
const char *wia__format_shape(char *text, const int64_t *shape, uint32_t rank);

/* A config struct, or a list of attributes, as words and scalars. Checks names, types, counts and
 * ranges. words has WIA__MAX_WORDS, scalars WIA__MAX_SCALARS elements. */
wia_status_t wia__words_of_config(const wia__op_t *op, const void *config, wia_scalar_t *words,
                                  wia_scalar_t *scalars);
wia_status_t wia__words_of_attributes(const wia__op_t *op, const wia_attribute_t *attributes,
                                      uint32_t count, wia_scalar_t *words, wia_scalar_t *scalars);

/* Counts, dtypes, then the rule, then (if outputs are given, op->output_count of them) that they are
 * what the rule says. */
wia_status_t wia__infer(const wia__op_t *op, const wia_shape_t *inputs, uint32_t input_count,
                        const wia_scalar_t *words, const wia_shape_t *given, uint32_t given_count,
                        wia_shape_t *out_shapes);

/* Runs an operation on tensor handles: the body of every generated function in ops.h. operands are
 * op->max_input_count inputs, then op->output_count outputs (NULL: left out). */
wia_status_t wia__run(const char *function, wia_context_t *context, const wia__op_t *op,
                      const wia_tensor_t *operands, const void *config, wia_stream_t *stream);

/* The same without a config, by a number that is one. Exported for the bridge. */
WIA_API wia_status_t wia__run_op(const char *function, wia_context_t *context, wia_op_t op,
                                 const wia_tensor_t *operands, wia_stream_t *stream);

/* The same, and a call of a plan, if it takes microseconds and waits for no other thread: so that a lock
 * may be held meanwhile which others need, as Python's. False: nothing happened, and it is to be run as
 * any call. */
WIA_API bool wia__run_brief(const char *function, wia_context_t *context, wia_op_t op,
                            const wia_tensor_t *operands, wia_status_t *out_status);
WIA_API bool wia__execute_brief(wia_plan_t *plan, const wia_tensor_t *operands,
                                uint32_t operand_count, const wia_scalar_t *scalars,
                                uint32_t scalar_count, wia_status_t *out_status);

/* The same for an operation whose inputs are a list, between wia__enter and wia__exit. */
wia_status_t wia__run_list(wia_context_t *context, const wia__op_t *op, const wia_tensor_t *inputs,
                           uint32_t input_count, const wia_tensor_t *outputs, const void *config,
                           wia_stream_t *stream);

#endif
