/* status.h: status codes, their names and texts, and the last error of a thread. */
#ifndef WIA_STATUS_H
#define WIA_STATUS_H

#include "base.h"

WIA_BEGIN_DECLS

/* The one map of status codes: X(name, value, text). Values 0 to 16 are those of gRPC and absl;
 * WIA's own start at 32. A value is never given to another name. */
#define WIA_STATUS_MAP(X)                                                                          \
  X(OK, 0, "no error")                                                                             \
  X(CANCELLED, 1, "the work was cancelled")                                                        \
  X(UNKNOWN, 2, "unknown error")                                                                   \
  X(INVALID_ARGUMENT, 3, "an argument is not valid")                                               \
  X(DEADLINE_EXCEEDED, 4, "the time-out passed first")                                             \
  X(NOT_FOUND, 5, "no such thing was found")                                                       \
  X(ALREADY_EXISTS, 6, "a thing of that name exists")                                              \
  X(PERMISSION_DENIED, 7, "not permitted")                                                         \
  X(RESOURCE_EXHAUSTED, 8, "not enough memory or another resource")                                \
  X(FAILED_PRECONDITION, 9, "the object is not in the right state")                                \
  X(ABORTED, 10, "the work was aborted")                                                           \
  X(OUT_OF_RANGE, 11, "a position or size is out of range")                                        \
  X(UNIMPLEMENTED, 12, "not implemented by this driver or library")                                \
  X(INTERNAL, 13, "an error inside the library or a driver")                                       \
  X(UNAVAILABLE, 14, "not available now")                                                          \
  X(DATA_LOSS, 15, "data was lost or damaged")                                                     \
  X(UNAUTHENTICATED, 16, "no valid credentials")                                                   \
  X(INVALID_HANDLE, 32, "a handle is NULL, destroyed or of another type")                          \
  X(DEVICE_LOST, 33, "the device stopped answering")                                               \
  X(INCOMPATIBLE, 34, "versions don't fit together")                                               \
  X(FORKED, 35, "the process was forked after start")

#define WIA_STATUS_ENUM_(name, value, text) WIA_STATUS_##name = value,
enum { WIA_STATUS_MAP(WIA_STATUS_ENUM_) WIA_STATUS_MAX_ = 0x7fffffff };
#undef WIA_STATUS_ENUM_

/* What went wrong last on this thread. The strings are never NULL and stay valid until the next
 * failing call on the same thread. */
typedef struct wia_error_info_t {
  uint32_t struct_size;
  wia_status_t status;
  const char *function; /* the public function that failed, "wia_matmul" */
  const char *driver;   /* the driver concerned, "" for none */
  const char *message;  /* what was given, what was expected, what to do */
  const char *cause;    /* loader text or Python traceback, "" for none */
} wia_error_info_t;
#define WIA_ERROR_INFO_INIT WIA_INIT(wia_error_info_t)

/* What code that the library calls (drivers, kernels, host functions) says of a failure. */
typedef struct wia_error_t {
  uint32_t struct_size;
  wia_status_t status;
  int64_t detail[2]; /* numbers, for code that can't format text; shown when message is empty */
  char message[224]; /* longer texts: wia_host_t.set_error_text */
} wia_error_t;

/* The name of a status, "INVALID_ARGUMENT"; "UNKNOWN_STATUS" for a value outside the map. The string
 * lives as long as the library. */
WIA_API const char *wia_get_status_name(wia_status_t status);

/* The general text of a status; for what happened in a call see wia_get_last_error(). */
WIA_API const char *wia_get_status_text(wia_status_t status);

/* Writes the last error of this thread. A success doesn't clear it; before the first failure its
 * status is OK. Fails only for a bad out_info, and then leaves the last error as it was. */
WIA_API wia_status_t wia_get_last_error(wia_error_info_t *out_info);

WIA_END_DECLS
#endif
