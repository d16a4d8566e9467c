/* The load report. */
#include "discovery.h"
#include "object.h"
#include "records.h"

static wia_status_t get_count(uint32_t *out_count) {
  if (out_count == NULL) return wia__null("out_count");
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  wia__problem_t problem; /* stands in the report itself */
  const wia_status_t status = wia__discover_native();
  if (status == WIA_STATUS_OK) wia__discover_python(&problem);
  wia__rejoin(self);
  if (status != WIA_STATUS_OK) return wia__fail(status, "no memory to look for drivers");
  uint32_t count = 0;
  pthread_mutex_lock(&wia__records_mutex);
  for (const wia__record_t *record = wia__first_record(); record != NULL; record = record->next)
    ++count;
  pthread_mutex_unlock(&wia__records_mutex);
  *out_count = count;
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_load_record_count(uint32_t *out_count) {
  WIA__CALL(get_count(out_count));
}

static wia_status_t get_record(uint32_t index, wia_load_record_t *out_record) {
  const wia_status_t status =
      wia__check_out(out_record, sizeof(wia_load_record_t), "WIA_LOAD_RECORD_INIT");
  if (status != WIA_STATUS_OK) return status;
  wia_load_record_t shown;
  uint32_t count = 0;
  bool found = false;
  pthread_mutex_lock(&wia__records_mutex);
  for (const wia__record_t *record = wia__first_record(); record != NULL && !found;
       record = record->next) {
    found = count == index;
    if (found) shown = record->shown;
    ++count;
  }
  pthread_mutex_unlock(&wia__records_mutex);
  if (!found)
    return wia__fail(WIA_STATUS_OUT_OF_RANGE,
                     "index is %u and %u records are known; expected one below "
                     "wia_get_load_record_count()",
                     index, count);
  wia__write_struct(out_record, &shown, sizeof shown);
  return WIA_STATUS_OK;
}

WIA_API wia_status_t wia_get_load_record(uint32_t index, wia_load_record_t *out_record) {
  WIA__CALL(get_record(index, out_record));
}
