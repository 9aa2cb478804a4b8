/*
 * settings_shared: which keys of the config must be the same at all daemons.
 *
 * The one idea: daemons that differ in one of these do not decide side by side (cluster/members/accord.h), so that such
 * a change is a rolling restart. settings_digest has the values of these keys.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_SHARED_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* What an operator does about a change of such keys. */
#define SETTINGS_SHARED_ADVICE "restart all daemons, one after the other"

static inline bool settings_is_shared(const char *path)
{
    static const char *const shared[] = {"regions", "limits", "interval", "takeover_after"};
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        if (strcmp(shared[i], path) == 0)
            return true;
    return false;
}

#endif
