/*
 * Rules of the mode soft: what is over their limit is allowed, and clients and operators are told.
 */
#include "tests/lib/served.h"

static void begin(void)
{
    served_open();
    OK(set_rules("rules:\n"
                 "- {id: all, service: s, by: user, rate: 1/m, burst: 1}\n"
                 "- {id: orders, service: s, endpoint: /o/*, by: user, rate: 2/m, burst: 2, mode: soft}\n"
                 "- {id: listed, service: d, by: user, rate: 9/m, mode: soft, deny: [eve]}\n"
                 "- {id: mine, by: user, rate: 2/m, burst: 2, mode: soft}\n"),
       "rules");
}

static void test_over(void)
{
    begin();
    OK_STRING(served_ask("CHECK u SERVICE s ENDPOINT /o/1"), "[1 2 1 0 30000 'orders']", "within a soft limit");
    OK_STRING(served_ask("CHECK u SERVICE s ENDPOINT /o/1"), "[1 2 0 0 60000 'orders']",
              "where a stricter rule that is less specific would deny: a soft rule hides it");
    OK_STRING(served_ask("CHECK u SERVICE s ENDPOINT /o/1"), "[1 2 0 0 60000 'orders']",
              "over it: allowed, nothing is charged, and nobody has to wait");
    (void)served_ask("CHECK u SERVICE s ENDPOINT /o/1 VERBOSE");
    OK(served_told("'mode' 'soft' 'why' 'rule' 'canary' 0 'allowed' 0 'limit' 2 'remaining' 0 'available_now' 0 "
                   "'retry_after_ms' 30000"),
       "VERBOSE says what the rule said");
    OK_STRING(served_ask("CHECK u SERVICE s"), "[1 1 0 0 60000 'all']", "other requests have their own rule");
    OK_STRING(served_ask("CHECK u SERVICE s"), "[0 1 0 60000 60000 'all']", "which denies");
    OK_STRING(served_ask("CHECK eve SERVICE d"), "[1 0 0 0 0 'listed']", "its deny list denies nobody");
    (void)served_ask("INFO rules");
    OK(served_told("rule_s/orders:allowed=4,denied=0,shadow_denied=0,over_limit=2\r\n"),
       "what was over is counted");
    OK(served_told("rule_d/listed:allowed=1,denied=0,shadow_denied=0,over_limit=1\r\n"), "who is listed too");
    (void)served_ask("EXPLAIN u SERVICE s ENDPOINT /o/1");
    OK(served_told("under rule orders of s: ") && served_told(", soft; amount of the rule\n") &&
           served_told("one more now      refused ("),
       "EXPLAIN has the reason");
    (void)served_ask("EXPLAIN u SERVICE s ENDPOINT /x");
    OK(served_told("rule orders of s, endpoint /o/* (soft): refused"), "and calls it soft elsewhere");
    served_close();
}

/* The answer in RESP3, with blanks for the ends of lines. */
static const char *ask_named(const char *line)
{
    char text[256];
    size_t consumed;
    struct output output = output_over(served.reply, sizeof served.reply - 1);
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    const int size = snprintf(text, sizeof text, "%s\n", line);
    served.session.protocol = 3;
    (void)commands_serve(&served.commands, &served.session, (struct bytes){text, (size_t)size}, &output, turn,
                         &consumed);
    for (size_t i = 0; i < output.size; i++)
        if (served.reply[i] == '\r' || served.reply[i] == '\n')
            served.reply[i] = ' ';
    served.reply[output.size] = '\0';
    return served.reply;
}

#define NAMED(fields, figures, more)                                                                               \
    fields                                                                                                         \
        "  $7  allowed  #t  $5  limit  :2  $9  remaining  :0  $13  available_now  :0  $14  retry_after_ms  :0  "   \
        "$14  reset_after_ms  " figures "  " more "$4  rule  $4  mine  "

static void test_named(void)
{
    begin();
    OK_STRING(ask_named("CHECK u COST 2"), NAMED("%7", ":60000", ""), "RESP3: within the limit nothing is said");
    OK_STRING(ask_named("CHECK u"), NAMED("%8", ":60000", "$10  over_limit  #t  "), "over it a further name is");
    OK_STRING(ask_named("CHECK u WAIT"), NAMED("%9", ":60000", "$10  over_limit  #t  ") "$7  hold_ms  :0  ",
              "also with an option");
    OK(strstr(ask_named("CHECK eve SERVICE d"), "$10  over_limit  #t  $4  rule  $6  listed  ") != NULL,
       "and to one of a deny list: %s", served.reply);
    (void)ask_named("CHECK u SERVICE s");
    OK(strstr(ask_named("CHECK u SERVICE s"), "$6  reason  $8  capacity  $4  rule  $3  all  ") != NULL,
       "a refusal has its reason: %s", served.reply);
    OK_STRING(ask_named("CAN_ACCESS u"), ":1  ", "CAN_ACCESS is allowed; the limits of the config do not count");
    served_close();
}

static void test_narrowest(void)
{
    served_open();
    OK(set_rules("rules:\n"
                 "- {id: soft, service: s, by: user, rate: 3/m, burst: 3, mode: soft}\n"
                 "- {id: hard, service: s, by: user, rate: 4/m, burst: 4}\n"),
       "a soft rule below an enforced one");
    OK_STRING(served_ask("CHECK u SERVICE s"), "[1 3 2 0 20000 'soft']", "the soft one is nearest to its limit");
    OK_STRING(served_ask("CHECK u COST 3 SERVICE s"), "[1 3 2 0 20000 'soft']", "and is told where it is over");
    OK_STRING(served_ask("CHECK u SERVICE s"), "[0 4 0 15000 60000 'hard']",
              "where another one denies, that one is told");
    served_close();
}

/* Rules that never deny took nothing where they were over: they do not say how much came back. */
static void test_refunds(void)
{
    served_open();
    OK(set_rules("rules:\n"
                 "- {id: hard, service: s, by: user, rate: 9/m, burst: 9}\n"
                 "- {id: soft, service: s, by: user, rate: 1/m, burst: 1, mode: soft}\n"
                 "- {id: shade, service: s, by: user, rate: 1/m, burst: 1, mode: shadow}\n"
                 "- {id: grace, service: g, by: user, rate: 2/m, burst: 2, mode: soft}\n"),
       "a rule beside a soft and a shadow one, and a soft one alone");
    (void)served_ask("CHECK u COST 4 SERVICE s");
    OK_STRING(served_ask("REFUND u COST 4 SERVICE s"), "4", "what was charged comes back, and is told");
    OK_STRING(served_ask("REFUND u COST 4 SERVICE s"), "0", "once");
    (void)served_ask("CHECK u COST 3 SERVICE g");
    OK_STRING(served_ask("REFUND u COST 3 SERVICE g"), "0",
              "a soft rule alone gives back nothing of what it did not take");
    (void)served_ask("CHECK u COST 2 SERVICE g");
    OK_STRING(served_ask("REFUND u COST 3 SERVICE g"), "2", "and all that it took");
    served_close();
}

int main(void)
{
    test_over();
    test_refunds();
    test_named();
    test_narrowest();
    return tap_done();
}
