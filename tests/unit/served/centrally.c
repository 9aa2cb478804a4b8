/*
 * Rules with sync: central, as clients see them: a node that is alone, and a store that the test plays: what waits,
 * what is charged where, what is given back, and what counts while the store is down.
 */
#include "commands/centrally.h"

#include "commands/patient.h"

#include "tests/lib/central_wire.h"
#include "tests/lib/served.h"

static struct output output;
static size_t consumed;

static enum serve_status serve(struct session *session, const char *text)
{
    return served_call(session, text, &output, &consumed);
}

static bool is_due(const struct session *session)
{
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    return commands_is_due(&served.commands, session, turn);
}

static const char rules[] =
    "rules:\n"
    "  - {id: calls, service: shop, by: user, rate: 10/m, burst: 10, sync: central}\n"
    "  - {id: logins, service: shop, by: ip, algorithm: fixed_window, limit: 5, window: 1h,\n"
    "     sync: central, when_down: closed}\n"
    "  - {id: codes, service: shop, by: phone, algorithm: fixed_window, limit: 5, window: 1h,\n"
    "     begins: first_request, sync: central}\n"
    "  - {id: views, service: shop, by: page, rate: 100/s, sync: central, when_down: open}\n"
    "  - {id: mail, service: shop, by: [mail, user], rate: 2/h}\n";

static void begin(void)
{
    served_plan(1024, 0);
    served.options.has_central = true;
    served_begin();
    test_wire_open(50 * SERVED_MS, served.now_ns);
    served.commands.central = test_wire.central;
    OK(set_rules(rules), "rules with sync: central are taken");
}

static void end(void)
{
    served_close();
    test_wire_close();
}

static void decisions(uint64_t *admitted, uint64_t *refused)
{
    struct node_stats stats;
    node_stats(served.node, &stats);
    *admitted = stats.admitted_requests;
    *refused = stats.refused_requests;
}

static void test_waits(void)
{
    uint64_t admitted, refused, admitted_before, refused_before;
    static const char words[] = "CHECK user=ann SERVICE shop\r\n";
    begin();
    decisions(&admitted_before, &refused_before);
    OK(serve(&served.session, words) == SERVE_WAIT && consumed == 0 && output.size == 0, "a request waits");
    const struct central_sent *sent = test_wire_last();
    OK(sent->way == CENTRAL_TAKE && sent->count == 1 && sent->charge[0].cost == 1 &&
           sent->charge[0].capacity == 10 && sent->charge[0].window_us == 0,
       "its charge is asked of the store");
    OK(!is_due(&served.session) && serve(&served.session, words) == SERVE_WAIT && test_wire_last() == sent,
       "once, however often it is served");
    test_wire_answer(sent, true, 7);
    OK(is_due(&served.session) && serve(&served.session, words) == SERVE_MORE,
       "it is served when that is answered");
    OK_STRING(served.reply, "*6\r\n:1\r\n:10\r\n:7\r\n:0\r\n:5000\r\n$5\r\ncalls\r\n", "with the store's figures");
    decisions(&admitted, &refused);
    OK(admitted == admitted_before + 1 && refused == refused_before, "and counted once");
    OK(serve(&served.session, words) == SERVE_WAIT, "another one");
    test_wire_answer(test_wire_last(), false, 0);
    OK(serve(&served.session, words) == SERVE_MORE && strstr(served.reply, "*6\r\n:0\r\n:10\r\n:0\r\n:2000\r\n"),
       "is refused by the store");
    decisions(&admitted, &refused);
    OK(admitted == admitted_before + 1 && refused == refused_before + 1, "and counted once");
    OK(serve(&served.session, "PEEK user=ann SERVICE shop\r\n") == SERVE_WAIT &&
           test_wire_last()->way == CENTRAL_PEEK,
       "who only looks waits, and takes nothing");
    test_wire_answer(test_wire_last(), true, 3);
    OK(serve(&served.session, "PEEK user=ann SERVICE shop\r\nPING\r\n") == SERVE_MORE &&
           strstr(served.reply, ":3\r\n") && strstr(served.reply, "+PONG"),
       "what comes behind is answered in order");
    OK(serve(&served.session, "CHECK ip=1.2.3.4 SERVICE shop COST 2\r\n") == SERVE_WAIT, "a window waits as well");
    OK(test_wire_last()->charge[0].window_us == UINT64_C(3600000000) && test_wire_last()->charge[0].cost == 2,
       "whose length the store is told");
    const struct key_id id = test_wire_last()->charge[0].id;
    OK(!test_wire_last()->charge[0].from_first, "and that it is one of the clock");
    test_wire_answer(test_wire_last(), true, 3);
    (void)serve(&served.session, "CHECK ip=1.2.3.4 SERVICE shop COST 2\r\n");
    served_wait_ms(3600 * 1000);
    (void)serve(&served.session, "CHECK ip=1.2.3.4 SERVICE shop COST 2\r\n");
    OK(key_id_equal(test_wire_last()->charge[0].id, id), "the store knows which window it is: the key is the same");
    end();
}

