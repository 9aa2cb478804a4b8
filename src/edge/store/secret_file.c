#include "edge/store/secret_file.h"

#include "edge/store/state_file.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum secret_file secret_file_read(const char *directory, const char *name, char text[SECRET_FILE_BYTES],
                                  char flaw[STATE_FLAW_BYTES])
{
    size_t size = 0;
    memset(text, 0, SECRET_FILE_BYTES);
    switch (state_file_read(directory, name, text, SECRET_FILE_BYTES - 1, &size, flaw)) {
    case STATE_FILE_NONE:
        return SECRET_FILE_NONE;
    case STATE_FILE_WRONG:
        return SECRET_FILE_WRONG;
    case STATE_FILE_READ:
        break;
    }
    return strlen(text) == size ? SECRET_FILE_READ : secret_file_refuse(text, flaw);
}

enum secret_file secret_file_refuse(char text[SECRET_FILE_BYTES], char flaw[STATE_FLAW_BYTES])
{
    sodium_memzero(text, SECRET_FILE_BYTES);
    (void)snprintf(flaw, STATE_FLAW_BYTES, "it is not as headgated wrote it");
    return SECRET_FILE_WRONG;
}

bool secret_file_write(const char *directory, const char *name, char text[SECRET_FILE_BYTES],
                       char flaw[STATE_FLAW_BYTES])
{
    const bool good = state_file_write(directory, name, bytes_of(text), flaw);
    sodium_memzero(text, SECRET_FILE_BYTES);
    return good;
}
