#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <string.h>

bool network_is_cut(const struct sim *sim, unsigned from, unsigned to)
{
    const struct link *link = &sim->link[from][to];
    return sim->now_ns >= link->cut_from_ns && sim->now_ns < link->cut_until_ns;
}

static bool draw(struct sim *sim, uint32_t chance)
{
    return chance > 0 && random_below(&sim->network_random, 65536) < chance;
}

static uint64_t arrival_ns(struct sim *sim, unsigned from, unsigned to)
{
    struct link *link = &sim->link[from][to];
    uint64_t latency_ns = sim->plan.latency_ns[from][to];
    if (sim->now_ns < link->slow_until_ns)
        latency_ns = latency_ns * SLOW_TIMES + sim->plan.interval_ns;
    uint64_t span_ns = (latency_ns / 65536) * sim->plan.jitter;
    if (span_ns > 0)
        latency_ns = latency_ns - span_ns + random_below(&sim->network_random, 2 * span_ns + 1);
    uint64_t at_ns = sim->now_ns + latency_ns;
    if (sim->plan.in_order && at_ns < link->last_arrival_ns)
        at_ns = link->last_arrival_ns;
    link->last_arrival_ns = at_ns;
    return at_ns;
}

/* Flips bits or cuts the end off: whoever receives it must neither crash nor grow. */
static struct payload *corrupted(struct sim *sim, const struct payload *payload)
{
    struct random *random = &sim->network_random;
    size_t size = payload->size > 0 && draw_one_in(random, 3) ? random_below(random, payload->size) : payload->size;
    struct payload *copy = payload_create(payload->data, size);
    for (uint64_t flips = draw_scale(random, 1, 16); flips > 0 && copy->size > 0; flips--) {
        uint8_t *byte = &copy->data[random_below(random, copy->size)];
        uint8_t other = (uint8_t)random_u64(random);
        uint8_t flipped = (uint8_t)(*byte ^ (uint8_t)(1u << random_below(random, 8)));
        *byte = draw_one_in(random, 2) ? other : flipped;
    }
    return copy;
}

static void send(struct sim *sim, enum happening_kind kind, unsigned from, unsigned to, uint32_t to_life,
                 struct payload *payload)
{
    if (network_is_cut(sim, from, to) || draw(sim, sim->plan.loss))
        return;
    for (int copies = draw(sim, sim->plan.duplicate) ? 2 : 1; copies > 0; copies--) {
        struct payload *sent = payload;
        if (draw(sim, sim->plan.corrupt))
            sent = corrupted(sim, payload);
        else
            sent->references++;
        (void)queue_post(&sim->queue, (struct happening){.kind = kind,
                                                         .at_ns = arrival_ns(sim, from, to),
                                                         .node = (uint8_t)to,
                                                         .from = (uint8_t)from,
                                                         .life = to_life,
                                                         .value = sim->node[from].lives,
                                                         .payload = sent});
    }
}

static struct payload *payload_of(struct sim *sim, unsigned from, struct bytes bytes)
{
    struct bytes said = newer_bytes(sim, from, bytes);
    return payload_create(said.data, said.size);
}

void network_publish(struct sim *sim, unsigned from, struct bytes bytes)
{
    struct payload *payload = payload_of(sim, from, bytes);
    for (unsigned to = 0; to < sim->plan.nodes; to++)
        if (to != from && world_is_up(sim, to) && sim->node[to].hears[from])
            send(sim, HAPPENS_MESSAGE, from, to, sim->node[to].lives, payload);
    payload_release(payload);
}

void network_request(struct sim *sim, unsigned from, const char *snapshot_address, struct bytes bytes)
{
    for (unsigned to = 0; to < sim->plan.nodes; to++) {
        if (strcmp(sim->node[to].snapshot_address, snapshot_address) != 0)
            continue;
        if (to == from) {
            if (sim->plan.corrupt == 0)
                sim_fail(sim, "request: %s asks itself", sim->node[from].name);
            return;
        }
        struct payload *payload = payload_of(sim, from, bytes);
        if (world_is_up(sim, to))
            send(sim, HAPPENS_REQUEST, from, to, sim->node[to].lives, payload);
        payload_release(payload);
        return;
    }
    if (sim->plan.corrupt == 0)
        sim_fail(sim, "request: %s asks \"%s\", where nobody is", sim->node[from].name, snapshot_address);
}

void network_reply(struct sim *sim, unsigned from, unsigned to, uint32_t to_life, struct bytes bytes)
{
    struct payload *payload = payload_of(sim, from, bytes);
    send(sim, HAPPENS_RESPONSE, from, to, to_life, payload);
    payload_release(payload);
}

void network_connect(struct sim *sim, unsigned listener, const char *gossip_address, bool connect)
{
    for (unsigned to = 0; to < sim->plan.nodes; to++) {
        if (strcmp(sim->node[to].gossip_address, gossip_address) != 0)
            continue;
        if (to == listener && sim->plan.corrupt == 0)
            sim_fail(sim, "connect: %s listens to itself", sim->node[to].name);
        sim->node[listener].hears[to] = connect;
        return;
    }
    if (sim->plan.corrupt == 0 && !liars_may_have_dialled(sim, gossip_address))
        sim_fail(sim, "connect: %s listens to \"%s\", where nobody is", sim->node[listener].name, gossip_address);
}

/* One reply, and its asker's life: an answer to a former life finds nobody. */
static void answer(struct sim *sim, const struct happening *happening)
{
    size_t replies = 0;
    for (size_t e = 0; e < sim->effects.effect_count; e++) {
        if (sim->effects.effect[e].kind != EFFECT_REPLY)
            continue;
        replies++;
        network_reply(sim, happening->node, happening->from, (uint32_t)happening->value,
                      effect_bytes(&sim->effects, &sim->effects.effect[e]));
    }
    if (replies != 1)
        sim_fail(sim, "reply: %s answered one request %zu times", sim->node[happening->node].name, replies);
}

void network_deliver(struct sim *sim, struct happening *happening)
{
    unsigned i = happening->node;
    if (!world_is_up(sim, i) || happening->life != sim->node[i].lives)
        return;
    struct bytes bytes = {(const char *)happening->payload->data, happening->payload->size};
    /* Whoever dialled knows who answers, as over TLS; a law says that no message is of another one. */
    const char *from = sim->node[happening->from].name;
    sim->messages++;
    if (happening->kind == HAPPENS_MESSAGE) {
        liars_deliver(sim, happening, true);
        if (world_is_up(sim, i)) /* nothing else may be what it waited for before it left */
            world_event(sim, i, &(struct event){.kind = EVENT_MESSAGE, .bytes = bytes, .from = from});
    } else if (happening->kind == HAPPENS_RESPONSE) {
        const struct bytes said = liars_reply(sim, happening, bytes);
        if (said.size > 0)
            world_event(sim, i, &(struct event){.kind = EVENT_RESPONSE, .bytes = said, .from = from});
    } else {
        world_step(sim, i, EVENT_REQUEST, bytes, NULL);
        answer(sim, happening);
    }
    newer_deliver(sim, happening);
    liars_deliver(sim, happening, false);
}
