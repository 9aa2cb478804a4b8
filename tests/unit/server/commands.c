/*
 * The commands against a node that answers from a script and writes down what it was asked.
 */
#include "commands/commands.h"

#include "rules/ruleset.h"
#include "tests/lib/scripted_node.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

/* ---- the scene ---- */

enum { OUTPUT_ROOM = 2 * OUTPUT_REPLY_MAX_BYTES };

static struct node node;
static struct named_limits limits;
static struct commands commands;
static struct session session;
static char reply[OUTPUT_ROOM + 1];
static struct output output;
static const struct turn now = {.now_ns = 1000, .wall_ns = 1000};

static void submit(void *context, const struct event *event, struct rules_result *result)
{
    (void)context;
    if (result != NULL)
        *result = node.result;
    node.event = *event;
    (void)snprintf(node.event_name, sizeof node.event_name, "%s", event->name != NULL ? event->name : "");
    node.events++;
}

/* The config: what it says next. */
static struct reload_report reload_report;
static const char *reload_mistake; /* NULL: none */

static bool reload(void *context, struct reload_report *report, struct error *error)
{
    (void)context;
    *report = reload_report;
    return reload_mistake == NULL || error_set(error, 78, "%s", reload_mistake);
}

static void add_peer(const char *name, bool self)
{
    struct peer_report *peer = &node.peers[node.peer_count++];
    *peer =
        (struct peer_report){.state = PEER_ACTIVE, .self = self, .share = SHARE_ONE / 4, .heard_ago_ns = 1500000};
    (void)snprintf(peer->name, sizeof peer->name, "%s", name);
    (void)snprintf(peer->region, sizeof peer->region, "%s", name);
    (void)snprintf(peer->gossip_address, sizeof peer->gossip_address, "127.0.0.1:7071");
}

static int intern(void *context, const struct limit_terms *terms, struct error *error)
{
    return node_intern_guest_limit(context, terms, error);
}

/* None, but for the limits of the config. */
static void make_rules(void)
{
    struct error error;
    struct ruleset_named named[2];
    for (uint16_t i = 0; i < 2; i++) {
        bool fine = limit_init(&node.terms[i], &limits.limit[i].terms, &error);
        assert(fine);
        named[i] = (struct ruleset_named){.name = bytes_of(limits.limit[i].name),
                                          .id = limits.limit[i].id,
                                          .limit = i,
                                          .capacity = limits.limit[i].terms.capacity};
    }
    const struct ruleset_options options = {.hash_key = &commands.hash_key,
                                            .services_max = 4,
                                            .rules_max = 4,
                                            .service_rules_max = 4,
                                            .named = named,
                                            .named_count = 2,
                                            .named_by_default = 1,
                                            .intern = intern,
                                            .context = &node};
    node.rules = ruleset_create(&options);
    node.book = rulebook_create(&RULEBOOK_LIMITS_DEFAULT, &commands.hash_key);
    assert(node.rules != NULL && node.book != NULL);
}

/* The key under which something is counted. */
static struct key_id key_of(const char *rule, const char *dimension, const char *value)
{
    struct match match;
    struct request request = {.priority = RULE_PRIORITY_NORMAL,
                              .id_count = 1,
                              .cost = 1,
                              .id = {{bytes_of(dimension), bytes_of(value)}},
                              .only_rule = bytes_of(rule)};
    bool fine = ruleset_match(node.rules, &request, 1000, 1000, &match);
    assert(fine && match.count == 1);
    return match.charge[0].id;
}

static uint32_t refused;

static void on_refused(void *context, const char *address, bool barred)
{
    (void)barred;
    (void)context;
    refused += strcmp(address, "127.0.0.1:50000") == 0;
}

