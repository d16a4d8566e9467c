/* names.h: names of drivers and devices, patterns over them, and texts that are made of them. */
#ifndef WIA__NAMES_H
#define WIA__NAMES_H

#include <stdbool.h>

#include "status.h"

enum { WIA__NAME_SIZE = 64, WIA__MAX_DEVICES = 256 };

/* [a-z][a-z0-9_]*, at most 63 characters; NULL is none. */
bool wia__is_driver_name(const char *name);

/* "vendor::name", both as driver names, at most 63 characters in all; NULL is none. */
bool wia__is_scoped_name(const char *name);

/* Splits "npu:1" or "npu" (ordinal 0). An ordinal too large for a number is UINT32_MAX. False: the
 * text is no device name. */
bool wia__parse_device_name(const char *text, char out_driver[WIA__NAME_SIZE],
                            uint32_t *out_ordinal);

/* Whether the patterns of WIA_DRIVERS let a driver through. */
bool wia__is_enabled(const char *driver, const char *patterns);

/* Changes of one character that make one name of the other. */
uint32_t wia__name_distance(const char *name, const char *other);

/* A formatted text that lives as long as the process, for records; never NULL: when memory is short
 * it is a text that says so. What is told to a caller only is made in a buffer, or a program that
 * asks again and again would grow. */
enum { WIA__TEXT_SIZE = 1024 };
const char *wia__text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Set on the thread that lost a text, or something else that it found, since memory is short. Who can't
 * do without clears it before, and looks afterwards. */
extern _Thread_local bool wia__lost;

#endif
