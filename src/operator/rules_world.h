/*
 * rules_world: one node that is alone, on a clock that the caller moves, to ask what rules would answer.
 *
 * The one idea: what decides is the daemon's own node, with its own reader of rules and of requests, so that an answer
 * here is the answer of a daemon that is alone. No threads, no files, no sockets. Each world begins on Monday,
 * 2026-01-05 00:00 UTC, with full keys and without rules; what no rule counts is allowed.
 */
#ifndef HEADGATE_OPERATOR_RULES_WORLD_H
#define HEADGATE_OPERATOR_RULES_WORLD_H

#include "base/bytes.h"
#include "base/error.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stdint.h>

struct rules_world;

/* NULL: `error` says why. */
struct rules_world *rules_world_create(struct error *error);
void rules_world_destroy(struct rules_world **world);

/* Adds or changes the rules of a text; `file` names it in sentences. False: `error` says what is wrong. */
bool rules_world_apply(struct rules_world *world, struct bytes text, const char *file, struct error *error);
void rules_world_wait(struct rules_world *world, uint64_t ns);

struct rules_answer {
    bool allowed, over_limit;
    char rule[RULE_NAME_MAX_BYTES + 1]; /* the rule that decided; "": none */
    int64_t limit, remaining;           /* -1: no rule counts it */
    int64_t retry_after_ms;             /* -1: never */
    int64_t taken;                      /* with DRAIN; else -1 */
};

/* Takes tokens as CHECK does; `words` are those behind CHECK. False: `error` says what is wrong with them. */
bool rules_world_ask(struct rules_world *world, const char *words, struct rules_answer *answer,
                     struct error *error);

#endif
