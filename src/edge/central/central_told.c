#include "edge/central/central_told.h"

#include <stdio.h>
#include <string.h>

bool central_told_note(struct central_told *told, const char *reason)
{
    for (uint32_t i = 0; i < told->count; i++)
        if (strncmp(told->reason[i], reason, CENTRAL_ERROR_BYTES - 1) == 0)
            return false;
    if (told->count == CENTRAL_REASONS_MAX)
        return false;
    (void)snprintf(told->reason[told->count++], CENTRAL_ERROR_BYTES, "%s", reason);
    return true;
}