static void test_first_request(void)
{
    static const char words[] = "CHECK phone=7 SERVICE shop\r\n";
    begin();
    OK(serve(&served.session, words) == SERVE_WAIT, "a window that begins with the first request");
    OK(test_wire_last()->charge[0].from_first && test_wire_last()->charge[0].window_us == UINT64_C(3600000000),
       "is the store's, which is told so");
    const struct key_id id = test_wire_last()->charge[0].id;
    test_wire_answer(test_wire_last(), true, 3);
    OK(serve(&served.session, words) == SERVE_MORE, "it is answered");
    served_wait_ms(3600 * 1000);
    (void)serve(&served.session, words);
    OK(key_id_equal(test_wire_last()->charge[0].id, id), "its key is always the same");
    end();
}

/* One rule is the store's, and one this node's. */
static void test_mixed(void)
{
    static const char words[] = "CHECK user=ann mail=x SERVICE shop\r\n";
    begin();
    for (int i = 0; i < 2; i++) {
        OK(serve(&served.session, words) == SERVE_WAIT, "both allow");
        test_wire_answer(test_wire_last(), true, 5);
        OK(serve(&served.session, words) == SERVE_MORE && strstr(served.reply, "*6\r\n:1\r\n"), "it is admitted");
    }
    const uint32_t sent = test_wire.sent_count;
    OK(serve(&served.session, words) == SERVE_MORE && strstr(served.reply, "*6\r\n:0\r\n:2\r\n") &&
           strstr(served.reply, "mail"),
       "what this node refuses is refused at once");
    OK_U64(test_wire.sent_count, sent, "and the store is not asked");
    served_wait_ms(3600 * 1000);
    struct session other = {0};
    session_open(&other, &served.commands, 8, "127.0.0.1:50001");
    static const char two[] = "CHECK user=ann mail=x SERVICE shop COST 2\r\n";
    OK(serve(&served.session, two) == SERVE_WAIT, "one waits for the store");
    const struct central_sent first = *test_wire_last();
    OK(serve(&other, two) == SERVE_WAIT, "and another one");
    test_wire_answer(&first, true, 5);
    test_wire_answer(test_wire_last(), true, 3);
    OK(serve(&served.session, two) == SERVE_MORE && strstr(served.reply, "*6\r\n:1\r\n"),
       "the first gets both tokens");
    OK(serve(&other, two) == SERVE_MORE && strstr(served.reply, "*6\r\n:0\r\n"), "the second is refused here");
    OK(test_wire_last()->way == CENTRAL_RETURN && test_wire_last()->charge[0].cost == 2,
       "and what the store granted it is given back");
    session_close(&other, &served.commands);
    end();
}

/* Two rules are the store's: one call, all or nothing. */
static void test_both(void)
{
    static const char words[] = "CHECK user=ann ip=1.2.3.4 SERVICE shop VERBOSE\r\n";
    begin();
    OK(serve(&served.session, words) == SERVE_WAIT && test_wire_last()->count == 2,
       "two rules are asked about in one call");
    struct central_answer answer = {.count = 2};
    answer.figures[0] = (struct central_figures){.allowed = true, .remaining_tokens = 4, .reset_after_us = 1000};
    answer.figures[1] =
        (struct central_figures){.remaining_tokens = 0, .retry_after_us = 9000, .reset_after_us = 9000};
    central_answered(test_wire.central, test_wire_last()->ticket, &answer, served.now_ns);
    OK(serve(&served.session, words) == SERVE_MORE && strstr(served.reply, "*7\r\n:0\r\n") &&
           strstr(served.reply, ":9\r\n"),
       "the one that refuses decides");
    OK(strstr(served.reply, "calls") && strstr(served.reply, "logins"), "and each has its figures");
    end();
}

