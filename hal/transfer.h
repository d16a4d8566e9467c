/* transfer.h: copies and fills, resolved: what they move, and doing it. */
#ifndef WIA__TRANSFER_H
#define WIA__TRANSFER_H

#include "stream.h"
#include "tensor.h"

enum { WIA__TRANSFER_ALLOCATIONS = 2 };

/* A transfer, resolved: what it moves and which allocations it touches, the destination's first. */
typedef enum wia__action_t {
  WIA__UPLOAD,
  WIA__DOWNLOAD,
  WIA__MOVE,
  WIA__FILL,
  WIA__WRITE_TENSOR,
  WIA__READ_TENSOR
} wia__action_t;

typedef struct wia__transfer_t {
  wia__item_t item;
  wia__action_t action;
  wia_operand_t destination, source; /* the host's side: memory NULL */
  uint64_t size;
  wia__device_t *destination_device, *source_device; /* the host's: NULL */
  wia__layout_t *layout; /* of the tensor; once queued: with a reference */
  uint32_t pattern_size;
  unsigned char pattern[16];
  /* once queued: with references and uses */
  wia__allocation_t *allocations[WIA__TRANSFER_ALLOCATIONS];
  uint32_t allocation_count;
  wia_driver_stream_t stream; /* the driver's own that it goes on; NULL: complete on return */
} wia__transfer_t;

static inline wia_operand_t wia__host_operand(const void *pointer) {
  return (wia_operand_t){.address = (uint64_t)(uintptr_t)pointer};
}

/* What it uses, for the layer validate. */
struct wia__uses_t;
void wia__list_transfer(const wia__transfer_t *t, struct wia__uses_t *uses);

/* What a stream of the device gets of it. The caller enqueues that, or ends it with a failure. */
wia_status_t wia__make_transfer(const wia__transfer_t *t, const wia__device_t *device,
                                wia__item_t **out_item);

/* Carries it out: at once, or its driver's part of it on the stream that it is given. */
wia_status_t wia__perform(const wia__transfer_t *t);

#endif
