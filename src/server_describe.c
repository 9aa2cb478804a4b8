/*
 * server_describe writes into the log, at a start, what this daemon is, where it listens and what its config leaves
 * open; and, for an operator who sets `log_level: debug`, the config, the peers and the place of the state.
 */
#include "base/units.h"
#include "base/version.h"
#include "edge/settings/settings_secrets.h"
#include "server_state.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it is, and where it listens ---- */

static void tell_size(struct server *server)
{
    struct table_stats table;
    char keys[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
    node_table_stats(server->node, &table);
    log_write(&server->log, LOG_LEVEL_INFO, "table %s keys, %s",
              units_format_count(keys, sizeof keys, table.capacity_keys),
              units_format_size_short(bytes, sizeof bytes, table.table_bytes));
}

static void tell_ports(struct server *server)
{
    const struct settings *settings = server->settings;
    const struct {
        const char *address, *whom;
    } ports[] = {
        {settings->http_address, "HTTP"},
        {settings->clients_tls_address, "clients over TLS"},
        {settings->http_tls_address, "HTTP over TLS"},
        {settings->grpc_address, "gRPC"},
        {settings->grpc_tls_address, "gRPC over TLS"},
    };
    log_write(&server->log, LOG_LEVEL_INFO, "listening on %s for clients, %s for gossip, %s for snapshots%s",
              settings->clients_address, settings->gossip_address, settings->snapshot_address,
              server->peers_tls != NULL ? " (peers over TLS)" : "");
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++)
        if (ports[i].address[0])
            log_write(&server->log, LOG_LEVEL_INFO, "listening on %s for %s", ports[i].address, ports[i].whom);
}

static void add_bytes(void *context, void *memory, size_t bytes)
{
    uint64_t *sum_bytes = context;
    (void)memory;
    *sum_bytes += bytes;
}

/* Once the tables are full, the system would end the process without a word. */
static void warn_of_memory(struct server *server)
{
    char tables[UNITS_TEXT_BYTES], limit[UNITS_TEXT_BYTES];
    uint64_t tables_bytes = 0;
    node_visit_memory(server->node, add_bytes, &tables_bytes);
    if (tables_bytes > server->memory_limit_bytes)
        log_write(
            &server->log, LOG_LEVEL_WARNING,
            "tables take up to %s as keys come, and the system lets this process have %s (its control group, or "
            "the machine): it would end the daemon then; expected a smaller table.keys, or a larger limit",
            units_format_size_short(tables, sizeof tables, tables_bytes),
            units_format_size_short(limit, sizeof limit, server->memory_limit_bytes));
}

/* What the config leaves open. */
static void warn(struct server *server)
{
    const struct settings *settings = server->settings;
    if (settings->secret_is_none)
        log_write(
            &server->log, LOG_LEVEL_WARNING,
            "secret is none: whoever reaches the ports for peers%s can forge what they spend, and who they are",
            server->peers_tls != NULL ? ", with a certificate of peers_tls.ca," : "");
    server_tell_secret(server);
    if (settings->has_open_secrets)
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "%s has secrets, and everybody on this machine may read it: expected mode 640 or 600",
                  server->config_path);
    if (settings->warning[0])
        log_write(&server->log, LOG_LEVEL_WARNING, "%s", settings->warning);
    if (settings->debug)
        log_write(&server->log, LOG_LEVEL_WARNING, "debug is true: %s may cut this node off (DEBUG DROP)",
                  settings->users.count > 0                       ? "users with the role admin"
                  : settings_secret_is_given(&settings->password) ? "any client with the password"
                                                                  : "any client");
}

void server_introduce(struct server *server)
{
    const struct settings *settings = server->settings;
    log_write(&server->log, LOG_LEVEL_INFO,
              "headgated %s: node %s in region %s, limits: %u, peers in the config: %u", HEADGATE_VERSION,
              settings->node.name, settings->node.region, settings->limits.count, settings->node.peer_count);
    tell_size(server);
    tell_ports(server);
    server_tell_certificates(server);
    warn(server);
    warn_of_memory(server);
}

/* ---- the config ---- */

/*
 * All settings without secrets, as --print-config writes them. The caller must free the text. NULL:
 * no memory.
 */
static char *settings_text(const struct settings *settings)
{
    char *text = NULL;
    size_t size;
    struct settings *shown = calloc(1, sizeof *shown);
    FILE *out = shown ? open_memstream(&text, &size) : NULL;
    if (out) {
        *shown = *settings;
        settings_hide_secrets(shown);
        (void)settings_print(shown, out);
        (void)fclose(out);
        sodium_memzero(shown, sizeof *shown);
    }
    free(shown);
    return text;
}

void server_describe(struct server *server, const char *config_path)
{
    const struct settings *settings = server->settings;
    if (settings->log_level < LOG_LEVEL_DEBUG)
        return;
    log_write(&server->log, LOG_LEVEL_DEBUG, "config read from %s; with its defaults:", config_path);
    char *text = settings_text(settings), *rest = NULL;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        log_write(&server->log, LOG_LEVEL_DEBUG, "config: %s", line);
    free(text);
    log_write(&server->log, LOG_LEVEL_DEBUG, "digest of weights, limits and interval: %016llx; incarnation: %llu",
              (unsigned long long)settings->node.config_digest, (unsigned long long)settings->node.incarnation);
    for (uint32_t i = 0; i < settings->node.peer_count; i++) {
        const struct node_peer_options *peer = &settings->node.peers[i];
        log_write(&server->log, LOG_LEVEL_DEBUG, "peer %s of region %s: gossip from %s, snapshots from %s",
                  peer->name, peer->region, peer->gossip_address, peer->snapshot_address);
    }
    if (server->persist.store)
        log_write(&server->log, LOG_LEVEL_DEBUG, "state is written to %s, state_sync %s",
                  store_path(server->persist.store), settings->state_sync == STORE_SYNC_FULL ? "full" : "normal");
}
