#include "edge/settings/settings_tls.h"

#include "edge/clients/tls.h"
#include "edge/settings/settings_http.h"

#include <string.h>
#include <sysexits.h>

static const char A_FILE[] = "the path of a file in PEM";

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
    return settings->clients_tls_address[0] || settings->http_tls_address[0] || settings->grpc_tls_address[0];
}

bool settings_read_tls(const struct settings_reader *reader, struct settings *settings)
{
    if (!read_address(reader, "listen.clients_tls", settings->clients_tls_address) ||
        !read_address(reader, "listen.http_tls", settings->http_tls_address) ||
        !read_address(reader, "listen.grpc_tls", settings->grpc_tls_address) ||
        !settings_check_port(reader, settings, "listen.clients_tls", settings->clients_tls_address) ||
        !settings_check_port(reader, settings, "listen.http_tls", settings->http_tls_address) ||
        !settings_check_port(reader, settings, "listen.grpc_tls", settings->grpc_tls_address))
        return false;
    if (settings_has_tls(settings))
        return read_files(reader, settings);
    return reader_count(reader, "tls") == 0 ||
           reader_fail(reader, "tls",
                       "tls has no effect without a port that speaks it: expected listen.clients_tls, "
                       "listen.http_tls or listen.grpc_tls");
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
