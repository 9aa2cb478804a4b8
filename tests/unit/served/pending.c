/*
 * Commands that arrive together are answered as if each had arrived alone: random pipelines are served in two equal
 * worlds, in one of them as they come, in the other command by command at the same times; every byte of the answers
 * is the same.
 */
#include "tests/lib/node_figures.h"
#include "tests/lib/served_worlds.h"

enum {
    SEEDS = 40,
    PIPELINES = 60, /* of one seed */
    COMMANDS_MAX = 48,
    COMMAND_BYTES = 1024,
    TABLE_KEYS = 96, /* few enough that keys make room for each other */
};

struct pipeline {
    uint32_t count;
    size_t at[COMMANDS_MAX + 1];
    char text[COMMANDS_MAX * COMMAND_BYTES];
};

/* What one world said. */
struct told {
    struct served_answers answers;
    uint64_t commands, errors, grouped;
};
static struct told together, alone;

static const char rules[] =
    "rules:\n"
    "- {id: per-user, service: shop, by: user, rate: 50/s, burst: 6, tiers: {pro: 100/s, free: unlimited}}\n"
    "- {id: per-ip, service: shop, by: ip, rate: 20/s, burst: 10, overrides: [{for: ip1, amount: 3/s}]}\n"
    "- {id: pair, service: shop, by: [user, ip], algorithm: sliding_window, limit: 9, window: 1m}\n"
    "- {id: window, service: shop, endpoint: /w/*, by: tenant, algorithm: fixed_window, limit: 12, window: 1s}\n"
    "- {id: log, service: shop, endpoint: /l, by: tenant, algorithm: sliding_log, limit: 8, window: 1s}\n"
    "- {id: soft, service: shop, by: ip, mode: soft, rate: 5/s, burst: 4}\n"
    "- {id: leaky, service: shop, endpoint: /k, by: tenant, algorithm: leaky_bucket, rate: 9/s, burst: 4}\n"
    "- {id: seen, service: shop, by: tenant, mode: shadow, rate: 10/s, burst: 3}\n"
    "- {id: lists, service: shop, endpoint: /d, by: user, rate: 10/s, burst: 5, deny: [user=user2]}\n";

/* ---- drawing ---- */

static void draw_query(struct random *random, char *line, size_t room)
{
    const char *verb = ANY(random, "CHECK", "CHECK", "CHECK", "CHECK", "check", "PEEK", "PEEK", "Peek", "REFUND",
                           "RESET", "EXPLAIN", "RESERVE", "RESERVE", "reserve");
    const char *service = ANY(random, "", " SERVICE shop", " SERVICE shop", " service default", " SERVICE none");
    const char *endpoint = ANY(random, "", "", " ENDPOINT /w/1", " ENDPOINT /l", " ENDPOINT /k", " ENDPOINT /d");
    const char *option =
        ANY(random, "", "", "", "", "", "", "", "", " TIER pro", " TIER free", " PRIORITY low", " RULE per-ip",
            " RULE slow", " RULE none", " WAIT", " VERBOSE", " WAIT VERBOSE", " NOTHING");
    const char *cost =
        ANY(random, "", "", "", "", "", "", " COST 2", " COST 2", " COST 0", " COST 7", " COST 1000", " COST x");
    char ids[96];
    int size = snprintf(ids, sizeof ids, "%suser%u", below(random, 2) ? "user=" : "", below(random, 8));
    if (below(random, 2))
        size += snprintf(ids + size, sizeof ids - (size_t)size, " ip=ip%u", below(random, 6));
    if (below(random, 2))
        size += snprintf(ids + size, sizeof ids - (size_t)size, " tenant=%u", below(random, 3));
    if (below(random, 30) == 0)
        (void)snprintf(ids + size, sizeof ids - (size_t)size, " ip=again");
    const bool reserves = strcmp(verb, "RESERVE") == 0 || strcmp(verb, "reserve") == 0;
    const char *ttl =
        !reserves ? "" : ANY(random, " TTL 500", " TTL 500", " TTL 9000", " TTL 9000", " TTL 9000", " TTL x");
    (void)snprintf(line, room, "%s %s%s%s%s%s%s", verb, ids, service, endpoint, option, cost, ttl);
}

/* Mostly of few limits, so that they are in use already; sometimes what is none. */
static void draw_throttle(struct random *random, char *line, size_t room)
{
    (void)snprintf(line, room, "%s user%u %s %s 1%s", ANY(random, "CL.THROTTLE", "cl.throttle", "THROTTLE"),
                   below(random, 6), ANY(random, "5", "5", "5", "3", "3", "0", "x", "9000000000000000"),
                   ANY(random, "10", "10", "10", "7", "0", "-1"),
                   ANY(random, "", "", "", " 2", " 0", " -1", " 100"));
}

