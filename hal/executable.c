/* executable.c: executables: made from graphs, launched, destroyed. */
#include "executable.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "platform.h"
#include "validate.h"

/* -- life ---------------------------------------------------------------------------------------- */

static void destroy_executable(wia__object_t *object) {
  wia__executable_t *executable = (wia__executable_t *)object;
  for (uint32_t i = 0; i < executable->lane_count; i++) {
    wia__close_queue(executable->lanes[i]);
    wia__release_queue(executable->lanes[i]);
  }
  free(executable->lanes);
  if (executable->program) wia__release(&executable->program->object);
  wia__release_point(executable->last);
  free(executable->race.done);
  pthread_cond_destroy(&executable->race.changed);
  pthread_mutex_destroy(&executable->race.mutex);
  pthread_mutex_destroy(&executable->turn);
  pthread_mutex_destroy(&executable->mutex);
  free(executable->name);
  free(executable);
}

static wia_status_t create_executable(const wia__graph_t *graph,
                                      const wia_instantiate_config_t *config,
                                      wia__executable_t **out_executable) {
  wia__executable_t *executable = calloc(1, sizeof *executable);
  if (!executable || !(executable->name = strdup(graph->name)) ||
      wia__init_condition(&executable->race.changed) != 0) {
    if (executable) free(executable->name);
    free(executable);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an executable");
  }
  wia__init_object(&executable->object, WIA__EXECUTABLE, destroy_executable);
  pthread_mutex_init(&executable->race.mutex, NULL);
  pthread_mutex_init(&executable->turn, NULL);
  pthread_mutex_init(&executable->mutex, NULL);
  executable->device = graph->device;
  executable->config = *config;
  *out_executable = executable;
  return WIA_STATUS_OK;
}

static wia_status_t instantiate(wia__graph_t *graph, const wia_instantiate_config_t *config,
                                wia_executable_t **out_executable) {
  wia__executable_t *executable = NULL;
  wia__node_list_t list;
  wia__program_t *program = NULL;
  wia_status_t status = create_executable(graph, config, &executable);
  if (status) return status;
  if (wia__copy_nodes(&graph->list, &list))
    status = wia__create_program(graph->name, graph->device, &list, graph->branch_count, config,
                                 &program);
  else
    status = wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for an executable");
  atomic_store(&executable->program, program);
  if (!status) status = wia__make_lanes(executable, program);
  if (status) {
    wia__release(&executable->object);
    return status;
  }
  void *handle = NULL;
  status = wia__make_handle(&executable->object, &handle);
  if (!status) *out_executable = handle;
  return status;
}

static wia_status_t instantiate_graph(wia_graph_t *handle, const wia_instantiate_config_t *given,
                                      wia_executable_t **out_executable) {
  if (!out_executable) return wia__null("out_executable");
  wia_instantiate_config_t config = {.struct_size = sizeof config};
  wia__graph_t *graph = NULL;
  wia_status_t status =
      wia__read_struct(given, &config, sizeof config, sizeof config, "WIA_INSTANTIATE_CONFIG_INIT");
  if (!status && (config.branches < WIA_BRANCHES_AUTO || config.branches > WIA_BRANCHES_PARALLEL))
    status = wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                       "branches is %d; expected WIA_BRANCHES_AUTO, _IN_ORDER or _PARALLEL",
                       (int)config.branches);
  if (!status) status = wia__resolve(handle, WIA__GRAPH, "graph", &graph);
  if (status) return status;
  wia__retain(&graph->object); /* workspaces are allocated outside the epoch */
  status = instantiate(graph, &config, out_executable);
  wia__release(&graph->object);
  return status;
}

WIA_API wia_status_t wia_instantiate_graph(wia_graph_t *graph,
                                           const wia_instantiate_config_t *config,
                                           wia_executable_t **out_executable) {
  WIA__CALL(instantiate_graph(graph, config, out_executable));
}

WIA_API wia_status_t wia_destroy_executable(wia_executable_t *executable) {
  WIA__CALL(wia__close_handle(executable, WIA__EXECUTABLE));
}

