#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

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
