/* address.c: the map from addresses to live allocations: a treap, ordered by base address. */
#include "fork.h"
#include "memory.h"

static pthread_rwlock_t map_lock = PTHREAD_RWLOCK_INITIALIZER;
static wia__allocation_t *root, *arenas;
static wia__allocation_t *forked; /* what the parent had at the fork */
static uint64_t seed = UINT64_C(0x2545f4914f6cdd1d);

static uint64_t base_of(const wia__allocation_t *a) { return a->memory.address; }

static uint64_t next_priority(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}

/* Splits a tree into bases below and from address on. */
static void split(wia__allocation_t *tree, uint64_t address, wia__allocation_t **below,
                  wia__allocation_t **above) {
  while (tree) {
    if (base_of(tree) < address) {
      *below = tree;
      below = &tree->right;
      tree = tree->right;
    } else {
      *above = tree;
      above = &tree->left;
      tree = tree->left;
    }
  }
  *below = *above = NULL;
}

static wia__allocation_t *merge(wia__allocation_t *below, wia__allocation_t *above) {
  wia__allocation_t *merged = NULL, **link = &merged;
  while (below && above) {
    if (below->priority > above->priority) {
      *link = below;
      link = &below->right;
      below = below->right;
    } else {
      *link = above;
      link = &above->left;
      above = above->left;
    }
  }
  *link = below ? below : above;
  return merged;
}

/* The allocation of a tree with the highest base at or below address. */
static wia__allocation_t *find_floor(wia__allocation_t *tree, uint64_t address) {
  wia__allocation_t *best = NULL;
  for (wia__allocation_t *a = tree; a;) {
    if (base_of(a) <= address) {
      best = a;
      a = a->right;
    } else {
      a = a->left;
    }
  }
  return best;
}

wia__allocation_t *wia__find_allocation(uint64_t address) {
  pthread_rwlock_rdlock(&map_lock);
  wia__allocation_t *found = find_floor(root, address);
  if (found && address - base_of(found) >= found->size) found = NULL;
  pthread_rwlock_unlock(&map_lock);
  return found;
}

static wia__allocation_t *find_unowned(wia__allocation_t *tree) {
  for (wia__allocation_t *a = tree; a; a = a->right) {
    if (!a->owned) return a;
    wia__allocation_t *found = find_unowned(a->left);
    if (found) return found;
  }
  return NULL;
}

wia__allocation_t *wia__find_unowned(void) {
  pthread_rwlock_rdlock(&map_lock);
  wia__allocation_t *found = find_unowned(root);
  pthread_rwlock_unlock(&map_lock);
  return found;
}

/* One of a tree that has some of a range, or NULL. */
static wia__allocation_t *find_overlapping(wia__allocation_t *tree, uint64_t base, uint64_t last) {
  wia__allocation_t *floor = find_floor(tree, last);
  return floor && base_of(floor) + (floor->size - 1) >= base ? floor : NULL;
}

static wia__allocation_t **root_of(const wia__allocation_t *allocation) {
  return allocation->is_arena ? &arenas : &root;
}

bool wia__map_insert(wia__allocation_t *allocation) {
  const uint64_t base = base_of(allocation), last = base + (allocation->size - 1);
  wia__allocation_t **tree = root_of(allocation);
  pthread_rwlock_wrlock(&map_lock);
  const bool bad = last < base || find_overlapping(*tree, base, last);
  if (!bad) {
    wia__allocation_t *below, *above;
    allocation->priority = next_priority();
    allocation->left = allocation->right = NULL;
    split(*tree, base, &below, &above);
    *tree = merge(merge(below, allocation), above);
  }
  pthread_rwlock_unlock(&map_lock);
  return !bad;
}

void wia__map_remove(wia__allocation_t *allocation) {
  wia__allocation_t *below, *rest, *self, *above, **tree = root_of(allocation);
  pthread_rwlock_wrlock(&map_lock);
  split(*tree, base_of(allocation), &below, &rest);
  split(rest, base_of(allocation) + 1, &self, &above);
  *tree = merge(below, above);
  pthread_rwlock_unlock(&map_lock);
}

bool wia__is_mapped(uint64_t address, uint64_t size) {
  pthread_rwlock_rdlock(&map_lock);
  const bool found = find_overlapping(root, address, address + (size - 1)) != NULL;
  pthread_rwlock_unlock(&map_lock);
  return found;
}

wia__allocation_t *wia__use_arena(uint64_t address, uint64_t size) {
  const uint64_t last = size - 1 > UINT64_MAX - address ? UINT64_MAX : address + (size - 1);
  pthread_rwlock_rdlock(&map_lock);
  wia__allocation_t *found = find_overlapping(arenas, address, last);
  if (found && !wia__try_use(found)) found = NULL;
  pthread_rwlock_unlock(&map_lock);
  return found;
}

wia__allocation_t *wia__find_arena(uint64_t address) {
  pthread_rwlock_rdlock(&map_lock);
  wia__allocation_t *found = address ? find_floor(arenas, address) : arenas;
  if (found && address && base_of(found) != address) found = NULL;
  pthread_rwlock_unlock(&map_lock);
  return found;
}

static void visit_tree(const wia__allocation_t *tree,
                       void (*visit)(void *context, const wia__allocation_t *allocation),
                       void *context) {
  for (; tree; tree = tree->right) {
    visit_tree(tree->left, visit, context);
    visit(context, tree);
  }
}

void wia__each_allocation(void (*visit)(void *context, const wia__allocation_t *allocation),
                          void *context) {
  pthread_rwlock_rdlock(&map_lock);
  visit_tree(root, visit, context);
  pthread_rwlock_unlock(&map_lock);
}

const wia__allocation_t *wia__find_forked(uint64_t address) {
  const wia__allocation_t *found = find_floor(forked, address);
  return found && address - base_of(found) < found->size ? found : NULL;
}

void wia__fork_addresses(wia__fork_t stage) {
  if (stage == WIA__FORK_BEFORE)
    pthread_rwlock_rdlock(&map_lock);
  else
    pthread_rwlock_unlock(&map_lock);
  if (stage != WIA__FORK_CHILD) return;
  pthread_rwlock_init(&map_lock, NULL); /* readers that are gone count in it */
  if (root) forked = root;
  root = arenas = NULL;
}
