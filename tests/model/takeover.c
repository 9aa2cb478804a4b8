/*
 * The protocol of takeover.h: what each step does, and what follows from it at once. Each step is as free
 * as the protocol allows: who may hear, may also not hear; what may end, may end at any moment.
 */
#include "tests/model/takeover.h"

static unsigned third(unsigned p, unsigned q)
{
    return PEERS - p - q;
}

static bool more_than_half(const struct rules *rules, unsigned weight)
{
    unsigned all = 0;
    for (unsigned p = 0; p < PEERS; p++)
        all += rules->weight[p];
    return 2 * weight > all;
}

static bool has_right(const struct rules *rules, const struct world *w, unsigned p)
{
    unsigned weight = rules->weight[p];
    for (unsigned q = 0; q < PEERS; q++)
        weight += q != p && w->peer[p].of[q].lease ? rules->weight[q] : 0;
    return more_than_half(rules, weight);
}

/* Everybody whom p waits for renews its right, and so has not taken it over: a majority, as ever. */
static bool all_renew(const struct rules *rules, const struct world *w, unsigned p)
{
    for (unsigned q = 0; q < PEERS; q++)
        if (q != p && !w->peer[p].of[q].gone && !w->peer[p].of[q].lease)
            return false;
    return has_right(rules, w, p);
}

bool takeover_acts(const struct world *w, unsigned p)
{
    return w->peer[p].state == ACTIVE && !w->peer[p].lapsed;
}

/* What nobody who is up knows any more is lost, as whatever everybody forgets in crashes: it is held against nobody. */
static void lose(struct world *w)
{
    for (unsigned r = 0; r < PEERS; r++) {
        bool known = false;
        for (unsigned p = 0; p < PEERS; p++)
            known |= w->peer[p].state != DOWN && !(p == r ? w->peer[r].forgot : w->peer[p].of[r].lacks);
        if (known)
            continue;
        w->peer[r].forgot = false;
        for (unsigned p = 0; p < PEERS; p++)
            w->peer[p].of[r].lacks = false;
    }
}

/* q needs the acknowledgement of the third peer, or has one of that peer's former incarnation. */
static bool settles_without(const struct world *w, unsigned q, unsigned p)
{
    const struct peer *other = &w->peer[third(p, q)];
    const struct link *l = &w->peer[q].of[third(p, q)];
    return takeover_acts(w, q) && w->peer[q].of[p].agreed &&
           (l->agreed || l->incarnation != other->incarnation || other->state == DOWN || !other->of[q].lacks);
}

/* What follows at once, whatever the step was. */
static void follow(const struct rules *rules, struct world *w)
{
    for (unsigned p = 0; p < PEERS; p++) {
        struct peer *a = &w->peer[p];
        if (takeover_acts(w, p) && !has_right(rules, w, p)) {
            a->lapsed = true;
            for (unsigned q = 0; q < PEERS; q++)
                a->of[q].unchanged = q != p;
        }
    }
    for (unsigned q = 0; q < PEERS; q++)
        for (unsigned p = 0; p < PEERS; p++)
            if (p != q && settles_without(w, q, p))
                w->peer[p].of[q].lacks = true;
    lose(w);
}

static void know(const struct rules *rules, struct world *w, unsigned p, unsigned q, unsigned incarnation,
                 bool gone)
{
    struct link *l = &w->peer[p].of[q];
    if (incarnation > l->incarnation) {
        *l = (struct link){.incarnation = incarnation,
                           .gone = gone,
                           .saying = OWNS,
                           .lease = l->lease && !gone,
                           .word = l->word,
                           .lacks = l->lacks};
        w->peer[p].of[third(p, q)].word = false; /* it was about the incarnation before */
    } else if (incarnation == l->incarnation && gone) {
        l->gone = true;
        l->lease = false;
    }
    if (gone && incarnation == l->incarnation &&
        more_than_half(rules, rules->weight[p] + rules->weight[third(p, q)]))
        l->agreed = true;
}

static void begin_anew(struct world *w, unsigned p)
{
    struct peer *a = &w->peer[p];
    a->incarnation++;
    a->state = JOINING;
    a->lapsed = a->has_table = false;
    for (unsigned q = 0; q < PEERS; q++) {
        a->of[q].lease = a->of[q].unchanged = false;
        a->of[q].gone &= a->of[q].agreed; /* a record that is not agreed is its former incarnation's alone */
    }
}

static bool may_begin(const struct rules *rules, const struct world *w, unsigned p)
{
    unsigned starts = 0;
    for (unsigned q = 0; q < PEERS; q++)
        starts += w->peer[q].incarnation - 1;
    return w->peer[p].incarnation < rules->incarnation_max && starts < rules->starts_max;
}

/* p has renewed that incarnation of q, and q may count on it. */
static bool still_renews(const struct world *w, unsigned p, unsigned q, unsigned incarnation)
{
    return w->peer[q].incarnation == incarnation && w->peer[q].of[p].lease;
}

