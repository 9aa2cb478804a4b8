#include "cluster/ahead.h"
#include "cluster/plain.h"

#include <assert.h>

/*
 * The way of a request that several charges are of: the locks of its keys are taken, memory is asked for all of them
 * together, and then they are decided, the plain way first (plain.c), and if that does not do, the long way (check.c).
 * Nothing is decided here. Single buckets go their own way (take.c).
 */

/* First all tags are asked for, then, as the tags tell where they are, all entries: they arrive side by side. */
void touch_charges(const struct node *node, const struct charge *charges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_touch_likely(node->table, charges[i].id);
    for (size_t i = 0; i < count; i++)
        table_touch(node->table, charges[i].id);
}

/* All of them, if they are as most are. */
static bool take_all_plain(struct node *node, const struct charge *charges, const uint64_t *guesses, size_t count,
                           uint64_t now_ns, struct verdict *verdicts)
{
    static const uint64_t no_guesses[CHARGES_MAX];
    struct plain plain[CHARGES_MAX];
    struct key_id ids[CHARGES_MAX];
    if (!plain_of(node, charges, count, plain))
        return false;
    for (size_t i = 0; i < count; i++)
        ids[i] = charges[i].id;
    return take_plain(node, plain, ids, guesses ? guesses : no_guesses, count, now_ns, verdicts);
}

bool check_charges(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                   struct verdict *verdicts, bool *taken)
{
    if (!take_all_plain(node, charges, NULL, count, now_ns, verdicts))
        return check_and_charge(node, charges, count, now_ns, verdicts, taken);
    for (size_t i = 0; i < count; i++)
        taken[i] = true;
    return true;
}

bool check_held(struct node *node, const struct charge *charges, const uint64_t *guesses, size_t count, bool take,
                uint64_t now_ns, struct verdict *verdicts)
{
    if (!take)
        return check_only(node, charges, count, now_ns, verdicts);
    return take_all_plain(node, charges, guesses, count, now_ns, verdicts) ||
           check_and_charge(node, charges, count, now_ns, verdicts, NULL);
}

void hold_keys(struct node *node, const struct charge *charges, size_t count, struct table_held *held)
{
    struct key_id ids[2 * CHARGES_MAX];
    uint32_t ids_count = 0;
    held->count = 0;
    assert(count <= CHARGES_MAX);
    if (node->lane_count == 1)
        return;
    for (size_t i = 0; i < count; i++) {
        ids[ids_count++] = charges[i].id;
        if (charges[i].sliding)
            ids[ids_count++] = charges[i].previous;
    }
    table_lock(node->table, ids, ids_count, held);
}

bool node_check(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                struct verdict *verdicts)
{
    struct table_held held;
    hold_keys(node, charges, count, &held);
    touch_charges(node, charges, count);
    bool allowed = check_held(node, charges, NULL, count, take, request_time(node, now_ns), verdicts);
    table_unlock(node->table, &held);
    return allowed;
}

bool node_check_near(struct node *node, const struct charge *charges, const uint64_t *guesses, size_t count,
                     bool take, uint64_t now_ns, struct verdict *verdicts)
{
    struct table_held held;
    now_ns = request_time(node, now_ns);
    if (node->lane_count == 1) /* there is nothing to hold */
        return check_held(node, charges, guesses, count, take, now_ns, verdicts);
    hold_keys(node, charges, count, &held);
    bool allowed = check_held(node, charges, guesses, count, take, now_ns, verdicts);
    table_unlock(node->table, &held);
    return allowed;
}

/* Apart, as what this needs of the stack, requests that are plain should not pay for. */
__attribute__((noinline)) static bool check_alike(struct node *node, const struct charge *like,
                                                  const struct key_id *ids, size_t count, uint64_t now_ns,
                                                  struct verdict *verdicts)
{
    struct charge charges[CHARGES_MAX];
    assert(count <= CHARGES_MAX);
    for (size_t i = 0; i < count; i++) {
        charges[i] = like[i];
        charges[i].id = ids[i];
    }
    return check_and_charge(node, charges, count, now_ns, verdicts, NULL);
}

uint64_t node_check_each(struct node *node, const struct charge *like, size_t charge_count,
                         const struct key_id *ids, const uint64_t *guesses, uint32_t count, uint64_t now_ns,
                         struct verdict *verdicts)
{
    uint64_t allowed = 0, own_guesses[NODE_EACH_MAX * CHARGES_MAX];
    struct plain plain[CHARGES_MAX];
    const bool is_plain = plain_of(node, like, charge_count, plain);
    assert(count <= NODE_EACH_MAX);
    for (size_t i = 0; i < charge_count; i++)
        assert(!like[i].sliding); /* whose second key would not be locked */
    now_ns = request_time(node, now_ns);
    struct ahead ahead = {.ids = ids, .guesses = own_guesses, .count = count * (uint32_t)charge_count};
    uint32_t end = guesses ? UINT32_MAX : 0;
    guesses = guesses ? guesses : own_guesses;
    for (uint32_t i = 0; i < count; i++) {
        struct table_held held;
        if ((i + 1) * charge_count > end)
            end = ahead_reach(node, &ahead, i * (uint32_t)charge_count);
        table_lock(node->table, ids, (uint32_t)charge_count, &held);
        bool taken = (is_plain && take_plain(node, plain, ids, guesses, charge_count, now_ns, verdicts)) ||
                     check_alike(node, like, ids, charge_count, now_ns, verdicts);
        table_unlock(node->table, &held);
        allowed |= (uint64_t)taken << i;
        ids += charge_count;
        guesses += charge_count;
        verdicts += charge_count;
    }
    return allowed;
}
