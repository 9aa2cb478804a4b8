/*
 * verdict_report: what a client is told of a decision, in every protocol.
 *
 * The one idea: a report has the figures of the rule that decided: the rule that refused, or else the rule that is
 * nearest to its limit. RESP, HTTP and gRPC write reports, each protocol in its own form. An answer that is
 * remembered by an idempotency key is kept as a report is (replay.h). No text, no allocation.
 */
#ifndef HEADGATE_COMMANDS_VERDICT_REPORT_H
#define HEADGATE_COMMANDS_VERDICT_REPORT_H

#include "commands/ask.h"

/* The index of the charge that decided, or -1 if none did. One that is over its soft limit decides where all allow. */
int decision_of(const struct match *match, bool allowed, const struct verdict *verdicts);
/*
 * The rule that denies the request for good, by a list or a limit of 0; of a request that is allowed, the soft rule
 * that would. It decided, whatever decision_of says. NULL: none denies for good.
 */
const struct matched *decision_denier(const struct match *match, bool allowed);
/* True: the request is allowed, and a soft rule would have denied it. */
bool decision_is_over(const struct match *match, bool allowed, const struct verdict *verdicts);

/* The figures of a verdict that clients are told. -1: there is none. */
struct verdict_figures {
    int64_t limit, remaining, available; /* tokens */
    int64_t retry_after_ms;              /* -1: never */
    int64_t reset_after_ms;
};

static inline struct verdict_figures verdict_figures(const struct verdict *verdict)
{
    return (struct verdict_figures){.limit = (int64_t)verdict->limit_tokens,
                                    .remaining = (int64_t)verdict->remaining_tokens,
                                    .available = (int64_t)verdict->available_tokens,
                                    .retry_after_ms = verdict->allowed ? 0 : call_ms(verdict->retry_after_ns),
                                    .reset_after_ms = call_ms(verdict->reset_after_ns)};
}

/* What a client is told. -1: there is no such figure, or never. */
struct verdict_report {
    bool allowed;
    bool over_limit; /* it is allowed, and over the limit of a soft rule */
    bool drained;    /* the request takes what is left: `taken` tokens */
    uint64_t taken;
    int decider; /* the charge that decided; -1: none did */
    enum verdict_reason reason;
    struct bytes rule; /* empty: none decided */
    struct verdict_figures figures;
    int64_t window_ms; /* -1 until verdict_window_ms has found it */
};

/* All but the window. */
struct verdict_report verdict_report_of(const struct match *match, bool allowed, const struct verdict *verdicts);
/* In how long the limit of the charge is full again, or its window; -1: of none. */
int64_t verdict_window_ms(const struct commands *commands, const struct match *match, int decider);
/* The same with the window, for HTTP and gRPC: there a refusal that nothing counted has no time of a reset. */
struct verdict_report verdict_report(const struct commands *commands, const struct match *match, bool allowed,
                                     const struct verdict *verdicts);

/* The rules that a request falls under: those that count it first, and then those that only passed it or denied it. */
static inline uint32_t verdict_counted(const struct match *match)
{
    return match->status == MATCH_CHARGES ? match->count : 0;
}

static inline uint32_t verdict_rules(const struct match *match)
{
    return verdict_counted(match) + match->passed_count;
}

static inline const struct matched *verdict_rule(const struct match *match, uint32_t index)
{
    const uint32_t counted = verdict_counted(match);
    return index < counted ? &match->rule[index] : &match->passed[index - counted];
}

/* What one of these rules said by itself. */
struct verdict_report verdict_report_of_rule(const struct match *match, const struct verdict *verdicts,
                                             uint32_t index);

#endif