static void set_scene(const char *password, bool debug)
{
    struct error error;
    ruleset_destroy(&node.rules);
    rulebook_destroy(&node.book);
    node = (struct node){.tokens = 1000000};
    add_peer("us-east", true);
    add_peer("eu-west", false);
    const struct limit_terms slow = {.capacity = 5, .rate = 1, .period_ns = 60000000000u},
                             fast = {.capacity = 100, .rate = 100, .period_ns = 1000000000u, .overshoot = 20};
    limits = (struct named_limits){.count = 2, .by_default = 1};
    bool fine = named_limit_init(&limits.limit[0], bytes_of("slow"), &slow, &error) &&
                named_limit_init(&limits.limit[1], bytes_of("default"), &fast, &error);
    assert(fine);
    commands = (struct commands){.node = &node,
                                 .limits = &limits,
                                 .name = "us-east",
                                 .region = "us-east",
                                 .version = "1.2.3",
                                 .password = password,
                                 .debug = debug,
                                 .refused = on_refused,
                                 .submit = submit,
                                 .reload = reload};
    hash_key_from_secret(&commands.hash_key, "secret", 6);
    make_rules();
    commands_init(&commands);
    session = (struct session){0};
    session_open(&session, &commands, 7, "127.0.0.1:50000");
}

/* Serves all of `input`, as the listener would; the replies stand in `reply`. */
static enum serve_status serve(struct bytes input)
{
    size_t consumed;
    output = output_over(reply, OUTPUT_ROOM);
    enum serve_status status = commands_serve(&commands, &session, input, &output, now, &consumed);
    assert(status != SERVE_MORE || consumed == input.size);
    reply[output.size] = '\0';
    return status;
}

static const char *ask(const char *line)
{
    (void)serve(bytes_of(line));
    return reply;
}

/* What is answered to a change that was in work. */
static const char *resume(void)
{
    output = output_over(reply, OUTPUT_ROOM);
    bool known = commands_resume(&commands, &session, &output);
    reply[output.size] = '\0';
    return known ? reply : "(in work)";
}

static bool has(const char *piece)
{
    bool found = strstr(reply, piece) != NULL;
    if (!found)
        printf("# \"%s\" is not in: %s\n", piece, reply);
    return found;
}

static bool begins(const char *piece)
{
    bool same = strncmp(reply, piece, strlen(piece)) == 0;
    if (!same)
        printf("# \"%s\" does not begin: %s\n", piece, reply);
    return same;
}

/* The number in the first line of a reply. */
static int count_in(const char *text)
{
    return (int)strtol(text + 1, NULL, 10);
}

/* ---- the tests ---- */

static void test_group(void)
{
    set_scene(NULL, false);
    char stream[4096];
    size_t size = 0;
    for (int i = 0; i < 40; i++)
        size +=
            (size_t)snprintf(stream + size, sizeof stream - size, "*2\r\n$10\r\nCAN_ACCESS\r\n$3\r\nk%02d\r\n", i);
    node.tokens = 39;
    (void)serve((struct bytes){stream, size});
    OK_U64(node.decided, 40, "forty CAN_ACCESS are decided");
    OK(node.calls == 1 && node.tags_prefetched == 40, "in one call, and their tags are asked for before");
    bool ordered = true;
    for (int i = 0; i < 40; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%02d", i);
        struct key_id id = key_of("default", "user", key);
        ordered &= key_id_equal(id, node.asked[i]);
    }
    OK(ordered, "in the order of arrival, each under its own key");
    OK(output.size == 160 && memcmp(reply + 152, ":1\r\n:0\r\n", 8) == 0,
       "the replies are in order: the last one is refused");
    OK_U64(node.limit, 1, "under the default limit");
    OK_U64(commands.stats.total_commands_processed, 40, "and counted");

    OK_STRING(ask("CAN_ACCESS a\nPING\nCAN_ACCESS b 0\nCAN_ACCESS\nCAN_ACCESS c x\nECHO z\n"),
              ":0\r\n+PONG\r\n:1\r\n"
              "-ERR wrong number of arguments for 'can_access' command: "
              "expected can_access key [cost] [PATIENCE ms]\r\n"
              "-ERR cost 'x' is out of range: expected a whole number of tokens from 0 to 1000000000000\r\n"
              "$1\r\nz\r\n",
              "decisions, other commands and mistakes keep their order");
    OK_U64(commands.stats.total_error_replies, 2, "two mistakes are counted");
    node.tokens = 100;
    OK_STRING(ask("CAN_ACCESS a 100\r\nCAN_ACCESS a\r\n"), ":1\r\n:0\r\n", "a cost is taken whole");
}

