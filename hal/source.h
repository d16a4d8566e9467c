/* source.h: where memory comes from: the driver of its device, or functions of the program. */
#ifndef WIA__SOURCE_H
#define WIA__SOURCE_H

#include "device.h"
#include "object.h"
#include "wia/allocator.h"

typedef struct wia__allocation_t wia__allocation_t; /* memory.h */

typedef struct wia__allocator_t {
  wia__object_t object;
  wia_allocator_t given;
  char name[64];
} wia__allocator_t;

/* Of memory: where it goes back to. */
typedef struct wia__source_t {
  wia__allocator_t *allocator; /* with a reference; NULL: the driver */
  wia__allocation_t *arena;    /* that it is a part of, with a use; NULL: none */
  uint64_t alignment;          /* that was asked for */
  int32_t kind;
} wia__source_t;

/* Memory that is no allocation yet, outside the epoch: from the allocator, without one (NULL, or not for
 * that kind) from the device's, else from the driver. urgent: when there is none, the device's pools give
 * back what they keep. */
wia_status_t wia__get_memory(wia__device_t *device, wia__allocator_t *allocator,
                             const wia_memory_request_t *request, bool urgent,
                             wia__source_t *out_source, wia_operand_t *out_memory);
/* The same from the driver, whatever was set. */
wia_status_t wia__get_driver_memory(wia__device_t *device, const wia_memory_request_t *request,
                                    wia_operand_t *out_memory);
void wia__give_memory_back(wia__device_t *device, const wia__source_t *source,
                           const wia_operand_t *memory, uint64_t size);

/* Lets go of both, without giving the memory back. */
void wia__drop_source(const wia__source_t *source);

/* From a caller's struct (allocator.c): NULL for NULL. */
wia_status_t wia__create_allocator(const wia_allocator_t *given, wia__allocator_t **out_allocator);
/* Asks the allocator once, and looks at what it gives. */
wia_status_t wia__call_allocator(wia__device_t *device, wia__allocator_t *allocator,
                                 const wia_memory_request_t *request, wia__source_t *out_source,
                                 wia_operand_t *out_memory);
void wia__return_to_allocator(wia__device_t *device, const wia__source_t *source, uint64_t address,
                              uint64_t size);
/* Another allocator for a device, NULL: none; takes the reference. */
void wia__replace_allocator(wia__device_t *device, wia__allocator_t *allocator);

/* A kind outside those that can be allocated, an alignment that is none. */
wia_status_t wia__check_memory_config(const wia__device_t *device,
                                      const wia_memory_config_t *config, int32_t *out_kind,
                                      uint64_t *out_alignment);

#endif
