/*
 * await looks at the verdicts of a refused request. Where a share alone refuses, it asks for what waits, and
 * lets the request wait.
 */
#include "cluster/spend/await.h"

#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"

/* Nothing is left of the whole limit that the request could have. */
static bool is_of_limit(const struct verdict *verdict)
{
    return verdict->reason == VERDICT_CAPACITY || verdict->reason == VERDICT_TOO_LARGE;
}

/*
 * A refusal of those who may not overtake: as if what others wait for were taken already. Tokens of a voucher count as
 * left, though the whole limit may be spent because of them.
 */
static void refuse_behind(struct node *node, const struct charge *charge, const struct await *await,
                          uint64_t now_ns, struct verdict *verdict)
{
    const uint64_t left = verdict->remaining_tokens + voucher_tokens(node, charge->id, charge->limit, now_ns);
    const bool is_enough = left >= await->ahead_tokens + charge->cost;
    if (verdict_is_of_share(verdict) && !is_enough) {
        verdict->reason = VERDICT_CAPACITY;
    } else if (is_of_limit(verdict) && is_enough) {
        verdict->reason = VERDICT_SHARE;
        verdict->retry_after_ns = 0;
    }
    if (verdict->retry_after_ns == 0)
        verdict->retry_after_ns = node->options.interval_ns;
}

/*
 * A request that waits already goes on waiting when others have got the last tokens: more refill, and what was granted
 * to this node is known to be spent a moment before it is here.
 */
static bool may_wait(const struct node *node, const struct charge *charge, const struct verdict *verdict,
                     bool waits_already)
{
    if (charge->patience_ms == 0 || (charge->on_isolation == ISOLATION_CLOSED && node->awake.somebody_silent))
        return false;
    return verdict_is_of_share(verdict) || (waits_already && is_of_limit(verdict));
}

static void hold_by(const struct charge *charge, struct await *await)
{
    if (!await->held) {
        await->key = charge->id;
        await->tokens = charge->cost * (1 + (uint64_t)await->repeats);
        await->patience_ms = charge->patience_ms;
    } else if (charge->patience_ms < await->patience_ms) {
        await->patience_ms = charge->patience_ms;
    }
    await->held = true;
}

bool await_hold(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                struct verdict *verdicts, struct await *await)
{
    const bool again = await_is_again(await);
    bool all_wait = !await->last;
    for (size_t i = 0; i < count; i++) {
        if (verdicts[i].allowed || charges[i].shadow)
            continue;
        if (await_is_behind(await, &charges[i]))
            refuse_behind(node, &charges[i], await, now_ns, &verdicts[i]);
        if (all_wait && may_wait(node, &charges[i], &verdicts[i], again))
            hold_by(&charges[i], await);
        else
            all_wait = false;
    }
    await->held = await->held && all_wait;
    for (size_t i = 0; i < count && await->held; i++) {
        if (!verdict_is_of_share(&verdicts[i]) || charges[i].shadow)
            continue;
        const uint64_t more = charges[i].cost * await->repeats;
        if (again)
            voucher_note_waiting(node, &charges[i], await->waiting_tokens, now_ns);
        else if (!voucher_note_waits(node, &charges[i], more))
            voucher_note_waiting(node, &charges[i], charges[i].cost + more, now_ns);
    }
    return await->held;
}
