/*
 * MULTI, EXEC and DISCARD over a real node: in order, all or nothing of what could be queued, and bounded.
 */
#include "tests/lib/served.h"

static uint64_t processed(void)
{
    return served.commands.stats.total_commands_processed;
}

static bool holds_nothing(void)
{
    return served.commands.queues.taken_bytes == 0 && served.session.transaction.queued == NULL;
}

static void test_order(void)
{
    served_open();
    OK_STRING(served_ask("MULTI"), "+OK", "MULTI");
    OK_STRING(served_ask("CAN_ACCESS joe 5"), "+QUEUED", "what follows is queued");
    OK_STRING(ask_words("CAN_ACCESS", "joe", NULL), "+QUEUED", "as libraries write it, too");
    (void)served_ask("CHECK joe COST 4 RULE slow");
    (void)served_ask("check joe RULE slow");
    (void)served_ask("CHECK joe RULE slow");
    (void)served_ask("ECHO between");
    (void)served_ask("PEEK joe RULE none");
    (void)served_ask("UNWATCH");
    OK_STRING(served_ask("RESET joe RULE slow"), "+QUEUED", "RESET with ids as well");
    OK_U64(served.commands.stats.grouped_decisions, 0, "nothing is charged yet");
    (void)served_ask("EXEC");
    OK(served_told(
           "[1 1 [1 5 1 0 240000 'slow'] [1 5 0 0 300000 'slow'] [0 5 0 60000 300000 'slow'] 'between' !ERR "
           "unknown "
           "rule 'none'"),
       "EXEC answers all in order");
    OK(served_told(" +OK 1]"), "to the last");
    OK(holds_nothing(), "and nothing is kept");
    OK_STRING(served_ask("CHECK joe"), "[1 100 93 0 70 'default']", "six of the one and one now are taken");
    OK_STRING(served_ask("MULTI\nCAN_ACCESS joe\nCAN_ACCESS joe\nEXEC\nPING"), "+OK +QUEUED +QUEUED [1 1] +PONG",
              "all in one piece");
    OK_STRING(served_ask("MULTI\nEXEC"), "+OK []", "an empty one");
    OK_STRING(served_ask("MULTI\nCAN_ACCESS joe\nDISCARD\nPEEK joe"), "+OK +QUEUED +OK [1 100 91 0 90 'default']",
              "DISCARD takes nothing");
    OK(holds_nothing(), "and keeps nothing");
    served_close();
}

/* 40 CHECKs in a transaction are decided in groups, and as they are without one. */
static void test_many(void)
{
    static char lines[4096], expected[8192];
    size_t size = 0;
    served_open();
    for (int i = 0; i < 40; i++)
        size += (size_t)snprintf(lines + size, sizeof lines - size, "CHECK user=u%d COST 60\nCAN_ACCESS u%d\n",
                                 i % 3, i);
    lines[size - 1] = '\0';
    (void)snprintf(expected, sizeof expected, "[%s]", served_ask(lines));
    served_close();

    served_open();
    (void)served_ask("MULTI");
    (void)served_ask(lines);
    uint64_t before = processed();
    OK_STRING(served_ask("EXEC"), expected, "a transaction comes to what its commands come to");
    OK_U64(processed() - before, 81, "each is counted, and EXEC");
    OK_U64(served.commands.stats.grouped_decisions, 80, "and they are decided in groups");
    served_close();
}

static void test_refused(void)
{
    static const char *const wrong[] = {"NONSENSE",   "CAN_ACCESS",  "CHECK",      "RULE LIST",    "RULE SET {}",
                                        "INFO",       "EXPLAIN joe", "HELLO 3",    "AUTH x",       "CLIENT ID",
                                        "HEALTH s 1", "FORGET x",    "DEBUG HEAL", "COMMAND DOCS", "NODES"};
    served_open();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)served_ask("MULTI\nCAN_ACCESS joe");
        OK(served_ask(wrong[i])[0] == '!', "%s is not queued: %s", wrong[i], served.told);
        OK_STRING(served_ask("CAN_ACCESS joe\nEXEC"),
                  "+QUEUED !EXECABORT Transaction discarded because of previous errors.", "and EXEC refuses all");
    }
    OK_STRING(served_ask("PEEK joe"), "[1 100 100 0 0 'default']", "nothing of it was charged");
    OK_STRING(served_ask("MULTI\nMULTI\nWATCH joe\nEXEC"),
              "+OK !ERR MULTI calls can not be nested !ERR WATCH inside MULTI is not allowed []",
              "errors that redis goes on after");
    OK_STRING(served_ask("EXEC\nDISCARD"), "!ERR EXEC without MULTI !ERR DISCARD without MULTI", "without MULTI");
    OK(strncmp(served_ask("WATCH joe"), "!ERR WATCH is not supported", 27) == 0, "WATCH is refused");
    OK_STRING(served_ask("UNWATCH"), "+OK", "UNWATCH is not");
    OK_STRING(served_ask("MULTI\nCAN_ACCESS joe\nRESET\nEXEC"), "+OK +QUEUED +RESET !ERR EXEC without MULTI",
              "RESET ends it");
    (void)served_ask("MULTI\nNONSENSE");
    OK_STRING(served_ask("DISCARD"), "+OK", "DISCARD of one that failed");
    OK_STRING(served_ask("MULTI\nNONSENSE\nEXEC\nMULTI\nCAN_ACCESS joe\nEXEC"),
              "+OK !ERR unknown command 'NONSENSE': COMMAND LIST names what this server knows "
              "!EXECABORT Transaction discarded because of previous errors. +OK +QUEUED [1]",
              "the next one begins anew");
    OK(holds_nothing(), "nothing is kept");
    served_close();
}

