/*
 * Leases elsewhere that are renewed beyond the period that they began with. Bob has them of a limit whose home is ann's
 * region; cat has no part of it either. A renewed lease counts for longer only where all of the home knows the new
 * spend before the old one ends there, and whatever news comes late, no place is held twice. Nodes 40 ms apart.
 */
#include "tests/lib/rights_world.h"

enum { PERIOD_MS = 20000, HALF_MS = 10000, ROOM_MS = 625, AHEAD_MS = 4800, SILENT_MS = 20000 };

static struct limit_terms terms;
static uint64_t slept_ns;

static uint64_t sleepless_ns(void)
{
    return world.now_ns + slept_ns;
}

static void begin(unsigned hosts, uint64_t capacity)
{
    terms = (struct limit_terms){.kind = LIMIT_LOG,
                                 .capacity = capacity,
                                 .period_ns = PERIOD_MS * MS,
                                 .home = limit_home_of(bytes_of("ann's"))};
    slept_ns = 0;
    rights_world_init(hosts);
    for (unsigned i = 0; i < hosts; i++) {
        world.host[i].options.reservations_max = 8;
        world.host[i].options.sleepless_ns = sleepless_ns;
    }
}

static bool lease(unsigned host, uint64_t ttl_ms, struct reservation_id *id)
{
    struct charge charge = charge_at(host, "key", &terms, 1);
    struct verdict refused;
    charge.lease = true;
    const bool given = node_reserve(world.host[host].node, &charge, 1, ttl_ms * MS, world.now_ns, &refused, id);
    world_push(host);
    return given;
}

static bool lease_later(unsigned host, uint64_t ttl_ms, struct reservation_id *id)
{
    bool given = lease(host, ttl_ms, id);
    for (unsigned i = 0; i < 8 && !given; i++) {
        world_run(TURN_MS);
        given = lease(host, ttl_ms, id);
    }
    return given;
}

static enum reserve_status renew(unsigned host, struct reservation_id id, uint64_t ttl_ms)
{
    const enum reserve_status status = node_renew(world.host[host].node, id, ttl_ms * MS, world.now_ns);
    world_push(host);
    return status;
}

static uint64_t began_ns;

static void run_to(uint64_t ms)
{
    const uint64_t passed_ms = (world.now_ns - began_ns) / MS;
    world_run(ms > passed_ms ? ms - passed_ms : 0);
}

static void holds(unsigned host, struct reservation_id *held)
{
    OK(lease_later(host, PERIOD_MS, held), "bob has a lease");
    began_ns = world.now_ns;
}

static void goes_on(bool third_is_silent)
{
    struct reservation_id held, other;
    begin(3, 1);
    rights_world_start();
    if (third_is_silent) {
        world_links(CAT, LINK_CUT);
        world_run(SILENT_MS);
    }
    OK(lease_later(BOB, 6000, &held), "bob has a lease");
    bool renewed = true, alone = true;
    for (unsigned i = 0; i < 40; i++) {
        world_run(2000);
        renewed &= renew(BOB, held, 6000) == RESERVE_DONE;
        alone &= !lease(ANN, 1000, &other) && (third_is_silent || !lease(CAT, 1000, &other));
    }
    OK(renewed, "it is renewed for four periods%s", third_is_silent ? ", whatever a third one says" : "");
    OK(alone, "and nobody has another one meanwhile");
    OK_U64(node_cancel(world.host[BOB].node, held, world.now_ns), RESERVE_DONE, "given back");
    world_push(BOB);
    world_run(TURN_MS);
    OK(lease(ANN, 1000, &other), "it is there at home");
    world_close();
}

static void ends_by_itself(void)
{
    struct reservation_id held, other;
    begin(3, 1);
    rights_world_start();
    holds(BOB, &held);
    run_to(HALF_MS + 500);
    OK_U64(renew(BOB, held, PERIOD_MS), RESERVE_REFUSED, "not longer than the home knows");
    world_run(TURN_MS);
    OK_U64(renew(BOB, held, HALF_MS), RESERVE_DONE, "but a round trip later");
    run_to(PERIOD_MS + 400);
    OK(!lease(ANN, 1000, &other), "beyond its period it counts");
    world_run(500);
    OK(lease(ANN, 1000, &other), "until its time is over, and the home hears of that");
    world_close();
}

/* What bob asked for is known at home, and the word of it does not come, or too late. */
static void confirmed_too_late(uint64_t at_ms, bool counts)
{
    struct reservation_id held, other;
    begin(3, 1);
    rights_world_start();
    holds(BOB, &held);
    run_to(HALF_MS);
    (void)renew(BOB, held, 1000);
    world_link(ANN, BOB, LINK_HELD);
    world_link(CAT, BOB, LINK_HELD);
    run_to(HALF_MS + 900);
    OK_U64(renew(BOB, held, HALF_MS - 950), RESERVE_DONE,
           "before the word of the home a lease lasts for its period");
    run_to(at_ms);
    world_release(ANN, BOB, false);
    world_release(CAT, BOB, false);
    world_run(1);
    OK_U64(renew(BOB, held, PERIOD_MS / 2), counts ? RESERVE_DONE : RESERVE_REFUSED, "at %" PRIu64 " ms: %s", at_ms,
           counts ? "the word of the home counts" : "too late for the word of the home");
    run_to(PERIOD_MS + 1);
    OK_U64(node_cancel(world.host[BOB].node, held, world.now_ns), counts ? RESERVE_DONE : RESERVE_UNKNOWN,
           "and so the lease %s", counts ? "goes on" : "has ended");
    world_run(TURN_MS);
    OK(lease(ANN, 1000, &other) == counts, "at home the new spend counts until it is given back, or over");
    run_to(PERIOD_MS + HALF_MS + 500);
    OK(lease(ANN, 1000, &other), "then it is over there");
    world_close();
}

