/*
 * Answers INFO: figures about this server as `# Section` and `key:value` lines, which monitoring
 * tools know.
 */
#include "commands/info.h"
#include "base/metric.h"
#include "base/number.h"
#include "base/units.h"
#include "commands/call.h"
#include "commands/figures.h"
#include "commands/refusals.h"
#include "edge/clients/tls.h"
#include "edge/peers/transport.h"

#include <inttypes.h>

struct report {
    struct call *call;
    struct figures figures;
};

static void print_rules(const struct report *report)
{
    info_rules(report->call);
}

static void print_server(const struct report *report)
{
    struct call *call = report->call;
    const struct commands *commands = call->commands;
    struct output *output = call->answer.output;
    uint64_t up_ns = number_minus(call->now_ns, commands->started_ns);
    info_text(output, "headgate_version", commands->version);
    /* the version of redis whose protocol this server speaks: some libraries compare it */
    info_text(output, "redis_version", "7.0.0");
    info_text(output, "redis_mode", "standalone");
    info_number(output, "loading", 0); /* some libraries wait until this is 0 */
    info_text(output, "node", commands->name);
    info_text(output, "region", commands->region);
    info_number(output, "tcp_port", commands->port);
    info_number(output, "threads", commands->worker_threads != NULL ? commands->worker_threads->count : 1);
    info_number(output, "uptime_in_seconds", up_ns / 1000000000u);
    info_text(output, "config_file", commands->config_path != NULL ? commands->config_path : "");
    if (commands->config_reads != NULL) {
        info_number(output, "config_last_reload_successful", !metric_get(&commands->config_reads->failed));
        info_number(output, "config_last_reload_success_time", metric_get(&commands->config_reads->success_s));
    }
    if (commands->sandbox != NULL) {
        info_text(output, "sandbox_calls", commands->sandbox->calls ? "on" : "off");
        info_text(output, "sandbox_files", commands->sandbox->files ? "on" : "off");
    }
    info_number(output, "debug", commands->debug);
    if (commands->tls != NULL)
        info_number(output, "certificate_ends", tls_span(commands->tls).ends_s);
    const uint64_t peers_s = commands->transport != NULL ? transport_certificate_ends_s(commands->transport) : 0;
    if (peers_s > 0)
        info_number(output, "peers_certificate_ends", peers_s);
}

/* Writes a line for each thread, and how often threads waited for each other at the gate. */
static void print_threads(const struct report *report, const struct commands_worker_threads *worker_threads)
{
    struct output *output = report->call->answer.output;
    uint64_t turned_away = 0;
    for (uint32_t i = 0; i < worker_threads->count; i++) {
        const struct listener_stats *listener = worker_threads->member[i]->listener;
        output_print(output,
                     "thread_%" PRIu32 ":connected_clients=%" PRIu64 ",total_connections_received=%" PRIu64
                     ",total_commands_processed=%" PRIu64 "\r\n",
                     i, metric_get(&listener->connected_clients), metric_get(&listener->total_connections_received),
                     report->figures.thread_commands[i]);
        turned_away += atomic_load_explicit(&worker_threads->gate->thread[i].turned_away, memory_order_relaxed);
    }
    info_number(output, "gate_closed",
                atomic_load_explicit(&worker_threads->gate->closed_count, memory_order_relaxed));
    info_number(output, "gate_waited",
                atomic_load_explicit(&worker_threads->gate->waited_count, memory_order_relaxed));
    info_number(output, "gate_turned_away", turned_away);
}

static void print_clients(const struct report *report)
{
    struct output *output = report->call->answer.output;
    const struct commands_worker_threads *worker_threads = report->call->commands->worker_threads;
#define X(name, help) info_number(output, #name, report->figures.listener.name);
    LISTENER_STATS(X)
#undef X
#define X(name, help) info_number(output, #name, report->figures.commands.name);
    COMMANDS_STATS(X)
#undef X
    if (worker_threads != NULL && worker_threads->gate != NULL)
        print_threads(report, worker_threads);
}

/* Which reload the limits come from. */
static void print_limits_version(const struct report *report)
{
    struct limits_report limits;
    node_limits_report(report->call->commands->node, &limits);
    info_number(report->call->answer.output, "limits_version", limits.stamp.number);
    info_text(report->call->answer.output, "limits_author", limits.author);
    info_number(report->call->answer.output, "limits_file_differs", limits.file_differs);
}

static void print_limits(const struct report *report)
{
    struct call *call = report->call;
    const struct named_limits *limits = call->commands->limits;
    struct output *output = call->answer.output;
    info_number(output, "limits", limits->count);
    info_text(output, "default_limit", limits->limit[limits->by_default].name);
    print_limits_version(report);
    for (uint16_t i = 0; i < limits->count; i++) {
        const struct named_limit *limit = &limits->limit[i];
        char rate[UNITS_TEXT_BYTES];
        output_print(output, "limit_%s:capacity=%" PRIu64 ",rate=%s,overshoot=%" PRIu64 "\r\n", limit->name,
                     limit->terms.capacity,
                     units_format_rate(rate, sizeof rate, limit->terms.rate, limit->terms.period_ns),
                     limit->terms.overshoot);
    }
}

