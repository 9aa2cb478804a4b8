/*
 * Leases and sliding logs with a home: ann's region decides alone, and bob and cat have a token a round trip after they
 * ask. Never more than the limit is out, whoever crashes, is cut off or gives back, and what is given back anywhere can
 * be had everywhere. Three nodes 40 ms apart.
 */
#include "tests/lib/rights_world.h"

enum { PERIOD_MS = 20000, LIFE_MS = 4000, AHEAD_MS = 4800, SILENT_MS = 20000 };

static struct limit_terms one, five;

static void begin(uint32_t events)
{
    one = (struct limit_terms){.kind = LIMIT_LOG,
                               .capacity = 1,
                               .period_ns = PERIOD_MS * MS,
                               .home = limit_home_of(bytes_of("ann's"))};
    five = one;
    five.capacity = 5;
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++) {
        world.host[i].options.reservations_max = 8;
        world.host[i].options.events_max = events;
    }
    rights_world_start();
}

static struct verdict refused;

static bool lease(unsigned host, const char *key, const struct limit_terms *terms, uint64_t ttl_ms,
                  struct reservation_id *id)
{
    struct charge charge = charge_at(host, key, terms, 1);
    charge.lease = true;
    const bool given = node_reserve(world.host[host].node, &charge, 1, ttl_ms * MS, world.now_ns, &refused, id);
    world_push(host);
    return given;
}

/* Asks, and again a round trip later, and so on: whoever has asked in vain asks less often. */
static bool lease_later(unsigned host, const char *key, struct reservation_id *id)
{
    bool given = lease(host, key, &one, PERIOD_MS, id);
    for (unsigned i = 0; i < 8 && !given; i++) {
        world_run(TURN_MS);
        given = lease(host, key, &one, PERIOD_MS, id);
    }
    return given;
}

static void cancel(unsigned host, struct reservation_id id)
{
    OK_U64(node_cancel(world.host[host].node, id, world.now_ns), RESERVE_DONE, "a lease is given back");
    world_push(host);
    world_run(TURN_MS);
}

static void restart(unsigned host)
{
    world_crash(host);
    world_start(host);
    world_run(800);
    skip_text();
}

static void granted_and_given_back(void)
{
    struct reservation_id held, other;
    begin(0);
    OK(!lease(BOB, "key", &one, PERIOD_MS, &held), "elsewhere a lease is not there at once");
    OK(refused.reason == VERDICT_SHARE && refused.retry_after_ns > WAY_MS * MS && refused.retry_after_ns < 200 * MS,
       "but a round trip later, as its client is told: %" PRIu64 " ns", refused.retry_after_ns);
    world_run(TURN_MS);
    OK(lease(BOB, "key", &one, PERIOD_MS, &held), "then it is");
    OK(!lease_later(ANN, "key", &other) && !lease_later(CAT, "key", &other), "and none beside it anywhere");
    OK(refused.reason == VERDICT_CAPACITY, "since it is taken");
    world_run(1000); /* cat's clients have gone */
    cancel(BOB, held);
    OK(lease(ANN, "key", &one, PERIOD_MS, &held), "given back, it is there at home at once");
    cancel(ANN, held);
    OK(lease_later(CAT, "key", &held), "and then elsewhere");
    OK(!lease_later(ANN, "key", &other) && !lease_later(BOB, "key", &other), "and nowhere beside that");
    for (unsigned round = 0; round < 20; round++) {
        const unsigned from = round % 2 == 0 ? CAT : BOB, to = round % 2 == 0 ? BOB : CAT;
        cancel(from, held);
        OK(lease_later(to, "key", &held), "two regions have it by turns");
        OK(!lease(ANN, "key", &one, PERIOD_MS, &other) && !lease(from, "key", &one, PERIOD_MS, &other),
           "and alone");
    }
    world_close();
}

