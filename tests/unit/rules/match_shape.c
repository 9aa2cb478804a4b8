/* Requests that differ in values alone come to what ruleset_match says of each; or nothing is said of them. */
#include "rules/match_shape.h"

#include "tests/lib/draw.h"
#include "tests/lib/ruleset_world.h"
#include "tests/lib/tap.h"

static const uint64_t now_ns = 5000 * (uint64_t)1000000000, wall_ns = 1800000000 * (uint64_t)1000000000;
static struct match match;

enum { ROUNDS = 4000, OTHERS = 4, TEXT_BYTES = 2048 };

static bool is_same_charge(const struct charge *a, const struct charge *b)
{
    return key_id_equal(a->id, b->id) && key_id_equal(a->previous, b->previous) && a->cost == b->cost &&
           a->floor_tokens == b->floor_tokens && a->expires_ns == b->expires_ns &&
           a->window_end_ns == b->window_end_ns && a->window_ns == b->window_ns && a->limit == b->limit &&
           a->tenant == b->tenant && a->inherit == b->inherit && a->on_isolation == b->on_isolation &&
           a->sliding == b->sliding && a->lease == b->lease && a->shadow == b->shadow;
}

static bool is_same_rule(const struct matched *a, const struct matched *b)
{
    return a->rule == b->rule && a->counter == b->counter && a->version == b->version &&
           a->limit_tokens == b->limit_tokens && a->why == b->why && a->id == b->id &&
           a->candidate == b->candidate && a->shadow == b->shadow && a->soft == b->soft;
}

static bool is_same(const struct match *a, const struct match *b)
{
    bool same = a->status == b->status && a->count == b->count && a->passed_count == b->passed_count &&
                a->denied_by == b->denied_by && a->tenant == b->tenant;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = is_same_charge(&a->charge[i], &b->charge[i]) && is_same_rule(&a->rule[i], &b->rule[i]);
    return same;
}

static uint64_t learned_edition;

static bool is_current(const struct world *world)
{
    return learned_edition == ruleset_edition(world->ruleset);
}

