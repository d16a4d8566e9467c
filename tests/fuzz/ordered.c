/* ordered.c: a thread that keeps what its tensors hold in a model of its own.
 *
 * Work goes to several streams. Each enqueue first orders its stream behind the work on other streams
 * that it depends on, by an event, and only then: what is not needed isn't waited for. So a value that
 * differs is an order that the library didn't keep, and a race that the thread sanitizer sees is too. */
#include "calls.h"
#include "groups.h"

enum { TENSORS = 6, STREAMS = 3, EVENTS = 3, COUNT = 8, SOURCES = 16 };
enum {
  LEAST_LIMIT = 4 << 20
}; /* a segment, and all tensors that a thread ever has without a pool */

typedef struct stream_t {
  wia_stream_t *handle;
  uint64_t sequence;      /* of the last enqueued */
  uint64_t seen[STREAMS]; /* of each stream, the last that this one is behind */
  uint32_t told;          /* host functions that ran, in their order */
  uint32_t given;
} stream_t;

typedef struct tensor_t {
  wia_tensor_t handle;
  void *memory; /* that it wraps; NULL: its own */
  float values[COUNT];
  uint64_t used[STREAMS];    /* the last work of each stream that touches it */
  uint64_t written[STREAMS]; /* that writes it */
} tensor_t;

typedef struct ordered_t {
  calls_thread_t *thread;
  wia_context_t *context;
  stream_t streams[STREAMS];
  tensor_t tensors[TENSORS];
  wia_event_t *events[EVENTS];
  wia_plan_t *plan, *group;
  float sources[SOURCES][COUNT]; /* of writes in flight */
  uint32_t source_uses;
} ordered_t;

static void expect(ordered_t *o, wia_status_t status, const char *what) {
  if (status) calls_wrong(o->thread, what, status);
}
#define EXPECT(call) expect(o, call, #call)

static uint32_t pick(ordered_t *o, uint32_t bound) { return fuzz_below(&o->thread->random, bound); }

static void put_behind(ordered_t *o, uint32_t s, uint32_t other) {
  stream_t *stream = &o->streams[s], *before = &o->streams[other];
  wia_event_t *event = o->events[pick(o, EVENTS)];
  EXPECT(wia_record_event(event, before->handle));
  EXPECT(wia_enqueue_wait(stream->handle, event));
  before->seen[other] = before->sequence;
  for (uint32_t i = 0; i < STREAMS; i++)
    if (stream->seen[i] < before->seen[i]) stream->seen[i] = before->seen[i];
}

/* Before work on stream s that reads, or writes, a tensor. */
static void depend(ordered_t *o, uint32_t s, tensor_t *tensor, bool writes) {
  for (uint32_t i = 0; i < STREAMS; i++) {
    const uint64_t needed = writes ? tensor->used[i] : tensor->written[i];
    if (i != s && needed > o->streams[s].seen[i]) put_behind(o, s, i);
  }
}

static void note(ordered_t *o, uint32_t s, tensor_t *tensor, bool writes) {
  tensor->used[s] = o->streams[s].sequence;
  if (writes) tensor->written[s] = o->streams[s].sequence;
}

static void make_tensor(ordered_t *o, tensor_t *tensor) {
  *tensor = (tensor_t){0};
  EXPECT(
      wia_allocate_tensor(o->context, (const int64_t[]){COUNT}, 1, WIA_FLOAT32, &tensor->handle));
  for (uint32_t i = 0; i < COUNT; i++) tensor->values[i] = (float)pick(o, 100);
  EXPECT(wia_write_tensor(tensor->handle, tensor->values, sizeof tensor->values, NULL));
}

static void compare(ordered_t *o, const tensor_t *tensor, const float *values) {
  for (uint32_t i = 0; i < COUNT; i++) {
    if (values[i] == tensor->values[i]) continue;
    printf("element %u is %g; expected %g\n", i, (double)values[i], (double)tensor->values[i]);
    calls_wrong(o->thread, "a tensor holds what was written last", WIA_STATUS_OK);
    return;
  }
}

