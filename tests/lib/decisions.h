/*
 * decisions: calls that decide about a single key, for tests, the simulator and benchmarks.
 *
 * The one idea: each call is node_decide or node_decide_one with one charge, so that requests of
 * tests take the way of served requests. A request without figures is a run of one request.
 */
#ifndef HEADGATE_TESTS_LIB_DECISIONS_H
#define HEADGATE_TESTS_LIB_DECISIONS_H

#include "cluster/node.h"

/* A request without figures, as CAN_ACCESS makes it. */
static inline bool node_takes(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    struct run run = {.charge = charge, .charge_count = 1, .request_count = 1, .take = true};
    node_decide(node, &run, 1, &charge->id, now_ns);
    return run.allowed != 0;
}

/* A run of requests under one charge, without figures. Bit i of the result: ids[i] is allowed. */
static inline uint64_t node_takes_each(struct node *node, const struct charge *like, const struct key_id *ids,
                                       uint32_t count, uint64_t now_ns)
{
    struct run run = {.charge = like, .charge_count = 1, .request_count = count, .take = true};
    node_decide(node, &run, 1, ids, now_ns);
    return run.allowed;
}

/* A run of requests under several charges. */
static inline uint64_t node_check_each(struct node *node, const struct charge *like, uint32_t charge_count,
                                       const struct key_id *ids, uint32_t count, uint64_t now_ns,
                                       struct verdict *verdicts)
{
    struct run run = {.charge = like,
                      .charge_count = charge_count,
                      .request_count = count,
                      .take = true,
                      .verdicts = verdicts};
    node_decide(node, &run, 1, ids, now_ns);
    return run.allowed;
}

static inline bool node_can_access(struct node *node, struct key_id id, uint16_t limit, uint64_t cost,
                                   uint64_t now_ns)
{
    const struct charge charge = {.id = id, .limit = limit, .cost = cost};
    return node_takes(node, &charge, now_ns);
}

static inline bool node_check(struct node *node, const struct charge *charges, size_t count, bool take,
                              uint64_t now_ns, struct verdict *verdicts)
{
    return node_decide_one(node, charges, count, take, now_ns, verdicts);
}

static inline struct verdict node_ask(struct node *node, const struct charge *charge, bool take, uint64_t now_ns)
{
    struct verdict verdict;
    (void)node_decide_one(node, charge, 1, take, now_ns, &verdict);
    return verdict;
}

static inline struct verdict node_admit(struct node *node, struct key_id id, uint16_t limit, uint64_t cost,
                                        uint64_t now_ns)
{
    return node_ask(node, &(struct charge){.id = id, .limit = limit, .cost = cost}, true, now_ns);
}

/* The verdict that node_admit would give. Takes nothing. */
static inline struct verdict node_peek(struct node *node, struct key_id id, uint16_t limit, uint64_t cost,
                                       uint64_t now_ns)
{
    return node_ask(node, &(struct charge){.id = id, .limit = limit, .cost = cost}, false, now_ns);
}

#endif
