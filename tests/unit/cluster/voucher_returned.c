/*
 * Windows and quotas with a home: what a region was granted and has used, it gives back, and holds for a reservation,
 * as at home. Ann's region decides alone; never more than the limit is out, and nothing that is given back is lost,
 * however soon that is. Three nodes 40 ms apart.
 */
#include "tests/lib/rights_world.h"

enum { SILENT_MS = 20000, FAR_MS = 400 };

static struct limit_terms one, ten;

static void begin(void)
{
    one = (struct limit_terms){.kind = LIMIT_CELL, .capacity = 1, .home = limit_home_of(bytes_of("ann's"))};
    ten = one;
    ten.capacity = 10;
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.reservations_max = 8;
    rights_world_start();
}

static struct verdict refused;

static bool reserve(unsigned host, const char *key, const struct limit_terms *terms, uint64_t cost,
                    struct reservation_id *id)
{
    struct charge charge = charge_at(host, key, terms, cost);
    const bool given = node_reserve(world.host[host].node, &charge, 1, 60000 * MS, world.now_ns, &refused, id);
    world_push(host);
    return given;
}

static bool reserve_later(unsigned host, const char *key, const struct limit_terms *terms, uint64_t cost,
                          struct reservation_id *id)
{
    bool given = reserve(host, key, terms, cost, id);
    for (unsigned i = 0; i < 8 && !given; i++) {
        world_run(TURN_MS);
        given = reserve(host, key, terms, cost, id);
    }
    return given;
}

static uint64_t refund(unsigned host, const char *key, const struct limit_terms *terms, uint64_t tokens)
{
    struct charge charge = charge_at(host, key, terms, tokens);
    const uint64_t given = node_return(world.host[host].node, &charge, 1, tokens, world.now_ns);
    world_push(host);
    return given;
}

/* Asks, and takes so many a round trip later. */
static unsigned take_later(unsigned host, const char *key, const struct limit_terms *terms, unsigned count)
{
    unsigned given = rights_take(host, key, terms, count);
    for (unsigned i = 0; i < 8 && given < count; i++) {
        world_run(TURN_MS);
        given += rights_take(host, key, terms, count - given);
    }
    return given;
}

static void refunded(void)
{
    begin();
    OK_U64(take_later(BOB, "key", &ten, 10), 10, "elsewhere clients have all of a window");
    OK_U64(refund(ANN, "key", &ten, 10), 0, "which is nobody's to give back at home");
    OK_U64(refund(CAT, "key", &ten, 10), 0, "nor in a third region");
    OK_U64(refund(BOB, "key", &ten, 4), 4, "but where it was used");
    world_run(WAY_MS + 10);
    OK_U64(rights_take(ANN, "key", &ten, 10), 4, "the home has it a way later");
    OK_U64(refund(BOB, "key", &ten, 10), 6, "no more is given back than is left of it");
    OK_U64(refund(BOB, "key", &ten, 10), 0, "and once");
    world_run(1000);
    OK_U64(take_later(CAT, "key", &ten, 10), 6, "others have it then");
    world_run(1000);
    OK_U64(rights_take_all("key", &ten, 3), 0, "and nothing beside that");
    world_close();
}

/* The third one is far away: what ann grants settles long after it is given back. */
static void before_it_settles(void)
{
    begin();
    for (unsigned other = ANN; other <= BOB; other++)
        world.link[CAT][other].delay_ns = world.link[other][CAT].delay_ns = FAR_MS * MS;
    world_run(3000);
    OK_U64(take_later(BOB, "key", &ten, 10), 10, "bob has all of it");
    OK_U64(refund(BOB, "key", &ten, 10), 10, "and gives it back at once");
    world_run(WAY_MS + 10);
    OK_U64(rights_take(ANN, "key", &ten, 10), 10, "the home has it, though it has not settled what it granted");
    world_run(4 * FAR_MS);
    OK_U64(refund(ANN, "key", &ten, 10), 10, "when that has settled it may give back its own");
    OK_U64(rights_take(ANN, "key", &ten, 10), 10, "nothing of it is lost");
    world_run(4 * FAR_MS);
    OK_U64(rights_take_all("key", &ten, 3), 0, "nor is any there twice");
    world_close();
}

