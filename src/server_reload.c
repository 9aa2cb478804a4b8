/*
 * server_reload takes over what has changed in the config while the daemon runs. It reads and checks everything
 * first, so that a mistake leaves all as it was. Then it changes, while no other thread is inside the gate, what
 * requests are decided by, and hands the rest to each worker for its own thread. Connections live on.
 */
#include "server_state.h"

#include "base/metric.h"
#include "base/units.h"
#include "edge/process/clock.h"
#include "edge/settings/settings_secrets.h"
#include "edge/settings/settings_shared.h"
#include "edge/settings/settings_tls.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define SECOND_NS ((uint64_t)1000000000)

enum { CERTIFICATE_WARNING_DAYS = 14, DAY_S = 24 * 3600 };

/* `who` refuse it before and after its span. */
static void tell_span(struct server *server, const char *key, const char *path, struct tls_span span,
                      const char *who)
{
    const uint64_t now_s = clock_wall_ns() / SECOND_NS;
    const int64_t left_s = (int64_t)span.ends_s - (int64_t)now_s;
    char until[UNITS_TEXT_BYTES];
    if (span.begins_s > now_s)
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "%s %s begins in %s: %s refuse it until then; or the clock of this machine is wrong", key, path,
                  units_format_duration(until, sizeof until, (span.begins_s - now_s) * SECOND_NS), who);
    else if (left_s <= 0)
        log_write(&server->log, LOG_LEVEL_WARNING, "%s %s has ended: %s will refuse it", key, path, who);
    else if (left_s < (int64_t)CERTIFICATE_WARNING_DAYS * DAY_S)
        log_write(&server->log, LOG_LEVEL_WARNING, "%s %s ends in %lld days: renew it, and reload", key, path,
                  (long long)(left_s / DAY_S));
}

/* A certificate that has ended is no reason not to serve clients at ports in clear. */
void server_tell_certificates(struct server *server)
{
    const struct settings *settings = server->settings;
    if (server->tls != NULL)
        tell_span(server, "tls.certificate", settings->tls_certificate, tls_span(server->tls), "clients");
    if (server->peers_tls != NULL)
        tell_span(server, "peers_tls.certificate", settings->peers_tls_certificate,
                  transport_tls_span(server->peers_tls), "peers");
}

void server_tell_secret(struct server *server)
{
    const char *weakness = settings_weak_secret(server->settings);
    if (weakness != NULL)
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "a secret of peers %s: expected a long random text, for instance of `openssl rand -base64 33`",
                  weakness);
}

/* Everything that can fail; the certificate for clients comes last, and is in use if it is true. */
static bool read_again(struct server *server, struct settings *next, struct transport_tls **peers_tls,
                       struct error *error)
{
    const struct settings *now = server->settings;
    if (!settings_read_again(next, server->config_path, error))
        return false;
    if (now->connections_cut && next->max_connections > now->connections_room)
        next->max_connections = now->connections_room;
    if (server->peers_tls != NULL && settings_has_peers_tls(next) &&
        !settings_peers_tls_open(next, server->config_path, peers_tls, error))
        return false;
    return server->tls == NULL || !settings_has_tls(next) ||
           settings_tls_open(next, server->config_path, &server->tls, error);
}

/* Connections of peers are made anew, so it is done only if there is something new to show. */
static void take_peers_tls(struct server *server, struct transport_tls *next, struct settings_changes *changes)
{
    if (next == NULL || transport_tls_same(server->peers_tls, next))
        return;
    settings_note_renewed(changes, "peers_tls");
    transport_tls_release(&server->peers_tls);
    server->peers_tls = transport_tls_hold(next);
    transport_renew(server->transport, next);
    log_write(&server->log, LOG_LEVEL_INFO, "connections to peers are made anew, with peers_tls.certificate %s",
              server->settings->peers_tls_certificate);
}

static void note_tls(const struct server *server, const struct tls_renewals *before,
                     struct settings_changes *changes)
{
    const struct tls_renewals now = server->tls != NULL ? tls_renewals(server->tls) : *before;
    if (now.certificate != before->certificate)
        settings_note_renewed(changes, "tls.certificate");
    if (now.client_ca != before->client_ca)
        settings_note_renewed(changes, "tls.client_ca");
}

static void hand_over(struct server *server)
{
    const struct settings *settings = server->settings;
    struct worker_changes changes = {
        .log_level = settings->log_level,
        .limits = {.connections_max = settings->max_connections,
                   .request_timeout_ms = settings->request_timeout_ns / MILLISECOND_NS,
                   .stranger_timeout_ms =
                       settings_have_passwords(settings) ? settings->auth_timeout_ns / MILLISECOND_NS : 0,
                   .idle_timeout_ms = settings->idle_timeout_ns / MILLISECOND_NS},
        .central = settings->central,
        .http = settings->http,
        .grpc = server_grpc_options(settings),
    };
    server->log.level = settings->log_level;
    worker_change(&server->worker, &changes);
    worker_threads_change(&server->worker_threads, &changes);
    sodium_memzero(&changes, sizeof changes);
}