/* A read without a stream waits for all work in flight on the tensor by itself. */
static void read_now(ordered_t *o, tensor_t *tensor) {
  float values[COUNT];
  EXPECT(wia_read_tensor(tensor->handle, values, sizeof values, NULL));
  compare(o, tensor, values);
}

static void read_on(ordered_t *o, uint32_t s, tensor_t *tensor) {
  float values[COUNT];
  depend(o, s, tensor, false);
  EXPECT(wia_read_tensor(tensor->handle, values, sizeof values, o->streams[s].handle));
  EXPECT(wia_synchronize_stream(o->streams[s].handle, INT64_MAX));
  compare(o, tensor, values);
}

static void synchronize(ordered_t *o) {
  for (uint32_t s = 0; s < STREAMS; s++)
    EXPECT(wia_synchronize_stream(o->streams[s].handle, INT64_MAX));
  for (uint32_t s = 0; s < STREAMS; s++)
    for (uint32_t i = 0; i < STREAMS; i++) o->streams[s].seen[i] = o->streams[i].sequence;
  o->source_uses = 0;
}

static void write_on(ordered_t *o, uint32_t s, tensor_t *tensor) {
  if (o->source_uses == SOURCES) synchronize(o);
  float *source = o->sources[o->source_uses++];
  depend(o, s, tensor, true);
  for (uint32_t i = 0; i < COUNT; i++) tensor->values[i] = source[i] = (float)pick(o, 100);
  EXPECT(wia_write_tensor(tensor->handle, source, sizeof tensor->values, o->streams[s].handle));
}

static void fill_on(ordered_t *o, uint32_t s, tensor_t *tensor) {
  const float value = (float)pick(o, 100);
  wia_tensor_info_t info = WIA_TENSOR_INFO_INIT;
  depend(o, s, tensor, true);
  EXPECT(wia_get_tensor_info(tensor->handle, &info));
  EXPECT(wia_fill_memory((void *)(uintptr_t)info.address, &value, sizeof value, info.size,
                         o->streams[s].handle));
  for (uint32_t i = 0; i < COUNT; i++) tensor->values[i] = value;
}

static void copy_on(ordered_t *o, uint32_t s, tensor_t *to, tensor_t *from) {
  wia_tensor_info_t a = WIA_TENSOR_INFO_INIT, b = WIA_TENSOR_INFO_INIT;
  depend(o, s, to, true);
  depend(o, s, from, false);
  EXPECT(wia_get_tensor_info(to->handle, &a));
  EXPECT(wia_get_tensor_info(from->handle, &b));
  EXPECT(wia_copy_device_to_device((void *)(uintptr_t)a.address, (void *)(uintptr_t)b.address,
                                   a.size, o->streams[s].handle));
  memcpy(to->values, from->values, sizeof to->values);
}

/* to = a - b; or b backwards, through a view that ends before the work does. */
static void compute_on(ordered_t *o, uint32_t s, tensor_t *to, tensor_t *a, tensor_t *b) {
  const bool backwards = pick(o, 4) == 0 && b != to;
  wia_tensor_t second = b->handle;
  float values[COUNT];
  if (backwards)
    EXPECT(wia_view_tensor(b->handle, COUNT - 1, (const int64_t[]){COUNT}, (const int64_t[]){-1}, 1,
                           &second));
  depend(o, s, to, true);
  depend(o, s, a, false);
  depend(o, s, b, false);
  wia_stream_t *stream = o->streams[s].handle;
  if (to != a && to != b && a != b && !backwards && pick(o, 2))
    EXPECT(wia_execute_plan(o->plan, (wia_tensor_t[]){a->handle, second, to->handle}, 3, NULL, 0,
                            stream));
  else
    EXPECT(wia_execute(o->context, WIA_OP_SUB, (wia_tensor_t[]){a->handle, second}, 2, &to->handle,
                       1, NULL, 0, stream));
  for (uint32_t i = 0; i < COUNT; i++)
    values[i] = a->values[i] - b->values[backwards ? COUNT - 1 - i : i];
  memcpy(to->values, values, sizeof values);
  if (backwards) EXPECT(wia_destroy_tensor(second));
}

