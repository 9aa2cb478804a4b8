/*
 * Requests that wait for their share, as clients see them: one node of two, whose other half is never heard from, so
 * that only refill brings rights. 50 of 100 tokens are its own, and 50 come back in a second.
 */
#include "tests/lib/served.h"

#define ACCESS(key) "*2\r\n$10\r\nCAN_ACCESS\r\n$1\r\n" key "\r\n"

static struct output output;
static size_t consumed;

static enum serve_status serve(struct session *session, const char *text)
{
    return served_call(session, text, &output, &consumed);
}

static bool is_due(const struct session *session)
{
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    waiting_begin_round(&served.commands.waiting);
    return commands_is_due(&served.commands, session, turn);
}

/* As the listener does, a millisecond at a time. Returns how many milliseconds that took. */
static uint32_t until_answered(struct session *session, const char *text)
{
    uint32_t waited_ms = 0;
    for (enum serve_status status = SERVE_WAIT; status == SERVE_WAIT && waited_ms < 10000; waited_ms++) {
        served_wait_ms(1);
        if (is_due(session))
            status = serve(session, text);
    }
    return waited_ms;
}

static void begin(uint16_t patience_ms)
{
    served_plan(1024, 1);
    served.limits.named.limit[1].patience_ms = patience_ms;
    served_begin();
}

/* Takes all that the node may admit of the key at once. Returns how much that was. */
static uint32_t use_up(const char *key)
{
    char line[64];
    uint32_t taken = 0;
    (void)snprintf(line, sizeof line, "CAN_ACCESS %s 1 PATIENCE 0", key);
    while (strcmp(served_ask(line), "1") == 0)
        taken++;
    return taken;
}

static uint64_t tokens_used(const char *key)
{
    struct node_stats stats;
    (void)key;
    node_stats(served.node, &stats);
    return stats.admitted_tokens;
}

static void test_waits(void)
{
    begin(100);
    const uint32_t share = use_up("a");
    OK(share > 20 && share < 60, "a share is used up: %u", share);
    const uint64_t used = tokens_used("a"), processed = served.commands.stats.total_commands_processed;
    OK(serve(&served.session, ACCESS("a")) == SERVE_WAIT && consumed == 0 && output.size == 0,
       "a request that only the share refuses is not answered");
    OK(commands_holds(&served.session) && served.commands.stats.patience_waiting == 1, "but waits");
    OK_U64(tokens_used("a"), used, "without being charged");
    const uint32_t waited_ms = until_answered(&served.session, ACCESS("a"));
    OK_STRING(served.reply, ":1\r\n", "until a token has come back");
    OK(waited_ms >= 2 && waited_ms <= 45, "which is soon: %u ms", waited_ms);
    OK_U64(tokens_used("a"), used + 1, "and is charged once");
    OK(!commands_holds(&served.session) && served.commands.stats.patience_waiting == 0 &&
           served.commands.stats.patience_admitted == 1,
       "it waits no more");
    OK_U64(served.commands.stats.total_commands_processed, processed + 1, "and counts as one command");
    OK(serve(&served.session, ACCESS("a") "PING\r\n" ACCESS("b")) == SERVE_WAIT && consumed == 0,
       "what was sent behind it waits as well");
    (void)until_answered(&served.session, ACCESS("a") "PING\r\n" ACCESS("b"));
    OK_STRING(served.reply, ":1\r\n+PONG\r\n:1\r\n", "and is answered in order");
    served_close();
}

