/* core_queue.c: the streams of the drivers "queued" and "sparse": a thread each, which works through
 * commands. "sparse" has the required entries only. */
#include "core_driver.h"

enum { MAX_OPERANDS = 16, MAX_SCALARS = 8 };

typedef enum kind_t { KERNEL, COPY, FILL, SIGNAL } kind_t;

typedef struct command_t {
  struct command_t *next;
  kind_t kind;
  bool dropped;
  uint64_t value; /* SIGNAL */
  /* KERNEL: a copy of what was only lent */
  wia_kernel_fn_t fn;
  void *state;
  wia_kernel_args_t args;
  wia_operand_t operands[MAX_OPERANDS];
  wia_scalar_t scalars[MAX_SCALARS];
  /* COPY, FILL */
  wia_copy_t *copies;
  uint32_t count;
  wia_operand_t target;
  uint64_t size;
  unsigned char pattern[16];
} command_t;

struct wia_driver_stream_s {
  wia_driver_device_t device;
  wia_driver_notify_fn_t notify;
  void *context;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  command_t *first, **last;
  bool running;   /* a command before the first is at work */
  bool destroyed; /* the thread frees the stream when it is through */
  wia_status_t status;
  wia_error_t error; /* of the first failure */
  bool first_told;
  uint64_t last_value;
  _Atomic uint32_t inside;
};

static _Atomic uint32_t live_streams;
uint32_t core_live_streams(void) { return live_streams; }

static _Thread_local bool telling;
void core_check_not_telling(void) {
  if (telling) core_fault("a call of the driver while it tells of a value");
}

/* -- the thread ---------------------------------------------------------------------------------- */

static wia_status_t run(wia_driver_stream_t stream, command_t *command) {
  switch (command->kind) {
  case KERNEL:
    command->args.operands = command->operands;
    command->args.scalars = command->scalars;
    command->args.stream = NULL;
    command->args.out_error = &stream->error;
    return command->fn(command->state, &command->args);
  case COPY:
    return core_copy(stream->device, command->copies, command->count, &stream->error);
  case FILL:
    return core_fill(stream->device, &command->target, command->size, command->pattern,
                     command->count, &stream->error);
  default:
    return WIA_STATUS_OK;
  }
}

/* Without the mutex. The texts of the first failure go to the library; later ones are short. */
static void tell(wia_driver_stream_t stream, const command_t *command) {
  wia_error_t later = {.struct_size = sizeof later, .status = stream->status};
  snprintf(later.message, sizeof later.message, "an earlier failure of this stream");
  if (command->dropped && !stream->status) later.status = WIA_STATUS_CANCELLED;
  wia_error_t *error = later.status ? &later : NULL;
  if (stream->status && !stream->first_told) {
    stream->error.status = stream->status;
    stream->first_told = true;
    error = &stream->error;
  }
  telling = true;
  stream->notify(stream->context, command->value, error);
  telling = false;
}

static void *work(void *argument) {
  wia_driver_stream_t stream = argument;
  pthread_mutex_lock(&stream->mutex);
  for (;;) {
    command_t *command = stream->first;
    if (!command && stream->destroyed) break;
    if (!command) {
      pthread_cond_wait(&stream->changed, &stream->mutex);
      continue;
    }
    stream->first = command->next;
    if (!stream->first) stream->last = &stream->first;
    stream->running = true;
    pthread_mutex_unlock(&stream->mutex);
    if (command->kind == SIGNAL)
      tell(stream, command);
    else if (!command->dropped && !stream->status)
      stream->status = run(stream, command);
    free(command->copies);
    free(command);
    pthread_mutex_lock(&stream->mutex);
    stream->running = false;
    pthread_cond_broadcast(&stream->changed);
  }
  pthread_mutex_unlock(&stream->mutex);
  pthread_cond_destroy(&stream->changed);
  pthread_mutex_destroy(&stream->mutex);
  free(stream);
  atomic_fetch_sub(&live_streams, 1);
  return NULL;
}

/* -- entries ------------------------------------------------------------------------------------- */

static wia_status_t create(wia_driver_device_t device, int32_t priority,
                           wia_driver_notify_fn_t notify, void *context,
                           wia_driver_stream_t *out_stream, wia_error_t *error) {
  if (core.stream_status) {
    snprintf(error->message, sizeof error->message, "the test wants no stream");
    return core.stream_status;
  }
  if (priority < 0 || priority > CORE_LEAST_PRIORITY) core_fault("a priority out of range");
  core.last_priority = priority;
  wia_driver_stream_t stream = calloc(1, sizeof *stream);
  if (!stream) abort();
  stream->device = device;
  stream->notify = notify;
  stream->context = context;
  stream->last = &stream->first;
  stream->error.struct_size = sizeof stream->error;
  pthread_mutex_init(&stream->mutex, NULL);
  pthread_cond_init(&stream->changed, NULL);
  atomic_fetch_add(&live_streams, 1);
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, stream) || pthread_detach(thread)) abort();
  *out_stream = stream;
  return WIA_STATUS_OK;
}

