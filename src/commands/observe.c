#include "commands/observe.h"

#include "commands/call.h"
#include "commands/commands.h"
#include "commands/hot.h"
#include "commands/refusals.h"
#include "rules/match_shape.h"

void observe_init(struct observer *observer)
{
    observer->until_sample = observer->hot != NULL ? hot_next_sample(observer->hot) : INT64_MAX;
}

/* ---- HOT ---- */

static void note(struct commands *commands, enum hot_by by, const struct matched *matched, uint64_t fingerprint,
                 const struct asker *asker, uint32_t index, uint64_t now_ns)
{
    struct hot *hot = commands->observer.hot;
    const struct ruleset *rules = node_rules(commands->node);
    if (!hot_note(hot, rules, ruleset_edition(rules), by, matched, fingerprint, now_ns)) {
        commands->stats.hot_left_out++;
        return;
    }
    char name[HOT_NAME_BYTES];
    if (hot_wants_name(hot, fingerprint) && asker_name(asker, index, matched, name, sizeof name))
        hot_name(hot, fingerprint, name);
}

/* ---- the log of refusals ---- */

/* One key of one refused request. */
struct refused {
    const struct matched *matched;
    const struct charge *charge;   /* NULL: the rule denies it for good */
    const struct verdict *verdict; /* NULL: it was not asked for */
    struct key_id id;              /* of the charge's key */
    uint64_t fingerprint;
    uint32_t index; /* of the request */
};

/* Where no verdict was asked for, the node is asked what it says now, a moment later. NULL: it allows now. */
static const char *reason_of(struct commands *commands, const struct refused *refused, uint64_t now_ns)
{
    struct verdict verdict;
    struct run run = {.charge = refused->charge, .charge_count = 1, .request_count = 1, .verdicts = &verdict};
    if (refused->charge == NULL)
        return verdict_reason_name(match_denial(refused->matched->why));
    if (refused->verdict != NULL)
        return verdict_reason_name(refused->verdict->reason);
    node_decide(commands->node, &run, 1, &refused->id, now_ns);
    return verdict.reason == VERDICT_ALLOWED ? NULL : verdict_reason_name(verdict.reason);
}

static void tell(struct commands *commands, const struct refused *refused, const struct asker *asker,
                 uint64_t now_ns)
{
    struct refusals *refusals = commands->observer.refusals;
    const struct matched *matched = refused->matched;
    char name[HOT_NAME_BYTES] = "";
    uint64_t repeats;
    const struct refusal refusal = {.service = matched->rule->service,
                                    .rule = matched->rule->id,
                                    .tier = match_tier(node_rules(commands->node), matched),
                                    .fingerprint = refused->fingerprint,
                                    .window_ns = refused->charge ? call_window_ns(commands, refused->charge) : 0,
                                    .soft = matched->soft};
    if (!refusals_wants(refusals, &refusal, now_ns, &repeats))
        return;
    if (hot_remembers(commands->observer.hot))
        (void)asker_name(asker, refused->index, matched, name, sizeof name);
    struct refusal_about about = {.region = commands->region,
                                  .node = commands->name,
                                  .reason = reason_of(commands, refused, now_ns),
                                  .name = name,
                                  .repeats = repeats};
    if (asker->trace != NULL)
        about.trace = asker->trace(asker->trace_context);
    refusals_write(refusals, &refusal, &about);
}

/* ---- requests ---- */

static void note_key(struct commands *commands, const struct refused *refused, const struct asker *asker,
                     enum hot_by by, uint64_t now_ns)
{
    note(commands, by, refused->matched, refused->fingerprint, asker, refused->index, now_ns);
    if (by == HOT_REFUSED && commands->observer.refusals != NULL)
        tell(commands, refused, asker, now_ns);
}

/* Of request number `index` the key of charge number `i`. */
static struct refused refused_at(const struct observed *observed, uint32_t index, uint32_t i)
{
    const struct match *match = observed->match;
    const size_t at = (size_t)index * match->count + i;
    return (struct refused){
        .matched = &match->rule[i],
        .charge = &match->charge[i],
        .verdict = observed->verdict != NULL ? &observed->verdict[at] : NULL,
        .id = observed->ids[at],
        .fingerprint = hot_fingerprint(match_identity(match, i, observed->ids[at])),
        .index = index,
    };
}

static struct refused refused_for_good(const struct matched *denied, uint32_t index)
{
    return (struct refused){.matched = denied, .fingerprint = hot_fingerprint(denied->identity), .index = index};
}

/* Notes the keys of request number `index`: of a refused one those that refused it, of a drawn one all. */
static void note_request(struct commands *commands, const struct observed *observed, const struct asker *asker,
                         uint32_t index, enum hot_by by, uint64_t now_ns)
{
    const struct match *match = observed->match;
    if (match->status == MATCH_DENIED) {
        const struct refused refused = refused_for_good(&match->passed[match->denied_by], index);
        note_key(commands, &refused, asker, by, now_ns);
        return;
    }
    for (uint32_t i = 0; i < match->count; i++) {
        const struct refused refused = refused_at(observed, index, i);
        if (by == HOT_REFUSED && (refused.matched->shadow || (refused.verdict != NULL && refused.verdict->allowed)))
            continue;
        note_key(commands, &refused, asker, by, now_ns);
    }
}

/* Tells the log of refusals which soft rules allowed request number `index` although it is over their limits. */
static void tell_soft(struct commands *commands, const struct observed *observed, const struct asker *asker,
                      uint32_t index, uint64_t now_ns)
{
    const struct match *match = observed->match;
    for (uint32_t i = 0; i < match->count; i++) {
        const struct refused refused = refused_at(observed, index, i);
        if (refused.matched->soft && refused.verdict != NULL && !refused.verdict->allowed)
            tell(commands, &refused, asker, now_ns);
    }
    for (uint32_t i = 0; i < match->passed_count; i++) {
        const struct refused refused = refused_for_good(&match->passed[i], index);
        if (refused.matched->soft && match_why_denies(refused.matched->why))
            tell(commands, &refused, asker, now_ns);
    }
}

void observe_soft(struct commands *commands, const struct observed *observed, const struct asker *asker,
                  uint64_t now_ns)
{
    for (uint32_t i = 0; i < observed->count && commands->observer.refusals != NULL; i++)
        if (observed->allowed >> i & 1)
            tell_soft(commands, observed, asker, i, now_ns);
}

void observe(struct commands *commands, const struct observed *observed, const struct asker *asker, uint64_t now_ns)
{
    struct observer *observer = &commands->observer;
    if (observer->hot == NULL)
        return;
    for (uint32_t i = 0; i < observed->count; i++)
        if (!(observed->allowed >> i & 1))
            note_request(commands, observed, asker, i, HOT_REFUSED, now_ns);
    while (observer->until_sample <= 0) {
        const int64_t index = observer->until_sample + observed->count - 1;
        note_request(commands, observed, asker, (uint32_t)index, HOT_ASKED, now_ns);
        observer->until_sample += hot_next_sample(observer->hot);
    }
}

uint32_t observe_hots(const struct commands *commands, struct hot **hots)
{
    const struct commands_worker_threads *threads = commands->worker_threads;
    uint32_t count = 0;
    if (commands->observer.hot == NULL)
        return 0;
    if (threads == NULL)
        hots[count++] = commands->observer.hot;
    for (uint32_t i = 0; threads != NULL && i < threads->count; i++)
        hots[count++] = threads->member[i]->observer.hot;
    return count;
}
