/* Groups that no one kernel computes: split, placed, their scalars, run on streams and threads. */
#include "core_group.h"

/* On every sort of device: memory without addresses, one call at a time, addresses of its own. */
static void test_devices(void) {
  for (uint32_t device = 0; device <= CORE_BARE; device++) {
    wia_context_t *mine = core_context(device), *other = context;
    context = mine;
    wia_tensor_t a = core_tensor(mine, 8, 3), b = core_tensor(mine, 8, 1);
    wia_tensor_t c = core_tensor(mine, 8, 0), out = core_tensor(mine, 8, 0);
    groups_t g;
    groups_build(&g, groups_layout(a), 3, mixed);
    wia_plan_t *plan = make(&g);
    EXECUTE(plan, NULL, a, b, c, out);
    CHECK(core_has(out, -1, 1)); /* 2 c - b */
    wia_stream_t *stream = NULL;
    CHECK_STATUS(wia_create_stream(&stream, mine), WIA_STATUS_OK);
    for (uint32_t i = 0; i < 20; i++) EXECUTE(plan, stream, a, b, i % 2 ? c : a, out);
    CHECK(core_has(out, -1, 1));
    CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
    destroy(plan);
    const wia_tensor_t all[] = {a, b, c, out};
    for (uint32_t i = 0; i < 4; i++) core_destroy(all[i]);
    context = other;
    CHECK_STATUS(wia_destroy_context(mine), WIA_STATUS_OK);
  }
}

/* The driver is asked for the whole once, and for nothing that it has prepared for single calls. */
static void test_counts(void) {
  wia_tensor_t a = core_tensor(context, 5, 0), out = core_tensor(context, 5, 0);
  groups_t g;
  groups_build(&g, groups_layout(a), 3, mixed);
  uint32_t prepares = core.prepares;
  wia_plan_t *plan = make(&g);
  CHECK(core.prepares == prepares + 1 + 3); /* sub is there twice */
  wia_plan_info_t info = groups_info(plan);
  CHECK(info.kernel_count == 4 && strcmp(info.name, "sub, relu, mul, sub") == 0);
  CHECK(info.flops == 48 && info.time_ns < 0 && info.flags == core.kernel_flags);
  CHECK(info.input_count == 3 && info.output_count == 1 && info.scalar_count == 0);
  destroy(plan);
  prepares = core.prepares;
  plan = make(&g);
  CHECK(core.prepares == prepares + 1);
  const uint32_t launches = core.launches;
  EXECUTE(plan, NULL, a, a, a, out);
  CHECK(core.launches == launches + 4);
  destroy(plan);
  core_destroy(a);
  core_destroy(out);
}

/* a + b, then eight relus: two values at a time, whatever the length of the chain. */
static void test_workspace(void) {
  groups_node_t chain[10] = {{ADD, {0, 1, NONE}, 2}};
  for (uint32_t i = 1; i < 9; i++) chain[i] = (groups_node_t){RELU, {i + 1, NONE, NONE}, i + 2};
  wia_tensor_t a = core_tensor(context, 1024, 0), out = core_tensor(context, 1024, 0);
  groups_t g;
  groups_build(&g, groups_layout(a), 2, chain);
  wia_plan_t *plan = make(&g);
  CHECK(groups_info(plan).kernel_count == 9 && groups_info(plan).workspace_size == 2 * 4096);
  const uint32_t allocations = core.allocations;
  for (uint32_t i = 0; i < 10; i++) EXECUTE(plan, NULL, a, a, out);
  CHECK(core.allocations == allocations + 1);
  CHECK(core_has(out, 0, 2));
  destroy(plan);
  /* three that are read at the end, and one that nobody reads */
  const groups_node_t wide[] = {{RELU, {0, NONE, NONE}, 2}, {RELU, {1, NONE, NONE}, 3},
                                {ADD, {0, 0, NONE}, 4},     {SUB, {2, 3, NONE}, 5},
                                {MUL, {5, 4, NONE}, 6},     {0}};
  groups_build(&g, groups_layout(a), 2, wide);
  plan = make(&g);
  CHECK(groups_info(plan).workspace_size == 4 * 4096);
  EXECUTE(plan, NULL, a, a, out); /* (relu(a) - relu(a)) (a + a) */
  CHECK(core_has(out, 0, 0));
  destroy(plan);
  core_destroy(a);
  core_destroy(out);
}

