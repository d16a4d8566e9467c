/* failing.h: the n-th allocation of the library fails, for every n.
 *
 * The programs of these tests link wia_failing: the objects of libwia, in a library whose calls of
 * malloc and its kin, of mmap and of pthread_create come here first. Those of the tests and of their
 * drivers don't. All threads are counted alike. */
#ifndef TEST_FAILING_H
#define TEST_FAILING_H

#include <stdbool.h>
#include <stdint.h>

/* From now on the n-th allocation fails, counted from 1; with `also_later` all after it too. */
void failing_arm(uint64_t n, bool also_later);
/* Whether it came to that. Afterwards nothing fails. */
bool failing_disarm(void);
/* What the library holds: blocks, and bytes of mappings. */
int64_t failing_live(void);
int64_t failing_mapped(void);

#endif
