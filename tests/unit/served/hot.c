/*
 * HOT and FINGERPRINT: who was refused, who asks most, under which rule and tier, with and without names; over time;
 * and that refusals of all kinds and on all ways of deciding are noted once.
 */
#include "commands/hot.h"

#include "tests/lib/served.h"

#define MINUTE_MS ((uint64_t)60000)
#define MONTH_RULES                                                                                                \
    "rules:\n"                                                                                                     \
    "- {id: user, service: shop, by: user, rate: 2/h, burst: 2, tiers: {pro: 3/h, free: unlimited}}\n"             \
    "- {id: pair, service: shop, by: [ip, user], algorithm: fixed_window, limit: 4, window: 1m}\n"                 \
    "- {id: list, service: door, by: user, rate: 1000/s, deny: [user=eve]}\n"                                      \
    "- {id: ghost, service: quiet, by: user, rate: 1/h, burst: 1, mode: shadow}\n"

static char brief_text[SERVED_TEXT_BYTES];

static void begin(bool names)
{
    served_open_with(65536, 0);
    hot_destroy(&served.commands.observer.hot);
    served.commands.observer.hot = hot_create(names, 1);
    assert(served.commands.observer.hot != NULL);
    observe_init(&served.commands.observer);
}

static void end(void)
{
    served_close();
}

/* The answer without the names of members, without fingerprints and without seconds. */
static const char *brief(const char *line)
{
    static const char *const dull[] = {"'service' ", "'rule' ", "'tier' ",  "'sampled' ", "'total' ",
                                       "'keys' ",    "'name' ", "'count' ", "'error' "};
    const char *at = served_ask(line);
    char *out = brief_text;
    while (*at) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof dull / sizeof dull[0]; i++)
            skip = strncmp(at, dull[i], strlen(dull[i])) == 0 ? strlen(dull[i]) : skip;
        if (strncmp(at, "'fingerprint' ", 14) == 0)
            skip = 14 + 19; /* with its value */
        if (strncmp(at, "'seconds' ", 10) == 0)
            skip = 10 + strcspn(at + 10, " ") + 1;
        at += skip;
        if (skip == 0)
            *out++ = *at++;
    }
    *out = '\0';
    return brief_text;
}

static void repeat(const char *line, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        (void)served_ask(line);
}

static void test_ways(void)
{
    begin(true);
    OK_STRING(served_ask("HOT"), "[]", "at first there is nothing");
    (void)served_ask("CAN_ACCESS a 100");
    repeat("CAN_ACCESS a", 3);
    OK_STRING(brief("HOT"), "[[(nil) 'default' (nil) 1 3 [['user=a' 3 0]]]]", "CAN_ACCESS in words");
    (void)served_send(bytes_of("*2\r\n$10\r\nCAN_ACCESS\r\n$1\r\na\r\n*2\r\n$10\r\nCAN_ACCESS\r\n$1\r\nb\r\n"
                               "*2\r\n$10\r\nCAN_ACCESS\r\n$1\r\na\r\n"));
    OK_STRING(brief("HOT"), "[[(nil) 'default' (nil) 1 5 [['user=a' 5 0]]]]",
              "the known shape, many at a time: who was allowed among them is not there");
    (void)served_ask("CHECK c COST 100");
    (void)served_send(
        bytes_of("CHECK c COST 2\r\n\r\nCHECK user=c\r\nCHECK c COST 200\r\nRESERVE c TTL 1000 COST 9 PATIENCE 0\r\n"));
    OK_STRING(brief("HOT"), "[[(nil) 'default' (nil) 1 9 [['user=a' 5 0] ['user=c' 4 0]]]]",
              "CHECK and RESERVE, an empty line between them");
    repeat("PEEK a", 3);
    repeat("EXPLAIN a", 1);
    OK_STRING(brief("HOT"), "[[(nil) 'default' (nil) 1 9 [['user=a' 5 0] ['user=c' 4 0]]]]",
              "who only looks is not noted");
    OK_STRING(brief("HOT default default COUNT 1"), "[[(nil) 'default' (nil) 1 9 [['user=a' 5 0]]]]", "COUNT 1");
    OK_STRING(brief("HOT shop"), "[]", "of another service");
    OK_STRING(brief("HOT default slow"), "[]", "of another limit");
    end();
}

