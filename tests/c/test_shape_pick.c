/* Rules of operations that pick by number or by value, store, sort and arrange. */
#include "infer.h"

static void test_gather(void) {
  const wia_shape_t x = S(INT8, 2, 3, 4);
  GIVES(GATHER_ELEMENTS, S(INT8, 2, 9, 1), LIST(x, S(INT32, 2, 9, 1)), WITH(INTS("axis", 1)));
  REFUSES(GATHER_ELEMENTS, "indices is no larger in any dimension but 0",
          LIST(x, S(INT64, 2, 4, 4)), NO_ATTRIBUTES);
  REFUSES(GATHER_ELEMENTS, "indices has the shape [2], of rank 1; expected rank 3",
          LIST(x, S(INT64, 2)), NO_ATTRIBUTES);
  REFUSES(GATHER_ELEMENTS, "expected one of int64, int32", LIST(x, S(UINT8, 2, 3, 4)),
          NO_ATTRIBUTES);
  GIVES(GATHER_ND, S(INT8, 5, 4), LIST(x, S(INT64, 5, 2)), NO_ATTRIBUTES);
  GIVES(GATHER_ND, R0(INT8), LIST(x, S(INT64, 3)), NO_ATTRIBUTES);
  GIVES(GATHER_ND, S(INT8, 7, 2, 3, 4), LIST(x, S(INT64, 7, 0)), NO_ATTRIBUTES);
  GIVES(GATHER_ND, S(INT8, 2, 6, 4), LIST(x, S(INT64, 2, 6, 1)), WITH(INTS("batch_dims", 1)));
  REFUSES(GATHER_ND, "tuples of indices have 4 elements", LIST(x, S(INT64, 4)), NO_ATTRIBUTES);
  REFUSES(GATHER_ND, "batch_dims is 1, input has the shape [2, 3, 4] and indices the shape [3, 1]",
          LIST(x, S(INT64, 3, 1)), WITH(INTS("batch_dims", 1)));
  REFUSES(GATHER_ND, "batch_dims is 2", LIST(x, S(INT64, 2, 3)), WITH(INTS("batch_dims", 2)));
  REFUSES(GATHER_ND, "7 dimensions of tuples and 3 of a slice; expected at most 8",
          LIST(x, S(INT64, 1, 1, 1, 1, 1, 1, 1, 0)), NO_ATTRIBUTES);
}

static void test_scatter(void) {
  const wia_shape_t x = S(FLOAT16, 2, 3), i = S(INT64, 1, 3), u = S(FLOAT16, 1, 3);
  GIVES(SCATTER_ELEMENTS, x, LIST(x, i, u), NO_ATTRIBUTES);
  REFUSES(SCATTER_ELEMENTS, "updates has the shape [2, 3]; expected [1, 3]", LIST(x, i, x),
          NO_ATTRIBUTES);
  REFUSES(SCATTER_ELEMENTS, "input is float16 and updates is int8", LIST(x, i, S(INT8, 1, 3)),
          NO_ATTRIBUTES);
  const wia_shape_t flags = S(BOOL, 2, 3);
  GIVES(SCATTER_ELEMENTS, flags, LIST(flags, i, S(BOOL, 1, 3)), NO_ATTRIBUTES);
  REFUSES(SCATTER_ELEMENTS, "reduction is 1 and input bool", LIST(flags, i, S(BOOL, 1, 3)),
          WITH(INTS("reduction", 1)));
  GIVES(SCATTER_ND, x, LIST(x, S(INT32, 5, 1), S(FLOAT16, 5, 3)), WITH(INTS("reduction", 4)));
  REFUSES(SCATTER_ND, "updates has the shape [5]; expected [5, 3]",
          LIST(x, S(INT32, 5, 1), S(FLOAT16, 5)), NO_ATTRIBUTES);
  GIVES(INDEX_ADD, x, LIST(x, S(INT64, 4), S(FLOAT16, 2, 4)), WITH(INTS("axis", -1)));
  REFUSES(INDEX_ADD, "updates has the shape [4, 2]; expected [2, 4]",
          LIST(x, S(INT64, 4), S(FLOAT16, 4, 2)), WITH(INTS("axis", 1)));
  REFUSES(INDEX_ADD, "not defined for bool", LIST(flags, S(INT64, 1), flags), NO_ATTRIBUTES);
}

