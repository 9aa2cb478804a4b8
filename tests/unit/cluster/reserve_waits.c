/*
 * Reservations that wait for their share: what they lack is asked of peers, and they are made when it has come. Three
 * even nodes 40 ms apart.
 */
#include "tests/lib/rights_world.h"

static const struct limit_terms bucket = {.kind = LIMIT_BUCKET,
                                          .capacity = 90,
                                          .rate = 90,
                                          .period_ns = 3600000 * MS},
                                cell = {.kind = LIMIT_CELL, .capacity = 90};

static void begin(void)
{
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.reservations_max = 8;
    rights_world_start();
}

/* A try of a reservation with patience. True: it is made. */
static bool try(const char *key, const struct limit_terms *terms, uint64_t cost, bool again, struct await *await)
{
    struct charge charge = charge_at(ANN, key, terms, cost);
    struct verdict verdict;
    struct hold hold = {.ttl_ns = 60000 * MS};
    *await = (struct await){.waiting_tokens = again ? cost : 0};
    struct run run = {.charge = &charge,
                      .charge_count = 1,
                      .request_count = 1,
                      .take = true,
                      .verdicts = &verdict,
                      .hold = &hold,
                      .await = await};
    charge.patience_ms = 1000;
    charge.expires_ns = terms->kind == LIMIT_CELL ? world.now_ns + 3600000 * MS : 0;
    node_decide(world.host[ANN].node, &run, 1, &charge.id, world.now_ns);
    world_push(ANN);
    OK(hold.room == RESERVATIONS_ROOM, "there is room for it");
    return run.allowed != 0;
}

static void what_vouchers_pay(void)
{
    struct await await;
    begin();
    OK(!try("window", &cell, 60, false, &await) && await.held, "60 of 90 in a window wait");
    OK_U64(world_stats(ANN).open_reservations, 0, "and hold nothing");
    world_run(GATHERED_MS);
    OK(world_stats(ANN).rights_asked > 0, "they are asked for at once");
    world_run(TURN_MS - GATHERED_MS);
    OK(try("window", &cell, 60, true, &await) && !await.held, "a round trip later they are reserved");
    OK_U64(world_stats(ANN).open_reservations, 1, "once");
    const unsigned rest = rights_take_all("window", &cell, 3);
    OK(rest <= 30, "and all others have no more than the rest: %u", rest);
    world_close();
}

/* Of a bucket, too, and what it is beyond a share. */
static void what_a_bucket_lacks(void)
{
    struct await await;
    begin();
    OK(!try("bucket", &bucket, 60, false, &await) && await.held, "60 of a bucket wait");
    world_run(TURN_MS);
    OK(try("bucket", &bucket, 60, true, &await) && !await.held, "and are reserved a round trip later");
    OK(!try("bucket", &bucket, 60, false, &await) && !await.held, "what the whole limit has not does not wait");
    world_close();
}

int main(void)
{
    what_vouchers_pay();
    what_a_bucket_lacks();
    return tap_done();
}
