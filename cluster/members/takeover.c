/*
 * takeover is the protocol of docs/notebook/takeover.md; the numbers of its rules stand here as (1) to (9). What must
 * have ended in time counts from the earliest moment and 0.99 times `after`; whoever must wait until others have
 * ended waits for 1.02 times `after`, by the time in which it ran. Clocks may differ by 1%.
 *
 * Two things differ from the model, for more than three peers: a peer lowers its allowance when it records, not when
 * a majority has, and settles without the gone one when all for whom it waits have lowered theirs.
 */
#include "cluster/members/takeover.h"

#include "cluster/members/takeover_right.h"

#include <string.h>

/* (3), and the end of (6). */
static void change_sayings(struct takeover *takeover, struct takeover_time time)
{
    for (uint32_t i = 0; i < takeover->count; i++) {
        struct takeover_peer *peer = &takeover->peer[i];
        if (!takeover_is_awaited(takeover, i))
            continue;
        if (peer->saying == SAYS_NOTHING && time.awake_ns - peer->said_awake_ns > takeover_waiting_ns(takeover))
            peer->saying = SAYS_OWNED;
        if (peer->saying == SAYS_OWNED && takeover->acted &&
            time.awake_ns - peer->heard_awake_ns > takeover_waiting_ns(takeover))
            peer->saying = SAYS_DISOWNED;
    }
}

bool takeover_expire(struct takeover *takeover, struct takeover_time time)
{
    if (takeover->after_ns == 0)
        return false;
    const bool ends = takeover_acts(takeover) && time.now_ns >= takeover_right_ends_ns(takeover);
    if (ends)
        takeover_lapse(takeover);
    if (!takeover->renews && time.awake_ns - takeover->born_awake_ns > takeover_waiting_ns(takeover)) { /* (9) */
        takeover->renews = true;
        takeover->renews_since_ns = time.now_ns;
    }
    change_sayings(takeover, time);
    takeover_derive(takeover);
    return ends;
}

/* ---- what is heard ---- */

/* Our messages have not renewed its right for so long that no renewal of ours counts any more. */
static bool has_not_renewed(const struct takeover *takeover, uint32_t index, struct takeover_time time)
{
    const struct takeover_peer *peer = &takeover->peer[index];
    return !peer->was_renewed || time.awake_ns - peer->renewed_awake_ns > takeover_waiting_ns(takeover);
}

static void owe(struct takeover_peer *peer, uint64_t incarnation)
{
    if (!peer->owed || peer->owed_incarnation < incarnation)
        peer->owed_incarnation = incarnation;
    peer->owed = true;
}

static void record(struct takeover *takeover, uint32_t index)
{
    struct takeover_peer *peer = &takeover->peer[index];
    peer->recorded = true;
    peer->lease_ns = 0;
    owe(peer, peer->incarnation);
}

/*
 * (5) Who joins believes only an agreed record, and is believed only about one. Nobody believes a record of a peer
 * whose right it has renewed lately: the peer may count on that.
 */
static void believe(struct takeover *takeover, const struct takeover_word *word, struct takeover_time time)
{
    for (uint32_t i = 0; i < takeover->count; i++) {
        const bool agreed = (word->takes & takeover_bit(i)) != 0;
        const bool told = agreed || ((word->records & takeover_bit(i)) != 0 && takeover->acted && word->acted);
        if (told && takeover_is_awaited(takeover, i) && has_not_renewed(takeover, i, time))
            record(takeover, i);
        if (agreed && takeover->peer[i].recorded)
            takeover->peer[i].taken = true; /* all for whom the teller waits have lowered theirs */
    }
}

/* Others have lowered their allowances for a peer of which this node has not heard that it acts again. */
static void adopt_owed(struct takeover *takeover, const struct takeover_word *word)
{
    for (uint32_t i = 0; i < takeover->count; i++) {
        struct takeover_peer *peer = &takeover->peer[i];
        if ((word->owes & takeover_bit(i)) != 0 && takeover_is_other(takeover, i) && !peer->owed &&
            !peer->word.acted && peer->incarnation > 0)
            owe(peer, peer->incarnation - 1);
    }
}

void takeover_hear(struct takeover *takeover, uint32_t index, const struct takeover_word *word, uint64_t made_ns,
                   struct takeover_time time)
{
    struct takeover_peer *peer = &takeover->peer[index];
    if (takeover->after_ns == 0 || !takeover_is_other(takeover, index) || takeover_ignores(takeover, index) ||
        word->number <= peer->word.number)
        return;
    peer->word = *word;
    peer->word_ns = made_ns;
    const uint64_t lease_ns = made_ns + takeover_counting_ns(takeover);
    if (word->renews_us && made_ns > 0 && takeover->renews && made_ns >= takeover->renews_since_ns &&
        lease_ns > peer->lease_ns)
        peer->lease_ns = lease_ns; /* (1) */
    believe(takeover, word, time);
    adopt_owed(takeover, word);
    takeover_derive(takeover);
}

