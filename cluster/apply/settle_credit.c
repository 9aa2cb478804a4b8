/*
 * settle_credit changes credits in own batches of the log, in spends of one key. Where the key had several limits
 * meanwhile, it has spends under each of them.
 */
#include "cluster/apply/settle_credit.h"

#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/log/merge.h"
#include "cluster/spend/outbox.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

enum {
    CREDITED_MOST = 64, /* batches that are looked at for a later credit: those of some round trips */
    LOOKS_MOST = 512    /* limits in them under which the key is looked for */
};

/* How credits are changed, and in which spends of own batches. */
struct crediting {
    uint64_t (*change)(struct spend *spend, uint64_t tokens);
    const struct batch *of; /* of this one only what is under later limits than spend `behind`; NULL: of none */
    uint32_t behind;
    uint32_t looks; /* the key is looked for under so many limits more; 0: only under the one that it has now */
    bool credited;  /* only batches with a credit count */
    uint32_t most;  /* of an origin, at most so many that count are looked at, `of` among them */
};

static uint64_t change_found(struct node *node, struct batch *batch, const struct spend *found, uint64_t tokens,
                             const struct crediting *how)
{
    if (!found)
        return 0;
    const uint64_t before = found->credit, changed = how->change(&batch->spend[found - batch->spend], tokens);
    merge_note_credit(node, batch, found, before);
    return changed;
}

/* Changes the credit of the key's spend under its present limit in an own batch. Returns what `change` does. */
static uint64_t change_of_limit(struct node *node, const struct entry *entry, struct batch *batch, uint64_t tokens,
                                const struct crediting *how)
{
    if (batch == how->of)
        return 0;
    return change_found(node, batch, batch_find(batch, entry->limit, entry->id), tokens, how);
}

/* The same of its spends under all limits, as long as something is left of `tokens`. Returns the sum. */
static uint64_t change_of_all(struct node *node, const struct entry *entry, struct batch *batch, uint64_t tokens,
                              struct crediting *how)
{
    uint32_t from = batch == how->of ? batch_next_limit(batch, how->behind) : 0;
    uint64_t left = tokens;
    for (; left > 0 && how->looks > 0 && from < batch->spend_count; how->looks--) {
        left -= change_found(node, batch, batch_find(batch, batch->spend[from].limit, entry->id), left, how);
        from = batch_next_limit(batch, from);
    }
    return tokens - left;
}

/* The same in own batches, the oldest first. Returns the sum. */
static uint64_t change_credits(struct node *node, const struct entry *entry, uint64_t tokens, struct crediting *how)
{
    const bool all = how->looks > 0;
    uint64_t left = tokens;
    for (uint32_t i = 0; i < node->origin_end; i++) {
        const struct origin *own = &node->origin[i];
        uint64_t most = number_least(how->most, how->credited ? own->credited_count : own->log_count);
        if (!own->mine)
            continue;
        for (struct list *at = own->log.next; at != &own->log && left > 0 && most > 0; at = at->next) {
            struct batch *batch = LIST_OWNER(at, struct batch, link);
            if (!batch->credited && how->credited)
                continue;
            most--;
            left -=
                all ? change_of_all(node, entry, batch, left, how) : change_of_limit(node, entry, batch, left, how);
            if (all && how->looks == 0)
                return tokens - left;
        }
    }
    return tokens - left;
}

static uint64_t take_credit(struct spend *spend, uint64_t tokens)
{
    const uint64_t taken = number_least(spend->credit, tokens);
    spend->credit -= taken;
    return taken;
}

uint64_t settle_credit_take_later(struct node *node, struct entry *entry, const struct batch *batch, uint32_t index,
                                  uint64_t tokens, bool any_limit)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const bool at_home = limit->home != 0 && node->by_limit.budget[entry->limit].share == SHARE_ONE;
    if (kind_lists(limit->kind))
        return 0;
    struct crediting how = {.change = take_credit,
                            .of = batch,
                            .behind = index,
                            .looks = any_limit ? LOOKS_MOST : 0,
                            .credited = true,
                            .most = at_home ? UINT32_MAX : CREDITED_MOST};
    uint64_t taken = change_credits(node, entry, tokens, &how);
    if (taken < tokens && (how.looks > 0 || !any_limit) && outbox_has_open(node, entry))
        taken += take_credit(outbox_open_spend(node, entry), tokens - taken);
    return taken;
}

/* So many tokens of the spend, which were spent for others, are not charged when it settles. */
static uint64_t credit_granted(struct spend *spend, uint64_t tokens)
{
    const uint64_t charged = spend->tokens - number_least(spend->credit, spend->tokens);
    const uint64_t credited = number_least(tokens, number_least(charged, spend->granted));
    spend->credit += credited;
    return credited;
}

void settle_credit_granted(struct node *node, struct entry *entry, uint64_t tokens)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    struct crediting how = {.change = credit_granted, .most = UINT32_MAX};
    const int64_t units = units_of_tokens(limit, change_credits(node, entry, tokens, &how));
    entry->bucket.unsettled -= units < entry->bucket.unsettled ? units : entry->bucket.unsettled;
}

static uint64_t give_credit(struct spend *spend, uint64_t tokens)
{
    const uint64_t given = number_least(spend->tokens - number_least(spend->credit, spend->tokens), tokens);
    spend->credit += given;
    return given;
}

void settle_credit_pass_on(struct node *node, const struct entry *entry, struct batch *batch, uint32_t index)
{
    struct spend *spend = &batch->spend[index];
    const uint64_t before = spend->credit;
    struct crediting how = {.change = give_credit, .of = batch, .behind = index, .looks = LOOKS_MOST};
    if (before <= spend->tokens || kind_lists(node->limits.limit[entry->limit].kind))
        return;
    spend->credit -= change_of_all(node, entry, batch, before - spend->tokens, &how);
    merge_note_credit(node, batch, spend, before);
}