static void test_order(void) {
  const wia_shape_t x = S(UINT8, 4, 5);
  GIVES(SORT, x, LIST(x), NO_ATTRIBUTES);
  GIVES(ARGSORT, S(INT64, 4, 5), LIST(x), WITH(INTS("axis", 0)));
  REFUSES(ARGSORT, "axis is 2; input has rank 2", LIST(x), WITH(INTS("axis", 2)));
  REFUSES(SORT, "rank 0 and no dimension", LIST(R0(UINT8)), NO_ATTRIBUTES);
  GIVES(TOP_K, S(UINT8, 4, 5), LIST(x), WITH(INTS("k", 5)));
  GIVES(TOP_K, S(UINT8, 0, 5), LIST(x), WITH(INTS("k", 0), INTS("axis", 0)));
  REFUSES(TOP_K, "k is 6, and dimension 1 of input has 5 elements", LIST(x), WITH(INTS("k", 6)));
  GIVES(SEARCHSORTED, S(INT64, 7), LIST(S(INT8, 3), S(INT8, 7)), NO_ATTRIBUTES);
  GIVES(SEARCHSORTED, S(INT64, 2, 7), LIST(S(INT8, 2, 3), S(INT8, 2, 7)), NO_ATTRIBUTES);
  REFUSES(SEARCHSORTED, "boundaries of rank 1, or equal sizes", LIST(S(INT8, 2, 3), S(INT8, 7)),
          NO_ATTRIBUTES);
}

static void test_values(void) {
  GIVES(NONZERO, S(INT64, 6, 2), LIST(S(BOOL, 2, 3)), NO_ATTRIBUTES);
  GIVES(NONZERO, S(INT64, 1, 0), LIST(R0(BOOL)), NO_ATTRIBUTES);
  REFUSES(NONZERO, "has more elements than 63 bits", LIST(S(BOOL, INT64_MAX, 3)), NO_ATTRIBUTES);
  const wia_shape_t x = S(INT16, 2, 3, 4);
  GIVES(COMPRESS, S(INT16, 20), LIST(x, S(BOOL, 20)), NO_ATTRIBUTES);
  GIVES(COMPRESS, S(INT16, 4, 2, 3), LIST(x, S(BOOL, 4)), WITH(INTS("axis", -1)));
  REFUSES(COMPRESS, "condition has 3 elements and input 2 slices", LIST(x, S(BOOL, 3)),
          WITH(INTS("axis", 0)));
  REFUSES(COMPRESS, "condition has dtype int8; expected one of bool", LIST(x, S(INT8, 3)),
          NO_ATTRIBUTES);
  GIVES(UNIQUE, S(INT16, 24), LIST(x), NO_ATTRIBUTES);
  GIVES(UNIQUE, S(INT16, 3, 2, 4), LIST(x), WITH(INTS("axis", 1)));
  REFUSES(UNIQUE, "axis is 3; input has rank 3", LIST(x), WITH(INTS("axis", 3)));
  GIVES(BINCOUNT, S(INT64, 9), LIST(S(UINT16, 2, 2)), WITH(INTS("length", 9)));
  GIVES(ONE_HOT, S(FLOAT16, 2, 9, 3), LIST(S(INT32, 2, 3)),
        WITH(INTS("depth", 9), INTS("axis", -2), DTYPE(WIA_FLOAT16)));
  REFUSES(ONE_HOT, "axis is 3; the output has rank 3", LIST(S(INT32, 2, 3)),
          WITH(INTS("axis", 3), DTYPE(WIA_FLOAT16)));
  REFUSES(ONE_HOT, "no dtype is given", LIST(S(INT32, 2, 3)), NO_ATTRIBUTES);
}

