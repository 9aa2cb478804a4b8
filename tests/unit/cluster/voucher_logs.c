/*
 * Sliding logs and leases of which each region has a share: a region has what others granted it a round trip later, and
 * never do more tokens count at once than the limit has, whoever is cut off, gives back or renews. Three nodes 40 ms
 * apart.
 */
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "tests/lib/rights_world.h"

#include <string.h>

enum { PERIOD_MS = 20000, SECOND_MS = 1000, AHEAD_MS = 4800, SEEN_MAX = 4096 };

static const struct limit_terms hundred = {.kind = LIMIT_LOG, .capacity = 100, .period_ns = PERIOD_MS * MS},
                                twelve = {.kind = LIMIT_LOG, .capacity = 12, .period_ns = PERIOD_MS * MS};

/* All tokens that were admitted of a key, by time. */
static struct {
    uint64_t at_ns[SEEN_MAX];
    unsigned count, most;
} seen;

static void begin(void)
{
    seen.count = seen.most = 0;
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.reservations_max = 64;
    rights_world_start();
}

static void note(unsigned tokens)
{
    for (unsigned i = 0; i < tokens && seen.count < SEEN_MAX; i++)
        seen.at_ns[seen.count++] = world.now_ns;
    unsigned now = 0;
    for (unsigned i = seen.count; i > 0 && seen.at_ns[i - 1] + PERIOD_MS * MS > world.now_ns; i--)
        now++;
    seen.most = now > seen.most ? now : seen.most;
}

static unsigned take(unsigned host, const char *key, const struct limit_terms *terms, unsigned count)
{
    const unsigned taken = rights_take(host, key, terms, count);
    note(taken);
    return taken;
}

/* The table of docs/accounting.md has these figures. */
static void burst(void)
{
    static const unsigned expected[] = {31, 93, 94, 94};
    unsigned given = 0;
    begin();
    for (unsigned trip = 0; trip < sizeof expected / sizeof expected[0]; trip++) {
        given += take(ANN, "burst", &hundred, 100);
        OK(given >= expected[trip], "%u of 100 after %u round trips, at least %u", given, trip, expected[trip]);
        world_run(TURN_MS);
    }
    for (unsigned ms = 0; ms < 2 * PERIOD_MS; ms += TURN_MS) {
        for (unsigned host = ANN; host <= CAT; host++)
            (void)take(host, "burst", &hundred, 100);
        world_run(TURN_MS);
    }
    OK(seen.most <= 100 && seen.most >= 94, "all regions together have %u of 100 in any period", seen.most);
    OK(seen.count > 190, "and as many again in the next one: %u in all", seen.count);
    world_close();
}

static void unused_comes_back(void)
{
    begin();
    (void)take(ANN, "unused", &hundred, 100);
    world_run(TURN_MS);
    OK(rights_explain(ANN, "unused", &hundred).voucher_tokens > 50, "a burst that is over has brought a voucher");
    const struct charge charge = charge_at(CAT, "unused", &hundred, 1);
    OK_U64(node_return(world.host[CAT].node, &charge, 1, 50, world.now_ns), 0,
           "no client gives back what its region granted");
    (void)take(BOB, "unused", &hundred, 100);
    world_run(TURN_MS + 2500);
    OK_U64(rights_explain(ANN, "unused", &hundred).voucher_tokens, 0, "what nobody has used is given back");
    unsigned given = take(BOB, "unused", &hundred, 100);
    OK(given > 15, "another region has its share of that at once: %u", given);
    world_run(TURN_MS);
    given += take(BOB, "unused", &hundred, 100);
    OK(given > 50, "and the others' a round trip later: %u", given);
    OK(seen.most <= 100, "%u of 100 in all", seen.most);
    world_close();
}

/* What was granted is used later, in a cut: it counts for the makers until it has ended. */
static void used_in_a_cut(void)
{
    begin();
    unsigned held = take(BOB, "cut", &hundred, 100);
    world_run(TURN_MS);
    world_links(BOB, LINK_CUT);
    world_run(SECOND_MS);
    held += take(BOB, "cut", &hundred, 100);
    OK(held >= 90, "what was granted is used in a cut: %u of 100", held);
    for (unsigned ms = 0; ms < PERIOD_MS + 2 * AHEAD_MS; ms += 100) {
        (void)take(ANN, "cut", &hundred, 100);
        (void)take(CAT, "cut", &hundred, 100);
        world_run(100);
    }
    OK(seen.count > held + 20, "the makers admit again when it has ended: %u", seen.count - held);
    OK(seen.most <= 100, "and not before: %u of 100 at once", seen.most);
    world_close();
}

