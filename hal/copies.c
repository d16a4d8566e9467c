#include "copies.h"

#include <limits.h>

#include "platform.h"

/* Two copies would each have their own devices, handles and streams, and open each driver twice. Looked
 * for when the library is loaded; who loads it in another namespace (dlmopen) is not seen. */
static char ours[PATH_MAX], other[PATH_MAX];

__attribute__((constructor)) static void look_for_copies(void) {
  wia__find_copies("wia__set_bridge", ours, other);
}

wia_status_t wia__check_copies(void) {
  if (!*other) return WIA_STATUS_OK;
  return wia__fail(
      WIA_STATUS_FAILED_PRECONDITION,
      "this process has loaded the library twice: from %s, and after it from %s, which "
      "can't work beside it; have all parts of the program use one of them",
      other, ours);
}
