/* Rules of attention, caches, embeddings and recurrent layers. */
#include "infer.h"

static void test_attention(void) {
  const wia_shape_t q = S(FLOAT32, 2, 4, 3, 8), k = S(FLOAT32, 2, 2, 6, 8),
                    v = S(FLOAT32, 2, 2, 6, 5);
  GIVES(ATTENTION, S(FLOAT32, 2, 4, 3, 5), LIST(q, k, v), NO_ATTRIBUTES);
  GIVES(ATTENTION, S(FLOAT32, 2, 3, 20),
        LIST(S(FLOAT32, 2, 3, 32), S(FLOAT32, 2, 6, 16), S(FLOAT32, 2, 6, 10)),
        WITH(INTS("heads", 4), INTS("kv_heads", 2)));
  GIVES(ATTENTION, S(FLOAT32, 2, 4, 3, 5),
        LIST(q, k, v, S(BOOL, 3, 4), S(FLOAT32, 2, 2, 9, 8), S(FLOAT32, 2, 2, 9, 5)),
        NO_ATTRIBUTES);
  GIVES(ATTENTION, S(FLOAT32, 2, 4, 3, 5), LIST(q, k, v, ABSENT, ABSENT, ABSENT, S(INT64, 2)),
        NO_ATTRIBUTES);
  REFUSES(ATTENTION, "heads is 0 and the last dimension of queries",
          LIST(S(FLOAT32, 2, 3, 32), S(FLOAT32, 2, 6, 16), S(FLOAT32, 2, 6, 10)), NO_ATTRIBUTES);
  REFUSES(ATTENTION, "heads is 3, and queries has 4 heads", LIST(q, k, v), WITH(INTS("heads", 3)));
  REFUSES(ATTENTION, "a number of them that divides that of queries",
          LIST(q, S(FLOAT32, 2, 3, 6, 8), S(FLOAT32, 2, 3, 6, 5)), NO_ATTRIBUTES);
  REFUSES(ATTENTION, "a number of them that divides that of queries",
          LIST(q, S(FLOAT32, 2, 0, 6, 8), S(FLOAT32, 2, 0, 6, 5)), NO_ATTRIBUTES);
  REFUSES(ATTENTION, "only one of past_keys and past_values",
          LIST(q, k, v, ABSENT, S(FLOAT32, 2, 2, 9, 8)), NO_ATTRIBUTES);
  REFUSES(ATTENTION, "past_values has the shape [2, 2, 9, 8]; expected [2, 2, 9, 5]",
          LIST(q, k, v, ABSENT, S(FLOAT32, 2, 2, 9, 8), S(FLOAT32, 2, 2, 9, 8)), NO_ATTRIBUTES);
  REFUSES(ATTENTION, "mask has the shape [3, 7]; expected one that broadcasts to [2, 4, 3, 6]",
          LIST(q, k, v, S(BOOL, 3, 7)), NO_ATTRIBUTES);
  REFUSES(ATTENTION, "lengths and past_keys are given",
          LIST(q, k, v, ABSENT, S(FLOAT32, 2, 2, 9, 8), S(FLOAT32, 2, 2, 9, 5), S(INT64, 2)),
          NO_ATTRIBUTES);
  const wia_shape_t flat = S(FLOAT32, 2, 5, 12);
  GIVES(MULTI_HEAD_ATTENTION, S(FLOAT32, 2, 5, 6), LIST(flat, flat, S(FLOAT32, 2, 5, 6)),
        WITH(INTS("num_heads", 3), INTS("head_dim", 4), INTS("sequence_length", 5)));
  REFUSES(MULTI_HEAD_ATTENTION, "head_dim is 3, but queries have 4", LIST(flat, flat, flat),
          WITH(INTS("num_heads", 3), INTS("head_dim", 3)));
  REFUSES(MULTI_HEAD_ATTENTION, "num_heads is 5", LIST(flat, flat, flat),
          WITH(INTS("num_heads", 5)));
}

