/* hazard.c: see hazard.h. */
#include "hazard.h"

#include <stdio.h>
#include <string.h>

#include "op.h"
#include "shape.h"

static wia_status_t make(const wia__finding_t *finding, bool refusable) {
  if (refusable && wia__findings_are_errors()) {
    wia__note_finding(finding);
    return wia__fail_finding(finding);
  }
  wia__note_finding(finding);
  return WIA_STATUS_OK;
}

/* -- races --------------------------------------------------------------------------------------- */

enum { WORK_TEXT = 256 };

static const char *describe(char text[WORK_TEXT], const wia__access_t *access) {
  const char *verb = access->write ? "writes" : "reads";
  if (access->stream)
    snprintf(text, WORK_TEXT, "%s on stream %u of %s %s its %s", access->operation, access->stream,
             access->device->name, verb, access->use);
  else
    snprintf(text, WORK_TEXT, "%s without a stream %s its %s", access->operation, verb,
             access->use);
  return text;
}

static const char *advise(const wia__access_t *access, const wia__access_t *before) {
  if (before->thread) return "two threads are in it at the same time: let one end before the other";
  if (!access->stream)
    return "wait for that stream first, with wia_synchronize_stream() or for an event of it";
  if (!before->stream) return "do the one without a stream first, or wait for the stream before it";
  return "have the later stream wait for an event that was recorded behind the earlier call: "
         "wia_record_event(), wia_enqueue_wait()";
}

wia_status_t wia__find_race(const wia__shadow_t *shadow, const wia__access_t *access,
                            const wia__access_t *before, bool refusable) {
  static const char *const hazards[] = {"", "read after write", "write after read",
                                        "write after write"};
  wia__finding_t finding = {.kind = WIA_FINDING_RACE,
                            .hazard = !access->write  ? WIA_HAZARD_READ_AFTER_WRITE
                                      : before->write ? WIA_HAZARD_WRITE_AFTER_WRITE
                                                      : WIA_HAZARD_WRITE_AFTER_READ,
                            .device = shadow->size ? access->device->id : -1,
                            .first = "this call",
                            .second = "the other",
                            .site = access->site,
                            .site_2 = before->site,
                            .stream = access->stream,
                            .stream_2 = before->stream,
                            .count = 1};
  char this_work[WORK_TEXT], other[WORK_TEXT], place[WORK_TEXT];
  const uint64_t end = wia__region_end(&access->region),
                 other_end = wia__region_end(&before->region);
  finding.address =
      access->region.base > before->region.base ? access->region.base : before->region.base;
  finding.size = (end < other_end ? end : other_end) - finding.address;
  snprintf(finding.operation, sizeof finding.operation, "%s", access->operation);
  snprintf(finding.operation_2, sizeof finding.operation_2, "%s", before->operation);
  if (shadow->size)
    snprintf(place, sizeof place, "from byte %llu of an allocation of %llu bytes at %#llx",
             (unsigned long long)(finding.address - shadow->address),
             (unsigned long long)shadow->size, (unsigned long long)shadow->address);
  else
    snprintf(place, sizeof place, "of the host from %#llx on", (unsigned long long)finding.address);
  snprintf(finding.text, sizeof finding.text,
           "race, %s: %s where %s, and nothing says which goes first (%llu bytes %s); %s",
           hazards[finding.hazard], describe(this_work, access), describe(other, before),
           (unsigned long long)finding.size, place, advise(access, before));
  return make(&finding, refusable);
}

/* -- overlaps ------------------------------------------------------------------------------------ */

/* Whether an element of a result needs no others than those at its own place. False for what is no
 * operation of the catalog. */
static bool needs_others(const char *operation) {
  for (uint32_t i = 0; i < wia__op_count; i++) {
    const wia__op_t *op = &wia__ops[i];
    if (strcmp(op->name, operation) != 0) continue;
    return op->infer != wia__infer_same && op->infer != wia__infer_elementwise &&
           op->infer != wia__infer_compare && op->infer != wia__infer_cast;
  }
  return false;
}

static uint32_t count_twins(const wia__uses_t *uses, const wia__access_t *output) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < uses->count; i++)
    count += !uses->list[i].access.write &&
             wia__same_region(&uses->list[i].access.region, &output->region);
  return count;
}

wia_status_t wia__find_twins(const wia__uses_t *uses, wia__site_t site) {
  for (uint32_t i = 0; i < uses->count; i++) {
    const wia__access_t *output = &uses->list[i].access;
    if (!output->write || count_twins(uses, output) < 2 || !needs_others(uses->operation)) continue;
    wia__finding_t finding = {.kind = WIA_FINDING_OVERLAP,
                              .device = uses->device->id,
                              .first = "this call",
                              .site = site,
                              .address = output->region.base,
                              .size = wia__region_end(&output->region) - output->region.base,
                              .count = 1};
    snprintf(finding.operation, sizeof finding.operation, "%s", uses->operation);
    snprintf(
        finding.text, sizeof finding.text,
        "overlap: %s of %s on %s is the same tensor as %u inputs, and a driver is told of one of "
        "them: what it reads of the others may be written by then; give another output",
        output->use, uses->operation, uses->device->name, count_twins(uses, output));
    return make(&finding, true);
  }
  return WIA_STATUS_OK;
}

/* -- cycles -------------------------------------------------------------------------------------- */

enum { MOST_WAITS = 4096 };

static wia_status_t find_cycle(wia__timeline_t *timeline, const wia__step_t *record) {
  wia__finding_t finding = {.kind = WIA_FINDING_CYCLIC_WAIT,
                            .device = timeline->device->id,
                            .first = "this record",
                            .second = "the wait before it",
                            .site = record->site,
                            .site_2 = timeline->first->site,
                            .stream = timeline->stream,
                            .stream_2 = timeline->stream,
                            .count = 1};
  size_t used = (size_t)snprintf(finding.text, sizeof finding.text, "cyclic wait: ");
  const wia__timeline_t *at = timeline;
  do {
    const wia__timeline_t *next = at->first->moment->recorder;
    const wia__timeline_t *recorder = next ? next : timeline;
    if (used < sizeof finding.text)
      used += (size_t)snprintf(finding.text + used, sizeof finding.text - used,
                               "stream %u of %s waits for an event of stream %u, ", at->stream,
                               at->device->name, recorder->stream);
    at = next;
  } while (at);
  if (used < sizeof finding.text)
    snprintf(finding.text + used, sizeof finding.text - used,
             "each recorded behind the wait of its stream, so none of them goes on; record before "
             "the wait, or signal one of the events with wia_signal_event()");
  return make(&finding, true);
}

wia_status_t wia__check_cycle(wia__timeline_t *timeline, const wia__step_t *record) {
  /* bounded, since it may lead into a cycle that was found before */
  const wia__timeline_t *at = timeline;
  for (uint32_t i = 0; at && i < MOST_WAITS; i++) {
    if (!at->first || at->first->kind != WIA__STEP_WAIT) return WIA_STATUS_OK;
    const wia__moment_t *moment = at->first->moment;
    if (moment == record->moment) return find_cycle(timeline, record);
    at = moment->known ? NULL : moment->recorder;
  }
  return WIA_STATUS_OK;
}
