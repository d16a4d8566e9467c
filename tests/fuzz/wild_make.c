/* wild_make.c: what threads that share handles create and destroy. */
#include "wild.h"

/* Functions that create leave their result alone when they fail. */
static char nothing;
#define NOTHING ((void *)&nothing)

/* Puts what a call made into a place. Returns what was there, for the caller to destroy; NULL: none. */
static void *keep(calls_thread_t *t, place_t *place, void *made, wia_status_t status) {
  if ((status != WIA_STATUS_OK) != (made == NOTHING))
    calls_wrong(t, "a result is written when the call succeeds, and only then", status);
  return status ? NULL : atomic_exchange(place, made);
}

static wia_status_t make_tensor(calls_thread_t *t) {
  int64_t shape[RANKS] = {0}, strides[RANKS] = {0};
  const uint32_t rank = pick_shape(t, shape, strides);
  wia_context_t *context = PICK(contexts);
  wia_tensor_t made = NOTHING;
  wia_status_t status;
  const int64_t *given = one_in(t, 2) ? strides : NULL;
  switch (below(t, 4)) {
  case 0:
    status = wia_allocate_tensor(context, shape, rank, pick_dtype(t), &made);
    break;
  case 3:
    status = wia_allocate_tensor_async(context, shape, rank, pick_dtype(t), pick_stream(t), &made);
    break;
  case 1:
    status = wia_wrap_tensor(context, pick_address(t), shape, given, rank, pick_dtype(t), &made);
    break;
  default:
    status = wia_view_tensor(PICK(tensors), pick_number(t), shape, given, rank, &made);
  }
  wia_destroy_tensor(keep(t, PLACE(tensors), made, status));
  return status;
}

typedef struct block_t {
  uint64_t bytes[32];
} block_t;

static void release_block(void *block) {
  atomic_fetch_add(&calls_kept, 1);
  free(block); /* who still reads it shows under the address sanitizer */
}

static wia_status_t make_memory(calls_thread_t *t) {
  void *made = NOTHING;
  const int32_t device = core_id(below(t, CORE_ALL_COUNT));
  wia_status_t status;
  if (one_in(t, 4)) {
    block_t *block = calloc(1, sizeof *block);
    if (!block) abort();
    wia_import_config_t config = WIA_IMPORT_CONFIG_INIT;
    config.release = release_block;
    config.context = block;
    config.flags = one_in(t, 4) ? WIA_IMPORT_READ_ONLY : 0;
    atomic_fetch_add(&calls_promised, 1); /* before another thread can free it */
    status = wia_import_memory(block, sizeof *block, device, &config);
    if (status) {
      atomic_fetch_sub(&calls_promised, 1);
      free(block);
    } else {
      made = block;
    }
  } else {
    wia_memory_config_t config = WIA_MEMORY_CONFIG_INIT;
    config.alignment = one_in(t, 10) ? bits(t) : UINT64_C(1) << below(t, 14);
    config.kind = one_in(t, 20) ? (int32_t)bits(t) : (int32_t)below(t, 3);
    status = one_in(t, 2)
                 ? wia_allocate_memory(&made, pick_size(t), device, &config)
                 : wia_malloc_async(PICK(contexts), pick_size(t), &config, pick_stream(t), &made);
  }
  wia_free(keep(t, PLACE(memories), made, status));
  return status;
}

static wia_status_t make_plan(calls_thread_t *t) {
  static const groups_node_t nodes[] = {{WIA_OP_ADD, {0, 1, NONE}, 2},
                                        {WIA_OP_DIV, {2, 0, NONE}, 3},
                                        {WIA_OP_MUL, {3, 1, NONE}, 4},
                                        {0}};
  wia_plan_t *made = NOTHING;
  wia_status_t status;
  if (one_in(t, 3)) {
    groups_t *groups = malloc(sizeof *groups);
    if (!groups) abort();
    groups_build(groups, calls_layout, 2, nodes);
    if (one_in(t, 4)) groups->operands[below(t, 3)][below(t, 4)] = below(t, GROUP_VALUES + 1);
    status = wia_create_plan(PICK(contexts), &groups->group, &made);
    free(groups);
  } else {
    wia_tensor_t operands[3] = {PICK(tensors), PICK(tensors), PICK(tensors)};
    status = wia_create_operation_plan(PICK(contexts), WIA_OP_ADD, operands, 2, operands + 2, 1,
                                       NULL, 0, &made);
  }
  wia_destroy_plan(keep(t, PLACE(plans), made, status));
  return status;
}

wia_status_t wild_make(calls_thread_t *t) {
  void *made = NOTHING;
  wia_status_t status;
  switch (below(t, 12)) {
  case 0:
    status = wia_create_stream((wia_stream_t **)&made, PICK(contexts));
    wia_destroy_stream(keep(t, PLACE(streams), made, status));
    return status;
  case 1:
  case 2:
    status = wia_create_event((wia_event_t **)&made, PICK(contexts));
    wia_destroy_event(keep(t, PLACE(events), made, status));
    return status;
  case 3:
    if (!one_in(t, 4)) return WIA_STATUS_OK;
    status = wia_create_context((wia_context_t **)&made, core_id(below(t, CORE_ALL_COUNT)));
    wia_destroy_context(keep(t, PLACE(contexts), made, status));
    return status;
  case 4:
  case 5:
  case 6:
    return make_memory(t);
  case 7:
  case 8:
    return make_plan(t);
  default:
    return make_tensor(t);
  }
}

wia_status_t wild_destroy(calls_thread_t *t) {
  switch (below(t, 6)) {
  case 0:
    return one_in(t, 2) ? wia_free(pick_address(t))
                        : wia_free_async(pick_address(t), PICK(streams));
  case 1:
    return wia_destroy_stream(one_in(t, 4) ? PICK(streams) : NULL);
  case 2:
    return wia_destroy_event(PICK(events));
  case 3:
    return wia_destroy_plan(PICK(plans));
  case 4:
    return wia_destroy_context(one_in(t, 20) ? PICK(contexts) : NULL);
  default:
    return wia_destroy_tensor(PICK(tensors));
  }
}