void takeover_heard(struct takeover *takeover, uint32_t index, struct takeover_time time)
{
    struct takeover_peer *peer = &takeover->peer[index];
    if (takeover->after_ns == 0 || !takeover_is_other(takeover, index))
        return;
    peer->heard_awake_ns = time.awake_ns;
    if (peer->saying == SAYS_DISOWNED && !peer->recorded) { /* (6) */
        peer->saying = SAYS_NOTHING;
        peer->said_awake_ns = time.awake_ns;
    }
}

bool takeover_ignores(const struct takeover *takeover, uint32_t index)
{
    return takeover->peer[index].recorded;
}

void takeover_started(struct takeover *takeover, uint32_t index, uint64_t incarnation, struct takeover_time time)
{
    struct takeover_peer *peer = &takeover->peer[index];
    if (takeover->after_ns == 0 || !takeover_is_other(takeover, index))
        return;
    peer->incarnation = incarnation;
    peer->is_away = peer->recorded = peer->taken = false;
    peer->saying = SAYS_OWNED;
    peer->heard_awake_ns = time.awake_ns;
    peer->was_renewed = false;
    peer->word = (struct takeover_word){0};
    for (uint32_t i = 0; i < takeover->count; i++) {
        struct takeover_word *word = &takeover->peer[i].word;
        word->disowns &= ~takeover_bit(index);
        word->records &= ~takeover_bit(index);
        word->takes &= ~takeover_bit(index);
    }
    takeover_derive(takeover);
}

void takeover_is_away(struct takeover *takeover, uint32_t index, bool for_good)
{
    struct takeover_peer *peer = &takeover->peer[index];
    if (takeover->after_ns == 0 || !takeover_is_other(takeover, index) || (peer->recorded && !for_good))
        return;
    peer->is_away = true;
    peer->lease_ns = 0;
    if (for_good)
        peer->recorded = peer->taken = peer->owed = false;
    takeover_derive(takeover);
}

/* ---- what this node does ---- */

/* (4) */
static bool may_record(const struct takeover *takeover, uint32_t index, struct takeover_time time)
{
    uint64_t weight = takeover->peer[takeover->me].weight, rest = weight;
    bool is_last = true; /* of those who are left: its word is the only one that may be missing */
    if (!takeover_is_awaited(takeover, index) || takeover->peer[index].saying != SAYS_DISOWNED ||
        !has_not_renewed(takeover, index, time))
        return false;
    for (uint32_t i = 0; i < takeover->count; i++) {
        const struct takeover_peer *peer = &takeover->peer[i];
        if (i == index || !takeover_is_awaited(takeover, i))
            continue;
        rest += peer->weight;
        is_last = false;
        if ((peer->word.disowns & takeover_bit(index)) != 0 && peer->word_ns > 0 &&
            time.now_ns < peer->word_ns + takeover_counting_ns(takeover))
            weight += peer->weight;
    }
    return !is_last && takeover_is_majority(takeover, weight) && takeover_is_majority(takeover, rest);
}

/* (5) A majority of those that have acted has recorded it, and all who are waited for have lowered their allowances. */
static bool may_take(const struct takeover *takeover, uint32_t index)
{
    uint64_t weight = takeover->acted ? takeover->peer[takeover->me].weight : 0;
    bool all_owe = true;
    for (uint32_t i = 0; i < takeover->count; i++) {
        const struct takeover_peer *peer = &takeover->peer[i];
        if (i == index || !takeover_is_awaited(takeover, i))
            continue;
        weight += peer->word.acted && (peer->word.records & takeover_bit(index)) != 0 ? peer->weight : 0;
        all_owe &= (peer->word.owes & takeover_bit(index)) != 0;
    }
    return takeover_is_majority(takeover, weight) && all_owe;
}

/* Everybody for whom this node waits renews its right, and they are a majority. */
static bool all_renew(const struct takeover *takeover, struct takeover_time time)
{
    for (uint32_t i = 0; i < takeover->count; i++)
        if (takeover_is_awaited(takeover, i) && time.now_ns >= takeover->peer[i].lease_ns)
            return false;
    return time.now_ns < takeover_right_ends_ns(takeover);
}

/* Someone is gone, or has started anew since this node's right lapsed. */
static bool is_changed(const struct takeover *takeover)
{
    for (uint32_t i = 0; i < takeover->count; i++) {
        const struct takeover_peer *peer = &takeover->peer[i];
        if (takeover_is_other(takeover, i) &&
            (!takeover_is_awaited(takeover, i) || peer->owed || peer->incarnation != peer->then))
            return true;
    }
    return false;
}

/* (7) and (8) */
static bool act(struct takeover *takeover, const struct takeover_view *view, struct takeover_time time)
{
    const bool renewed = all_renew(takeover, time) && view->is_covered;
    if (takeover->acted) {
        if (!takeover->lapsed || !renewed || is_changed(takeover))
            return false;
        takeover->lapsed = false;
        return true;
    }
    const bool was_ready = takeover->is_ready;
    takeover->is_ready = renewed && takeover->renews && takeover->has_table && view->serves;
    if (!was_ready || !takeover->is_ready || !view->is_settled)
        return false;
    takeover->acted = true;
    takeover->is_ready = false;
    return true;
}