static void print_table(const struct report *report)
{
    struct call *call = report->call;
    struct output *output = call->answer.output;
    struct table_stats table;
    node_table_stats(call->commands->node, &table);
#define X(name, help) info_number(output, #name, table.name);
    TABLE_STATS(X)
#undef X
}

/* Writes the figures that redis-cli --stat and monitors of redis read. */
static void print_memory(const struct report *report)
{
    struct call *call = report->call;
    char text[UNITS_TEXT_BYTES];
    uint64_t bytes = figures_resident_bytes(call->commands, call->now_ns);
    info_number(call->answer.output, "used_memory", bytes);
    info_text(call->answer.output, "used_memory_human", units_format_size_short(text, sizeof text, bytes));
    info_number(call->answer.output, "used_memory_rss", bytes);
}

static void print_keyspace(const struct report *report)
{
    struct call *call = report->call;
    struct table_stats table;
    node_table_stats(call->commands->node, &table);
    output_print(call->answer.output, "db0:keys=%" PRIu64 ",expires=0,avg_ttl=0\r\n", table.used_keys);
}

static void print_peer(struct output *output, const struct peer_report *peer)
{
    output_print(output,
                 "peer_%s:region=%s,address=%s,state=%s,heard_ms=%" PRId64 ",lag=%" PRIu64 ",log=%" PRIu64
                 ",share=%.6f,config=%s,right=%s",
                 peer->name, peer->region, peer->gossip_address, peer_state_name(peer->state),
                 peer->self ? 0 : call_ms(peer->heard_ago_ns), peer->lag_batches, peer->log_batches,
                 (double)peer->share / (double)SHARE_ONE, peer->config_differs ? "differs" : "same",
                 right_state_name(peer->right));
    if (peer->clock != CLOCK_UNMEASURED)
        output_print(output, ",clock=%s,clock_rate=%.4f", clock_state_name(peer->clock),
                     1 + (double)peer->clock_ppm / 1e6);
    if (peer->clock_jumps > 0)
        output_print(output, ",clock_jumps=%" PRIu32, peer->clock_jumps);
    if (peer->wall_known)
        output_print(output, ",clock_offset_ms=%" PRId64, peer->wall_ahead_ms);
    if (peer->forgotten)
        output_print(output, ",forgotten=1");
    if (peer->passed_over)
        output_print(output, ",passed_over=1");
    output_print(output, "\r\n");
}

static void print_cluster(const struct report *report)
{
    struct call *call = report->call;
    struct output *output = call->answer.output;
    struct node_status status;
    struct peer_report peers[NODE_PEERS_MAX];
    char waits_for[NODE_NOTICE_BYTES];
    node_status(call->commands->node, &status);
    size_t count = node_peers(call->commands->node, call->now_ns, peers);
    info_text(output, "state", peer_state_name(status.state));
    node_waits_for(call->commands->node, waits_for);
    info_text(output, "waits_for", waits_for);
    info_number(output, "peers", status.peers);
    info_number(output, "reachable_peers", status.reachable_peers);
    output_print(output, "share:%.6f\r\n", (double)status.share / (double)SHARE_ONE);
    output_print(output, "config_digest:%016" PRIx64 "\r\n", status.config_digest);
    output_print(output, "hash_seed_fingerprint:%016" PRIx64 "\r\n",
                 hash_key_fingerprint(&call->commands->hash_key));
    info_text(output, "config_differs", status.config_differs ? "yes" : "no");
    info_text(output, "config_state", config_state_name(status.config_state));
    info_text(output, "right", right_state_name(status.right));
    output_print(output, "gone_share:%.6f\r\n", (double)status.gone_share / (double)SHARE_ONE);
    call_print_weights(call);
    for (size_t i = 0; i < count; i++)
        print_peer(output, &peers[i]);
}

static void print_stats(const struct report *report)
{
    struct output *output = report->call->answer.output;
#define X(name, help) info_number(output, #name, report->figures.node.name);
    NODE_STATS(X)
#undef X
}

/* Requests that a rule or a limit decided, by what became of them and why. */
static void print_decisions(const struct report *report)
{
    struct output *output = report->call->answer.output;
    info_number(output, "decisions_allowed", report->figures.node.admitted_requests);
    for (unsigned reason = VERDICT_ALLOWED + 1; reason < VERDICT_REASON_COUNT; reason++)
        output_print(output, "decisions_refused_%s:%" PRIu64 "\r\n",
                     verdict_reason_name((enum verdict_reason)reason), report->figures.refused[reason]);
    info_number(output, "decisions_would_refuse_shadow", report->figures.observed.shadow);
    info_number(output, "decisions_would_refuse_soft", report->figures.observed.soft);
}

