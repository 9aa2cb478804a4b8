/*
 * A request of a known shape is answered as if it were the first of its shape: whatever changed between the two, and
 * whatever else is different. Most of it by serving the same to two equal worlds, one of which knows no shape.
 */
#include "tests/lib/served_worlds.h"

enum {
    SEEDS = 40,
    PIPELINES = 60, /* of one seed */
    COMMANDS_MAX = 40,
    COMMAND_BYTES = 512,
    TABLE_KEYS = 512,
    LEARNED_MAX = SHAPES_MAX - SHAPE_ACCESS - 1,
    LEARNING = 16, /* requests of one shape, until it is learned */
};

/* Lines, the last one NULL, that arrive together. */
static const char *ask_all(const char *first, ...)
{
    static char text[COMMANDS_MAX * COMMAND_BYTES];
    size_t size = 0;
    va_list arguments;
    va_start(arguments, first);
    for (const char *line = first; line; line = va_arg(arguments, const char *))
        size += served_words(text + size, COMMAND_BYTES, line);
    va_end(arguments);
    return served_send((struct bytes){text, size});
}

static uint64_t recognised(void)
{
    return served.commands.shapes.learning.recognised;
}

#define CHECK_OF(user) "CHECK user=" user " ip=10.0.0.1 SERVICE shop"
#define RULE(terms) "RULE SET {id:~a,service:~shop,by:~user," terms "}"

/* Rules change among requests that arrive together, all of one kind. */
static void changes_within_a_group(void)
{
    served_open();
    OK_STRING(ask_all(RULE("rate:~10/s,burst:~5"), NULL), "+OK", "a rule");
    OK_STRING(ask_all(CHECK_OF("alice"), CHECK_OF("bob"), CHECK_OF("alice"), NULL),
              "[1 5 4 0 100 'a'] [1 5 4 0 100 'a'] [1 5 3 0 200 'a']", "three of a kind");
    OK_U64(recognised(), 2, "two of them are recognised");
    OK_STRING(ask_all(CHECK_OF("alice"), RULE("rate:~10/s,burst:~9"), CHECK_OF("alice"), CHECK_OF("carl"), NULL),
              "[1 5 2 0 300 'a'] +OK [1 9 5 0 400 'a'] [1 9 8 0 100 'a']", "another burst");
    OK_STRING(ask_all(CHECK_OF("bad"), RULE("rate:~10/s,burst:~9,deny:~[user=bad]"), CHECK_OF("bad"),
                      CHECK_OF("alice"), CHECK_OF("bad"), NULL),
              "[1 9 8 0 100 'a'] +OK [0 0 0 -1 0 'a'] [1 9 4 0 500 'a'] [0 0 0 -1 0 'a']", "a value is denied");
    OK_STRING(ask_all(RULE("rate:~10/s,burst:~9"), CHECK_OF("bad"), CHECK_OF("bad"), CHECK_OF("bad"), NULL),
              "+OK [1 9 7 0 200 'a'] [1 9 6 0 300 'a'] [1 9 5 0 400 'a']", "and is not any more");
    uint64_t before = recognised();
    OK_STRING(ask_all(CHECK_OF("bad"), RULE("rate:~10/s,burst:~9,overrides:~[{for:~bad,amount:~7/s}]"),
                      CHECK_OF("bad"), CHECK_OF("dora"), NULL),
              "[1 9 4 0 500 'a'] +OK [1 7 1 0 858 'a'] [1 9 8 0 100 'a']", "has an amount of its own");
    OK_U64(recognised() - before, 1, "where values matter nothing is recognised");
    OK_STRING(ask_all(RULE("rate:~10/s,burst:~9,mode:~off"), CHECK_OF("bad"), RULE("rate:~10/s,burst:~9"),
                      CHECK_OF("dora"), "RULE DEL shop a", CHECK_OF("dora"), NULL),
              "+OK [1 -1 -1 0 0 ''] +OK [1 9 7 0 200 'a'] 1 !ERR unknown service 'shop': RULE LIST names them all",
              "the rule is off, on and gone");
    served_close();
}

