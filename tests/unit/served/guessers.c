/* Who hints passwords and reconnects after each hint: the address is barred for a while, and others are not. */
#include "commands/guessers.h"
#include "tests/lib/served.h"

static const struct hash_key key = {{7}};
static struct guessers guessers;

static uint64_t address(const char *peer)
{
    return guessers_address(&key, bytes_of(peer));
}

static void test_addresses(void)
{
    OK(address("10.0.0.1:50000") == address("10.0.0.1:50001"), "ports do not matter");
    OK(address("10.0.0.1:50000") != address("10.0.0.2:50000"), "addresses do");
    OK(address("[::ffff:10.0.0.1]:1") == address("10.0.0.1:2"), "IPv4 in IPv6 is IPv4");
    OK(address("[2001:db8::1]:1") == address("[2001:db8::2:3]:2"), "a /64 of IPv6 is one");
    OK(address("[2001:db8::1]:1") != address("[2001:db8:0:1::1]:1"), "another /64 is another");
    OK(address("[fe80::1%eth0]:1") == address("[fe80::1%eth0]:2"), "one with a zone is itself");
}

static void test_bucket(void)
{
    const uint64_t ann = address("10.0.0.1:1"), bob = address("10.0.0.2:1"), now_ns = 77 * GUESS_NS;
    bool barred = false;
    for (unsigned i = 0; i < GUESSES_MAX - 1; i++)
        barred |= guessers_note(&guessers, ann, now_ns);
    OK(!barred && guessers_barred_ns(&guessers, ann, now_ns) == 0, "nineteen guesses are nothing");
    OK(guessers_note(&guessers, ann, now_ns), "the twentieth bars the address");
    OK_U64(guessers_barred_ns(&guessers, ann, now_ns), GUESS_NS, "for as long as one guess takes to come back");
    OK_U64(guessers_barred_ns(&guessers, bob, now_ns), 0, "and no other");
    OK_U64(guessers_barred_ns(&guessers, ann, now_ns + GUESS_NS), 0, "then one password is looked at");
    OK(guessers_note(&guessers, ann, now_ns + GUESS_NS), "and it is barred again");
    OK(!guessers_note(&guessers, ann, now_ns + 100 * GUESS_NS), "after a long time all is forgotten");
}

/* A thousand times more addresses than there is room: those that hint most are kept. */
static void test_full(void)
{
    const uint64_t worst = address("10.0.0.9:1"), now_ns = 1000 * GUESS_NS;
    char peer[32];
    for (unsigned i = 0; i < GUESSES_MAX; i++)
        (void)guessers_note(&guessers, worst, now_ns);
    for (unsigned i = 0; i < 1000000; i++) {
        (void)snprintf(peer, sizeof peer, "11.%u.%u.%u:1", i >> 16, i >> 8 & 255, i & 255);
        (void)guessers_note(&guessers, address(peer), now_ns);
    }
    OK(guessers_barred_ns(&guessers, worst, now_ns) > 0, "a full table keeps whoever guesses most");
}

static const char *connect_and_say(const char *line)
{
    static uint64_t id = 100;
    char peer[32];
    (void)snprintf(peer, sizeof peer, "10.1.2.3:%llu", (unsigned long long)++id);
    struct output output = output_over(served.reply, sizeof served.reply);
    struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    size_t consumed;
    memset(&served.session, 0, sizeof served.session);
    session_open(&served.session, &served.commands, id, peer);
    enum serve_status status =
        commands_serve(&served.commands, &served.session, bytes_of(line), &output, turn, &consumed);
    if (status == SERVE_DELAY)
        return "looked at";
    served.reply[output.size] = '\0';
    return status == SERVE_CLOSE && strncmp(served.reply, "-WRONGPASS too many", 19) == 0 ? "barred" : served.reply;
}

static void test_reconnecting(void)
{
    unsigned looked_at = 0;
    served_open();
    served.commands.password = "sesame";
    for (unsigned i = 0; i < 1000; i++)
        looked_at += strcmp(connect_and_say("AUTH guess\n"), "looked at") == 0;
    OK_U64(looked_at, GUESSES_MAX, "of 1,000 connections with one guess each, twenty are looked at");
    OK_U64(served.commands.stats.auth_failures, GUESSES_MAX, "so many are counted as wrong");
    OK_U64(served.commands.stats.auth_barred, 1000 - GUESSES_MAX, "and the others as not looked at");
    OK_STRING(connect_and_say("AUTH sesame\n"), "barred", "nor is the right one, else guessing would work");
    OK_STRING(connect_and_say("HELLO 3 AUTH default sesame\n"), "barred", "by any command");
    served.now_ns += GUESS_NS;
    OK_STRING(connect_and_say("AUTH sesame\n"), "+OK\r\n", "ten seconds later the right one lets in");
    served_close();
}

int main(void)
{
    test_addresses();
    test_bucket();
    test_full();
    test_reconnecting();
    return tap_done();
}