static void test_rules(void)
{
    begin(true);
    OK(set_rules(MONTH_RULES), "rules");
    repeat("CHECK user=a ip=1 SERVICE shop", 5);
    OK_STRING(brief("HOT shop user"), "[['shop' 'user' (nil) 1 3 [['user=a' 3 0]]]]", "of the rule that refused");
    OK_STRING(brief("HOT shop pair"), "[]", "and not of the one that would have allowed it");
    repeat("CHECK ip=1 user=b SERVICE shop TIER pro", 4);
    OK_STRING(brief("HOT shop user"),
              "[['shop' 'user' (nil) 1 3 [['user=a' 3 0]]] ['shop' 'user' 'pro' 1 1 [['user=b' 1 0]]]]",
              "tiers apart, the loudest first");
    repeat("CHECK user=c ip=1 SERVICE shop TIER free", 6);
    OK_STRING(brief("HOT shop pair"), "[['shop' 'pair' (nil) 1 2 [['user=c ip=1' 2 0]]]]", "a key of two");
    served_wait_ms(MINUTE_MS);
    repeat("CHECK ip=1 user=c SERVICE shop TIER free", 6);
    OK_STRING(brief("HOT shop pair"), "[['shop' 'pair' (nil) 1 4 [['user=c ip=1' 4 0]]]]",
              "it is the same key in another window, and in another order");
    repeat("CHECK eve SERVICE door", 2);
    OK_STRING(brief("HOT door"), "[['door' 'list' (nil) 1 2 [['user=eve' 2 0]]]]", "a deny list");
    repeat("CHECK a SERVICE quiet", 4);
    OK_STRING(brief("HOT quiet"), "[]", "a shadow refuses nobody");
    OK(set_rules("rules: [{id: list, service: door, by: user, rate: 1000/s, deny: [user=eve, user=mallory]}]"),
       "a change");
    repeat("CHECK eve SERVICE door", 1);
    OK_STRING(brief("HOT door"), "[['door' 'list' (nil) 1 3 [['user=eve' 3 0]]]]", "a change forgets nobody");
    end();
}

/* What FINGERPRINT says of that line is what HOT lists. */
static bool is_listed(const char *line, const char *hot)
{
    char fingerprint[64];
    const char *told = served_ask(line);
    const char *at = strstr(told, "'fingerprint' '");
    assert(at != NULL);
    (void)snprintf(fingerprint, sizeof fingerprint, "%.33s", at);
    return strstr(served_ask(hot), fingerprint) != NULL;
}

static void test_fingerprints(void)
{
    begin(false);
    OK(set_rules(MONTH_RULES), "rules");
    (void)served_ask("CAN_ACCESS a 100");
    repeat("CAN_ACCESS a", 3);
    OK_STRING(brief("HOT"), "[[(nil) 'default' (nil) 1 3 [[(nil) 3 0]]]]", "where names are not remembered");
    OK(is_listed("FINGERPRINT a", "HOT default"), "the fingerprint is that of the name");
    OK(is_listed("FINGERPRINT user=a", "HOT default"), "... with its dimension");
    OK(!is_listed("FINGERPRINT b", "HOT default"), "and of no other name");
    OK(!is_listed("FINGERPRINT ip=a", "HOT default"), "nor of another dimension");
    repeat("CHECK user=a ip=1 SERVICE shop", 3);
    repeat("CHECK user=c ip=1 SERVICE shop TIER free", 6);
    repeat("CHECK eve SERVICE door", 2);
    OK(is_listed("FINGERPRINT a", "HOT shop user"), "it is the same under every rule that counts by it");
    OK(is_listed("FINGERPRINT ip=1 user=c", "HOT shop pair"), "of two identifiers, in any order, in a window");
    OK(is_listed("FINGERPRINT eve", "HOT door"), "of one on a deny list");
    const char *told = served_ask("FINGERPRINT user=c ip=1 SERVICE shop");
    OK(strstr(told, "'rule' 'pair'") != NULL && strstr(told, "'rule' 'user'") != NULL, "under each rule: %s", told);
    OK_STRING(served_ask("FINGERPRINT a SERVICE nope"), "!ERR unknown service 'nope': RULE LIST names them all",
              "of a service that is not there");
    end();
}

