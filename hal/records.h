/* records.h: the list of driver candidates: one record each, never freed, in the order found. */
#ifndef WIA__RECORDS_H
#define WIA__RECORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "device.h"
#include "names.h"

typedef struct wia__record_t {
  wia_load_record_t shown; /* what the load report says */
  char *library;           /* of a native driver: its path, */
  dev_t device;            /* and its file, whatever the path; inode 0: no such file */
  ino_t inode;
  bool may_be_default;
  const char *told;                 /* the failure that somebody was told of */
  bool owner;                       /* of its name: the one that is used */
  bool loading;                     /* some thread is loading it */
  struct wia__record_t *loaded_for; /* whose loading asked for this one */
  _Atomic(wia__driver_t *) driver;  /* NULL until it is loaded */
  struct wia__record_t *next;
} wia__record_t;

/* Guards all records and slots. Never held while foreign code runs. */
extern pthread_mutex_t wia__records_mutex;
/* Signalled when a record, a library or a search is through with what it did. */
extern pthread_cond_t wia__records_changed;

/* A record that is FOUND and in no list yet. NULL: no memory. The strings are kept, not copied. */
wia__record_t *wia__make_record(int32_t kind, const char *name, const char *source);

/* -- with the mutex held ----------------------------------------------------------------------- */

/* Appends a record and decides what it is: owner of its name, disabled, duplicate or refused. */
void wia__add_record(wia__record_t *record);
/* Takes one without a slot out again, as if it had never been there. */
void wia__remove_record(wia__record_t *record);
/* The texts live as long as the process; cause may be "". */
void wia__refuse_record(wia__record_t *record, wia_status_t status, const char *message,
                        const char *cause);
wia__record_t *wia__first_record(void);
/* The record that owns a name, or NULL. */
wia__record_t *wia__find_owner(const char *name);
/* A refused or disabled record of that name, or NULL. */
wia__record_t *wia__find_refused(const char *name);
/* For the user: the names that can be asked for, and one that is near. */
enum { WIA__NAMES_SIZE = 512 };
void wia__list_names(const char *name, char out_text[WIA__NAMES_SIZE]);

/* -- without the mutex ------------------------------------------------------------------------- */

/* Writes to the log what failed and no caller was told of. A driver that finds nothing to work with is
 * absent and not broken. */
void wia__log_failures(void);

#endif