/* The end of (8): whoever was gone acts again, and all that it told is applied. */
static bool end_debts(struct takeover *takeover, const struct takeover_view *view)
{
    bool ended = false;
    for (uint32_t i = 0; i < takeover->count; i++) {
        struct takeover_peer *peer = &takeover->peer[i];
        if (!peer->owed || peer->recorded || !peer->word.acted || peer->incarnation <= peer->owed_incarnation ||
            (view->covers & takeover_bit(i)) == 0)
            continue;
        peer->owed = false;
        ended = true;
    }
    return ended;
}

bool takeover_step(struct takeover *takeover, const struct takeover_view *view, struct takeover_time time)
{
    bool changed = false;
    if (takeover->after_ns == 0)
        return false;
    for (uint32_t i = 0; i < takeover->count && takeover_acts(takeover); i++)
        if (may_record(takeover, i, time)) {
            record(takeover, i);
            changed = true;
        }
    for (uint32_t i = 0; i < takeover->count; i++)
        if (takeover->peer[i].recorded && !takeover->peer[i].taken && may_take(takeover, i)) {
            takeover->peer[i].taken = true;
            changed = true;
        }
    changed |= act(takeover, view, time);
    changed |= end_debts(takeover, view);
    if (takeover_acts(takeover) &&
        time.now_ns >= takeover_right_ends_ns(takeover)) /* who was recorded renews nothing */
        takeover_lapse(takeover);
    takeover_derive(takeover);
    return changed;
}

bool takeover_is_stuck(const struct takeover *takeover, bool serves)
{
    if (takeover->after_ns == 0)
        return false;
    return takeover->acted ? takeover->lapsed : serves && !takeover->has_table;
}

bool takeover_wants_anew(const struct takeover *takeover, const struct takeover_view *view,
                         struct takeover_time time)
{
    if (!takeover_is_stuck(takeover, view->serves) || (takeover->acted && !is_changed(takeover)) ||
        !all_renew(takeover, time))
        return false;
    for (uint32_t i = 0; i < takeover->count; i++) {
        const struct takeover_peer *peer = &takeover->peer[i];
        if (!takeover_is_awaited(takeover, i) || peer->word.number == 0)
            continue;
        const bool joins = !peer->word.acted && !peer->word.is_stuck;
        if (joins || (peer->word.is_stuck && peer->rank < takeover->peer[takeover->me].rank))
            return false; /* one after the other */
    }
    return true;
}

/* ---- what this node says, and what it is told of itself ---- */

bool takeover_renews(const struct takeover *takeover, uint32_t index)
{
    return takeover->after_ns > 0 && takeover->renews && takeover_is_awaited(takeover, index) &&
           takeover->peer[index].incarnation > 0 && takeover->peer[index].saying == SAYS_OWNED;
}

/* A renewal names the newest message that is known here, so it counts from when that was learned, at the latest. */
void takeover_said(struct takeover *takeover)
{
    for (uint32_t i = 0; i < takeover->count; i++)
        if (takeover_renews(takeover, i)) {
            takeover->peer[i].was_renewed = true;
            takeover->peer[i].renewed_awake_ns = takeover->peer[i].heard_awake_ns;
        }
}

void takeover_has_table(struct takeover *takeover)
{
    takeover->has_table = takeover->has_figures = true;
}

void takeover_begin_anew(struct takeover *takeover)
{
    if (takeover->after_ns == 0)
        return;
    takeover->acted = takeover->lapsed = takeover->has_table = takeover->is_ready = false;
    for (uint32_t i = 0; i < takeover->count; i++) {
        struct takeover_peer *peer = &takeover->peer[i];
        peer->lease_ns = 0;
        if (peer->recorded && !peer->taken) /* nobody else may know of that, and it waits for all */
            peer->recorded = peer->owed = false;
    }
    takeover_derive(takeover);
}

void takeover_off(struct takeover *takeover)
{
    memset(takeover, 0, sizeof *takeover);
    takeover_derive(takeover);
}

void takeover_begin(struct takeover *takeover, uint64_t after_ns, const uint64_t *weights, const uint32_t *ranks,
                    uint32_t count, struct takeover_time time)
{
    memset(takeover, 0, sizeof *takeover);
    takeover->after_ns = after_ns;
    takeover->count = count;
    takeover->born_awake_ns = time.awake_ns;
    for (uint32_t i = 0; i < count; i++) {
        takeover->peer[i].weight = weights[i];
        takeover->peer[i].rank = ranks[i];
        takeover->peer[i].heard_awake_ns = time.awake_ns;
        takeover->weight_all += weights[i];
    }
    takeover_derive(takeover);
}
