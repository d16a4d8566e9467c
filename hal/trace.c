/* trace.c: the rings that spans are recorded in. */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "object.h"
#include "platform.h"

enum { THREAD_SHIFT = 36, MAX_RANGES = 64 };

typedef struct range_t {
  int64_t begin_ns;
  uint64_t outer; /* the id of the range around it */
  char name[WIA_PROFILE_NAME_SIZE];
} range_t;

/* Never freed, as the thread's record that has it; its events are. */
struct wia__ring_t {
  pthread_mutex_t mutex; /* guards events, capacity and written */
  wia__event_t *events;
  uint64_t capacity, written;
  uint32_t index;
  wia__ring_t *next;
  /* the thread's own */
  uint64_t thread; /* 0: not asked yet */
  uint32_t depth;
  range_t ranges[MAX_RANGES];
};

_Atomic uint32_t wia__layers;

/* Guards the list and the number of sessions, and is taken before the rings' own. */
static pthread_mutex_t rings_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t session_count; /* the layer's bit is set while there are any */
static wia__ring_t *rings;
static uint32_t ring_count;
static _Atomic uint32_t ring_capacity;
static _Atomic uint32_t stream_count;

int64_t wia__trace_now(void) { return wia__now_ns(); }

/* -- recording --------------------------------------------------------------------------------- */

static wia__ring_t *make_ring(void) {
  wia__ring_t *ring = calloc(1, sizeof *ring);
  if (!ring) return NULL;
  pthread_mutex_init(&ring->mutex, NULL);
  pthread_mutex_lock(&rings_mutex);
  ring->index = ring_count++;
  ring->next = rings;
  rings = ring;
  pthread_mutex_unlock(&rings_mutex);
  return ring;
}

static wia__ring_t *own_ring(wia__trace_t *trace) {
  if (!trace->ring) trace->ring = make_ring();
  if (trace->ring && !trace->ring->thread) trace->ring->thread = wia__thread_id();
  return trace->ring;
}

static void copy_name(char *out_name, const char *name) {
  size_t i = 0;
  for (; i < WIA_PROFILE_NAME_SIZE - 1 && name[i]; i++) out_name[i] = name[i];
  /* a character of several bytes is left out whole */
  if (name[i])
    while (i && ((unsigned char)name[i] & 0xc0) == 0x80) i--;
  out_name[i] = '\0';
}

/* Without memory for the ring the event is lost, and counted. */
static void record(wia__ring_t *ring, const wia__event_t *event, const char *name) {
  pthread_mutex_lock(&ring->mutex);
  if (wia__is_tracing()) {
    if (!ring->events) {
      const uint32_t capacity = atomic_load(&ring_capacity);
      ring->events = malloc(capacity * sizeof *ring->events);
      ring->capacity = ring->events ? capacity : 0;
    }
    if (ring->events) {
      wia__event_t *place = &ring->events[ring->written % ring->capacity];
      memcpy(place, event, offsetof(wia__event_t, name));
      copy_name(place->name, name);
    }
    ring->written++;
  }
  pthread_mutex_unlock(&ring->mutex);
}

void wia__end_span(int32_t kind, int64_t begin_ns, const char *name, int32_t device, int32_t peer,
                   uint64_t size) {
  wia__trace_t *trace = &wia__thread()->trace;
  wia__ring_t *ring = own_ring(trace);
  if (!ring) return;
  if (device >= 0) trace->device = device;
  const wia__event_t event = {.begin_ns = begin_ns,
                              .end_ns = wia__now_ns(),
                              .correlation = trace->correlation,
                              .range = trace->range,
                              .thread = ring->thread,
                              .size = size,
                              .stream = trace->stream,
                              .kind = kind,
                              .device = device,
                              .peer = peer};
  record(ring, &event, name);
}

void wia__begin_call(wia__frame_t *frame) {
  wia__thread_t *self = wia__thread();
  wia__trace_t *trace = &self->trace;
  frame->outer = *trace;
  trace->correlation = (uint64_t)(self->number + 1) << THREAD_SHIFT | ++trace->call_count;
  trace->stream = 0;
  trace->device = -1;
  frame->begin_ns = wia__begin_span();
}