/* p hears a message that q makes now. False: nothing can come of it here. */
static bool hear(const struct rules *rules, struct world *w, unsigned p, unsigned q)
{
    struct peer *a = &w->peer[p];
    const struct peer *b = &w->peer[q];
    const struct link *us = &b->of[p], *of_third = &b->of[third(p, q)];
    if (a->state == DOWN || b->state == DOWN || (a->of[q].gone && a->of[q].incarnation == b->incarnation))
        return false;
    know(rules, w, p, q, b->incarnation, false);
    const bool told = of_third->gone && ((a->state == ACTIVE && b->state == ACTIVE) || of_third->agreed);
    know(rules, w, p, third(p, q), of_third->incarnation,
         told && !still_renews(w, p, third(p, q), of_third->incarnation));
    if (of_third->agreed && a->of[third(p, q)].gone && a->of[third(p, q)].incarnation == of_third->incarnation)
        a->of[third(p, q)].agreed = true;
    bool knows_us = us->incarnation == a->incarnation;
    if (knows_us && us->gone) {
        if (!may_begin(rules, w, p))
            return false;
        begin_anew(w, p);
        return true;
    }
    struct link *l = &a->of[q];
    if (knows_us && b->renews && us->saying == OWNS)
        l->lease = true;
    if (knows_us && a->state == ACTIVE && (!a->lapsed || l->unchanged))
        a->of[third(p, q)].lacks &= of_third->lacks; /* q has kept the batches that p lacks */
    l->word = of_third->saying == DISOWNS && of_third->incarnation == a->of[third(p, q)].incarnation;
    return true;
}

static bool disown(const struct rules *rules, struct world *w, unsigned p, unsigned q)
{
    struct link *l = &w->peer[p].of[q];
    if (w->peer[p].state != ACTIVE || l->gone || l->saying != OWNS ||
        (w->peer[q].of[p].lease && rules->plant != PLANT_RECEIPT))
        return false;
    l->saying = DISOWNS;
    return true;
}

/* p has heard q again. It stops saying that it disowns q; it renews when nobody can act on that word any more. */
static bool relent(struct world *w, unsigned p, unsigned q)
{
    struct link *l = &w->peer[p].of[q];
    unsigned other = third(p, q);
    if (w->peer[p].state == DOWN || l->gone || l->saying == OWNS)
        return false;
    if (l->saying == SAYS_NOTHING && w->peer[other].of[p].word)
        return false;
    l->saying = l->saying == DISOWNS ? SAYS_NOTHING : OWNS;
    return true;
}

static bool take_over(const struct rules *rules, struct world *w, unsigned p, unsigned q)
{
    struct link *l = &w->peer[p].of[q];
    unsigned weight = rules->weight[p] + (w->peer[p].of[third(p, q)].word ? rules->weight[third(p, q)] : 0);
    if (l->gone || l->saying != DISOWNS || (!takeover_acts(w, p) && rules->plant != PLANT_LAPSED_TAKES) ||
        w->peer[p].of[third(p, q)].gone || (!more_than_half(rules, weight) && rules->plant != PLANT_MINORITY))
        return false;
    l->gone = true;
    l->lease = false;
    if (more_than_half(rules, rules->weight[p]) || rules->plant == PLANT_MINORITY || rules->plant == PLANT_ALONE)
        l->agreed = true;
    return true;
}

static bool end_lease(struct world *w, unsigned p, unsigned q)
{
    bool was = w->peer[p].of[q].lease;
    w->peer[p].of[q].lease = false;
    return was;
}

static bool end_word(const struct rules *rules, struct world *w, unsigned p, unsigned q)
{
    bool was = w->peer[p].of[q].word;
    if (rules->plant == PLANT_STALE_WORD)
        return false;
    w->peer[p].of[q].word = false;
    return was;
}

static bool crash(struct world *w, unsigned p)
{
    struct peer *a = &w->peer[p];
    unsigned up = 0;
    for (unsigned q = 0; q < PEERS; q++)
        up += w->peer[q].state == ACTIVE;
    if (a->state == DOWN || up < 2)
        return false;
    unsigned incarnation = a->incarnation;
    *a = (struct peer){.state = DOWN, .incarnation = incarnation};
    return true;
}

static bool start(const struct rules *rules, struct world *w, unsigned p)
{
    struct peer *a = &w->peer[p];
    if (a->state != DOWN || !may_begin(rules, w, p))
        return false;
    begin_anew(w, p);
    for (unsigned q = 0; q < PEERS; q++)
        a->of[q].lacks = q != p;
    a->forgot = true;
    return true;
}

/*
 * By now all that its former process has said has ended: its words, and its renewals. Its own right counts from here
 * on, so that whoever renews it has told it whom the others know by now.
 */
