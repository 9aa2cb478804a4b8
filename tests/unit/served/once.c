/*
 * CHECK with IDEMPOTENCY_KEY: a request that comes again is charged once and answered as before.
 * tests/unit/http/once.c has requests that come again over HTTP.
 */
#include "commands/replay.h"
#include "tests/lib/served.h"

static struct replays *replays;
static char first[sizeof served.reply > SERVED_TEXT_BYTES ? sizeof served.reply : SERVED_TEXT_BYTES];

static struct output output;
static size_t consumed;

static enum serve_status serve(const char *text)
{
    return served_call(&served.session, text, &output, &consumed);
}

static void begin(void)
{
    served_open();
    replays = replays_create(&served.commands.hash_key);
    assert(replays != NULL);
    served.commands.replays = replays;
}

static void end(void)
{
    served_close();
    replays_destroy(&replays);
}

static bool says(const char *line, const char *expected)
{
    const bool good = strcmp(served_ask(line), expected) == 0;
    if (!good)
        printf("# %s: %s\n", line, served.told);
    return good;
}

static uint64_t left(const char *key)
{
    char line[64];
    (void)snprintf(line, sizeof line, "PEEK %s RULE slow", key);
    return strtoull(served_ask(line) + sizeof "[1 5", NULL, 10);
}

#define ANN "CHECK user=ann RULE slow COST 2 IDEMPOTENCY_KEY "

static void test_again(void)
{
    begin();
    OK(says(ANN "k1", "[1 5 3 0 120000 'slow']"), "a check with a key is answered as any other");
    served_wait_ms(1000);
    for (int i = 0; i < 3; i++)
        OK(says(ANN "k1", "[1 5 3 0 120000 'slow']"), "comes again, and has the answer that it had");
    OK(says("check ann IDEMPOTENCY_KEY k1 cost 2 rule slow", "[1 5 3 0 120000 'slow']"),
       "the same request may be written otherwise");
    OK_U64(left("ann"), 3, "all of that was charged once");
    OK(strncmp(served_ask(ANN "k2"), "[1 5 1 0 ", 9) == 0, "another key is another request");
    (void)snprintf(first, sizeof first, "%s", served.told);
    OK(strncmp(served_ask(ANN "k3"), "[0 5 1 ", 7) == 0, "which may be refused");
    served_wait_ms(60000);
    OK(strncmp(served_ask(ANN "k3"), "[1 5 0 0 ", 9) == 0, "and is decided anew, since it was charged nothing");
    OK(says(ANN "k2", first), "what was allowed is remembered");
    served_wait_ms(600000);
    OK(strncmp(served_ask(ANN "k2"), "[1 5 3 0 ", 9) == 0, "for ten minutes");
    OK_U64(served.commands.stats.replayed_answers, 5, "INFO counts what was answered again");
    OK(says("CHECK nobody=1 IDEMPOTENCY_KEY none", "[1 100 99 0 10 'default']"), "of another limit");
    end();
}

/* Serves the same line twice. True: both answers are the same, and have that name. */
static bool repeats(const char *line, const char *name)
{
    (void)serve(line);
    (void)snprintf(first, sizeof first, "%s", served.reply);
    (void)serve(line);
    return strstr(first, name) != NULL && strcmp(served.reply, first) == 0;
}

static void test_map(void)
{
    begin();
    OK(set_rules("{id: lenient, service: s, by: user, rate: 1/m, burst: 1, mode: soft}"), "a soft rule");
    served.session.protocol = 3;
    OK(repeats(ANN "k\r\n", "available_now"), "a map has all its names again");
    OK(repeats("CHECK bob SERVICE s IDEMPOTENCY_KEY k4\r\n", "lenient"), "within a soft limit");
    OK(repeats("CHECK bob SERVICE s IDEMPOTENCY_KEY k5\r\n", "over_limit"), "and over it");
    end();
}