static void reserved(void)
{
    struct reservation_id held, other;
    begin();
    OK(!reserve(BOB, "key", &ten, 10, &held), "elsewhere a reservation is not there at once");
    OK(refused.reason == VERDICT_SHARE && refused.retry_after_ns > WAY_MS * MS && refused.retry_after_ns < 200 * MS,
       "but a round trip later, as its client is told: %" PRIu64 " ns", refused.retry_after_ns);
    world_run(TURN_MS);
    OK(reserve(BOB, "key", &ten, 10, &held), "then it is");
    OK(!reserve_later(ANN, "key", &ten, 1, &other) && !reserve_later(CAT, "key", &ten, 1, &other),
       "and none beside it anywhere");
    OK_U64(refund(BOB, "key", &ten, 10), 0, "no client gives back what it holds");
    struct used_cost used = {.tokens = 3};
    OK_U64(node_commit(world.host[BOB].node, held, &used, 1, world.now_ns), RESERVE_DONE, "less was used of it");
    world_push(BOB);
    world_run(TURN_MS);
    OK(reserve(ANN, "key", &ten, 7, &held), "the rest is there at home");
    OK(!reserve(ANN, "key", &ten, 1, &other), "and no more");
    OK_U64(node_cancel(world.host[ANN].node, held, world.now_ns), RESERVE_DONE, "given back,");
    world_push(ANN);
    OK(reserve_later(CAT, "key", &ten, 7, &held), "it is there in a third region");
    world_run(61000);
    OK_U64(take_later(BOB, "key", &ten, 10), 7, "which gives it back when its time is over");
    OK_U64(refund(BOB, "key", &ten, 10), 10, "what was used of a reservation may be refunded");
    world_close();
}

static void by_turns(void)
{
    struct reservation_id held, other;
    begin();
    OK(reserve_later(BOB, "key", &one, 1, &held), "one token is reserved");
    for (unsigned round = 0; round < 20; round++) {
        const unsigned from = round % 2 == 0 ? BOB : CAT, to = round % 2 == 0 ? CAT : BOB;
        OK_U64(node_cancel(world.host[from].node, held, world.now_ns), RESERVE_DONE, "it is given back");
        world_push(from);
        OK(reserve_later(to, "key", &one, 1, &held), "another region has it");
        OK(!reserve(ANN, "key", &one, 1, &other) && !reserve(from, "key", &one, 1, &other), "and alone");
    }
    world_close();
}

static void third_is_silent(void)
{
    struct reservation_id held;
    begin();
    world_links(CAT, LINK_CUT);
    world_run(SILENT_MS);
    OK(reserve_later(BOB, "key", &ten, 10, &held), "what a third one does is of no matter");
    OK_U64(node_cancel(world.host[BOB].node, held, world.now_ns), RESERVE_DONE, "nor for what is given back");
    world_push(BOB);
    world_run(TURN_MS);
    OK_U64(rights_take(ANN, "key", &ten, 10), 10, "which the home has at once");
    world_links(CAT, LINK_FINE);
    world_run(5000);
    OK_U64(refund(ANN, "key", &ten, 4), 4, "it gives back its own when all are heard again");
    world_run(TURN_MS);
    OK_U64(take_later(CAT, "key", &ten, 10), 4, "and he hears of all of it");
    world_close();
}

/* Bob's clients gave it back in a cut, and his own region may have it again. */
static void in_a_cut(void)
{
    begin();
    OK_U64(take_later(BOB, "key", &ten, 10), 10, "bob has all of it");
    world_links(BOB, LINK_CUT);
    OK_U64(refund(BOB, "key", &ten, 10), 10, "his clients give it back while he is cut off");
    world_run(SILENT_MS);
    OK_U64(rights_take_all("key", &ten, 3), 0, "nobody has it meanwhile, since only the home decides");
    world_links(BOB, LINK_FINE);
    world_run(5000);
    OK_U64(rights_take(ANN, "key", &ten, 20), 10, "and all of it when they meet");
    world_close();
}

static void holder_crashes(void)
{
    struct reservation_id held;
    begin();
    OK(reserve_later(BOB, "key", &ten, 4, &held), "bob has a reservation");
    world_crash(BOB);
    world_start(BOB);
    world_run(1000);
    skip_text();
    OK_U64(refund(BOB, "key", &ten, 10), 0, "who starts again has used nothing");
    OK_U64(rights_take_all("key", &ten, 6), 6, "and what he held counts as used");
    world_close();
}

/* Even shares: what is granted for a request beyond them can be given back as well. */
static void without_a_home(void)
{
    struct reservation_id held, other;
    struct limit_terms even = {.kind = LIMIT_CELL, .capacity = 100};
    begin();
    OK(!reserve(BOB, "even", &even, 60, &held) && reserve_later(BOB, "even", &even, 60, &held),
       "a reservation of more than a share is there later");
    world_run(1000);
    OK_U64(refund(BOB, "even", &even, 60), 0, "no client gives back what it holds");
    OK_U64(node_cancel(world.host[BOB].node, held, world.now_ns), RESERVE_DONE, "it is cancelled");
    world_push(BOB);
    world_run(1000);
    OK(reserve_later(CAT, "even", &even, 60, &held), "and there elsewhere");
    OK(!reserve_later(ANN, "even", &even, 60, &other), "once");
    world_close();
}

int main(void)
{
    refunded();
    before_it_settles();
    reserved();
    by_turns();
    third_is_silent();
    in_a_cut();
    holder_crashes();
    without_a_home();
    return tap_done();
}
