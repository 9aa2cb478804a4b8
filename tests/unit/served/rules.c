/*
 * Rules as a client sees them: every algorithm through CHECK, all or nothing, lists, tiers, priorities, and changes.
 */
#include "tests/lib/served.h"

/* Sends `line` until it is denied; how often it was allowed. */
static unsigned take_all(const char *line)
{
    unsigned allowed = 0;
    while (allowed < 1000 && served_ask(line)[1] == '1')
        allowed++;
    return allowed;
}

static void test_config(void)
{
    OK_STRING(served_ask("CHECK alice"), "[1 100 99 0 10 'default']", "without rules the config's limit counts");
    OK_STRING(served_ask("CHECK ip=1.2.3.4 alice COST 50"), "[1 100 50 0 500 'default']", "by the first id");
    OK_STRING(served_ask("CHECK alice RULE slow COST 9"), "[0 5 5 -1 0 'slow']", "or another one of it");
    OK_STRING(served_ask("CAN_ACCESS alice"), "1", "CAN_ACCESS");
    OK_STRING(served_ask("PEEK alice"), "[1 100 98 0 20 'default']", "counts with it");
    OK_STRING(served_ask("CHECK alice RULE fast"),
              "!ERR unknown rule 'fast' of service 'default': RULE LIST names them all", "an unknown rule");
}

static void test_algorithms(void)
{
    OK(set_rules("rules:\n"
                 "- {id: tb, service: a, endpoint: /tb, algorithm: token_bucket, rate: 10/s, burst: 20}\n"
                 "- {id: lb, service: a, endpoint: /lb, algorithm: leaky_bucket, rate: 10/s, burst: 5}\n"
                 "- {id: fw, service: a, endpoint: /fw, algorithm: fixed_window, limit: 7, window: 1m}\n"
                 "- {id: sw, service: a, endpoint: /sw, algorithm: sliding_window, limit: 8, window: 1m}\n"
                 "- {id: sl, service: a, endpoint: /sl, algorithm: sliding_log, limit: 9, window: 1m}\n"
                 "- {id: qu, service: a, endpoint: /qu, algorithm: quota, limit: 10, window: day}\n"
                 "- {id: co, service: a, endpoint: /co, algorithm: concurrency, limit: 3, window: 1m}\n"),
       "a rule of each algorithm");
    /* The wall clock stands 2 s behind a full minute, as the node needed them to start. */
    OK_STRING(served_ask("CHECK u SERVICE a ENDPOINT /tb"), "[1 20 19 0 100 'tb']", "token bucket");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /tb"), 19, "its burst");
    served_wait_ms(500);
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /tb"), 5, "and its rate");
    OK_STRING(served_ask("CHECK u SERVICE a ENDPOINT /lb WAIT"), "[1 5 4 0 100 'lb' 0]",
              "leaky bucket: nothing before");
    OK_STRING(served_ask("CHECK u SERVICE a ENDPOINT /lb WAIT COST 2"), "[1 5 2 0 300 'lb' 100]", "one before");
    OK_STRING(served_ask("PEEK u SERVICE a ENDPOINT /lb WAIT COST 3"), "[0 5 2 100 300 'lb' -1]", "no room");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /fw"), 7, "fixed window");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /sw"), 8, "sliding window");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /sl"), 9, "sliding log");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /qu"), 10, "quota");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /co"), 3, "concurrency");
    served_wait_ms(60000);
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /fw"), 7, "the next fixed window is full");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /sl"), 9, "the log has forgotten");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /qu"), 0, "the day has not ended");
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /co"), 3, "leases have");
    served_wait_ms(24u * 3600 * 1000);
    OK_U64(take_all("CHECK u SERVICE a ENDPOINT /qu"), 10, "the next day");
}