/* Values of other sizes, reversed, of rank 0, and without elements. */
static void test_layouts(void) {
  const struct {
    uint32_t rank;
    int64_t shape[2], strides[2];
  } forms[] = {{2, {3, 5}, {-5, -1}}, {2, {3, 5}, {1, 3}}, {2, {3, 5}, {20, 2}},
               {0, {0}, {0}},         {2, {0, 5}, {5, 1}}, {2, {1, 1}, {7, 9}}};
  for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    wia_tensor_t base[4], view[4];
    const int64_t offsets[] = {20, 0, 0, 0, 0, 0};
    for (uint32_t j = 0; j < 4; j++) {
      base[j] = core_tensor(context, 64, (float)j);
      CHECK_STATUS(wia_view_tensor(base[j], offsets[i], forms[i].shape, forms[i].strides,
                                   forms[i].rank, &view[j]),
                   WIA_STATUS_OK);
    }
    groups_t g;
    groups_build(&g, groups_layout(view[0]), 3, mixed);
    wia_plan_t *plan = make(&g);
    EXECUTE(plan, NULL, view[1], view[0], view[2], view[3]);
    float values[64];
    CHECK_STATUS(wia_read_tensor(base[3], values, sizeof values, NULL), WIA_STATUS_OK);
    uint32_t written = 0; /* relu((x + 1) - x) (x + 2) - x is 2; base 3 had x + 3 */
    for (uint32_t x = 0; x < 64; x++) {
      written += values[x] == 2;
      CHECK(values[x] == 2 || values[x] == (float)(x + 3));
    }
    CHECK(written == groups_layout(view[0])->element_count);
    destroy(plan);
    for (uint32_t j = 0; j < 4; j++) {
      core_destroy(view[j]);
      core_destroy(base[j]);
    }
  }
}

/* A group of one operation has the operation's own operands, whatever the group calls its inputs. */
static void test_single_nodes(void) {
  wia_tensor_t a = core_tensor(context, 6, 10), b = core_tensor(context, 6, 1);
  wia_tensor_t out = core_tensor(context, 6, 0);
  groups_t g;
  groups_build(&g, groups_layout(a), 2, (groups_node_t[]){{SUB, {1, 0, NONE}, 2}, {0}});
  wia_plan_t *plan = make(&g);
  EXECUTE(plan, NULL, a, b, out);
  CHECK(core_has(out, -9, 0)); /* b - a */
  CHECK(groups_info(plan).kernel_count == 1 && groups_info(plan).workspace_size == 0);
  destroy(plan);
  groups_build(&g, groups_layout(a), 1, (groups_node_t[]){{ADD, {0, 0, NONE}, 2}, {0}});
  plan = make(&g);
  EXECUTE(plan, NULL, a, out);
  CHECK(core_has(out, 20, 2));
  destroy(plan);
  groups_build(&g, groups_layout(a), 3, (groups_node_t[]){{SUB, {0, 2, NONE}, 4}, {0}});
  plan = make(&g); /* value 1 is an input that nobody reads */
  EXECUTE(plan, NULL, a, a, b, out);
  CHECK(core_has(out, 9, 0));
  destroy(plan);
  g.inputs[1] = 0;
  check_refused(&g, bad, "input 1 names a value for the second time");
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_ANY_SHAPE;
  const uint32_t prepares = core.prepares;
  for (int64_t n = 100; n < 110; n++) {
    wia_tensor_t x = core_empty(context, 1, &n);
    groups_build(&g, groups_layout(x), 3, mixed);
    destroy(make(&g));
    core_destroy(x);
  }
  CHECK(core.prepares ==
        prepares + 10 + 3); /* each whole was refused; three kernels for any shape */
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  const wia_tensor_t all[] = {a, b, out};
  for (uint32_t i = 0; i < 3; i++) core_destroy(all[i]);
}

/* -- scalars ------------------------------------------------------------------------------------- */