static void test_named_figures(void)
{
    set_scene(NULL, false);
    node.verdict = (struct verdict){.allowed = true,
                                    .limit_tokens = 100,
                                    .remaining_tokens = 95,
                                    .available_tokens = 31,
                                    .reset_after_ns = 50000001};
    (void)ask("HELLO 3\n");
    OK_STRING(ask("CHECK ip=1.2.3.4 COST 5\n"),
              "%7\r\n$7\r\nallowed\r\n#t\r\n$5\r\nlimit\r\n:100\r\n$9\r\nremaining\r\n:95\r\n$13\r\navailable_"
              "now\r\n:31\r\n"
              "$14\r\nretry_after_ms\r\n:0\r\n$14\r\nreset_after_ms\r\n:51\r\n$4\r\nrule\r\n$7\r\ndefault\r\n",
              "CHECK in RESP3 names its figures");
    (void)ask("CHECK ip=1.2.3.4 WAIT VERBOSE\n");
    OK(begins("%9\r\n$7\r\nallowed\r\n#t\r\n") && has("$7\r\nhold_ms\r\n:0\r\n$5\r\nrules\r\n*1\r\n%14\r\n"),
       "and what options add");
    (void)ask("HELLO 2\n");
    (void)ask("CHECK ip=1.2.3.4 WAIT VERBOSE\n");
    OK(begins("*8\r\n:1\r\n:100\r\n:95\r\n:0\r\n:51\r\n$7\r\ndefault\r\n:0\r\n*1\r\n*28\r\n"),
       "RESP2 has them in fixed places");
}

static void test_check(void)
{
    set_scene(NULL, false);
    node.verdict = (struct verdict){.allowed = true,
                                    .limit_tokens = 100,
                                    .remaining_tokens = 95,
                                    .available_tokens = 31,
                                    .retry_after_ns = 0,
                                    .reset_after_ns = 50000001};
    OK_STRING(ask("CHECK ip=1.2.3.4 COST 5\n"), "*6\r\n:1\r\n:100\r\n:95\r\n:0\r\n:51\r\n$7\r\ndefault\r\n",
              "CHECK");
    struct key_id id = key_of("default", "ip", "1.2.3.4");
    OK(key_id_equal(id, node.asked[0]) && node.cost == 5, "asks for the dimension, value and cost");
    node.verdict = (struct verdict){.limit_tokens = 5, .retry_after_ns = 1, .reset_after_ns = 1000000};
    OK_STRING(ask("CHECK alice RULE slow\n"), "*6\r\n:0\r\n:5\r\n:0\r\n:1\r\n:1\r\n$4\r\nslow\r\n",
              "retry_after is rounded up, reset_after not beyond");
    id = key_of("slow", "user", "alice");
    OK(key_id_equal(id, node.asked[1]) && node.limit == 0, "a rule is another limit and another key");
    node.verdict.retry_after_ns = UINT64_MAX;
    OK_STRING(ask("PEEK alice\n"), "*6\r\n:0\r\n:5\r\n:0\r\n:-1\r\n:1\r\n$7\r\ndefault\r\n", "never is -1");
    OK(node.decided == 2 && node.peeked == 1, "PEEK takes nothing");
    OK_STRING(ask("CHECK alice RULE fast\n"),
              "-ERR unknown rule 'fast' of service 'default': RULE LIST names them all\r\n", "an unknown rule");
    OK_STRING(ask("CAN_ACCESS a=b\n"), ":1\r\n", "CAN_ACCESS of a=b");
    id = key_of("default", "user", "a=b");
    OK(key_id_equal(id, node.asked[2]), "is about the user a=b");
    (void)ask("EXPLAIN alice\n");
    OK(has("user=alice under limit default: capacity 100, rate 100/s\n") && has("97.250 tokens left"), "EXPLAIN");
    OK(count_in(reply) == (int)(output.size - 2 - (size_t)(strchr(reply, '\n') + 1 - reply)),
       "its length is right");
}

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

