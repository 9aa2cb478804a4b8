/*
 * due compares the times at which ticks, answers, hurries, pushes and further pieces of batches may be told with the
 * time of the step.
 */
#include "cluster/due.h"

#include "base/number.h"
#include "cluster/members/spared_ticks.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"

enum {
    PUSH_GAP_NS = 1000000, /* at most one early push in this time */
    TOGETHER_PART = 4,     /* of an interval: bursts that begin within so long have come together */
};

/* Somebody waits for rights: an ask is to be made, or a grant to be told. */
static bool rights_are_awaited(const struct node *node)
{
    return node->rights.grants_untold > 0 || atomic_load_explicit(&node->rights.wants, memory_order_relaxed);
}

static uint64_t answer_ns(const struct node *node)
{
    return node->publishing.published_ns +
           (rights_are_awaited(node) ? node->publishing.gap_least_ns : node->publishing.gap_ns);
}

/*
 * Spends of a burst are told together with the ask for what it lacks: who is asked before the spends are charged grants
 * more. Where nothing is known of clients, peers may have bursts in the same moments; what these want must be spent
 * before the ask is there.
 */
static uint64_t hurry_ns(const struct node *node)
{
    const uint64_t gather_ns =
        voucher_wants_of_unknown(node) ? node->options.interval_ns / TOGETHER_PART : node->publishing.gap_least_ns;
    const uint64_t gathered_ns = node->publishing.hurried_ns + gather_ns, at_ns = answer_ns(node);
    return at_ns > gathered_ns ? at_ns : gathered_ns;
}

static uint64_t push_ns(const struct node *node)
{
    return node->publishing.published_ns + PUSH_GAP_NS;
}

/* A tick within the time that a hurry gathers for unknown clients leaves its message to that. */
static bool tick_is_due(const struct node *node)
{
    if (todo_has(&node->todo, DO_HURRY) && voucher_wants_of_unknown(node))
        return false;
    return node->now_ns >= node->publishing.tick_ns && !tick_is_spared(node, node->publishing.published_ns);
}

bool due_is_message(const struct node *node)
{
    return tick_is_due(node) || todo_has(&node->todo, DO_PUBLISH) ||
           (todo_has(&node->todo, DO_ANSWER) && node->now_ns >= answer_ns(node)) ||
           (todo_has(&node->todo, DO_HURRY) && node->now_ns >= hurry_ns(node)) ||
           (todo_has(&node->todo, DO_PUSH) && node->now_ns >= push_ns(node)) ||
           node->now_ns >= node->telling.next_ns;
}

uint64_t due_ns(const struct node *node)
{
    uint64_t at_ns = number_least(node->publishing.tick_ns, node->telling.next_ns);
    if (todo_has(&node->todo, DO_ANSWER))
        at_ns = number_least(at_ns, answer_ns(node));
    if (todo_has(&node->todo, DO_HURRY))
        at_ns = number_least(at_ns, hurry_ns(node));
    if (todo_has(&node->todo, DO_PUSH))
        at_ns = number_least(at_ns, push_ns(node));
    return at_ns;
}
