#include "negotiate.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "host.h"
#include "job.h"

static const char entry_name[] = "wia_negotiate_driver";
static const int64_t SECOND_NS = 1000000000;

int64_t wia__driver_timeout_ns(void) {
  return wia__env_number(WIA__ENV_DRIVER_TIMEOUT) * SECOND_NS;
}

/* -- the library, on a thread of its own ------------------------------------------------------- */

/* With all that the driver may write to after it was given up. */
typedef struct negotiation_job_t {
  wia__job_t job;
  const char *library;
  bool usable;       /* it was loaded and has the entry */
  char *loader_text; /* else why not */
  wia_status_t status;
  wia_negotiation_t negotiation;
  wia_error_t error;
  char *message, *cause;
} negotiation_job_t;

static void run_negotiation(wia__job_t *argument) {
  negotiation_job_t *job = (negotiation_job_t *)argument;
  void *library = wia__load_library(job->library, false, &job->loader_text);
  if (library == NULL) return;
  void *symbol = wia__find_symbol(library, entry_name, &job->loader_text);
  if (symbol == NULL) return;
  job->usable = true;
  wia_negotiate_driver_fn_t negotiate;
  memcpy(&negotiate, &symbol, sizeof negotiate); /* ISO C has no cast between the two */
  job->status = negotiate(&job->negotiation, &job->error);
  if (job->status != WIA_STATUS_OK) {
    job->error.message[sizeof job->error.message - 1] = '\0';
    job->message = strdup(wia__error_message(&job->error));
    job->cause = strdup(wia__error_cause(&job->error));
  }
  wia__drop_error(&job->error);
}

static void destroy_negotiation(wia__job_t *argument) {
  negotiation_job_t *job = (negotiation_job_t *)argument;
  free(job->loader_text);
  free(job->message);
  free(job->cause);
  free(job);
}

/* -- what came of it --------------------------------------------------------------------------- */

static void refuse(wia__offer_t *offer, wia_status_t status, const char *message,
                   const char *cause) {
  offer->status = status;
  offer->message = message;
  offer->cause = cause;
}

static wia_status_t known_status(wia_status_t status) {
  const bool known = strcmp(wia_get_status_name(status), "UNKNOWN_STATUS") != 0;
  return known ? status : WIA_STATUS_INTERNAL;
}

static const char *or_empty(const char *text) { return text != NULL ? text : ""; }

static void take_answer(const negotiation_job_t *job, wia__offer_t *offer) {
  const wia_negotiation_t *answer = &job->negotiation;
  char text[WIA__TEXT_SIZE];
  if (!job->usable) {
    refuse(offer, WIA_STATUS_UNAVAILABLE,
           wia__text("the driver library %s can't be used; the cause has the loader's words",
                     job->library),
           wia__text("%s", or_empty(job->loader_text)));
  } else if (job->status != WIA_STATUS_OK) {
    const char *message = or_empty(job->message);
    refuse(offer, known_status(job->status),
           wia__text("%s() of %s returned %s (%d)%s%s", entry_name, job->library,
                     wia_get_status_name(job->status), (int)job->status,
                     message[0] != '\0' ? ": " : "", message),
           wia__text("%s", or_empty(job->cause)));
  } else if (wia__check_version(answer->driver_major, answer->driver_minor, text) !=
             WIA_STATUS_OK) {
    refuse(offer, WIA_STATUS_INCOMPATIBLE, wia__text("%s", text), "");
  } else if (answer->driver_count == 0 || answer->driver_count > WIA__MAX_OFFERED ||
             answer->drivers == NULL) {
    refuse(offer, WIA_STATUS_INVALID_ARGUMENT,
           wia__text("%s() of %s gave %u drivers%s; expected 1 to %d", entry_name, job->library,
                     answer->driver_count, answer->drivers == NULL ? " in a NULL list" : "",
                     WIA__MAX_OFFERED),
           "");
  } else {
    offer->major = answer->driver_major;
    offer->minor = answer->driver_minor;
    offer->count = answer->driver_count;
    memcpy(offer->tables, answer->drivers, offer->count * sizeof offer->tables[0]);
  }
}

static void refuse_transient(wia__offer_t *offer) {
  offer->transient = true;
  refuse(offer, WIA_STATUS_RESOURCE_EXHAUSTED,
         "no memory, or no thread, to load the driver library", "");
}

