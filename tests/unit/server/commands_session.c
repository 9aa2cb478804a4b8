/* Sessions of the commands over a scripted node: what a client may say before it is let in, and in which pieces. */
#include "tests/lib/scripted_commands.h"
#include "tests/lib/tap.h"

static void test_session(void)
{
    set_scene(NULL, false);
    OK_STRING(ask("PING\nPING hi\nPING a b\n"),
              "+PONG\r\n$2\r\nhi\r\n-ERR wrong number of arguments for 'ping' command: expected ping [message]\r\n",
              "PING");
    OK_STRING(ask("CLIENT GETNAME\nCLIENT SETNAME joe\nCLIENT GETNAME\nCLIENT ID\n"),
              "$-1\r\n+OK\r\n$3\r\njoe\r\n:7\r\n", "CLIENT");
    (void)ask("CLIENT SETNAME \"a b\"\n");
    OK(has("-ERR Client names cannot contain spaces"), "a name with a blank is refused");
    OK_STRING(ask("CLIENT SETINFO LIB-NAME x\nCLIENT SETINFO lib-ver 1\nCLIENT NO-EVICT on\nCLIENT REPLY ON\n"),
              "+OK\r\n+OK\r\n+OK\r\n+OK\r\n", "what libraries ask");
    (void)ask("CLIENT INFO\n");
    OK(has("id=7 addr=127.0.0.1:50000 name=joe db=0 resp=2 user=default lib-name=x lib-ver=1\n"), "CLIENT INFO");
    (void)ask("CLIENT KILL x\n");
    OK(has("-ERR unknown subcommand 'KILL' of client: expected one of setname, getname"), "an unknown subcommand");
    OK_STRING(ask("SELECT 0\nSELECT 1\n"),
              "+OK\r\n-ERR DB index is out of range: expected 0, there is no other\r\n", "SELECT");
    (void)ask("HELLO 3 SETNAME jim\n");
    OK(begins("%7\r\n$6\r\nserver\r\n$8\r\nheadgate\r\n") && has("$5\r\nproto\r\n:3\r\n"), "HELLO 3");
    OK_STRING(ask("CLIENT GETNAME\nRESET\nCLIENT GETNAME\n"), "$3\r\njim\r\n+RESET\r\n$-1\r\n", "RESET");
    (void)ask("HELLO 4\n");
    OK(has("-NOPROTO unsupported protocol version: expected 2 or 3"), "HELLO 4");
    (void)ask("HELLO 3 NICE\n");
    OK(has("-ERR syntax error in HELLO option 'NICE'"), "HELLO with nonsense");
    (void)ask("HELLO\n");
    OK(begins("*14\r\n") && has("$5\r\nproto\r\n:2\r\n"), "HELLO alone tells version 2 as an array");
    (void)ask("AUTH x\n");
    OK(has("-ERR AUTH called without any password configured"), "AUTH without a password");
    (void)ask("HELLO 3 AUTH default x\n");
    OK(begins("-ERR AUTH called without any password configured") && session.protocol == 2,
       "HELLO ... AUTH as well");
    OK(serve(bytes_of("QUIT\nPING\n")) == SERVE_CLOSE && strcmp(reply, "+OK\r\n") == 0, "QUIT ends it");
}

static void test_password(void)
{
    set_scene("sesame", false);
    OK_STRING(ask("CAN_ACCESS alice\n"), "-NOAUTH Authentication required.\r\n", "nothing without the password");
    OK_U64(node.decided, 0, "and nothing is taken");
    (void)ask("HELLO 3\n");
    OK(has("-NOAUTH HELLO must be called"), "HELLO neither");
    for (uint32_t i = 0; i < SESSION_REFUSED_MAX - 1; i++) {
        const char *line = i == 1   ? "AUTH root sesame\nPING\n"
                           : i == 2 ? "HELLO 3 AUTH default x\n"
                                    : "AUTH wrong\n";
        OK(serve(bytes_of(line)) == SERVE_DELAY && output.size == 0, "a wrong password is not answered at once");
        OK_U64(session_delay_ms(&session), 250u << i, "but after %u ms", 250u << i);
        OK_STRING(resume(), "-WRONGPASS invalid username-password pair or user is disabled.\r\n", "then it is");
        OK(!session_is_known(&session), "and lets nobody in");
    }
    OK(serve(bytes_of("AUTH wrong\nAUTH sesame\n")) == SERVE_CLOSE, "too many close the connection");
    OK_STRING(reply, "-WRONGPASS invalid username-password pair or user is disabled.\r\n", "with an answer");
    OK_U64(commands.stats.auth_failures, SESSION_REFUSED_MAX, "all are counted");
    OK_U64(refused, SESSION_REFUSED_MAX, "and told");
    set_scene("sesame", false);
    (void)serve(bytes_of("AUTH wrong\n"));
    (void)resume();
    (void)ask("AUTH sesame\n");
    (void)serve(bytes_of("AUTH wrong\n"));
    OK_U64(session_delay_ms(&session), 250, "who knows it begins anew");
    (void)resume();
    (void)ask("RESET\n");
    OK_STRING(ask("CAN_ACCESS alice\nAUTH sesame\nCAN_ACCESS alice\n"),
              "-NOAUTH Authentication required.\r\n+OK\r\n:1\r\n", "the password lets in");
    OK_STRING(ask("RESET\nPING\n"), "+RESET\r\n-NOAUTH Authentication required.\r\n", "RESET takes it back");
    (void)ask("HELLO 3 AUTH default sesame\n");
    OK(reply[0] == '%', "HELLO with the password lets in as well");
    OK_STRING(ask("AUTH default sesame\n"), "+OK\r\n", "so does AUTH with the user");
}