static void print_store(const struct report *report)
{
    struct call *call = report->call;
    struct output *output = call->answer.output;
    struct store *store = call->commands->store;
    if (store == NULL) {
        info_text(output, "store_state", "off");
        return;
    }
    struct store_stats stats;
    store_stats(store, &stats);
    info_text(output, "store_state", stats.failing ? "failing" : "writing");
    info_text(output, "store_failure", stats.failure);
    info_text(output, "store_file", store_path(store));
#define X(name, help) info_number(output, "store_" #name, stats.name);
    STORE_STATS(X)
#undef X
}

static void print_central(const struct report *report)
{
    struct output *output = report->call->answer.output;
    const struct central *central = report->call->commands->central;
    if (central == NULL) {
        info_text(output, "central_state", "off");
        return;
    }
    info_text(output, "central_state", central_is_up(central) ? "up" : "down");
    info_text(output, "central_error", central_error(central));
#define X(name, help) info_number(output, "central_" #name, report->figures.central.name);
    CENTRAL_STATS(X)
#undef X
}

static void print_transport(const struct report *report)
{
    struct output *output = report->call->answer.output;
    if (report->call->commands->transport == NULL)
        return;
#define X(name, help) info_number(output, "transport_" #name, report->figures.transport.name);
    TRANSPORT_STATS(X)
#undef X
}

static void print_refusals(const struct report *report)
{
    struct output *output = report->call->answer.output;
    struct refusals *refusals = report->call->commands->observer.refusals;
    struct refusals_stats stats;
    if (refusals == NULL) {
        info_text(output, "refusal_log_state", "off");
        return;
    }
    refusals_stats(refusals, &stats);
    info_text(output, "refusal_log_state", stats.journal.failing ? "failing" : "writing");
    info_number(output, "refusal_log_repeated", stats.repeated);
#define X(name, help) info_number(output, "refusal_log_" #name, stats.journal.name);
    JOURNAL_STATS(X)
#undef X
}

static void print_latency(const struct report *report)
{
    struct output *output = report->call->answer.output;
    for (size_t door = 0; door < DOORS; door++) {
        const struct latency *latency = &report->figures.latency[door];
        const uint64_t count = latency_count(latency), p50_us = latency_percentile_us(latency, 50),
                       p99_us = latency_percentile_us(latency, 99);
        output_print(output,
                     "latency_%s:requests=%" PRIu64 ",mean_us=%" PRIu64 ",p50_us=%" PRId64 ",p99_us=%" PRId64
                     "\r\n",
                     latency_door_name((enum latency_door)door), count,
                     count > 0 ? latency->sum_ns / count / 1000 : 0, (int64_t)p50_us, (int64_t)p99_us);
    }
}

/* Some libraries look for the one server that takes writes: here every daemon does. */
static void print_replication(const struct report *report)
{
    output_print(report->call->answer.output, "role:master\r\nconnected_slaves:0\r\n");
}

static const struct {
    const char *name, *title;
    void (*print)(const struct report *report);
} sections[] = {
    {"server", "Server", print_server},       {"clients", "Clients", print_clients},
    {"limits", "Limits", print_limits},       {"rules", "Rules", print_rules},
    {"table", "Table", print_table},          {"cluster", "Cluster", print_cluster},
    {"stats", "Stats", print_stats},          {"transport", "Transport", print_transport},
    {"store", "Store", print_store},          {"central", "Central", print_central},
    {"memory", "Memory", print_memory},       {"keyspace", "Keyspace", print_keyspace},
    {"refusals", "Refusals", print_refusals}, {"decisions", "Decisions", print_decisions},
    {"latency", "Latency", print_latency},    {"replication", "Replication", print_replication},
};

static bool wanted(const struct resp_command *words, const char *section)
{
    for (uint32_t i = 1; i < words->count; i++) {
        struct bytes word = words->args[i];
        if (word_is(word, section) || word_is(word, "all") || word_is(word, "default") ||
            word_is(word, "everything"))
            return true;
    }
    return words->count == 1;
}

/* Unknown sections are skipped: tools ask for the sections of redis. */
void call_info(struct call *call)
{
    struct output *output = call->answer.output;
    struct report report = {.call = call};
    figures_gather(call->commands, &report.figures);
    size_t begun = answer_bulk_begin(&call->answer);
    bool first = true;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (!wanted(call->words, sections[i].name))
            continue;
        output_print(output, "%s# %s\r\n", first ? "" : "\r\n", sections[i].title);
        sections[i].print(&report);
        first = false;
    }
    answer_bulk_end(&call->answer, begun);
}
