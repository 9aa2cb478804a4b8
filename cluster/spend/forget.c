/*
 * forget removes keys that are full again: they are as good as keys that were never asked for, and
 * other keys need their places. Requests do not look for such keys, since a neighbour's memory is
 * far away. Steps go round the table instead and read memory in order: one place for some requests,
 * or for some keys that steps worked on. So a node at rest does nothing.
 *
 * When a tenant has nearly as many keys as it may, further keys would soon be refused. Then a round
 * goes on as fast as steps may, and another one follows. If that round freed few keys, since nearly
 * all of them owe tokens, the next fast round waits; it waits longer while no requests come.
 */
#include "cluster/spend/forget.h"

#include "base/number.h"
#include "cluster/state/node_state.h"

enum {
    WORK_PER_PLACE = 32, /* one place is looked at for so many requests, and keys of steps */
    BUSY_PART = 8,       /* of a step's places: even a busy step looks at so many */
    CROWDED_PART = 8,    /* of a tenant's bound: when less than this is left, rounds are fast */
    FEW_PART = 16,       /* of a tenant's bound: a fast round that frees fewer keys was of no use */
    WATCH_PART = 2,      /* of a tenant's bound: with more keys, checks are frequent */
    LOOKS_PER_INTERVAL = 16,
    /* after a useless fast round: the pause, in durations of that round */
    ROUND_PAUSE_PART = 16,
    REST_PAUSE_PART = 256, /* the same if no request came meanwhile */
};

static uint64_t requests(const struct node *node)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < node->thread_count; i++)
        sum += node->thread[i].admitted_requests + node->thread[i].refused_requests;
    return sum;
}

static void note_work(struct node *node, struct forgetting *forgetting)
{
    uint64_t requests_count = requests(node);
    /* more than one round need not be made up for */
    uint64_t most = table_places(node->table) * WORK_PER_PLACE;
    uint64_t work = forgetting->work + requests_count - forgetting->requests + node->step.worked;
    forgetting->work = number_least(work, most);
    forgetting->requests = requests_count;
}

/*
 * Begins a fast round of all places if a tenant is near its bound. Sets the time of the next check.
 */
static void begin_round(struct node *node, struct forgetting *forgetting)
{
    const uint64_t most = node->tenant_keys_max, keys = most > 0 ? table_most_tenant_keys(node->table) : 0;
    const bool crowded = most > 0 && keys >= most - most / CROWDED_PART;
    forgetting->hurry_places = crowded ? table_places(node->table) : 0;
    forgetting->watches = keys > most / WATCH_PART && forgetting->requests > forgetting->began_requests;
    forgetting->freed_keys = 0;
    forgetting->began_ns = node->now_ns;
    forgetting->began_requests = forgetting->requests;
    forgetting->again_ns = node->now_ns + node->options.interval_ns / LOOKS_PER_INTERVAL;
}

static void end_round(const struct node *node, struct forgetting *forgetting)
{
    if (forgetting->freed_keys > node->tenant_keys_max / FEW_PART)
        return;
    uint64_t part = forgetting->requests > forgetting->began_requests ? ROUND_PAUSE_PART : REST_PAUSE_PART;
    uint64_t pause_ns = part * (node->now_ns - forgetting->began_ns), least_ns = node->options.interval_ns;
    forgetting->again_ns = node->now_ns + (pause_ns > least_ns ? pause_ns : least_ns);
}

static void look_at(struct node *node, struct forgetting *forgetting, uint64_t count)
{
    uint64_t left = table_places(node->table) - forgetting->place;
    count = number_least(count, left);
    forgetting->freed_keys += table_forget_full(node->table, forgetting->place, count, node->now_ns);
    forgetting->place = count < left ? forgetting->place + count : 0;
    if (forgetting->hurry_places == 0)
        return;
    forgetting->hurry_places -= number_least(count, forgetting->hurry_places);
    if (forgetting->hurry_places == 0)
        end_round(node, forgetting);
}

/* The places that this step may look at besides the keys that it has worked on. */
static uint64_t places_left(const struct node *node)
{
    uint64_t least = node->step.keys / BUSY_PART + 1;
    return node->step.worked + least < node->step.keys ? node->step.keys - node->step.worked : least;
}

void forget_step(struct node *node)
{
    struct forgetting *forgetting = &node->forgetting;
    note_work(node, forgetting);
    if (forgetting->hurry_places == 0 && node->now_ns >= forgetting->again_ns)
        begin_round(node, forgetting);
    uint64_t most = places_left(node), due = forgetting->work / WORK_PER_PLACE;
    bool again = due > most;
    if (again || forgetting->hurry_places > 0)
        due = most;
    forgetting->work -= number_least(due * WORK_PER_PLACE, forgetting->work);
    look_at(node, forgetting, due);
    todo_add_if(&node->todo, DO_STEP, again || forgetting->hurry_places > 0);
}