static bool begin_to_renew(const struct rules *rules, struct world *w, unsigned p)
{
    struct peer *a = &w->peer[p];
    if (a->state == DOWN || a->renews)
        return false;
    for (unsigned k = 0; k < PEERS && rules->plant != PLANT_RESTART && rules->plant != PLANT_STALE_WORD; k++)
        if (k != p && (w->peer[k].of[p].word || w->peer[k].of[p].lease))
            return false;
    a->renews = true;
    for (unsigned q = 0; q < PEERS; q++)
        a->of[q].lease = false;
    return true;
}

/* The donor has the asker among those whom it waits for from now on. */
static bool take_snapshot(const struct rules *rules, struct world *w, unsigned p, unsigned donor)
{
    struct peer *a = &w->peer[p];
    const struct link *us = &w->peer[donor].of[p];
    if (a->state != JOINING || !w->peer[donor].has_state || us->incarnation != a->incarnation || us->gone ||
        !has_right(rules, w, p))
        return false;
    const struct peer before = *a, *b = &w->peer[donor];
    a->has_table = a->has_state = true;
    a->of[donor].lacks = false;
    a->forgot = a->forgot && b->of[p].lacks;
    a->of[third(p, donor)].lacks = a->of[third(p, donor)].lacks && b->of[third(p, donor)].lacks;
    return !before.has_table || before.of[donor].lacks || before.forgot != a->forgot ||
           before.of[third(p, donor)].lacks != a->of[third(p, donor)].lacks;
}

/* The digests of all that wait for p name nothing that p lacks, neither of themselves nor of those who are gone. */
static bool is_covered(const struct world *w, unsigned p)
{
    const struct peer *a = &w->peer[p];
    for (unsigned q = 0; q < PEERS; q++)
        if (q != p && !a->of[q].gone &&
            (a->of[q].lacks || (a->forgot && !w->peer[q].of[p].lacks) ||
             (a->of[third(p, q)].lacks && !w->peer[q].of[third(p, q)].lacks)))
            return false;
    return true;
}

static bool activate(const struct rules *rules, struct world *w, unsigned p)
{
    struct peer *a = &w->peer[p];
    if (a->state != JOINING || !a->has_table || !a->renews ||
        !(rules->plant == PLANT_RETURN_EARLY ? has_right(rules, w, p) : all_renew(rules, w, p)))
        return false;
    if (rules->plant != PLANT_UNCOVERED && !is_covered(w, p))
        return false;
    a->state = ACTIVE;
    return true;
}

/* p has lapsed, and nobody can have settled without it, so it goes on. */
static bool resume(const struct rules *rules, struct world *w, unsigned p)
{
    struct peer *a = &w->peer[p];
    if (a->state != ACTIVE || !a->lapsed ||
        !(rules->plant == PLANT_RESUME ? has_right(rules, w, p) : all_renew(rules, w, p)))
        return false;
    if (rules->plant != PLANT_UNCOVERED && !is_covered(w, p))
        return false;
    for (unsigned q = 0; q < PEERS && rules->plant != PLANT_CHANGED; q++)
        if (q != p && (a->of[q].gone || !a->of[q].unchanged))
            return false;
    a->lapsed = false;
    for (unsigned q = 0; q < PEERS; q++)
        a->of[q].unchanged = false;
    return true;
}

static bool join_again(const struct rules *rules, struct world *w, unsigned p)
{
    if (w->peer[p].state == DOWN || !w->peer[p].lapsed || !may_begin(rules, w, p))
        return false;
    begin_anew(w, p);
    return true;
}

static bool take_step(const struct rules *rules, struct world *w, unsigned step)
{
    unsigned p = step % PEERS, rest = step / PEERS;
    if (rest >= PEERS * PAIR_STEPS)
        switch ((enum peer_step)(rest - PEERS * PAIR_STEPS)) {
        case CRASHES:
            return crash(w, p);
        case STARTS:
            return start(rules, w, p);
        case BEGINS_TO_RENEW:
            return begin_to_renew(rules, w, p);
        case IS_ACTIVE:
            return activate(rules, w, p);
        case GOES_ON:
            return resume(rules, w, p);
        case JOINS_AGAIN:
            return join_again(rules, w, p);
        case PEER_STEPS:
            return false;
        }
    unsigned q = rest % PEERS;
    if (p == q)
        return false;
    switch ((enum pair_step)(rest / PEERS)) {
    case HEARS:
        return hear(rules, w, p, q);
    case DISOWNS_IT:
        return disown(rules, w, p, q);
    case RELENTS:
        return relent(w, p, q);
    case TAKES_OVER:
        return take_over(rules, w, p, q);
    case LEASE_ENDS:
        return end_lease(w, p, q);
    case WORD_ENDS:
        return end_word(rules, w, p, q);
    case TAKES_TABLE:
        return take_snapshot(rules, w, p, q);
    case PAIR_STEPS:
        return false;
    }
    return false;
}

bool takeover_step(const struct rules *rules, struct world *world, unsigned step)
{
    if (!take_step(rules, world, step))
        return false;
    follow(rules, world);
    return true;
}
