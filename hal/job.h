/* job.h: foreign code that may hang or end its thread, run on a thread of its own. */
#ifndef WIA__JOB_H
#define WIA__JOB_H

#include <stdint.h>

#include "platform.h"

typedef enum wia__outcome_t {
  WIA__JOB_DONE = 0,
  WIA__JOB_LATE = 1,       /* it has not come back in time, and may still be running */
  WIA__JOB_ENDED = 2,      /* it ended its thread instead of returning */
  WIA__JOB_NOT_STARTED = 3 /* no thread or no memory: the body was not entered */
} wia__outcome_t;

/* Stands at the start of a struct from malloc(). The caller and the thread hold it; destroy is
 * called when both are through with it. */
typedef struct wia__job_t {
  void (*body)(struct wia__job_t *job);
  void (*destroy)(struct wia__job_t *job);
  pthread_mutex_t mutex;
  pthread_cond_t ended;
  uint32_t holders;
  bool over, returned; /* of the thread; guarded by mutex, as holders is */
  void *purpose;
} wia__job_t;

/* What this thread is at work for; the threads of its jobs have the same. */
extern _Thread_local void *wia__purpose;

/* Runs body on a new thread and waits for it. What body wrote may be read after WIA__JOB_DONE only.
 * Follow it with wia__drop_job(). */
wia__outcome_t wia__run_job(wia__job_t *job, void (*body)(wia__job_t *),
                            void (*destroy)(wia__job_t *), int64_t timeout_ns);
void wia__drop_job(wia__job_t *job);

#endif