void wia__negotiate(const char *library, wia__offer_t *out_offer) {
  *out_offer = (wia__offer_t){.cause = ""};
  const int64_t timeout_ns = wia__driver_timeout_ns();
  negotiation_job_t *job = calloc(1, sizeof *job);
  if (job == NULL) {
    refuse_transient(out_offer);
    return;
  }
  job->library = library;
  job->negotiation = (wia_negotiation_t){.struct_size = sizeof job->negotiation,
                                         .core_major = WIA_DRIVER_ABI_MAJOR,
                                         .core_minor = WIA_DRIVER_ABI_MINOR,
                                         .host = &wia__host};
  wia__init_error(&job->error);
  switch (wia__run_job(&job->job, run_negotiation, destroy_negotiation, timeout_ns)) {
  case WIA__JOB_DONE:
    take_answer(job, out_offer);
    break;
  case WIA__JOB_LATE:
    refuse(out_offer, WIA_STATUS_DEADLINE_EXCEEDED,
           wia__text("the driver library %s did not register within %lld s and was given up; "
                     "WIA_DRIVER_TIMEOUT sets the time",
                     library, (long long)(timeout_ns / SECOND_NS)),
           "");
    break;
  case WIA__JOB_ENDED:
    refuse(out_offer, WIA_STATUS_ABORTED,
           wia__text("the driver library %s ended its thread while it was loaded; expected %s() to "
                     "return a status",
                     library, entry_name),
           "");
    break;
  default:
    refuse_transient(out_offer);
    break;
  }
  wia__drop_job(&job->job);
}

/* -- versions and tables ----------------------------------------------------------------------- */

static wia_status_t explain(wia_status_t status, char *out_message, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static wia_status_t explain(wia_status_t status, char *out_message, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out_message, WIA__TEXT_SIZE, format, arguments);
  va_end(arguments);
  return status;
}

wia_status_t wia__check_version(uint32_t major, uint32_t minor, char out_message[WIA__TEXT_SIZE]) {
  if (major == WIA_DRIVER_ABI_MAJOR) return WIA_STATUS_OK;
  return explain(WIA_STATUS_INCOMPATIBLE, out_message,
                 "the driver was built for driver ABI %u.%u, this library has %d.%d; expected the "
                 "same major version: install a driver made for ABI %d",
                 major, minor, WIA_DRIVER_ABI_MAJOR, WIA_DRIVER_ABI_MINOR, WIA_DRIVER_ABI_MAJOR);
}

typedef struct entry_t {
  const char *name;
  size_t offset;
} entry_t;

#define REQUIRED(name) {#name, offsetof(wia_driver_t, name)}
static const entry_t required[] = {
    REQUIRED(count_devices),   REQUIRED(open_device), REQUIRED(close_device), REQUIRED(get_info),
    REQUIRED(get_memory_kind), REQUIRED(allocate),    REQUIRED(free),         REQUIRED(copy),
    REQUIRED(prepare),
};
#undef REQUIRED
static const uint32_t FIRST_SIZE = offsetof(wia_driver_t, get_support);

static bool has_entry(const wia_driver_t *table, size_t offset) {
  void (*entry)(void);
  memcpy(&entry, (const unsigned char *)table + offset, sizeof entry);
  return entry != NULL;
}

static const uint32_t FIRST_STREAMS_SIZE = offsetof(wia_driver_streams_t, copy);

/* NULL also for a table that ends before. */
static const wia_driver_streams_t *streams_of(const wia_driver_t *table) {
  const size_t end = offsetof(wia_driver_t, streams) + sizeof table->streams;
  return table->struct_size >= end ? table->streams : NULL;
}

static const uint32_t FIRST_GRAPHS_SIZE = offsetof(wia_driver_graphs_t, update);

static const wia_driver_graphs_t *graphs_of(const wia_driver_t *table) {
  const size_t end = offsetof(wia_driver_t, graphs) + sizeof table->graphs;
  return table->struct_size >= end ? table->graphs : NULL;
}

