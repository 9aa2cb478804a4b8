/*
 * grant_places keeps own grants until they have settled, by key. A batch tells those whose spends it has. Of many
 * grants a step looks at a part.
 */
#include "cluster/spend/grant_places.h"

#include "cluster/codec/batch.h"
#include "cluster/spend/grant.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

enum {
    KEY_GRANTS_MAX = 64, /* of one key; from then on two of them become one */
    SWEPT = 256,         /* places in one sweep */
};

/* of one key, where one more is made */
#define GRANTED_TOKENS_MAX (UINT32_MAX - GRANT_TOKENS_MAX)

/* From this place of a chain on: the key's oldest grant that is left; PLACE_NONE: there is none. */
static uint32_t grant_from(const struct node *node, struct key_id id, uint32_t place)
{
    while (place != PLACE_NONE && !key_id_equal(node->rights.grant[place].id, id))
        place = places_next(&node->rights.grant_places, place);
    return place;
}

static uint32_t first_grant(const struct node *node, struct key_id id)
{
    return grant_from(node, id, places_first(&node->rights.grant_places, id.high));
}

static uint32_t next_grant(const struct node *node, uint32_t place)
{
    return grant_from(node, node->rights.grant[place].id, places_next(&node->rights.grant_places, place));
}

static void free_place(struct node *node, struct grant *grant)
{
    places_give_back(&node->rights.grant_places, grant->id.high, (uint32_t)(grant - node->rights.grant));
    *grant = (struct grant){0};
}

static bool is_told_now(const struct node *node, const struct grant *grant)
{
    return grant->tokens > 0 && grant->maker_uid == node->origin[node->my_slot].uid;
}

/*
 * Two grants of the key that are told and have not settled become one: while somebody is silent, none settles. None
 * becomes larger than a grant may be, so all of them still fit spend.granted. True: a place is free.
 */
static bool fold_grants(struct node *node, struct key_id id)
{
    struct grant *least = NULL;
    for (uint32_t at = first_grant(node, id); at != PLACE_NONE; at = next_grant(node, at)) {
        struct grant *grant = &node->rights.grant[at];
        if (grant->settled || !is_told_now(node, grant))
            continue;
        if (least && least->tokens + grant->tokens <= GRANT_TOKENS_MAX) {
            least->tokens += grant->tokens;
            least->sequence = grant->sequence > least->sequence ? grant->sequence : least->sequence;
            free_place(node, grant);
            return true;
        }
        least = least && least->tokens <= grant->tokens ? least : grant;
    }
    return false;
}

/*
 * A told grant whose place another one takes: while somebody is silent, the grants of all keys would need one. From now
 * on the log says what is granted, which takes longer.
 */
static void drop_grant(struct node *node)
{
    struct rights *rights = &node->rights;
    for (uint32_t i = 0; i < rights->grant_places.end; i++) {
        rights->grants_at = places_turn(&rights->grant_places, rights->grants_at);
        struct grant *grant = &rights->grant[rights->grants_at];
        if (!is_told_now(node, grant))
            continue;
        rights->dropped_ns = node->now_ns;
        free_place(node, grant);
        return;
    }
}

/* Under whatever limits the batch has the key. */
static uint64_t granted_in(const struct batch *batch, struct key_id id)
{
    uint64_t tokens = 0;
    const struct spend *spend;
    for (uint32_t from = 0; (spend = batch_find_next(batch, &from, id)) != NULL;)
        tokens += spend->granted;
    return tokens;
}

/* What the logs of this node say: grants that are told and have not settled. */
static uint64_t granted_in_logs(const struct node *node, struct key_id id)
{
    uint64_t tokens = 0;
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (node->origin[slot].mine)
            LIST_EACH(const struct batch, batch, &node->origin[slot].log, link)
                tokens += granted_in(batch, id);
    return tokens;
}

bool grants_concern(const struct node *node, struct key_id id, uint64_t *tokens)
{
    const bool in_logs = node->rights.dropped_ns > 0;
    *tokens = in_logs ? granted_in_logs(node, id) : 0;
    bool some = *tokens > 0;
    for (uint32_t at = first_grant(node, id); at != PLACE_NONE; at = next_grant(node, at)) {
        const struct grant *grant = &node->rights.grant[at];
        some = true;
        *tokens += grant->settled || (in_logs && grant->maker_uid != 0) ? 0 : grant->tokens;
    }
    return some;
}