static void test_deadline(void)
{
    struct node_stats before, after;
    begin(5);
    (void)use_up("a");
    node_stats(served.node, &before);
    OK(serve(&served.session, "PING\r\nCAN_ACCESS a 40\r\n") == SERVE_WAIT && consumed == 6,
       "what was asked before is answered");
    OK_STRING(served.reply, "+PONG\r\n", "at once");
    node_stats(served.node, &after);
    OK_U64(after.refused_requests, before.refused_requests, "the node has refused nothing yet");
    const uint32_t waited_ms = until_answered(&served.session, "CAN_ACCESS a 40\r\n");
    OK_STRING(served.reply, ":0\r\n", "at the deadline it is refused");
    OK_U64(waited_ms, 5, "and not before");
    node_stats(served.node, &after);
    OK_U64(after.refused_requests, before.refused_requests + 1, "which counts once");
    OK_U64(served.commands.stats.patience_refused, 1, "and has a count of its own");
    served_close();
}

static void test_at_once(void)
{
    begin(100);
    (void)use_up("a");
    OK(serve(&served.session, "CAN_ACCESS a 1 PATIENCE 0\r\n") == SERVE_MORE, "who says PATIENCE 0 does not wait");
    OK_STRING(served.reply, ":0\r\n", "but is refused");
    OK(serve(&served.session, "CAN_ACCESS a 101\r\n") == SERVE_MORE, "what can never be is refused at once");
    OK(serve(&served.session, "PEEK a\r\n") == SERVE_MORE, "who only looks does not wait");
    OK(serve(&served.session, "MULTI\r\nCAN_ACCESS a\r\nEXEC\r\n") == SERVE_MORE &&
           strstr(served.reply, "*1\r\n:0"),
       "nor does a transaction");
    OK_U64(served.commands.stats.patience_waiting, 0, "nobody waits");
    served_close();
    begin(0);
    (void)use_up("a");
    OK(serve(&served.session, ACCESS("a")) == SERVE_MORE, "without a patience of the limit nobody waits");
    OK(serve(&served.session, "CHECK a PATIENCE 80\r\n") == SERVE_WAIT, "but who says so");
    OK(until_answered(&served.session, "CHECK a PATIENCE 80\r\n") < 45 && strstr(served.reply, ":1\r\n"),
       "and is admitted");
    served_close();
}

/* A large request is not starved by small ones that come later. */
static void test_order(void)
{
    struct session second = {0}, third = {0};
    begin(1000);
    session_open(&second, &served.commands, 8, "127.0.0.1:50001");
    session_open(&third, &served.commands, 9, "127.0.0.1:50002");
    (void)use_up("a");
    OK(serve(&served.session, "CAN_ACCESS a 10\r\n") == SERVE_WAIT, "a large request waits");
    served_wait_ms(60);
    OK(serve(&second, ACCESS("a")) == SERVE_WAIT, "a small one behind it, though there are tokens for it");
    OK(!is_due(&second), "whose turn comes later");
    OK(serve(&third, ACCESS("b")) == SERVE_MORE, "another key does not wait");
    (void)until_answered(&served.session, "CAN_ACCESS a 10\r\n");
    OK_STRING(served.reply, ":1\r\n", "the large one is admitted");
    (void)until_answered(&second, ACCESS("a"));
    OK_STRING(served.reply, ":1\r\n", "and then the small one");
    served_close();
}

/* The whole limit has nothing left for those that come after all that wait. */
static void test_no_more_than_is_left(void)
{
    struct session many[8] = {{0}};
    uint32_t waiting = 0;
    begin(1000);
    const uint32_t share = use_up("a"), left = 100 - share;
    for (uint32_t i = 0; i < 8; i++) {
        session_open(&many[i], &served.commands, 8 + i, "127.0.0.1:50001");
        waiting += serve(&many[i], "CAN_ACCESS a 15\r\n") == SERVE_WAIT;
    }
    OK_U64(waiting, left / 15, "as many wait as the whole limit would admit");
    served_close();
}