/* The ranges may have changed meanwhile, so range stays. */
void wia__end_call(const wia__frame_t *frame, const char *name) {
  wia__trace_t *trace = &wia__thread()->trace;
  if (frame->begin_ns) wia__end_span(WIA_PROFILE_CALL, frame->begin_ns, name, trace->device, -1, 0);
  trace->correlation = frame->outer.correlation;
  trace->stream = frame->outer.stream;
  trace->device = frame->outer.device;
}

/* -- work of streams --------------------------------------------------------------------------- */

uint32_t wia__next_stream_number(void) { return atomic_fetch_add(&stream_count, 1) + 1; }

void wia__trace_enqueue(wia__origin_t *out_origin, int32_t device) {
  wia__trace_t *trace = &wia__thread()->trace;
  trace->device = device;
  out_origin->correlation = trace->correlation;
  out_origin->range = trace->range;
}

void wia__begin_work(const wia__origin_t *origin) {
  wia__trace_t *trace = &wia__thread()->trace;
  trace->correlation = origin->correlation;
  trace->range = origin->range;
}

void wia__end_work(void) {
  wia__trace_t *trace = &wia__thread()->trace;
  trace->correlation = trace->range = 0;
}

void wia__trace_submitted(int32_t kind, const wia__origin_t *origin, const char *name,
                          int32_t device, uint32_t stream, int64_t *last_ns) {
  wia__ring_t *ring = own_ring(&wia__thread()->trace);
  const int64_t after_ns = *last_ns;
  *last_ns = wia__now_ns();
  if (!ring) return;
  const wia__event_t event = {.begin_ns =
                                  origin->submitted_ns > after_ns ? origin->submitted_ns : after_ns,
                              .end_ns = *last_ns,
                              .correlation = origin->correlation,
                              .range = origin->range,
                              .thread = ring->thread,
                              .stream = stream,
                              .kind = kind,
                              .device = device,
                              .peer = -1};
  record(ring, &event, name);
}

/* -- ranges ------------------------------------------------------------------------------------ */

static wia_status_t push_range(const char *name, uint64_t correlation_id) {
  if (!name) return wia__null("name");
  wia__trace_t *trace = &wia__thread()->trace;
  wia__ring_t *ring = own_ring(trace);
  if (!ring) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a range");
  if (ring->depth == MAX_RANGES)
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED,
                     "range \"%.40s\" would be number %d on this thread; expected at most %d: pop "
                     "one first",
                     name, MAX_RANGES + 1, MAX_RANGES);
  range_t *range = &ring->ranges[ring->depth++];
  range->begin_ns = wia__now_ns();
  range->outer = trace->range;
  copy_name(range->name, name);
  trace->range = correlation_id;
  return WIA_STATUS_OK;
}

static wia_status_t pop_range(void) {
  wia__trace_t *trace = &wia__thread()->trace;
  wia__ring_t *ring = trace->ring;
  if (!ring || !ring->depth)
    return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                     "no range is open on this thread; push one with wia_push_range() first");
  const range_t *range = &ring->ranges[--ring->depth];
  /* a range belongs to the thread, also where a stream's work opened it */
  const wia__trace_t was = *trace;
  trace->stream = 0;
  trace->correlation = 0;
  if (wia__is_tracing()) wia__end_span(WIA_PROFILE_RANGE, range->begin_ns, range->name, -1, -1, 0);
  trace->stream = was.stream;
  trace->correlation = was.correlation;
  trace->range = range->outer;
  return WIA_STATUS_OK;
}

void wia__copy_range_name(char *out_name) {
  const wia__ring_t *ring = wia__thread()->trace.ring;
  if (ring && ring->depth)
    memcpy(out_name, ring->ranges[ring->depth - 1].name, WIA_PROFILE_NAME_SIZE);
  else
    out_name[0] = '\0';
}

/* Not calls that are traced themselves: their spans would cross those of the ranges. */
WIA_API wia_status_t wia_push_range(const char *name, uint64_t correlation_id) {
  wia__thread_t *self = wia__thread();
  const char *outer = self->function;
  self->function = __func__;
  const wia_status_t status = push_range(name, correlation_id);
  self->function = outer;
  return status;
}

WIA_API wia_status_t wia_pop_range(void) {
  wia__thread_t *self = wia__thread();
  const char *outer = self->function;
  self->function = __func__;
  const wia_status_t status = pop_range();
  self->function = outer;
  return status;
}

