/* Addresses and networks: against the C library's reading and writing of addresses, and examples for the rest. */
#include "base/network.h"
#include "base/random.h"
#include "tests/lib/tap.h"

#include <arpa/inet.h>

static void examples(void)
{
    static const struct {
        const char *text, *canonical;
        enum network_status status;
    } cases[] = {
        {"10.0.0.0/8", "10.0.0.0/8", NETWORK_GOOD},
        {"0.0.0.0/0", "0.0.0.0/0", NETWORK_GOOD},
        {"10.1.2.3/32", "10.1.2.3/32", NETWORK_GOOD},
        {"2001:DB8:0:0::/32", "2001:db8::/32", NETWORK_GOOD},
        {"1::2:3:4:5:6:7/128", "1:0:2:3:4:5:6:7/128", NETWORK_GOOD},
        {"::/0", "::/0", NETWORK_GOOD},
        {"::1/128", "::1/128", NETWORK_GOOD},
        {"1:0:0:2::/64", "1:0:0:2::/64", NETWORK_GOOD},
        {"::ffff:10.0.0.0/104", "10.0.0.0/8", NETWORK_GOOD},
        {"::FFFF:a00:0/104", "10.0.0.0/8", NETWORK_GOOD},
        {"::fffe:0:0/95", "::fffe:0:0/95", NETWORK_GOOD},
        {"10.0.0.1/8", "10.0.0.0/8", NETWORK_BEYOND},
        {"10.0.0.128/24", "10.0.0.0/24", NETWORK_BEYOND},
        {"2001:db8::1/64", "2001:db8::/64", NETWORK_BEYOND},
        {"::ffff:10.0.0.0/95", "::fffe:0:0/95", NETWORK_BEYOND},
        {"10.0.0.0/33", NULL, NETWORK_MALFORMED},
        {"::/129", NULL, NETWORK_MALFORMED},
        {"10.0.0/8", NULL, NETWORK_MALFORMED},
        {"10.0.0.0/08", NULL, NETWORK_MALFORMED},
        {"10.0.0.0/", NULL, NETWORK_MALFORMED},
        {"10.0.0.0", NULL, NETWORK_MALFORMED},
        {"10.0.0.0/8/8", NULL, NETWORK_MALFORMED},
        {"10.0.0.0/255.0.0.0", NULL, NETWORK_MALFORMED},
        {"/8", NULL, NETWORK_MALFORMED},
        {"", NULL, NETWORK_MALFORMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct network network;
        char text[NETWORK_TEXT_BYTES];
        enum network_status status = network_parse(bytes_of(cases[i].text), &network);
        OK(status == cases[i].status, "'%s'", cases[i].text);
        if (cases[i].canonical)
            OK_STRING(network_text(&network, text), cases[i].canonical, "... in one text");
    }
}

/* What the C library takes, and nothing else; mapped ones are IPv4. */
static bool is_as_expected(const char *text)
{
    struct address address;
    uint8_t expected[16] = {0};
    static const uint8_t head[12] = {[10] = 0xff, [11] = 0xff};
    bool parsed = address_parse(bytes_of(text), &address);
    if (inet_pton(AF_INET, text, expected) == 1)
        return parsed && !address.ipv6 && memcmp(address.byte, expected, 16) == 0;
    if (inet_pton(AF_INET6, text, expected) != 1)
        return !parsed;
    if (memcmp(expected, head, sizeof head) == 0)
        return parsed && !address.ipv6 && memcmp(address.byte, expected + 12, 4) == 0;
    return parsed && address.ipv6 && memcmp(address.byte, expected, 16) == 0;
}

static void as_the_library_reads(void)
{
    static const char letters[] = "::::....0012589afF/x%";
    struct random random;
    char text[64];
    uint64_t wrong = 0, good = 0;
    random_seed(&random, 1);
    for (int i = 0; i < 400000; i++) {
        size_t size = 0, most = random_below(&random, 24);
        const bool ipv4 = i % 4 == 0;
        if (i % 2 == 0) { /* nearly right */
            for (int group = 0; group < (ipv4 ? 4 : 8); group++)
                size += (size_t)snprintf(text + size, sizeof text - size, ipv4 ? "%s%u" : "%s%x",
                                         group == 0                      ? ""
                                         : ipv4                          ? "."
                                         : random_below(&random, 9) == 0 ? "::"
                                                                         : ":",
                                         (unsigned)random_below(&random, random_below(&random, 2) ? 10 : 300));
            if (random_below(&random, 2) == 0)
                text[random_below(&random, size)] = letters[random_below(&random, sizeof letters - 1)];
        } else {
            while (size < most)
                text[size++] = letters[random_below(&random, sizeof letters - 1)];
            text[size] = '\0';
        }
        struct address address;
        good += address_parse(bytes_of(text), &address);
        if (!is_as_expected(text) && wrong++ < 5)
            printf("# '%s'\n", text);
    }
    OK(wrong == 0 && good > 10000, "addresses are what the C library takes for such, %" PRIu64 " good ones", good);
}

static void as_the_library_writes(void)
{
    struct random random;
    uint64_t wrong = 0;
    random_seed(&random, 2);
    for (int i = 0; i < 100000; i++) {
        struct network network = {.first = {.ipv6 = i % 2}, .bits = i % 2 ? 128 : 32}, same;
        char text[NETWORK_TEXT_BYTES], address[INET6_ADDRSTRLEN], expected[64];
        for (int byte = 0; byte < (i % 2 ? 16 : 4); byte++)
            network.first.byte[byte] = random_below(&random, 3) ? 0 : (uint8_t)random_below(&random, 256);
        network.first.byte[0] |= 1; /* nothing mapped, which both write otherwise */
        (void)inet_ntop(i % 2 ? AF_INET6 : AF_INET, network.first.byte, address, sizeof address);
        (void)snprintf(expected, sizeof expected, "%s/%u", address, network.bits);
        wrong += strcmp(network_text(&network, text), expected) != 0 ||
                 network_parse(bytes_of(text), &same) != NETWORK_GOOD || same.first.ipv6 != network.first.ipv6 ||
                 memcmp(same.first.byte, network.first.byte, 16) != 0;
    }
    OK_U64(wrong, 0, "addresses are written as the C library writes them, and read again");
}

static void masks(void)
{
    struct address address = {.ipv6 = true};
    bool right = true;
    for (unsigned bits = 0; bits <= 128; bits++) {
        memset(address.byte, 0xff, sizeof address.byte);
        address_mask(&address, bits);
        for (unsigned bit = 0; bit < 128; bit++)
            right = right && (address.byte[bit / 8] >> (7 - bit % 8) & 1) == (bit < bits);
    }
    OK(right, "a mask leaves the first bits");
}

int main(void)
{
    examples();
    as_the_library_reads();
    as_the_library_writes();
    masks();
    return tap_done();
}
