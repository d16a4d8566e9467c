/* graphs.c: a graph of a thread's own, from tensors, memory and streams that others destroy meanwhile. */
#include "calls.h"

static wia_status_t capture(calls_thread_t *t, wia_stream_t *stream, wia_context_t *context,
                            const wia_tensor_t *tensors, void *address) {
  const uint32_t pattern = 0;
  for (uint32_t i = fuzz_below(&t->random, 6); i-- > 0;) {
    const wia_tensor_t *some = tensors + fuzz_below(&t->random, 2);
    if (fuzz_one_in(&t->random, 4))
      wia_execute(context, custom_op(t), some, 1, some + 1, 1, NULL, 0, stream);
    else if (fuzz_one_in(&t->random, 4))
      wia_fill_memory(address, &pattern, 4, 8, stream);
    else
      wia_add(context, some[0], some[1], some[2], stream);
  }
  if (fuzz_one_in(&t->random, 4)) wia_synchronize_stream(stream, 0);
  return fuzz_one_in(&t->random, 20) ? wia_cancel_capture(stream) : WIA_STATUS_OK;
}

static wia_status_t use(calls_thread_t *t, wia_executable_t *executable, wia_stream_t *stream,
                        const wia_tensor_t *tensors, void *address) {
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t i = 0; i < 6; i++) {
    const uint32_t node = fuzz_below(&t->random, 4);
    switch (fuzz_below(&t->random, 6)) {
    case 0:
      status = wia_update_graph_operand(executable, node, fuzz_below(&t->random, 4), tensors[3]);
      break;
    case 1:
      status = wia_update_graph_tensor(executable, tensors[0], tensors[3], NULL);
      break;
    case 2:
      status = wia_update_graph_memory(executable, address, (void *)((uintptr_t)address + 8), 8,
                                       NULL); /* any address, so it is no pointer to count from */
      break;
    default:
      status = wia_launch_graph(executable, fuzz_one_in(&t->random, 2) ? stream : NULL);
    }
  }
  return status;
}

wia_status_t wild_graph(calls_thread_t *t, wia_context_t *context, wia_stream_t *stream,
                        const wia_tensor_t *tensors, void *address) {
  wia_stream_t *own = NULL;
  wia_graph_t *graph = NULL;
  wia_executable_t *executable = NULL;
  wia_instantiate_config_t config = WIA_INSTANTIATE_CONFIG_INIT;
  wia_status_t status = wia_create_stream(&own, context);
  if (status) return status;
  status = wia_begin_capture(own, NULL);
  if (!status) status = capture(t, own, context, tensors, address);
  if (!status) status = wia_end_capture(own, &graph);
  config.branches = (int32_t)fuzz_below(&t->random, 3);
  if (!status) status = wia_instantiate_graph(graph, &config, &executable);
  if (!status)
    status = use(t, executable, fuzz_one_in(&t->random, 2) ? own : stream, tensors, address);
  if (executable) wia_destroy_executable(executable);
  if (graph) wia_destroy_graph(graph);
  wia_destroy_stream(own);
  return status;
}
