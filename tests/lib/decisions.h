/*
 * decisions: calls that decide about one request or a run, for tests, the simulator and benchmarks.
 *
 * The one idea: each call is node_decide with one run, so that requests of tests take the way of
 * served requests.
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

/* One request with figures, and with a reservation unless `hold` is NULL. */
static inline bool node_decide_hold(struct node *node, const struct charge *charges, size_t count, bool take,
                                    uint64_t now_ns, struct verdict *verdicts, struct hold *hold)
{
    struct key_id ids[CHARGES_MAX];
    struct run run = {.charge = charges,
                      .charge_count = (uint32_t)count,
                      .request_count = 1,
                      .take = take,
                      .verdicts = verdicts,
                      .hold = hold};
    for (size_t i = 0; i < count; i++)
        ids[i] = charges[i].id;
    node_decide(node, &run, 1, ids, now_ns);
    return run.allowed != 0;
}

static inline bool node_check(struct node *node, const struct charge *charges, size_t count, bool take,
                              uint64_t now_ns, struct verdict *verdicts)
{
    return node_decide_hold(node, charges, count, take, now_ns, verdicts, NULL);
}

/* False: the limits refuse, or there is no room for the reservation. */
static inline bool node_reserve(struct node *node, const struct charge *charges, size_t count, uint64_t ttl_ns,
                                uint64_t now_ns, struct verdict *verdicts, struct reservation_id *id)
{
    struct hold hold = {.ttl_ns = ttl_ns};
    bool allowed = node_decide_hold(node, charges, count, true, now_ns, verdicts, &hold);
    *id = hold.id;
    return allowed;
}

static inline struct verdict node_ask(struct node *node, const struct charge *charge, bool take, uint64_t now_ns)
{
    struct verdict verdict;
    (void)node_check(node, charge, 1, take, now_ns, &verdict);
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
