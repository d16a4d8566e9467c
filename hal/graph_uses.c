/* graph_uses.c: what launches of graphs use, for the layer validate: to it a launch is one piece of work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executable.h"
#include "hazard.h"

static uint32_t count_room(const wia__program_t *program) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < program->list.count; n++) {
    const wia__graph_node_t *node = program->list.nodes[n];
    count += wia__count_operands(node) + (node->transfer ? 2 : 0);
  }
  return count;
}

void wia__name_uses(const wia__program_t *program, uint32_t node, wia__uses_t *uses) {
  for (uint32_t i = 0; i < uses->count; i++) {
    char *use = uses->list[i].access.use;
    const size_t used = strlen(use);
    snprintf(use + used, WIA__USE_NAME - used, " (node %u of graph \"%.16s\")", node,
             program->name);
  }
}

static wia_status_t list_node(const wia__program_t *program, uint32_t n, wia__site_t site,
                              wia__uses_t *uses) {
  const wia__graph_node_t *node = program->list.nodes[n];
  wia__uses_t own = {.operation = wia__node_name(node),
                     .device = node->device,
                     .turns = uses->turns,
                     .list = uses->list + uses->count};
  if (node->plan) wia__list_operands(node->plan, node->tensors, &own);
  if (node->transfer) wia__list_transfer(node->transfer, &own);
  wia__name_uses(program, n, &own);
  uses->count += own.count;
  return wia__find_twins(&own, site);
}

/* -- each once ----------------------------------------------------------------------------------- */

static int compare_places(const wia__use_t *left, const wia__use_t *right) {
  const uintptr_t a = (uintptr_t)left->allocation, b = (uintptr_t)right->allocation;
  return a != b ? (a < b ? -1 : 1)
                : memcmp(&left->access.region, &right->access.region, sizeof left->access.region);
}

static int compare_times(const void *a, const void *b) {
  const uint64_t left = ((const wia__use_t *)a)->access.time,
                 right = ((const wia__use_t *)b)->access.time;
  return left < right ? -1 : left > right;
}

/* The first that writes a place is in front of all others of it. */
static int compare_uses(const void *a, const void *b) {
  const wia__use_t *left = a, *right = b;
  const int places = compare_places(left, right);
  if (places) return places;
  if (left->access.write != right->access.write) return left->access.write ? -1 : 1;
  return compare_times(a, b);
}

/* Nodes are in order, so of the uses of one place one says it all. */
static void keep_one_of_each(wia__uses_t *uses) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < uses->count; i++) uses->list[i].access.time = i;
  qsort(uses->list, uses->count, sizeof *uses->list, compare_uses);
  for (uint32_t i = 0; i < uses->count; i++)
    if (!kept || compare_places(&uses->list[kept - 1], &uses->list[i]) != 0)
      uses->list[kept++] = uses->list[i];
  uses->count = kept;
  qsort(uses->list, uses->count, sizeof *uses->list, compare_times);
}

wia_status_t wia__list_program(const wia__executable_t *executable, const wia__program_t *program,
                               wia__site_t site, wia__uses_t *uses) {
  *uses = (wia__uses_t){.operation = "", .device = program->device, .turns = executable};
  uses->list = calloc(count_room(program) + 1, sizeof *uses->list);
  wia_status_t status = WIA_STATUS_OK;
  for (uint32_t n = 0; uses->list && n < program->list.count && !status; n++) {
    if (program->list.nodes[n]->kind == WIA_GRAPH_FUNCTION) break;
    status = list_node(program, n, site, uses);
  }
  if (status) {
    free(uses->list);
    return status;
  }
  if (uses->list) keep_one_of_each(uses);
  return WIA_STATUS_OK;
}
