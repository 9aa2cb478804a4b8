#include "http/live.h"

#include "base/number.h"
#include "commands/figures.h"
#include "commands/guessers.h"
#include "http/call.h"
#include "wire/command.h"

#include <inttypes.h>

enum {
    LIVE_ROWS_MAX = 200,  /* rules in an event, and as many bounds; further ones are counted */
    BOUNDS_OF_RULE = 8,   /* its own amount, and the most indebted of its other ones */
    LIVE_END_BYTES = 256, /* kept for what stands behind the lists */
    ROWS_FOR_A_WORK = 2,  /* so many are written in the time of a unit of work */
    RETRY_LATER_S = 5,    /* where there are as many readers as there may be */
    NS_IN_MS = 1000000,
};

/* ---- members of objects ---- */

static void name(struct output *output, const char *text)
{
    put_text(output, "\"");
    put_text(output, text);
    put_text(output, "\":");
}

static void member_text(struct output *output, const char *member, struct bytes text)
{
    name(output, member);
    put_string(output, text);
    put_text(output, ",");
}

static void member_number(struct output *output, const char *member, uint64_t number)
{
    name(output, member);
    put_number(output, number);
    put_text(output, ",");
}

static void member_flag(struct output *output, const char *member, bool flag)
{
    name(output, member);
    put_bool(output, flag);
    put_text(output, ",");
}

/* UINT64_MAX: not known. */
static void member_ms(struct output *output, const char *member, uint64_t ns)
{
    name(output, member);
    if (ns == UINT64_MAX)
        put_text(output, "null");
    else
        put_number(output, ns / NS_IN_MS);
    put_text(output, ",");
}

/* Of a share, with six decimals. */
static void member_share(struct output *output, const char *member, uint64_t share)
{
    name(output, member);
    put_real(output, (double)share / (double)SHARE_ONE, 6);
    put_text(output, ",");
}

/* Ends an object or an array: the comma behind its last member falls away. */
static void end(struct output *output, const char *mark)
{
    if (output->size > 0 && output->data[output->size - 1] == ',')
        output->size--;
    put_text(output, mark);
}

/* ---- lists that end where there is no more room ---- */

struct rows {
    struct output *output;
    uint32_t shown, left_out;
    size_t begun; /* the row */
};

static bool begin_row(struct rows *rows)
{
    rows->begun = rows->output->size;
    if (rows->shown == LIVE_ROWS_MAX) {
        rows->left_out++;
        return false;
    }
    put_text(rows->output, "{");
    return true;
}

static void end_row(struct rows *rows)
{
    struct output *output = rows->output;
    end(output, "},");
    rows->shown += !output->overflowed;
    rows->left_out += output->overflowed;
    if (output->overflowed)
        output->size = rows->begun;
    output->overflowed = false;
}

/* A version on trial, and what both versions decided since it began. */
static void put_canary(struct output *output, const struct ruled *rule, const struct rule_counts *counts)
{
    name(output, "canary");
    put_text(output, "{");
    member_number(output, "share_millionths", rule->share_millionths);
    member_number(output, "allowed", counts->canary_allowed);
    member_number(output, "denied", counts->canary_denied);
    member_number(output, "stable_allowed", counts->stable_allowed);
    member_number(output, "stable_denied", counts->stable_denied);
    end(output, "},");
}

static void visit_rule(void *context, const struct ruled *rule)
{
    struct rows *rows = context;
    if (ruled_is_sheet(rule) || !begin_row(rows))
        return;
    const struct rule_counts counts = ruled_counts(rule);
    member_text(rows->output, "service", rule->service);
    member_text(rows->output, "rule", rule->id);
    member_number(rows->output, "allowed", counts.allowed);
    member_number(rows->output, "denied", counts.denied);
    member_number(rows->output, "shadow_denied", counts.shadow_denied);
    member_number(rows->output, "over_limit", counts.over_limit);
    if (rule->candidate != NULL)
        put_canary(rows->output, rule, &counts);
    end_row(rows);
}

/* `limit` is the index of an amount's limit. */
struct bound_row {
    uint16_t limit;
    uint64_t debt;
};

struct rule_rows {
    struct rows rows;
    struct node *node;
    const struct ruled *rule; /* whose amounts are being visited */
    struct bound_row bound[BOUNDS_OF_RULE];
    uint32_t bound_count;
};

static void visit_service(void *context, const struct ruled_service *service)
{
    struct rule_rows *rule_rows = context;
    ruleset_visit_rules(node_rules(rule_rows->node), service->name, visit_rule, &rule_rows->rows);
}

