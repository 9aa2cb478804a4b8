/*
 * hot_state: the memory of struct hot, which hot.c writes and hot_view.c reads. Internal to the two.
 */
#ifndef HEADGATE_COMMANDS_HOT_STATE_H
#define HEADGATE_COMMANDS_HOT_STATE_H

#include "base/random.h"
#include "commands/hot.h"

#include <stdatomic.h>

enum {
    HOT_CACHE = 64,                      /* rules that are found without comparing names: a power of two */
    HOT_WAYS = 8,                        /* places that a name may have */
    HOT_SETS = HOT_NAMES_MAX / HOT_WAYS, /* a power of two */
    HOT_PANES = 2,                       /* the present one and the past one */
};

/* A rule with a tier. */
struct hot_rule {
    uint64_t names; /* see hot_found; 0: free */
    uint64_t noted_ns;
    uint64_t pane_number[HOT_OVERS]; /* the number of the present pane: time divided by its length */
    char service[RULE_NAME_MAX_BYTES + 1], rule[RULE_NAME_MAX_BYTES + 1], tier[RULE_NAME_MAX_BYTES + 1];
    struct hitters pane[HOT_BYS][HOT_OVERS][HOT_PANES];
};

struct hot_cached {
    const struct rule_counter *counter; /* NULL: free */
    uint8_t tier;                       /* one more than that of match_tier; 0: none */
    uint16_t rule;                      /* index */
};

struct hot_named {
    uint64_t fingerprint;
    uint64_t used; /* falls behind while others are used; 0: free */
    char name[HOT_NAME_BYTES];
};

struct hot {
    atomic_bool lock; /* covers everything but `cached` and `random`, which readers never look at */
    uint64_t edition; /* of the rules that `cached` is about */
    uint64_t used;
    struct hot_named *named; /* HOT_NAMES_MAX; NULL: names are not remembered */
    struct random random;
    struct hot_cached cached[HOT_CACHE];
    struct hot_rule rule[HOT_RULES_MAX];
};

/* Brings the panes of a rule up to the time. */
void hot_turn(struct hot_rule *rule, uint64_t now_ns);
struct hot_named *hot_named(const struct hot *hot, uint64_t fingerprint);

#endif
