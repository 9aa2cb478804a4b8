#include "edge/settings/settings_central.h"

#include "edge/central/central_sentinel.h"
#include "edge/central/central_tls.h"
#include "edge/process/tls_files.h"
#include "edge/settings/settings_place.h"
#include "edge/settings/settings_secrets.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_MS = 50 };
static const char DEFAULT_PREFIX[] = "headgate:";

static const char A_STORE[] = "the store's host and port such as redis.internal:6379";

static bool is_host(const char *address)
{
    char host[NODE_ADDRESS_BYTES];
    address_host(address, host);
    return !host_is_wildcard(host) && address_port(address) != 0;
}

static bool check_sentinels(const struct settings_reader *reader, const char *list)
{
    char entry[NODE_ADDRESS_BYTES], address[NODE_ADDRESS_BYTES];
    for (uint32_t i = 0; i < central_sentinels(list); i++)
        if (!central_sentinel(list, i, entry, sizeof entry) || !host_port_parse(entry, address) ||
            !is_host(address))
            return reader_wrong(reader, "central.sentinels", list,
                                "hosts and ports of sentinels such as a.internal:26379, b.internal:26379");
    return true;
}

static bool read_place(const struct settings_reader *reader, struct central_settings *central)
{
    const bool by_sentinels = reader_text(reader, "central.sentinels") != NULL;
    if (by_sentinels == (reader_text(reader, "central.address") != NULL))
        return by_sentinels
                   ? reader_fail(reader, "central", "central has address and sentinels: expected one of them")
                   : reader_missing(reader, "central.address", A_STORE);
    if (by_sentinels != (reader_text(reader, "central.master") != NULL))
        return by_sentinels
                   ? reader_missing(reader, "central.master", "the name that the sentinels know the store by")
                   : reader_wrong(reader, "central.master", reader_text(reader, "central.master"),
                                  "no such key, as there are no sentinels");
    if (by_sentinels)
        return read_text(reader, "central.sentinels", central->sentinels, sizeof central->sentinels,
                         "1 to 256 bytes") &&
               check_sentinels(reader, central->sentinels) &&
               read_name(reader, "central.master", central->master, sizeof central->master,
                         "the name that the sentinels know the store by");
    return read_address(reader, "central.address", central->address) &&
           (is_host(central->address) || reader_wrong(reader, "central.address", central->address, "%s", A_STORE));
}

static bool read_password(const struct settings_reader *reader, struct central_settings *central)
{
    static const char *const keys[] = {"central.password", "central.password_file", "central.password_env"};
    unsigned count = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        count += reader_text(reader, keys[i]) != NULL;
    if (count > 1)
        return reader_fail(reader, "central",
                           "central has %u of password, password_file and password_env: expected one of them",
                           count);
    if (count == 0 && reader_text(reader, "central.user"))
        return reader_wrong(reader, "central.user", central->user, "a password with it, or no such key");
    central->password_line = settings_line_of(reader, keys[1], keys[2]);
    return settings_check_hidden(reader, "central.password", reader_text(reader, "central.password")) &&
           settings_read_hidden(reader, keys[0], central->password, sizeof central->password, "1 to 256 bytes") &&
           read_text(reader, keys[1], central->password_file, sizeof central->password_file,
                     "the path of a file") &&
           settings_read_hidden(reader, keys[2], central->password_env, sizeof central->password_env,
                                "the name of a variable of the environment");
}

static bool read_tls(const struct settings_reader *reader, struct central_settings *central)
{
    static const char A_FILE[] = "the path of a file in PEM";
    static const char *const keys[] = {"central.tls_ca", "central.tls_certificate", "central.tls_key",
                                       "central.tls_name"};
    const char *tls = reader_text(reader, "central.tls");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && (tls == NULL || strcmp(tls, "true") != 0); i++)
        if (reader_text(reader, keys[i]))
            return reader_fail(reader, keys[i], "%s has no effect without central.tls: true", keys[i]);
    if (!reader_text(reader, keys[1]) != !reader_text(reader, keys[2]))
        return reader_fail(reader, "central",
                           "central has one of tls_certificate and tls_key: expected both, or neither");
    return read_text(reader, keys[0], central->tls_ca, sizeof central->tls_ca, A_FILE) &&
           read_text(reader, keys[1], central->tls_certificate, sizeof central->tls_certificate, A_FILE) &&
           read_text(reader, keys[2], central->tls_key, sizeof central->tls_key, A_FILE) &&
           read_text(reader, keys[3], central->tls_name, sizeof central->tls_name,
                     "a name in the store's certificate");
}

bool central_settings_equal(const struct central_settings *a, const struct central_settings *b)
{
    return strcmp(a->address, b->address) == 0 && strcmp(a->sentinels, b->sentinels) == 0 &&
           strcmp(a->master, b->master) == 0 && strcmp(a->user, b->user) == 0 &&
           strcmp(a->secret, b->secret) == 0 && strcmp(a->prefix, b->prefix) == 0 && a->tls == b->tls &&
           strcmp(a->tls_name, b->tls_name) == 0 &&
           memcmp(a->tls_digest, b->tls_digest, sizeof a->tls_digest) == 0 && a->timeout_ns == b->timeout_ns;
}

bool settings_read_central(const struct settings_reader *reader, struct settings *settings)
{
    struct central_settings *central = &settings->central;
    central->timeout_ns = DEFAULT_TIMEOUT_MS * UINT64_C(1000000);
    (void)snprintf(central->prefix, sizeof central->prefix, "%s", DEFAULT_PREFIX);
    if (!reader_node(reader, "central"))
        return true;
    settings->node.has_central = true;
    return read_place(reader, central) &&
           read_text(reader, "central.user", central->user, sizeof central->user, "1 to 63 bytes") &&
           read_text(reader, "central.prefix", central->prefix, sizeof central->prefix, "1 to 31 bytes") &&
           read_password(reader, central) && read_tls(reader, central);
}

bool settings_fetch_central(struct settings *settings, const char *file, struct error *error)
{
    struct central_settings *central = &settings->central;
    const struct secret_place place = {.config = file,
                                       .line = central->password_line,
                                       .of = "central.",
                                       .name = "password",
                                       .file = central->password_file,
                                       .variable = central->password_env};
    (void)snprintf(central->secret, sizeof central->secret, "%s", central->password);
    struct tls_fault fault;
    if (central->tls && !central_tls_check(central, &fault))
        return settings_tell_fault(settings, file, "central", &fault, error);
    if (central->tls)
        central_tls_digest(central);
    return settings_fetch_secret(&place, central->secret, error);
}
