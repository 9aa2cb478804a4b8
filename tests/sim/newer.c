/*
 * Nodes of a later release: each of their messages has fields that this release does not know, in every record, and
 * behind each of them comes one of a kind that it does not know. The law: nothing else differs. Every effect and every
 * decision of every node is the same, bit for bit, as in a run in which these nodes say only what this release says.
 */
#include "tests/lib/newer_message.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <inttypes.h>

enum { MORE_FIELDS_MAX = 3 };

static struct hash_key secret(void)
{
    struct hash_key key;
    hash_key_from_secret(&key, "secret", 6);
    return key;
}

/* At least one node is, and one is not. */
static void draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed ^ 0x6e65776572);
    plan->newer = 1 + (uint32_t)random_below(&random, (1u << plan->nodes) - 2);
    plan->corrupt = 0; /* which bytes are damaged would differ */
}

static bool is_newer(const struct sim *sim, unsigned i)
{
    return (sim->plan.newer >> i & 1) != 0;
}

struct bytes newer_bytes(struct sim *sim, unsigned from, struct bytes bytes)
{
    const struct hash_key key = secret();
    struct bytes unsealed = bytes;
    if (!is_newer(sim, from) || sim->plan.newer_quiet || bytes.size == 0)
        return bytes;
    if (!message_unseal(&unsealed, &key)) {
        sim_fail(sim, "newer: %s does not seal its messages", sim->node[from].name);
        return bytes;
    }
    effects_clear(&sim->newer);
    newer_append(&sim->newer, unsealed, &sim->newer_random,
                 1 + (uint32_t)random_below(&sim->newer_random, MORE_FIELDS_MAX));
    message_seal(&sim->newer, 0, &key);
    if (sim->newer.arena_size > sim->plan.message_max_bytes)
        return bytes; /* a later release would have put less into the message */
    return (struct bytes){(const char *)sim->newer.arena, sim->newer.arena_size};
}

/* That of a request has an empty reply. */
static void check_unknown(struct sim *sim, unsigned i, enum event_kind kind, uint64_t unknown_before)
{
    struct node_stats stats;
    const struct sim_node *n = &sim->node[i];
    size_t reply_bytes = 0;
    for (size_t e = 0; e < sim->effects.effect_count; e++)
        if (kind == EVENT_REQUEST && sim->effects.effect[e].kind == EFFECT_REPLY)
            reply_bytes += sim->effects.effect[e].size;
    if (reply_bytes > 0)
        sim_fail(sim, "newer: %s answers a request of an unknown kind", n->name);
    if (!world_is_up(sim, i))
        return;
    node_stats(n->node, &stats);
    if (stats.messages_unknown_kind != unknown_before + 1)
        sim_fail(sim, "newer: %s does not count a message of an unknown kind", n->name);
}

void newer_deliver(struct sim *sim, const struct happening *happening)
{
    static const enum event_kind kinds[] =
        {[HAPPENS_MESSAGE] = EVENT_MESSAGE, [HAPPENS_REQUEST] = EVENT_REQUEST, [HAPPENS_RESPONSE] = EVENT_RESPONSE};
    const struct hash_key key = secret();
    unsigned i = happening->node;
    struct node_stats stats;
    if (!is_newer(sim, happening->from) || !world_is_up(sim, i) || happening->life != sim->node[i].lives)
        return;
    sim->beside = true;
    if (sim->plan.newer_quiet) {
        world_step(sim, i, EVENT_RESPONSE, (struct bytes){0}, NULL); /* a step as well, of which nothing comes */
    } else {
        struct effects said;
        effects_init(&said);
        newer_append_kind(&said, bytes_of(sim->node[happening->from].name));
        message_seal(&said, 0, &key);
        node_stats(sim->node[i].node, &stats);
        world_step(sim, i, kinds[happening->kind], (struct bytes){(const char *)said.arena, said.arena_size}, NULL);
        check_unknown(sim, i, kinds[happening->kind], stats.messages_unknown_kind);
        effects_close(&said);
    }
    sim->beside = false;
}

bool newer_run(struct sim *sim)
{
    static struct plan plan; /* large */
    bool verbose = sim->verbose, trace = sim->trace;
    draw(&sim->plan);
    plan = sim->plan;
    sim->plan.newer_quiet = true;
    sim->verbose = sim->trace = false;
    if (!sim_run(sim))
        return false;
    uint64_t expected = sim->hash, messages = sim->messages;
    sim_clear(sim);
    sim->plan = plan;
    sim->verbose = verbose;
    sim->trace = trace;
    if (sim_run(sim) && (sim->hash != expected || sim->messages != messages))
        sim_fail(sim,
                 "newer: what nodes %" PRIx32 " say besides makes a difference: hash %016" PRIx64
                 ", else %016" PRIx64,
                 plan.newer, sim->hash, expected);
    return sim->failure[0] == '\0';
}
