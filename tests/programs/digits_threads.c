/* Classifies the digits in several threads at once: digits_threads DEVICE THREADS ROUNDS.
 *
 * The threads start together and each opens a network of its own, so the library starts up, finds the
 * device and prepares kernels under all of them. Every round has to give the same digits. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"
#include "npy.h"

enum { MAX_THREADS = 64 };

typedef struct worker_t {
  const char *device;
  const npy_array_t *images;
  pthread_barrier_t *start;
  long rounds;
  int64_t *digits;
  bool good;
} worker_t;

static bool classify(worker_t *worker, network_t *network, float *logits, int64_t *digits) {
  const size_t size = (size_t)worker->images->shape[0] * sizeof(int64_t);
  for (long round = 0; round < worker->rounds; round++) {
    if (!network_classify(network, worker->images, logits, round == 0 ? worker->digits : digits))
      return false;
    if (round > 0 && memcmp(digits, worker->digits, size) != 0) {
      fprintf(stderr, "round %ld gave other digits\n", round);
      return false;
    }
  }
  return true;
}

static void *run(void *argument) {
  worker_t *worker = argument;
  const size_t count = (size_t)worker->images->shape[0];
  float *logits = malloc(count * CLASS_COUNT * sizeof(float));
  int64_t *digits = malloc(count * sizeof(int64_t));
  network_t network;
  pthread_barrier_wait(worker->start);
  const bool opened = network_open(&network, worker->device, DIGITS_DATA);
  worker->good = opened && logits && digits && classify(worker, &network, logits, digits);
  network_close(&network);
  free(logits);
  free(digits);
  return NULL;
}

static long count_right(const npy_array_t *labels, const int64_t *digits) {
  long right = 0;
  for (int64_t i = 0; i < labels->count; i++)
    if ((int64_t)npy_element(labels, i) == digits[i]) right++;
  return right;
}

int main(int argc, char **argv) {
  const long threads = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
  const long rounds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
  if (threads < 1 || threads > MAX_THREADS || rounds < 1) {
    fprintf(stderr, "usage: digits_threads DEVICE THREADS ROUNDS\n");
    return 2;
  }
  char message[NPY_MESSAGE_SIZE];
  npy_array_t images, labels;
  if (!npy_read(DIGITS_DATA "/test_images.npy", &images, message) ||
      !npy_read(DIGITS_DATA "/test_labels.npy", &labels, message)) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, (unsigned)threads);
  pthread_t ids[MAX_THREADS];
  worker_t workers[MAX_THREADS];
  for (long i = 0; i < threads; i++) {
    workers[i] = (worker_t){argv[1], &images, &start, rounds, NULL, false};
    workers[i].digits = calloc((size_t)images.shape[0], sizeof(int64_t));
    if (pthread_create(&ids[i], NULL, run, &workers[i]) != 0) return 1;
  }
  bool good = true;
  for (long i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    good = good && workers[i].good;
    if (workers[i].good)
      printf("thread %ld: %ld of %lld right\n", i, count_right(&labels, workers[i].digits),
             (long long)labels.count);
    free(workers[i].digits);
  }
  npy_free(&images);
  npy_free(&labels);
  return good ? 0 : 1;
}
