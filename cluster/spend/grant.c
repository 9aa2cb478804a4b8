/*
 * grant answers asks of peers out of this node's own allowance, and keeps the figures that grants need:
 * which of them have not settled, and which keys had any lately. A peer whose own clients use a key keeps as
 * much as they have spent lately; one that asks for the key itself keeps all.
 */
#include "cluster/spend/grant.h"

#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/message.h"
#include "cluster/spend/grant_places.h"
#include "cluster/spend/key_view.h"
#include "cluster/spend/level.h"
#include "cluster/spend/limits.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/record.h"
#include "cluster/spend/spenders.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/voucher_whole.h"
#include "cluster/state/origin.h"
#include "cluster/state/step.h"
#include "limit/kind.h"

#include <string.h>

_Static_assert(GRANTED_AHEAD_NS >= VOUCHER_LIFE_NS + VOUCHER_LIFE_NS / 16,
               "a grant counts until it cannot be used");

enum {
    /* others count the life of a voucher from when they heard of it, and their clocks may be fast */
    GRANTED_LIFE_PART = 16,
    LEAP_INTERVALS = 2,
};

/* ---- which keys have had grants ---- */

/*
 * By awake_ns(), which gains no more than an interval when the clock of this node leaps and the others' do not: else
 * it would forget what others still hold.
 */
static uint64_t granted_until_ns(const struct node *node)
{
    return awake_ns(node) + VOUCHER_LIFE_NS + VOUCHER_LIFE_NS / GRANTED_LIFE_PART +
           LEAP_INTERVALS * node->options.interval_ns;
}

/* `again`: the tokens were noted before. */
static void note_granted(struct node *node, struct key_id id, uint64_t tokens, bool again)
{
    struct granted_group *group = &node->rights.granted[id.high % GRANTED_GROUPS];
    struct granted_key *place = NULL;
    for (uint32_t i = 0; i < GRANTED_GROUP_KEYS; i++) {
        struct granted_key *key = &group->key[i];
        if (key->until_ns > awake_ns(node) && key_id_equal(key->id, id)) {
            key->tokens = again ? key->tokens : number_sum(key->tokens, tokens);
            key->until_ns = granted_until_ns(node);
            return;
        }
        if (!place && key->until_ns <= awake_ns(node))
            place = key;
    }
    if (place)
        *place = (struct granted_key){id, tokens, awake_ns(node), granted_until_ns(node)};
    else
        group->blind_until_ns = granted_until_ns(node);
}

void granted_note(struct node *node, const struct batch *batch, bool is_own)
{
    for (uint32_t i = 0; i < batch->grant_count; i++)
        note_granted(node, batch->grant[i].id, batch->grant[i].tokens, is_own);
}

void granted_unknown_of(struct node *node, struct key_id id)
{
    note_granted(node, id, UINT64_MAX, false);
}

void granted_unknown(struct node *node)
{
    node->rights.blind_until_ns = granted_until_ns(node);
}

/* Tokens that were used before the first of these grants are not among them. */
static uint64_t less_used(const struct granted_key *key, uint64_t used, uint64_t used_age_ns, uint64_t now_ns)
{
    const bool among = key->tokens < UINT64_MAX && now_ns - key->since_ns >= used_age_ns;
    return among ? key->tokens - number_least(used, key->tokens) : key->tokens;
}

uint64_t granted_tokens(const struct node *node, struct key_id id, uint64_t used, uint64_t used_age_ns)
{
    const uint64_t now_ns = awake_ns(node);
    const struct granted_group *group = &node->rights.granted[id.high % GRANTED_GROUPS];
    if (now_ns < node->rights.blind_until_ns || now_ns < group->blind_until_ns)
        return UINT64_MAX;
    for (uint32_t i = 0; i < GRANTED_GROUP_KEYS; i++)
        if (group->key[i].until_ns > now_ns && key_id_equal(group->key[i].id, id))
            return less_used(&group->key[i], used, used_age_ns, now_ns);
    return 0;
}

/* ---- what may be granted ---- */

/*
 * The part of the asker's wish that is asked of this node, by the shares and rounded up. A node that has the whole is
 * asked for all.
 */
