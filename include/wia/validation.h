/* validation.h: the layer validate: faults of a program that a call alone can't show.
 *
 * While the layer is on (wia_enable_layer("validate"), or WIA_LAYERS) it follows what each stream and the
 * host do with memory, and what comes before what. A fault that it is sure of is a finding: a line in the
 * log (subsystem validate), an entry of a report, a call of a function. Each is told once for its two
 * places in the program, and counted after that.
 *
 *   race         two streams, or a stream and the host, use the same bytes, one of them writes, and
 *                nothing says which goes first
 *   overlap      an output is the same tensor as several inputs, and its kernel was told of one
 *   cyclic wait  streams wait for events that are recorded behind those very waits
 *   leak         something is still live: in a report of leaks, and in the log when the program ends
 *
 * What orders work: the order of a stream; an event that is recorded and waited for; any wait, or question
 * that was answered with "done", of the host; a call without a stream, which waits for what it touches;
 * host functions; an event that the host signals. How threads of the program order themselves is not seen,
 * so they are taken to be in order: two of them race only when both are in the same memory at that moment.
 * Memory that the program reads or writes by itself is not seen at all. */
#ifndef WIA_VALIDATION_H
#define WIA_VALIDATION_H

#include "base.h"
#include "status.h"

WIA_BEGIN_DECLS

typedef struct wia_validation_report wia_validation_report_t;

enum {
  WIA_FINDING_NONE = 0,
  WIA_FINDING_RACE = 1,
  WIA_FINDING_OVERLAP = 2,
  WIA_FINDING_CYCLIC_WAIT = 3,
  WIA_FINDING_LEAK = 4
};

/* What a race is, as the later of the two sees it. */
enum {
  WIA_HAZARD_NONE = 0,
  WIA_HAZARD_READ_AFTER_WRITE = 1,
  WIA_HAZARD_WRITE_AFTER_READ = 2,
  WIA_HAZARD_WRITE_AFTER_WRITE = 3
};

/* What comes of a finding beside its line, entry and call. */
enum {
  WIA_VALIDATION_DEFAULT = 0, /* what WIA_VALIDATE says: report, unless it is error */
  WIA_VALIDATION_REPORT = 1,  /* nothing: the call goes on */
  /* The call that makes it does nothing and fails with FAILED_PRECONDITION. What is found later, of
   * work behind a wait whose event was not recorded yet, can't be refused any more. */
  WIA_VALIDATION_ERROR = 2
};

typedef struct wia_finding_t {
  uint32_t struct_size;
  int32_t kind;          /* WIA_FINDING_RACE ... */
  int32_t hazard;        /* of a race: WIA_HAZARD_*, else 0 */
  int32_t device_id;     /* of the memory or object; -1: of the host */
  const char *message;   /* all of it, in lines; the strings live as long as the report or call */
  const char *object;    /* of a leak: memory, tensor, context, stream, event, plan ...; else "" */
  const char *operation; /* add, upload ...; "" where there is none, as in those below */
  const char *function;  /* the public one; of a leak: that made it */
  const char *site;      /* where it was called: a line of Python, or the frames of a stack */
  const char *operation_2; /* of a race or a cycle: the one before */
  const char *function_2;
  const char *site_2;
  uint32_t stream, stream_2; /* as profiles number them, from 1; 0: on the host */
  uint64_t address, size;    /* of the access, or of what is live; 0 and 0: of nothing */
  uint64_t count; /* how often it was found; of a leak: how many of that place are live */
} wia_finding_t;
#define WIA_FINDING_INIT WIA_INIT(wia_finding_t)

/* Takes a finding when it is made, on the thread that made it, which holds nothing of the library's. */
typedef void (*wia_finding_fn_t)(void *context, const wia_finding_t *finding);

typedef struct wia_validation_config_t {
  uint32_t struct_size;
  int32_t mode;              /* WIA_VALIDATION_* */
  wia_finding_fn_t function; /* NULL: none */
  void *context;             /* for function */
} wia_validation_config_t;
#define WIA_VALIDATION_CONFIG_INIT WIA_INIT(wia_validation_config_t)

/* Sets what comes of findings, for the whole process; NULL: the defaults. On return no thread is in
 * the function that was there before. Errors: INVALID_ARGUMENT for a mode that is none;
 * FAILED_PRECONDITION inside of such a function. */
WIA_API wia_status_t wia_configure_validation(const wia_validation_config_t *config);

/* All findings so far, leaks not among them, in the order in which they were first made. The layer
 * need not be on any more. */
WIA_API wia_status_t wia_get_validation_report(wia_validation_report_t **out_report);

/* What is live now: memory, and what there are handles of, but reports. Those that were made at one
 * place stand as one finding. What was made while the layer was off has no place. */
WIA_API wia_status_t wia_get_leak_report(wia_validation_report_t **out_report);

/* Forgets all findings, so that they are made and told again. */
WIA_API wia_status_t wia_clear_findings(void);

typedef struct wia_validation_report_info_t {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t finding_count;
  uint64_t lost_count; /* beyond the number that is kept, or without memory for them */
} wia_validation_report_info_t;
#define WIA_VALIDATION_REPORT_INFO_INIT WIA_INIT(wia_validation_report_info_t)

WIA_API wia_status_t wia_get_validation_report_info(wia_validation_report_t *report,
                                                    wia_validation_report_info_t *out_info);

/* Errors: OUT_OF_RANGE. */
WIA_API wia_status_t wia_get_finding(wia_validation_report_t *report, uint64_t index,
                                     wia_finding_t *out_finding);

WIA_API wia_status_t wia_destroy_validation_report(wia_validation_report_t *report);

WIA_END_DECLS
#endif