/* All amounts of the rule were visited. */
static void end_bounds(struct rule_rows *rule_rows)
{
    struct rows *rows = &rule_rows->rows;
    for (uint32_t i = 0; i < rule_rows->bound_count; i++) {
        const struct limit *limit = node_limit(rule_rows->node, rule_rows->bound[i].limit);
        if (!begin_row(rows))
            continue;
        member_text(rows->output, "service", rule_rows->rule->service);
        member_text(rows->output, "rule", rule_rows->rule->id);
        member_number(rows->output, "limit", limit->capacity);
        member_number(rows->output, "overshoot", limit->overshoot);
        member_number(rows->output, "worst_debt", rule_rows->bound[i].debt);
        end_row(rows);
    }
    rule_rows->bound_count = 0;
}

/* A rule may have thousands of amounts, which leave room for those of others. */
static void visit_amount(void *context, const struct ruled *rule, uint16_t index)
{
    struct rule_rows *rule_rows = context;
    struct bound_row *least = &rule_rows->bound[1];
    const struct bound_row bound = {index, node_worst_debt_tokens(rule_rows->node, index)};
    if (rule_rows->rule != rule)
        end_bounds(rule_rows);
    rule_rows->rule = rule;
    for (uint32_t i = 0; i < rule_rows->bound_count; i++) {
        if (rule_rows->bound[i].limit == index)
            return;
        if (i > 0 && rule_rows->bound[i].debt < least->debt)
            least = &rule_rows->bound[i];
    }
    if (rule_rows->bound_count < BOUNDS_OF_RULE) {
        rule_rows->bound[rule_rows->bound_count++] = bound;
        return;
    }
    rule_rows->rows.left_out++;
    if (bound.debt > least->debt)
        *least = bound;
}

/* ---- the event ---- */

static void put_peer(struct output *output, const struct peer_report *peer)
{
    put_text(output, "{");
    member_text(output, "name", bytes_of(peer->name));
    member_text(output, "region", bytes_of(peer->region));
    member_flag(output, "self", peer->self);
    member_text(output, "state", bytes_of(peer_state_name(peer->state)));
    member_flag(output, "decides", peer->decides);
    member_share(output, "share", peer->share);
    member_ms(output, "heard_ms", peer->self ? 0 : peer->heard_ago_ns);
    member_ms(output, "round_trip_ms", peer->round_trip_ns > 0 ? peer->round_trip_ns : UINT64_MAX);
    member_number(output, "unacknowledged_batches", peer->lag_batches);
    member_number(output, "log_batches", peer->log_batches);
    member_flag(output, "config_differs", peer->config_differs);
    member_text(output, "clock", bytes_of(clock_state_name(peer->clock)));
    member_number(output, "clock_rate_millionths", (uint64_t)(1000000 + peer->clock_ppm));
    member_number(output, "clock_jumps", peer->clock_jumps);
    member_flag(output, "forgotten", peer->forgotten);
    end(output, "},");
}

static void put_cluster(struct output *output, const struct node *node, uint64_t now_ns)
{
    struct node_status status;
    struct peer_report peers[NODE_PEERS_MAX];
    node_status(node, &status);
    const size_t count = node_peers(node, now_ns, peers);
    member_text(output, "state", bytes_of(peer_state_name(status.state)));
    member_flag(output, "decides", status.decides);
    member_text(output, "config", bytes_of(config_state_name(status.config_state)));
    member_share(output, "share", status.share);
    put_text(output, "\"peers\":[");
    for (size_t i = 0; i < count; i++)
        put_peer(output, &peers[i]);
    end(output, "],");
}

/* Requests by reason, as /metrics has them. */
static void put_reasons(struct output *output, const struct figures *figures)
{
    put_text(output, "\"refused_by_reason\":{");
    for (unsigned reason = VERDICT_ALLOWED + 1; reason < VERDICT_REASON_COUNT; reason++)
        member_number(output, verdict_reason_name((enum verdict_reason)reason), figures->refused[reason]);
    end(output, "},");
}

static void put_state(struct output *output, struct commands *commands, const struct figures *figures,
                      struct turn turn)
{
    struct rule_rows bounds = {.rows = {.output = output}, .node = commands->node}, rules = bounds;
    const struct ruleset *ruleset = node_rules(commands->node);
    const uint64_t up_ns = number_minus(turn.now_ns, commands->started_ns);
    put_text(output, "{");
    member_ms(output, "time_ms", turn.wall_ns);
    member_ms(output, "uptime_ms", up_ns);
    member_text(output, "version", bytes_of(commands->version));
    member_text(output, "node", bytes_of(commands->name));
    member_text(output, "region", bytes_of(commands->region));
    put_cluster(output, commands->node, turn.now_ns);
    member_number(output, "admitted_requests", figures->node.admitted_requests);
    member_number(output, "refused_requests", figures->node.refused_requests);
    put_reasons(output, figures);
    member_number(output, "worst_debt_tokens", figures->node.worst_debt_tokens);
    const size_t room = output->room;
    output->room -= LIVE_END_BYTES;
    put_text(output, "\"bounds\":[");
    ruleset_visit_amounts(ruleset, visit_amount, &bounds);
    end_bounds(&bounds);
    end(output, "],\"rules\":[");
    ruleset_visit_services(ruleset, visit_service, &rules);
    output->room = room;
    end(output, "],");
    member_number(output, "bounds_left_out", bounds.rows.left_out);
    member_number(output, "rules_left_out", rules.rows.left_out);
    end(output, "}");
}

