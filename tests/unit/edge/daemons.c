/*
 * Several daemons behind one call, played by threads: one that is away, silent, drops what it heard, is loading, wants
 * a password, comes back. What was sent to one of them is never sent to another, unless it takes nothing.
 */
#include "edge/library/daemons.h"

#include "edge/process/clock.h"
#include "tests/lib/fake_daemon.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- asking ---- */

static struct headgate_daemons_options options;
static const char *addresses[3];
static struct headgate_daemons *daemons;
static struct headgate_daemons_answer answer;

enum { DEADLINE_MS = 60000, TRIES = 20 };

/* Two daemons; pauses are short, so that a test need not wait for long. Nobody is given up for being slow. */
static void begin(const struct fake *near, const struct fake *far)
{
    addresses[0] = near->address;
    addresses[1] = far->address;
    options = (struct headgate_daemons_options){.addresses = addresses,
                                                .address_count = 2,
                                                .connect_timeout_ms = DEADLINE_MS,
                                                .pause_min_ms = 20,
                                                .pause_max_ms = 40};
    options.client.timeout_ms = DEADLINE_MS;
}

static void open_daemons(void)
{
    char error[256] = "";
    daemons = headgate_daemons_create(&options, error, sizeof error);
    OK(daemons != NULL, "%s", error[0] ? error : "daemons are named");
}

static enum headgate_client_status ask(const char *command)
{
    const char *const words[] = {command, "user=alice", "COST", "2"};
    return headgate_daemons_ask(daemons, 4, words, &answer);
}

/* Asks until daemon `index` answers, for a while. */
static bool until_answered_by(size_t index)
{
    const uint64_t end_ns = clock_monotonic_ns() + DEADLINE_MS * UINT64_C(1000000);
    while (clock_monotonic_ns() < end_ns) {
        if (ask("PEEK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == index)
            return true;
        const struct timespec a_little = {.tv_nsec = 10000000};
        (void)nanosleep(&a_little, NULL);
    }
    return false;
}

static void test_nearest(void)
{
    struct fake near, far;
    fake_open(&near, ANSWERS, 0);
    fake_open(&far, ANSWERS, 0);
    const uint16_t port = fake_port(&near);
    begin(&near, &far);
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 0, "the nearest daemon is asked");
    OK(answer.verdict.allowed && answer.verdict.limit == 10 && answer.verdict.remaining == 9 &&
           strcmp(answer.verdict.rule, "slow") == 0,
       "and its verdict is told");
    OK_U64(atomic_load(&far.connections), 0, "the other one is left alone");
    atomic_store(&near.shuts, true);
    while (atomic_load(&near.shuts))
        ;
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 0,
       "a connection that was closed meanwhile is made anew");
    fake_close(&near);
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 1,
       "one that is away is passed over");
    OK_U64(atomic_load(&far.checks), 1, "the request was sent once");
    fake_open(&near, ANSWERS, port);
    OK(until_answered_by(0), "and asked again when it is back");
    headgate_daemons_destroy(&daemons);
    OK(daemons == NULL, "destroyed");
    fake_close(&near);
    fake_close(&far);
}

/*
 * Asks once. What is about a time that is over begins anew where the machine was too slow for it: where the request
 * was not sent in that time, or not answered in what was left of it.
 */
static enum headgate_client_status ask_anew(const char *command, uint32_t timeout_ms, bool (*in_time)(void))
{
    enum headgate_client_status status = HEADGATE_CLIENT_OK;
    options.client.timeout_ms = timeout_ms;
    for (int i = 0; i < TRIES; i++) {
        headgate_daemons_destroy(&daemons);
        open_daemons();
        status = ask(command);
        if (status != HEADGATE_CLIENT_OK || in_time())
            break;
    }
    return status;
}

static bool was_sent(void)
{
    return answer.maybe_charged;
}
static bool was_decided(void)
{
    return answer.decided;
}