static void test_other(void)
{
    static const char other[] =
        "!ERR IDEMPOTENCY_KEY was used for another request: expected a key of its own for each request";
    begin();
    (void)served_ask(ANN "k");
    OK(says("CHECK user=ann RULE slow COST 1 IDEMPOTENCY_KEY k", other), "a key with another cost is refused");
    OK(says("CHECK user=bob RULE slow COST 2 IDEMPOTENCY_KEY k", other), "with another client");
    OK(says("CHECK user=ann COST 2 IDEMPOTENCY_KEY k", other), "with another limit");
    OK(says("CHECK user=ann RULE slow COST 2 PRIORITY high IDEMPOTENCY_KEY k", other), "with another priority");
    OK(says(ANN "k VERBOSE", "!ERR VERBOSE with IDEMPOTENCY_KEY: expected one of the two"),
       "a key does not stand for what each rule said");
    OK(says(ANN "k WAIT", "!ERR WAIT with IDEMPOTENCY_KEY: expected one of the two"), "for how long to wait");
    OK(says(ANN "k DRAIN", "!ERR DRAIN with IDEMPOTENCY_KEY: expected one of the two"), "or how much was taken");
    OK(says(ANN "\"\"",
            "!ERR IDEMPOTENCY_KEY of 0 bytes: expected 1 to 128 bytes of ASCII without blanks at its ends"),
       "an empty key");
    OK(says(ANN "\" k\"",
            "!ERR IDEMPOTENCY_KEY of 2 bytes: expected 1 to 128 bytes of ASCII without blanks at its ends"),
       "a blank at its end");
    OK(says(ANN "k IDEMPOTENCY_KEY l", "!ERR IDEMPOTENCY_KEY twice: expected it once"), "two keys");
    OK(strstr(served_ask("PEEK ann IDEMPOTENCY_KEY k"), "!ERR unknown option 'IDEMPOTENCY_KEY'") == served.told,
       "a PEEK needs none");
    OK(strstr(served_ask("CHECK ann SERVICE none IDEMPOTENCY_KEY k"), "!ERR unknown service") == served.told,
       "an unknown service");
    OK_U64(left("ann"), 3, "nothing of that is charged");
    end();
}

/* The same pipeline as without keys: in order, each behind what came before it, and in a transaction. */
static void test_order(void)
{
    begin();
    OK_STRING(
        served_send(bytes_of("CHECK a RULE slow\r\n" ANN "k\r\n" ANN "k\r\nCHECK ann RULE slow\r\nPING\r\n")),
        "[1 5 4 0 60000 'slow'] [1 5 3 0 120000 'slow'] [1 5 3 0 120000 'slow'] [1 5 2 0 180000 'slow'] +PONG",
        "a pipeline");
    OK_STRING(served_send(bytes_of("MULTI\r\n" ANN "k\r\n" ANN "m\r\nEXEC\r\n")),
              "+OK +QUEUED +QUEUED [[1 5 3 0 120000 'slow'] [1 5 0 0 300000 'slow']]", "a transaction");
    OK_U64(left("ann"), 0, "is charged once for each key");
    end();
}

static void test_users(void)
{
    struct user ann = {.name = "ann", .roles = ROLE_CHECK}, bob = {.name = "bob", .roles = ROLE_CHECK};
    begin();
    served.session.user = &ann;
    (void)served_ask(ANN "k");
    served.session.user = &bob;
    OK(strncmp(served_ask(ANN "k"), "[1 5 1 0 ", 9) == 0, "each user has keys of its own");
    served.session.user = &ann;
    OK(says(ANN "k", "[1 5 3 0 120000 'slow']"), "and keeps them");
    OK(strncmp(served_ask("CHECK user=ann RULE slow COST 1 IDEMPOTENCY_KEY l"), "[1 5 0 0 ", 9) == 0, "as many");
    end();
}

/* ---- requests that wait ---- */

static uint64_t admitted(void)
{
    struct node_stats stats;
    node_stats(served.node, &stats);
    return stats.admitted_tokens;
}

static void test_waits(void)
{
    static const char request[] = "CHECK a PATIENCE 100 IDEMPOTENCY_KEY k\r\n", behind[] = "PING\r\n";
    char both[128];
    served_plan(1024, 1);
    served_begin();
    replays = replays_create(&served.commands.hash_key);
    assert(replays != NULL);
    served.commands.replays = replays;
    (void)snprintf(both, sizeof both, "%s%s", request, behind);
    while (strcmp(served_ask("CAN_ACCESS a"), "1") == 0)
        ;
    const uint64_t used = admitted(), processed = served.commands.stats.total_commands_processed;
    OK(serve(both) == SERVE_WAIT && consumed == 0 && output.size == 0 && commands_holds(&served.session),
       "a request with a key waits for its share as others do");
    OK_U64(admitted(), used, "uncharged");
    enum serve_status status = SERVE_WAIT;
    for (int i = 0; i < 1000 && status == SERVE_WAIT; i++) {
        served_wait_ms(1);
        waiting_begin_round(&served.commands.waiting);
        if (commands_is_due(&served.commands, &served.session,
                            (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns}))
            status = serve(both);
    }
    OK(consumed == strlen(both) && strstr(served.reply, "*6\r\n:1\r\n") == served.reply &&
           strstr(served.reply, "+PONG\r\n") != NULL,
       "until it is admitted, and what is behind it is answered then");
    OK(serve(request) == SERVE_MORE && strstr(served.reply, "*6\r\n:1\r\n") == served.reply, "it comes again");
    OK_U64(admitted(), used + 1, "and was charged once");
    OK_U64(served.commands.stats.total_commands_processed, processed + 3, "three commands");
    end();
}

