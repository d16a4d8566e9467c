/* manifest.h: the text files that announce native drivers.
 *
 * A file whose name ends in ".manifest", with one `key = value` on a line. Empty lines and those
 * whose first mark is # don't count. Keys:
 *   name      the driver's name                                          required
 *   library   its shared library, relative to the manifest's folder      required
 *   abi       the driver ABI it was built for, "1.0"                     required
 *   priority  a whole number; the highest becomes the default driver     0
 *   default   yes or no: may it become the default driver?               yes
 * An unknown key is an error, unless abi says that the file is newer than this library. */
#ifndef WIA__MANIFEST_H
#define WIA__MANIFEST_H

#include <stdbool.h>

#include "names.h"

typedef struct wia__manifest_t {
  char name[WIA__NAME_SIZE]; /* "" when the file was broken before it */
  char *library;             /* the full path; NULL on failure */
  uint32_t abi_major, abi_minor;
  int32_t priority;
  bool may_be_default;
} wia__manifest_t;

/* Reads a manifest. False: *out_problem (wia__text) says what is wrong and on which line. The
 * caller frees library. */
bool wia__read_manifest(const char *path, wia__manifest_t *out_manifest, const char **out_problem);

/* The paths of the manifests in a folder in the order of their names, ended by NULL; free each and
 * the list. NULL, with an errno value in *out_error: the folder can't be read. */
char **wia__list_manifests(const char *folder, int *out_error);
void wia__free_list(char **list);

#endif
