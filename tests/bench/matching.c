/*
 * matching: what a request costs that falls under three rules, next to one that falls under a single one, where 500
 * services have 10,000 rules. A request is matched, decided over by a node (alone, so that nothing but the rules
 * costs), and counted. Prints nanoseconds per request and the ratio; exit status 1 if the ratio is above 1.5.
 *
 * Requests come in random order, of random services and users, three identifiers each. All kinds alternate in
 * rounds, and of each small part of a round the fastest counts: whatever else the machine does slows parts down,
 * never speeds them up.
 */
#include "base/random.h"
#include "cluster/node.h"
#include "limit/match.h"
#include "tests/ruleset_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    SERVICES = 500,
    SERVICE_RULES = 20,
    REQUESTS = 1 << 14,
    PARTS = 32, /* a part takes less time than a processor is lent for */
    ROUNDS = 60,
    USERS = 1000000,
};

#define INTERVAL_NS 100000000ull

struct prepared {
    struct request request;
    char text[192];
};

static struct node *node;
static struct named_limits named;

static int intern(void *context, const struct limit_terms *terms, struct error *error)
{
    (void)context;
    return node_intern_limit(node, terms, error);
}

static void give_up(const char *what)
{
    (void)fprintf(stderr, "matching: %s\n", what);
    exit(1);
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A daemon has just read the request when it matches it. */
static void warm(const struct prepared *next)
{
    for (size_t i = 0; i < sizeof *next; i += 64)
        __builtin_prefetch((const char *)next + i);
}

/* Rule 0 counts users everywhere; rules 1 and 2 count at /three alone; the others are of other endpoints. */
static void add_service(struct ruleset *ruleset, int service)
{
    static char yaml[SERVICE_RULES * 160];
    size_t size = 0;
    struct rule_list list;
    struct error error;
    struct rule_use uses[SERVICE_RULES] = {{0}};
    for (int i = 0; i < SERVICE_RULES; i++) {
        static const char *const by[] = {"user", "ip", "[api_key, user]"};
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

static struct ruleset *make_rules(const struct hash_key *hash_key, int services)
{
    struct ruleset *ruleset = ruleset_create(&(struct ruleset_options){.hash_key = hash_key,
                                                                       .services_max = 1000,
                                                                       .rules_max = 100000,
                                                                       .service_rules_max = 1000,
                                                                       .intern = intern});
    for (int i = 0; i < services; i++)
        add_service(ruleset, i);
    return ruleset;
}

static struct prepared *make_requests(int services, const char *endpoint)
{
    struct prepared *requests = calloc(REQUESTS, sizeof *requests);
    struct random random;
    random_seed(&random, 5);
    for (int i = 0; requests && i < REQUESTS; i++) {
        uint64_t user = random_below(&random, USERS);
        (void)snprintf(requests[i].text, sizeof requests[i].text,
                       "user=user-%" PRIu64 " ip=10.%" PRIu64 ".%" PRIu64 ".7 api_key=key-%" PRIu64
                       " SERVICE service-%d ENDPOINT %s",
                       user, user % 256, user / 256 % 256, user, (int)random_below(&random, (uint64_t)services),
                       endpoint);
        requests[i].request = world_request(requests[i].text);
    }
    return requests;
}

static struct node *make_node(void)
{
    static struct node_options options = {.name = "alone", .region = "here", .interval_ns = INTERVAL_NS};
    struct error error;
    struct effects effects;
    const struct limit_terms terms = {.kind = LIMIT_BUCKET, .capacity = 10, .rate = 1, .period_ns = 1000000000u};
    named.count = 1;
    if (!named_limit_init(&named.limit[0], bytes_of("default"), &terms, &error))
        give_up(error.text);
    options.limits = &named;
    options.incarnation = 1;
    options.table_keys = 1 << 20;
    options.message_max_bytes = 65536;
    options.log_keys_max = 1 << 20;
    node = node_create(&options, &error);
    if (!node)
        give_up(error.text);
    effects_init(&effects);
    node_step(node, &(struct event){.kind = EVENT_START, .now_ns = 1}, &effects);
    node_step(node, &(struct event){.kind = EVENT_WAKE, .now_ns = 10000000000u}, &effects);
    effects_close(&effects);
    return node;
}

struct cost {
    uint64_t match_ns[PARTS], whole_ns[PARTS]; /* the fastest of each part */
    uint64_t charges, allowed;                 /* of the last round */
};

static void run_part(struct ruleset *ruleset, const struct prepared *requests, int part, bool decide,
                     struct cost *cost)
{
    static struct match match;
    struct verdict verdicts[CHARGES_MAX];
    const int count = REQUESTS / PARTS, first = part * count;
    uint64_t began_ns = clock_ns(), now_ns = began_ns, charges = 0, allowed = 0;
    for (int i = first; i < first + count; i++) {
        warm(&requests[(i + 4) % REQUESTS]);
        (void)ruleset_match(ruleset, &requests[i].request, now_ns, now_ns, &match);
        charges += match.count;
        if (!decide)
            continue;
        allowed += node_check(node, match.charge, match.count, true, now_ns, verdicts);
        ruleset_note(ruleset, &match, verdicts);
    }
    uint64_t took_ns = clock_ns() - began_ns, *fastest_ns = decide ? &cost->whole_ns[part] : &cost->match_ns[part];
    if (*fastest_ns == 0 || took_ns < *fastest_ns)
        *fastest_ns = took_ns;
    cost->charges += decide ? charges : 0;
    cost->allowed += allowed;
}

static void run(struct ruleset *ruleset, const struct prepared *requests, struct cost *cost)
{
    cost->charges = cost->allowed = 0;
    for (int decide = 0; decide < 2; decide++)
        for (int part = 0; part < PARTS; part++)
            run_part(ruleset, requests, part, decide, cost);
}

static double per_request(const uint64_t ns[PARTS])
{
    uint64_t sum_ns = 0;
    for (int i = 0; i < PARTS; i++)
        sum_ns += ns[i];
    return (double)sum_ns / REQUESTS;
}

static void print(const char *what, const struct cost *cost)
{
    printf("%-44s %7.1f ns match, %7.1f ns in all (%.1f rules a request, %.0f%% allowed)\n", what,
           per_request(cost->match_ns), per_request(cost->whole_ns), (double)cost->charges / REQUESTS,
           100.0 * (double)cost->allowed / REQUESTS);
}

int main(void)
{
    struct hash_key hash_key;
    hash_key_from_secret(&hash_key, "bench", 5);
    node = make_node();
    struct ruleset *many = make_rules(&hash_key, SERVICES), *few = make_rules(&hash_key, 1);
    struct prepared *three = make_requests(SERVICES, "/three/x"), *one = make_requests(SERVICES, "/one");
    struct prepared *alone = make_requests(1, "/one");
    if (!many || !few || !three || !one || !alone)
        give_up("not enough memory");
    struct cost of_three = {0}, of_one = {0}, of_alone = {0};
    for (int round = 0; round < ROUNDS; round++) {
        run(many, three, &of_three);
        run(many, one, &of_one);
        run(few, alone, &of_alone);
    }
    printf("%d rules in %d services\n", SERVICES * SERVICE_RULES, SERVICES);
    print("one rule matches", &of_one);
    print("three rules match", &of_three);
    print("one rule matches, of one service", &of_alone);
    double ratio = per_request(of_three.whole_ns) / per_request(of_one.whole_ns);
    printf("ratio of three to one: %.2f (at most 1.50)\n", ratio);
    ruleset_destroy(&many);
    ruleset_destroy(&few);
    node_destroy(&node);
    free(three);
    free(one);
    free(alone);
    return ratio > 1.5;
}
