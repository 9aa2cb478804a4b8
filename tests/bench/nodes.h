/*
 * nodes: nodes to measure with, which know each other from the start and have one limit.
 *
 * The one idea: a name says everything: a node called NAME publishes at NAME:1 and answers at NAME:2. Steps, and what
 * becomes of their effects, are the program's own.
 */
#ifndef HEADGATE_TESTS_BENCH_NODES_H
#define HEADGATE_TESTS_BENCH_NODES_H

#include "cluster/node.h"
#include "limit/named_limit.h"
#include "tests/bench/measure.h"
#include "tests/lib/decisions.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* A node without peers and regions. */
static inline struct node_options plan_node(const char *name, const char *region)
{
    struct node_options options = {.interval_ns = 100 * MS,
                                   .grants = true,
                                   .silent_after_ns = SECOND,
                                   .join_timeout_ns = 100 * MS,
                                   .leave_timeout_ns = SECOND,
                                   .log_keys_max = 1 << 20,
                                   .incarnation = 1};
    (void)snprintf(options.name, sizeof options.name, "%s", name);
    (void)snprintf(options.region, sizeof options.region, "%s", region);
    (void)snprintf(options.gossip_address, sizeof options.gossip_address, "%s:1", name);
    (void)snprintf(options.snapshot_address, sizeof options.snapshot_address, "%s:2", name);
    return options;
}

static inline void plan_region(struct node_options *options, const char *region, uint64_t weight)
{
    struct region_weight *planned = &options->regions[options->region_count++];
    (void)snprintf(planned->region, sizeof planned->region, "%s", region);
    planned->weight = weight;
}

static inline void plan_peer(struct node_options *options, const char *name, const char *region)
{
    struct node_peer_options *peer = &options->peers[options->peer_count++];
    (void)snprintf(peer->name, sizeof peer->name, "%s", name);
    (void)snprintf(peer->region, sizeof peer->region, "%s", region);
    (void)snprintf(peer->gossip_address, sizeof peer->gossip_address, "%s:1", name);
    (void)snprintf(peer->snapshot_address, sizeof peer->snapshot_address, "%s:2", name);
}

/* With that limit, its index is 0. */
static inline struct node *make_node(struct node_options *options, const struct limit_terms *terms)
{
    static struct named_limits limits = {.count = 1};
    struct error error;
    if (!named_limit_init(&limits.limit[0], bytes_of("bench"), terms, &error))
        give_up(error.text);
    options->limits = &limits;
    struct node *node = node_create(options, &error);
    if (!node)
        give_up(error.text);
    return node;
}

#endif
