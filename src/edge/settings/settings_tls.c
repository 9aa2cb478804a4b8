#include "edge/settings/settings_tls.h"

#include "edge/clients/tls.h"
#include "edge/peers/transport_tls.h"
#include "edge/settings/settings_http.h"
#include "edge/settings/settings_place.h"

#include <stdio.h>
#include <string.h>

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

bool settings_has_peers_tls(const struct settings *settings)
{
    return settings->peers_tls_ca[0];
}

static bool read_peers(const struct settings_reader *reader, struct settings *settings)
{
    if (!reader_node(reader, "peers_tls"))
        return true;
    if (!reader_text(reader, "peers_tls.ca"))
        return reader_missing(reader, "peers_tls.ca",
                              "the path of the authority that signs peers, and nobody else");
    if (!reader_text(reader, "peers_tls.certificate"))
        return reader_missing(reader, "peers_tls.certificate", "the path of the certificate of this node");
    if (!reader_text(reader, "peers_tls.key"))
        return reader_missing(reader, "peers_tls.key", "the path of the certificate's key");
    if (!read_text(reader, "peers_tls.ca", settings->peers_tls_ca, SETTINGS_PATH_BYTES, A_FILE) ||
        !read_text(reader, "peers_tls.certificate", settings->peers_tls_certificate, SETTINGS_PATH_BYTES, A_FILE) ||
        !read_text(reader, "peers_tls.key", settings->peers_tls_key, SETTINGS_PATH_BYTES, A_FILE))
        return false;
    if (strcmp(settings->peers_tls_ca, settings->tls_client_ca) == 0)
        (void)snprintf(
            settings->warning, sizeof settings->warning,
            "peers_tls.ca and tls.client_ca are the same file: whoever has the certificate of a client may "
            "listen to peers; expected an authority that signs peers only");
    return true;
}

bool settings_has_tls(const struct settings *settings)
{
    return settings->clients_tls_address[0] || settings->http_tls_address[0] || settings->grpc_tls_address[0];
}

static bool read_clients(const struct settings_reader *reader, struct settings *settings)
{
    if (settings_has_tls(settings))
        return read_files(reader, settings);
    return reader_count(reader, "tls") == 0 ||
           reader_fail(reader, "tls",
                       "tls has no effect without a port that speaks it: expected listen.clients_tls, "
                       "listen.http_tls or listen.grpc_tls");
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
    return read_clients(reader, settings) && read_peers(reader, settings);
}

bool settings_tls_open(const struct settings *settings, const char *file, struct tls **tls, struct error *error)
{
    const struct tls_files files = {.certificate = settings->tls_certificate,
                                    .key = settings->tls_key,
                                    .client_ca = settings->tls_client_ca};
    struct tls_fault fault = {0};
    if (*tls != NULL ? tls_reload(*tls, &files, &fault) : (*tls = tls_create(&files, &fault)) != NULL)
        return true;
    return settings_tell_fault(settings, file, "tls", &fault, error);
}

bool settings_peers_tls_open(const struct settings *settings, const char *file, struct transport_tls **tls,
                             struct error *error)
{
    const struct transport_tls_files files = {.ca = settings->peers_tls_ca,
                                              .certificate = settings->peers_tls_certificate,
                                              .key = settings->peers_tls_key};
    struct tls_fault fault = {0};
    *tls = transport_tls_create(&files, settings->node.name, &fault);
    if (*tls != NULL)
        return true;
    return settings_tell_fault(settings, file, "peers_tls", &fault, error);
}
