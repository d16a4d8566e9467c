/* findings.h: what the layer validate has found, for its tests. */
#ifndef TEST_FINDINGS_H
#define TEST_FINDINGS_H

#include "core_driver.h"

typedef struct seen_t {
  wia_validation_report_t *report;
  uint64_t count;
} seen_t;

static inline seen_t see(wia_status_t (*get)(wia_validation_report_t **)) {
  seen_t seen = {NULL, 0};
  wia_validation_report_info_t info = WIA_VALIDATION_REPORT_INFO_INIT;
  CHECK_STATUS(get(&seen.report), WIA_STATUS_OK);
  CHECK_STATUS(wia_get_validation_report_info(seen.report, &info), WIA_STATUS_OK);
  seen.count = info.finding_count;
  return seen;
}

static inline wia_finding_t finding_at(const seen_t *seen, uint64_t index) {
  wia_finding_t finding = WIA_FINDING_INIT;
  CHECK_STATUS(wia_get_finding(seen->report, index, &finding), WIA_STATUS_OK);
  return finding;
}

static inline void drop(const seen_t *seen) {
  CHECK_STATUS(wia_destroy_validation_report(seen->report), WIA_STATUS_OK);
}

/* The number of findings since the last look. */
static inline uint64_t count_findings(void) {
  const seen_t seen = see(wia_get_validation_report);
  drop(&seen);
  CHECK_STATUS(wia_clear_findings(), WIA_STATUS_OK);
  return seen.count;
}

static inline bool none_is_found(void) {
  const seen_t seen = see(wia_get_validation_report);
  for (uint64_t i = 0; i < seen.count; i++)
    printf("  finding %d: %s\n", (int)i, finding_at(&seen, i).message);
  drop(&seen);
  CHECK_STATUS(wia_clear_findings(), WIA_STATUS_OK);
  return seen.count == 0;
}

/* One finding since the last look, of this kind and hazard, whose message has the part. */
static inline bool is_found(int32_t kind, int32_t hazard, const char *part) {
  const seen_t seen = see(wia_get_validation_report);
  bool found = seen.count == 1;
  for (uint64_t i = 0; i < seen.count; i++) {
    const wia_finding_t finding = finding_at(&seen, i);
    found &= finding.kind == kind && finding.hazard == hazard && strstr(finding.message, part);
    if (!found) printf("  finding %d: %s\n", (int)i, finding.message);
  }
  drop(&seen);
  CHECK_STATUS(wia_clear_findings(), WIA_STATUS_OK);
  return found;
}
#define CHECK_RACE(hazard, part) CHECK(is_found(WIA_FINDING_RACE, WIA_HAZARD_##hazard, part))
#define CHECK_NONE() CHECK(none_is_found())

/* Lines of the log are not shown. */
static inline void swallow(void *context, int32_t level, const char *subsystem, const char *driver,
                           const char *message) {
  (void)level;
  (void)subsystem;
  (void)driver;
  (void)message;
  atomic_fetch_add((_Atomic uint32_t *)context, 1);
}

static inline void finish(wia_stream_t *stream) {
  CHECK_STATUS(wia_synchronize_stream(stream, 20000 * INT64_C(1000000)), WIA_STATUS_OK);
}

#endif
