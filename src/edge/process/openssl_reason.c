#include "edge/process/openssl_reason.h"

#include <openssl/err.h>
#include <string.h>

const char *openssl_reason(void)
{
    const unsigned long first = ERR_peek_error();
    const char *said = ERR_SYSTEM_ERROR(first) ? strerror(ERR_GET_REASON(first)) : ERR_reason_error_string(first);
    return said != NULL ? said : "it cannot be read";
}