static void test_late(void)
{
    static const char access[] = "*2\r\n$10\r\nCAN_ACCESS\r\n$3\r\nlee\r\n";
    struct output output;
    size_t consumed;
    begin(true);
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    (void)served_ask("CAN_ACCESS lee 100");
    (void)served_send(bytes_of(access));
    served.commands.puts_off = true;
    char gone[sizeof access];
    memcpy(gone, access, sizeof access);
    output = output_over(served.reply, sizeof served.reply);
    OK(commands_serve(&served.commands, &served.session, bytes_of(gone), &output, turn, &consumed) == SERVE_LATER,
       "a request is put off");
    memset(gone, 'x', sizeof gone);
    commands_answer(&served.commands, &served.session, &output, turn);
    served.commands.puts_off = false;
    OK_STRING(brief("HOT"), "[[(nil) 'default' (nil) 1 2 [['user=lee' 2 0]]]]", "it is noted with its name");
    end();
}

/* Panes: what was noted fades from minutes, and then from hours. */
static void test_time(void)
{
    begin(true);
    OK(set_rules("rules: [{id: r, service: s, by: user, rate: 1/d, burst: 1}]"), "a rule");
    repeat("CHECK a SERVICE s", 5);
    OK_STRING(brief("HOT OVER minutes"), "[['s' 'r' (nil) 1 4 [['user=a' 4 0]]]]", "just now");
    OK_STRING(brief("HOT OVER hours"), "[['s' 'r' (nil) 1 4 [['user=a' 4 0]]]]", "hours have the present minutes");
    served_wait_ms(5 * MINUTE_MS);
    repeat("CHECK b SERVICE s", 3);
    OK_STRING(brief("HOT"), "[['s' 'r' (nil) 1 6 [['user=a' 4 0] ['user=b' 2 0]]]]", "five minutes later");
    OK_STRING(brief("HOT OVER hours"), "[['s' 'r' (nil) 1 6 [['user=a' 4 0] ['user=b' 2 0]]]]",
              "no hour counts twice");
    served_wait_ms(5 * MINUTE_MS);
    OK_STRING(brief("HOT"), "[['s' 'r' (nil) 1 2 [['user=b' 2 0]]]]", "ten minutes later");
    served_wait_ms(10 * MINUTE_MS);
    OK_STRING(brief("HOT"), "[]", "twenty minutes later");
    OK_STRING(brief("HOT OVER hours"), "[['s' 'r' (nil) 1 6 [['user=a' 4 0] ['user=b' 2 0]]]]", "hours have it");
    served_wait_ms(3 * 60 * MINUTE_MS);
    OK_STRING(brief("HOT OVER hours"), "[['s' 'r' (nil) 1 6 [['user=a' 4 0] ['user=b' 2 0]]]]",
              "three hours later");
    served_wait_ms(3 * 60 * MINUTE_MS);
    OK_STRING(brief("HOT OVER hours"), "[]", "six hours later");
    end();
}

/* The sampled figure is near the truth: five standard errors of sampling, and the sketch's own bound. */
static void test_asked(void)
{
    enum { LOUD = 30000, QUIET = 10000 };
    begin(true);
    OK(set_rules("rules: [{id: r, service: s, by: user, rate: 1000000/s}, {id: t, service: s, by: user, rate: "
                 "900000/s, mode: shadow}]"),
       "rules that refuse nothing");
    for (unsigned i = 0; i < LOUD; i++) {
        (void)served_ask("CHECK loud SERVICE s");
        if (i % (LOUD / QUIET) == 0)
            (void)served_ask("CHECK calm SERVICE s");
    }
    struct hot *hots[] = {served.commands.observer.hot};
    const struct hot_query query = {.service = bytes_of("s"), .rule = bytes_of("r"), .by = HOT_ASKED};
    struct hot_list list;
    struct hot_view view;
    hot_list(hots, 1, &query, served.now_ns, &list);
    OK(list.count == 1 && hot_read(hots, 1, &query, list.found[0].names, served.now_ns, &view), "one rule");
    const int64_t loud = (int64_t)(view.hitters.at[0].count * view.unit),
                  calm = (int64_t)(view.hitters.at[1].count * view.unit);
    const int64_t margin = 5 * 1960; /* sqrt(LOUD * HOT_SAMPLE) */
    OK(loud > LOUD - margin && loud < LOUD + margin, "the loud one: about %lld of %d", (long long)loud, LOUD);
    OK(calm > QUIET - margin && calm < QUIET + margin, "the calm one: about %lld of %d", (long long)calm, QUIET);
    OK(loud > calm, "in order");
    OK_STRING(served_ask("HOT s BY refused"), "[]", "nobody was refused");
    OK(strstr(served_ask("HOT s BY asked"), "'sampled' 128") != NULL, "the answer says how they were sampled");
    end();
}

