/* device.h: devices: which there are, what they are and what they can do.
 *
 * A device is named "driver:ordinal" ("npu:0"; "npu" means "npu:0") or by an id, slot * 256 +
 * ordinal. Slot 0 is the default driver: the one that WIA_DEFAULT_DEVICE names, else the native
 * driver of highest priority, else "reference". Other slots are given when a driver is first
 * mentioned and differ from run to run: programs keep names. */
#ifndef WIA_DEVICE_H
#define WIA_DEVICE_H

#include "base.h"

WIA_BEGIN_DECLS

enum {
  WIA_DEVICE_SERIAL = 1,           /* runs one call at a time */
  WIA_DEVICE_OPAQUE_MEMORY = 2,    /* has no addresses of its own; the library assigns them */
  WIA_DEVICE_HOST_ADDRESSABLE = 4, /* its addresses are host pointers */
  WIA_DEVICE_SIMULATED = 8         /* a model of hardware; its manifest says default = no */
};

/* The strings live as long as the process. */
typedef struct wia_device_info_t {
  uint32_t struct_size;
  int32_t device_id;
  const char *name;        /* "reference:0" */
  const char *description; /* the driver's own text */
  const char *driver_name; /* "reference" */
  const char *driver_version;
  const char *vendor;
  const char *architecture;
  uint32_t flags; /* WIA_DEVICE_* */
  uint32_t memory_kind_count;
  uint64_t total_memory_size; /* bytes of the device kind; 0: not known */
} wia_device_info_t;
#define WIA_DEVICE_INFO_INIT WIA_INIT(wia_device_info_t)

/* Lists the devices of every driver, default first. Loads all drivers, Python ones included; one
 * that fails is left out and stands in the load report. Writes the number of devices to out_count
 * and, if capacity suffices, their ids to out_ids. out_ids may be NULL when capacity is 0: then
 * only the number is asked for.
 * Errors: OUT_OF_RANGE when capacity is above 0 and too small (out_count is written, no id is). */
WIA_API wia_status_t wia_get_devices(int32_t *out_ids, uint32_t capacity, uint32_t *out_count);

/* Finds a device by its exact name; NULL or "" is the default device. Loads the driver if need be,
 * and starts Python only if no native driver has that name.
 * Errors: INVALID_ARGUMENT for a malformed name; NOT_FOUND for an unknown driver or ordinal, or a
 * driver that WIA_DRIVERS switches off; UNAVAILABLE when no native driver has that name and Python
 * can't be started to look for others; the driver's own error if it can't be loaded. */
WIA_API wia_status_t wia_find_device(const char *name, int32_t *out_device_id);

/* Describes a device. Errors: NOT_FOUND for an id that no device has. */
WIA_API wia_status_t wia_get_device_info(int32_t device_id, wia_device_info_t *out_info);

/* Writes the dtypes for which a device has a kernel of an operation, one bit each: bit WIA_FLOAT32
 * of *out_dtypes stands for float32. 0: none. Whether a certain shape or attribute is supported
 * only the call itself, or wia_create_plan(), tells.
 * Errors: INVALID_ARGUMENT for an unknown operation; UNIMPLEMENTED where the driver doesn't tell. */
WIA_API wia_status_t wia_get_device_support(int32_t device_id, wia_op_t op, uint64_t *out_dtypes);

enum {
  WIA_LINK_NONE = 0,
  WIA_LINK_HOST = 1,  /* copies go through host memory */
  WIA_LINK_DIRECT = 2 /* the devices reach each other without the host */
};

/* A way for data from one device to another. */
typedef struct wia_link_info_t {
  uint32_t struct_size;
  int32_t kind;      /* WIA_LINK_* */
  double bandwidth;  /* bytes per second; below 0: not known */
  double latency_ns; /* until the first byte arrives; below 0: not known */
} wia_link_info_t;
#define WIA_LINK_INFO_INIT WIA_INIT(wia_link_info_t)

/* Tells what is between two devices, as the driver says that both belong to. Where it says nothing,
 * and between devices of different drivers: WIA_LINK_HOST with figures of -1.
 * Errors: NOT_FOUND for an id that no device has; INVALID_ARGUMENT for one device twice. */
WIA_API wia_status_t wia_get_link_info(int32_t device_id, int32_t peer_id,
                                       wia_link_info_t *out_info);

WIA_END_DECLS
#endif
