/* Classifies handwritten digits on a WIA device: digits [DEVICE] [options]. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"
#include "npy.h"

typedef struct options_t {
  const char *device, *images, *labels, *weights, *logits;
  int64_t show;
  bool help;
} options_t;

static const char USAGE[] =
    "usage: digits [DEVICE] [--images FILE] [--labels FILE] [--weights FOLDER]\n"
    "              [--logits FILE] [--show COUNT]\n"
    "\n"
    "Classifies 8 x 8 scans of handwritten digits on a WIA device, for example reference:0.\n"
    "\n"
    "  DEVICE            the device; left out: the default one\n"
    "  --images FILE     .npy array [n, 8, 8] or [8, 8], pixels 0 to 16 (default: held-out scans)\n"
    "  --labels FILE     .npy array [n] of digits, to count what is right\n"
    "  --weights FOLDER  where the weights are\n"
    "  --logits FILE     write the logits there, as .npy [n, 10]\n"
    "  --show COUNT      draw the first COUNT images (default 4)\n";

static bool parse_options(int argc, char **argv, options_t *options) {
  const struct {
    const char *name;
    const char **value;
  } texts[] = {{"--images", &options->images},
               {"--labels", &options->labels},
               {"--weights", &options->weights},
               {"--logits", &options->logits}};
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    const char **target = NULL;
    for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++)
      if (strcmp(name, texts[j].name) == 0) target = texts[j].value;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
      options->help = true;
    } else if (name[0] != '-' && !options->device) {
      options->device = name;
    } else if (target && value) {
      *target = value;
      i++;
    } else if (strcmp(name, "--show") == 0 && value) {
      char *end = NULL;
      options->show = strtoll(value, &end, 10);
      if (*end || end == value || options->show < 0) {
        fprintf(stderr, "digits: --show needs a number, not %s\n", value);
        return false;
      }
      i++;
    } else {
      fprintf(stderr, "digits: %s %s\n%s", name,
              target || strcmp(name, "--show") == 0 ? "needs a value" : "is not known", USAGE);
      return false;
    }
  }
  return true;
}

static bool read_array(const char *path, npy_array_t *out_array) {
  char message[NPY_MESSAGE_SIZE];
  if (npy_read(path, out_array, message)) return true;
  fprintf(stderr, "digits: %s\n", message);
  return false;
}

static bool read_images(const char *path, npy_array_t *images) {
  if (!read_array(path, images)) return false;
  if (images->rank == 2) { /* one image: a batch of one */
    memmove(images->shape + 1, images->shape, 2 * sizeof(int64_t));
    memmove(images->strides + 1, images->strides, 2 * sizeof(int64_t));
    images->shape[0] = 1;
    images->strides[0] = images->count;
    images->rank = 3;
  }
  if (images->rank == 3 && images->shape[0] > 0 && images->shape[1] == IMAGE_SIDE &&
      images->shape[2] == IMAGE_SIDE)
    return true;
  fprintf(stderr, "digits: %s: expected images [n, 8, 8] with n above 0, or [8, 8]; given [", path);
  for (uint32_t i = 0; i < images->rank; i++)
    fprintf(stderr, "%s%" PRId64, i ? ", " : "", images->shape[i]);
  fprintf(stderr, "]\n");
  npy_free(images);
  return false;
}

static bool read_labels(const char *path, int64_t count, npy_array_t *labels) {
  if (!read_array(path, labels)) return false;
  if (labels->rank == 1 && labels->shape[0] == count && labels->kind != 'f') return true;
  fprintf(stderr, "digits: %s: expected one whole number for each of %" PRId64 " images\n", path,
          count);
  npy_free(labels);
  return false;
}

static void draw(const npy_array_t *images, int64_t index, int64_t digit, int64_t label) {
  static const char SHADES[] = " .:-=+*#@";
  printf("\nimage %" PRId64 ": predicted %" PRId64, index, digit);
  if (label >= 0) printf(", is %" PRId64, label);
  printf("\n");
  for (int64_t row = 0; row < IMAGE_SIDE; row++) {
    printf("  ");
    for (int64_t column = 0; column < IMAGE_SIDE; column++) {
      const double pixel =
          npy_element(images, index * images->strides[0] + row * images->strides[1] +
                                  column * images->strides[2]);
      const int shade = pixel >= 16 ? 8 : pixel > 0 ? (int)(pixel / 2) : 0;
      printf("%c%c", SHADES[shade], SHADES[shade]);
    }
    printf("\n");
  }
}

static void report(const options_t *options, const npy_array_t *images, const npy_array_t *labels,
                   const int64_t *digits) {
  const int64_t count = images->shape[0];
  int64_t right = 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t label = labels->data ? (int64_t)npy_element(labels, i) : -1;
    if (label == digits[i]) right++;
    if (i < options->show) draw(images, i, digits[i], label);
  }
  printf("\n");
  if (labels->data) {
    printf("%" PRId64 " of %" PRId64 " right: %.2f %%\n", right, count,
           100.0 * (double)right / (double)count);
    return;
  }
  printf("predictions:");
  for (int64_t i = 0; i < count; i++) printf(" %" PRId64, digits[i]);
  printf("\n");
}

static bool classify(const options_t *options, const npy_array_t *images,
                     const npy_array_t *labels) {
  const int64_t count = images->shape[0];
  float *logits = malloc((size_t)count * CLASS_COUNT * sizeof(float));
  int64_t *digits = malloc((size_t)count * sizeof(int64_t));
  network_t network;
  bool done = network_open(&network, options->device, options->weights);
  if (!logits || !digits) {
    fprintf(stderr, "digits: out of memory\n");
    done = false;
  }
  done = done && network_classify(&network, images, logits, digits);
  network_close(&network);
  if (done) report(options, images, labels, digits);
  if (done && options->logits) {
    char message[NPY_MESSAGE_SIZE];
    done = npy_write_float32(options->logits, logits, (int64_t[]){count, CLASS_COUNT}, 2, message);
    if (!done) fprintf(stderr, "digits: %s\n", message);
  }
  free(logits);
  free(digits);
  return done;
}

int main(int argc, char **argv) {
  options_t options = {.weights = DIGITS_DATA, .show = 4};
  if (!parse_options(argc, argv, &options)) return 2;
  if (options.help) {
    fputs(USAGE, stdout);
    return 0;
  }
  if (!options.images) {
    options.images = DIGITS_DATA "/test_images.npy";
    if (!options.labels) options.labels = DIGITS_DATA "/test_labels.npy";
  }
  npy_array_t images = {0}, labels = {0};
  bool done = read_images(options.images, &images);
  done = done && (!options.labels || read_labels(options.labels, images.shape[0], &labels));
  done = done && classify(&options, &images, &labels);
  npy_free(&images);
  npy_free(&labels);
  return done ? 0 : 1;
}
