/* pool.c: see pool.h. */
#include "pool.h"

#include <stdlib.h>

enum { KEPT_BLOCKS = 1024 };

void *wia__take_block(wia__pool_t *pool, wia__block_t **spare, size_t size) {
  wia__block_t *block = *spare;
  if (!block && atomic_load_explicit(&pool->given, memory_order_relaxed)) {
    block = atomic_exchange_explicit(&pool->given, NULL, memory_order_acquire);
    atomic_store_explicit(&pool->count, 0, memory_order_relaxed);
  }
  if (!block) return malloc(size);
  *spare = block->next;
  return block;
}

void wia__give_block(wia__pool_t *pool, void *given) {
  wia__block_t *block = given;
  if (atomic_load_explicit(&pool->count, memory_order_relaxed) >= KEPT_BLOCKS) {
    free(block);
    return;
  }
  atomic_fetch_add_explicit(&pool->count, 1, memory_order_relaxed);
  block->next = atomic_load_explicit(&pool->given, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&pool->given, &block->next, block,
                                                memory_order_release, memory_order_relaxed)) {
  }
}
