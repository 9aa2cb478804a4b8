/*
 * scripted_commands: one session of the commands over a scripted node. For unit tests that are linked without the
 * cluster.
 *
 * The one idea: a test sets the scene, asks in lines, and compares what stands in `reply` and what the node was asked.
 */
#ifndef HEADGATE_TESTS_LIB_SCRIPTED_COMMANDS_H
#define HEADGATE_TESTS_LIB_SCRIPTED_COMMANDS_H

#include "commands/commands.h"
#include "rules/ruleset.h"
#include "tests/lib/scripted_node.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUTPUT_ROOM = 2 * OUTPUT_REPLY_MAX_BYTES };

static struct node node;
static struct named_limits limits;
static struct commands commands;
static struct session session;
static char reply[OUTPUT_ROOM + 1];
static struct output output;
static const struct turn now = {.now_ns = 1000, .wall_ns = 1000};

static inline void submit(void *context, const struct event *event, struct rules_result *result)
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

static inline bool reload(void *context, struct reload_report *report, struct error *error)
{
    (void)context;
    *report = reload_report;
    return reload_mistake == NULL || error_set(error, 78, "%s", reload_mistake);
}

static inline void add_peer(const char *name, bool self)
{
    struct peer_report *peer = &node.peers[node.peer_count++];
    *peer =
        (struct peer_report){.state = PEER_ACTIVE, .self = self, .share = SHARE_ONE / 4, .heard_ago_ns = 1500000};
    (void)snprintf(peer->name, sizeof peer->name, "%s", name);
    (void)snprintf(peer->region, sizeof peer->region, "%s", name);
    (void)snprintf(peer->gossip_address, sizeof peer->gossip_address, "127.0.0.1:7071");
}

static inline int intern(void *context, const struct limit_terms *terms, struct error *error)
{
    return node_intern_guest_limit(context, terms, error);
}

/* None, but for the limits of the config. */
static inline void make_rules(void)
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
static inline struct key_id key_of(const char *rule, const char *dimension, const char *value)
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

static inline void on_refused(void *context, const char *address, bool barred)
{
    (void)barred;
    (void)context;
    refused += strcmp(address, "127.0.0.1:50000") == 0;
}

static inline void set_scene(const char *password, bool debug)
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
static inline enum serve_status serve(struct bytes input)
{
    size_t consumed;
    output = output_over(reply, OUTPUT_ROOM);
    enum serve_status status = commands_serve(&commands, &session, input, &output, now, &consumed);
    assert(status != SERVE_MORE || consumed == input.size);
    reply[output.size] = '\0';
    return status;
}

static inline const char *ask(const char *line)
{
    (void)serve(bytes_of(line));
    return reply;
}

/* What is answered to a change that was in work. */
static inline const char *resume(void)
{
    output = output_over(reply, OUTPUT_ROOM);
    bool known = commands_resume(&commands, &session, &output);
    reply[output.size] = '\0';
    return known ? reply : "(in work)";
}

static inline bool has(const char *piece)
{
    bool found = strstr(reply, piece) != NULL;
    if (!found)
        printf("# \"%s\" is not in: %s\n", piece, reply);
    return found;
}

static inline bool begins(const char *piece)
{
    bool same = strncmp(reply, piece, strlen(piece)) == 0;
    if (!same)
        printf("# \"%s\" does not begin: %s\n", piece, reply);
    return same;
}

/* The number in the first line of a reply. */
static inline int count_in(const char *text)
{
    return (int)strtol(text + 1, NULL, 10);
}

static inline void end_scene(void)
{
    ruleset_destroy(&node.rules);
    rulebook_destroy(&node.book);
}

#endif