static void test_positions(void) {
  const wia_shape_t x = S(FLOAT32, 2, 3, 4, 8), table = S(FLOAT32, 9, 4);
  GIVES(ROTARY_EMBEDDING, x, LIST(x, table, table, S(INT64, 2, 4)), NO_ATTRIBUTES);
  GIVES(ROTARY_EMBEDDING, x, LIST(x, S(FLOAT32, 2, 4, 2), S(FLOAT32, 2, 4, 2)),
        WITH(INTS("width", 4)));
  REFUSES(ROTARY_EMBEDDING, "3 elements of each head", LIST(x, table, table),
          WITH(INTS("width", 3)));
  REFUSES(ROTARY_EMBEDDING, "10 elements of each head", LIST(x, table, table),
          WITH(INTS("width", 10)));
  REFUSES(ROTARY_EMBEDDING, "cos has the shape [9, 4]; expected [2, 4, 4]", LIST(x, table, table),
          NO_ATTRIBUTES);
  const wia_shape_t cache = S(FLOAT16, 2, 3, 8, 4);
  GIVES(KV_CACHE_UPDATE, cache, LIST(cache, S(FLOAT16, 2, 3, 2, 4), S(INT64, 2)), NO_ATTRIBUTES);
  REFUSES(KV_CACHE_UPDATE, "an axis behind the first", LIST(cache, cache), WITH(INTS("axis", 0)));
  REFUSES(KV_CACHE_UPDATE, "update [2, 3, 9, 4]", LIST(cache, S(FLOAT16, 2, 3, 9, 4)),
          NO_ATTRIBUTES);
}

static void test_embeddings(void) {
  const wia_shape_t table = S(FLOAT32, 9, 4);
  GIVES(EMBEDDING, S(FLOAT32, 2, 3, 4), LIST(table, S(INT32, 2, 3)), NO_ATTRIBUTES);
  GIVES(EMBEDDING, S(FLOAT32, 4), LIST(table, R0(INT64)), NO_ATTRIBUTES);
  REFUSES(EMBEDDING, "expected rank 0 to 7", LIST(table, S(INT32, 1, 1, 1, 1, 1, 1, 1, 1)),
          NO_ATTRIBUTES);
  GIVES(EMBEDDING_BAG, S(FLOAT32, 3, 4), LIST(table, S(INT64, 7), S(INT64, 3)), NO_ATTRIBUTES);
  REFUSES(EMBEDDING_BAG, "factors are given, and mode is not sum",
          LIST(table, S(INT64, 7), S(INT64, 3), S(FLOAT32, 7)), WITH(INTS("mode", 1)));
}

static void test_layers(void) {
  const wia_shape_t x = S(FLOAT32, 7, 3, 5), w = S(FLOAT32, 2, 16, 5), r = S(FLOAT32, 2, 16, 4);
  const wia_shape_t bias = S(FLOAT32, 2, 32), state = S(FLOAT32, 2, 3, 4);
  GIVES(LSTM, S(FLOAT32, 7, 2, 3, 4),
        LIST(x, w, r, bias, S(INT32, 3), state, state, S(FLOAT32, 2, 12)),
        WITH(INTS("direction", 2)));
  GIVES(LSTM, S(FLOAT32, 7, 3, 2, 4), LIST(x, w, r), WITH(INTS("direction", 2), INTS("layout", 1)));
  GIVES(GRU, S(FLOAT32, 7, 1, 3, 4), LIST(x, S(FLOAT32, 1, 12, 5), S(FLOAT32, 1, 12, 4)),
        NO_ATTRIBUTES);
  REFUSES(LSTM, "r has the shape [2, 16, 4]; expected [1, 16, 4]", LIST(x, w, r), NO_ATTRIBUTES);
  REFUSES(LSTM, "w has the shape [2, 16, 6]; expected [2, 16, 5]", LIST(x, S(FLOAT32, 2, 16, 6), r),
          WITH(INTS("direction", 2)));
}

static void test_more_layers(void) {
  const wia_shape_t x = S(FLOAT32, 7, 3, 5), w = S(FLOAT32, 1, 4, 5), r = S(FLOAT32, 1, 4, 4);
  REFUSES(RNN, "activations has 2 elements; expected 1", LIST(x, w, r),
          WITH(INTS("activations", 1, 2)));
  REFUSES(RNN, "lengths has the shape [7]; expected [3]", LIST(x, w, r, ABSENT, S(INT32, 7)),
          NO_ATTRIBUTES);
  REFUSES(RNN, "the hidden size is", LIST(x, w, S(FLOAT32, 1, 4, INT64_MAX)), NO_ATTRIBUTES);
  REFUSES(RNN, "activations[0] is 12; expected 0 to 11", LIST(x, w, r),
          WITH(INTS("activations", 12)));
  GIVES(RNN_CELL, S(FLOAT32, 3, 4),
        LIST(S(FLOAT32, 3, 5), S(FLOAT32, 3, 4), S(FLOAT32, 4, 5), S(FLOAT32, 4, 4)),
        NO_ATTRIBUTES);
  REFUSES(GRU_CELL, "r has the shape [4, 4]; expected [12, 4]",
          LIST(S(FLOAT32, 3, 5), S(FLOAT32, 3, 4), S(FLOAT32, 12, 5), S(FLOAT32, 4, 4)),
          NO_ATTRIBUTES);
}

int main(void) {
  test_attention();
  test_positions();
  test_embeddings();
  test_layers();
  test_more_layers();
  return CHECK_DONE();
}