/* CAN_ACCESS, whose requests are known by how they are written where this node decides. */
static void test_access(void)
{
    static const char words[] = "*2\r\n$10\r\nCAN_ACCESS\r\n$3\r\nann\r\n";
    begin();
    OK(set_rules("rules:\n  - {id: all, by: user, rate: 10/m, sync: central}\n"), "a rule of the default service");
    for (int i = 0; i < 3; i++) {
        OK(serve(&served.session, words) == SERVE_WAIT && test_wire_last()->charge[0].cost == 1,
           "CAN_ACCESS waits");
        test_wire_answer(test_wire_last(), i < 2, 0);
        OK(serve(&served.session, words) == SERVE_MORE, "and is answered");
        OK_STRING(served.reply, i < 2 ? ":1\r\n" : ":0\r\n", "as the store says");
    }
    OK(serve(&served.session, "MULTI\r\nCAN_ACCESS ann\r\nPING\r\nEXEC\r\n") == SERVE_MORE &&
           strstr(served.reply, "*2\r\n-ERR rule 'all' of service 'default'") && strstr(served.reply, "+PONG"),
       "in a transaction an error answers it, and the rest goes on");
    end();
}

static void test_gone(void)
{
    begin();
    (void)serve(&served.session, "CHECK user=ann SERVICE shop\r\n");
    session_close(&served.session, &served.commands);
    const uint32_t sent = test_wire.sent_count;
    test_wire_answer(test_wire_last(), true, 5);
    OK(test_wire.sent_count == sent + 1 && test_wire_last()->way == CENTRAL_RETURN,
       "nobody who has gone is charged");
    end();
}

static void be_down(void)
{
    central_connected(test_wire.central, false);
}

static void test_down(void)
{
    begin();
    be_down();
    OK(serve(&served.session, "CHECK user=ann SERVICE shop\r\n") == SERVE_MORE &&
           strstr(served.reply, "*6\r\n:1\r\n:10\r\n:9\r\n"),
       "budget: this node counts its share");
    for (int i = 0; i < 9; i++)
        (void)serve(&served.session, "CHECK user=ann SERVICE shop\r\n");
    OK(serve(&served.session, "CHECK user=ann SERVICE shop\r\n") == SERVE_MORE &&
           strstr(served.reply, "*6\r\n:0\r\n:10\r\n:0\r\n"),
       "and no more than that");
    (void)serve(&served.session, "HELLO 3\r\n");
    OK(serve(&served.session, "CHECK ip=1.2.3.4 SERVICE shop\r\n") == SERVE_MORE &&
           strstr(served.reply, "central_down") && strstr(served.reply, ":1000\r\n"),
       "closed: nothing passes");
    OK(serve(&served.session, "CHECK page=a SERVICE shop COST 100\r\n") == SERVE_MORE && strstr(served.reply, "#t"),
       "open: everything does");
    OK(serve(&served.session, "CHECK page=a SERVICE shop COST 100\r\n") == SERVE_MORE && strstr(served.reply, "#t"),
       "whatever it asks for");
    OK_U64(served.commands.stats.central_without, 14, "such requests are counted");
    (void)serve(&served.session, "EXPLAIN ip=1.2.3.4 SERVICE shop\r\n");
    OK(strstr(served.reply, "the central store, which is down"), "EXPLAIN says so");
    served.commands.central = NULL;
    OK(serve(&served.session, "CHECK ip=1.2.3.4 SERVICE shop\r\n") == SERVE_MORE &&
           strstr(served.reply, "central_down"),
       "a daemon without a store goes by when_down, too");
    end();
}