/* What is neither a decision nor a word about one. */
static void draw_other(struct random *random, char *line, size_t room)
{
    (void)snprintf(line, room, "%s",
                   ANY(random, "PING", "ECHO hello", "HELLO 2", "HELLO 3", "RULE LIST shop", "CAN_ACCESS", "CHECK",
                       "NOTHING", "RULE DEL shop pair", "RULE DEL default all",
                       "RULE SET {id:~all,service:~default,by:~user,rate:~9/s,burst:~5}",
                       "RULE SET {id:~pair,service:~shop,by:~[user,ip],rate:~9/s,burst:~5}",
                       "RULE SET {id:~gone,service:~none,by:~ip,rate:~9/s,burst:~5}", "RULE DEL none gone"));
}

static size_t draw_command(struct random *random, char *out)
{
    char line[COMMAND_BYTES / 2];
    unsigned kind = below(random, 100);
    if (kind < 25)
        (void)snprintf(line, sizeof line, "CAN_ACCESS user%u", below(random, 40));
    else if (kind < 35)
        (void)snprintf(line, sizeof line, "CAN_ACCESS user%u %s", below(random, 8),
                       ANY(random, "0", "3", "60", "x"));
    else if (kind < 50)
        draw_throttle(random, line, sizeof line);
    else if (kind < 95)
        draw_query(random, line, sizeof line);
    else
        draw_other(random, line, sizeof line);
    if (below(random, 8) == 0 && !strchr(line, '~')) /* inline */
        return (size_t)snprintf(out, COMMAND_BYTES, "%s\r\n", line);
    return served_words(out, COMMAND_BYTES, line);
}

static void draw(struct random *random, struct pipeline *pipeline)
{
    size_t size = 0;
    pipeline->count = 1 + below(random, COMMANDS_MAX);
    for (uint32_t i = 0; i < pipeline->count; i++) {
        pipeline->at[i] = size;
        size += draw_command(random, pipeline->text + size);
    }
    pipeline->at[pipeline->count] = size;
}

/* ---- serving ---- */

static void live(uint64_t seed, bool pipelined, struct told *told)
{
    static struct pipeline pipeline;
    struct random random;
    random_seed(&random, seed);
    served_open_with(TABLE_KEYS, seed % 2 ? 2 : 0);
    bool set = set_rules(rules);
    assert(set);
    told->answers.size = 0;
    for (int i = 0; i < PIPELINES; i++) {
        draw(&random, &pipeline);
        for (uint32_t k = 0; !pipelined && k < pipeline.count; k++)
            served_serve((struct bytes){pipeline.text + pipeline.at[k], pipeline.at[k + 1] - pipeline.at[k]},
                         &told->answers);
        if (pipelined)
            served_serve((struct bytes){pipeline.text, pipeline.at[pipeline.count]}, &told->answers);
        served_wait_ms(below(&random, 200));
    }
    told->commands = served.commands.stats.total_commands_processed;
    told->errors = served.commands.stats.total_error_replies;
    told->grouped = served.commands.stats.grouped_decisions;
    served_close();
}

static bool are_equal(uint64_t seed)
{
    return served_equal(&together.answers, "together", &alone.answers, "alone", seed) &&
           together.commands == alone.commands && together.errors == alone.errors;
}

/* Answers of these have more parts than those of other requests; nothing else tells them apart. */
static void every_question_waits_in_one_queue(void)
{
    static const char *const lines[] = {"CHECK user=a WAIT",
                                        "CHECK user=a SERVICE shop VERBOSE",
                                        "RESERVE user=a TTL 1000",
                                        "PEEK user=a SERVICE shop WAIT VERBOSE",
                                        "CHECK user=a",
                                        "RESERVE user=b SERVICE shop TTL 1000"};
    char text[6 * COMMAND_BYTES];
    size_t size = 0;
    served_open();
    bool set = set_rules(rules);
    assert(set);
    for (size_t i = 0; i < 6; i++)
        size += served_words(text + size, sizeof text - size, lines[i]);
    const uint64_t before = served.commands.stats.grouped_decisions;
    together.answers.size = 0;
    served_serve((struct bytes){text, size}, &together.answers);
    OK_U64(served.commands.stats.grouped_decisions - before, 6,
           "RESERVE, and CHECK and PEEK with WAIT or VERBOSE, wait in the queue of all decisions");
    OK_U64(open_reservations(served.node), 2, "and each RESERVE has a reservation");
    served_close();
}

int main(void)
{
    every_question_waits_in_one_queue();
    uint64_t grouped = 0, commands = 0, errors = 0, same = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        live(seed, true, &together);
        live(seed, false, &alone);
        same += are_equal(seed);
        commands += together.commands;
        errors += together.errors;
        grouped += together.grouped;
    }
    OK_U64(same, SEEDS, "%u commands: the same answers together and one by one", (unsigned)commands);
    OK(grouped > commands / 2 && errors > commands / 20 && errors < commands / 3,
       "among them %u decided in groups, %u errors", (unsigned)grouped, (unsigned)errors);
    return tap_done();
}