static void test_catalog(void)
{
    set_scene(NULL, false);
    (void)ask("COMMAND COUNT\n");
    int count = count_in(reply);
    OK(count > 15, "COMMAND COUNT: %d", count);
    (void)ask("COMMAND\n");
    OK(count_in(reply) == count && has("$10\r\ncan_access\r\n:-2\r\n"), "COMMAND");
    (void)ask("COMMAND DOCS\n");
    OK(count_in(reply) == 2 * count && has("$14\r\nclient|setname\r\n"), "COMMAND DOCS");
    (void)ask("COMMAND INFO check nonsense\n");
    OK(begins("*2\r\n*10\r\n$5\r\ncheck\r\n") && has("$-1\r\n"), "COMMAND INFO");
    (void)ask("COMMAND LIST\n");
    OK(count_in(reply) == count, "COMMAND LIST");
    OK_STRING(ask("CONFIG GET save\nCONFIG GET maxmemory\n"), "*2\r\n$4\r\nsave\r\n$0\r\n\r\n*0\r\n", "CONFIG GET");
    (void)ask("SET a b\n");
    OK_STRING(reply, "-ERR unknown command 'SET': COMMAND LIST names what this server knows\r\n",
              "an unknown command");
    (void)ask("\"a\\r\\n-b\\x00\\xff\"\n");
    OK_STRING(reply, "-ERR unknown command 'a?\?-b': COMMAND LIST names what this server knows\r\n",
              "what a client sends cannot break out of an error");
}