/* A table with what another one has kept, at the wall clock's time. Returns what replays_recall says. */
static bool with_reservations;

static int64_t recall(struct replays **table, struct bytes bytes, uint64_t wall_ns)
{
    replays_destroy(table);
    *table = replays_create(&served.commands.hash_key);
    assert(*table != NULL);
    return replays_recall(*table, bytes, with_reservations, served.now_ns, wall_ns);
}

static enum replay_status status_of(struct replays *table, const char *key, uint64_t request, uint64_t now_ns)
{
    struct replay replay;
    struct replay_answer answer;
    const enum replay_status status =
        replay_open(&replay, table, &user_default, bytes_of(key), request, now_ns, &answer);
    if (status == REPLAY_NEW)
        (void)replay_close(&replay, NULL, now_ns);
    return status;
}

static void put(const char *key, const char *reservation)
{
    struct replay replay;
    struct replay_answer answer = {.window_ms = 5};
    memcpy(answer.reservation, reservation, strlen(reservation));
    assert(replay_open(&replay, replays, &user_default, bytes_of(key), 9, served.now_ns, &answer) == REPLAY_NEW);
    (void)replay_close(&replay, &answer, served.now_ns);
}

static void test_kept(void)
{
    begin();
    struct replays *table = NULL;
    char *kept = malloc(replays_kept_most()), *again = malloc(replays_kept_most()), now[sizeof first];
    assert(kept != NULL && again != NULL);
    OK_U64(replays_keep(replays, kept, served.now_ns, served.wall_ns), 0, "at first there is nothing to keep");
    (void)snprintf(first, sizeof first, "%s", served_ask(ANN "kept"));
    put("refund", "");
    put("held", "0123");
    const uint64_t left_before = left("user=ann");
    struct bytes bytes = {kept, replays_keep(replays, kept, served.now_ns, served.wall_ns)};
    with_reservations = true;
    OK(recall(&table, bytes, served.wall_ns) == 3 && status_of(table, "held", 9, served.now_ns) == REPLAY_KNOWN,
       "what is kept is remembered");
    OK(status_of(table, "held", 8, served.now_ns) == REPLAY_OTHER, "reservations as well,");
    with_reservations = false;
    OK_I64(recall(&table, bytes, served.wall_ns), 2, "but not where they have ended");
    OK(replays_keep(table, again, served.now_ns, served.wall_ns) > 0,
       "what was in a file is kept for the next one");
    OK(status_of(table, "refund", 9, served.now_ns) == REPLAY_KNOWN &&
           status_of(table, "refund", 8, served.now_ns) == REPLAY_OTHER &&
           status_of(table, "held", 9, served.now_ns) == REPLAY_NEW,
       "as what it was");
    served.commands.replays = table;
    (void)snprintf(now, sizeof now, "%s", served_ask(ANN "kept"));
    OK_STRING(now, first, "a request that comes again has its answer");
    OK_U64(left("user=ann"), left_before, "and is not charged again");
    served.commands.replays = replays;
    OK_I64(recall(&table, bytes, served.wall_ns + REPLAY_NS), 0, "nothing is remembered when its time is over");
    OK_I64(recall(&table, bytes, served.wall_ns - 5 * REPLAY_NS), 2, "where the clock was set back, it is");
    OK(status_of(table, "refund", 9, served.now_ns + REPLAY_NS) == REPLAY_NEW, "for no longer than from then on");
    for (size_t i = 0; i < bytes.size; i += 7) {
        kept[i] ^= 1;
        if (recall(&table, bytes, served.wall_ns) != -1)
            OK(false, "byte %zu is damaged, and nobody says so", i);
        kept[i] ^= 1;
    }
    bytes.size--;
    OK_I64(recall(&table, bytes, served.wall_ns), -1, "what is damaged is of no use");
    OK_I64(recall(&table, (struct bytes){kept, 0}, served.wall_ns), -1, "nor is nothing");
    replays_destroy(&table);
    free(again);
    free(kept);
    end();
}

int main(void)
{
    test_again();
    test_map();
    test_other();
    test_order();
    test_users();
    test_waits();
    test_kept();
    return tap_done();
}