/* More matrix products than a kernel may have scalars, and one alpha for two of them. */
static void test_scalars(void) {
  const int64_t shape[] = {2, 2};
  wia_tensor_t a = core_empty(context, 2, shape), out = core_empty(context, 2, shape);
  const float half[] = {0.5f, 0, 0, 0.5f};
  CHECK_STATUS(wia_write_tensor(a, half, sizeof half, NULL), WIA_STATUS_OK);
  groups_node_t chain[21] = {{0}};
  for (uint32_t i = 0; i < 20; i++) chain[i] = (groups_node_t){MATMUL, {i ? i : 0, 0, NONE}, i + 1};
  groups_t g;
  groups_build(&g, groups_layout(a), 1, chain);
  const double two = 2, one = 1;
  wia_attribute_t attributes[] = {
      {.name = "alpha", .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = 0},
      {.name = "alpha", .data = &two, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = -1},
      {.name = "alpha", .data = &one, .type = WIA_ATTRIBUTE_FLOAT64, .count = 1, .scalar = -1}};
  for (uint32_t i = 0; i < 20; i++) {
    g.nodes[i].attributes = &attributes[i == 7 || i == 19 ? 0 : i == 0 ? 2 : 1];
    g.nodes[i].attribute_count = 1;
  }
  g.group.scalar_count = 1;
  wia_plan_t *plan = make(&g);
  CHECK(groups_info(plan).kernel_count == 20 && groups_info(plan).scalar_count == 1);
  for (uint32_t i = 1; i < 5; i++) {
    const wia_scalar_t alpha = {.f64 = 2 * i};
    CHECK_STATUS(wia_execute_plan(plan, (wia_tensor_t[]){a, out}, 2, &alpha, 1, NULL),
                 WIA_STATUS_OK);
    float all[4];
    CHECK_STATUS(wia_read_tensor(out, all, sizeof all, NULL), WIA_STATUS_OK);
    const float value = 0.25f * (float)(i * i); /* a quarter; half of 2 alpha, twice; else 1 */
    CHECK(all[0] == value && all[1] == 0 && all[2] == 0 && all[3] == value);
  }
  EXECUTE(plan, NULL, a, out); /* alpha's default, twice */
  float all[4];
  CHECK_STATUS(wia_read_tensor(out, all, sizeof all, NULL), WIA_STATUS_OK);
  CHECK(all[0] == 0.0625f);
  destroy(plan);
  core_destroy(a);
  core_destroy(out);
}

/* -- threads and streams ------------------------------------------------------------------------- */

enum { THREADS = 5, ROUNDS = 40 };
static wia_plan_t *shared_plan;
static int64_t shared_size;

static void *use_plan(void *argument) {
  const float first = (float)*(uint32_t *)argument;
  wia_tensor_t a = core_tensor(context, shared_size, first);
  wia_tensor_t one = core_tensor(context, shared_size, 1);
  wia_tensor_t out = core_tensor(context, shared_size, 0);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    EXECUTE(shared_plan, i % 2 ? stream : NULL, a, one, one, out);
    CHECK(i % 8 || core_has(out, first - 2, first - 2)); /* (first - 1) b - b */
  }
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(a);
  core_destroy(one);
  core_destroy(out);
  return NULL;
}

/* Launches of one plan at once don't meet in what lies between its kernels, whether those take turns
 * or not. Closing the handle lets work in flight end. */
static void test_threads(void) {
  wia_tensor_t a = core_tensor(context, 201, 0);
  groups_t g;
  for (uint32_t safe = 0; safe < 2; safe++) {
    core.kernel_flags = WIA_KERNEL_IN_PLACE | (safe ? WIA_KERNEL_THREAD_SAFE : 0);
    shared_size = 200 + safe; /* kernels of their own */
    wia_tensor_t sized = core_empty(context, 1, &shared_size);
    groups_build(&g, groups_layout(sized), 3, mixed);
    shared_plan = make(&g);
    core_destroy(sized);
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
      numbers[i] = i + 1;
      CHECK(pthread_create(&threads[i], NULL, use_plan, &numbers[i]) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    destroy(shared_plan);
  }
  core.kernel_flags = WIA_KERNEL_THREAD_SAFE | WIA_KERNEL_IN_PLACE;
  wia_tensor_t out = core_tensor(context, 201, 0);
  wia_stream_t *stream = NULL;
  CHECK_STATUS(wia_create_stream(&stream, context), WIA_STATUS_OK);
  groups_build(&g, groups_layout(a), 3, mixed);
  wia_plan_t *plan = make(&g);
  core_close_gate();
  EXECUTE(plan, stream, a, a, a, out);
  CHECK(core_await_gate(1));
  destroy(plan);
  core_open_gate();
  CHECK(core_has(out, 0, -1));
  CHECK_STATUS(wia_destroy_stream(stream), WIA_STATUS_OK);
  core_destroy(out);
  core_destroy(a);
}

static void run_tests(void) {
  test_devices();
  test_counts();
  test_workspace();
  test_layouts();
  test_single_nodes();
  test_scalars();
  test_threads();
}

int main(void) {
  run_on_plain(run_tests);
  return CHECK_DONE();
}
