/* network.h: the digits network, all of it WIA operations on one device. */
#ifndef DIGITS_NETWORK_H
#define DIGITS_NETWORK_H

#include <stdbool.h>
#include <wia.h>

#include "npy.h"

enum { IMAGE_SIDE = 8, CLASS_COUNT = 10, WEIGHT_COUNT = 6 };

typedef struct network_t {
  wia_context_t *context;
  wia_tensor_t weights[WEIGHT_COUNT]; /* in the order of the network */
  wia_tensor_t scale;                 /* what pixels are multiplied with */
} network_t;

/* Opens a device (NULL: the default one) and puts the weights of a folder on it. False: a message
 * was printed. network_close() also after a failure. */
bool network_open(network_t *network, const char *device, const char *weights_folder);

void network_close(network_t *network);

/* Classifies images, [n, 8, 8] with pixels 0 to 16. Writes 10 logits and one digit for each. */
bool network_classify(const network_t *network, const npy_array_t *images, float *out_logits,
                      int64_t *out_digits);

#endif
