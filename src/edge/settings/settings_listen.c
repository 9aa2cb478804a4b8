#include "edge/settings/settings_listen.h"

#include "base/host_port.h"
#include "edge/settings/settings_place.h"
#include "edge/settings/settings_reader.h"

#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>

void settings_listens(const struct settings *settings, struct settings_listen listens[SETTINGS_LISTENS])
{
    const struct settings_listen all[SETTINGS_LISTENS] = {{"listen.clients", settings->clients_address},
                                                          {"listen.gossip", settings->gossip_address},
                                                          {"listen.snapshots", settings->snapshot_address},
                                                          {"listen.http", settings->http_address},
                                                          {"listen.grpc", settings->grpc_address},
                                                          {"listen.clients_tls", settings->clients_tls_address},
                                                          {"listen.http_tls", settings->http_tls_address},
                                                          {"listen.grpc_tls", settings->grpc_tls_address}};
    memcpy(listens, all, sizeof all);
}

static bool check(const struct settings *settings, const char *file, const char *path, const char *address,
                  struct error *error)
{
    char host[NODE_ADDRESS_BYTES], port[PORT_TEXT_BYTES];
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    if (!address[0] || !host_port_split(address, host, sizeof host, port) || host_is_wildcard(host))
        return true;
    const int failed = getaddrinfo(host, NULL, &hints, &found);
    if (failed == 0) {
        freeaddrinfo(found);
        return true;
    }
    (void)error_set(error, EX_NOHOST,
                    "%s is '%s': expected an address of this machine, a name that it can look up, or * for all "
                    "addresses (%s)",
                    path, address, gai_strerror(failed));
    return settings_locate(settings, file, path, error);
}

bool settings_check_hosts(const struct settings *settings, const char *file, struct error *error)
{
    struct settings_listen listens[SETTINGS_LISTENS];
    settings_listens(settings, listens);
    for (size_t i = 0; i < SETTINGS_LISTENS; i++)
        if (!check(settings, file, listens[i].path, listens[i].address, error))
            return false;
    return true;
}

bool settings_locate_listen(const struct settings *settings, const char *file, struct error *error)
{
    struct settings_listen listens[SETTINGS_LISTENS];
    char words[NODE_ADDRESS_BYTES + sizeof " on :"];
    settings_listens(settings, listens);
    for (size_t i = 0; i < SETTINGS_LISTENS; i++) {
        (void)snprintf(words, sizeof words, " on %s:", listens[i].address);
        if (listens[i].address[0] && strstr(error->text, words) != NULL)
            return settings_locate(settings, file, listens[i].path, error);
    }
    return false;
}
