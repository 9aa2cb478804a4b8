#include "commands/verdict_report.h"

/* ---- the rule that decided ---- */

int decision_of(const struct match *match, bool allowed, const struct verdict *verdicts)
{
    const struct verdict *best = NULL, *verdict = verdicts;
    for (const struct matched *matched = match->rule, *end = matched + match->count; matched < end;
         matched++, verdict++) {
        if (allowed ? matched->shadow && !matched->soft : matched->shadow || verdict->allowed)
            continue;
        if (!best || verdict_decides_before(verdict, best))
            best = verdict;
    }
    return best ? (int)(best - verdicts) : -1;
}

const struct matched *decision_denier(const struct match *match, bool allowed)
{
    if (!allowed)
        return match->status == MATCH_DENIED ? &match->passed[match->denied_by] : NULL;
    for (uint32_t i = 0; i < match->passed_count; i++)
        if (match->passed[i].soft && match_why_denies(match->passed[i].why))
            return &match->passed[i];
    return NULL;
}

bool decision_is_over(const struct match *match, bool allowed, const struct verdict *verdicts)
{
    if (!allowed)
        return false;
    for (uint32_t i = 0; i < match->count; i++)
        if (match->rule[i].soft && !verdicts[i].allowed)
            return true;
    return decision_denier(match, true) != NULL;
}

/* ---- reports ---- */

static struct verdict_report report_of_charge(const struct match *match, const struct verdict *verdicts, int charge,
                                              bool allowed)
{
    struct verdict_report report = {.allowed = allowed,
                                    .decider = charge,
                                    .reason = allowed ? VERDICT_ALLOWED : verdicts[charge].reason,
                                    .rule = match->rule[charge].rule->id,
                                    .figures = verdict_figures(&verdicts[charge]),
                                    .window_ms = -1};
    if (allowed)
        report.figures.retry_after_ms = 0; /* of a soft rule as well */
    return report;
}

/* Of what counts nothing: no limit, or denied for good. `matched` is the rule; NULL: there is none. */
static struct verdict_report report_of_none(bool allowed, const struct matched *matched)
{
    const int64_t none = (matched != NULL ? match_why_denies(matched->why) : !allowed) ? 0 : -1;
    return (struct verdict_report){.allowed = allowed,
                                   .decider = -1,
                                   .reason = allowed || !matched ? VERDICT_ALLOWED : match_denial(matched->why),
                                   .rule = matched ? matched->rule->id : (struct bytes){"", 0},
                                   .figures = {none, none, none, allowed ? 0 : -1, 0},
                                   .window_ms = -1};
}

struct verdict_report verdict_report_of(const struct match *match, bool allowed, const struct verdict *verdicts)
{
    const struct matched *denier = decision_denier(match, allowed);
    const int decider = match->status == MATCH_CHARGES && !denier ? decision_of(match, allowed, verdicts) : -1;
    struct verdict_report report =
        decider >= 0 ? report_of_charge(match, verdicts, decider, allowed) : report_of_none(allowed, denier);
    report.over_limit = decision_is_over(match, allowed, verdicts);
    return report;
}

int64_t verdict_window_ms(const struct commands *commands, const struct match *match, int decider)
{
    return decider < 0 ? -1 : call_ms(call_window_ns(commands, &match->charge[decider]));
}

struct verdict_report verdict_report(const struct commands *commands, const struct match *match, bool allowed,
                                     const struct verdict *verdicts)
{
    struct verdict_report report = verdict_report_of(match, allowed, verdicts);
    report.window_ms = verdict_window_ms(commands, match, report.decider);
    if (report.decider < 0 && !allowed)
        report.figures.reset_after_ms = -1;
    return report;
}

struct verdict_report verdict_report_of_rule(const struct match *match, const struct verdict *verdicts,
                                             uint32_t index)
{
    const struct matched *matched = verdict_rule(match, index);
    if (index < verdict_counted(match))
        return report_of_charge(match, verdicts, (int)index, verdicts[index].allowed);
    return report_of_none(!match_why_denies(matched->why), matched);
}
