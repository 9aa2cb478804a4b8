/*
 * command_rules: the arguments of RULE SET, RULE APPLY, RULE LIST and HEALTH.
 *
 * The one idea: texts of rules are passed on unread; src/rules gives them their meaning. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_RULES_H
#define HEADGATE_WIRE_COMMAND_RULES_H

#include "base/bytes.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COMMAND_NOTE_MAX_BYTES = 127,
    COMMAND_SAMPLES_MAX = 60, /* latency samples in one command */
};

#define COMMAND_WATCH_MAX_MS 604800000u /* a week */
#define COMMAND_LATENCY_MAX_NS 3600000000000u

struct command_apply {
    struct bytes text;         /* YAML; empty if `staged` */
    bool staged;               /* the client has sent the text before, in chunks */
    bool verbose;              /* the client asks for warnings */
    bool prune;                /* rules of the services of the text end if it does not name them */
    bool dry_run;              /* nothing changes: the answer says what would */
    uint32_t share_millionths; /* the share of keys that get the new version first; 0: all keys at once */
    uint32_t threshold_millionths;
    uint64_t watch_ms;
    struct bytes note; /* may be empty */
};

/* Sets the option of that name ("canary"): see command_parse_apply. The end checks them together. */
bool command_apply_option(struct command_apply *apply, struct bytes name, struct bytes value, char *error);
bool command_apply_end(struct command_apply *apply, char *error);
/* Parses RULE SET and RULE APPLY; the arity must be checked. */
bool command_parse_apply(const struct resp_command *command, struct command_apply *apply, char *error);

struct command_list {
    struct bytes service; /* empty: all services */
    bool after;           /* true: only rules behind the named one */
    struct bytes after_service, after_id;
};

/* Parses RULE LIST. */
bool command_parse_list(const struct resp_command *command, struct command_list *list, char *error);

enum command_health_kind { HEALTH_ASKED, HEALTH_GIVEN, HEALTH_LATENCIES };

struct command_health {
    enum command_health_kind kind;
    struct bytes service;
    uint32_t health_millionths;
    uint32_t sample_count;
    uint64_t latency_ns[COMMAND_SAMPLES_MAX];
};

/* Parses HEALTH; the arity must be checked. All three functions return false with a sentence for
 * the client in `error` (COMMAND_ERROR_BYTES). */
bool command_parse_health(const struct resp_command *command, struct command_health *health, char *error);

#endif
