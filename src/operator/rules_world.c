#include "operator/rules_world.h"

#include "cluster/node.h"
#include "commands/ask.h"
#include "commands/centrally.h"
#include "commands/commands.h"
#include "commands/verdict_report.h"
#include "limit/named_limit.h"
#include "wire/command_query.h"
#include "wire/resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    KEYS = 65536,
    LOG_KEYS = 65536,
    STEPS_MAX = 100000, /* until a change is in force; a document of 4 MiB takes some thousands */
};
#define MILLISECOND ((uint64_t)1000000)
#define BEGIN_NS ((uint64_t)1767571200 * 1000 * MILLISECOND) /* 2026-01-05 00:00 UTC */
#define NEAR_NS (5000 * MILLISECOND) /* of a long time only the end is gone through step by step */

struct rules_world {
    struct named_limits limits;
    struct node *node;
    struct effects effects;
    struct commands commands;
    uint64_t now_ns, wall_ns;
    struct question question;
    struct resp_command words;
};

static void step(struct rules_world *world, struct event event)
{
    event.now_ns = world->now_ns;
    event.wall_ms = world->wall_ns / MILLISECOND;
    node_step(world->node, &event, &world->effects);
}

static void submit(void *context, const struct event *event, struct rules_result *result)
{
    struct rules_world *world = context;
    step(world, *event);
    if (result != NULL)
        *result = world->effects.rules;
}

static void plan(struct node_options *options)
{
    (void)snprintf(options->name, sizeof options->name, "test");
    (void)snprintf(options->region, sizeof options->region, "test");
    (void)snprintf(options->gossip_address, sizeof options->gossip_address, "test:1");
    (void)snprintf(options->snapshot_address, sizeof options->snapshot_address, "test:2");
    (void)snprintf(options->regions[0].region, sizeof options->regions[0].region, "test");
    options->region_count = 1;
    options->has_central = true; /* what the store would decide is what a daemon that is alone decides */
    options->regions[0].weight = SHARE_ONE;
    options->interval_ns = 100 * MILLISECOND;
    options->silent_after_ns = 1000 * MILLISECOND;
    options->join_timeout_ns = 100 * MILLISECOND;
    options->leave_timeout_ns = 100 * MILLISECOND;
    options->table_keys = KEYS;
    options->log_keys_max = LOG_KEYS;
    options->message_max_bytes = 1024 * 1024;
    options->reservations_max = 1;
    options->incarnation = 1;
    options->seed = 1;
}

/* A node has a limit for what no rule counts: one that nobody meets. */
static bool begin(struct rules_world *world, struct error *error)
{
    const struct limit_terms endless = {.capacity = COMMAND_COST_MAX,
                                        .rate = COMMAND_COST_MAX,
                                        .period_ns = 1000000};
    struct node_options *options = calloc(1, sizeof *options);
    if (options == NULL)
        return error_set(error, EX_OSERR, "not enough memory");
    plan(options);
    world->limits.count = 1;
    bool made = named_limit_init(&world->limits.limit[0], bytes_of("default"), &endless, error);
    options->limits = &world->limits;
    made = made && (world->node = node_create(options, error)) != NULL;
    free(options);
    if (!made)
        return false;
    step(world, (struct event){.kind = EVENT_START});
    world->commands = (struct commands){.node = world->node,
                                        .limits = &world->limits,
                                        .name = "test",
                                        .region = "test",
                                        .version = "",
                                        .submit = submit,
                                        .context = world};
    commands_init(&world->commands);
    rules_world_wait(world, 1000 * MILLISECOND);
    world->wall_ns = BEGIN_NS;
    return true;
}

struct rules_world *rules_world_create(struct error *error)
{
    struct rules_world *world = calloc(1, sizeof *world);
    if (world == NULL) {
        (void)error_set(error, EX_OSERR, "not enough memory");
        return NULL;
    }
    effects_init(&world->effects);
    world->now_ns = 1000 * MILLISECOND;
    world->wall_ns = BEGIN_NS - 1000 * MILLISECOND;
    if (!begin(world, error))
        rules_world_destroy(&world);
    return world;
}

void rules_world_destroy(struct rules_world **world)
{
    if (*world == NULL)
        return;
    if ((*world)->commands.node != NULL)
        commands_close(&(*world)->commands);
    effects_close(&(*world)->effects);
    node_destroy(&(*world)->node);
    free(*world);
    *world = NULL;
}

static void pass(struct rules_world *world, uint64_t ns)
{
    world->now_ns += ns;
    world->wall_ns += ns;
}

