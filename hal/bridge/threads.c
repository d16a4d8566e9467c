/* threads.c: threads that Python didn't start, inside Python; and forks beside them. See bridge.h.
 *
 * Such a thread gets a thread state when it first passes the gate, which it keeps until it ends. cffi and
 * PyGILState_Ensure() would do the same, but without the GIL and under locks that a fork does not wait
 * for: the child, which forgets all other threads' states under these locks, would wait for ever if one
 * was taken at that moment. So all of it happens here, under a mutex that a fork takes. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <stdlib.h>

#include "bridge.h"

typedef struct thread_t {
  PyThreadState *state;
  struct thread_t *next;
} thread_t;

/* Nobody waits for the GIL while holding it, so it may be taken with and without the GIL. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static thread_t
    *ended; /* threads that are gone, whose states are still there: that takes the GIL */
static pthread_key_t key;
static int has_key;

static void note_end(void *given) {
  thread_t *thread = given;
  pthread_mutex_lock(&mutex);
  thread->next = ended;
  ended = thread;
  pthread_mutex_unlock(&mutex);
}

/* With the GIL. */
static void delete_state(PyThreadState *state) {
  PyThreadState_Clear(state);
#if PY_VERSION_HEX >= 0x030C0000
  state->_status.bound_gilstate = 0; /* else this thread's is forgotten instead */
#endif
  PyThreadState_Delete(state);
}

static void delete_ended(PyThreadState *own) {
  PyEval_RestoreThread(own);
  pthread_mutex_lock(&mutex);
  thread_t *thread = ended;
  ended = NULL;
  pthread_mutex_unlock(&mutex);
  while (thread) {
    thread_t *next = thread->next;
    delete_state(thread->state);
    free(thread);
    thread = next;
  }
  PyEval_SaveThread();
}

/* Python before 3.12 makes a state under a lock that the child takes as it is. Newer ones see to it
 * themselves, and may hold it when a fork comes here: so nothing of theirs is called under the mutex. */
static PyThreadState *make_state(void) {
#if PY_VERSION_HEX < 0x030C0000
  pthread_mutex_lock(&mutex);
  PyThreadState *state = PyThreadState_New(PyInterpreterState_Main());
  pthread_mutex_unlock(&mutex);
  return state;
#else
  return PyThreadState_New(PyInterpreterState_Main());
#endif
}

static int any_ended(void) {
  pthread_mutex_lock(&mutex);
  const int any = ended != NULL;
  pthread_mutex_unlock(&mutex);
  return any;
}

static int attach(void) {
  thread_t *thread = has_key ? calloc(1, sizeof *thread) : NULL;
  if (!thread || pthread_setspecific(key, thread)) {
    free(thread);
    return 0;
  }
  thread->state = make_state();
  if (!thread->state) {
    pthread_setspecific(key, NULL);
    free(thread);
    return 0;
  }
  if (any_ended()) delete_ended(thread->state);
  return 1;
}

static PyThreadState *current_state(void) {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

static int is_main(PyThreadState *state) {
  return PyThreadState_GetInterpreter(state) == PyInterpreterState_Main();
}

wia__entry_t wia__attach_thread(void) {
  PyThreadState *current = current_state(), *known = PyGILState_GetThisThreadState();
  if ((current && !is_main(current)) || (known && !is_main(known))) return WIA__ENTRY_FOREIGN;
  return known || attach() ? WIA__ENTRY_OPEN : WIA__ENTRY_NO_MEMORY;
}

/* -- fork ---------------------------------------------------------------------------------------- */

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

/* Python forgets the states of all other threads by itself. */
static void start_anew(void) {
  static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  mutex = fresh;
  ended = NULL;
}

__attribute__((constructor)) static void prepare(void) {
  has_key = pthread_key_create(&key, note_end) == 0;
  (void)pthread_atfork(lock, unlock, start_anew);
}

/* What os.fork() does around a fork, for a C program that forks: else the child's interpreter would
 * wait for threads that it doesn't have. Python code that forks comes here with the GIL. */
static _Thread_local int forking;
static _Thread_local PyGILState_STATE fork_state;

/* A thread that Python's module threading doesn't know is made known in the child, under a lock that
 * another thread may have had. So that happens here. */
static void make_known(void) {
  PyObject *threading = PyImport_ImportModule("threading");
  PyObject *thread = threading ? PyObject_CallMethod(threading, "current_thread", NULL) : NULL;
  Py_XDECREF(thread);
  Py_XDECREF(threading);
  PyErr_Clear();
}

static void before_fork(void) {
  forking = Py_IsInitialized() && !PyGILState_Check() && wia__enter_gate();
  if (!forking) return;
  fork_state = PyGILState_Ensure();
  make_known();
  PyOS_BeforeFork();
}

static void behind_fork(void (*tell)(void)) {
  if (!forking) return;
  tell();
  PyGILState_Release(fork_state);
  wia__leave_gate();
  forking = 0;
}

static void in_parent(void) { behind_fork(PyOS_AfterFork_Parent); }
static void in_child(void) { behind_fork(PyOS_AfterFork_Child); }

void wia__watch_forks(void) { (void)pthread_atfork(before_fork, in_parent, in_child); }
