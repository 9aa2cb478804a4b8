/*
 * top: `headgate top`, the state of a daemon and what it decides each second, drawn anew in a terminal.
 *
 * The one idea: everything comes from INFO, which any client may ask. top_read.c turns its text into struct top;
 * top_print.c prints the difference of two; top.c has the terminal, the clock and the connection.
 */
#ifndef HEADGATE_OPERATOR_TOP_H
#define HEADGATE_OPERATOR_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TOP_NAME_BYTES = 64,
    TOP_RULE_BYTES = 136, /* "service/id" */
    TOP_CLOCK_BYTES = 12,
    TOP_PEERS_MAX = 64,
    TOP_RULES_MAX = 128, /* INFO shows 100 */
};

struct top_peer {
    char name[TOP_NAME_BYTES], region[TOP_NAME_BYTES], state[TOP_NAME_BYTES];
    bool self, config_differs;
    bool forgotten; /* `state` is "left" since it was forgotten */
    double share;
    int64_t heard_ms; /* less than 0: never */
    uint64_t lag, log;
    char clock[TOP_CLOCK_BYTES]; /* as NODES has it; "": not measured, or the daemon does not say it */
    double clock_rate;           /* of the median of all; 0: not measured */
    uint64_t clock_jumps;
};

struct top_rule {
    char name[TOP_RULE_BYTES];
    uint64_t allowed, denied, shadow_denied, over_limit;
};

struct top {
    uint64_t at_ms; /* when it was asked, on a clock that never goes back */
    char node[TOP_NAME_BYTES], region[TOP_NAME_BYTES], version[TOP_NAME_BYTES], state[TOP_NAME_BYTES];
    double share;
    uint64_t uptime_s, admitted, refused, keys, clients, memory_bytes, worst_debt, rules_left_out;
    uint32_t peer_count, rule_count;
    struct top_peer peer[TOP_PEERS_MAX];
    struct top_rule rule[TOP_RULES_MAX];
};

/* From the text of INFO. False: it is none of a daemon. What there is no room for is left out. */
bool top_read(struct top *top, const char *info, uint64_t at_ms);

/*
 * What happened from `before` to `now`, for people, in at most `rows` lines of `columns` letters that end with `end`.
 * `before` is NULL at first: there are no figures a second yet.
 */
void top_print(FILE *out, const struct top *before, const struct top *now, uint32_t rows, uint32_t columns,
               const char *end);
/* The same for programs: one line of JSON. */
void top_print_json(FILE *out, const struct top *before, const struct top *now);

#endif
