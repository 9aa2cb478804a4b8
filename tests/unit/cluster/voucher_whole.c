/*
 * The last token: a bucket of 1, and a cost of a whole bucket, are admitted in other regions than their home, a round
 * trip later, as often as the bucket refills and never more. Ann's region is the home; nodes are 40 ms apart.
 */
#include "cluster/spend/voucher_whole.h"

#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_places.h"
#include "tests/lib/rights_world.h"

#include <string.h>

#define SECOND_NS (UINT64_C(1000) * MS)

enum { ROUNDS_A_MINUTE = 60000 / TURN_MS };

static struct limit_terms bucket_of(uint64_t capacity, uint64_t rate, uint64_t period_ns)
{
    return (struct limit_terms){.kind = LIMIT_BUCKET,
                                .capacity = capacity,
                                .rate = rate,
                                .period_ns = period_ns,
                                .home = limit_home_of(bytes_of("ann's"))};
}

/* Asks again each round trip, and returns after how many it was admitted; `most`: not at all. */
static unsigned trips_until(unsigned host, const char *key, const struct limit_terms *terms, uint64_t cost,
                            unsigned most)
{
    for (unsigned trips = 0; trips < most; trips++) {
        if (rights_take_at_once(host, key, terms, cost).allowed)
            return trips;
        world_run(TURN_MS);
    }
    return most;
}

static void whole_buckets(void)
{
    static const struct {
        const char *name;
        uint64_t capacity, rate, period_s;
    } rows[] = {
        {"1 a minute", 1, 1, 60},
        {"1 an hour", 1, 1, 3600},
        {"1 in 366 days", 1, 1, 366 * 24 * 3600},
        {"1 of 2 a second", 1, 2, 1},
        {"3 of 3 a minute", 3, 3, 60},
        {"100 of 100 an hour", 100, 100, 3600},
        {"100 of 1 a second", 100, 1, 1},
        {"7 of 1000 a day", 7, 1000, 24 * 3600},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct limit_terms terms = bucket_of(rows[i].capacity, rows[i].rate, rows[i].period_s * SECOND_NS);
        const struct verdict first = rights_take_at_once(BOB, rows[i].name, &terms, rows[i].capacity);
        OK(!first.allowed && first.retry_after_ns > 0 && first.retry_after_ns < SECOND_NS,
           "%s: the first ask is told a round trip, %.3f s", rows[i].name, (double)first.retry_after_ns / 1e9);
        world_run(TURN_MS);
        OK(rights_take_at_once(BOB, rows[i].name, &terms, rows[i].capacity).allowed,
           "... and all of it is admitted then");
        OK(!rights_take_at_once(ANN, rows[i].name, &terms, 1).allowed, "... and no more at home");
    }
}

/* All three ask for an hour. The bucket has one at first, and 60 refill. */
static void never_more(void)
{
    const struct limit_terms terms = bucket_of(1, 1, 60 * SECOND_NS);
    unsigned given = 0, late = 0;
    for (unsigned round = 0; round < 60 * ROUNDS_A_MINUTE; round++) {
        for (unsigned host = BOB; host <= CAT; host++)
            given += rights_take_at_once(host, "an hour", &terms, 1).allowed;
        if (given > 1 + round * TURN_MS / 60000)
            late++;
        world_run(TURN_MS);
    }
    OK(late == 0 && given >= 56 && given <= 61, "two regions ask for an hour: %u of 61 are admitted", given);
}

/* A client that comes a second late has it all the same; one that does not come costs nobody for long. */
static void late_clients(void)
{
    const struct limit_terms terms = bucket_of(1, 1, 60 * SECOND_NS);
    OK(!rights_take_at_once(BOB, "late", &terms, 1).allowed, "the first ask");
    world_run(1000);
    OK(rights_take_at_once(BOB, "late", &terms, 1).allowed, "a client that comes a second later is admitted");
    OK(!rights_take_at_once(BOB, "gone", &terms, 1).allowed, "another key");
    world_run(3000);
    OK(trips_until(CAT, "gone", &terms, 1, 20) < 20, "where the client is gone, another region has the token soon");
    OK(!rights_take_at_once(BOB, "gone", &terms, 1).allowed && !rights_take_at_once(ANN, "gone", &terms, 1).allowed,
       "... and nobody else");
}

/*
 * Of a whole bucket some tokens have come, and the home owes their rest. Their client is told when they are back. Of
 * all but one there is enough, a round trip later.
 */
static void in_two_parts(void)
{
    const struct limit_terms terms = bucket_of(100, 100, 3600 * SECOND_NS);
    (void)rights_take_at_once(BOB, "parts", &terms, 40);
    world_run(TURN_MS);
    struct verdict verdict = rights_take_at_once(BOB, "parts", &terms, 100);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE && verdict.retry_after_ns < 5 * SECOND_NS,
       "of a hundred some are here: come again in %.3f s", (double)verdict.retry_after_ns / 1e9);
    world_run(verdict.retry_after_ns / MS);
    OK(trips_until(BOB, "parts", &terms, 100, 3) <= 1, "... and all are admitted");
    (void)rights_take_at_once(BOB, "others", &terms, 40);
    world_run(TURN_MS);
    verdict = rights_take_at_once(BOB, "others", &terms, 99);
    OK(!verdict.allowed && verdict.retry_after_ns < SECOND_NS, "of 99 some are here: come again in %.3f s",
       (double)verdict.retry_after_ns / 1e9);
    world_run(TURN_MS);
    OK(rights_take_at_once(BOB, "others", &terms, 99).allowed, "... and all are admitted");
}

