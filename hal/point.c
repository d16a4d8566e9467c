/* point.c: points: what a recording of an event stands for. */
#include <stdlib.h>

#include "platform.h"
#include "stream.h"
#include "validate.h"

/* Who is told when a point is finished: a queue, with a reference, or a function. */
typedef struct subscriber_t {
  wia__queue_t *queue;
  wia_event_fn_t function;
  void *context;
  struct subscriber_t *next;
} subscriber_t;

struct wia__point_t {
  wia__object_t object;
  pthread_mutex_t mutex;
  pthread_cond_t finished;
  int32_t state;
  int64_t time_ns;
  wia__failure_t failure;
  subscriber_t *subscribers;
  struct wia__moment_t *moment; /* of the layer validate */
};

/* status: what functions are told. A point that is destroyed before it is finished has none left to
 * tell but queues that gave up waiting, and functions, for which the work will not be done. */
static void tell_subscribers(wia__point_t *point, subscriber_t *list, wia_status_t status) {
  while (list) {
    subscriber_t *next = list->next;
    if (list->queue) {
      wia__wake_queue(list->queue);
      wia__release_queue(list->queue);
    } else {
      if (wia__is_validating()) wia__validate_seen(point);
      list->function(list->context, status);
    }
    free(list);
    list = next;
  }
}

static void destroy_point(wia__object_t *object) {
  wia__point_t *point = (wia__point_t *)object;
  tell_subscribers(point, point->subscribers, WIA_STATUS_CANCELLED);
  wia__end_moment(point->moment);
  wia__free_failure(&point->failure);
  pthread_cond_destroy(&point->finished);
  pthread_mutex_destroy(&point->mutex);
  free(point);
}

wia__point_t *wia__create_point(void) {
  wia__point_t *point = calloc(1, sizeof *point);
  if (!point) return NULL;
  if (wia__init_condition(&point->finished) != 0) {
    free(point);
    return NULL;
  }
  pthread_mutex_init(&point->mutex, NULL);
  wia__init_object(&point->object, WIA__INTERNAL, destroy_point);
  point->state = WIA_EVENT_PENDING;
  return point;
}

void wia__retain_point(wia__point_t *point) { wia__retain(&point->object); }

void wia__release_point(wia__point_t *point) {
  if (point) wia__release(&point->object);
}

void wia__finish_point(wia__point_t *point, const wia__failure_t *failure) {
  subscriber_t *subscribers = NULL;
  if (wia__is_validating()) wia__validate_finish(point, failure != NULL);
  pthread_mutex_lock(&point->mutex);
  if (point->state == WIA_EVENT_PENDING) {
    if (failure) {
      wia__copy_failure(&point->failure, failure);
      point->state = WIA_EVENT_FAILED;
    } else {
      point->state = WIA_EVENT_DONE;
    }
    point->time_ns = wia__now_ns();
    subscribers = point->subscribers;
    point->subscribers = NULL;
    pthread_cond_broadcast(&point->finished);
  }
  pthread_mutex_unlock(&point->mutex);
  tell_subscribers(point, subscribers, failure ? failure->status : WIA_STATUS_OK);
}

int32_t wia__point_state(wia__point_t *point) {
  pthread_mutex_lock(&point->mutex);
  const int32_t state = point->state;
  pthread_mutex_unlock(&point->mutex);
  return state;
}

int64_t wia__point_time_ns(wia__point_t *point) {
  pthread_mutex_lock(&point->mutex);
  const int64_t time_ns = point->time_ns;
  pthread_mutex_unlock(&point->mutex);
  return time_ns;
}

struct wia__moment_t **wia__point_moment(wia__point_t *point) { return &point->moment; }

const wia__failure_t *wia__point_failure(wia__point_t *point) { return &point->failure; }

wia_status_t wia__wait_point(wia__point_t *point, int64_t timeout_ns) {
  wia__thread_t *self = wia__thread();
  const int64_t deadline_ns = wia__deadline_ns(timeout_ns);
  wia__retain_point(point);
  wia__leave(self);
  bool in_time = true;
  const int64_t begin_ns = wia__begin_span();
  pthread_mutex_lock(&point->mutex);
  while (point->state == WIA_EVENT_PENDING && in_time)
    in_time = wia__wait_condition(&point->finished, &point->mutex, deadline_ns);
  const int32_t state = point->state;
  pthread_mutex_unlock(&point->mutex);
  if (begin_ns) wia__end_span(WIA_PROFILE_WAIT, begin_ns, "event", -1, -1, 0);
  if (wia__is_validating() && state != WIA_EVENT_PENDING) wia__validate_seen(point);
  wia__rejoin(self);
  wia_status_t status = WIA_STATUS_OK;
  if (state == WIA_EVENT_FAILED)
    status = wia__restore_failure(&point->failure);
  else if (state == WIA_EVENT_PENDING)
    status = wia__fail(WIA_STATUS_DEADLINE_EXCEEDED, "the event was not done after %lld ns",
                       (long long)timeout_ns);
  wia__release_point(point);
  return status;
}

/* Adds a subscriber to a pending point; to a finished one it gives it back. */
static subscriber_t *add_subscriber(wia__point_t *point, subscriber_t *subscriber) {
  pthread_mutex_lock(&point->mutex);
  subscriber->next = point->subscribers;
  const bool pending = point->state == WIA_EVENT_PENDING;
  if (pending) point->subscribers = subscriber;
  pthread_mutex_unlock(&point->mutex);
  return pending ? NULL : subscriber;
}

bool wia__subscribe(wia__point_t *point, wia__queue_t *queue) {
  subscriber_t *subscriber = calloc(1, sizeof *subscriber);
  if (!subscriber) return false;
  wia__retain_queue(queue);
  subscriber->queue = queue;
  subscriber = add_subscriber(point, subscriber);
  if (subscriber) wia__release_queue(queue);
  free(subscriber);
  return true;
}

wia_status_t wia__call_on_point(wia__point_t *point, wia_event_fn_t function, void *context) {
  subscriber_t *subscriber = calloc(1, sizeof *subscriber);
  if (!subscriber) return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for a callback");
  subscriber->function = function;
  subscriber->context = context;
  subscriber = add_subscriber(point, subscriber);
  if (subscriber && wia__is_validating()) wia__validate_seen(point);
  if (subscriber) function(context, point->failure.status);
  free(subscriber);
  return WIA_STATUS_OK;
}