static void put_event(struct output *output, struct commands *commands, const struct figures *figures,
                      struct turn turn)
{
    put_text(output, "data: ");
    put_state(output, commands, figures, turn);
    put_text(output, "\n\n");
}

void http_make_event(struct http *http, struct turn turn)
{
    struct figures figures;
    http->event = output_over(http->body, HTTP_LONG_BYTES);
    figures_gather(http->commands, &figures);
    put_event(&http->event, http->commands, &figures, turn);
    assert(!http->event.overflowed);
}

bool http_feed(const struct http *http, const struct http_session *session, struct output *output)
{
    const struct user *reader = session->reader;
    if (reader != NULL && (reader->edition != session->reader_edition || !user_has(reader, ROLE_READ)))
        return false;
    output_append(output, http->event.data, http->event.size);
    return true;
}

/* ---- the first answer ---- */

static uint64_t address_of(const struct commands *commands, const struct http_session *session)
{
    return guessers_address(&commands->hash_key, bytes_of(session->address));
}

/* How many readers of all threads have that address. Call it alone. */
static uint64_t readers_at(const struct commands *commands, uint64_t address)
{
    const struct commands_worker_threads *worker_threads = commands->worker_threads;
    const struct commands *const *members = worker_threads != NULL ? worker_threads->member : &commands;
    uint64_t count = 0;
    for (uint32_t i = 0; i < (worker_threads != NULL ? worker_threads->count : 1); i++)
        for (uint64_t r = 0; r < members[i]->stats.http_live; r++)
            count += members[i]->live_readers[r] == address;
    return count;
}

/* One more reader, while its address has fewer places than all threads have free. */
static bool admit_reader(struct http_call *call, uint64_t *all, uint64_t *own)
{
    struct commands *commands = call->http->commands;
    const uint64_t address = address_of(commands, call->session);
    struct figures figures;
    http_alone(commands, true);
    figures_gather(commands, &figures);
    *all = figures.commands.http_live;
    *own = readers_at(commands, address);
    assert(*all <= HTTP_LIVE_MAX);
    const bool admitted = *own < HTTP_LIVE_MAX - *all;
    if (admitted)
        commands->live_readers[commands->stats.http_live++] = address;
    http_alone(commands, false);
    return admitted;
}

static void refuse_reader(struct http_call *call, uint64_t all, uint64_t own)
{
    if (own == 0)
        http_problem(call, 503, NULL, "%" PRIu64 " connections read /v1/live already: expected fewer", all);
    else
        http_problem(call, 503, NULL,
                     "%" PRIu64 " of %" PRIu64 " connections that read /v1/live have this address: expected fewer "
                     "than the %" PRIu64 " that are free",
                     own, all, HTTP_LIVE_MAX - all);
    put_text(&call->fields, "Retry-After: ");
    put_number(&call->fields, RETRY_LATER_S);
    put_text(&call->fields, "\r\n");
}

void http_live(struct http_call *call)
{
    struct commands *commands = call->http->commands;
    struct figures figures;
    struct ruleset_stats stats;
    uint64_t all, own;
    if (call->message->method == HTTP_METHOD_HEAD) {
        call->endless = true;
        call->type = "text/event-stream";
        return;
    }
    if (!admit_reader(call, &all, &own)) {
        refuse_reader(call, all, own);
        return;
    }
    figures_gather(commands, &figures);
    call->feeds = call->session->live = true;
    call->session->reader = commands->caller;
    call->session->reader_edition = commands->caller != NULL ? commands->caller->edition : 0;
    call->type = "text/event-stream";
    put_text(&call->fields, "X-Accel-Buffering: no\r\n"); /* nginx would keep events back */
    ruleset_stats(node_rules(commands->node), &stats);
    call->work += command_table[COMMAND_INFO].work + stats.rules / ROWS_FOR_A_WORK;
    put_event(&call->body, commands, &figures, call->turn);
}

void http_end_live(struct http_session *session, struct commands *commands)
{
    if (!session->live)
        return;
    const uint64_t address = address_of(commands, session);
    uint64_t *readers = commands->live_readers, at = 0;
    while (at < commands->stats.http_live && readers[at] != address)
        at++;
    assert(at < commands->stats.http_live);
    readers[at] = readers[--commands->stats.http_live];
    session->live = false;
}
