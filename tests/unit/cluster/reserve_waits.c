/*
 * Reservations that wait for their share. What vouchers of peers may pay of a reservation is asked for, and the
 * reservation is made when it has come; what they may not is asked of nobody. Three even nodes 40 ms apart.
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

static void what_they_do_not_pay(void)
{
    struct await await;
    begin();
    (void)rights_take(ANN, "bucket", &bucket, 20);
    const uint64_t asked = world_stats(ANN).rights_asked;
    OK(!try("bucket", &bucket, 20, false, &await) && await.held, "20 of a bucket wait for what settles and refills");
    world_run(GATHERED_MS);
    OK(!try("bucket", &bucket, 20, true, &await) && await.held, "and go on waiting");
    world_run(TURN_MS);
    OK_U64(world_stats(ANN).rights_asked, asked, "nobody is asked for what a reservation may not hold");
    OK(!try("bucket", &bucket, 80, false, &await) && !await.held, "what no share ever admits does not wait");
    world_close();
}

int main(void)
{
    what_vouchers_pay();
    what_they_do_not_pay();
    return tap_done();
}
