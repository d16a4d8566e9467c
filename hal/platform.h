/* platform.h: what differs between operating systems, in one place. */
#ifndef WIA__PLATFORM_H
#define WIA__PLATFORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds of the monotonic clock. */
int64_t wia__now_ns(void);

/* Initialises a condition variable that waits on the monotonic clock. Returns an errno value. */
int wia__init_condition(pthread_cond_t *condition);

/* Waits on it until deadline_ns (as wia__now_ns), or without end below 0. False: the deadline
 * passed. As with any condition variable it may also wake without reason. */
bool wia__wait_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ns);

/* Sleeps for a millisecond, for who looks again and again. */
void wia__pause(void);

/* The deadline of a time-out that starts now; -1 for one without end. Saturates. */
int64_t wia__deadline_ns(int64_t timeout_ns);

/* getenv, but NULL when the process is privileged (set-user-id and the like). */
const char *wia__get_environment(const char *name);

/* Loads a shared library with its symbols local or global. On failure NULL, and *out_error is the
 * loader's text, to be freed; NULL when memory is short. library NULL: the whole process. */
void *wia__load_library(const char *path, bool global, char **out_error);
void *wia__find_symbol(void *library, const char *name, char **out_error);

/* The folder of the file that this library was loaded from, links resolved; "" when it can't be
 * told. The same string each time. */
const char *wia__library_folder(void);

/* The files of this library and, in out_other, of another copy of it that the process had loaded before:
 * "" when there is none. Copies are known by a function that they export. Paths have PATH_MAX bytes. */
void wia__find_copies(const char *function, char *out_ours, char *out_other);

/* Starts a detached thread that has all signals blocked. Returns an errno value. */
int wia__start_thread(void *(*main)(void *), void *argument, const char *name);

/* The system's number of this thread. */
uint64_t wia__thread_id(void);

/* Has this thread run behind others by so many of the system's steps, up to WIA__PRIORITY_LEAST. A
 * thread can't go back up. */
enum { WIA__PRIORITY_LEAST = 10 };
void wia__lower_priority(int32_t steps);

/* Reserves size bytes of addresses that nobody may access, and gives them back. alignment is a power
 * of two. NULL: none left. */
void *wia__reserve_addresses(uint64_t size, uint64_t alignment);
void wia__return_addresses(void *base, uint64_t size);

#endif
