/* A driver whose table has one fault, TEST_FAULT. */
#include <stddef.h>

#include "tiny.h"

static wia_driver_t table;
static const wia_driver_t *const tables[] = {&table};

static wia_status_t unreadable(wia_driver_device_t device, const char *op_name,
                               uint64_t *out_dtypes, wia_error_t *out_error) {
  (void)device, (void)op_name, (void)out_dtypes, (void)out_error;
  abort(); /* lies behind the end of the table: nobody may call it */
}

static wia_status_t unreadable_copy(wia_driver_stream_t stream, const wia_copy_t *copies,
                                    uint32_t count, wia_error_t *out_error) {
  (void)stream, (void)copies, (void)count, (void)out_error;
  abort();
}

/* Streams on which nothing can be enqueued: they tell at once. */
static struct wia_driver_stream_s {
  wia_driver_notify_fn_t notify;
  void *context;
} stream;

static wia_status_t create_stream(wia_driver_device_t device, int32_t priority,
                                  wia_driver_notify_fn_t notify, void *context,
                                  wia_driver_stream_t *out_stream, wia_error_t *out_error) {
  (void)device, (void)priority, (void)out_error;
  stream.notify = notify;
  stream.context = context;
  *out_stream = &stream;
  return WIA_STATUS_OK;
}

static void destroy_stream(wia_driver_stream_t which) { (void)which; }

static wia_status_t signal_stream(wia_driver_stream_t which, uint64_t value,
                                  wia_error_t *out_error) {
  (void)out_error;
  which->notify(which->context, value, NULL);
  return WIA_STATUS_OK;
}

static wia_driver_streams_t streams = {.struct_size = sizeof streams,
                                       .create = create_stream,
                                       .destroy = destroy_stream,
                                       .signal = signal_stream};

WIA_API wia_status_t wia_negotiate_driver(wia_negotiation_t *negotiation, wia_error_t *out_error) {
  (void)out_error;
  const wia_status_t status = tiny_answer(negotiation, tables, 1);
  switch (TEST_FAULT) {
  case 0: /* none: the oldest table there can be, and rubbish behind it */
    tiny_make(&table, "oldest");
    table.struct_size = offsetof(wia_driver_t, get_support);
    table.get_support = unreadable;
    break;
  case 1:
    tiny_make(&table, "short_table");
    table.struct_size = offsetof(wia_driver_t, prepare);
    break;
  case 2:
    tiny_make(&table, "null_entry");
    table.allocate = NULL;
    break;
  case 3:
    tiny_make(&table, "Bad-Name");
    break;
  case 4:
    tiny_make(&table, "flagged");
    table.flags = 8;
    break;
  case 5:
    negotiation->driver_count = 0;
    break;
  case 6:
    negotiation->drivers = NULL;
    break;
  case 7: /* a table from before there were streams, and rubbish behind it */
    tiny_make(&table, "streamless");
    table.struct_size = offsetof(wia_driver_t, streams);
    table.streams = (const wia_driver_streams_t *)(uintptr_t)8;
    break;
  case 8: /* the oldest streams there can be, likewise */
    tiny_make(&table, "old_streams");
    streams.struct_size = offsetof(wia_driver_streams_t, copy);
    streams.copy = unreadable_copy;
    table.streams = &streams;
    break;
  case 9:
    tiny_make(&table, "short_streams");
    streams.struct_size = offsetof(wia_driver_streams_t, signal);
    table.streams = &streams;
    break;
  case 10:
    tiny_make(&table, "null_stream_entry");
    streams.signal = NULL;
    table.streams = &streams;
    break;
  case 11:
    tiny_make(&table, "bad_priority");
    streams.least_priority = -1;
    table.streams = &streams;
    break;
  default:
    negotiation->driver_count = UINT32_MAX;
    break;
  }
  return status;
}