static void test_all_or_nothing(void)
{
    OK(set_rules("rules:\n"
                 "- {id: per-user, service: b, by: user, rate: 10/m, burst: 10}\n"
                 "- {id: per-ip, service: b, by: ip, rate: 4/m, burst: 4}\n"
                 "- {id: both, service: b, by: [ip, user], algorithm: fixed_window, limit: 100, window: 1h}\n"
                 "- {id: ghost, service: b, by: user, rate: 1/m, burst: 1, mode: shadow}\n"),
       "four rules of one service");
    OK_STRING(served_ask("CHECK ip=1 user=u SERVICE b"), "[1 4 3 0 15000 'per-ip']", "the narrowest one is told");
    OK_U64(take_all("CHECK ip=1 user=u SERVICE b"), 3, "four at all");
    OK_STRING(served_ask("CHECK ip=1 user=u SERVICE b"), "[0 4 0 15000 60000 'per-ip']", "which denies the fifth");
    OK_STRING(served_ask("PEEK user=u SERVICE b"), "[1 10 6 0 24000 'per-user']",
              "and the other is not charged for it");
    OK_STRING(served_ask("CHECK ip=2 user=u SERVICE b COST 7"), "[0 4 4 -1 0 'per-ip']",
              "never, by the one that says so");
    (void)served_ask("CHECK ip=2 user=u SERVICE b VERBOSE");
    OK(served_told(
           "[['rule' 'per-ip' 'endpoint' '*' 'by' 'ip' 'algorithm' 'token_bucket' 'mode' 'enforce' 'why' 'rule' "
           "'canary' 0 'allowed' 1 'limit' 4 'remaining' 3 'available_now' 3 'retry_after_ms' 0 "
           "'reset_after_ms' 15000 'reason' 'allowed']"),
       "VERBOSE tells each");
    OK(served_told(
           "['rule' 'ghost' 'endpoint' '*' 'by' 'user' 'algorithm' 'token_bucket' 'mode' 'shadow' 'why' 'rule' "
           "'canary' 0 'allowed' 0 'limit' 1 'remaining' 0 'available_now' 0 'retry_after_ms' 60000 "
           "'reset_after_ms' 60000 'reason' 'capacity']") &&
           served_told("['rule' 'both' 'endpoint' '*' 'by' 'ip,user' 'algorithm' 'fixed_window' "),
       "shadows and combinations too");
    (void)served_ask("INFO rules");
    OK(served_told("rule_b/ghost:allowed=8,denied=0,shadow_denied=7,over_limit=0\r\n"),
       "INFO counts what a shadow would have denied");
    OK(served_told("rule_b/per-ip:allowed=5,denied="), "and what was allowed");
}

static void test_lists(void)
{
    OK(set_rules("rules:\n"
                 "- id: r\n  service: c\n  rate: 2/m\n  burst: 2\n  tiers: {pro: 5/m, internal: unlimited}\n"
                 "  overrides: [{for: vip, amount: 50/m}]\n"
                 "  allow: [good]\n  deny: [evil, ip=6.6.6.6]\n  priority_floor: {low: 50%}\n"),
       "a rule with everything");
    OK_STRING(served_ask("CHECK u SERVICE c"), "[1 2 1 0 30000 'r']", "itself");
    OK_STRING(served_ask("CHECK u SERVICE c PRIORITY low"), "[0 2 0 30000 30000 'r']",
              "the last half is not for the low");
    OK_STRING(served_ask("CHECK w SERVICE c TIER pro"), "[1 5 4 0 12000 'r']", "a tier");
    OK_STRING(served_ask("CHECK w SERVICE c TIER internal"), "[1 -1 -1 0 0 '']", "an unlimited one");
    OK_STRING(served_ask("CHECK vip SERVICE c"), "[1 50 49 0 1200 'r']", "an override");
    OK_STRING(served_ask("CHECK good SERVICE c COST 1000"), "[1 -1 -1 0 0 '']", "the allow list");
    OK_STRING(served_ask("CHECK evil SERVICE c"), "[0 0 0 -1 0 'r']", "the deny list");
    OK_STRING(served_ask("CHECK u ip=6.6.6.6 SERVICE c"), "[0 0 0 -1 0 'r']", "of another dimension");
    (void)served_ask("CHECK evil SERVICE c VERBOSE");
    OK(served_told("'why' 'deny list'") && served_told("'allowed' 0"), "VERBOSE says why");
}

