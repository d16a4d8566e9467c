/* base.h: what every header needs: export macro, handles, struct initialisers, time-outs. */
#ifndef WIA_BASE_H
#define WIA_BASE_H

#include <stdint.h>

#ifndef WIA_API
#if defined(__GNUC__)
#define WIA_API __attribute__((visibility("default")))
#else
#define WIA_API
#endif
#endif

#ifdef __cplusplus
#define WIA_BEGIN_DECLS extern "C" {
#define WIA_END_DECLS }
#else
#define WIA_BEGIN_DECLS
#define WIA_END_DECLS
#endif

/* The value of an _INIT macro: every field zero but struct_size. WIA_INIT_1 sets one more field;
 * generated config macros nest it. Both work as an initialiser and in an assignment. */
#ifdef __cplusplus
#define WIA_INIT(type)                                                                             \
  ([] {                                                                                            \
    type wia_init_value{};                                                                         \
    wia_init_value.struct_size = static_cast<uint32_t>(sizeof(type));                              \
    return wia_init_value;                                                                         \
  }())
#define WIA_INIT_1(type, field, value)                                                             \
  ([] {                                                                                            \
    type wia_init_value{};                                                                         \
    wia_init_value.struct_size = static_cast<uint32_t>(sizeof(type));                              \
    wia_init_value.field = value;                                                                  \
    return wia_init_value;                                                                         \
  }())
#else
#define WIA_INIT(type) ((type){.struct_size = (uint32_t)sizeof(type)})
#define WIA_INIT_1(type, field, value)                                                             \
  ((type){.struct_size = (uint32_t)sizeof(type), .field = (value)})
#endif

/* Handles: 64 plain bits that carry type and generation, never to be dereferenced. Each is one
 * reference of the caller; destroying it makes it invalid at once, while what it named lives on for
 * as long as children or work in flight need it. */
typedef struct wia_context wia_context_t;
typedef struct wia_stream wia_stream_t;
typedef struct wia_event wia_event_t;
typedef struct wia_plan wia_plan_t;
typedef struct wia_gradient wia_gradient_t;
typedef struct wia_gradient_builder wia_gradient_builder_t;
typedef struct wia_tensor *wia_tensor_t;

typedef int32_t wia_status_t; /* WIA_STATUS_*, status.h */
typedef int32_t wia_dtype_t;  /* WIA_FLOAT32 ..., dtype.h */
typedef int32_t wia_op_t;     /* WIA_OP_*, ops.h */

enum {
  WIA_MAX_RANK = 8,     /* dimensions of a tensor */
  WIA_MAX_OPERANDS = 32 /* inputs plus outputs of one operation */
};

/* Time-outs are in nanoseconds: 0 polls, WIA_TIMEOUT_INFINITE waits without end; anything else below
 * 0 is INVALID_ARGUMENT. */
#define WIA_TIMEOUT_INFINITE INT64_C(-1)

/* The infinite double, as a constant that needs no math.h. */
#define WIA_INFINITY (1e308 * 10.0)

#endif
