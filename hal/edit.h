/* edit.h: changing an executable. */
#ifndef WIA__EDIT_H
#define WIA__EDIT_H

#include "executable.h"

/* A program that may be changed: the executable's own while nobody runs or holds it, else a copy that
 * takes its place. */
typedef struct wia__edit_t {
  wia__executable_t *executable;
  wia__program_t *program;
  bool in_place;
} wia__edit_t;

/* Takes the executable's mutex until the end, unless it fails. */
wia_status_t wia__begin_edit(wia_executable_t *handle, wia__edit_t *edit);
/* status: what came of it; not OK: nothing was changed. Returns that. */
wia_status_t wia__end_edit(wia__edit_t *edit, wia_status_t status);

/* That a kernel can have these operands, naming the node. */
wia_status_t wia__check_operands(const wia__program_t *program, uint32_t node,
                                 const wia__tensor_t *tensors);

/* Gives a node operands, or the two sides of a copy or fill (fresh: memory of its places that is
 * new, else NULL). Fails, changing nothing, if memory was freed meanwhile. */
wia_status_t wia__put_tensors(wia__program_t *program, uint32_t node, const wia__tensor_t *tensors);
wia_status_t wia__put_transfer(wia__program_t *program, uint32_t node,
                               const wia__transfer_t *transfer, wia__allocation_t *const *fresh);

#endif
