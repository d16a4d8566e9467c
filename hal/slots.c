#include "slots.h"

#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "fork.h"

static wia__slot_t default_slot;
static _Atomic(wia__slot_t *) slots[WIA__MAX_SLOTS] = {&default_slot};
static int32_t next_number = 1;

static char default_name[WIA__NAME_SIZE];
static const char *default_reason;

wia__slot_t *wia__get_slot(int32_t number) {
  if (number < 0 || number >= WIA__MAX_SLOTS) return NULL;
  return atomic_load_explicit(&slots[number], memory_order_acquire);
}

wia__slot_t *wia__give_slot(wia__record_t *record) {
  if (record->shown.slot >= 0) return wia__get_slot(record->shown.slot);
  if (next_number == WIA__MAX_SLOTS) return NULL;
  wia__slot_t *slot = calloc(1, sizeof *slot);
  if (slot == NULL) return NULL;
  slot->number = next_number++;
  atomic_store(&slot->record, record);
  record->shown.slot = slot->number;
  atomic_store_explicit(&slots[slot->number], slot, memory_order_release);
  return slot;
}

void wia__offer_default(wia__record_t *record) {
  if (default_reason == NULL || atomic_load(&default_slot.record) != NULL) return;
  if (strcmp(record->shown.name, default_name) != 0 || record->shown.slot >= 0) return;
  record->shown.slot = 0;
  atomic_store_explicit(&default_slot.record, record, memory_order_release);
}

static wia__record_t *find_best_native(void) {
  wia__record_t *best = NULL;
  for (wia__record_t *record = wia__first_record(); record != NULL; record = record->next)
    if (record->owner && record->may_be_default &&
        (best == NULL || record->shown.priority > best->shown.priority))
      best = record;
  return best;
}

void wia__choose_default(void) {
  const char *given = wia__env_text(WIA__ENV_DEFAULT_DEVICE);
  uint32_t ordinal = 0;
  wia__record_t *record = NULL;
  if (given[0] != '\0') {
    /* The default is a driver: its devices are all default ones, so only ordinal 0 makes sense. */
    if (!wia__parse_device_name(given, default_name, &ordinal) || ordinal != 0)
      default_name[0] = '\0';
    default_reason = "which WIA_DEFAULT_DEVICE names";
    record = wia__find_owner(default_name);
  } else if ((record = find_best_native()) != NULL) {
    memcpy(default_name, record->shown.name, strlen(record->shown.name) + 1);
    default_reason = "the native driver of highest priority";
  } else {
    memcpy(default_name, "reference", sizeof "reference");
    default_reason = "since no native driver may be the default";
  }
  if (record != NULL) wia__offer_default(record);
}

const char *wia__default_name(const char **out_reason) {
  *out_reason = default_reason;
  return default_name;
}

/* The parent's devices stay as they are, for what still points to them. */
void wia__fork_slots(wia__fork_t stage) {
  if (stage != WIA__FORK_CHILD) return;
  for (int32_t number = 0; number < next_number; number++) {
    wia__slot_t *slot = wia__get_slot(number);
    for (uint32_t i = 0; i < WIA__MAX_DEVICES; i++) {
      atomic_store(&slot->devices[i], NULL);
      slot->openers[i] = NULL;
    }
  }
}
