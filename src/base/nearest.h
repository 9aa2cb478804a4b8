/*
 * nearest: which known name a person may have meant who wrote another one.
 *
 * The one idea: names differ by letters that are added, missing, wrong, or swapped with their neighbour. A name is near
 * if few letters differ for its length. Capitals do not count. The caller tries one known name after the other.
 * This file knows no names itself.
 */
#ifndef HEADGATE_BASE_NEAREST_H
#define HEADGATE_BASE_NEAREST_H

#include "base/bytes.h"

#include <stddef.h>

enum { NEAREST_NAME_MAX_BYTES = 40 }; /* longer names are near to none */

struct nearest {
    struct bytes written;
    const char *name; /* the nearest name that was tried; NULL: none is near */
    size_t distance;  /* letters by which it differs */
};

/* Takes `name` if it is near, and nearer than all names before it. `written` must be set. */
void nearest_try(struct nearest *nearest, const char *name);

#endif