/* What is nearly the same. */
static void other_words(void)
{
    served_open();
    OK(set_rules("rules:\n- {id: u, service: shop, by: user, rate: 10/s, burst: 5, tiers: {pro: 20/s}}\n"
                 "- {id: p, service: shop, by: [user, ip], rate: 10/s, burst: 7}\n"),
       "rules by one and by two");
    OK_STRING(ask_all("CHECK user=a ip=b SERVICE shop", "CHECK user=a ip=b SERVICE shop",
                      "CHECK ip=b user=a SERVICE shop", "CHECK user=b ip=a SERVICE shop", NULL),
              "[1 5 4 0 100 'u'] [1 5 3 0 200 'u'] [1 5 2 0 300 'u'] [1 5 4 0 100 'u']", "in another order");
    OK_STRING(ask_all("CHECK user=c ip=b SERVICE shop COST 2", "CHECK user=c ip=b SERVICE shop TIER pro",
                      "CHECK user=c ip=b SERVICE shop COST 1", "CHECK user=c SERVICE shop",
                      "CHECK user=c ip=b zone=1 SERVICE shop", NULL),
              "[1 5 3 0 200 'u'] [1 7 4 0 300 'p'] [1 5 1 0 400 'u'] [1 5 0 0 500 'u'] [0 5 0 100 500 'u']",
              "another cost, tier, or number of ids");
    OK(ask_all("CHECK user=d user=e SERVICE shop", NULL)[0] == '!', "an id twice is still an error");
    OK(ask_all("CHECK user= ip=b SERVICE shop", NULL)[0] == '!', "and so is an empty one");
    OK_STRING(ask_all("PEEK user=f ip=b SERVICE shop", "CHECK user=f ip=b SERVICE shop",
                      "PEEK user=f ip=b SERVICE shop", NULL),
              "[1 5 5 0 0 'u'] [1 5 4 0 100 'u'] [1 5 4 0 100 'u']", "PEEK takes nothing");
    served.session.authenticated = false;
    OK(ask_all("CHECK user=f ip=b SERVICE shop", NULL)[0] == '!', "who has not said the password is told so");
    served.session.authenticated = true;
    served_close();
}

/* What three CAN_ACCESS of a user are answered, and what work they were. */
static void access_is(const char *user, const char *answers, uint32_t work, const char *what)
{
    char line[64];
    (void)snprintf(line, sizeof line, "CAN_ACCESS %s", user);
    OK_STRING(ask_all(line, line, line, NULL), answers, "%s", what);
    OK_U64(served.commands.worked, work, "%u units of work", (unsigned)work);
}

/* CAN_ACCESS is of a known shape whatever the rules are, and no more work where values decide only which key it is. */
static void access_under_rules(void)
{
    served_open();
    access_is("a", "1 1 1", 3, "under a limit of the config");
    OK_STRING(ask_all("RULE SET {id:~a,by:~user,rate:~1/h,burst:~2}", NULL), "+OK",
              "a rule of the default service");
    access_is("a", "1 1 0", 3, "under a rule by user");
    OK_STRING(ask_all("RULE SET {id:~b,by:~user,endpoint:~/v1/*,rate:~1/h,burst:~1}", NULL), "+OK", "another one");
    access_is("b", "1 1 0", 3, "which is of other endpoints");
    OK_STRING(ask_all("RULE SET {id:~c,by:~[],mode:~shadow,rate:~1/h,burst:~1}", NULL), "+OK",
              "one that only looks");
    access_is("c", "1 1 0", 12, "of two keys");
    OK(strstr(ask_all("RULE GET default c", "RULE LIST default", NULL), "'allowed' 3 'denied' 0 'shadow_denied' 2"),
       "both count");
    OK_STRING(ask_all("RULE DEL default c", "RULE SET {id:~a,by:~user,rate:~1/h,burst:~2,deny:~[bad]}", NULL),
              "1 +OK", "a list");
    access_is("bad", "0 0 0", 12, "denies a user");
    access_is("d", "1 1 0", 12, "and no other");
    OK(strstr(ask_all("RULE LIST default", NULL), "'allowed' 8 'denied' 7 'shadow_denied' 0"), "all are counted");
    OK_STRING(ask_all("CAN_ACCESS e", "RULE DEL default a", "CAN_ACCESS e", "CAN_ACCESS e", "CAN_ACCESS e", NULL),
              "1 1 1 1 1", "the rule goes between two");
    access_is("a", "1 1 1", 3, "and the limit of the config counts");
    served_close();
}

