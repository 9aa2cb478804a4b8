/* The commands against a node that answers from a script and writes down what it was asked. */
#include "tests/lib/scripted_commands.h"
#include "tests/lib/tap.h"

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
    test_catalog();
    test_cluster();
    end_scene();
    return tap_done();
}
