/*
 * server_replays keeps the answers of idempotency keys over an orderly restart, in headgate.once of the state
 * directory. Without one, and where the daemon is killed, they end with the process. A file that is of no use costs
 * nobody a start: requests that come again are charged again then, and the log says so.
 */
#include "commands/replay.h"
#include "edge/store/state_file.h"
#include "server_state.h"

#include <inttypes.h>
#include <stdlib.h>

#define ONCE_FILE_NAME "headgate.once"

static bool keeps(const struct server *server)
{
    return server->replays != NULL && server->persist.store != NULL;
}

static void say_flaw(struct server *server, const char *flaw)
{
    log_write(
        &server->log, LOG_LEVEL_WARNING,
        "%s is of no use (%s): requests with an idempotency key of before are charged again when they come again",
        ONCE_FILE_NAME, flaw);
}

/* The file is what it was: it has the answers of an earlier start, if any. */
static void say_not_kept(struct server *server, const char *flaw)
{
    log_write(&server->log, LOG_LEVEL_WARNING,
              "%s is not written (%s): requests of this start with an idempotency key are charged again when they "
              "come again after it",
              ONCE_FILE_NAME, flaw);
}

void server_recall_replays(struct server *server)
{
    char flaw[STATE_FLAW_BYTES];
    size_t size = 0;
    if (!keeps(server))
        return;
    char *bytes = malloc(replays_kept_most() + 1); /* a longer file is seen */
    if (bytes == NULL) {
        say_flaw(server, "there is no memory to read it");
        return;
    }
    const enum state_file outcome =
        state_file_read(server->persist.directory, ONCE_FILE_NAME, bytes, replays_kept_most() + 1, &size, flaw);
    if (outcome == STATE_FILE_WRONG)
        say_flaw(server, flaw);
    if (outcome == STATE_FILE_READ) {
        const struct turn turn = worker_turn(&server->worker);
        const int64_t count = replays_recall(server->replays, (struct bytes){bytes, size},
                                             server->reservations_go_on, turn.now_ns, turn.wall_ns);
        if (count < 0)
            say_flaw(server, "it is not as this release writes it, or of another seed");
        else if (count > 0)
            log_write(&server->log, LOG_LEVEL_INFO,
                      "idempotency keys: %" PRId64 " answers of before are remembered", count);
    }
    free(bytes);
}

void server_keep_replays(struct server *server)
{
    char flaw[STATE_FLAW_BYTES] = "there is no memory to write it";
    if (!keeps(server))
        return;
    char *bytes = malloc(replays_kept_most());
    const struct turn turn = worker_turn(&server->worker);
    const size_t size = bytes != NULL ? replays_keep(server->replays, bytes, turn.now_ns, turn.wall_ns) : 0;
    const struct bytes kept = {bytes, size};
    if (bytes == NULL || (size > 0 && !state_file_write(server->persist.directory, ONCE_FILE_NAME, kept, flaw)))
        say_not_kept(server, flaw);
    free(bytes);
}