/* to = (a - b) - a, as a group; the operands are three tensors. */
static void group_on(ordered_t *o, uint32_t s, tensor_t *to, tensor_t *a, tensor_t *b) {
  depend(o, s, to, true);
  depend(o, s, a, false);
  depend(o, s, b, false);
  EXPECT(wia_execute_plan(o->group, (wia_tensor_t[]){a->handle, b->handle, to->handle}, 3, NULL, 0,
                          o->streams[s].handle));
  for (uint32_t i = 0; i < COUNT; i++) to->values[i] = (a->values[i] - b->values[i]) - a->values[i];
}

static wia_status_t count_function(void *context, wia_status_t status, wia_error_t *out_error) {
  (void)out_error;
  stream_t *stream = context;
  atomic_fetch_add(&calls_kept, status == WIA_STATUS_OK);
  stream->told++; /* without a lock: the stream's order is what makes it right */
  return WIA_STATUS_OK;
}

static void enqueue_function(ordered_t *o, uint32_t s) {
  stream_t *stream = &o->streams[s];
  EXPECT(wia_enqueue_host_function(stream->handle, count_function, stream));
  atomic_fetch_add(&calls_promised, 1);
  stream->given++;
}

/* Its work goes on; the others are put behind it while that can be said. */
static void replace_stream(ordered_t *o, uint32_t s) {
  stream_t *stream = &o->streams[s];
  for (uint32_t i = 0; i < STREAMS; i++)
    if (i != s) put_behind(o, i, s);
  EXPECT(wia_synchronize_stream(stream->handle, INT64_MAX)); /* of its functions, told is read */
  EXPECT(wia_destroy_stream(stream->handle));
  EXPECT(wia_create_stream(&stream->handle, o->context));
  for (uint32_t i = 0; i < STREAMS; i++) o->streams[i].seen[s] = stream->sequence;
}

/* Work in flight keeps the memory, whichever stream frees it. */
static void end_tensor(ordered_t *o, const tensor_t *tensor) {
  const bool first = pick(o, 2);
  wia_stream_t *stream = o->streams[pick(o, STREAMS)].handle;
  if (first) EXPECT(wia_destroy_tensor(tensor->handle));
  if (tensor->memory && pick(o, 4))
    EXPECT(wia_free_async(tensor->memory, stream));
  else
    EXPECT(wia_free(tensor->memory));
  if (!first) EXPECT(wia_destroy_tensor(tensor->handle));
}

/* Memory that is the stream's at once, whatever others still do with it. */
static void make_tensor_on(ordered_t *o, uint32_t s, tensor_t *tensor) {
  const int64_t shape[] = {COUNT};
  wia_stream_t *stream = o->streams[s].handle;
  *tensor = (tensor_t){0};
  if (pick(o, 2)) {
    EXPECT(wia_allocate_tensor_async(o->context, shape, 1, WIA_FLOAT32, stream, &tensor->handle));
  } else {
    EXPECT(wia_malloc_async(o->context, sizeof tensor->values, NULL, stream, &tensor->memory));
    EXPECT(
        wia_wrap_tensor(o->context, tensor->memory, shape, NULL, 1, WIA_FLOAT32, &tensor->handle));
  }
  write_on(o, s, tensor);
  o->streams[s].sequence++;
  note(o, s, tensor, true);
}

static void replace_tensor(ordered_t *o, uint32_t s, tensor_t *tensor) {
  end_tensor(o, tensor);
  if (pick(o, 4))
    make_tensor_on(o, s, tensor);
  else
    make_tensor(o, tensor);
}

static bool is_large(const tensor_t *tensor) {
  for (uint32_t i = 0; i < COUNT; i++) {
    if (tensor->values[i] > 1e6f || tensor->values[i] < -1e6f) return true;
  }
  return false;
}