/* Not even while the rest has not decayed. */
static void the_rest_is_never_used(void)
{
    const struct limit_terms terms = bucket_of(100, 1, 60 * SECOND_NS);
    (void)rights_take_at_once(BOB, "rest", &terms, 3);
    world_run(TURN_MS);
    const struct node *node = world.host[BOB].node;
    const struct charge charge = charge_at(BOB, "rest", &terms, 3);
    const struct voucher *voucher = voucher_find(world.host[BOB].node, charge.id, charge.limit, world.now_ns);
    const int64_t token = node->limits.limit[charge.limit].units_per_token;
    OK(voucher && voucher->ask[VOUCHER_ASKS - 1].units % token > 0, "bob was granted a part of a token as well");
    OK_I64(voucher ? voucher_units(node, voucher, node->now_ns) : 0, 3 * token, "... and has three");
}

/* The rest that the home lent is owed: it refills nothing for anybody until then. */
static void the_rest_is_owed(void)
{
    const struct limit_terms terms = bucket_of(1, 1, 10 * SECOND_NS);
    OK(trips_until(BOB, "owed", &terms, 1, 3) == 1, "bob has it after a round trip");
    const uint64_t since_ns = world.now_ns;
    while (!rights_take_at_once(ANN, "owed", &terms, 1).allowed)
        world_run(1);
    const double after_s = (double)(world.now_ns - since_ns) / 1e9;
    OK(after_s > 9.9 && after_s < 10.4, "the home has the next one %.3f s later", after_s);
}

/* The home starts anew, and has from the others what it owed. */
static void a_home_that_starts_anew(void)
{
    const struct limit_terms terms = bucket_of(1, 1, 60 * SECOND_NS);
    OK(trips_until(BOB, "anew", &terms, 1, 3) == 1, "bob has it after a round trip");
    const uint64_t since_ns = world.now_ns;
    world_run(200);
    rights_world_restart(ANN);
    while (!rights_take_at_once(ANN, "anew", &terms, 1).allowed)
        world_run(1);
    const double after_s = (double)(world.now_ns - since_ns) / 1e9;
    OK(after_s >= 59.9 && after_s < 64, "a home that started anew has the next one %.3f s later", after_s);
}

/* A member whose views would forget what the home owes is of an earlier release, as its records say. */
static void beside_a_former_release(void)
{
    const struct limit_terms terms = bucket_of(1, 1, 60 * SECOND_NS);
    struct node *node = world.host[BOB].node;
    const struct limit *limit = &node->limits.limit[charge_at(BOB, "former", &terms, 1).limit];
    OK(voucher_may_ask_whole(node, limit), "where all members know what a home lends, bob may ask so");
    for (uint32_t i = 0; i < node->member_end; i++)
        if (strcmp(node->member[i].name, "cat") == 0)
            node->member[i].lists_grants = false;
    voucher_look_around(node);
    OK(!voucher_may_ask_whole(node, limit), "... and not beside one that does not");
    world_run(1000);
    OK(voucher_may_ask_whole(node, limit), "... until it has said that it does");
}

/* Each of two daemons of the home has half of the limit, and grants parts of a token, of which nothing is a rest. */
static void a_home_of_two(void)
{
    const struct limit_terms terms = bucket_of(100, 100, 86400 * SECOND_NS);
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.region_count = 2;
    memcpy(world.host[CAT].options.region, world.host[ANN].options.region, NODE_NAME_BYTES);
    rights_world_start();
    OK(!voucher_may_ask_whole(world.host[BOB].node,
                              &world.host[BOB].node->limits.limit[charge_at(BOB, "two", &terms, 1).limit]),
       "of two daemons of a home, none lends a rest");
    unsigned given = 0, trips = 0;
    for (; given < 90 && trips < 200; trips++) {
        given += rights_take_at_once(BOB, "two", &terms, 1).allowed;
        world_run(TURN_MS);
    }
    OK(given == 90, "another region has %u of 100 tokens, one after the other, after %u round trips", given, trips);
    world_close();
}

static void figures(void)
{
    struct limit limit;
    struct error error;
    const struct limit_terms terms = bucket_of(10, 10, 60 * SECOND_NS);
    OK(limit_init(&limit, &terms, &error), "a bucket of 10 with a home");
    const int64_t token = limit.units_per_token;
    OK(limit.lent_units > 0 && limit_refill_ns(&limit, limit.lent_units) / MS == 2000,
       "it lends what refills in 2 s");
    OK_I64(grant_whole_units(&limit, 3 * token + 5, 10 * token), 3 * token + 5, "three of ten, and the rest");
    OK_I64(grant_whole_units(&limit, 3 * token + 5, 3 * token), 3 * token + 5,
           "three of three, and the rest is lent");
    OK_I64(grant_whole_units(&limit, 3 * token + 5, 3 * token - 1), 2 * token + 5,
           "of a little less than three, two");
    OK_I64(grant_whole_units(&limit, 3 * token + 5, token - 1), 0, "of less than one, nothing");
    OK_I64(grant_whole_units(&limit, 3 * token + 5, -token), 0, "of a debt, nothing");
    OK_I64(grant_whole_units(&limit, 8 * token + 5, 10 * token), 9 * token + 5, "of eight, one more");
    OK_I64(grant_whole_units(&limit, 8 * token + 5, 9 * token - 1), 8 * token + 5, "... if it is there");
    OK_I64(grant_whole_units(&limit, 3 * token + token / 2, 3 * token), 3 * token + limit.lent_units,
           "no more is lent");
}

int main(void)
{
    figures();
    rights_world_init(3);
    rights_world_start();
    whole_buckets();
    never_more();
    late_clients();
    in_two_parts();
    the_rest_is_never_used();
    the_rest_is_owed();
    a_home_that_starts_anew();
    beside_a_former_release();
    world_close();
    a_home_of_two();
    return tap_done();
}