static void test_arrange(void) {
  const wia_shape_t x = S(FLOAT8_E5M2, 2, 3);
  GIVES(STACK, S(FLOAT8_E5M2, 2, 2, 3), LIST(x, x), NO_ATTRIBUTES);
  GIVES(STACK, S(FLOAT8_E5M2, 2, 3, 1), LIST(x, ABSENT), WITH(INTS("axis", -1)));
  REFUSES(STACK, "inputs[1] has the shape [2]; expected [2, 3]", LIST(x, S(FLOAT8_E5M2, 2)),
          NO_ATTRIBUTES);
  REFUSES(STACK, "inputs[1] is left out", LIST(x, ABSENT, x), NO_ATTRIBUTES);
  REFUSES(STACK, "axis is -4; the output has rank 3", LIST(x), WITH(INTS("axis", -4)));
  REFUSES(STACK, "has rank 8", LIST(S(INT8, 1, 1, 1, 1, 1, 1, 1, 1)), NO_ATTRIBUTES);
  GIVES(TILE, S(FLOAT8_E5M2, 6, 0), LIST(x), WITH(INTS("repeats", 3, 0)));
  REFUSES(TILE, "repeats has 1 elements and input rank 2", LIST(x), WITH(INTS("repeats", 3)));
  REFUSES(TILE, "repeats[1] is -1", LIST(x), WITH(INTS("repeats", 1, -1)));
  REFUSES(TILE, "more than 63 bits", LIST(x), WITH(INTS("repeats", INT64_MAX, 1)));
  GIVES(FLIP, x, LIST(x), WITH(INTS("axes", -1, 0)));
  REFUSES(FLIP, "dimension 1 twice", LIST(x), WITH(INTS("axes", -1, 1)));
  GIVES(ROLL, x, LIST(x), WITH(INTS("shifts", 9)));
  GIVES(ROLL, x, LIST(x), WITH(INTS("shifts", 9, 1), INTS("axes", 1, 1)));
  REFUSES(ROLL, "shifts has 2 elements and axes 0", LIST(x), WITH(INTS("shifts", 9, 1)));
  REFUSES(ROLL, "axes is 2", LIST(x), WITH(INTS("shifts", 9), INTS("axes", 2)));
  const wia_shape_t deep = S(INT8, 1, 8, 2, 3), wide = S(INT8, 1, 2, 4, 6);
  GIVES(DEPTH_TO_SPACE, wide, LIST(deep), WITH(INTS("block_size", 2)));
  GIVES(SPACE_TO_DEPTH, deep, LIST(wide), WITH(INTS("block_size", 2), INTS("mode", 1)));
  REFUSES(DEPTH_TO_SPACE, "can be divided by 9", LIST(deep), WITH(INTS("block_size", 3)));
  REFUSES(SPACE_TO_DEPTH, "images are 4 by 6 and block_size is 3", LIST(wide),
          WITH(INTS("block_size", 3)));
  REFUSES(SPACE_TO_DEPTH, "block_size is 0; it has no default", LIST(wide), NO_ATTRIBUTES);
}

static void test_sequences(void) {
  const wia_shape_t x = S(INT32, 4, 2, 5);
  GIVES(REVERSE_SEQUENCE, x, LIST(x, S(INT64, 2)), NO_ATTRIBUTES);
  REFUSES(REVERSE_SEQUENCE, "lengths has the shape [4]; expected [2]", LIST(x, S(INT64, 4)),
          NO_ATTRIBUTES);
  REFUSES(REVERSE_SEQUENCE, "both name dimension 1", LIST(x, S(INT64, 2)),
          WITH(INTS("time_axis", -2)));
}

int main(void) {
  test_gather();
  test_scatter();
  test_order();
  test_values();
  test_arrange();
  test_sequences();
  return CHECK_DONE();
}
