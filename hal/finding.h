/* finding.h: what the layer validate has found, and what comes of it. */
#ifndef WIA__FINDING_H
#define WIA__FINDING_H

#include "object.h"
#include "site.h"
#include "wia/validation.h"

enum { WIA__FINDING_TEXT = 768, WIA__FINDING_WORD = 48 };

/* A finding as it is made: without its places, which are written out where no mutex is held. */
typedef struct wia__finding_t {
  int32_t kind, hazard, device;
  char text[WIA__FINDING_TEXT]; /* what, without the places */
  const char *first, *second; /* what the places are called: literals; second NULL: there is one */
  char object[WIA__FINDING_WORD], operation[WIA__FINDING_WORD], operation_2[WIA__FINDING_WORD];
  wia__site_t site, site_2;
  uint32_t stream, stream_2;
  uint64_t address, size, count;
} wia__finding_t;

typedef struct wia__finding_list_t {
  wia__finding_t *findings;
  uint64_t count, capacity, lost;
} wia__finding_list_t;

/* Adds to the one of the same kind and places, or to the list up to `most`. True: it is new. */
bool wia__add_finding(wia__finding_list_t *list, const wia__finding_t *finding, uint64_t most);

/* Keeps a finding, and has it told by wia__tell_findings(). Under any mutex. */
void wia__note_finding(const wia__finding_t *finding);
/* Tells those that were noted and not told yet. Foreign code may run: without any mutex. */
void wia__tell_findings(void);

/* Whether a call whose finding it is fails; and failing it, with the text of the finding. */
bool wia__findings_are_errors(void);
wia_status_t wia__fail_finding(const wia__finding_t *finding);

/* The whole message; to be freed, NULL: no memory. */
char *wia__write_finding(const wia__finding_t *finding);

/* A handle of a report, which takes the list over. */
wia_status_t wia__make_validation_report(wia__finding_list_t *list,
                                         wia_validation_report_t **out_report);

#endif
