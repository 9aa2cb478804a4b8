#include "base/network.h"

#include <stdio.h>

enum { IPV4_BYTES = 4, IPV6_BYTES = 16, GROUPS = 8, MAPPED_BITS = 96 };

static const uint8_t mapped[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

/* ---- text to bytes ---- */

/* A decimal number without leading zeros, at most three digits; -1: there is none. Moves *at behind it. */
static int take_decimal(const char **at, const char *end)
{
    const char *start = *at;
    int value = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *at - start < 3)
        value = value * 10 + (*(*at)++ - '0');
    return *at == start || (*start == '0' && *at - start > 1) ? -1 : value;
}

static bool parse_ipv4(const char *at, const char *end, uint8_t byte[IPV4_BYTES])
{
    for (int i = 0; i < IPV4_BYTES; i++) {
        if (i > 0 && (at == end || *at++ != '.'))
            return false;
        int value = take_decimal(&at, end);
        if (value < 0 || value > 255)
            return false;
        byte[i] = (uint8_t)value;
    }
    return at == end;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Up to four digits; -1: there is none. */
static int take_group(const char **at, const char *end)
{
    const char *start = *at;
    int value = 0;
    while (*at < end && *at - start < 4 && hex_digit(**at) >= 0)
        value = value * 16 + hex_digit(*(*at)++);
    return *at == start ? -1 : value;
}

/* The bytes on both sides of "::", or all bytes. */
struct groups {
    uint8_t byte[IPV6_BYTES];
    size_t size; /* bytes so far */
    int gap;     /* how many of them stand before "::"; -1: there was none */
};

/* One group, or IPv4 at the very end. */
static bool take_piece(const char **at, const char *end, struct groups *groups)
{
    const char *start = *at;
    int value = take_group(at, end);
    if (*at < end && **at == '.') {
        if (groups->size + IPV4_BYTES > IPV6_BYTES || !parse_ipv4(start, end, groups->byte + groups->size))
            return false;
        groups->size += IPV4_BYTES;
        *at = end;
        return true;
    }
    if (value < 0 || groups->size + 2 > IPV6_BYTES)
        return false;
    groups->byte[groups->size++] = (uint8_t)(value >> 8);
    groups->byte[groups->size++] = (uint8_t)value;
    return true;
}

static bool take_gap(const char **at, const char *end, struct groups *groups)
{
    if (end - *at < 2 || (*at)[0] != ':' || (*at)[1] != ':')
        return false;
    *at += 2;
    groups->gap = (int)groups->size;
    return true;
}

static bool parse_ipv6(const char *at, const char *end, uint8_t byte[IPV6_BYTES])
{
    struct groups groups = {.gap = -1};
    bool more = !take_gap(&at, end, &groups) || at < end;
    while (more) {
        if (!take_piece(&at, end, &groups))
            return false;
        more = at < end;
        if (more && groups.gap < 0 && take_gap(&at, end, &groups))
            more = at < end;
        else if (more && *at++ != ':')
            return false;
    }
    if (groups.gap < 0 ? groups.size != IPV6_BYTES : groups.size > IPV6_BYTES - 2)
        return false;
    size_t head = groups.gap < 0 ? groups.size : (size_t)groups.gap, tail = groups.size - head;
    memset(byte, 0, IPV6_BYTES);
    memcpy(byte, groups.byte, head);
    memcpy(byte + IPV6_BYTES - tail, groups.byte + head, tail);
    return true;
}

/* As written: a mapped IPv4 address is still IPv6. */
static bool parse_written(struct bytes text, struct address *address)
{
    if (text.size == 0 || text.size > ADDRESS_TEXT_MAX_BYTES)
        return false;
    *address = (struct address){.ipv6 = memchr(text.data, ':', text.size) != NULL};
    return (address->ipv6 ? parse_ipv6 : parse_ipv4)(text.data, text.data + text.size, address->byte);
}

static bool is_mapped(const struct address *address)
{
    return address->ipv6 && memcmp(address->byte, mapped, sizeof mapped) == 0;
}

static struct address unmapped(const struct address *address)
{
    struct address ipv4 = {.ipv6 = false};
    memcpy(ipv4.byte, address->byte + sizeof mapped, IPV4_BYTES);
    return ipv4;
}

bool address_parse(struct bytes text, struct address *address)
{
    struct address written;
    if (!parse_written(text, &written))
        return false;
    *address = is_mapped(&written) ? unmapped(&written) : written;
    return true;
}

void address_mask(struct address *address, unsigned bits)
{
    for (unsigned i = bits / 8; i < IPV6_BYTES; i++) {
        const unsigned mask = i == bits / 8 ? 0xff00u >> bits % 8 : 0;
        address->byte[i] = (uint8_t)(address->byte[i] & mask);
    }
}

enum network_status network_parse(struct bytes text, struct network *network)
{
    const char *slash = text.size > 0 ? memchr(text.data, '/', text.size) : NULL, *end = text.data + text.size;
    struct address address;
    if (!slash || !parse_written((struct bytes){text.data, (size_t)(slash - text.data)}, &address))
        return NETWORK_MALFORMED;
    const char *at = slash + 1;
    int bits = take_decimal(&at, end);
    if (bits < 0 || at != end || bits > (address.ipv6 ? IPV6_BYTES : IPV4_BYTES) * 8)
        return NETWORK_MALFORMED;
    if (is_mapped(&address) && bits >= MAPPED_BITS) {
        address = unmapped(&address);
        bits -= MAPPED_BITS;
    }
    *network = (struct network){.first = address, .bits = (uint8_t)bits};
    address_mask(&network->first, (unsigned)bits);
    return memcmp(network->first.byte, address.byte, IPV6_BYTES) == 0 ? NETWORK_GOOD : NETWORK_BEYOND;
}

/* ---- bytes to text ---- */

static unsigned group_at(const uint8_t *byte, int group)
{
    return (unsigned)byte[2 * group] << 8 | byte[2 * group + 1];
}

/* The first of the longest runs of two zero groups or more; *length 0: there is none. */
static int longest_zeros(const uint8_t *byte, int *length)
{
    int best = 0;
    *length = 0;
    for (int start = 0; start < GROUPS; start++) {
        int end = start;
        while (end < GROUPS && group_at(byte, end) == 0)
            end++;
        if (end - start >= 2 && end - start > *length) {
            best = start;
            *length = end - start;
        }
    }
    return best;
}

static size_t print_ipv6(const uint8_t *byte, char *out, size_t room)
{
    int zeros, first = longest_zeros(byte, &zeros);
    size_t size = 0;
    for (int i = 0; i < GROUPS; i++) {
        if (zeros > 0 && i == first) {
            size += (size_t)snprintf(out + size, room - size, "::");
            i += zeros - 1;
            continue;
        }
        const char *colon = i == 0 || (zeros > 0 && i == first + zeros) ? "" : ":";
        size += (size_t)snprintf(out + size, room - size, "%s%x", colon, group_at(byte, i));
    }
    return size;
}

const char *network_text(const struct network *network, char out[NETWORK_TEXT_BYTES])
{
    const uint8_t *byte = network->first.byte;
    size_t size = network->first.ipv6 ? print_ipv6(byte, out, NETWORK_TEXT_BYTES)
                                      : (size_t)snprintf(out, NETWORK_TEXT_BYTES, "%u.%u.%u.%u", byte[0], byte[1],
                                                         byte[2], byte[3]);
    (void)snprintf(out + size, NETWORK_TEXT_BYTES - size, "/%u", network->bits);
    return out;
}
