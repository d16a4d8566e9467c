/* bridge.h: the C half of the extension module wia._bridge: the gate in front of everything that
 * enters Python, and the memory of drivers that use the host's. */
#ifndef WIA__BRIDGE_H
#define WIA__BRIDGE_H

#include "wia_driver.h"

/* Threads of the library may call a Python driver at any time, also while the interpreter ends.
 * Each such call passes the gate; once it is closed, calls are answered UNAVAILABLE without
 * entering Python. Inside, the thread has a Python thread state; the GIL is still to be taken. */
int wia__enter_gate(void);
void wia__leave_gate(void);
/* Closes the gate and waits up to timeout_ns until nobody is inside. Returns 0, or how many are. */
int64_t wia__close_gate(int64_t timeout_ns);
int wia__is_gate_closed(void);
/* What a call gets that was not let in, on the same thread. out_error may be NULL. */
wia_status_t wia__refuse_at_gate(wia_error_t *out_error);

typedef enum wia__entry_t {
  WIA__ENTRY_OPEN = 0,
  WIA__ENTRY_CLOSED = 1,
  WIA__ENTRY_FOREIGN = 2, /* the thread works for an interpreter beside the main one */
  WIA__ENTRY_NO_MEMORY = 3
} wia__entry_t;

/* For the gate: has the thread ready to take the GIL of the main interpreter. */
wia__entry_t wia__attach_thread(void);
/* From here on a fork does for the interpreter what os.fork() does. */
void wia__watch_forks(void);

/* The memory entries of a driver table, on host memory. They don't look at the device. */
wia_status_t wia__host_get_memory_kind(wia_driver_device_t device, uint32_t index,
                                       wia_memory_kind_info_t *out_info, wia_error_t *out_error);
wia_status_t wia__host_allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                                uint64_t alignment, wia_operand_t *out_memory,
                                wia_error_t *out_error);
void wia__host_free(wia_driver_device_t device, const wia_operand_t *memory);
wia_status_t wia__host_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                            wia_error_t *out_error);
wia_status_t wia__host_fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                            const void *pattern, uint32_t pattern_size, wia_error_t *out_error);

/* What a wia_driver_device_t of a Python driver points to. */
typedef struct wia__python_device_t {
  uint64_t state; /* for native memory entries: what NativeMemory.open() returned */
  void *handle;   /* for Python */
} wia__python_device_t;

/* Memory in a range of addresses that the host has no access to. What lies at an address is kept at
 * address + size, which only copies and kernels know. The range is a device's state. */
typedef struct wia__range_t wia__range_t;

/* Reserves size bytes, rounded up to pages, that take host memory once they are written to. NULL:
 * the host has no room. There is no end to a range, as there is none to an open device. */
wia__range_t *wia__reserve_range(uint64_t size);
/* The rounded size: the distance of backing and address. */
uint64_t wia__range_distance(const wia__range_t *range);

/* The memory entries of a driver table, on the range that is the device's state. */
wia_status_t wia__range_get_memory_kind(wia_driver_device_t device, uint32_t index,
                                        wia_memory_kind_info_t *out_info, wia_error_t *out_error);
wia_status_t wia__range_allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                                 uint64_t alignment, wia_operand_t *out_memory,
                                 wia_error_t *out_error);
void wia__range_free(wia_driver_device_t device, const wia_operand_t *memory);
wia_status_t wia__range_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                             wia_error_t *out_error);
wia_status_t wia__range_fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                             const void *pattern, uint32_t pattern_size, wia_error_t *out_error);

enum { WIA__BASE_PEERS = 256 };

/* Memory that is the one of a device of another driver: the state of a device. */
typedef struct wia__base_t {
  const wia_driver_t *driver;
  wia_driver_device_t device;
  uint64_t alignment; /* that the base wants at least */
  uint64_t index;     /* among the devices of the driver, below WIA__BASE_PEERS */
  uint64_t limit;     /* bytes of device memory that may be allocated; 0: no limit */
  double
      bandwidth; /* of the links to peers, bytes per second, and nanoseconds: copies take as long. */
  double latency_ns; /* Not above 0: as long as they take */
  /* written by the entries only */
  uint64_t live_size;
  int64_t free_ns[WIA__BASE_PEERS]; /* when the link to each peer has carried what it was given */
} wia__base_t;

