#include "edge/central/central_sentinel.h"

#include <string.h>

/* The next entry, without blanks; *at moves behind it. Size 0: there is none. */
static size_t next(const char **at, const char **entry)
{
    *entry = *at + strspn(*at, ", ");
    const size_t size = strcspn(*entry, ", ");
    *at = *entry + size;
    return size;
}

uint32_t central_sentinels(const char *list)
{
    const char *at = list, *entry;
    uint32_t count = 0;
    while (next(&at, &entry) > 0)
        count++;
    return count > 0 ? count : 1;
}

bool central_sentinel(const char *list, uint32_t index, char *address, size_t room)
{
    const char *at = list, *entry;
    size_t size = next(&at, &entry);
    for (uint32_t skip = index % central_sentinels(list); skip > 0; skip--)
        size = next(&at, &entry);
    if (size == 0 || size >= room)
        return false;
    memcpy(address, entry, size);
    address[size] = '\0';
    return true;
}
