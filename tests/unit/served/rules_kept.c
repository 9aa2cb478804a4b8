/* A change of rules is answered when it is on the disk, however long that takes; or with what became of it. */
#include "tests/lib/slow_disk.h"

static char answers[2 * OUTPUT_REPLY_MAX_BYTES];
static struct output output;

/* Sends it; what was not answered then is to be resumed. */
static enum serve_status send_line(const char *line)
{
    size_t consumed;
    output = output_over(answers, sizeof answers - 1);
    enum serve_status status =
        commands_serve(&served.commands, &served.session, bytes_of(line), &output,
                       (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns}, &consumed);
    while (status == SERVE_WAIT && served.session.waits_rules.ticket > 0 &&
           !commands_resume(&served.commands, &served.session, &output)) {
        served_step((struct event){.kind = EVENT_WAKE});
        slow_disk_keep();
    }
    return status;
}

static bool resume(void)
{
    return commands_resume(&served.commands, &served.session, &output);
}

/* What comes in the end. */
static const char *resumed(void)
{
    uint64_t end_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    while (served.session.waits_rules.kept > 0 && !resume() && clock_monotonic_ns() < end_ns)
        sleep_a_little();
    answers[output.size] = '\0';
    return answers;
}

/* ---- */

#define SET_RULE "RULE SET \"{id: x, service: shop, rate: 1/s}\"\r\n"

static void slow_disk(void)
{
    slow_disk_open();
    slow_disk_set(true, false);
    OK(send_line(SET_RULE) == SERVE_WAIT, "RULE SET waits for the disk");
    slow_disk_wait_begun();
    bool early = false;
    for (unsigned i = 0; i < 100; i++)
        early |= resume();
    OK(!early && output.size == 0, "and is not answered while it is being written");
    OK(rulebook_find(node_rulebook(served.node), bytes_of("shop"), bytes_of("x")) != NULL,
       "though it is in force already");
    slow_disk_set(false, false);
    OK(strcmp(resumed(), "+OK\r\n") == 0, "it is answered when it is written");
    OK(store_versions_kept(served.commands.store, store_versions_put(served.commands.store), answers) == STORE_KEPT,
       "and it is kept");
    slow_disk_set(true, false);
    OK(send_line("RULE DEL shop x\r\n") == SERVE_WAIT, "RULE DEL waits as well");
    slow_disk_wait_begun();
    OK(!resume(), "for as long");
    slow_disk_set(false, false);
    OK(strcmp(resumed(), ":1\r\n") == 0, "and is answered then");
    (void)send_line("RULE DEL shop x\r\n");
    OK(strcmp(resumed(), ":0\r\n") == 0, "what changes nothing is answered at once");
    slow_disk_close();
}

/* Who asks for what is in force already, but not on the disk, waits for the disk as well. */
static void asked_again(void)
{
    slow_disk_open();
    slow_disk_set(true, false);
    OK(send_line(SET_RULE) == SERVE_WAIT, "RULE SET waits");
    slow_disk_wait_begun();
    struct session other = {0}, first;
    session_open(&other, &served.commands, 8, "127.0.0.1:50001");
    first = served.session;
    served.session = other;
    OK(send_line(SET_RULE) == SERVE_WAIT && !resume(),
       "the same of another client, which changes nothing, waits, too");
    slow_disk_set(false, false);
    OK(strcmp(resumed(), "+OK\r\n") == 0, "until it is written");
    served.session = first;
    output.size = 0;
    OK(strcmp(resumed(), "+OK\r\n") == 0, "as does the first");
    slow_disk_close();
}

static void full_disk(void)
{
    slow_disk_open();
    slow_disk_set(false, true);
    static const char told[] =
        "-NOTKEPT the change is in force and told to peers, but it is not on this node's disk (";
    (void)send_line(SET_RULE);
    OK(strncmp(resumed(), told, sizeof told - 1) == 0,
       "a disk that fails is told, and what became of the change: %.*s", (int)output.size - 2, answers);
    OK(send_line("PING\r\n") == SERVE_MORE && memcmp(answers, "+PONG\r\n", 7) == 0, "the connection goes on");
    (void)send_line("RULE DEL shop never\r\n");
    OK(strcmp(resumed(), ":0\r\n") == 0, "of a rule that never was, nothing is to be kept: %s", answers);
    slow_disk_set(false, false);
    OK(wait_until_written(served.commands.store), "when the disk takes it, it is written");
    (void)send_line(SET_RULE);
    OK(strcmp(resumed(), "+OK\r\n") == 0, "and said again, it is OK");
    slow_disk_close();
}

/* Who waits while the daemon ends is told what became of the last try to write. */
static void at_the_end(void)
{
    static const char told[] = "-NOTKEPT ";
    for (int fails = 0; fails < 2; fails++) {
        slow_disk_open();
        slow_disk_set(true, fails);
        OK(send_line(SET_RULE) == SERVE_WAIT, "RULE SET waits for a disk that %s", fails ? "fails" : "is slow");
        slow_disk_wait_begun();
        slow_disk_set(false, fails);
        const bool written = store_finish(served.commands.store);
        OK(written == !fails && resume(), "it is answered at once when the store has finished");
        OK(strncmp(answers, fails ? told : "+OK\r\n", fails ? sizeof told - 1 : 5) == 0,
           "by what became of it: %.*s", (int)output.size - 2, answers);
        OK(store_finish(served.commands.store) == written, "and it has finished for good");
        slow_disk_close();
    }
}

int main(void)
{
    store_scene_begin();
    slow_disk_init();
    slow_disk();
    asked_again();
    full_disk();
    at_the_end();
    return end();
}