/* What takes tokens is never sent twice. */
static void test_once(void)
{
    struct fake near, far;
    fake_open(&near, DROPS, 0);
    fake_open(&far, ANSWERS, 0);
    begin(&near, &far);
    options.pause_min_ms = options.pause_max_ms =
        600000; /* the nearer one is away meanwhile, however slow this is */
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && !answer.decided && answer.maybe_charged && !answer.verdict.allowed,
       "a daemon that goes with the request may have charged it: refused, and said");
    OK(atomic_load(&near.checks) == 1 && atomic_load(&far.checks) == 0, "nobody else is asked");
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 1,
       "the next request goes to another");
    headgate_daemons_destroy(&daemons);
    open_daemons();
    OK(ask("PEEK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 1, "a PEEK is sent again");
    OK(atomic_load(&near.peeks) == 1 && atomic_load(&far.peeks) == 1, "to another one");
    atomic_store(&near.manner, SILENT);
    OK(ask_anew("CHECK", 200, was_sent) == HEADGATE_CLIENT_OK && !answer.decided && answer.maybe_charged,
       "nor after a silence");
    OK_U64(atomic_load(&far.checks), 1, "is it sent to another");
    OK_STRING(headgate_daemons_message(daemons), "a daemon did not answer in time", "why");
    OK(ask_anew("PEEK", 2000, was_decided) == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 1,
       "a PEEK leaves time for another");
    headgate_daemons_destroy(&daemons);
    fake_close(&near);
    fake_close(&far);
}

/* With a key it is sent again, but only to the daemon that may have charged it. */
/* Programs that were built for 0.4.0 find their options where they were: the library has the same name. */
_Static_assert(offsetof(struct headgate_daemons_options, resend) ==
                       offsetof(struct headgate_daemons_options, absence) + sizeof(enum headgate_absence) &&
                   offsetof(struct headgate_daemons_options, local) ==
                       offsetof(struct headgate_daemons_options, absence) + sizeof(void *),
               "resend stands in a gap of the options");

static struct fake *paused;

/* Where it was too slow, it pauses once more. */
static bool was_answered_in_time(void)
{
    if (!answer.decided)
        atomic_store(&paused->manner, PAUSES);
    return answer.decided;
}

static void test_resend(void)
{
    struct fake near, far;
    char key[FAKE_KEY_BYTES];
    fake_open(&near, FORGETS, 0);
    fake_open(&far, ANSWERS, 0);
    begin(&near, &far);
    options.resend = true;
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 0 && !answer.maybe_charged,
       "what was lost with a connection is sent again on another one");
    OK(atomic_load(&near.checks) == 2 && atomic_load(&near.connections) == 2 && atomic_load(&far.checks) == 0,
       "to the same daemon");
    OK(near.key[0][0] != '\0' && strcmp(near.key[0], near.key[1]) == 0, "with the same key: %s", near.key[0]);
    memcpy(key, near.key[0], sizeof key);
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && strcmp(near.key[0], key) != 0,
       "the next request has another key");
    paused = &near;
    atomic_store(&near.manner, PAUSES);
    OK(ask_anew("CHECK", 2000, was_answered_in_time) == HEADGATE_CLIENT_OK && answer.decided &&
           near.key[0][0] != '\0' && strcmp(near.key[0], near.key[1]) == 0,
       "what is not answered is sent again after half of the time");
    options.client.timeout_ms = DEADLINE_MS;
    headgate_daemons_destroy(&daemons);
    open_daemons();
    OK(ask("PEEK") == HEADGATE_CLIENT_OK && answer.decided && near.key[0][0] == '\0', "a PEEK has none");
    const char *const drains[] = {"CHECK", "user=alice", "DRAIN"}, *const own[] = {"CHECK", "user=alice",
                                                                                   "idempotency_key", "mine"};
    OK(headgate_daemons_ask(daemons, 3, drains, &answer) == HEADGATE_CLIENT_OK && near.key[0][0] == '\0',
       "nor has DRAIN");
    atomic_store(&near.manner, FORGETS);
    const unsigned before = atomic_load(&near.checks);
    OK(headgate_daemons_ask(daemons, 4, own, &answer) == HEADGATE_CLIENT_OK && answer.decided &&
           atomic_load(&near.checks) == before + 2,
       "a request with a key of its own is sent again as it is");
    const char *const named[] = {"CHECK", "user=alice", "ENDPOINT", "Idempotency_Key", "TIER", "drain"};
    OK(headgate_daemons_ask(daemons, 6, named, &answer) == HEADGATE_CLIENT_OK && near.key[0][0] != '\0',
       "an endpoint and a tier that are called as options are get one as well");
    atomic_store(&near.manner, DROPS);
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && !answer.decided && answer.maybe_charged, "once, and not for ever");
    OK(atomic_load(&near.checks) == before + 5 && atomic_load(&far.checks) == 0, "and to nobody else");
    headgate_daemons_destroy(&daemons);
    open_daemons();
    atomic_store(&near.manner, ANSWERS);
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && strncmp(near.key[0], key, 32) != 0, "others have other keys");
    headgate_daemons_destroy(&daemons);
    fake_close(&near);
    fake_close(&far);
}

/* An answer to one process would be taken for that of a request of the other. */
static void test_fork(void)
{
    struct fake near, far;
    char key[FAKE_KEY_BYTES];
    int status = -1;
    fake_open(&near, ANSWERS, 0);
    fake_open(&far, ANSWERS, 0);
    begin(&near, &far);
    options.resend = true;
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided, "a program asks, and forks");
    memcpy(key, near.key[0], sizeof key);
    const pid_t child = fork();
    if (child == 0)
        _exit(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided ? 0 : 1);
    OK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "its child asks");
    OK_U64(atomic_load(&near.connections), 2, "on a connection of its own");
    OK(strncmp(near.key[0], key, 32) != 0, "with keys of its own");
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && atomic_load(&near.connections) == 2,
       "the program goes on with that which it had");
    OK(strncmp(near.key[0], key, 32) == 0, "and its keys");
    headgate_daemons_destroy(&daemons);
    fake_close(&near);
    fake_close(&far);
}