void wia__forget_thread(wia__trace_t *trace) {
  wia__ring_t *ring = trace->ring;
  if (ring) ring->depth = 0;
  if (ring) ring->thread = 0;
  *trace = (wia__trace_t){.ring = ring, .call_count = trace->call_count};
}

/* -- windows ----------------------------------------------------------------------------------- */

bool wia__open_window(wia__window_t *window, uint32_t capacity) {
  bool done = false;
  pthread_mutex_lock(&rings_mutex);
  window->marks = calloc(ring_count + 1, sizeof *window->marks);
  if (window->marks) {
    window->mark_count = ring_count;
    for (wia__ring_t *ring = rings; ring; ring = ring->next) {
      pthread_mutex_lock(&ring->mutex);
      window->marks[ring->index] = ring->written;
      pthread_mutex_unlock(&ring->mutex);
    }
    if (!session_count) atomic_store(&ring_capacity, capacity);
    window->begin_ns = wia__now_ns();
    if (session_count++ == 0) wia__set_layer(WIA__LAYER_TRACE, true);
    done = true;
  }
  pthread_mutex_unlock(&rings_mutex);
  return done;
}

typedef struct list_t {
  wia__event_t *events;
  uint64_t count, capacity;
} list_t;

static bool append(list_t *list, const wia__event_t *event) {
  if (list->count == list->capacity) {
    const uint64_t capacity = list->capacity ? 2 * list->capacity : 256;
    wia__event_t *grown = realloc(list->events, capacity * sizeof *grown);
    if (!grown) return false;
    list->events = grown;
    list->capacity = capacity;
  }
  list->events[list->count++] = *event;
  return true;
}

bool wia__read_window(wia__window_t *window, bool (*wanted)(void *context, const wia__event_t *),
                      void *context, wia__event_t **out_events, uint64_t *out_count,
                      uint64_t *out_lost) {
  list_t list = {0};
  uint64_t lost = 0;
  bool enough = true;
  pthread_mutex_lock(&rings_mutex);
  window->end_ns = wia__now_ns();
  for (wia__ring_t *ring = rings; ring && enough; ring = ring->next) {
    pthread_mutex_lock(&ring->mutex);
    uint64_t at = ring->index < window->mark_count ? window->marks[ring->index] : 0;
    if (ring->written - at > ring->capacity) {
      lost += ring->written - at - ring->capacity;
      at = ring->written - ring->capacity;
    }
    for (; at < ring->written && enough; at++) {
      const wia__event_t *event = &ring->events[at % ring->capacity];
      if (event->end_ns >= window->begin_ns && event->end_ns <= window->end_ns &&
          wanted(context, event))
        enough = append(&list, event);
    }
    pthread_mutex_unlock(&ring->mutex);
  }
  pthread_mutex_unlock(&rings_mutex);
  if (!enough) {
    free(list.events);
    return false;
  }
  *out_events = list.events;
  *out_count = list.count;
  *out_lost = lost;
  return true;
}

/* Under rings_mutex. */
static void free_events(void) {
  for (wia__ring_t *ring = rings; ring; ring = ring->next) {
    pthread_mutex_lock(&ring->mutex);
    free(ring->events);
    ring->events = NULL;
    ring->capacity = ring->written = 0;
    pthread_mutex_unlock(&ring->mutex);
  }
}

void wia__close_window(wia__window_t *window) {
  pthread_mutex_lock(&rings_mutex);
  if (--session_count == 0) {
    wia__set_layer(WIA__LAYER_TRACE, false);
    free_events();
  }
  pthread_mutex_unlock(&rings_mutex);
  free(window->marks);
  window->marks = NULL;
}

/* The child has no sessions: nobody there could stop them. */
void wia__fork_trace(wia__fork_t stage) {
  if (stage == WIA__FORK_BEFORE) {
    pthread_mutex_lock(&rings_mutex);
    for (wia__ring_t *ring = rings; ring; ring = ring->next) pthread_mutex_lock(&ring->mutex);
    return;
  }
  for (wia__ring_t *ring = rings; ring; ring = ring->next) pthread_mutex_unlock(&ring->mutex);
  if (stage == WIA__FORK_CHILD) {
    session_count = 0;
    wia__set_layer(WIA__LAYER_TRACE, false);
    free_events();
    for (wia__ring_t *ring = rings; ring; ring = ring->next) ring->thread = 0;
  }
  pthread_mutex_unlock(&rings_mutex);
}