static wia_status_t get_executable_info(wia_executable_t *handle, wia_executable_info_t *out_info) {
  wia__executable_t *executable = NULL;
  wia_status_t status = wia__check_out(out_info, sizeof *out_info, "WIA_EXECUTABLE_INFO_INIT");
  if (!status) status = wia__resolve(handle, WIA__EXECUTABLE, "executable", &executable);
  if (status) return status;
  pthread_mutex_lock(&executable->mutex); /* an update in place may change the driver's graph */
  const wia__program_t *program = atomic_load(&executable->program);
  wia_executable_info_t info = {.device_id = executable->device->id,
                                .name = executable->name,
                                .node_count = program->list.count,
                                .branch_count = program->parallel ? program->branch_count : 1,
                                .driver_graph = program->driver_graph != NULL};
  for (uint32_t i = 0; i < program->workspace_count; i++)
    info.workspace_size += program->workspaces[i].size;
  pthread_mutex_unlock(&executable->mutex);
  wia__write_struct(out_info, &info, sizeof info);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_executable_info(wia_executable_t *executable,
                                             wia_executable_info_t *out_info) {
  WIA__CALL(get_executable_info(executable, out_info));
}

/* -- a run --------------------------------------------------------------------------------------- */

static wia_status_t run(wia__executable_t *executable, wia__program_t *program) {
  if (program->driver_graph) return wia__launch_driver_graph(program, NULL);
  if (program->parallel) return wia__run_branches(executable, program);
  return wia__run_steps(program);
}

static __attribute__((noinline)) wia_status_t run_traced(wia__executable_t *executable,
                                                         wia__program_t *program) {
  const int64_t begin_ns = wia__begin_span();
  const wia_status_t status = run(executable, program);
  if (begin_ns)
    wia__end_span(WIA_PROFILE_GRAPH, begin_ns, program->name, program->device->id, -1, 0);
  return status;
}

wia_status_t wia__run_program(wia__executable_t *executable, wia__program_t *program) {
  if (!program->waits)
    return wia__is_tracing() ? run_traced(executable, program) : run(executable, program);
  wia__thread_t *self = wia__thread();
  const void *outer = self->runs;
  self->runs = executable;
  wia__leave(self);
  const wia_status_t status = run_traced(executable, program);
  wia__rejoin(self);
  self->runs = outer;
  return status;
}

/* Whoever runs a host function of the executable would wait for itself. */
static wia_status_t check_caller(const wia__executable_t *executable) {
  if (wia__thread()->runs != executable) return WIA_STATUS_OK;
  return wia__fail(WIA_STATUS_FAILED_PRECONDITION,
                   "a host function of graph \"%s\" would launch it without a stream, and so wait "
                   "for itself",
                   executable->name);
}

/* -- launches without a stream ------------------------------------------------------------------- */

/* Waits outside the epoch. */
static void wait_turn(wia__executable_t *executable) {
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  pthread_mutex_lock(&executable->turn);
  wia__rejoin(self);
}

/* In the executable's turn. *out_again: work in flight was waited for meanwhile. */
static wia_status_t launch_in_turn(wia__executable_t *executable, wia__program_t *program,
                                   bool *out_pending) {
  wia_status_t status = WIA_STATUS_OK;
  if (__builtin_expect(atomic_load_explicit(&program->stale, memory_order_acquire), 0)) {
    pthread_mutex_lock(&executable->mutex);
    if (atomic_load(&program->stale)) status = wia__list_memories(program);
    pthread_mutex_unlock(&executable->mutex);
    if (status) return status;
  }
  status = wia__check_memories(program, out_pending);
  if (status || *out_pending) return status;
  if (__builtin_expect(!program->waits, 1)) return wia__run_program(executable, program);
  status = wia__use_memories(program);
  if (status) return status;
  wia__retain(&program->object);
  status = wia__run_program(executable, program);
  wia__end_memories(program);
  wia__release(&program->object);
  return status;
}

/* Waits for the work in flight on the memory of a program, which the caller holds. */
static wia_status_t settle(const wia__program_t *program) {
  wia_status_t status = WIA_STATUS_OK;
  bool waited = false;
  for (uint32_t i = 0; i < program->memory_count && !status; i++)
    status = wia__settle(&program->memories[i], 1, &waited);
  return status;
}

static wia_status_t await_last(wia__executable_t *executable) {
  pthread_mutex_lock(&executable->mutex);
  wia__point_t *last = executable->last;
  if (last) wia__retain_point(last);
  pthread_mutex_unlock(&executable->mutex);
  if (!last) return WIA_STATUS_OK;
  const wia_status_t status = wia__wait_point(last, WIA_TIMEOUT_INFINITE);
  wia__release_point(last);
  return status;
}

/* What takes longer: it waits, and so needs references. */
static __attribute__((noinline)) wia_status_t launch_patiently(wia__executable_t *executable) {
  wia_status_t status = check_caller(executable);
  if (status) return status;
  wia__retain(&executable->object);
  bool pending = true;
  while (pending && !status) {
    pending = false;
    if (executable->device->table->streams) status = await_last(executable);
    if (status) break;
    wait_turn(executable);
    wia__program_t *program = atomic_load(&executable->program);
    wia__retain(&program->object);
    status = launch_in_turn(executable, program, &pending);
    pthread_mutex_unlock(&executable->turn);
    if (pending) status = settle(program);
    wia__release(&program->object);
  }
  wia__release(&executable->object);
  return status;
}

static inline wia_status_t launch_now(wia__executable_t *executable) {
  wia__program_t *program = atomic_load_explicit(&executable->program, memory_order_acquire);
  if (__builtin_expect(program->waits || executable->device->table->streams != NULL, 0) ||
      pthread_mutex_trylock(&executable->turn) != 0)
    return launch_patiently(executable);
  program = atomic_load_explicit(&executable->program, memory_order_acquire);
  bool pending = program->waits;
  wia_status_t status = WIA_STATUS_OK;
  if (!pending) status = launch_in_turn(executable, program, &pending);
  pthread_mutex_unlock(&executable->turn);
  return __builtin_expect(pending && !status, 0) ? launch_patiently(executable) : status;
}

/* -- launches on a stream ------------------------------------------------------------------------ */

static wia_status_t run_launch(wia__item_t *item) {
  wia__graph_item_t *launch = (wia__graph_item_t *)item;
  pthread_mutex_lock(&launch->executable->turn);
  const wia_status_t status = wia__run_program(launch->executable, launch->program);
  pthread_mutex_unlock(&launch->executable->turn);
  return status;
}

static void end_launch(wia__item_t *item, wia_status_t status, const wia__failure_t *failure) {
  wia__graph_item_t *launch = (wia__graph_item_t *)item;
  (void)status;
  (void)failure;
  wia__end_memories(launch->program);
  wia__release(&launch->program->object);
  wia__release(&launch->executable->object);
  free(launch);
}

static wia_status_t mark_launch(wia__item_t *item, wia__queue_t *queue, uint64_t sequence) {
  const wia__program_t *program = ((wia__graph_item_t *)item)->program;
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < program->memory_count && !status; i++)
    status = wia__mark(program->memories[i], queue, sequence);
  return status;
}