static void machine_sleeps(void)
{
    struct reservation_id held;
    begin(3, 1);
    rights_world_start();
    holds(BOB, &held);
    run_to(HALF_MS);
    (void)renew(BOB, held, 1000);
    slept_ns = HALF_MS * MS;
    world_run(TURN_MS);
    OK_U64(renew(BOB, held, PERIOD_MS / 2), RESERVE_REFUSED, "who has slept meanwhile is too late");
    world_close();
}

/*
 * The new spend comes home after the old one has ended there, and after cat has the place: with its return, or without.
 */
static void told_too_late(bool given_back)
{
    struct reservation_id held, other;
    begin(3, 1);
    rights_world_start();
    holds(BOB, &held);
    run_to(HALF_MS);
    world_link(BOB, ANN, LINK_HELD);
    world_link(BOB, CAT, LINK_HELD);
    (void)renew(BOB, held, HALF_MS);
    world_run(1000);
    if (given_back) {
        OK_U64(node_cancel(world.host[BOB].node, held, world.now_ns), RESERVE_DONE, "the lease is given back");
        world_push(BOB);
    }
    run_to(PERIOD_MS + 200);
    OK(lease_later(CAT, PERIOD_MS, &held), "when it is over at home, cat has it");
    const uint64_t taken_ns = world.now_ns;
    world_run(1000);
    world_release(BOB, ANN, false);
    world_release(BOB, CAT, false);
    bool alone = true;
    while (world.now_ns < taken_ns + (PERIOD_MS - 100) * MS) {
        world_run(500);
        alone &= !lease(ANN, 100, &other) && !lease(BOB, 100, &other);
    }
    OK(alone, "whatever bob %s is heard too late to make room", given_back ? "gave back" : "began");
    world_run(AHEAD_MS);
    OK(lease(ANN, 100, &other), "and takes none for long");
    world_close();
}

/* The home's own leases stand beside one that bob told too late: theirs are given back, and not one for the other. */
static void told_too_late_among_others(void)
{
    struct reservation_id held, own, second, other;
    begin(3, 2);
    rights_world_start();
    holds(BOB, &held);
    run_to(HALF_MS / 2);
    OK(lease(ANN, PERIOD_MS, &own), "ann has one of two leases");
    run_to(HALF_MS);
    (void)node_renew(world.host[BOB].node, held, HALF_MS * MS, world.now_ns);
    world_links(BOB, LINK_CUT);
    run_to(PERIOD_MS + 500);
    OK(lease(ANN, PERIOD_MS, &second), "and the other when bob's is over");
    world_run(1000);
    world_links(BOB, LINK_FINE);
    world_run(3000);
    OK_U64(node_cancel(world.host[ANN].node, own, world.now_ns), RESERVE_DONE, "she gives the first one back");
    run_to(PERIOD_MS + HALF_MS + 1500);
    OK(lease(ANN, PERIOD_MS, &other), "there is one beside the second");
    OK(!lease(ANN, PERIOD_MS, &other), "and no other");
    world_close();
}

/* Each daemon of the home has a part of the limit, and may give a place away when the old spend ends there. */
static void one_of_two_has_not_heard(void)
{
    struct reservation_id held;
    begin(4, 40);
    for (unsigned i = 0; i < 4; i++)
        world.host[i].options.region_count = 3;
    memcpy(world.host[DAN].options.region, world.host[ANN].options.region, NODE_NAME_BYTES);
    rights_world_start();
    holds(BOB, &held);
    run_to(HALF_MS);
    (void)renew(BOB, held, 5000);
    world_links(DAN, LINK_HELD);
    world_run(500);
    OK_U64(renew(BOB, held, HALF_MS + 1000), RESERVE_REFUSED, "one of the home's daemons has not heard of it");
    for (unsigned other = ANN; other <= CAT; other++) {
        world_release(other, DAN, false);
        world_release(DAN, other, false);
    }
    world_run(500);
    OK_U64(renew(BOB, held, HALF_MS + 1000), RESERVE_DONE, "when it has, the lease goes on");
    world_close();
}

static void home_is_silent(void)
{
    struct reservation_id held, other;
    begin(3, 1);
    rights_world_start();
    holds(BOB, &held);
    world_run(1000);
    world_links(ANN, LINK_CUT);
    run_to(HALF_MS + 4000);
    OK_U64(renew(BOB, held, 5000), RESERVE_DONE, "within its period a lease is renewed in a cut");
    OK_U64(renew(BOB, held, HALF_MS), RESERVE_REFUSED, "and not beyond it");
    run_to(PERIOD_MS + 500);
    OK(lease(ANN, 1000, &other), "nothing was told in vain: at home it is over");
    world_close();
}

int main(void)
{
    goes_on(false);
    goes_on(true);
    ends_by_itself();
    confirmed_too_late(PERIOD_MS - ROOM_MS - 100, true);
    confirmed_too_late(PERIOD_MS - ROOM_MS + 50, false);
    machine_sleeps();
    told_too_late(false);
    told_too_late(true);
    told_too_late_among_others();
    one_of_two_has_not_heard();
    home_is_silent();
    return tap_done();
}
