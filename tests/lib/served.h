/*
 * served: a single node, its commands and one client, in a world whose time the test moves.
 *
 * The one idea: a test speaks only as a client: it sends bytes and reads replies. Replies are shown
 * as short texts: numbers as they are, texts in quotes, (nil), +OK, !errors, [arrays].
 */
#ifndef HEADGATE_TESTS_LIB_SERVED_H
#define HEADGATE_TESTS_LIB_SERVED_H

#include "commands/commands.h"
#include "tests/lib/decisions.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"
#include "wire/reply.h"
#include "wire/resp.h"

#include <assert.h>
#include <stdlib.h>

enum {
    SERVED_NODES_MAX = 20000,
    SERVED_TEXT_BYTES = 512 * 1024,
    SERVED_WORDS_MAX = 64,
    SERVED_EVENTS_MAX = 1 << 16, /* see WORLD_EVENTS_MAX */
};
#define SERVED_MS ((uint64_t)1000000)
/* A Saturday, 2026-11-21 00:00:00 UTC: a whole hour, day and window of any length that divides a day. */
#define SERVED_WALL_NS ((uint64_t)1795219200 * 1000000000)

struct served_state {
    struct test_limits limits;
    struct node_options options;
    struct node *node;
    struct effects effects;
    struct commands commands;
    struct session session;
    uint64_t now_ns, wall_ns;
    uint32_t waited_steps; /* steps while clients waited for the result of changes */
    char reply[2 * OUTPUT_REPLY_MAX_BYTES], told[SERVED_TEXT_BYTES];
    size_t told_size;
    struct reply_node nodes[SERVED_NODES_MAX];
};
extern struct served_state served;

void served_step(struct event event);

void served_submit(void *context, const struct event *event, struct rules_result *result);

/* Lets time pass. The node is woken whenever it asked for it; in a long time, only near its end. */
void served_wait_ns(uint64_t ns);

void served_wait_ms(uint64_t ms);

/*
 * Plans a world with "default": 100 tokens, 100 a second, and "slow": 5 tokens, one a minute. The
 * config names peers that the node never hears.
 */
void served_plan(uint64_t table_keys, uint32_t peers);

/* Begins the world. A test may change the plan between served_plan and this call. */
void served_begin(void);

void served_open_with(uint64_t table_keys, uint32_t peers);

void served_open(void);

void served_close(void);

/* ---- asking ---- */

/* The replies to these bytes, with blanks between them. */
const char *served_send(struct bytes input);

/* One call of commands_serve for a session: the answer is served.reply, and `output` has its size. */
enum serve_status served_call(struct session *session, const char *text, struct output *output, size_t *consumed);

/* Sends an inline line. */
const char *served_ask(const char *line);

/* Sends words; the last argument must be NULL. */
const char *ask_words(const char *first, ...);

/* Sends RULE SET with a text; a failure is shown. */
bool set_rules(const char *yaml);

/* True: the last reply contains `piece`. */
bool served_told(const char *piece);

#endif
