/*
 * server_limits says that the limits of the config have no effect, where others are in force that a reload of another
 * daemon brought: at the start, when such a version comes into force, and when the config is read again.
 */
#include "server_state.h"

#include <sysexits.h>

bool server_limits_differ(const struct server *server, struct error *sentence)
{
    struct limits_report report;
    node_limits_report(server->node, &report);
    if (report.stamp.number == 0 || !report.file_differs)
        return false;
    (void)error_set(sentence, EX_OK,
                    "the limits of this file are not in force: limits %llu are, which %s has read from its config; "
                    "write the same into this file, or change it and reload",
                    (unsigned long long)report.stamp.number, report.author);
    return true;
}

void server_tell_limits(struct server *server)
{
    struct error sentence;
    if (server_limits_differ(server, &sentence))
        log_write(&server->log, LOG_LEVEL_WARNING, "%s: %s", server->config_path, sentence.text);
}

void server_watch_limits(struct server *server)
{
    struct limits_report report;
    node_limits_report(server->node, &report);
    if (report.stamp.number == server->limits_told.number && report.stamp.maker == server->limits_told.maker)
        return;
    server->limits_told = report.stamp;
    server_tell_limits(server);
}
