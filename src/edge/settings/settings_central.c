#include "edge/settings/settings_central.h"

#include "edge/settings/settings_users.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_MS = 50 };
static const char DEFAULT_PREFIX[] = "headgate:";

static bool check_host(const struct settings_reader *reader, const struct settings *settings)
{
    char host[NODE_ADDRESS_BYTES];
    const char *address = settings->central.address;
    address_host(address, host);
    return (!host_is_wildcard(host) && address_port(address) != 0) ||
           reader_wrong(reader, "central.address", address,
                        "the store's host and port such as redis.internal:6379");
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
    return settings_check_hidden(reader, "central.password", reader_text(reader, "central.password")) &&
           read_text(reader, keys[0], central->password, sizeof central->password, "1 to 256 bytes") &&
           read_text(reader, keys[1], central->password_file, sizeof central->password_file,
                     "the path of a file") &&
           read_text(reader, keys[2], central->password_env, sizeof central->password_env,
                     "the name of a variable of the environment");
}

bool settings_read_central(const struct settings_reader *reader, struct settings *settings)
{
    struct central_settings *central = &settings->central;
    central->timeout_ns = DEFAULT_TIMEOUT_MS * UINT64_C(1000000);
    (void)snprintf(central->prefix, sizeof central->prefix, "%s", DEFAULT_PREFIX);
    if (!reader_node(reader, "central"))
        return true;
    if (!reader_text(reader, "central.address"))
        return reader_missing(reader, "central.address", "the store's host and port such as redis.internal:6379");
    settings->node.has_central = true;
    return read_address(reader, "central.address", central->address) && check_host(reader, settings) &&
           read_text(reader, "central.user", central->user, sizeof central->user, "1 to 63 bytes") &&
           read_text(reader, "central.prefix", central->prefix, sizeof central->prefix, "1 to 31 bytes") &&
           read_password(reader, central);
}

bool settings_fetch_central(struct settings *settings, const char *file, struct error *error)
{
    struct central_settings *central = &settings->central;
    const struct secret_place place = {.config = file,
                                       .of = "central.",
                                       .name = "password",
                                       .file = central->password_file,
                                       .variable = central->password_env};
    (void)snprintf(central->secret, sizeof central->secret, "%s", central->password);
    return settings_fetch_secret(&place, central->secret, error);
}