/* As a worker does when another store answers. */
static void change_store(void)
{
    central_retire(served.commands.central);
    served.commands.central_before = served.commands.central;
    test_wire_open(50 * SERVED_MS, served.now_ns);
    served.commands.central = test_wire.central;
    served.commands.central_turn = !served.commands.central_turn;
}

static void test_another_store(void)
{
    static const char words[] = "CHECK user=ann SERVICE shop\r\n";
    static struct test_wire before, after; /* large */
    for (int round = 0; round < 2; round++) {
        struct session other = {0};
        begin();
        served.commands.central_turn = round == 1;
        session_open(&other, &served.commands, 9, "");
        (void)serve(&served.session, words);
        before = test_wire;
        const struct central_sent asked = *test_wire_last();
        change_store();
        OK(!is_due(&served.session), "a request waits for the store that it asked");
        (void)serve(&other, words);
        OK_U64(test_wire.sent_count, 2, "the next one asks the other store");
        test_wire_answer(test_wire_last(), true, 9);
        OK(serve(&other, words) == SERVE_MORE && strstr(served.reply, "*6\r\n:1\r\n"), "and is decided by it");
        after = test_wire;
        test_wire = before;
        test_wire_answer(&asked, true, 3);
        OK(is_due(&served.session) && serve(&served.session, words) == SERVE_MORE &&
               strstr(served.reply, "*6\r\n:1\r\n:10\r\n:3\r\n"),
           "the first by the store before");
        OK(central_is_idle(test_wire.central), "where nothing is left");
        before = test_wire;
        test_wire = after;
        (void)serve(&served.session, words);
        OK_U64(test_wire.sent_count, 3, "whoever was there asks the other one, too");
        patient_stop(&served.commands);
        session_close(&other, &served.commands);
        served.commands.central_before = NULL;
        central_destroy(&before.central);
        end();
    }
}

static void test_deadline(void)
{
    static const char words[] = "CHECK page=a SERVICE shop\r\n", closed[] = "CHECK ip=1.2.3.4 SERVICE shop\r\n";
    begin();
    (void)serve(&served.session, words);
    served_wait_ms(50);
    (void)central_expire(test_wire.central, served.now_ns);
    OK(is_due(&served.session) && serve(&served.session, words) == SERVE_MORE &&
           strstr(served.reply, "*6\r\n:1\r\n"),
       "at its deadline a request goes by when_down");
    const uint32_t sent = test_wire.sent_count;
    test_wire_answer(test_wire_last(), true, 5);
    OK_U64(test_wire.sent_count, sent, "what was let through has taken the late grant");
    (void)serve(&served.session, closed);
    served_wait_ms(50);
    (void)central_expire(test_wire.central, served.now_ns);
    OK(serve(&served.session, closed) == SERVE_MORE && strstr(served.reply, "*6\r\n:0\r\n"), "what was not");
    test_wire_answer(test_wire_last(), true, 5);
    OK(test_wire_last()->way == CENTRAL_RETURN, "gives it back");
    end();
}

/* A hot key: who waits for the call of another request waits no longer than that. */
static void test_deadline_of_another(void)
{
    static const char words[] = "CHECK page=hot SERVICE shop\r\n", full[] = "*6\r\n:1\r\n";
    struct session other = {0};
    begin();
    session_open(&other, &served.commands, 8, "127.0.0.1:50001");
    for (uint32_t i = 0; i < LEASE_HOT - 1; i++) {
        (void)serve(&served.session, words);
        test_wire_answer(test_wire_last(), true, 50);
        OK(serve(&served.session, words) == SERVE_MORE, "a key becomes hot");
    }
    (void)serve(&served.session, words);
    const uint32_t sent = test_wire.sent_count;
    OK(serve(&other, words) == SERVE_WAIT && test_wire.sent_count == sent, "one waits for the call of another");
    served_wait_ms(50);
    (void)central_expire(test_wire.central, served.now_ns);
    OK(is_due(&served.session) && serve(&served.session, words) == SERVE_MORE && strstr(served.reply, full),
       "at the deadline of the call");
    OK(is_due(&other) && serve(&other, words) == SERVE_MORE && strstr(served.reply, full), "both go by when_down");
    OK_U64(test_wire.sent_count, sent, "and nobody asks again");
    OK_U64(central_stats(test_wire.central)->waiting, 0, "or waits");
    session_close(&other, &served.commands);
    end();
}