/* Where all are different little is remembered, and in the end what they have in common all the same. */
static void too_many_kinds(void)
{
    char line[COMMAND_BYTES / 2];
    served_open();
    OK_STRING(ask_all(RULE("rate:~10/s,burst:~5"), NULL), "+OK", "a rule");
    for (unsigned i = 0; i < 4000; i++) {
        (void)snprintf(line, sizeof line, "CHECK user=u%u SERVICE shop ENDPOINT /e%u", i % 7, i);
        (void)ask_all(line, NULL);
    }
    OK_U64(recognised(), 0, "4,000 different requests");
    for (unsigned i = 0; i < 4000; i++) {
        (void)snprintf(line, sizeof line, "CHECK user=u%u SERVICE shop ENDPOINT /e", i);
        (void)ask_all(line, NULL);
    }
    OK(recognised() > 1000 && served.commands.shapes.learning.trust > 0, "then 4,000 of a kind: %u are recognised",
       (unsigned)recognised());
    OK_U64(served.commands.stats.grouped_decisions, 8000, "all were decided");
    served_close();
}

static const char *ask_cost(unsigned first, unsigned then, unsigned count)
{
    static char text[COMMANDS_MAX * COMMAND_BYTES];
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "CHECK user=u SERVICE shop COST %u", i == 0 ? first : then);
        size += served_words(text + size, COMMAND_BYTES, line);
    }
    return served_send((struct bytes){text, size});
}

/* What waits to be decided is of a shape that was learned long ago, and its place is wanted. */
static void shapes_in_use(void)
{
    served_open();
    OK_STRING(ask_all(RULE("rate:~1/s,burst:~100000"), NULL), "+OK", "a rule");
    for (unsigned cost = 2; cost < 2 + LEARNED_MAX; cost++)
        for (unsigned i = 0; i < 80; i++)
            (void)ask_cost(cost, cost, 1);
    for (unsigned i = 0; i < 8; i++)
        (void)ask_cost(9, 9, 1);
    uint64_t before = recognised();
    OK(strstr(ask_cost(2, 9, LEARNING), "[1 100000 98806 0 ") == served.told,
       "the oldest of %u shapes: behind it another is learned, and it takes what it costs", LEARNED_MAX);
    OK(recognised() - before > 1, "that was learned");
    before = recognised();
    (void)ask_cost(2, 9, 2);
    OK_U64(recognised() - before, 2, "both are known, and another one is not any more");
    served_close();
}

/* ---- any mixture ---- */

struct told {
    struct served_answers answers;
    uint64_t commands, recognised;
    struct rule_counts counts; /* of all rules, after each pipeline */
};
static struct told knowing, forgetful;

static void draw_change(struct random *random, char *line)
{
    unsigned kind = below(random, 4);
    if (kind == 0)
        (void)snprintf(line, COMMAND_BYTES / 2, "RULE DEL %s %s", ANY(random, "shop", "shop", "default"),
                       ANY(random, "a", "b", "c"));
    else if (kind == 1)
        (void)snprintf(line, COMMAND_BYTES / 2, "%s",
                       ANY(random, "PING", "CAN_ACCESS user1", "CAN_ACCESS user2", "HEALTH shop ok"));
    else
        (void)snprintf(line, COMMAND_BYTES / 2, "RULE SET {id:~%s,service:~%s,by:~%s,%s%s%s}",
                       ANY(random, "a", "b", "c"), ANY(random, "shop", "shop", "default"),
                       ANY(random, "user", "ip", "[user,ip]", "tenant"),
                       ANY(random, "rate:~9/s,burst:~5", "rate:~9/s,burst:~7", "rate:~9/m,burst:~40",
                           "algorithm:~fixed_window,limit:~9,window:~1s",
                           "algorithm:~leaky_bucket,rate:~9/s,burst:~4"),
                       ANY(random, "", "", ",tiers:~{pro:~unlimited}", ",deny:~[user=user1]",
                           ",tiers:~{pro:~20/s}"),
                       ANY(random, "", "", "", ",mode:~shadow", ",mode:~soft", ",mode:~off",
                           ",priority_floor:~{low:~50%}"));
}