struct grant *grant_obtain(struct node *node, struct key_id id)
{
    struct places *places = &node->rights.grant_places;
    uint32_t count = 0;
    uint64_t granted;
    if (grants_concern(node, id, &granted) && granted > GRANTED_TOKENS_MAX)
        return NULL;
    for (uint32_t at = first_grant(node, id); at != PLACE_NONE; at = next_grant(node, at))
        count++;
    if ((count >= KEY_GRANTS_MAX || places->count == places->room) && !fold_grants(node, id) &&
        places->count == places->room)
        drop_grant(node);
    const uint32_t place = places_take(places, id.high);
    return place == PLACE_NONE ? NULL : &node->rights.grant[place];
}

/* ---- how grants are told ---- */

/*
 * Tells the grants of the spend; one that does not fit it belongs to a later spend of the key. The key may have gone
 * over to another limit since it was granted: its spend has that one then.
 */
static uint32_t tell_of(struct node *node, const struct spend *spend, uint64_t sequence, struct batch_grant *grants,
                        uint32_t told)
{
    uint64_t tokens = 0;
    for (uint32_t at = first_grant(node, spend->id); at != PLACE_NONE; at = next_grant(node, at)) {
        struct grant *grant = &node->rights.grant[at];
        if (grant->maker_uid != 0 || tokens + grant->tokens > spend->granted)
            continue;
        tokens += grant->tokens;
        grant->maker_uid = node->origin[node->my_slot].uid;
        grant->sequence = sequence;
        node->rights.grants_untold--;
        if (told < BATCH_GRANTS_MAX)
            grants[told++] = (struct batch_grant){.id = grant->id,
                                                  .holder_uid = grant->holder_uid,
                                                  .spare = grant->spare,
                                                  .ask = grant->ask,
                                                  .tokens = grant->tokens};
    }
    return told;
}

uint32_t grants_tell(struct node *node, const struct spend *spends, uint32_t count, uint64_t sequence,
                     struct batch_grant *grants)
{
    uint32_t told = 0;
    for (uint32_t i = 0; i < count && node->rights.grants_untold > 0; i++)
        if (spends[i].granted > 0)
            told = tell_of(node, &spends[i], sequence, grants, told);
    return told;
}

static uint32_t untold_of(const struct node *node, struct key_id id)
{
    uint32_t count = 0;
    for (uint32_t at = first_grant(node, id); at != PLACE_NONE; at = next_grant(node, at))
        count += node->rights.grant[at].maker_uid == 0;
    return count;
}

uint32_t grants_end(const struct node *node, const struct spend *spends, uint32_t from, uint32_t end)
{
    uint32_t count = 0;
    if (node->rights.grants_untold <= BATCH_GRANTS_MAX)
        return end;
    for (uint32_t i = from; i < end; i++) {
        count += spends[i].granted > 0 ? untold_of(node, spends[i].id) : 0;
        if (count > BATCH_GRANTS_MAX && i > from)
            return i;
    }
    return end;
}

void grants_move(struct node *node, const struct batch *batch, uint32_t origin_uid, uint64_t sequence)
{
    for (uint32_t i = 0; i < node->rights.grant_places.end; i++) {
        struct grant *grant = &node->rights.grant[i];
        if (grant->tokens == 0 || grant->maker_uid != batch->origin_uid || grant->sequence < batch->first ||
            grant->sequence > batch->last)
            continue;
        grant->maker_uid = origin_uid;
        grant->sequence = sequence;
    }
}

/* ---- grants that have settled ---- */

static bool has_settled(const struct node *node, const struct grant *grant)
{
    int slot = is_told_now(node, grant) ? (int)node->my_slot
               : grant->maker_uid != 0  ? origin_find_uid(node, grant->maker_uid)
                                        : -1;
    if (slot < 0)
        return grant->maker_uid != 0;
    const struct list *log = &node->origin[slot].log;
    return list_empty(log) || LIST_OWNER(log->next, const struct batch, link)->first > grant->sequence;
}

/* Nothing of the key is unsettled any more: see own_tokens in return.c. */
static bool is_forgotten(const struct node *node, const struct grant *grant)
{
    const struct entry *entry = table_find(node->table, grant->id);
    return !entry || entry->bucket.unsettled == 0;
}

void grants_sweep(struct node *node)
{
    struct rights *rights = &node->rights;
    const struct places *places = &rights->grant_places;
    for (uint32_t i = 0; i < SWEPT && i < places->end; i++) {
        rights->grants_at = places_turn(places, rights->grants_at);
        struct grant *grant = &rights->grant[rights->grants_at];
        grant->settled |= grant->tokens > 0 && has_settled(node, grant);
        if (grant->settled && is_forgotten(node, grant))
            free_place(node, grant);
    }
    if (rights->dropped_ns > 0 && origins_have_settled(node, rights->dropped_ns + 1))
        rights->dropped_ns = 0;
}
