/*
 * Clients of one region use fresh keys all the time, each once, and another region is the home of all of them. Three
 * nodes 40 ms apart. A request waits for a while; every one must have its token by then.
 */
#include "tests/lib/rights_world.h"

#include <stdio.h>

enum { PATIENCE_MS = 300, AGAIN_MS = 20, ARRIVE_MS = 700, RATE = 9000, KEYS_MAX = RATE * ARRIVE_MS / 1000 };

struct fresh {
    struct charge charge;
    uint64_t came_ms;
    bool is_over;
};

static struct fresh fresh[KEYS_MAX];

/* Invariants take longer than all steps together. */
static void step_checked_seldom(unsigned i, const struct event *event)
{
    static unsigned steps;
    node_step(world.host[i].node, event, &world.effects);
    if (++steps % 256 == 0)
        node_validate(world.host[i].node);
}

/* True: the request was admitted, and not before. */
static bool ask(struct fresh *key, bool again)
{
    struct verdict verdict;
    struct await await = {.waiting_tokens = again ? 1 : 0};
    struct run run = {.charge = &key->charge,
                      .charge_count = 1,
                      .request_count = 1,
                      .take = true,
                      .verdicts = &verdict,
                      .await = &await};
    node_decide(world.host[BOB].node, &run, 1, &key->charge.id, world.now_ns);
    key->is_over = !await.held;
    return run.allowed != 0;
}

static bool ask_first(const char *story, struct fresh *key, const struct limit_terms *terms, uint64_t now_ms)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s-%u", story, (unsigned)(key - fresh));
    *key = (struct fresh){.charge = charge_at(BOB, name, terms, 1), .came_ms = now_ms};
    key->charge.patience_ms = PATIENCE_MS;
    return ask(key, false);
}

static bool is_due(const struct fresh *key, uint64_t now_ms)
{
    const uint64_t waits_ms = now_ms - key->came_ms;
    return !key->is_over && waits_ms <= PATIENCE_MS && waits_ms > 0 && waits_ms % AGAIN_MS == 0;
}

/* RATE fresh keys a second come at bob's. Returns how many were admitted. */
static unsigned ask_all(const char *story, const struct limit_terms *terms)
{
    unsigned got = 0, count = 0;
    for (uint64_t ms = 0; ms < ARRIVE_MS + PATIENCE_MS; ms++) {
        for (unsigned k = 0; k < count; k++)
            got += is_due(&fresh[k], ms) && ask(&fresh[k], true);
        for (; count < KEYS_MAX && count < (ms + 1) * RATE / 1000; count++)
            got += ask_first(story, &fresh[count], terms, ms);
        world_push(BOB);
        world_run(1);
    }
    return got;
}

int main(void)
{
    const uint32_t home = limit_home_of(bytes_of("ann's"));
    const struct limit_terms window = {.kind = LIMIT_CELL, .capacity = 1, .home = home};
    const struct limit_terms bucket = {.kind = LIMIT_BUCKET,
                                       .capacity = 5,
                                       .rate = 5,
                                       .period_ns = 60000 * MS,
                                       .home = home};
    rights_world_init(3);
    for (unsigned i = ANN; i <= CAT; i++) {
        world.host[i].options.table_keys = 1 << 14;
        world.host[i].options.message_max_bytes = 1 << 20;
        world.host[i].options.grants_eager = false;
    }
    world.step = step_checked_seldom;
    rights_world_start();
    OK_U64(ask_all("window", &window), KEYS_MAX, "of %u fresh windows of one token a second each has it", RATE);
    world_run(2000);
    OK_U64(ask_all("bucket", &bucket), KEYS_MAX,
           "so has each of as many buckets, of which a part of a token is left");
    world_close();
    return tap_done();
}
