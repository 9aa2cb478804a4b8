/*
 * server_reservations keeps the open reservations of a daemon over an orderly restart, in headgate.reservations of the
 * state directory. Each file is used once: it is removed before its reservations are open again, so that after a crash
 * nobody gives back once more what was given back since. Where peers may not know of all that was spent, reservations
 * end with the process: what they hold counts as used.
 */
#include "edge/store/state_file.h"
#include "persist_reservations.h"
#include "server_state.h"

#include <inttypes.h>
#include <stdlib.h>

#define RESERVATIONS_FILE_NAME "headgate.reservations"

/* A start takes its time: by a turn's clock of before, all reservations would end so much too early. */
static struct persist_moment moment_of(struct server *server)
{
    const uint64_t wall_ns = steady_wall_ns(&server->persist.steady_wall);
    loop_clock_forget(&server->worker.clock);
    return (struct persist_moment){worker_turn(&server->worker).now_ns, wall_ns};
}

static void say_flaw(struct server *server, const char *flaw)
{
    log_write(&server->log, LOG_LEVEL_WARNING,
              "%s is of no use (%s): reservations of before have ended, and what they held is not held any more",
              RESERVATIONS_FILE_NAME, flaw);
}

static void say_recalled(struct server *server, const struct persist_recalled *recalled)
{
    if (recalled->open > 0)
        log_write(&server->log, LOG_LEVEL_INFO, "reservations of before that go on: %" PRIu64, recalled->open);
    if (recalled->ended > 0)
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "reservations of before that have no room here: %" PRIu64 "; what they held counts as used",
                  recalled->ended);
}

void server_recall_reservations(struct server *server)
{
    char flaw[STATE_FLAW_BYTES];
    const char *directory = server->persist.directory;
    char *bytes = NULL;
    size_t size = 0;
    if (server->persist.store == NULL)
        return;
    server->reservations_recalled = true;
    const enum state_file outcome = state_file_load(directory, RESERVATIONS_FILE_NAME, &bytes, &size, flaw);
    if (outcome == STATE_FILE_NONE)
        return;
    const bool is_there = outcome == STATE_FILE_READ && state_file_remove(directory, RESERVATIONS_FILE_NAME, flaw);
    const struct persist_moment moment = moment_of(server);
    struct persist_recalled recalled;
    if (!is_there)
        say_flaw(server, flaw);
    else if (!persist_recall_reservations(server->node, server->settings->node.name,
                                          &server->settings->node.hash_key, &moment, (struct bytes){bytes, size},
                                          &recalled)) {
        if (recalled.name[0] != '\0')
            (void)snprintf(flaw, sizeof flaw, "it was copied from %.60s", recalled.name);
        say_flaw(server,
                 recalled.name[0] != '\0' ? flaw : "it is not as this release writes it, or of another seed");
    } else {
        server->reservations_go_on = recalled.ended == 0;
        say_recalled(server, &recalled);
    }
    free(bytes);
}

static void say_ended(struct server *server)
{
    struct node_stats stats;
    node_stats(server->node, &stats);
    if (stats.open_reservations > 0)
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "reservations that end with this process: %" PRIu64
                  "; what they hold counts as used, since some peer may not know of it",
                  stats.open_reservations);
}

void server_keep_reservations(struct server *server)
{
    char flaw[STATE_FLAW_BYTES] = "there is no memory to write it";
    if (!server->reservations_recalled)
        return;
    if (!node_keeps_reservations(server->node)) {
        say_ended(server);
        return;
    }
    const struct persist_moment moment = moment_of(server);
    char *bytes;
    size_t size;
    bool good = persist_keep_reservations(server->node, server->settings->node.name,
                                          &server->settings->node.hash_key, &moment, &bytes, &size);
    if (good && bytes != NULL)
        good =
            state_file_write(server->persist.directory, RESERVATIONS_FILE_NAME, (struct bytes){bytes, size}, flaw);
    if (!good)
        log_write(&server->log, LOG_LEVEL_WARNING, "%s is not written (%s): reservations end with this process",
                  RESERVATIONS_FILE_NAME, flaw);
    free(bytes);
}