static int64_t wanted_units(const struct ask_record *ask, const struct limit *limit, uint64_t share)
{
    uint64_t token = (uint64_t)limit->units_per_token;
    uint128 units =
        (uint128)number_least(ask->tokens, limit->capacity) * token + ((uint128)token * ask->parts >> SPARE_BITS);
    /* a log has no parts of a token: one more of each is a whole one */
    const uint128 up = kind_lists(limit->kind) ? ask->among - 1 : ask->among;
    const uint128 part = share == SHARE_ONE ? units : (units * share + up) / ask->among;
    const int64_t most = limit->capacity_units + (ask->whole ? limit->lent_units : 0);
    return part < (uint128)most ? (int64_t)part : most;
}

/*
 * Units of the key that this node may spend for a peer. It keeps as many as its own clients have spent lately, since
 * they will want as many again. Unsettled spends are recent: they were made within about a round trip. `bucket`: the
 * level of the key.
 */
static int64_t spare_units(const struct node *node, const struct entry *entry, const struct bucket *bucket)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    int64_t units = bucket_allowance(bucket, &node->by_limit.budget[entry->limit]) - bucket->unsettled;
    uint64_t tokens;
    (void)grants_concern(node, entry->id, &tokens);
    int64_t granted = (int64_t)tokens * limit->units_per_token;
    return bucket->unsettled > granted ? units - (bucket->unsettled - granted) : units;
}

/*
 * Where two nodes are short of the same key, the node whose name comes first has the right of way. Otherwise each
 * would spend for itself, and neither would have enough.
 */
static bool yields(struct node *node, const struct member *asker, struct key_id id)
{
    if (strcmp(asker->name, node->options.name) > 0)
        return !voucher_asked_lately(node, id);
    voucher_yield(node, id);
    return true;
}

static bool may_answer(struct node *node, uint32_t index, const struct ask_record *ask, const struct limit *limit)
{
    struct member *member = &node->member[index];
    if (member->answered_incarnation != member->incarnation) {
        member->answered_incarnation = member->incarnation;
        member->answered_ask = 0;
    }
    if (ask->number <= member->answered_ask)
        return false;
    member->answered_ask = ask->number;
    return may_decide(node) && member->state == PEER_ACTIVE && !node->sharing.alone &&
           voucher_is_understood(node, limit) && (limit->flags & LIMIT_SPLIT) == 0 &&
           ask->live_ns >= (kind_expires(limit->kind) ? CELL_STEP_NS : 0) && step_has_time(node, 1) &&
           yields(node, member, ask->id) && outbox_has_room(node, 1) && !node->log.full;
}

/* Whole tokens and the parts that are missing to them, so that the grant is at least so much. */
static void split_units(int64_t units, const struct limit *limit, struct grant *grant)
{
    uint64_t token = (uint64_t)limit->units_per_token;
    grant->tokens = ((uint64_t)units - 1) / token + 1;
    uint64_t missing = grant->tokens * token - (uint64_t)units;
    grant->spare = (uint32_t)(((uint128)missing << SPARE_BITS) / token);
}

/* Returns the units that were granted, at least `units`, which are above 0; 0: there is no room. */
static int64_t make_grant(struct node *node, struct entry *entry, int64_t units, uint32_t holder_slot, uint64_t ask)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    struct grant *grant = can_record(node, entry) && outbox_has_room(node, 1) && bucket_can_grant(limit)
                              ? grant_obtain(node, entry->id)
                              : NULL;
    if (!grant)
        return 0;
    *grant = (struct grant){.id = entry->id, .holder_uid = node->origin[holder_slot].uid, .ask = ask};
    split_units(units, limit, grant);
    node->rights.grants_untold++;
    units = grant_units(limit, grant->tokens, grant->spare);
    note_open(own_thread(node), node->now_ns);
    bucket_grant(&entry->bucket, limit, units, node->now_ns);
    record_granted(node, entry, grant->tokens, grant->spare);
    note_granted(node, entry->id, grant->tokens, false); /* no return may fill their room before they are told */
    voucher_lack_granted(node, entry->id, units);
    if (holder_slot != node->my_slot)
        spenders_note_charge(node, entry, node->origin[holder_slot].member, units);
    node->stats.rights_granted++;
    node->stats.rights_granted_tokens += grant->tokens;
    return units;
}

/*
 * A grant of few units is not rounded. Only while a peer is silent, it is rounded down to whole tokens: peers charge
 * parts of tokens at once then (uncharged.c). A grant of many units is one of whole tokens, rounded up if there are
 * as many to spare. A node that has the whole share grants its last token, too.
 */