static void step(ordered_t *o) {
  const uint32_t s = pick(o, STREAMS);
  tensor_t *to = &o->tensors[pick(o, TENSORS)], *a = &o->tensors[pick(o, TENSORS)],
           *b = &o->tensors[pick(o, TENSORS)];
  uint32_t what = pick(o, 20);
  if (is_large(a) || is_large(b)) { /* of such a difference float32 would round */
    to = is_large(a) ? a : b;
    what = 8;
  }
  const bool apart = to != a && to != b && a != b;
  if (what < 5) {
    compute_on(o, s, to, a, b);
  } else if (what < 7 && apart) {
    group_on(o, s, to, a, b);
  } else if (what < 9) {
    write_on(o, s, to);
    a = b = to;
  } else if (what == 9) {
    fill_on(o, s, to);
    a = b = to;
  } else if (what < 12 && apart) {
    copy_on(o, s, to, a);
    b = a;
  } else {
    switch (what) {
    case 12:
      read_now(o, to);
      break;
    case 13:
      read_on(o, s, to);
      break;
    case 14:
    case 15:
      enqueue_function(o, s);
      break;
    case 16:
      replace_tensor(o, s, to);
      break;
    case 17:
      if (pick(o, 4) == 0) replace_stream(o, s);
      break;
    case 18:
      EXPECT(pools_call(o->thread, o->context, LEAST_LIMIT));
      break;
    default:
      EXPECT(wia_get_tensor_info(to->handle,
                                 &(wia_tensor_info_t){.struct_size = sizeof(wia_tensor_info_t)}));
    }
    return;
  }
  o->streams[s].sequence++; /* only now: what was ordered meanwhile is behind earlier work */
  note(o, s, to, true);
  note(o, s, a, false);
  note(o, s, b, false);
}

static void start(ordered_t *o) {
  static const groups_node_t nodes[] = {
      {WIA_OP_SUB, {0, 1, NONE}, 2}, {WIA_OP_SUB, {2, 0, NONE}, 3}, {0}};
  EXPECT(wia_create_context(&o->context, core_id(pick(o, CORE_ALL_COUNT))));
  for (uint32_t i = 0; i < STREAMS; i++)
    EXPECT(wia_create_stream(&o->streams[i].handle, o->context));
  for (uint32_t i = 0; i < EVENTS; i++) EXPECT(wia_create_event(&o->events[i], o->context));
  for (uint32_t i = 0; i < TENSORS; i++) make_tensor(o, &o->tensors[i]);
  wia_tensor_t operands[] = {o->tensors[0].handle, o->tensors[1].handle};
  EXPECT(wia_create_operation_plan(o->context, WIA_OP_SUB, operands, 2, &o->tensors[2].handle, 1,
                                   NULL, 0, &o->plan));
  groups_t *groups = malloc(sizeof *groups);
  if (!groups) abort();
  groups_build(groups, calls_layout, 2, nodes);
  EXPECT(wia_create_plan(o->context, &groups->group, &o->group));
  free(groups);
}

void ordered_run(calls_thread_t *t) {
  ordered_t *o = calloc(1, sizeof *o);
  if (!o) abort();
  o->thread = t;
  start(o);
  for (; t->call < t->calls && !t->wrong; t->call++) step(o);
  if (!t->wrong) {
    for (uint32_t i = 0; i < TENSORS; i++) read_now(o, &o->tensors[i]);
  }
  for (uint32_t i = 0; i < TENSORS; i++) end_tensor(o, &o->tensors[i]);
  synchronize(o);
  for (uint32_t i = 0; i < STREAMS; i++) {
    if (o->streams[i].told != o->streams[i].given)
      calls_wrong(t, "each host function runs once", WIA_STATUS_OK);
    EXPECT(wia_destroy_stream(o->streams[i].handle));
  }
  for (uint32_t i = 0; i < EVENTS; i++) EXPECT(wia_destroy_event(o->events[i]));
  EXPECT(wia_destroy_plan(o->plan));
  EXPECT(wia_destroy_plan(o->group));
  EXPECT(wia_destroy_context(o->context));
  free(o);
}
