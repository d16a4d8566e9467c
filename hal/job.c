#include "job.h"

_Thread_local void *wia__purpose;

void wia__drop_job(wia__job_t *job) {
  pthread_mutex_lock(&job->mutex);
  const bool last = --job->holders == 0;
  pthread_mutex_unlock(&job->mutex);
  if (!last) return;
  pthread_cond_destroy(&job->ended);
  pthread_mutex_destroy(&job->mutex);
  job->destroy(job);
}

/* Runs however the thread ends: pthread_exit() in the body comes here too. */
static void end_job(void *argument) {
  wia__job_t *job = argument;
  pthread_mutex_lock(&job->mutex);
  job->over = true;
  pthread_cond_signal(&job->ended);
  pthread_mutex_unlock(&job->mutex);
  wia__drop_job(job);
}

static void *run_body(void *argument) {
  wia__job_t *job = argument;
  wia__purpose = job->purpose;
  pthread_cleanup_push(end_job, job);
  job->body(job);
  pthread_mutex_lock(&job->mutex);
  job->returned = true;
  pthread_mutex_unlock(&job->mutex);
  pthread_cleanup_pop(1);
  return NULL;
}

wia__outcome_t wia__run_job(wia__job_t *job, void (*body)(wia__job_t *),
                            void (*destroy)(wia__job_t *), int64_t timeout_ns) {
  job->body = body;
  job->destroy = destroy;
  job->purpose = wia__purpose;
  job->holders = 2;
  job->over = job->returned = false;
  pthread_mutex_init(&job->mutex, NULL); /* can't fail with default attributes on Linux */
  if (wia__init_condition(&job->ended) != 0 || wia__start_thread(run_body, job, "wia-load") != 0) {
    job->holders = 1;
    return WIA__JOB_NOT_STARTED;
  }
  const int64_t deadline = wia__deadline_ns(timeout_ns);
  pthread_mutex_lock(&job->mutex);
  while (!job->over && wia__wait_condition(&job->ended, &job->mutex, deadline)) {
  }
  const wia__outcome_t outcome = job->returned ? WIA__JOB_DONE
                                 : job->over   ? WIA__JOB_ENDED
                                               : WIA__JOB_LATE;
  pthread_mutex_unlock(&job->mutex);
  return outcome;
}
