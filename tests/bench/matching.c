/*
 * matching: what a request costs that falls under three rules, next to one that falls under a single one, where 500
 * services have 10,000 rules.
 *
 * Three costs of each kind, in nanoseconds a request: to match it; to match it, decide over all its keys and count
 * what was decided; and all that a daemon does between the bytes of a CHECK and those of its answer, one command
 * at a time. The node is alone, so that nothing but the rules costs. Exit status 1 if the whole command takes more
 * than 0.6 of the time that three commands of one rule take.
 *
 * The table is as full of other keys as it may be expected to be. Requests come in random order, of evenly drawn
 * services, and of users of whom few ask often and many seldom (Zipf); each names three identifiers. All kinds
 * alternate in rounds, and of each small part of a round the fastest counts: whatever else the machine does slows
 * parts down, never speeds them up.
 */
#include "base/random.h"
#include "base/zipf.h"
#include "rules/match.h"
#include "tests/bench/measure.h"
#include "tests/lib/ruleset_world.h"
#include "tests/lib/served.h"

enum {
    SERVICES = 500,
    SERVICE_RULES = 20,
    REQUESTS = 1 << 14,
    PARTS = 64, /* a part takes less time than a processor is lent for */
    ROUNDS = 40,
    USERS = 1000000,
    TABLE_KEYS = 1 << 20,
    OTHER_KEYS = 1000000, /* with those of the requests, a load of 0.8 */
};

struct prepared {
    struct request request; /* views of `text` */
    char text[160];
    char command[352];
    size_t command_size;
};

/*
 * Rule 0 counts users everywhere; rules 1 and 2 count at /three alone; the others are of other endpoints. Nobody is
 * refused, and no bucket is full again before the end.
 */
static void add_service(struct ruleset *ruleset, int service)
{
    static const char *const by[] = {"user", "ip", "[api_key, user]"};
    static char yaml[SERVICE_RULES * 160];
    size_t size = 0;
    struct rule_list list;
    struct error error;
    struct rule_use uses[SERVICE_RULES] = {{0}};
    for (int i = 0; i < SERVICE_RULES; i++) {
        char endpoint[32] = "'*'";
        if (i == 1 || i == 2)
            (void)snprintf(endpoint, sizeof endpoint, "/three/*");
        else if (i > 2)
            (void)snprintf(endpoint, sizeof endpoint, "/v%d/%s", i, i % 2 ? "*" : "exact");
        size += (size_t)
            snprintf(yaml + size, sizeof yaml - size,
                     "- {id: rule-%d, service: service-%d, endpoint: %s, by: %s, rate: %d/h, burst: 100000}\n", i,
                     service, endpoint, by[i % 3], 1000 + service % 10);
    }
    if (!rules_parse(bytes_of(yaml), "bench", &list, &error))
        give_up(error.text);
    for (size_t i = 0; i < list.count; i++)
        uses[i].rule = list.rule[i];
    if (!ruleset_compile_service(ruleset, list.rule[0]->service, uses, list.count, &error))
        give_up(error.text);
    rules_close(&list);
}

