/* gradient.h: gradients of operations: programs of other operations, made from the catalog. */
#ifndef WIA__GRADIENT_H
#define WIA__GRADIENT_H

#include "object.h"
#include "op.h"

/* What an attribute of a step, or its condition, is computed by: terms, the operands of each before
 * it. All work on lists of numbers; a single number is a list of one. wia/catalog/_programs.py writes
 * them, and says what each means. */
typedef enum wia__term_kind_t {
  WIA__TERM_NUMBER,    /* `number` */
  WIA__TERM_ATTRIBUTE, /* of the operation, by its index */
  WIA__TERM_SCALAR,
  WIA__TERM_SHAPE, /* of the slot `index`, as are the next ones */
  WIA__TERM_RANK,
  WIA__TERM_SIZE,
  WIA__TERM_DTYPE,
  WIA__TERM_GIVEN,
  WIA__TERM_PLACE,  /* of the input that the program runs for, among those of a list */
  WIA__TERM_BEFORE, /* axis: sizes of the inputs of a list that come before it, added up */
  WIA__TERM_ADD,    /* of lists of a length, or of a list and a number; so are the next ones */
  WIA__TERM_SUB,
  WIA__TERM_MUL,
  WIA__TERM_DIV,
  WIA__TERM_FLOORDIV,
  WIA__TERM_MOD,
  WIA__TERM_MAXIMUM,
  WIA__TERM_MINIMUM,
  WIA__TERM_EQ,
  WIA__TERM_NE,
  WIA__TERM_LT,
  WIA__TERM_LE,
  WIA__TERM_AND,
  WIA__TERM_OR,
  WIA__TERM_NEG,
  WIA__TERM_NOT,
  WIA__TERM_SELECT, /* condition, list, other list */
  WIA__TERM_JOIN,   /* `index` lists one behind the other */
  WIA__TERM_ITEM,   /* list, index, from the last when below 0 */
  WIA__TERM_CUT,    /* list, begin, end, likewise */
  WIA__TERM_RANGE,  /* begin, end */
  WIA__TERM_REPEAT, /* list, times */
  WIA__TERM_LENGTH,
  WIA__TERM_SUM,
  WIA__TERM_PROD,
  WIA__TERM_INVERSE, /* of a permutation */
  WIA__TERM_REVERSED,
  WIA__TERM_KEPT,    /* shape, axes: with size 1 there, in all if there are none */
  WIA__TERM_REPLACED /* list, index, number */
} wia__term_kind_t;

typedef struct wia__term_t {
  uint16_t kind;
  int16_t index;
  double number;
} wia__term_t;

typedef struct wia__terms_t {
  const wia__term_t *terms;
  uint32_t count; /* 0 as a condition: always */
} wia__terms_t;

typedef struct wia__gradient_attribute_t {
  const char *name;
  wia__terms_t terms;
} wia__gradient_attribute_t;

/* One operation, of which the slot `to` becomes the output of a number. */
typedef struct wia__gradient_step_t {
  wia_op_t op;
  uint16_t to, output;
  const uint16_t *inputs; /* slots */
  const wia__gradient_attribute_t *attributes;
  uint32_t input_count, attribute_count;
  wia__terms_t condition;
} wia__gradient_step_t;

/* Slots are the inputs of the operation (a list of inputs has one: the input that the program runs
 * for), its outputs, the gradients of these, then what the steps make. Of several steps to a slot the
 * first whose condition holds is taken. */
typedef struct wia__gradient_program_t {
  const wia__gradient_step_t *steps;
  const char *const *names; /* of the slots */
  const int16_t *targets;   /* per input slot: the slot of its gradient; -1: it has none */
  const char *reason;       /* why there is no program */
  uint32_t step_count, slot_count;
  uint32_t list; /* 1: the inputs are a list */
} wia__gradient_program_t;

/* In the order of wia__ops; made by the generator. */
extern const wia__gradient_program_t wia__gradient_programs[];

enum { WIA__LIST = 0xffff }; /* as an input of a step: all inputs of the operation's list */

enum { WIA__MAX_SLOTS = 128, WIA__LIST_ITEMS = 64 };

typedef struct wia__list_t {
  uint32_t count;
  bool real; /* items are .f64, else .i64 */
  wia_scalar_t items[WIA__LIST_ITEMS];
} wia__list_t;