static void test_many_rules(void)
{
    enum { SERVICES = HOT_RULES_MAX + 10 };
    begin(true);
    char text[160];
    for (unsigned i = 0; i < SERVICES; i++) {
        (void)snprintf(text, sizeof text, "rules: [{id: r, service: s%u, by: user, rate: 1/d, burst: 1}]", i);
        if (!set_rules(text))
            break;
        (void)snprintf(text, sizeof text, "CHECK a SERVICE s%u", i);
        repeat(text, 2);
    }
    OK_U64(served.commands.stats.hot_left_out, 10, "refusals of rules beyond the room are counted");
    served_wait_ms(6 * MINUTE_MS);
    (void)snprintf(text, sizeof text, "CHECK a SERVICE s%u", SERVICES - 1);
    repeat(text, 2);
    (void)snprintf(text, sizeof text, "HOT s%u", SERVICES - 1);
    OK(strstr(brief(text), "1 2 [['user=a' 2 0]]") != NULL, "a rule gets the room of one that was idle: %s",
       brief_text);
    OK(strstr(brief("HOT s1"), "1 1 [['user=a' 1 0]]") != NULL, "others keep theirs: %s", brief_text);
    OK_U64(served.commands.stats.hot_left_out, 10, "and nothing is left out");
    end();
}

static void test_words(void)
{
    begin(true);
    OK_STRING(served_ask("HOT s r x"), "!ERR unknown option 'x': expected COUNT, BY or OVER", "a third word");
    OK_STRING(served_ask("HOT COUNT"), "!ERR nothing after 'COUNT': expected its value", "nothing after COUNT");
    OK_STRING(served_ask("HOT COUNT 65"), "!ERR COUNT '65': expected a number from 1 to 64", "too many");
    OK_STRING(served_ask("HOT COUNT 0"), "!ERR COUNT '0': expected a number from 1 to 64", "none");
    OK_STRING(served_ask("HOT BY x"), "!ERR BY 'x': expected refused or asked", "by something else");
    OK_STRING(served_ask("HOT OVER days"), "!ERR OVER 'days': expected minutes or hours", "over something else");
    OK_STRING(served_ask("HOT s r count 3 by asked over hours"), "[]", "in any case");
    hot_destroy(&served.commands.observer.hot);
    OK_STRING(served_ask("HOT"), "[]", "where nothing is noted there is nothing");
    end();
}

/* Whatever clients call themselves, a name is one word of printable ASCII, and cut where it is too long. */
static void test_names(void)
{
    char request[400], key[201];
    begin(true);
    memset(key, 'k', sizeof key - 1);
    key[200] = '\0';
    (void)ask_words("CAN_ACCESS", "a b\033[2J\xff", "100", NULL);
    (void)ask_words("CAN_ACCESS", "a b\033[2J\xff", NULL);
    OK_STRING(brief("HOT"), "[[(nil) 'default' (nil) 1 1 [['user=a%20b%1B[2J%FF' 1 0]]]]", "no byte moves a cursor");
    (void)snprintf(request, sizeof request, "CAN_ACCESS %s 1000", key);
    (void)served_ask(request);
    (void)served_ask("HOT");
    const char *at = strstr(served.told, "user=k");
    OK(at != NULL && strcspn(at, "'") == HOT_NAME_BYTES - 1, "a long name is cut");
    end();
}

/* The seconds of the first rule that HOT shows. */
static unsigned long seconds_of(const char *line)
{
    const char *at = strstr(served_ask(line), "'seconds' ");
    return at != NULL ? strtoul(at + 10, NULL, 10) : 0;
}

static void test_span(void)
{
    begin(false);
    served.commands.started_ns = served.now_ns;
    repeat("CAN_ACCESS ann 1000", 2);
    OK_U64(seconds_of("HOT"), 1, "a second at least");
    served_wait_ms(50000);
    OK_U64(seconds_of("HOT"), 50, "a daemon tells of no time before it began");
    OK_U64(seconds_of("HOT over hours"), 50, "in hours neither");
    served_wait_ms(60 * MINUTE_MS);
    repeat("CAN_ACCESS ann 1000", 2);
    const unsigned long seconds = seconds_of("HOT");
    OK(seconds >= 300 && seconds <= 600, "later of the last minutes alone: %lu s", seconds);
    OK_U64(seconds_of("HOT over hours"), 3650, "and of all hours that there were");
    end();
}

int main(void)
{
    test_ways();
    test_span();
    test_rules();
    test_fingerprints();
    test_late();
    test_time();
    test_asked();
    test_many_rules();
    test_words();
    test_names();
    return tap_done();
}