static void renewed(void)
{
    struct reservation_id held, other;
    begin(0);
    (void)lease(BOB, "key", &one, 1000, &held);
    world_run(TURN_MS);
    OK(lease(BOB, "key", &one, 1000, &held), "bob has a lease for a second");
    for (unsigned i = 0; i < 10; i++) {
        world_run(900);
        OK_U64(node_renew(world.host[BOB].node, held, 1000 * MS, world.now_ns), RESERVE_DONE, "it is renewed");
    }
    OK(!lease(ANN, "key", &one, 1000, &other), "and counts at home");
    OK_U64(node_renew(world.host[BOB].node, held, PERIOD_MS * MS, world.now_ns), RESERVE_REFUSED,
           "but not beyond the period that it began with");
    world_run(900);
    OK_U64(node_renew(world.host[BOB].node, held, 1000 * MS, world.now_ns), RESERVE_DONE, "up to that it goes on");
    world_run(1000 + TURN_MS);
    OK(lease(ANN, "key", &one, 1000, &other), "when it has ended the home has it again");
    world_close();
}

static void not_used(void)
{
    struct reservation_id held;
    begin(0);
    (void)lease(BOB, "key", &one, PERIOD_MS, &held);
    world_run(TURN_MS);
    OK(!lease(ANN, "key", &one, PERIOD_MS, &held), "what was granted is not at home");
    const struct charge charge = charge_at(ANN, "key", &one, 1);
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 1, world.now_ns), 0, "and no client's there to give back");
    world_run(1500);
    OK(lease(ANN, "key", &one, PERIOD_MS, &held), "nobody has used it: it is given back");
    world_close();
}

/* Until bob's lease, taken at that moment and told nobody, has ended, nobody else has one. */
static void alone_until_it_ends(unsigned host, const char *story)
{
    struct reservation_id other;
    unsigned waited_ms = 0;
    while (waited_ms < PERIOD_MS + 2 * AHEAD_MS && !lease(host, "key", &one, 100, &other)) {
        world_run(100);
        waited_ms += 100;
    }
    OK(waited_ms >= PERIOD_MS - 100, "%s: it is alone until it has ended (%u ms)", story, waited_ms);
    OK(waited_ms <= PERIOD_MS + AHEAD_MS + 500, "%s: and not for much longer", story);
}

/* Bob has a voucher, is cut off, and takes a lease by it a second later. */
static void used_in_a_cut(void)
{
    struct reservation_id held;
    begin(0);
    (void)lease(BOB, "key", &one, PERIOD_MS, &held);
    world_run(TURN_MS);
    world_links(BOB, LINK_CUT);
    world_run(1000);
    OK(lease(BOB, "key", &one, PERIOD_MS, &held), "what was granted is used in a cut");
    alone_until_it_ends(ANN, "used in a cut");
    world_close();
}

static void used_too_late(void)
{
    struct reservation_id held;
    begin(0);
    (void)lease(BOB, "key", &one, PERIOD_MS, &held);
    world_run(TURN_MS);
    world_stall(BOB, LIFE_MS + 100);
    world_run(LIFE_MS + 100);
    OK(!lease(BOB, "key", &one, PERIOD_MS, &held), "a voucher is not used after its life");
    world_run(2000);
    OK(lease(ANN, "key", &one, PERIOD_MS, &held), "and is given back afterwards");
    world_close();
}

static void home_starts_anew(void)
{
    struct reservation_id held;
    begin(0);
    (void)lease(BOB, "key", &one, PERIOD_MS, &held);
    world_run(TURN_MS);
    restart(ANN);
    OK(!lease(ANN, "key", &one, PERIOD_MS, &held), "a home that starts anew knows what it granted");
    OK(lease(BOB, "key", &one, PERIOD_MS, &held), "and bob may use it");
    world_links(BOB, LINK_CUT);
    alone_until_it_ends(ANN, "granted before the home started anew");
    world_close();
}