/* Queues `line` until that is refused. How many times it was not. */
static uint32_t queue_all(const char *line)
{
    uint32_t count = 0;
    (void)served_ask("MULTI");
    while (count < 100000 && strcmp(served_ask(line), "+QUEUED") == 0)
        count++;
    OK(served_told(
           "!ERR the transaction is too long: expected at most 1024 commands, 131072 bytes of them, and of their "
           "answers "
           "118784"),
       "a transaction has so many '%.20s' at most: %u", line, count);
    return count;
}

static void test_limits(void)
{
    static const char aborted[] = "!EXECABORT Transaction discarded because of previous errors.";
    static char echo[4000];
    served_open();
    OK_U64(queue_all("CAN_ACCESS joe"), 1024, "as many as may be");
    OK_STRING(served_ask("EXEC"), aborted, "one too many ends all");
    OK_STRING(served_ask("PEEK joe"), "[1 100 100 0 0 'default']", "and nothing is charged");
    OK_U64(queue_all("CHECK joe"), 463, "as many as there is room for their answers");
    OK_STRING(served_ask("EXEC"), aborted, "beyond is an error");
    memset(echo, 'x', sizeof echo - 1);
    memcpy(echo, "ECHO ", 5);
    (void)queue_all(echo);
    (void)served_ask("DISCARD");
    memcpy(echo, "PEEK ", 5);
    (void)queue_all(echo);
    (void)served_ask("DISCARD");

    /* The longest that there can be are answered whole. */
    (void)served_ask("MULTI");
    for (int i = 0; i < 462; i++)
        (void)served_ask(i % 2 ? "PEEK joe RULE nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
                               : "RESERVE joe TTL 1");
    uint32_t errors = 0, allowed = 0;
    for (const char *at = served_ask("EXEC"); *at; at++) {
        errors += *at == '!';
        allowed += strncmp(at, "[1 100 ", 7) == 0;
    }
    OK(errors >= 231 && allowed > 0, "%u errors and %u reservations", errors, allowed);
    OK(served.told[0] == '[' && served.told[served.told_size - 1] == ']', "in one array");
    OK(holds_nothing(), "nothing is kept");
    served_close();
}

/* Each that is open holds a buffer of a bounded pool. */
static void test_many_clients(void)
{
    enum { MANY = 9000 };
    struct session *sessions = calloc(MANY, sizeof *sessions);
    uint32_t open = 0;
    assert(sessions != NULL);
    served_open();
    for (uint32_t i = 0; i < MANY; i++) {
        session_open(&served.session, &served.commands, i + 1, "127.0.0.1:1");
        open += strcmp(served_ask("MULTI\nCAN_ACCESS joe"), "+OK +QUEUED") == 0;
        sessions[i] = served.session;
        memset(&served.session, 0, sizeof served.session);
    }
    OK_U64(open, 8192, "so many have a transaction at once");
    served.session = sessions[MANY - 1];
    OK_STRING(served_ask("EXEC"), "!EXECABORT Transaction discarded because of previous errors.",
              "others are told so");
    for (uint32_t i = 0; i + 1 < MANY; i++)
        session_close(&sessions[i], &served.commands);
    OK_U64(served.commands.queues.taken_bytes, 0, "when they end their buffers go back");
    OK_STRING(served_ask("MULTI\nCAN_ACCESS joe\nEXEC"), "+OK +QUEUED [1]", "and others have room");
    free(sessions);
    served_close();
}

int main(void)
{
    test_order();
    test_many();
    test_refused();
    test_limits();
    test_many_clients();
    return tap_done();
}
