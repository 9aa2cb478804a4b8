/*
 * What peers do by themselves once faults are over, in rounds: all hear each other; who can go on goes on; of those who
 * cannot, one after the other joins anew. Each decides by what the messages of the others say: whether somebody acts,
 * whether somebody joins, and the names of those who have lapsed.
 */
#include "tests/model/takeover.h"

enum { ROUNDS = 24 };

static bool try(const struct rules *rules, struct world *w, unsigned step)
{
    struct world after = *w;
    if (!takeover_step(rules, &after, step))
        return false;
    *w = after;
    return true;
}

static void try_pairs(const struct rules *rules, struct world *w, enum pair_step kind)
{
    for (unsigned p = 0; p < PEERS; p++)
        for (unsigned q = 0; q < PEERS; q++)
            (void)try(rules, w, step_of_pair(kind, p, q));
}

static void try_peers(const struct rules *rules, struct world *w, enum peer_step kind)
{
    for (unsigned p = 0; p < PEERS; p++)
        (void)try(rules, w, step_of_peer(kind, p));
}

/* Whoever has started anew renews nobody at first: what its former process has renewed ends meanwhile. */
static void end_old_leases(const struct rules *rules, struct world *w)
{
    for (unsigned p = 0; p < PEERS; p++)
        for (unsigned q = 0; q < PEERS; q++)
            if (!w->peer[q].renews)
                (void)try(rules, w, step_of_pair(LEASE_ENDS, p, q));
}

/* The first of those who have lapsed, while nobody else joins. */
static void join_anew(const struct rules *rules, struct world *w)
{
    unsigned joining = 0, first = PEERS;
    for (unsigned p = PEERS; p-- > 0;) {
        joining += w->peer[p].state == JOINING;
        first = w->peer[p].state == ACTIVE && w->peer[p].lapsed ? p : first;
    }
    if (first < PEERS && joining == 0)
        (void)try(rules, w, step_of_peer(JOINS_AGAIN, first));
}

static bool is_whole(const struct world *w)
{
    for (unsigned p = 0; p < PEERS; p++)
        for (unsigned q = 0; q < PEERS; q++)
            if (p != q && (!takeover_acts(w, p) || w->peer[p].of[q].gone ||
                           w->peer[p].of[q].incarnation != w->peer[q].incarnation))
                return false;
    return true;
}

bool takeover_heals(const struct rules *rules, struct world world)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (is_whole(&world))
            return true;
        try_peers(rules, &world, STARTS);
        try_pairs(rules, &world, HEARS);
        try_pairs(rules, &world, RELENTS);
        try_pairs(rules, &world, HEARS);
        end_old_leases(rules, &world);
        try_peers(rules, &world, BEGINS_TO_RENEW);
        try_pairs(rules, &world, TAKES_TABLE);
        try_peers(rules, &world, IS_ACTIVE);
        try_peers(rules, &world, GOES_ON);
        if (takeover_broken_law(&world))
            return false;
        if (round % 4 == 3)
            join_anew(rules, &world);
    }
    return is_whole(&world);
}
