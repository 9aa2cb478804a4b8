/*
 * command_rules: what RULE APPLY, RULE LIST and HEALTH are told.
 *
 * The texts of rules are passed on as they are; what they mean is not the wire's. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_RULES_H
#define HEADGATE_WIRE_COMMAND_RULES_H

#include "base/bytes.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COMMAND_NOTE_MAX_BYTES = 127,
    COMMAND_SAMPLES_MAX = 60, /* of latency, in one command */
};

#define COMMAND_WATCH_MAX_MS 604800000u /* a week */
#define COMMAND_LATENCY_MAX_NS 3600000000000u

struct command_apply {
    struct bytes text;         /* YAML; empty when `staged` */
    bool staged;               /* the text was sent before, in pieces */
    bool verbose;              /* warnings are asked for */
    uint32_t share_millionths; /* of the keys that get the new version first; 0: all, at once */
    uint32_t threshold_millionths;
    uint64_t watch_ms;
    struct bytes note; /* may be empty */
};

/* RULE SET and RULE APPLY, arity checked. */
bool command_parse_apply(const struct resp_command *command, struct command_apply *apply, char *error);

struct command_list {
    struct bytes service; /* empty: of all */
    bool after;           /* only what follows: */
    struct bytes after_service, after_id;
};

/* RULE LIST. */
bool command_parse_list(const struct resp_command *command, struct command_list *list, char *error);

enum command_health_kind { HEALTH_ASKED, HEALTH_GIVEN, HEALTH_LATENCIES };

struct command_health {
    enum command_health_kind kind;
    struct bytes service;
    uint32_t health_millionths;
    uint32_t sample_count;
    uint64_t latency_ns[COMMAND_SAMPLES_MAX];
};

/* HEALTH, arity checked. All say false with a sentence for the client in `error` (COMMAND_ERROR_BYTES). */
bool command_parse_health(const struct resp_command *command, struct command_health *health, char *error);

#endif
