#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *error, int exit_status, const char *format, ...)
{
    assert(error && format);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->exit_status = exit_status;
    error->field = error->value = error->expected = (struct error_part){0};
    return false;
}

void error_mark_field(struct error *error, const char *field)
{
    const size_t size = strlen(field);
    for (const char *at = strstr(error->text, field); at && size > 0; at = strstr(at + 1, field)) {
        const bool begins = at == error->text || at[-1] == ' ', ends = strchr(" :,", at[size]) != NULL;
        if (!begins || !ends)
            continue;
        error->field = (struct error_part){(uint16_t)(at - error->text), (uint16_t)size};
        return;
    }
}