static void test_nothing_admitted(void)
{
    OK(set_rules(
           "rules:\n"
           "- {id: r, service: zero, algorithm: fixed_window, limit: 0, window: 1m, overrides: [{for: vip, amount: "
           "5}]}\n"
           "- {id: all, service: zero, by: [], rate: 10/m}\n"),
       "a rule with a limit of 0");
    OK_STRING(served_ask("CHECK u SERVICE zero"), "[0 0 0 -1 0 'r']", "denies for good");
    OK_STRING(served_ask("PEEK u SERVICE zero"), "[0 0 0 -1 0 'r']", "says so before");
    OK_STRING(served_ask("CHECK u SERVICE zero COST 0"), "[0 0 0 -1 0 'r']", "and to one that asks for nothing");
    OK(strncmp(served_ask("RESERVE u SERVICE zero COST 1 TTL 1000"), "[0 ", 3) == 0, "holds nothing: %s",
       served.told);
    OK_STRING(served_ask("CHECK vip SERVICE zero RULE all"), "[1 10 9 0 6000 'all']", "charges no other rule");
    OK(strncmp(served_ask("CHECK vip SERVICE zero"), "[1 5 4 0 ", 9) == 0, "an override of it counts: %s",
       served.told);
    (void)served_ask("CHECK u SERVICE zero VERBOSE");
    OK(served_told("'why' 'limit 0'") && served_told("'allowed' 0"), "VERBOSE says why");
    (void)served_ask("EXPLAIN u SERVICE zero");
    OK(served_told("denied: limit 0"), "as EXPLAIN does");
    (void)served_ask("INFO rules");
    OK(served_told("rule_zero/r:allowed=1,denied=4,"), "they are counted");
}

static void test_giving_back(void)
{
    OK(set_rules("{id: g, service: d, algorithm: fixed_window, limit: 10, window: 1h}"), "a window");
    OK(strncmp(served_ask("CHECK u SERVICE d COST 6"), "[1 10 4 0 ", 10) == 0, "six are taken: %s", served.told);
    OK_STRING(served_ask("REFUND u SERVICE d COST 2"), "2", "two are given back");
    OK_STRING(served_ask("REFUND u SERVICE d COST 20"), "4", "and no more than was taken");
    OK_STRING(served_ask("REFUND u SERVICE d"), "0", "then nothing");
    OK_U64(take_all("CHECK u SERVICE d"), 10, "all are there again");
    OK_STRING(served_ask("RESET u SERVICE d"), "1", "RESET of a key that something was taken of");
    OK_STRING(served_ask("RESET u SERVICE d"), "0", "and of one that is full");
    OK_STRING(served_ask("RESET stranger SERVICE d"), "0", "or was never charged");
    OK_U64(take_all("CHECK u SERVICE d"), 10, "makes them all there");
    OK_STRING(served_ask("RESET"), "+RESET", "RESET alone is about the connection");
}