static wia_status_t check_graphs(const wia_driver_t *table, char out_message[WIA__TEXT_SIZE]) {
  const wia_driver_graphs_t *graphs = graphs_of(table);
  if (graphs == NULL) return WIA_STATUS_OK;
  if (graphs->struct_size < FIRST_GRAPHS_SIZE)
    return explain(WIA_STATUS_INCOMPATIBLE, out_message,
                   "the graphs of driver \"%s\" have struct_size %u; expected at least %u, up to "
                   "and including destroy: set it to sizeof(wia_driver_graphs_t)",
                   table->name, graphs->struct_size, FIRST_GRAPHS_SIZE);
  if (graphs->create == NULL || graphs->launch == NULL || graphs->destroy == NULL)
    return explain(WIA_STATUS_INVALID_ARGUMENT, out_message,
                   "the graphs of driver \"%s\" have NULL for create, launch or destroy, which "
                   "are required",
                   table->name);
  return WIA_STATUS_OK;
}

bool wia__has_name(const wia_driver_t *table) {
  return table != NULL && table->struct_size >= FIRST_SIZE && wia__is_driver_name(table->name);
}

wia_status_t wia__check_table(const wia_driver_t *table, uint32_t minor,
                              char out_message[WIA__TEXT_SIZE]) {
  const wia_status_t invalid = WIA_STATUS_INVALID_ARGUMENT;
  if (table == NULL) return explain(invalid, out_message, "the driver's table is NULL");
  if (table->struct_size < FIRST_SIZE)
    return explain(WIA_STATUS_INCOMPATIBLE, out_message,
                   "the driver's table has struct_size %u; expected at least %u, up to and "
                   "including prepare: set it to sizeof(wia_driver_t)",
                   table->struct_size, FIRST_SIZE);
  if (!wia__is_driver_name(table->name))
    return explain(invalid, out_message,
                   "the driver's table has the name \"%.80s\"; expected a lower-case letter, then "
                   "lower-case letters, digits and _, at most 63 in all",
                   table->name != NULL ? table->name : "(NULL)");
  if (table->flags != 0 && minor <= WIA_DRIVER_ABI_MINOR)
    return explain(invalid, out_message,
                   "the table of driver \"%s\" has flags 0x%x; ABI %d.%u has none", table->name,
                   table->flags, WIA_DRIVER_ABI_MAJOR, minor);
  for (size_t i = 0; i < sizeof required / sizeof required[0]; ++i)
    if (!has_entry(table, required[i].offset))
      return explain(invalid, out_message,
                     "the table of driver \"%s\" has NULL for %s, which is required", table->name,
                     required[i].name);
  const wia_driver_streams_t *streams = streams_of(table);
  if (streams == NULL) return check_graphs(table, out_message);
  if (streams->struct_size < FIRST_STREAMS_SIZE)
    return explain(WIA_STATUS_INCOMPATIBLE, out_message,
                   "the streams of driver \"%s\" have struct_size %u; expected at least %u, up to "
                   "and including signal: set it to sizeof(wia_driver_streams_t)",
                   table->name, streams->struct_size, FIRST_STREAMS_SIZE);
  if (streams->create == NULL || streams->destroy == NULL || streams->signal == NULL)
    return explain(invalid, out_message,
                   "the streams of driver \"%s\" have NULL for create, destroy or signal, which "
                   "are required",
                   table->name);
  if (streams->least_priority < 0)
    return explain(invalid, out_message,
                   "the streams of driver \"%s\" have least_priority %d; expected 0 or more",
                   table->name, (int)streams->least_priority);
  return check_graphs(table, out_message);
}

wia__driver_t *wia__adopt_table(const wia_driver_t *table) {
  wia__driver_t *driver = calloc(1, sizeof *driver);
  if (driver == NULL) return NULL;
  const uint32_t ours = sizeof driver->table;
  memcpy(&driver->table, table, table->struct_size < ours ? table->struct_size : ours);
  memcpy(driver->name, table->name, strlen(table->name) + 1);
  driver->table.struct_size = ours;
  const wia_driver_streams_t *streams = streams_of(table);
  if (streams != NULL) {
    const uint32_t size = sizeof driver->streams;
    memcpy(&driver->streams, streams, streams->struct_size < size ? streams->struct_size : size);
    driver->streams.struct_size = size;
    driver->table.streams = &driver->streams;
  }
  const wia_driver_graphs_t *graphs = graphs_of(table);
  if (graphs != NULL) {
    const uint32_t size = sizeof driver->graphs;
    memcpy(&driver->graphs, graphs, graphs->struct_size < size ? graphs->struct_size : size);
    driver->graphs.struct_size = size;
    driver->table.graphs = &driver->graphs;
  }
  if (driver->table.version == NULL) driver->table.version = "";
  if (driver->table.vendor == NULL) driver->table.vendor = "";
  driver->slot = -1;
  return driver;
}