static inline wia__base_t *wia__base_of(wia_driver_device_t device) {
  const wia__python_device_t *opened = (const wia__python_device_t *)(const void *)device;
  return (wia__base_t *)(uintptr_t)opened->state;
}

/* The memory entries of a driver table, on that device. */
wia_status_t wia__base_get_memory_kind(wia_driver_device_t device, uint32_t index,
                                       wia_memory_kind_info_t *out_info, wia_error_t *out_error);
wia_status_t wia__base_allocate(wia_driver_device_t device, int32_t kind, uint64_t size,
                                uint64_t alignment, wia_operand_t *out_memory,
                                wia_error_t *out_error);
void wia__base_free(wia_driver_device_t device, const wia_operand_t *memory);
wia_status_t wia__base_copy(wia_driver_device_t device, const wia_copy_t *copies, uint32_t count,
                            wia_error_t *out_error);
wia_status_t wia__base_fill(wia_driver_device_t device, const wia_operand_t *target, uint64_t size,
                            const void *pattern, uint32_t pattern_size, wia_error_t *out_error);

wia_status_t wia__base_copy_to_peer(wia_driver_device_t device, wia_driver_device_t peer,
                                    const wia_copy_t *copies, uint32_t count,
                                    wia_error_t *out_error);

/* The graphs of a driver table, as that device's driver has them: for a driver whose kernels are all
 * the base's. */
const wia_driver_graphs_t *wia__get_base_graphs(void);

/* Makes exception_class (borrowed, a Python class) rise in the thread of that identifier as soon as
 * it runs Python code again. Takes the GIL. Returns the number of threads found. */
int wia__raise_in_thread(uint64_t thread, uint64_t exception_class);

/* DLPack, the exchange of arrays between Python packages: what lies behind a capsule. The layouts are
 * those of its versions before 1.0 and of 1.x. */
typedef struct wia__dlpack_array_t {
  void *data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t dtype_code, dtype_bits;
  uint16_t dtype_lanes;
  int64_t *shape, *strides; /* in elements; strides NULL: row-major */
  uint64_t byte_offset;     /* of element 0 from data */
} wia__dlpack_array_t;

typedef struct wia__dlpack_legacy_t {
  wia__dlpack_array_t array;
  void *context;
  void (*deleter)(struct wia__dlpack_legacy_t *self); /* NULL: nothing to do */
} wia__dlpack_legacy_t;

enum { WIA__DLPACK_MAJOR = 1, WIA__DLPACK_MINOR = 1 };
enum { WIA__DLPACK_READ_ONLY = 1, WIA__DLPACK_COPIED = 2, WIA__DLPACK_PADDED = 4 };

typedef struct wia__dlpack_versioned_t {
  uint32_t major, minor; /* when major differs, only these, context and deleter are known */
  void *context;
  void (*deleter)(struct wia__dlpack_versioned_t *self);
  uint64_t flags; /* WIA__DLPACK_* */
  wia__dlpack_array_t array;
} wia__dlpack_versioned_t;

/* Takes what is in a capsule (its PyObject *) over from it: one of the two pointers is set, and is
 * ended with its release function, once. Returns 0, or 1 for what is no unused DLPack capsule. Takes
 * the GIL. */
int wia__take_dlpack(uint64_t capsule, wia__dlpack_legacy_t **out_legacy,
                     wia__dlpack_versioned_t **out_versioned);
/* On any thread, with or without the GIL; both are wia_release_fn_t. Nothing is called any more once
 * the gate is closed. */
void wia__release_legacy_dlpack(void *legacy);
void wia__release_versioned_dlpack(void *versioned);

/* Appends a capsule for the array to a Python list (its PyObject *). The capsule, or who takes it
 * over, destroys the tensor, once, on any thread. Shape and strides are copied. Returns 0, or 1 when
 * there is no memory: then the tensor stays the caller's. Takes the GIL. */
int wia__give_dlpack(uint64_t list, int versioned, uint64_t flags, const wia__dlpack_array_t *array,
                     wia_tensor_t tensor);

/* Appends to a Python list (its PyObject *) a class, whose subclasses export the memoryview that their
 * __buffer__(flags) returns, as those of any class do from Python 3.12 on. Returns 0, or 1 when there
 * is no memory. Takes the GIL. */
int wia__make_buffer_class(uint64_t list);

/* 1: the interpreter was started by wia_bridge_start(), no Python program is running in it. */
int wia__python_is_ours(void);

#endif