static void holder_crashes(void)
{
    struct reservation_id held;
    begin(0);
    OK(!lease(BOB, "key", &one, PERIOD_MS, &held), "bob asks");
    world_run(TURN_MS);
    OK(lease(BOB, "key", &one, PERIOD_MS, &held), "and has a lease");
    world_run(WAY_MS + 20);
    const uint64_t since_ns = world.now_ns;
    restart(BOB);
    OK(!lease_later(BOB, "key", &held) && !lease_later(CAT, "key", &held), "which counts when he has crashed");
    world_run(PERIOD_MS - (world.now_ns - since_ns) / MS + AHEAD_MS);
    OK(lease_later(CAT, "key", &held), "until it would have ended");
    world_close();
}

static void third_is_silent(void)
{
    struct reservation_id held, other;
    begin(0);
    world_links(CAT, LINK_CUT);
    world_run(SILENT_MS);
    OK(lease_later(BOB, "key", &held), "what a third one does is of no matter");
    OK(!lease(ANN, "key", &one, PERIOD_MS, &other), "to nobody");
    cancel(BOB, held);
    OK(lease(ANN, "key", &one, PERIOD_MS, &other), "nor for what is given back");
    world_links(CAT, LINK_FINE);
    world_run(5000);
    OK(!lease_later(CAT, "key", &held), "and he hears of it");
    world_close();
}

static void sliding_logs(void)
{
    begin(0);
    OK_U64(rights_take(CAT, "log", &five, 5), 0, "a log has nothing elsewhere at once");
    world_run(TURN_MS);
    OK_U64(rights_take(CAT, "log", &five, 9), 5, "and all of it a round trip later");
    OK_U64(rights_take_all("log", &five, 3), 0, "and nothing beside that");
    const struct charge charge = charge_at(CAT, "log", &five, 5);
    OK_U64(node_return(world.host[CAT].node, &charge, 1, 2, world.now_ns), 2, "its clients may give some back");
    world_push(CAT);
    world_run(TURN_MS);
    OK_U64(rights_take(ANN, "log", &five, 9), 2, "which others have then");
    OK(rights_take_at_once(BOB, "large", &five, 5).reason == VERDICT_SHARE, "a cost of all of it is asked for");
    world_run(TURN_MS);
    OK(rights_take_at_once(BOB, "large", &five, 5).allowed, "and admitted");
    world_run(PERIOD_MS + AHEAD_MS);
    OK_U64(rights_take_all("log", &five, 3), 5, "after its period all is there again");
    world_close();
}

static void full_pool(void)
{
    begin(16);
    struct limit_terms many = five;
    many.capacity = 100;
    unsigned taken = 0;
    for (unsigned i = 0; i < 32; i++) {
        taken += rights_take(ANN, "fill", &many, 1);
        world_run(1);
    }
    OK(taken > 8 && taken < 16, "%u spends fill the home's pool", taken);
    struct reservation_id held;
    OK(!lease_later(BOB, "key", &held), "without room for one more it grants nothing");
    world_run(PERIOD_MS + AHEAD_MS);
    OK_U64(rights_take(ANN, "fill", &many, 1), 1, "when they have ended");
    OK(lease_later(BOB, "key", &held), "it does");
    world_close();
}

/* What was granted under the former terms is not used under others, and counts as used until it would have ended. */
static void limit_changes(void)
{
    struct reservation_id held, other;
    begin(0);
    (void)lease(BOB, "key", &one, PERIOD_MS, &held);
    world_run(TURN_MS);
    struct limit_terms two = one;
    two.capacity = 2;
    OK(!lease(BOB, "key", &two, PERIOD_MS, &held), "another limit begins without a voucher");
    OK(lease(ANN, "key", &two, PERIOD_MS, &held), "at home there is one more");
    OK(!lease(ANN, "key", &two, PERIOD_MS, &other), "and no other");
    world_close();
}

int main(void)
{
    granted_and_given_back();
    renewed();
    not_used();
    used_in_a_cut();
    used_too_late();
    home_starts_anew();
    holder_crashes();
    third_is_silent();
    sliding_logs();
    full_pool();
    limit_changes();
    return tap_done();
}
