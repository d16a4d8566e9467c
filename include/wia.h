/* wia.h: the application interface of WIA, the hardware abstraction layer for AI accelerators.
 *
 * An umbrella over one header per noun. Rules that hold for every function:
 *
 *  - It returns a wia_status_t. WIA_STATUS_OK is 0; after anything else wia_get_last_error() tells
 *    this thread what was given, what was expected and what to do. Outputs are written on success
 *    only, unless the function says otherwise.
 *  - It may be called from any thread, with any handle. A handle that is NULL, destroyed or
 *    of another type gives WIA_STATUS_INVALID_HANDLE, also while another thread destroys it; it
 *    never crashes.
 *  - It doesn't block, unless its comment says what it waits for; every wait takes a time-out.
 *  - A struct with struct_size grows at its end. Start from its _INIT macro:
 *        wia_matmul_config_t config = WIA_MATMUL_CONFIG_INIT;
 *        config.transpose_b = 1;
 *    A NULL config means all defaults.
 *  - Work on a NULL stream is complete when the call returns. It first waits for the work in
 *    flight on the memory that it touches, and for nothing else.
 */
#ifndef WIA_H
#define WIA_H

#include "wia/allocator.h"
#include "wia/base.h"
#include "wia/context.h"
#include "wia/custom.h"
#include "wia/device.h"
#include "wia/discovery.h"
#include "wia/dtype.h"
#include "wia/event.h"
#include "wia/extension.h"
#include "wia/gradient.h"
#include "wia/graph.h"
#include "wia/layer.h"
#include "wia/layout.h"
#include "wia/log.h"
#include "wia/memory.h"
#include "wia/memory_pool.h"
#include "wia/operation.h"
#include "wia/ops.h"
#include "wia/plan.h"
#include "wia/profile.h"
#include "wia/status.h"
#include "wia/stream.h"
#include "wia/tensor.h"
#include "wia/validation.h"
#include "wia/version.h"

#endif