/* The node decides whether it can, and tells its peers. */
static void take_limits(struct server *server, struct settings *next, struct reload_report *report)
{
    if (named_limits_equal(&server->settings->limits, &next->limits))
        return;
    const struct commands *commands = &server->worker.commands;
    commands->submit(commands->context, &(struct event){.kind = EVENT_LIMITS, .limits = &next->limits}, NULL);
    const struct limits_result *result = node_limits_result(server->node);
    if (!result->refused)
        return;
    report->limits_wait = result->error;
    settings_keep_limits(server->settings, next, &report->changes);
}

static void take(struct server *server, const struct settings *next)
{
    worker_begin_alone(&server->worker);
    settings_take(server->settings, next);
    node_set_seals(server->node, &server->settings->node.seals);
    if (server->users != NULL)
        users_update(server->users, &server->settings->users);
    worker_end_alone(&server->worker);
    hand_over(server);
}

/* What a restart of this daemon alone would not do. */
static void tell_shared(struct server *server, const char *why, const struct settings_changes *changes)
{
    const char *shared[SETTINGS_CHANGES_MAX];
    char paths[SETTINGS_CHANGES_BYTES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < changes->restart_count; i++)
        if (settings_is_shared(changes->restart[i]))
            shared[count++] = changes->restart[i];
    if (count > 0)
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "%s: daemons that differ in %s do not decide side by side: " SETTINGS_SHARED_ADVICE, why,
                  settings_print_paths(shared, count, paths, sizeof paths));
}

static void tell(struct server *server, const char *why, const struct settings_changes *changes)
{
    char paths[SETTINGS_CHANGES_BYTES];
    if (changes->taken_count > 0)
        log_write(&server->log, LOG_LEVEL_INFO, "%s: %s is read again, changed: %s", why, server->config_path,
                  settings_print_paths(changes->taken, changes->taken_count, paths, sizeof paths));
    else
        log_write(&server->log, LOG_LEVEL_INFO,
                  "%s: %s is read again: no change of what a running daemon takes over", why, server->config_path);
    if (changes->renewed_count > 0)
        log_write(&server->log, LOG_LEVEL_INFO, "%s: the files are new, and in use: %s", why,
                  settings_print_paths(changes->renewed, changes->renewed_count, paths, sizeof paths));
    if (changes->restart_count > 0)
        log_write(&server->log, LOG_LEVEL_WARNING, "%s: changed, but needs a restart: %s", why,
                  settings_print_paths(changes->restart, changes->restart_count, paths, sizeof paths));
    tell_shared(server, why, changes);
    server_tell_certificates(server);
    server_tell_secret(server);
}

/* The right to the file itself is not what is missing, perhaps. */
static void tell_fence(struct server *server, const char *why, const struct error *error)
{
    if (server->sandbox.files && strstr(error->text, strerror(EACCES)) != NULL)
        log_write(
            &server->log, LOG_LEVEL_INFO,
            "%s: the sandbox lets a running daemon read only /etc, and the directories of the config and of the "
            "files that it named at the start: another place needs a restart",
            why);
}

bool server_reload(struct server *server, const char *why, struct reload_report *report, struct error *error)
{
    *report = (struct reload_report){.certificate_ends_s = 0};
    if (server->leaving || server->ending)
        return error_set(error, EX_TEMPFAIL, "the daemon is leaving");
    struct settings *next = calloc(1, sizeof *next);
    struct transport_tls *peers_tls = NULL;
    const struct tls_renewals before = server->tls != NULL ? tls_renewals(server->tls) : (struct tls_renewals){0};
    supervisor_reloads(true);
    bool good = next != NULL ? read_again(server, next, &peers_tls, error)
                             : error_set(error, EX_OSERR, "not enough memory to read the config");
    if (good) {
        settings_compare(server->settings, next, &report->changes);
        take_limits(server, next, report);
        take(server, next);
        note_tls(server, &before, &report->changes);
        take_peers_tls(server, peers_tls, &report->changes);
        report->certificate_ends_s = server->tls != NULL ? tls_span(server->tls).ends_s : 0;
        tell(server, why, &report->changes);
        if (report->limits_wait.text[0])
            log_write(&server->log, LOG_LEVEL_WARNING, "%s: the new limits are not taken over: %s", why,
                      report->limits_wait.text);
        if (!report->limits_wait.text[0])
            (void)server_limits_differ(server, &report->limits_differ);
        server_tell_weights(server, next);
        server_tell_limits(server);
    } else {
        log_write(&server->log, LOG_LEVEL_WARNING, "%s: nothing is changed: %s", why, error->text);
        tell_fence(server, why, error);
    }
    metric_set(&server->config_reads.failed, !good);
    if (good)
        metric_set(&server->config_reads.success_s, clock_wall_ns() / SECOND_NS);
    transport_tls_release(&peers_tls);
    if (next != NULL)
        sodium_memzero(next, sizeof *next);
    free(next);
    supervisor_reloads(false);
    return good;
}

bool server_on_reload(void *context, struct reload_report *report, struct error *error)
{
    return server_reload(context, "RELOAD", report, error);
}