static void test_goes(void)
{
    struct session second = {0};
    begin(1000);
    session_open(&second, &served.commands, 8, "127.0.0.1:50001");
    (void)use_up("a");
    const uint64_t used = tokens_used("a");
    OK(serve(&served.session, "CAN_ACCESS a 10\r\n") == SERVE_WAIT && serve(&second, ACCESS("a")) == SERVE_WAIT,
       "two wait");
    session_close(&served.session, &served.commands);
    OK_U64(served.commands.stats.patience_waiting, 1, "one goes");
    OK(until_answered(&second, ACCESS("a")) < 45, "the other one is the first now");
    OK_U64(tokens_used("a"), used + 1, "who has gone is not charged");
    OK(serve(&second, ACCESS("a")) == SERVE_WAIT, "a third waits");
    served.commands.waiting.ends = true;
    OK(is_due(&second) && serve(&second, ACCESS("a")) == SERVE_MORE, "when the daemon stops it is answered");
    OK_STRING(served.reply, ":0\r\n", "as without patience");
    OK(serve(&second, ACCESS("a")) == SERVE_MORE, "and nobody waits from then on");
    served_close();
}

static uint64_t reservations(void)
{
    struct node_stats stats;
    node_stats(served.node, &stats);
    return stats.open_reservations;
}

/* A reservation waits as any request does, and holds nothing until it is admitted. */
static void test_reserve(void)
{
    begin(100);
    (void)use_up("a");
    const uint64_t used = tokens_used("a");
    OK(serve(&served.session, "RESERVE a TTL 60000\r\n") == SERVE_WAIT && output.size == 0,
       "a reservation that only the share refuses waits");
    OK(tokens_used("a") == used && reservations() == 0, "without being charged, and without a place");
    OK(until_answered(&served.session, "RESERVE a TTL 60000\r\n") < 45 && strstr(served.reply, ":1\r\n"),
       "until a token has come back");
    OK(tokens_used("a") == used + 1 && reservations() == 1, "and is made once");
    const char *id = strstr(served.reply, "$32\r\n");
    char cancel[64];
    (void)snprintf(cancel, sizeof cancel, "CANCEL %.32s\r\n", id == NULL ? "" : id + 5);
    OK(serve(&served.session, cancel) == SERVE_MORE && strcmp(served.reply, ":1\r\n") == 0, "under its name");
    (void)use_up("a");
    OK(serve(&served.session, "RESERVE a TTL 60000 PATIENCE 5\r\n") == SERVE_WAIT, "one with less patience waits");
    (void)until_answered(&served.session, "RESERVE a TTL 60000 PATIENCE 5\r\n");
    (void)use_up("a");
    OK(serve(&served.session, "RESERVE a TTL 60000 PATIENCE 0\r\n") == SERVE_MORE &&
           strstr(served.reply, "$-1\r\n"),
       "who says PATIENCE 0 does not wait");
    OK(serve(&served.session, "RESERVE a TTL 60000 COST 60\r\n") == SERVE_MORE,
       "nor does what the share never admits");
    OK(serve(&served.session, "MULTI\r\nRESERVE a TTL 60000\r\nEXEC\r\n") == SERVE_MORE &&
           strstr(served.reply, "$-1\r\n"),
       "nor does a transaction");
    served_close();
}

static void test_full(void)
{
    static struct session many[WAITING_MAX + 1];
    uint32_t waiting = 0;
    served_plan(4096, 1);
    served.limits.named.limit[1].patience_ms = 1000;
    served_begin();
    for (uint32_t i = 0; i <= WAITING_MAX; i++) {
        char line[32];
        session_open(&many[i], &served.commands, 8 + i, "127.0.0.1:50001");
        (void)snprintf(line, sizeof line, "CAN_ACCESS k%u 30\r\n", i);
        (void)serve(&many[i], line);
        waiting += serve(&many[i], line) == SERVE_WAIT;
    }
    OK_U64(waiting, WAITING_MAX, "so many wait in one thread");
    OK_U64(served.commands.stats.patience_crowded, 1, "one more is refused at once, and counted");
    served_close();
}

int main(void)
{
    test_waits();
    test_deadline();
    test_at_once();
    test_order();
    test_no_more_than_is_left();
    test_goes();
    test_reserve();
    test_full();
    return tap_done();
}