static void test_frames(void)
{
    size_t consumed;
    set_scene(NULL, false);
    output = output_over(reply, OUTPUT_ROOM);
    struct bytes half = bytes_of("PING\r\n*2\r\n$10\r\nCAN_ACCESS\r\n$5\r\nal");
    enum serve_status status = commands_serve(&commands, &session, half, &output, now, &consumed);
    OK(status == SERVE_MORE && consumed == 6 && output.size == 7, "half a frame waits");
    OK(serve(bytes_of("CAN_ACCESS a\n*1\r\n$x\r\nPING\r\n")) == SERVE_CLOSE,
       "what is not RESP ends the connection");
    OK_STRING(reply, ":1\r\n-ERR Protocol error: invalid bulk length\r\n", "after one error");
    OK_U64(commands.stats.protocol_errors, 1, "that is counted");
    OK(serve(bytes_of("POST / HTTP/1.1\r\nPING\r\n")) == SERVE_CLOSE, "so does HTTP");

    static char many[9 * 1000 + 1];
    for (size_t i = 0; i < 1000; i++)
        memcpy(many + 9 * i, "COMMAND\r\n", 9);
    uint64_t before = commands.stats.total_commands_processed;
    size_t at = 0, turns = 0;
    do {
        output = output_over(reply, OUTPUT_ROOM);
        status = commands_serve(&commands, &session, (struct bytes){many + at, 9000 - at}, &output, now, &consumed);
        at += consumed;
        turns++;
    } while (status == SERVE_AGAIN && output.size > 0);
    OK(status == SERVE_MORE && at == 9000 && turns > 10, "long answers come in pieces that fit (%zu)", turns);
    OK_U64(commands.stats.total_commands_processed - before, 1000, "each exactly once");
}

/* The longest answers that there can be. */
static void test_longest(void)
{
    set_scene(NULL, false);
    node.peer_count = 0;
    char name[NODE_NAME_BYTES];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < NODE_PEERS_MAX; i++) {
        add_peer(name, i == 0);
        struct peer_report *peer = &node.peers[i];
        memset(peer->gossip_address, 'a', sizeof peer->gossip_address - 1);
        peer->incarnation = peer->lag_batches = peer->log_batches = (uint64_t)INT64_MAX;
        peer->heard_ago_ns = peer->round_trip_ns = UINT64_MAX - 1;
        peer->config_differs = true;
    }
    struct error error;
    const struct limit_terms terms = {.capacity = LIMIT_CAPACITY_MAX,
                                      .rate = LIMIT_CAPACITY_MAX,
                                      .period_ns = 60000000000u,
                                      .overshoot = 1};
    limits.count = NAMED_LIMITS_MAX;
    for (size_t i = 0; i < NAMED_LIMITS_MAX; i++) {
        bool fine = named_limit_init(&limits.limit[i], bytes_of(name), &terms, &error);
        assert(fine);
    }
    static const char *const lines[] = {"NODES\n", "CLUSTER NODES\n", "INFO\n", "COMMAND\n", "COMMAND DOCS\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        session.protocol = 3;
        (void)ask(lines[i]);
        OK(reply[0] != '-' && output.size < OUTPUT_REPLY_MAX_BYTES, "the longest %.*s has %zu bytes",
           (int)strlen(lines[i]) - 1, lines[i], output.size);
    }
}

int main(void)
{
    test_session();
    test_password();
    test_frames();
    test_longest();
    end_scene();
    return tap_done();
}
