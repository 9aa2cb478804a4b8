#include "base/host_port.h"

#include <stdlib.h>
#include <string.h>

enum { PORT_MAX = 65535 };

bool host_port_split(const char *address, char *host, size_t host_room, char port[PORT_TEXT_BYTES])
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL)
        return false;
    const char *start = address;
    size_t host_size = (size_t)(colon - address);
    if (host_size >= 2 && address[0] == '[' && colon[-1] == ']') {
        start++;
        host_size -= 2;
    } else if (memchr(address, ':', host_size) != NULL) {
        return false; /* a bare v6 address: nothing says where its port begins */
    }
    const size_t port_size = strlen(colon + 1);
    if (host_size >= host_room || port_size == 0 || port_size >= PORT_TEXT_BYTES ||
        strspn(colon + 1, "0123456789") != port_size || strtoul(colon + 1, NULL, 10) > PORT_MAX)
        return false;
    memcpy(host, start, host_size);
    host[host_size] = '\0';
    memcpy(port, colon + 1, port_size + 1);
    return true;
}
