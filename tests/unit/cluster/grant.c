/* Grants that peers make up, and grants of a key that cannot settle, since somebody is silent. */
#include "cluster/spend/grant.h"

#include "cluster/codec/batch.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"
#include "tests/lib/rights_world.h"

enum { MUCH_TOKENS = 10000000, TIMES = 600, AGAIN = 3 };

/* Settling takes off what was granted, which a spend counts in 32 bits, however many batches become one. */
static void all_fit_a_spend(void)
{
    static const struct limit_terms large = {.kind = LIMIT_BUCKET,
                                             .capacity = LIMIT_CAPACITY_MAX,
                                             .rate = 1000000,
                                             .period_ns = 1000 * MS};
    uint64_t granted = 0, tokens = 0;
    rights_world_init(3);
    rights_world_start();
    world_crash(CAT);
    world_run(5000);
    (void)rights_take(ANN, "large", &large, 1);
    struct node *node = world.host[ANN].node;
    const struct charge charge = charge_at(ANN, "large", &large, 1);
    const int64_t units = node->limits.limit[charge.limit].units_per_token * MUCH_TOKENS;
    for (unsigned i = 0; i < TIMES; i++) {
        struct entry *entry = table_find(node->table, charge.id);
        granted += (uint64_t)grant_own(node, entry, &entry->bucket, units, i + 1);
        world_run(100);
    }
    (void)grants_concern(node, charge.id, &tokens);
    OK(tokens * (uint64_t)(units / MUCH_TOKENS) == granted, "no grant is lost: %" PRIu64, tokens);
    OK(tokens > UINT32_MAX / 2 && tokens <= UINT32_MAX, "all that is granted of a key fits one spend: %" PRIu64,
       tokens);
    world_close();
}

/*
 * Grants of a peer that has more than there is, or more than it was asked for. The lie is told by all peers, again and
 * again.
 */
static void none_is_larger_than_what_was_asked_for(void)
{
    static const struct limit_terms hourly = {.kind = LIMIT_BUCKET,
                                              .capacity = 100,
                                              .rate = 1,
                                              .period_ns = 3600000 * MS};
    static const uint64_t lies[] = {UINT32_MAX / 2, 101, 100};
    static const uint64_t least[] = {0, 0, 1};
    for (unsigned l = 0; l < sizeof lies / sizeof lies[0]; l++) {
        rights_world_init(3);
        rights_world_start();
        (void)rights_take(ANN, "hourly", &hourly, 60);
        world_run(GATHERED_MS);
        world_links(ANN, LINK_CUT);
        struct node *node = world.host[ANN].node;
        const struct charge charge = charge_at(ANN, "hourly", &hourly, 1);
        struct batch *batch = batch_create_granting(0, 1, 1);
        assert(batch && node->rights.asks_count > 0);
        batch->spend[0] = (struct spend){.id = charge.id, .limit = charge.limit, .tokens = UINT32_MAX};
        batch->grant[0] = (struct batch_grant){.id = charge.id,
                                               .holder_uid = node->origin[node->my_slot].uid,
                                               .ask = node->rights.asks_count,
                                               .tokens = lies[l]};
        for (uint32_t i = 0; i < AGAIN * NODE_PEERS_MAX; i++)
            voucher_take(node, batch, i % NODE_PEERS_MAX);
        const uint64_t got = rights_explain(ANN, "hourly", &hourly).voucher_tokens;
        const uint64_t asked = least[l] > 0 ? node->stats.rights_asked_tokens + NODE_PEERS_MAX : 0;
        OK(got >= least[l] && got <= asked, "grants of %" PRIu64 " make %" PRIu64 " tokens, of %" PRIu64, lies[l],
           got, asked);
        batch_destroy(&batch);
        world_close();
    }
}

static const struct limit_terms slow = {.kind = LIMIT_BUCKET,
                                        .capacity = 100,
                                        .rate = 100,
                                        .period_ns = 3600000 * MS};

/* The key goes over to another limit before a batch tells the grant. */
static void told_under_another_limit(void)
{
    static const struct limit_terms later = {.kind = LIMIT_BUCKET,
                                             .capacity = 200,
                                             .rate = 100,
                                             .period_ns = 3600000 * MS};
    rights_world_init(3);
    rights_world_start();
    (void)rights_take(BOB, "key", &slow, 1);
    struct node *node = world.host[BOB].node;
    const struct charge charge = charge_at(BOB, "key", &slow, 1);
    struct entry *entry = table_find(node->table, charge.id);
    (void)grant_own(node, entry, &entry->bucket, 5 * node->limits.limit[charge.limit].units_per_token, 1);
    OK_U64(node->rights.grants_untold, 1, "bob has granted, and told nobody yet");
    for (unsigned i = 0; i < 3; i++)
        (void)rights_take(i, "key", &later, 1);
    world_run(3000);
    uint64_t tokens = 0;
    OK(node->rights.grants_untold == 0 && !grants_concern(node, charge.id, &tokens),
       "under another limit of its key it is told all the same, and ends");
    world_close();
}

/* Messages repeat an ask until it is answered. */
static void an_ask_is_answered_once(void)
{
    rights_world_init(3);
    rights_world_start();
    (void)rights_take(BOB, "key", &slow, 1);
    struct node *node = world.host[BOB].node;
    const struct charge charge = charge_at(BOB, "key", &slow, 1);
    struct ask_record ask = {.id = charge.id, .number = 1, .tokens = 3, .among = SHARE_ONE};
    uint32_t ann = 0;
    while (strcmp(node->member[ann].name, "ann") != 0)
        ann++;
    for (unsigned i = 0; i < 3; i++)
        grant_answer(node, ann, &ask, charge.limit);
    OK_U64(node->stats.rights_granted, 1, "an ask that is heard three times is answered once");
    ask.number++;
    grant_answer(node, ann, &ask, charge.limit);
    OK_U64(node->stats.rights_granted, 2, "and the next one as well");
    world_close();
}

int main(void)
{
    an_ask_is_answered_once();
    none_is_larger_than_what_was_asked_for();
    all_fit_a_spend();
    told_under_another_limit();
    return tap_done();
}