static void test_manners(void)
{
    struct fake near, far;
    fake_open(&near, LOADING, 0);
    fake_open(&far, ANSWERS, 0);
    begin(&near, &far);
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 1, "LOADING: another one decides");
    atomic_store(&near.manner, REFUSES);
    headgate_daemons_destroy(&daemons);
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_REFUSED && !answer.verdict.allowed, "a mistake is a mistake everywhere");
    OK_STRING(headgate_daemons_message(daemons), "ERR unknown rule 'x'", "which it says");
    atomic_store(&near.manner, BABBLES);
    OK(ask("CHECK") == HEADGATE_CLIENT_PROTOCOL, "an answer of another form");
    OK(ask("GET") == HEADGATE_CLIENT_USAGE, "other commands are none");
    headgate_daemons_destroy(&daemons);
    atomic_store(&near.manner, REPEATS);
    options.pause_min_ms = options.pause_max_ms = 600000; /* as above */
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.daemon == 0,
       "two answers to one request: the first one counts");
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 1,
       "the second one is none to the next request, which goes to another daemon");
    headgate_daemons_destroy(&daemons);
    atomic_store(&near.manner, GUARDED);
    const unsigned dialled = atomic_load(&far.connections);
    options.user = "ann";
    options.password = "secret";
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 0, "a password is said first");
    OK_U64(atomic_load(&far.connections), dialled, "to the nearest, and the other one is not dialled meanwhile");
    headgate_daemons_destroy(&daemons);
    atomic_store(&near.manner, SLOW);
    options.connect_timeout_ms = 400;
    OK(ask_anew("CHECK", DEADLINE_MS, was_decided) == HEADGATE_CLIENT_OK && answer.decided && answer.daemon == 1,
       "a daemon that takes its time leaves it to the next");
    headgate_daemons_destroy(&daemons);
    atomic_store(&near.manner, GUARDED);
    options.connect_timeout_ms = DEADLINE_MS;
    options.password = "wrong";
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && !answer.decided && !answer.maybe_charged, "a wrong one opens nothing");
    OK_STRING(headgate_daemons_message(daemons), "WRONGPASS wrong", "why");
    headgate_daemons_destroy(&daemons);
    fake_close(&near);
    fake_close(&far);
}

/* A program that asks seldom looks at its connections as seldom. Times are invented; the answer to AUTH is late. */
static void test_seldom(void)
{
    enum { SECONDS = 10 };
    const uint64_t second_ns = 1000000000;
    uint64_t now_ns = 1000 * second_ns;
    struct fake near, far;
    fake_open(&near, SLOW, 0);
    fake_open(&far, ANSWERS, 0);
    begin(&near, &far);
    options.user = "ann";
    options.password = "secret";
    options.connect_timeout_ms = 0; /* as by default */
    open_daemons();
    struct daemon_link *link = &daemons->link[0];
    links_step(daemons, link, now_ns);
    for (int i = 0; i < 1000 && link->state == LINK_CONNECTING; i++)
        links_step(daemons, link, now_ns);
    OK(link->state == LINK_GREETING, "AUTH is on its way");
    now_ns += SECONDS * second_ns;
    links_step(daemons, link, now_ns);
    OK(link->state == LINK_GREETING, "nobody looked for its answer in time, which is no fault of the daemon");
    links_step(daemons, link, now_ns + second_ns / 10);
    OK(link->state == LINK_GREETING, "it has a further time");
    links_step(daemons, link, now_ns + second_ns / 4);
    OK(link->state == LINK_AWAY, "whose end counts, where somebody looked meanwhile");
    unsigned looks = 0;
    for (bool was_made = false; !was_made || link->state != LINK_AWAY; looks++) {
        now_ns += SECONDS * second_ns;
        links_step(daemons, link, now_ns);
        was_made = was_made || link->state != LINK_AWAY;
    }
    OK(looks > 2 && looks < 10, "a daemon that never answers is given up all the same: after %u looks", looks);
    headgate_daemons_destroy(&daemons);
    fake_close(&near);
    fake_close(&far);
}

