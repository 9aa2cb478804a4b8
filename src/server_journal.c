/*
 * server_journal tells the log of the daemon when the log of refusals cannot be written, why, and when it can again. It
 * looks once a second at most, so that a disk which is full now and then fills no other file with sentences.
 */
#include "server_state.h"

#include <errno.h>
#include <string.h>

#define LOOK_EACH_NS ((uint64_t)1000000000)

void server_reopen_journal(struct server *server, const char *why)
{
    journal_reopen(server->journal);
    log_write(&server->log, LOG_LEVEL_INFO, "%s: %s is opened again", why, server->settings->refusal_log);
    if (server->journal_told != 0)
        server->journal_told = -1; /* whoever asked for it hears whether it helps */
}

void server_watch_journal(struct server *server, uint64_t now_ns)
{
    struct journal_stats stats;
    const bool looked = server->journal_looked_ns > 0;
    if (server->journal == NULL || (looked && now_ns - server->journal_looked_ns < LOOK_EACH_NS))
        return;
    server->journal_looked_ns = now_ns;
    journal_stats(server->journal, &stats);
    const int now = !stats.failing ? 0 : stats.reason > 0 ? stats.reason : EIO;
    if (now == server->journal_told)
        return;
    server->journal_told = now;
    if (stats.failing)
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "refusal_log: %s cannot be written (%s): lines of refusals are lost until it can",
                  server->settings->refusal_log, strerror(now));
    else
        log_write(&server->log, LOG_LEVEL_INFO, "refusal_log: %s is written again; lines lost meanwhile: %llu",
                  server->settings->refusal_log, (unsigned long long)(stats.lost - server->journal_lost));
    if (!stats.failing)
        server->journal_lost = stats.lost;
}
