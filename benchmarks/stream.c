/* stream: what it costs to put work on a stream, and to wake its worker. Prints JSON.
 *
 * The peer is what a program would write by hand: a thread that waits on a condition variable. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "timing.h"

enum { BURST = 1000, BURST_ROUNDS = 200, WAKE_ROUNDS = 500, IDLE_US = 200, SLEEP_MS = 200 };

/* -- the peer ---------------------------------------------------------------------------------- */

typedef struct peer_t {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t asked, answered;
  uint32_t ask, answer, stop;
} peer_t;

static void *run_peer(void *argument) {
  peer_t *peer = argument;
  pthread_mutex_lock(&peer->mutex);
  while (!peer->stop) {
    while (peer->answer == peer->ask && !peer->stop) pthread_cond_wait(&peer->asked, &peer->mutex);
    peer->answer = peer->ask;
    pthread_cond_signal(&peer->answered);
  }
  pthread_mutex_unlock(&peer->mutex);
  return NULL;
}

static void start_peer(peer_t *peer) {
  pthread_mutex_init(&peer->mutex, NULL);
  pthread_cond_init(&peer->asked, NULL);
  pthread_cond_init(&peer->answered, NULL);
  peer->ask = peer->answer = peer->stop = 0;
  if (pthread_create(&peer->thread, NULL, run_peer, peer) != 0)
    require(WIA_STATUS_INTERNAL, "a thread");
}

static void stop_peer(peer_t *peer) {
  pthread_mutex_lock(&peer->mutex);
  peer->stop = 1;
  pthread_cond_signal(&peer->asked);
  pthread_mutex_unlock(&peer->mutex);
  pthread_join(peer->thread, NULL);
}

/* -- measuring --------------------------------------------------------------------------------- */

typedef struct work_t {
  wia_context_t *context;
  wia_stream_t *stream;
  wia_tensor_t operands[3];
} work_t;

static void enqueue(const work_t *work) {
  REQUIRE(wia_add(work->context, work->operands[0], work->operands[1], work->operands[2],
                  work->stream));
}

/* The time of the calls alone: the worker runs beside them. */
static double measure_burst(const work_t *work) {
  static double times[BURST_ROUNDS];
  for (uint32_t round = 0; round < BURST_ROUNDS; round++) {
    const int64_t start = now_ns();
    for (uint32_t i = 0; i < BURST; i++) enqueue(work);
    times[round] = (double)(now_ns() - start) / BURST;
    REQUIRE(wia_synchronize_stream(work->stream, WIA_TIMEOUT_INFINITE));
  }
  return median(times, BURST_ROUNDS);
}

static void fall_asleep(int64_t ns) {
  nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}, NULL);
}

typedef struct wake_t {
  double call[WAKE_ROUNDS], round_trip[WAKE_ROUNDS];
} wake_t;

static void wake_stream(const work_t *work, wake_t *times, uint32_t round) {
  fall_asleep(IDLE_US * 1000);
  const int64_t start = now_ns();
  enqueue(work);
  const int64_t called = now_ns();
  REQUIRE(wia_synchronize_stream(work->stream, WIA_TIMEOUT_INFINITE));
  times->call[round] = (double)(called - start);
  times->round_trip[round] = (double)(now_ns() - start);
}

static void wake_peer(peer_t *peer, wake_t *times, uint32_t round) {
  fall_asleep(IDLE_US * 1000);
  const int64_t start = now_ns();
  pthread_mutex_lock(&peer->mutex);
  peer->ask++;
  pthread_mutex_unlock(&peer->mutex);
  pthread_cond_signal(&peer->asked);
  const int64_t called = now_ns();
  pthread_mutex_lock(&peer->mutex);
  while (peer->answer != peer->ask) pthread_cond_wait(&peer->answered, &peer->mutex);
  pthread_mutex_unlock(&peer->mutex);
  times->call[round] = (double)(called - start);
  times->round_trip[round] = (double)(now_ns() - start);
}

/* Processor time of the whole process while its worker has nothing to do, as a share of one core.
 */
static double measure_idle(void) {
  struct timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  fall_asleep(SLEEP_MS * INT64_C(1000000));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used =
      (double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec);
  return used / (SLEEP_MS * 1e6);
}

int main(void) {
  static wake_t stream_times, peer_times;
  work_t work;
  int32_t device = 0;
  const int64_t shape[] = {8};
  const float zeros[8] = {0};
  REQUIRE(wia_find_device("sample:0", &device));
  REQUIRE(wia_create_context(&work.context, device));
  REQUIRE(wia_create_stream(&work.stream, work.context));
  for (uint32_t i = 0; i < 3; i++) {
    REQUIRE(wia_allocate_tensor(work.context, shape, 1, WIA_FLOAT32, &work.operands[i]));
    REQUIRE(wia_write_tensor(work.operands[i], zeros, sizeof zeros, NULL));
  }
  const double burst = measure_burst(&work);
  peer_t peer;
  start_peer(&peer);
  for (uint32_t round = 0; round < WAKE_ROUNDS; round++) {
    wake_stream(&work, &stream_times, round);
    wake_peer(&peer, &peer_times, round);
  }
  const double idle = measure_idle();
  stop_peer(&peer);
  printf("{\"burst_ns\": %.1f, \"wake_call_ns\": %.1f, \"wake_round_trip_ns\": %.1f, "
         "\"signal_call_ns\": %.1f, \"signal_round_trip_ns\": %.1f, \"idle_share\": %.5f}\n",
         burst, median(stream_times.call, WAKE_ROUNDS),
         median(stream_times.round_trip, WAKE_ROUNDS), median(peer_times.call, WAKE_ROUNDS),
         median(peer_times.round_trip, WAKE_ROUNDS), idle);
  for (uint32_t i = 0; i < 3; i++) REQUIRE(wia_destroy_tensor(work.operands[i]));
  REQUIRE(wia_destroy_stream(work.stream));
  REQUIRE(wia_destroy_context(work.context));
  return 0;
}