/* A daemon that comes back takes connections before it has a share. */
static void test_joining(void)
{
    struct fake near, far;
    fake_open(&near, ANSWERS, 0);
    fake_open(&far, ANSWERS, 0);
    begin(&near, &far);
    const uint16_t port = fake_port(&near);
    fake_close(&near);
    open_daemons();
    OK(until_answered_by(1), "the nearest daemon is away");
    fake_open(&near, JOINS, port);
    bool strayed = false;
    const uint64_t end_ns = clock_monotonic_ns() + DEADLINE_MS * UINT64_C(1000000);
    while (atomic_load(&near.looks) < 3 && clock_monotonic_ns() < end_ns) {
        strayed = ask("PEEK") != HEADGATE_CLIENT_OK || !answer.decided || answer.daemon != 1 || strayed;
        const struct timespec a_little = {.tv_nsec = 5000000};
        (void)nanosleep(&a_little, NULL);
    }
    OK(atomic_load(&near.looks) >= 3 && !strayed, "while it has no share, the other one is asked");
    OK_U64(atomic_load(&near.peeks), 0, "and it is asked for nothing else");
    atomic_store(&near.manner, ANSWERS);
    OK(until_answered_by(0), "then it is asked again");
    headgate_daemons_destroy(&daemons);
    fake_close(&near);
    fake_close(&far);
}

static void test_absence(void)
{
    struct fake near, far;
    fake_open(&near, ANSWERS, 0);
    fake_open(&far, ANSWERS, 0);
    begin(&near, &far);
    fake_close(&near);
    fake_close(&far);
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && !answer.decided && !answer.maybe_charged && !answer.verdict.allowed,
       "nobody is there: closed");
    headgate_daemons_destroy(&daemons);
    options.absence = HEADGATE_ABSENCE_OPEN;
    open_daemons();
    OK(ask("CHECK") == HEADGATE_CLIENT_OK && !answer.decided && answer.verdict.allowed, "or open");
    headgate_daemons_destroy(&daemons);
    options.absence = HEADGATE_ABSENCE_LOCAL;
    options.local = (struct headgate_limit){.capacity = 5, .rate_tokens = 1, .period_ns = 3600000000000};
    open_daemons();
    unsigned allowed = 0;
    for (int i = 0; i < 5; i++)
        allowed += ask("CHECK") == HEADGATE_CLIENT_OK && answer.verdict.allowed;
    OK_U64(allowed, 2, "or by a limiter of its own, which counts costs");
    OK(answer.verdict.limit == 5 && answer.verdict.remaining == 1 && answer.verdict.retry_after_ms > 3000000,
       "with its figures");
    OK(ask("PEEK") == HEADGATE_CLIENT_OK && !answer.verdict.allowed, "a PEEK asks it as well");
    const char *const named[] = {"CHECK", "user=bob", "COST", "bytes=9"};
    allowed = 0;
    for (int i = 0; i < 9; i++)
        allowed += headgate_daemons_ask(daemons, 4, named, &answer) == HEADGATE_CLIENT_OK && answer.verdict.allowed;
    OK_U64(allowed, 5, "and a cost by name leaves it at one token for a request");
    const char *const tier[] = {"CHECK", "user=cid", "TIER", "COST", "5", "COST", "2"};
    OK(headgate_daemons_ask(daemons, 7, tier, &answer) == HEADGATE_CLIENT_OK && answer.verdict.remaining == 3,
       "the name of a tier is no option");
    headgate_daemons_destroy(&daemons);
}

static const char *refused(struct headgate_daemons_options wrong)
{
    static char error[256];
    error[0] = '\0';
    daemons = headgate_daemons_create(&wrong, error, sizeof error);
    assert(!daemons);
    return error;
}

static void test_options(void)
{
    static const char *const here[] = {"127.0.0.1:1"}, *const none[] = {NULL};
    const struct headgate_daemons_options fine = {.addresses = here, .address_count = 1};
    struct headgate_daemons_options wrong = fine;
    char said[64] = "";
    OK(!headgate_daemons_create(NULL, said, sizeof said), "options that are missing are refused");
    OK_STRING(said, "no options are given", "with a sentence");
    wrong.address_count = 17;
    OK_STRING(refused(wrong), "address_count is out of range: expected 1 to 16 addresses", "too many");
    wrong = fine;
    wrong.addresses = none;
    OK_STRING(refused(wrong), "an address is NULL: expected host:port", "no address");
    wrong = fine;
    wrong.client.address = "x";
    OK_STRING(refused(wrong), "client.address is given: expected NULL, since addresses has them all", "two ways");
    wrong = fine;
    wrong.user = "ann";
    OK_STRING(refused(wrong), "user is given without password: expected both", "half a user");
    wrong = fine;
    wrong.absence = HEADGATE_ABSENCE_LOCAL;
    OK(strstr(refused(wrong), "expected") != NULL, "a limiter without a limit");
    headgate_daemons_destroy(&daemons);
}

int main(void)
{
    test_nearest();
    test_once();
    test_resend();
    test_fork();
    test_manners();
    test_seldom();
    test_joining();
    test_absence();
    test_options();
    return tap_done();
}
