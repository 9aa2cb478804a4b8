#include "cluster/parts.h"

/*
 * A key that is full again is as good as one that nobody has asked for, and its place in the table is somebody else's.
 * Requests do not look for such keys: a neighbour's memory is far away. Steps go round the table instead, in which
 * memory is read in order: one place for some requests or keys that steps worked on, so that who is at rest does
 * nothing.
 *
 * Where a tenant has nearly as many keys as it may, and further ones would soon be refused, a round goes on as fast as
 * steps may. If nearly all of them owe something, the next one can wait.
 */
enum {
    WORK_PER_PLACE = 32, /* requests, and keys of steps */
    CROWDED_PART = 8,    /* of what a tenant may have, the last */
    LOOKS_PER_INTERVAL = 16,
    ROUND_PAUSE_PART = 16, /* after a fast round of no use: so many times as long as it took */
};

static uint64_t requests(const struct node *node)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < node->lane_count; i++)
        sum += node->lane[i].admitted_requests + node->lane[i].refused_requests;
    return sum;
}

static bool is_crowded(const struct node *node)
{
    uint64_t most = node->tenant_keys_max;
    return most > 0 && table_most_tenant_keys(node->table) >= most - most / CROWDED_PART;
}

static void note_work(struct node *node, struct forgetting *forgetting)
{
    uint64_t requests_count = requests(node);
    uint64_t most = table_places(node->table) * WORK_PER_PLACE; /* more than a round need not be made up for */
    forgetting->work += requests_count - forgetting->requests + node->step_worked;
    forgetting->work = forgetting->work < most ? forgetting->work : most;
    forgetting->requests = requests_count;
}

/* A round of all places begins, if there has to be one. */
static void begin_round(struct node *node, struct forgetting *forgetting)
{
    forgetting->hurry_places = is_crowded(node) ? table_places(node->table) : 0;
    forgetting->began_ns = node->now_ns;
    forgetting->again_ns = node->now_ns + node->options.interval_ns / LOOKS_PER_INTERVAL;
}

/* If that was of no use, since nearly all keys owe something, the next one can wait. */
static void end_round(const struct node *node, struct forgetting *forgetting)
{
    uint64_t pause_ns = ROUND_PAUSE_PART * (node->now_ns - forgetting->began_ns);
    if (is_crowded(node))
        forgetting->again_ns =
            node->now_ns + (pause_ns > node->options.interval_ns ? pause_ns : node->options.interval_ns);
}

static void look_at(struct node *node, struct forgetting *forgetting, uint64_t count)
{
    uint64_t left = table_places(node->table) - forgetting->place;
    count = count < left ? count : left;
    table_forget_full(node->table, forgetting->place, count, node->now_ns);
    forgetting->place = count < left ? forgetting->place + count : 0;
    if (forgetting->hurry_places == 0)
        return;
    forgetting->hurry_places -= count < forgetting->hurry_places ? count : forgetting->hurry_places;
    if (forgetting->hurry_places == 0)
        end_round(node, forgetting);
}

void forget_step(struct node *node)
{
    struct forgetting *forgetting = &node->forgetting;
    note_work(node, forgetting);
    if (forgetting->hurry_places == 0 && node->now_ns >= forgetting->again_ns)
        begin_round(node, forgetting);
    uint64_t due = forgetting->work / WORK_PER_PLACE;
    if (due > node->step_keys || forgetting->hurry_places > 0)
        due = node->step_keys;
    forgetting->work -= due * WORK_PER_PLACE < forgetting->work ? due * WORK_PER_PLACE : forgetting->work;
    look_at(node, forgetting, due);
    node->step_again |= forgetting->hurry_places > 0;
}