static void test_cluster(void)
{
    set_scene(NULL, false);
    (void)ask("CLUSTER NODES\n");
    OK(has("us-east us-east 127.0.0.1:7071 self,active heard_ms=0 ") &&
           has("eu-west eu-west 127.0.0.1:7071 active heard_ms=2 "),
       "CLUSTER NODES");
    (void)ask("NODES\n");
    OK(begins("*2\r\n*54\r\n$4\r\nnode\r\n$7\r\nus-east\r\n") && has("$5\r\nshare\r\n$4\r\n0.25\r\n"),
       "NODES, version 2");
    node.peers[0].share = ((uint64_t)340000000 << 32) / 1000000000;
    (void)ask("NODES\n");
    OK(has("$5\r\nshare\r\n$4\r\n0.34\r\n"),
       "NODES, a share that binary fractions cannot say: 0.34, as in the config");
    node.peers[0].share = SHARE_ONE / 4;
    OK(has("$5\r\nclock\r\n$10\r\nunmeasured\r\n$10\r\nclock_rate\r\n$-1\r\n"), "NODES, unmeasured clocks");
    node.peers[1].clock = CLOCK_SLOW;
    node.peers[1].clock_ppm = -31250, node.peers[1].clock_jumps = 2;
    node.peers[1].wall_known = node.peers[0].forgotten = node.peers[1].passed_over = true;
    node.peers[1].wall_ahead_ms = -40;
    (void)ask("NODES\nCLUSTER NODES\n");
    OK(has("$4\r\nslow\r\n$10\r\nclock_rate\r\n$7\r\n0.96875\r\n$11\r\nclock_jumps\r\n:2\r\n"
           "$15\r\nclock_offset_ms\r\n:-40\r\n") &&
           has(" clock=slow passed_over\n"),
       "NODES, a clock that is slow");
    (void)ask("HELLO 3\nNODES\n");
    OK(has("*2\r\n%27\r\n$4\r\nnode\r\n") && has("$5\r\nshare\r\n,0.25\r\n") && has("$4\r\nself\r\n#t\r\n"),
       "NODES, version 3");
    (void)ask("INFO\n");
    OK(has("# Server\r\n") && has("\r\n# Cluster\r\n") && has(",forgotten=1\r\n") && has(",passed_over=1\r\n") &&
           has("limit_slow:capacity=5,rate=1/m,overshoot=0\r\n") && has("\r\n# Replication\r\nrole:master\r\n"),
       "INFO");
    OK_STRING(ask("INFO keyspace\n"), "$44\r\n# Keyspace\r\ndb0:keys=7,expires=0,avg_ttl=0\r\n\r\n",
              "INFO keyspace has the keys where redis has them");
    OK_STRING(ask("DBSIZE\n"), ":7\r\n", "DBSIZE");
    OK_STRING(ask("TIME\n"), "*2\r\n$1\r\n0\r\n$1\r\n1\r\n", "TIME, a microsecond after 1970");
    (void)ask("INFO memory\n");
    unsigned long long used = 0;
    const char *memory = strstr(reply, "used_memory:");
    OK(memory != NULL && sscanf(memory, "used_memory:%llu", &used) == 1 && used > 100000 &&
           has("used_memory_human:"),
       "INFO memory says %llu bytes", used);
    (void)ask("INFO table persistence\n");
    OK_STRING(reply,
              "$136\r\n# Table\r\nused_keys:7\r\ncapacity_keys:1024\r\ntable_bytes:0\r\nexpired_keys:0\r\n"
              "evicted_harmless_keys:0\r\nevicted_harmful_keys:0\r\nlock_waits:0\r\n\r\n",
              "INFO of one section; unknown ones are passed over");

    OK_STRING(ask("FORGET eu-west\n"), "+WAITS\r\n", "FORGET, where a majority has yet to say so");
    OK(node.event.kind == EVENT_FORGET && strcmp(node.event_name, "eu-west") == 0, "becomes an event of the node");
    (void)ask("FORGET mars\nFORGET us-east\n");
    OK(has("-ERR unknown node 'mars'") && has("-ERR 'us-east' is this node itself") && node.events == 1,
       "an unknown name and one's own are refused");
    (void)ask("DEBUG DROP eu-west\n");
    OK(has("-ERR DEBUG is off: set `debug: true` in the config") && node.events == 1, "DEBUG is off");
    node.peers[1].forgotten = true;
    OK_STRING(ask("FORGET eu-west\n"), "+OK\r\n", "FORGET, where that is enough");

    set_scene(NULL, true);
    OK_STRING(ask("DEBUG DROP eu-west\n"), "+OK\r\n", "DEBUG DROP");
    OK(node.event.kind == EVENT_MUTE && node.event.mute_in && node.event.mute_out, "drops both ways");
    OK(ask("DEBUG DROP eu-west in\n") && node.event.mute_in && !node.event.mute_out, "or what comes in");
    OK(ask("DEBUG DROP eu-west out\n") && !node.event.mute_in && node.event.mute_out, "or what goes out");
    (void)ask("DEBUG DROP eu-west up\n");
    OK(has("-ERR unknown direction 'up': expected in, out or both") && node.events == 3, "not up");
    OK_STRING(ask("DEBUG HEAL\n"), "+OK\r\n", "DEBUG HEAL");
    OK(node.events == 4 && !node.event.mute_in && !node.event.mute_out, "heals everybody else");
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

/* ---- changes of rules that take a while ---- */

static void test_waiting(void)
{
    static const char two[] = "RULE SET {id:x,rate:1/s}\r\nPING\r\n";
    size_t consumed, first = strlen("RULE SET {id:x,rate:1/s}\r\n");
    set_scene(NULL, false);
    node.result = (struct rules_result){.asked = true, .in_work = true, .ticket = 7};
    output = output_over(reply, OUTPUT_ROOM);
    OK(commands_serve(&commands, &session, bytes_of(two), &output, now, &consumed) == SERVE_WAIT &&
           output.size == 0 && consumed == first,
       "a change that takes more than a step is not answered yet, nor is what follows");
    OK_STRING(resume(), "(in work)", "while it is in work");
    node.result.changed_rules = 1;
    node.result_known = true;
    OK_STRING(resume(), "+OK\r\n", "then it is");
    OK_STRING(ask("PING\r\n"), "+PONG\r\n", "and others are served again");
    OK(serve(bytes_of("PING\r\nRULE APPLY {id:x,rate:1/s}\r\n")) == SERVE_WAIT, "what came before is answered");
    OK_STRING(reply, "+PONG\r\n", "at once");
    node.result.changed_rules = 12;
    OK_STRING(resume(), ":12\r\n", "RULE APPLY says how many rules there were");
    (void)serve(bytes_of("RULE APPLY {id:x,rate:1/s}\r\n"));
    node.result.refused = true;
    (void)error_set(&node.result.error, 65, "it is wrong");
    uint64_t errors = commands.stats.total_error_replies;
    OK_STRING(resume(), "-ERR it is wrong\r\n", "or what is wrong");
    OK_U64(commands.stats.total_error_replies - errors, 1, "which is counted");
}

/* ---- RELOAD ---- */

static void test_reload(void)
{
    set_scene(NULL, false);
    reload_report = (struct reload_report){0};
    OK_STRING(ask("RELOAD\n"),
              "*8\r\n$7\r\nchanged\r\n*0\r\n$13\r\nneeds_restart\r\n*0\r\n$16\r\ncertificate_ends\r\n$-1\r\n"
              "$7\r\nrenewed\r\n*0\r\n",
              "RELOAD of a config in which nothing is new");
    reload_report = (struct reload_report){.changes = {.taken = {"log_level", "users"},
                                                       .taken_count = 2,
                                                       .restart = {"interval"},
                                                       .restart_count = 1,
                                                       .renewed = {"peers_tls"},
                                                       .renewed_count = 1},
                                           .certificate_ends_s = 1800000000};
    OK_STRING(ask("RELOAD\n"),
              "*8\r\n$7\r\nchanged\r\n*2\r\n$9\r\nlog_level\r\n$5\r\nusers\r\n"
              "$13\r\nneeds_restart\r\n*1\r\n$8\r\ninterval\r\n$16\r\ncertificate_ends\r\n:1800000000\r\n"
              "$7\r\nrenewed\r\n*1\r\n$9\r\npeers_tls\r\n",
              "what is in force, what waits for a restart, and when the certificate ends");
    (void)ask("HELLO 3\nRELOAD\n");
    OK(has("%4\r\n$7\r\nchanged\r\n*2\r\n"), "a map in version 3");
    reload_mistake = "c.yaml:4: interval is '70s': expected less";
    const uint64_t errors = commands.stats.total_error_replies;
    OK_STRING(ask("RELOAD\n"), "-ERR c.yaml:4: interval is '70s': expected less\r\n", "a mistake is told");
    OK_U64(commands.stats.total_error_replies - errors, 1, "and counted");
    reload_mistake = NULL;
    OK(ask("RELOAD now\n")[0] == '-', "it takes no word");
    (void)ask("MULTI\n");
    OK(ask("RELOAD\n")[0] == '-', "and is no part of a transaction: '%.*s'", (int)strcspn(reply, "\r"), reply);
    set_scene("secret", false);
    OK_STRING(ask("RELOAD\n"), "-NOAUTH Authentication required.\r\n", "nor for strangers");
    const struct config_reads reads = {.failed = 1, .success_s = 1700000000};
    set_scene(NULL, false);
    (void)ask("INFO server\n");
    OK(!has("config_last_reload"), "where nothing reads a config, INFO says nothing of it");
    commands.config_reads = &reads;
    (void)ask("INFO server\n");
    OK(has("config_last_reload_successful:0\r\nconfig_last_reload_success_time:1700000000\r\n"),
       "INFO says how the last time went, and when it last went well");
}

int main(void)
{
    test_reload();
    test_waiting();
    test_group();
    test_named_figures();
    test_check();
    test_session();
    test_password();
    test_catalog();
    test_cluster();
    test_frames();
    test_longest();
    ruleset_destroy(&node.rules);
    rulebook_destroy(&node.book);
    return tap_done();
}