static wia_status_t enqueue_launch(wia__executable_t *executable, wia__program_t *program,
                                   wia__queue_t *queue) {
  wia_status_t status = wia__use_memories(program);
  if (status) return status;
  wia__graph_item_t *launch = malloc(sizeof *launch); /* with references of both */
  if (!launch) {
    wia__end_memories(program);
    return wia__fail(WIA_STATUS_RESOURCE_EXHAUSTED, "no memory for queued work");
  }
  *launch = (wia__graph_item_t){.item = {.run = run_launch,
                                         .end = end_launch,
                                         .what = program->name,
                                         .kind = WIA_PROFILE_GRAPH},
                                .executable = executable,
                                .program = program};
  wia__retain(&executable->object);
  wia__retain(&program->object);
  return wia__enqueue(queue, &launch->item, mark_launch);
}

/* The program with a reference, and its memories listed. */
static wia_status_t hold_program(wia__executable_t *executable, wia__program_t **out_program) {
  pthread_mutex_lock(&executable->mutex);
  wia__program_t *program = atomic_load(&executable->program);
  const wia_status_t status =
      atomic_load(&program->stale) ? wia__list_memories(program) : WIA_STATUS_OK;
  if (!status) wia__retain(&program->object);
  pthread_mutex_unlock(&executable->mutex);
  *out_program = program;
  return status;
}

static wia_status_t launch_on(wia__executable_t *executable, wia_stream_t *stream) {
  wia__queue_t *queue = NULL;
  wia_status_t status = wia__resolve_stream(stream, &queue);
  if (status) return status;
  if (queue->device != executable->device)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT, "the stream is of %s and graph \"%s\" of %s",
                     queue->device->name, executable->name, executable->device->name);
  wia__program_t *program = NULL;
  status = hold_program(executable, &program);
  if (status) return status;
  bool captured = false;
  if (atomic_load(&queue->capturing)) status = wia__capture_nodes(queue, &program->list, &captured);
  if (!status && !captured)
    status = queue->native ? wia__submit_program(executable, program, queue)
                           : enqueue_launch(executable, program, queue);
  wia__release(&program->object);
  return status;
}

/* A launch that the layer validate looks at, once what it waits for is over. */
static wia_status_t launch_under(wia__executable_t *executable, const wia__program_t *program) {
  bool pending = false;
  wia_status_t status = wia__check_memories(program, &pending);
  if (!status && executable->device->table->streams) status = await_last(executable);
  if (!status && pending) status = settle(program);
  wia__uses_t uses;
  if (!status) status = wia__list_program(executable, program, wia__capture_site(), &uses);
  if (status) return status;
  status = wia__begin_use(&uses);
  if (!status) {
    status = launch_now(executable);
    wia__end_use_of(&uses);
  }
  free(uses.list);
  return status;
}

static __attribute__((noinline)) wia_status_t launch_validated(wia__executable_t *executable) {
  wia__program_t *program = NULL;
  wia_status_t status = hold_program(executable, &program);
  if (status) return status;
  wia__retain(&executable->object);
  status = launch_under(executable, program);
  wia__release(&program->object);
  wia__release(&executable->object);
  return status;
}

static inline wia_status_t launch_graph(wia_executable_t *handle, wia_stream_t *stream) {
  wia__executable_t *executable = (wia__executable_t *)wia__find_object(handle, WIA__EXECUTABLE);
  if (__builtin_expect(!executable, 0))
    return wia__resolve(handle, WIA__EXECUTABLE, "executable", &executable);
  if (stream) return launch_on(executable, stream);
  if (wia__is_validating() && wia__works_for_host()) return launch_validated(executable);
  return launch_now(executable);
}

WIA_API wia_status_t wia_launch_graph(wia_executable_t *executable, wia_stream_t *stream) {
  WIA__CALL(launch_graph(executable, stream));
}