static int64_t rounded_units(const struct node *node, int64_t units, int64_t spare, uint16_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    const bool whole = node->by_limit.budget[index].share == SHARE_ONE;
    int64_t token = limit->units_per_token;
    if (!whole || (spare < GRANT_WHOLE_TOKENS * token && (units < spare ? units : spare) % token != 0))
        spare -= grant_rounding_units(limit);
    int64_t most = (int64_t)number_least(limit->capacity, GRANT_TOKENS_MAX) * token;
    units = units < spare ? units : spare;
    units = units < most ? units : most;
    if (units < GRANT_WHOLE_TOKENS * token)
        return node->awake.somebody_silent && !whole ? units - units % token : units;
    return (units / token + (units % token > 0 && units / token < spare / token)) * token;
}

/*
 * The window as it was when the peer asked, since an ask does not tell its age. The spends of the window before count
 * for more than they do by now, never for less.
 */
static struct key_window window_of(const struct ask_record *ask, uint64_t now_ns)
{
    return (struct key_window){.previous = ask->previous,
                               .window_ns = ask->window_ns,
                               .end_ns = number_sum(now_ns, ask->left_ns)};
}

/*
 * A key that has a former limit of its rule, or that of another tier, goes over to the asked one, as where a client of
 * this node asks under that. A key of which nothing would be left stays as it is: there is nothing to grant, and what
 * it owes beyond the asked limit would be forgotten.
 */
static bool is_under(struct node *node, struct entry *entry, uint16_t index, uint64_t expires_ns)
{
    const struct limit *from = &node->limits.limit[entry->limit], *to = &node->limits.limit[index];
    enum bucket_inherit how;
    if (from == to)
        return true;
    if (!limits_go_over(node, entry->limit, index, &how))
        return false;
    bucket_refill(&entry->bucket, from, &node->by_limit.budget[entry->limit], node->now_ns);
    const int64_t used = from->capacity_units - entry->bucket.settled + entry->bucket.unsettled;
    const uint64_t most = how == INHERIT_PROPORTIONAL ? from->capacity : to->capacity;
    if (used > 0 && (uint64_t)(used / from->units_per_token) >= most)
        return false;
    const struct charge asked = {.id = entry->id,
                                 .limit = index,
                                 .inherit = (uint8_t)how,
                                 .expires_ns = expires_ns};
    key_view_convert(node, entry, &asked, node->now_ns);
    return true;
}

void grant_answer(struct node *node, uint32_t member, const struct ask_record *ask, uint16_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    const struct budget *budget = &node->by_limit.budget[index];
    int holder = origin_find(node, member, node->member[member].incarnation);
    if (!node->rights.shared || (limit->home != 0 && budget->share == 0) || !may_answer(node, member, ask, limit) ||
        holder < 0)
        return;
    uint64_t expires_ns = kind_expires(limit->kind) ? node->now_ns + ask->live_ns : 0;
    struct entry *entry = table_obtain_nobodys(node->table, ask->id, index, expires_ns, node->now_ns);
    if (!is_under(node, entry, index, expires_ns))
        return;
    if (kind_expires(limit->kind) && entry->bucket.expires_ns < expires_ns)
        entry->bucket.expires_ns = expires_ns;
    bucket_refill(&entry->bucket, limit, budget, node->now_ns);
    step_works(node, 1);
    voucher_give_back_for(node, ask->id);
    const struct key_window window = window_of(ask, node->now_ns);
    const struct bucket level = level_of(node, &entry->bucket, index, &window, node->now_ns);
    const int64_t wanted = wanted_units(ask, limit, budget->share), spare = spare_units(node, entry, &level);
    const int64_t units = ask->whole && budget->share == SHARE_ONE && node->rights.listed
                              ? grant_whole_units(limit, wanted, spare)
                              : rounded_units(node, wanted, spare, index);
    if (units > 0 && make_grant(node, entry, units, (uint32_t)holder, ask->number) > 0)
        todo_add(&node->todo, DO_ANSWER); /* somebody waits for it */
}

int64_t grant_own(struct node *node, struct entry *entry, const struct bucket *level, int64_t units, uint64_t ask)
{
    int64_t spare = bucket_allowance(level, &node->by_limit.budget[entry->limit]) - level->unsettled;
    units = rounded_units(node, units, spare, entry->limit);
    return units > 0 ? make_grant(node, entry, units, node->my_slot, ask) : 0;
}
