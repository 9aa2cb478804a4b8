#include "edge/settings/settings_tls.h"

#include "edge/clients/tls.h"

#include <string.h>
#include <sysexits.h>

static const char A_FILE[] = "the path of a file in PEM";

/* Two addresses with one port are a mistake, even if their hosts differ: most hosts are all interfaces. */
static bool check_port(const struct settings_reader *reader, const struct settings *settings, const char *path,
                       const char *address)
{
    const struct {
        const char *path, *address;
    } others[] = {{"listen.clients", settings->clients_address},
                  {"listen.gossip", settings->gossip_address},
                  {"listen.snapshots", settings->snapshot_address},
                  {"listen.http", settings->http_address},
                  {"listen.clients_tls", settings->clients_tls_address},
                  {"listen.http_tls", settings->http_tls_address}};
    const unsigned port = address_port(address);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (port != 0 && address != others[i].address && address_port(others[i].address) == port)
            return reader_fail(reader, path, "%s has port %u: expected another one than %s", path, port,
                               others[i].path);
    return true;
}

static bool read_files(const struct settings_reader *reader, struct settings *settings)
{
    if (!reader_text(reader, "tls.certificate"))
        return reader_missing(reader, "tls.certificate", "the path of the daemon's certificate, for a port of TLS");
    if (!reader_text(reader, "tls.key"))
        return reader_missing(reader, "tls.key", "the path of the certificate's key");
    return read_text(reader, "tls.certificate", settings->tls_certificate, SETTINGS_PATH_BYTES, A_FILE) &&
           read_text(reader, "tls.key", settings->tls_key, SETTINGS_PATH_BYTES, A_FILE) &&
           read_text(reader, "tls.client_ca", settings->tls_client_ca, SETTINGS_PATH_BYTES, A_FILE);
}

bool settings_has_tls(const struct settings *settings)
{
    return settings->clients_tls_address[0] || settings->http_tls_address[0];
}

bool settings_read_tls(const struct settings_reader *reader, struct settings *settings)
{
    if (!read_address(reader, "listen.clients_tls", settings->clients_tls_address) ||
        !read_address(reader, "listen.http_tls", settings->http_tls_address) ||
        !check_port(reader, settings, "listen.clients_tls", settings->clients_tls_address) ||
        !check_port(reader, settings, "listen.http_tls", settings->http_tls_address))
        return false;
    if (settings_has_tls(settings))
        return read_files(reader, settings);
    return reader_count(reader, "tls") == 0 ||
           reader_fail(reader, "tls",
                       "tls has no effect without a port that speaks it: expected listen.clients_tls or "
                       "listen.http_tls");
}

bool settings_tls_open(const struct settings *settings, const char *file, struct tls **tls, struct error *error)
{
    const struct tls_files files = {.certificate = settings->tls_certificate,
                                    .key = settings->tls_key,
                                    .client_ca = settings->tls_client_ca};
    struct tls_fault fault = {0};
    if (*tls != NULL ? tls_reload(*tls, &files, &fault) : (*tls = tls_create(&files, &fault)) != NULL)
        return true;
    return error_set(error, EX_CONFIG, "%s: tls.%s is '%s': expected %s", file, fault.member, fault.path,
                     fault.expected);
}