/* In small letters CAN_ACCESS means the same, and is not of its shape. */
static size_t draw_command(struct random *random, bool shapeless, char *out)
{
    char line[COMMAND_BYTES / 2];
    if (below(random, 40) == 0)
        draw_change(random, line);
    else if (below(random, 3) == 0)
        (void)snprintf(line, sizeof line, "%s user%u", shapeless ? "can_access" : "CAN_ACCESS", below(random, 6));
    else if (below(random, 4) > 0)
        (void)snprintf(line, sizeof line, "CHECK user=user%u ip=ip%u SERVICE shop", below(random, 6),
                       below(random, 30));
    else
        (void)snprintf(line, sizeof line, "%s %s=user%u %s=ip%u%s%s",
                       ANY(random, "CHECK", "CHECK", "CHECK", "PEEK"), ANY(random, "user", "user", "tenant"),
                       below(random, 6), ANY(random, "ip", "ip", "zone"), below(random, 1000),
                       ANY(random, " SERVICE shop", " SERVICE shop", ""),
                       ANY(random, "", "", " TIER pro", " TIER pro", " PRIORITY low", " COST 2", " VERBOSE"));
    return served_words(out, COMMAND_BYTES, line);
}

static void note_counts(struct told *told)
{
    static const char *const services[] = {"shop", "default"}, *const ids[] = {"a", "b", "c"};
    for (int i = 0; i < 6; i++) {
        const struct ruled *rule =
            ruleset_find(node_rules(served.node), bytes_of(services[i / 3]), bytes_of(ids[i % 3]));
        if (!rule)
            continue;
        const struct rule_counts counts = ruled_counts(rule);
        told->counts.allowed += counts.allowed;
        told->counts.denied += counts.denied;
        told->counts.shadow_denied += counts.shadow_denied;
        told->counts.over_limit += counts.over_limit;
    }
}

static void live(uint64_t seed, bool forgets, struct told *told)
{
    static char text[COMMANDS_MAX * COMMAND_BYTES];
    struct random random;
    random_seed(&random, seed);
    served_open_with(TABLE_KEYS, seed % 2 ? 2 : 0);
    told->answers.size = 0;
    told->counts = (struct rule_counts){0};
    for (int i = 0; i < PIPELINES; i++) {
        size_t size = 0, one;
        for (unsigned left = 1 + below(&random, COMMANDS_MAX); left > 0; left--, size += one) {
            one = draw_command(&random, forgets, text + size);
            if (!forgets)
                continue;
            memset(&served.commands.shapes, 0, sizeof served.commands.shapes);
            served_serve((struct bytes){text + size, one}, &told->answers);
        }
        if (!forgets)
            served_serve((struct bytes){text, size}, &told->answers);
        note_counts(told);
        served_wait_ms(below(&random, 200));
    }
    told->commands = served.commands.stats.total_commands_processed;
    told->recognised = recognised();
    served_close();
}

static void mixtures(void)
{
    uint64_t same = 0, commands = 0, known = 0, counted = 0, shadows = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        live(seed, false, &knowing);
        live(seed, true, &forgetful);
        same += served_equal(&knowing.answers, "knowing", &forgetful.answers, "forgetful", seed) &&
                knowing.commands == forgetful.commands;
        counted += memcmp(&knowing.counts, &forgetful.counts, sizeof knowing.counts) == 0;
        shadows += knowing.counts.shadow_denied;
        commands += knowing.commands;
        known += knowing.recognised;
    }
    OK_U64(same, SEEDS, "%u commands: the same answers where nothing is remembered", (unsigned)commands);
    OK(counted == SEEDS && shadows > 1000, "and rules count the same, %u that a shadow would have denied included",
       (unsigned)shadows);
    OK(known > commands / 8, "%u of them were recognised", (unsigned)known);
}

int main(void)
{
    changes_within_a_group();
    other_words();
    access_under_rules();
    too_many_kinds();
    shapes_in_use();
    mixtures();
    return tap_done();
}