/* What terms are about. */
typedef struct wia__terms_of_t {
  const wia__op_t *op;
  const wia_scalar_t *words, *scalars;
  const wia_shape_t *inputs; /* of the operation, all of a list */
  wia_shape_t slots[WIA__MAX_SLOTS];
  bool given[WIA__MAX_SLOTS];
  uint32_t place;
} wia__terms_of_t;

/* Never fails: what has no value, such as an item that isn't there, is 0, and lists are cut off at
 * WIA__LIST_ITEMS. */
void wia__compute_terms(const wia__terms_of_t *of, wia__terms_t terms, wia__list_t *out_list);
bool wia__holds(const wia__terms_of_t *of, wia__terms_t condition);

/* -- groups, as they are made: gradient_group.c -------------------------------------------------- */

/* Items that become a list of the group. */
typedef struct wia__items_t {
  void *items;
  uint32_t count, room;
} wia__items_t;

typedef struct wia__gradient_t {
  wia__object_t object;
  wia_group_t group;
  wia_gradient_info_t info;
  struct wia__gradient_block_t *blocks;        /* memory that is freed with it */
  wia__items_t nodes, values, inputs, outputs; /* of the group */
  wia__items_t input_roles, output_roles;
  wia__items_t layouts; /* wia__layout_t *, with references */
} wia__gradient_t;

/* What is known while one is made. */
typedef struct wia__gradient_build_t {
  wia__gradient_t *made;
  const wia__op_t *op;
  const wia__gradient_program_t *program;
  const wia_gradient_config_t *config;
  wia_scalar_t words[WIA__MAX_WORDS], scalars[WIA__MAX_SCALARS];
  wia_shape_t inputs[WIA_MAX_OPERANDS], outputs[WIA_MAX_OPERANDS];
  uint32_t known;                        /* bit i: there is a gradient of output i */
  int32_t operands[3][WIA_MAX_OPERANDS]; /* values, by role - 1 and index; -1: none yet */
  wia__terms_of_t of;
  int32_t slots[WIA__MAX_SLOTS]; /* values */
} wia__gradient_build_t;

/* With 1 reference. NULL: no memory. */
wia__gradient_t *wia__create_gradient(void);

/* Zeroed memory that goes with the gradient; NULL: none. Appending a copy of an item; false: none. */
void *wia__take_gradient(wia__gradient_t *made, size_t size);
bool wia__push(wia__items_t *list, const void *item, size_t size);
wia_status_t wia__no_gradient_memory(void); /* fails so */

/* given NULL: row-major. */
wia_status_t wia__add_value(wia__gradient_build_t *build, const char *name,
                            const wia_shape_t *shape, const wia_tensor_layout_t *given,
                            int32_t *out_value);
const wia_value_t *wia__value_of(const wia__gradient_build_t *build, int32_t value);
bool wia__is_written(const wia__gradient_build_t *build, int32_t value); /* by a node */
bool wia__is_output(const wia__gradient_build_t *build, int32_t value);
/* An input of the group, which is added the first time. */
wia_status_t wia__add_operand(wia__gradient_build_t *build, int32_t role, uint32_t index,
                              const char *name, int32_t *out_value);
/* Makes a value the gradient of an input, whose shape and dtype it must have. */
wia_status_t wia__add_output(wia__gradient_build_t *build, uint32_t input, int32_t value);

/* -- by a program of the catalog: gradient_steps.c ------------------------------------------------ */

/* Adds the nodes that the gradient of an input takes, and makes it an output of the group. */
wia_status_t wia__add_gradient(wia__gradient_build_t *build, uint32_t input);

/* Slots as they are before any step; place: the input of a list that the program runs for. Then the value
 * of the slot of an operand goes to build->slots: below 0 for one that is left out. */
void wia__start_program(wia__gradient_build_t *build, uint32_t place);
wia_status_t wia__find_operand(wia__gradient_build_t *build, uint32_t slot);

/* -- by the function of a registered operation: gradient_custom.c --------------------------------- */

/* Adds all that is wanted: one bit for each input. any: what the function doesn't give is left out, unless
 * that is everything. */
wia_status_t wia__call_gradient(wia__gradient_build_t *build, uint32_t wanted, bool any);

/* Fills the public structs; afterwards nothing is added. */
void wia__finish_gradient(wia__gradient_t *made, wia_op_t op);

#endif