static void test_reservations(void)
{
    char line[128], id[33];
    OK(set_rules("{id: llm, service: e, rate: 100/m, burst: 100}"), "tokens of a language model");
    const char *answer = served_ask("RESERVE u SERVICE e COST 60 TTL 5000");
    OK(strncmp(answer, "[1 100 40 0 36000 'llm' '", 25) == 0 && strlen(answer) == 25 + 32 + 2, "RESERVE: %s",
       answer);
    (void)snprintf(id, sizeof id, "%.32s", answer + 25);
    OK_STRING(served_ask("RESERVE v SERVICE e COST 101 TTL 5000"), "[0 100 100 -1 0 'llm' (nil)]", "too many");
    (void)snprintf(line, sizeof line, "COMMIT %s 25", id);
    OK_STRING(served_ask(line), "25", "COMMIT of less");
    OK_STRING(served_ask("PEEK u SERVICE e"), "[1 100 75 0 15000 'llm']", "gives back the rest");
    OK(served_ask(line)[0] == '!' && served_told("NORESERVATION"), "once");
    answer = served_ask("RESERVE u SERVICE e COST 10 TTL 5000");
    (void)snprintf(line, sizeof line, "CANCEL %.32s", strrchr(answer, ' ') + 2);
    OK_STRING(served_ask(line), "1", "CANCEL");
    OK_STRING(served_ask(line), "0", "once");
    OK_STRING(served_ask("PEEK u SERVICE e"), "[1 100 75 0 15000 'llm']", "gives back all");
    answer = served_ask("RESERVE u SERVICE e COST 75 TTL 5000");
    (void)snprintf(line, sizeof line, "RENEW %.32s 9000", strrchr(answer, ' ') + 2);
    served_wait_ms(3000);
    OK_STRING(served_ask(line), "1", "RENEW");
    served_wait_ms(6000);
    OK_STRING(served_ask("PEEK u SERVICE e COST 50"), "[0 100 15 21000 51000 'llm']", "holds it longer");
    served_wait_ms(4000);
    OK_STRING(served_ask("PEEK u SERVICE e"), "[1 100 96 0 2000 'llm']", "then it comes back by itself");
    OK_STRING(served_ask("COMMIT xyz 1"),
              "!ERR reservation 'xyz': expected the 32 hexadecimal digits that RESERVE gave", "no id");
    static const char *const verbs[] = {"COMMIT", "CANCEL", "RENEW"};
    static const char *const ids[] = {"0123456789abcdef0123456789abcde",   "0123456789abcdef0123456789abcd",
                                      "0123456789abcdef0123456789abcdef0", "0123456789abcdef0123456789abcdef00",
                                      "0123456789abcdef0123456789abcdeg",  "0123456789abcdef:123456789abcdef"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        for (size_t j = 0; j < sizeof ids / sizeof ids[0]; j++) {
            (void)snprintf(line, sizeof line, "%s %s%s", verbs[i], ids[j], i == 1 ? "" : " 1000");
            OK(strstr(served_ask(line), "expected the 32 hexadecimal digits") != NULL, "%s is no id", line);
        }
}

static void test_changes(void)
{
    OK_STRING(ask_words("RULE", "APPLY",
                        "rules:\n- {id: x, service: f, rate: 5/m}\n- {id: y, service: f, rate: 6/m}\n", "NOTE",
                        "the first", NULL),
              "2", "two rules at once");
    OK_STRING(ask_words("RULE", "APPLY",
                        "rules:\n- {id: x, service: f, rate: 5/m}\n- {id: y, service: f, rate: 7/m}\n", NULL),
              "1", "of which one changes");
    OK(ask_words("RULE", "APPLY", "rules:\n- {id: z, service: f, rate: 5/m}\n- {id: y, service: f, rate: m}\n",
                 NULL)[0] == '!',
       "all or nothing: %s", served.told);
    OK_STRING(served_ask("RULE GET f z"), "(nil)", "nothing of it is there");
    OK_STRING(served_ask("RULE GET f y"), "'id: \"y\"\nservice: f\nalgorithm: token_bucket\nrate: 7/m\n'",
              "RULE GET");
    (void)served_ask("RULE LIST f");
    OK(served_told("[['service' 'f' 'id' 'x' ") &&
           served_told("['service' 'f' 'id' 'y' 'endpoint' '*' 'by' 'user'"),
       "RULE LIST");
    (void)served_ask("RULE LIST f AFTER f x");
    OK(served_told("[['service' 'f' 'id' 'y' "), "from a rule on");
    (void)served_ask("RULE HISTORY f y");
    OK(served_told("'version' 1 ") && served_told("'version' 2 ") && served_told("'note' 'the first'") &&
           served_told("rate: 6/m"),
       "RULE HISTORY");
    OK_STRING(served_ask("RULE ROLLBACK f y"), "1", "RULE ROLLBACK");
    OK(strstr(served_ask("RULE GET f y"), "rate: 6/m") != NULL, "the earlier one is in force");
    OK_STRING(served_ask("RULE ROLLBACK f y 9"), "!ERR version '9': expected a number from 1, the newest, to 3",
              "no such");
    OK_STRING(served_ask("RULE DEL f y"), "1", "RULE DEL");
    OK_STRING(served_ask("RULE DEL f y"), "0", "once");
    OK_STRING(served_ask("RULE GET f y"), "(nil)", "it is gone");
    (void)served_ask("RULE HISTORY");
    OK(served_told("[['version' 1 'service' 'f' 'id' 'y' ") && served_told("'deleted' 1"),
       "the history of all has it first");
    OK_STRING(served_ask("RULE ROLLBACK f y"), "1", "even that can be rolled back");
    OK_STRING(ask_words("RULE", "STAGE", "rules:\n- {id: s1, service: f, rate: 5/m}\n", NULL), "41",
              "a text in pieces");
    OK_STRING(ask_words("RULE", "STAGE", "- {id: s2, service: f, rate: 5/m}\n", NULL), "75", "and one more");
    OK_STRING(served_ask("RULE APPLY STAGED"), "2", "is applied whole");
    OK(served_ask("RULE APPLY STAGED")[0] == '!', "once");
    OK(ask_words("RULE", "SET", "id: [", NULL)[0] == '!', "nonsense is refused: %s", served.told);
}

/* More rules than an answer holds, sent in pieces: lists go on where they ended, and INFO stays within its bounds. */
static void test_many(void)
{
    enum { COUNT = 1000, PIECE = 200 };
    static char piece[PIECE * 160];
    char line[300] = "RULE LIST many";
    unsigned listed = 0, pages = 0;
    for (unsigned i = 0; i < COUNT;) {
        size_t size = (size_t)snprintf(piece, sizeof piece, "%s", i == 0 ? "rules:\n" : "");
        for (unsigned end = i + PIECE; i < end; i++)
            size += (size_t)snprintf(piece + size, sizeof piece - size,
                                     "- {id: a-rule-with-a-long-name-that-is-still-allowed-%04u, service: many, "
                                     "endpoint: /of/%04u, rate: 5/s}\n",
                                     i, i);
        (void)ask_words("RULE", "STAGE", piece, NULL);
    }
    OK_STRING(served_ask("RULE APPLY STAGED"), "1000", "1,000 rules in one change");
    OK(served.waited_steps > 5, "which take %u steps", served.waited_steps);
    for (const char *last = ""; last != NULL && pages < 100;) {
        (void)served_ask(line);
        last = NULL;
        for (const char *at = served.told; (at = strstr(at, "'id' '")) != NULL; at += 6) {
            last = at + 6;
            listed++;
        }
        if (last != NULL)
            (void)snprintf(line, sizeof line, "RULE LIST many AFTER many %.*s", (int)strcspn(last, "'"), last);
        pages++;
    }
    OK(listed == COUNT && pages > 3, "all are listed, on %u pages", pages);
    size_t size = strlen(served_ask("INFO"));
    OK(size > 8000 && served_told("rules_not_shown:"), "INFO has %zu bytes", size);
    OK(served_ask("RULE HISTORY")[0] == '[', "the last changes, as many as fit");
}

static void test_health(void)
{
    OK(set_rules("{id: h, service: g, rate: 100/s, burst: 1, adaptive: {floor: 10%}}"), "an adaptive rule");
    OK_STRING(served_ask("HEALTH g"), "'1'", "healthy");
    OK_STRING(served_ask("HEALTH g 0.5"), "+OK", "it is told to be half well");
    OK_STRING(served_ask("HEALTH g"), "'0.5'", "its scale");
    OK_STRING(served_ask("HEALTH gg 0.5"),
              "!ERR unknown service 'gg': no rule is about it, and RULE LIST names those that have some",
              "a service that has no rule is told so");
    OK_STRING(served_ask("HEALTH gg"),
              "!ERR unknown service 'gg': no rule is about it, and RULE LIST names those that have some",
              "... also where its scale is asked for");
    (void)served_ask("CHECK u SERVICE g");
    OK_STRING(served_ask("CHECK u SERVICE g"), "[0 1 0 20 20 'h']", "half the rate");
}

int main(void)
{
    served_open();
    test_config();
    test_algorithms();
    test_all_or_nothing();
    test_lists();
    test_nothing_admitted();
    test_giving_back();
    test_reservations();
    test_changes();
    test_health();
    test_many();
    served_close();
    return tap_done();
}