static bool learn(struct world *world, const char *text, struct shape_match *shape)
{
    struct request request = world_request(text);
    (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    learned_edition = ruleset_edition(world->ruleset);
    return shape_match_of(world->ruleset, &request, &match, shape);
}

/* `text` differs in values alone from what `shape` was made of. */
static bool is_right(struct world *world, const struct shape_match *shape, const char *text)
{
    static struct match said;
    struct key_id ids[SHAPE_CHARGES_MAX];
    struct request request = world_request(text);
    struct bytes values[REQUEST_IDS_MAX];
    for (uint32_t i = 0; i < request.id_count; i++)
        values[i] = request.id[i].value;
    (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    said = shape->match;
    shape_match_ids(shape, values, ids);
    for (uint32_t i = 0; i < said.count; i++)
        said.charge[i].id = ids[i];
    return request.id_count == shape->id_count && is_same(&said, &match);
}

static void where_values_matter(void)
{
    static const struct {
        bool learned;
        const char *rule, *asked, *second; /* second: there is another rule; NULL: there is none */
    } cases[] = {
        {true, "rate: 1/s", "u", NULL},
        {true, "by: [user, ip], rate: 1/s", "ip=1 u", NULL},
        {true, "by: [], rate: 1/s", "u", NULL},
        {true, "rate: 1/s, mode: shadow", "u ip=1", "by: ip, rate: 2/s"},
        {true, "rate: 1/s, tiers: {pro: 2/s}", "u", NULL},
        {true, "rate: 1/s, tiers: {pro: 2/s}", "u TIER none", NULL},
        {true, "rate: 100/s, priority_floor: {low: 20%}", "u PRIORITY low COST 3", NULL},
        {false, "rate: 1/s, tiers: {pro: 2/s}", "u TIER pro", NULL},
        {false, "rate: 1/s, deny: [user=bad]", "u", NULL},
        {false, "rate: 1/s, allow: [user=good]", "u", NULL},
        {false, "rate: 1/s, deny: ['ba*']", "u", NULL},
        {false, "rate: 1/s, deny: ['ip=10.0.0.0/8']", "u ip=1", "by: ip, rate: 2/s"},
        {false, "rate: 1/s, overrides: [{for: big, amount: 9/s}]", "u", NULL},
        {false, "rate: 1/s, deny: [ip=bad]", "u ip=1", "by: ip, rate: 2/s"},
        {false, "algorithm: fixed_window, limit: 5, window: 1s", "u", NULL},
        {false, "algorithm: sliding_window, limit: 5, window: 1s", "u", NULL},
        {false, "algorithm: quota, limit: 5, window: month", "u", NULL},
        {false, "algorithm: concurrency, limit: 5, window: 1m", "u", NULL},
        {false, "rate: unlimited", "u", NULL},
        {true, "rate: 1/s, endpoint: /a", "u", NULL},
        {true, "rate: 1/s", "ip=1", NULL},
        {true, "rate: 1/s", "ip=1 zone=2", NULL},
        {true, "rate: 1/s, mode: off", "u", NULL},
        {true, "rate: 1/s, mode: shadow", "u", NULL},
        {true, "rate: 1/s, service: shop", "u", NULL},
        {false, "rate: 1/s, endpoint: /a", "u SERVICE shop", NULL},
        {false, "rate: 1/s, mode: shadow, deny: [user=bad]", "u", NULL},
        {false, "rate: 1/s", "u RULE a", NULL},
        {false, "rate: 1/s", "u RULE default", NULL},
    };
    struct shape_match shape;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[256];
        struct world *world = world_create(10, 100, 100, true);
        (void)snprintf(yaml, sizeof yaml, "- {id: a, %s}\n%s%s%s", cases[i].rule,
                       cases[i].second ? "- {id: b, " : "", cases[i].second ? cases[i].second : "",
                       cases[i].second ? "}\n" : "");
        bool loaded = world_load(world, yaml), learned = loaded && learn(world, cases[i].asked, &shape);
        if (!OK(loaded && learned == cases[i].learned && (!learned || is_right(world, &shape, cases[i].asked)),
                "%s: {%s} and %s", cases[i].learned ? "values matter to keys alone" : "nothing is said",
                cases[i].rule, cases[i].asked))
            printf("# %s\n", world->error.text);
        world_destroy(world);
    }
}

static void canaries(void)
{
    struct shape_match shape;
    struct world *world = world_create(10, 100, 100, false);
    struct rule_list list;
    bool fine = rules_parse(bytes_of("- {id: a, rate: 1/s}\n"), "test", &list, &world->error);
    struct rule_use use = {.rule = list.rule[0]};
    fine = fine && ruleset_compile_service(world->ruleset, list.rule[0]->service, &use, 1, &world->error);
    OK(fine && learn(world, "u", &shape), "without a canary all users are of a shape");
    use.candidate = list.rule[0];
    use.share_millionths = 500000;
    fine = ruleset_compile_service(world->ruleset, list.rule[0]->service, &use, 1, &world->error);
    OK(fine && !is_current(world), "a canary begins: what was learned is of the past");
    OK(!learn(world, "u", &shape), "with a canary they are not");
    use.rule = NULL;
    unsigned selected = 0, learned = 0;
    fine = ruleset_compile_service(world->ruleset, list.rule[0]->service, &use, 1, &world->error);
    for (unsigned i = 0; i < 20; i++) {
        char user[8];
        (void)snprintf(user, sizeof user, "u%u", i);
        learned += learn(world, user, &shape);
        selected += match.count;
    }
    OK(fine && selected > 0 && selected < 20 && learned == 0, "nor where the candidate of %u is all there is",
       selected);
    rules_close(&list);
    world_destroy(world);
}

static void editions(void)
{
    struct shape_match shape = {0}, before;
    struct world *world = world_create(10, 100, 100, false);
    bool fine = world_load(world, "- {id: a, rate: 100/s, adaptive: {floor: 10%, latency: 10ms}}\n");
    if (!OK(fine && learn(world, "u", &shape) && is_current(world), "learned"))
        printf("# %s\n", world->error.text);
    before = shape;
    OK(!world_load(world, "- {id: a, rate: none}\n") && is_current(world), "rules that are refused change nothing");
    OK(ruleset_set_scale(world->ruleset, bytes_of("default"), RULE_SCALE_ONE / 2) && !is_current(world),
       "a service in ill health: another limit");
    OK(learn(world, "u", &shape) && shape.match.charge[0].limit != before.match.charge[0].limit &&
           is_right(world, &shape, "v"),
       "which is learned anew");
    OK(world_load(world, "- {id: a, service: other, rate: 100/s}\n") && !is_current(world),
       "rules of another service are another edition");
    world_destroy(world);
}

/* ---- any rules, any requests ---- */

static void draw_rules(struct random *random, char *yaml)
{
    int size = 0;
    for (unsigned i = 0, count = 1 + below(random, 6); i < count; i++)
        size +=
            snprintf(yaml + size, TEXT_BYTES - (size_t)size,
                     "- {id: r%u, service: %s, by: %s, endpoint: %s, mode: %s, %s%s}\n", i,
                     ANY(random, "default", "shop"), ANY(random, "user", "ip", "[user, ip]", "[ip, tenant]", "[]"),
                     ANY(random, "'*'", "'*'", "/a", "/a*"),
                     ANY(random, "enforce", "enforce", "soft", "shadow", "off"),
                     ANY(random, "rate: 5/s", "rate: 5/s", "rate: 7/m, burst: 9",
                         "algorithm: fixed_window, limit: 5, window: 1s"),
                     ANY(random, "", "", "", ", tiers: {pro: 9/s}", ", priority_floor: {low: 40%}"));
}

/* Of these dimensions, whatever the values. */
static void draw_request(struct random *random, const char *const *names, const char *options, char *text)
{
    int size = 0;
    for (; *names; names++)
        size += snprintf(text + size, TEXT_BYTES - (size_t)size, "%s%s=%s%u", size > 0 ? " " : "", *names,
                         ANY(random, "", "x", "a-longer-one"), below(random, 1000));
    (void)snprintf(text + size, TEXT_BYTES - (size_t)size, "%s", options);
}

static void anything(void)
{
    struct random random;
    struct shape_match shape;
    char text[TEXT_BYTES];
    unsigned learned = 0, wrong = 0, refused = 0;
    random_seed(&random, 5);
    for (int round = 0; round < ROUNDS; round++) {
        struct world *world = world_create(10, 100, 100, below(&random, 2));
        const char *names[4] = {ANY(&random, "user", "ip"), ANY(&random, "tenant", "other"),
                                ANY(&random, "zone", "a"), NULL};
        char options[128];
        names[1 + below(&random, 3)] = NULL;
        if (below(&random, 2) && strcmp(names[0], "ip") != 0)
            names[1] = "ip", names[2] = below(&random, 2) ? "tenant" : NULL, names[3] = NULL;
        (void)snprintf(options, sizeof options, "%s%s%s%s", ANY(&random, "", " SERVICE shop", " SERVICE default"),
                       ANY(&random, "", " ENDPOINT /a", " ENDPOINT /ab"),
                       ANY(&random, "", "", " TIER pro", " TIER x"), ANY(&random, "", " PRIORITY low", " COST 3"));
        draw_rules(&random, text);
        bool fine = world_load(world, text);
        refused += !fine;
        draw_request(&random, names, options, text);
        bool is_learned = fine && learn(world, text, &shape);
        learned += is_learned;
        for (int i = 0; is_learned && i < OTHERS; i++) {
            draw_request(&random, names, options, text);
            wrong += !is_right(world, &shape, text);
        }
        world_destroy(world);
    }
    OK(learned > ROUNDS / 8 && refused < ROUNDS / 8, "%u kinds of requests are learned", learned);
    OK_U64(wrong, 0, "others of each come to what ruleset_match says");
}

int main(void)
{
    where_values_matter();
    canaries();
    editions();
    anything();
    return tap_done();
}
