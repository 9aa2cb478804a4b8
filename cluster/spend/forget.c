#include "cluster/spend/forget.h"

#include "base/number.h"
#include "cluster/state/node_state.h"

/*
 * A key that is full again is as good as one that nobody has asked for, and its place in the table is somebody else's.
 * Requests do not look for such keys: a neighbour's memory is far away. Steps go round the table instead, in which
 * memory is read in order: one place for some requests or keys that steps worked on, so that who is at rest does
 * nothing.
 *
 * Where a tenant has nearly as many keys as it may, and further ones would soon be refused, a round goes on as fast as
 * steps may, and another one follows. If it freed few, since nearly all keys owe something, that can wait; longer where
 * nobody has asked for anything meanwhile.
 */
enum {
    WORK_PER_PLACE = 32, /* requests, and keys of steps */
    BUSY_PART = 8,       /* of a step's places, where it has worked on keys enough */
    CROWDED_PART = 8,    /* of what a tenant may have, the last */
    FEW_PART = 16,       /* of that as well: if a fast round frees fewer, it was of no use */
    WATCH_PART = 2,      /* of that as well: from there on it is looked often */
    LOOKS_PER_INTERVAL = 16,
    ROUND_PAUSE_PART = 16, /* after a fast round of no use: so many times as long as it took, */
    REST_PAUSE_PART = 256, /* and if no request came meanwhile */
};

static uint64_t requests(const struct node *node)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < node->lane_count; i++)
        sum += node->lane[i].admitted_requests + node->lane[i].refused_requests;
    return sum;
}

static void note_work(struct node *node, struct forgetting *forgetting)
{
    uint64_t requests_count = requests(node);
    uint64_t most = table_places(node->table) * WORK_PER_PLACE; /* more than a round need not be made up for */
    uint64_t work = forgetting->work + requests_count - forgetting->requests + node->step.worked;
    forgetting->work = number_least(work, most);
    forgetting->requests = requests_count;
}

/* A round of all places begins, if there has to be one. If there may have to be one soon, it is looked again soon. */
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

/* Places that this step may look at besides what it has worked on. */
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