/* Reserves as many leases as there are; returns how many. */
static unsigned lease(unsigned host, const char *key, unsigned count, struct reservation_id *ids)
{
    struct verdict refused;
    unsigned given = 0;
    struct charge charge = charge_at(host, key, &twelve, 1);
    charge.lease = true;
    while (given < count && node_reserve(world.host[host].node, &charge, 1, PERIOD_MS / 4 * MS, world.now_ns,
                                         &refused, &ids[given]))
        given++;
    world_push(host);
    return given;
}

/* Returns how many go on. */
static unsigned renew(unsigned host, const struct reservation_id *ids, unsigned count)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++)
        kept += node_renew(world.host[host].node, ids[i], PERIOD_MS / 4 * MS, world.now_ns) == RESERVE_DONE;
    world_push(host);
    return kept;
}

static unsigned lease_soon(unsigned host, struct reservation_id *ids)
{
    unsigned count = lease(host, "lease", 12, ids);
    for (unsigned trip = 0; trip < 3; trip++) {
        world_run(TURN_MS);
        count += lease(host, "lease", 12 - count, ids + count);
    }
    return count;
}

static void leases(void)
{
    struct reservation_id held[12], other[12];
    begin();
    const unsigned count = lease_soon(BOB, held);
    OK(count >= 8, "one region has %u of 12 leases after round trips", count);
    unsigned others = 0, kept = count;
    for (unsigned ms = 0; ms < 3 * PERIOD_MS && kept == count; ms += SECOND_MS) {
        kept = renew(BOB, held, count);
        OK_U64(renew(ANN, other, others), others, "another region has %u", others);
        others += lease(ANN, "lease", 12 - others, other + others);
        world_run(SECOND_MS);
    }
    OK_U64(kept, count, "they are renewed for three periods");
    OK(count + others <= 12, "and there are no more than 12: %u beside them", others);
    for (unsigned i = 0; i < count; i++)
        (void)node_cancel(world.host[BOB].node, held[i], world.now_ns);
    world_push(BOB);
    const unsigned again = lease_soon(CAT, held);
    OK(again + 3 >= count && again + others <= 12, "given back, they are there elsewhere: %u", again);
    world_close();
}

/* ---- a release that does not list what is granted of logs without a home ---- */

static struct effects rewritten;
static unsigned unsaid_count;

/*
 * Cat's own record without MEMBER_LISTS_GRANTS. Its flags are two bytes, since she sets MEMBER_HEEDS_UNCHARGED as well.
 */
static struct bytes without_flag(unsigned from, struct bytes bytes)
{
    static const uint8_t said[] = {0xcd, (MEMBER_LISTS_GRANTS | MEMBER_HEEDS_UNCHARGED) >> 8},
                         unsaid[] = {0xcd, MEMBER_HEEDS_UNCHARGED >> 8};
    const struct hash_key *key = &world.host[from].options.hash_key;
    struct bytes opened = bytes;
    if (from != CAT || !message_unseal(&opened, key))
        return bytes;
    const char *at = memmem(opened.data, opened.size, said, sizeof said);
    if (!at)
        return bytes;
    const size_t before = (size_t)(at - opened.data), after = opened.size - before - sizeof unsaid;
    effects_clear(&rewritten);
    effects_append(&rewritten, opened.data, before);
    effects_append(&rewritten, unsaid, sizeof unsaid);
    effects_append(&rewritten, at + sizeof unsaid, after);
    message_seal(&rewritten, 0, key);
    unsaid_count++;
    return (struct bytes){(const char *)rewritten.arena, rewritten.arena_size};
}

static void former_release(void)
{
    const struct limit_terms window = {.kind = LIMIT_CELL, .capacity = 100};
    effects_init(&rewritten);
    rights_world_init(3);
    world.rewrite = without_flag;
    rights_world_start();
    (void)rights_take(ANN, "former", &hundred, 100);
    (void)rights_take(ANN, "former-window", &window, 100);
    world_run(TURN_MS);
    OK(unsaid_count > 0, "cat is of a release that does not list grants of logs");
    OK(rights_explain(ANN, "former-window", &window).voucher_tokens > 50, "of a window, ann asks all");
    OK_U64(rights_explain(ANN, "former", &hundred).voucher_tokens, 0, "of a log she asks nobody");
    world_close();
    world.rewrite = NULL;
    effects_close(&rewritten);
}

int main(void)
{
    burst();
    unused_comes_back();
    used_in_a_cut();
    leases();
    former_release();
    return tap_done();
}
