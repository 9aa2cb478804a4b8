/*
 * server_describe writes the config, the peers and the place of the state into the log, for an
 * operator who sets `log_level: debug`.
 */
#include "edge/settings/settings_users.h"
#include "server_state.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