static void enter(wia_driver_stream_t stream) {
  core_check_not_telling();
  if (atomic_fetch_add(&stream->inside, 1)) core_fault("two calls at once for a stream");
}
static void leave(wia_driver_stream_t stream) { atomic_fetch_sub(&stream->inside, 1); }

static void destroy(wia_driver_stream_t stream) {
  enter(stream);
  leave(stream);
  pthread_mutex_lock(&stream->mutex);
  if (stream->first && stream->first->kind == SIGNAL)
    core_fault("a stream destroyed before all was told");
  stream->destroyed = true;
  pthread_cond_signal(&stream->changed);
  pthread_mutex_unlock(&stream->mutex);
}

/* Ends what no value tells of: it is dropped, or waited for if it runs. */
static void end_untold(wia_driver_stream_t stream) {
  pthread_mutex_lock(&stream->mutex);
  command_t *untold = stream->first;
  bool runs = true; /* what is at work comes behind the last value */
  for (command_t *command = untold; command; command = command->next) {
    if (command->kind != SIGNAL) continue;
    untold = command->next;
    runs = false;
  }
  for (; untold; untold = untold->next) untold->dropped = true;
  while (runs && stream->running) pthread_cond_wait(&stream->changed, &stream->mutex);
  pthread_mutex_unlock(&stream->mutex);
}

static command_t *make(kind_t kind) {
  command_t *command = calloc(1, sizeof *command);
  if (!command) abort();
  command->kind = kind;
  return command;
}

static wia_status_t push(wia_driver_stream_t stream, command_t *command, wia_error_t *error) {
  const wia_status_t status = command->kind == SIGNAL ? core.signal_status : core.submit_status;
  if (status) {
    snprintf(error->message, sizeof error->message, "the test wants nothing to be taken");
    if (command->kind == SIGNAL) end_untold(stream);
    free(command->copies);
    free(command);
    return status;
  }
  enter(stream);
  pthread_mutex_lock(&stream->mutex);
  *stream->last = command;
  stream->last = &command->next;
  pthread_cond_signal(&stream->changed);
  pthread_mutex_unlock(&stream->mutex);
  leave(stream);
  return WIA_STATUS_OK;
}

static wia_status_t signal_value(wia_driver_stream_t stream, uint64_t value, wia_error_t *error) {
  if (value <= stream->last_value) core_fault("a value that doesn't grow");
  stream->last_value = value;
  command_t *command = make(SIGNAL);
  command->value = value;
  return push(stream, command, error);
}

static wia_status_t copy(wia_driver_stream_t stream, const wia_copy_t *copies, uint32_t count,
                         wia_error_t *error) {
  command_t *command = make(COPY);
  command->count = count;
  command->copies = malloc(count * sizeof *copies);
  if (!command->copies) abort();
  memcpy(command->copies, copies, count * sizeof *copies);
  return push(stream, command, error);
}

static wia_status_t fill(wia_driver_stream_t stream, const wia_operand_t *target, uint64_t size,
                         const void *pattern, uint32_t pattern_size, wia_error_t *error) {
  command_t *command = make(FILL);
  command->target = *target;
  command->size = size;
  command->count = pattern_size;
  memcpy(command->pattern, pattern, pattern_size);
  return push(stream, command, error);
}

static uint64_t cancel(wia_driver_stream_t stream) {
  uint64_t value = 0;
  enter(stream);
  pthread_mutex_lock(&stream->mutex);
  command_t *command = stream->first;
  /* what is running is not dropped, nor are its last words */
  if (stream->running && command && command->kind == SIGNAL) command = command->next;
  for (; command; command = command->next) {
    command->dropped = true;
    if (command->kind == SIGNAL && !value) value = command->value;
  }
  pthread_mutex_unlock(&stream->mutex);
  leave(stream);
  return value;
}

wia_status_t core_launch_on(wia_driver_stream_t stream, wia_kernel_fn_t fn, void *state,
                            const wia_kernel_args_t *args) {
  command_t *command = make(KERNEL);
  const uint32_t count = args->input_count + args->output_count;
  if (count > MAX_OPERANDS || args->scalar_count > MAX_SCALARS) abort();
  command->fn = fn;
  command->state = state;
  command->args = *args;
  memcpy(command->operands, args->operands, count * sizeof *args->operands);
  if (args->scalar_count)
    memcpy(command->scalars, args->scalars, args->scalar_count * sizeof *args->scalars);
  return push(stream, command, args->out_error);
}

#define REQUIRED                                                                                   \
  .struct_size = sizeof(wia_driver_streams_t), .least_priority = CORE_LEAST_PRIORITY,              \
  .create = create, .destroy = destroy, .signal = signal_value
const wia_driver_streams_t core_streams = {REQUIRED, .copy = copy, .fill = fill, .cancel = cancel};
const wia_driver_streams_t core_sparse_streams = {REQUIRED};
