#include "base/host_port.h"

#include "tests/lib/tap.h"

static const char *parts(const char *address)
{
    static char text[64];
    char host[16], port[PORT_TEXT_BYTES];
    if (!host_port_split(address, host, sizeof host, port))
        return "none";
    (void)snprintf(text, sizeof text, "%s %s", host, port);
    return text;
}

int main(void)
{
    OK_STRING(parts("127.0.0.1:7070"), "127.0.0.1 7070", "an address of IPv4");
    OK_STRING(parts("[::1]:0"), "::1 0", "one of IPv6, in brackets");
    OK_STRING(parts("*:65535"), "* 65535", "all addresses");
    OK_STRING(parts(":80"), " 80", "no host");
    OK_STRING(parts("host-of-15-bytes:1"), "none", "a host that does not fit");
    OK_STRING(parts("host-of-15-byte:1"), "host-of-15-byte 1", "one that just fits");
    OK_STRING(parts("::1:80"), "none", "IPv6 without brackets");
    OK_STRING(parts("host"), "none", "no port");
    OK_STRING(parts("host:"), "none", "an empty one");
    OK_STRING(parts("host:65536"), "none", "one that is too large");
    OK_STRING(parts("host:000080"), "none", "a long one");
    OK_STRING(parts("host:http"), "none", "a name");
    return tap_done();
}