static void write_command(struct prepared *prepared)
{
    size_t words = 1;
    for (const char *at = prepared->text; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        words++;
    char *out = prepared->command;
    size_t room = sizeof prepared->command, size = (size_t)snprintf(out, room, "*%zu\r\n$5\r\nCHECK\r\n", words);
    for (const char *at = prepared->text; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        int length = (int)strcspn(at, " ");
        size += (size_t)snprintf(out + size, room - size, "$%d\r\n%.*s\r\n", length, length, at);
    }
    if (size >= room)
        give_up("a command is too long");
    prepared->command_size = size;
}

static struct prepared *make_requests(const char *endpoint)
{
    struct prepared *requests = calloc(REQUESTS, sizeof *requests);
    struct zipf *users = zipf_create(USERS, 1);
    struct random random;
    random_seed(&random, 5);
    for (int i = 0; requests && users && i < REQUESTS; i++) {
        int user = (int)zipf_draw(users, &random), service = (int)random_below(&random, SERVICES);
        (void)snprintf(requests[i].text, sizeof requests[i].text,
                       "user=user-%d ip=10.%d.%d.7 api_key=key-%d SERVICE service-%d ENDPOINT %s", user, user % 256,
                       user / 256 % 256, user, service, endpoint);
        requests[i].request = world_request(requests[i].text);
        write_command(&requests[i]);
    }
    zipf_destroy(&users);
    return requests;
}

enum stage { MATCHED, DECIDED, SERVED, STAGES };

struct cost {
    uint64_t part_ns[STAGES][PARTS]; /* the fastest of each part */
    uint64_t charges, refused;       /* of the last round */
};

/* Who gives a command to a daemon has just written it there. */
static void warm(const struct prepared *next)
{
    for (size_t i = 0; i < sizeof *next; i += 64)
        __builtin_prefetch((const char *)next + i);
}

static void serve(const struct prepared *prepared, struct cost *cost)
{
    size_t consumed;
    struct output output = output_over(served.reply, sizeof served.reply);
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    const struct bytes input = {prepared->command, prepared->command_size};
    (void)commands_serve(&served.commands, &served.session, input, &output, turn, &consumed);
    cost->refused += consumed != input.size || output.size < 8 || memcmp(output.data, "*6\r\n:1\r\n", 8) != 0;
}

static void run_part(const struct prepared *requests, int part, enum stage stage, struct cost *cost)
{
    static struct match match;
    struct verdict verdicts[CHARGES_MAX];
    struct ruleset *ruleset = node_rules(served.node);
    const int count = REQUESTS / PARTS, first = part * count;
    uint64_t began_ns = clock_ns();
    for (int i = first; i < first + count; i++) {
        warm(&requests[(i + 4) % REQUESTS]);
        if (stage == SERVED) {
            serve(&requests[i], cost);
            continue;
        }
        (void)ruleset_match(ruleset, &requests[i].request, served.now_ns, served.wall_ns, &match);
        cost->charges += match.count;
        if (stage == MATCHED)
            continue;
        cost->refused += !node_check(served.node, match.charge, match.count, true, served.now_ns, verdicts);
        (void)ruleset_note(&match, verdicts);
    }
    keep_least(&cost->part_ns[stage][part], clock_ns() - began_ns);
}

static void run(const struct prepared *requests, struct cost *cost)
{
    cost->charges = cost->refused = 0;
    for (int stage = 0; stage < STAGES; stage++)
        for (int part = 0; part < PARTS; part++)
            run_part(requests, part, (enum stage)stage, cost);
}

static double per_request(const struct cost *cost, enum stage stage)
{
    uint64_t sum_ns = 0;
    for (int i = 0; i < PARTS; i++)
        sum_ns += cost->part_ns[stage][i];
    return (double)sum_ns / REQUESTS;
}

/* None of them is full again before the end. */
static void fill_table(void)
{
    const struct limit_terms terms = {.kind = LIMIT_BUCKET,
                                      .capacity = 100000,
                                      .rate = 1000,
                                      .period_ns = 3600 * (uint64_t)1000000000};
    struct random random;
    struct error error;
    int limit = node_intern_limit(served.node, &terms, &error);
    if (limit < 0)
        give_up(error.text);
    random_seed(&random, 9);
    for (int i = 0; i < OTHER_KEYS; i++) {
        uint64_t high = random_u64(&random), low = random_u64(&random);
        (void)node_can_access(served.node, (struct key_id){high, low}, (uint16_t)limit, 1000, served.now_ns);
    }
}

int main(void)
{
    static struct cost of_one, of_three;
    served_open_with(TABLE_KEYS, 0);
    fill_table();
    for (int i = 0; i < SERVICES; i++)
        add_service(node_rules(served.node), i);
    struct prepared *one = make_requests("/one"), *three = make_requests("/three/x");
    if (!one || !three)
        give_up("not enough memory");
    for (int round = 0; round < ROUNDS; round++) {
        run(one, &of_one);
        run(three, &of_three);
    }
    if (of_one.refused > 0 || of_three.refused > 0 || of_one.charges != 2 * REQUESTS ||
        of_three.charges != 6 * REQUESTS)
        give_up("something was refused, or matched other rules than meant");
    static const char *const names[STAGES] = {"matched", "matched, decided and counted", "the whole command"};
    printf("%d rules in %d services; ns a request        one rule   three rules   ratio\n",
           SERVICES * SERVICE_RULES, SERVICES);
    double ratio = 0;
    for (int stage = 0; stage < STAGES; stage++) {
        double a = per_request(&of_one, (enum stage)stage), b = per_request(&of_three, (enum stage)stage);
        ratio = b / a;
        printf("  %-42s %8.0f      %8.0f    %4.2f\n", names[stage], a, b, ratio);
    }
    const bool kept = ratio / 3 <= 0.6;
    printf("%s: a command under three rules to three under one: %.2f, at most 0.60\n", kept ? "kept" : "BROKEN",
           ratio / 3);
    free(one);
    free(three);
    served_close();
    return !kept;
}