static void test_never_waits(void)
{
    static const char expected[] = "ERR rule 'calls' of service 'shop' is decided by the central store, for which ";
    static const char *const words[] = {"RESERVE user=ann SERVICE shop TTL 1000\r\n",
                                        "REFUND user=ann SERVICE shop\r\n", "RESET user=ann SERVICE shop\r\n",
                                        "CHECK user=ann SERVICE shop COST 3 DRAIN\r\n",
                                        "MULTI\r\nCHECK user=ann SERVICE shop\r\nEXEC\r\n"};
    begin();
    const uint32_t sent = test_wire.sent_count;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        OK(serve(&served.session, words[i]) == SERVE_MORE && strstr(served.reply, expected), "%.5s says why not",
           words[i]);
    }
    OK_U64(test_wire.sent_count, sent, "nothing was asked");
    end();
}

/* Rules that change while a request waits. */
static void test_changes(void)
{
    static const char words[] = "CHECK user=ann SERVICE shop\r\n";
    begin();
    (void)serve(&served.session, words);
    const struct central_sent first = *test_wire_last();
    OK(set_rules("rules:\n  - {id: calls, service: shop, by: user, rate: 30/m, burst: 30, sync: central}\n"),
       "the rule gets another amount");
    test_wire_answer(&first, true, 5);
    OK(serve(&served.session, words) == SERVE_WAIT && test_wire_last()->charge[0].capacity == 30,
       "what waits is asked anew");
    OK(test_wire.sent[test_wire.sent_count - 2].way == CENTRAL_RETURN, "and what was granted is given back");
    test_wire_answer(test_wire_last(), true, 29);
    OK(set_rules("rules:\n  - {id: calls, service: shop, by: user, rate: 30/m, burst: 30}\n"),
       "it is central no more");
    OK(serve(&served.session, words) == SERVE_MORE && strstr(served.reply, "*6\r\n:1\r\n:30\r\n:29\r\n"),
       "this node decides");
    OK(test_wire_last()->way == CENTRAL_RETURN, "and gives back");
    end();
}

static void test_refused_rules(void)
{
    static const struct {
        const char *rule, *told;
    } cases[] = {
        {"{id: a, by: user, algorithm: quota, limit: 5, window: day, sync: central}",
         "sync is 'central': expected gossip or budget, since a central store counts token_bucket"},
        {"{id: a, by: user, rate: 5/s, sync: central, mode: shadow}", "what a central store decides is enforced"},
        {"{id: a, by: user, rate: 5/s, sync: central, overshoot: 1}",
         "overshoot makes no sense with sync: central"},
        {"{id: a, by: user, rate: 5/s, sync: central, patience: 50ms}",
         "patience makes no sense with sync: central"},
        {"{id: a, by: user, rate: 5/s, sync: central, on_isolation: open}", "on_isolation makes no sense"},
        {"{id: a, by: user, rate: 5/s, when_down: open}", "when_down makes no sense without sync: central"},
        {"{id: a, by: user, rate: 5/s, sync: central, inherit: proportional}", "expected keep or reset"},
        {"{id: a, by: user, rate: 999983/d, burst: 9999999967, sync: central}", "which has 53 bits"},
    };
    char text[512];
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(text, sizeof text, "rules:\n  - %s\n", cases[i].rule);
        OK(!set_rules(text) && served_told(cases[i].told), "%s: %s", cases[i].rule, cases[i].told);
    }
    end();
    served_open();
    OK(!set_rules("rules:\n  - {id: a, by: user, rate: 5/s, sync: central}\n") &&
           served_told("since the config has no central store"),
       "without a central store in the config there is no such rule");
    served_close();
}

int main(void)
{
    test_waits();
    test_first_request();
    test_mixed();
    test_both();
    test_access();
    test_gone();
    test_down();
    test_another_store();
    test_deadline();
    test_deadline_of_another();
    test_never_waits();
    test_changes();
    test_refused_rules();
    return tap_done();
}
