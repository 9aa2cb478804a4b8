#include "commands/observe.h"

#include "commands/commands.h"
#include "commands/hot.h"
#include "rules/match_shape.h"

void observe_init(struct observer *observer)
{
    observer->until_sample = observer->hot != NULL ? hot_next_sample(observer->hot) : INT64_MAX;
}

static void note(struct commands *commands, enum hot_by by, const struct matched *matched, struct key_id identity,
                 const struct asker *asker, uint32_t index, uint64_t now_ns)
{
    struct hot *hot = commands->observer.hot;
    const struct ruleset *rules = node_rules(commands->node);
    const uint64_t fingerprint = hot_fingerprint(identity);
    if (!hot_note(hot, rules, ruleset_edition(rules), by, matched, fingerprint, now_ns)) {
        commands->stats.hot_left_out++;
        return;
    }
    char name[HOT_NAME_BYTES];
    if (hot_wants_name(hot, fingerprint) && asker_name(asker, index, matched, name, sizeof name))
        hot_name(hot, fingerprint, name);
}

/* Notes the keys of request number `index`: of a refused one those that refused it, of a drawn one all. */
static void note_request(struct commands *commands, const struct observed *observed, const struct asker *asker,
                         uint32_t index, enum hot_by by, uint64_t now_ns)
{
    const struct match *match = observed->match;
    if (match->status == MATCH_DENIED) {
        const struct matched *denied = &match->passed[match->denied_by];
        note(commands, by, denied, denied->identity, asker, index, now_ns);
        return;
    }
    for (uint32_t i = 0; i < match->count; i++) {
        const size_t at = (size_t)index * match->count + i;
        if (by == HOT_REFUSED &&
            (match->charge[i].shadow || (observed->verdict != NULL && observed->verdict[at].allowed)))
            continue;
        note(commands, by, &match->rule[i], match_identity(match, i, observed->ids[at]), asker, index, now_ns);
    }
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