void rules_world_wait(struct rules_world *world, uint64_t ns)
{
    const uint64_t end_ns = world->now_ns + ns;
    if (ns > 2 * NEAR_NS)
        pass(world, ns - NEAR_NS);
    while (world->effects.next_wake_ns <= end_ns) {
        if (world->effects.next_wake_ns > world->now_ns)
            pass(world, world->effects.next_wake_ns - world->now_ns);
        step(world, (struct event){.kind = EVENT_WAKE});
        if (world->effects.next_wake_ns <= world->now_ns)
            world->effects.next_wake_ns = world->now_ns + MILLISECOND;
    }
    pass(world, end_ns - world->now_ns);
}

bool rules_world_apply(struct rules_world *world, struct bytes text, const char *file, struct error *error)
{
    const struct rule_changes changes = {.text = text, .file = file};
    struct rules_wait wait;
    enum rules_status status = ask_rules(&world->commands, &changes, world->now_ns, &wait, error);
    for (uint32_t i = 0; status == RULES_WAIT && i < STEPS_MAX; i++) {
        step(world, (struct event){.kind = EVENT_WAKE});
        status = ask_rules_again(&world->commands, &wait, error);
    }
    if (status == RULES_WAIT)
        (void)error_set(error, EX_SOFTWARE, "%s: the rules do not come into force", file);
    return status == RULES_DONE;
}

static bool read_words(struct rules_world *world, const char *words, struct error *error)
{
    static const char check[] = "CHECK ";
    char line[RESP_INLINE_MAX_BYTES + 2], sentence[COMMAND_ERROR_BYTES];
    size_t consumed;
    const char *why = "expected the words of one request, without an end of line";
    const int size = snprintf(line, sizeof line, "%s%s\n", check, words);
    if (size < 0 || (size_t)size >= sizeof line)
        return error_set(error, EX_DATAERR, "longer than %d bytes", RESP_INLINE_MAX_BYTES);
    if (resp_parse((struct bytes){line, (size_t)size}, &world->words, &consumed, &why) != RESP_COMMAND ||
        consumed != (size_t)size)
        return error_set(error, EX_DATAERR, "%s", why);
    if (world->words.count < 2)
        return error_set(error, EX_DATAERR, "expected who asks, such as user=alice");
    if (!command_parse_query(&world->words, QUERY_COST | QUERY_COSTS | QUERY_DRAIN, &world->question.query,
                             sentence))
        return error_set(error, EX_DATAERR, "%s", sentence);
    const struct turn turn = {.now_ns = world->now_ns, .wall_ns = world->wall_ns};
    const bool drains = world->question.query.drain;
    if (drains && world->question.query.cost_count > 0)
        return error_set(error, EX_DATAERR,
                         "DRAIN with COST name=n: expected a plain COST, of which a part may be taken");
    if (!ask_match(&world->commands, &world->question, turn, sentence) ||
        (drains && !centrally_spares(&world->question.match, "DRAIN", sentence)))
        return error_set(error, EX_DATAERR, "%s", strncmp(sentence, "ERR ", 4) == 0 ? sentence + 4 : sentence);
    return true;
}

/* The rule and the figures that CHECK would tell. */
static void tell(const struct match *match, const struct decision *decision, struct rules_answer *answer)
{
    const struct verdict_report report = verdict_report_of(match, decision->allowed, decision->verdict);
    const bool by_config = report.decider >= 0 && match->rule[report.decider].why == WHY_CONFIG;
    const struct bytes rule = by_config ? bytes_of("") : report.rule;
    *answer = (struct rules_answer){.allowed = report.allowed,
                                    .over_limit = report.over_limit,
                                    .limit = by_config ? -1 : report.figures.limit,
                                    .remaining = by_config ? -1 : report.figures.remaining,
                                    .retry_after_ms = by_config ? 0 : report.figures.retry_after_ms};
    (void)snprintf(answer->rule, sizeof answer->rule, "%.*s", (int)rule.size, rule.data);
}

bool rules_world_ask(struct rules_world *world, const char *words, struct rules_answer *answer, struct error *error)
{
    struct decision decision;
    uint64_t taken;
    if (!read_words(world, words, error))
        return false;
    const struct asker asker = {.query = &world->question.query};
    const bool drains = world->question.query.drain;
    if (drains)
        ask_drain(&world->commands, &world->question, NULL, &asker, world->now_ns, &decision, &taken);
    else
        call_decide(&world->commands, &world->question.match, &asker, world->now_ns, &decision);
    tell(&world->question.match, &decision, answer);
    answer->taken = drains ? (int64_t)taken : -1;
    return true;
}
