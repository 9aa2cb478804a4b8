/* A grant in a batch that others pass on counts by its maker's signature, and no other one does. */
#include "cluster/codec/batch.h"
#include "cluster/codec/batch_hash.h"
#include "cluster/codec/effects.h"
#include "tests/lib/limits.h"
#include "tests/lib/opened_message.h"
#include "tests/lib/rights_world.h"
#include "tests/lib/signing_world.h"

/* 100 tokens that hardly refill. */
static const struct limit_terms slow = {.kind = LIMIT_BUCKET,
                                        .capacity = 100,
                                        .rate = 100,
                                        .period_ns = 3600000 * MS};

static void a_world(void)
{
    rights_world_init(3);
    signing_all(KEYS_LEARNT);
    rights_world_start();
}

static uint64_t granted(void)
{
    return world_stats(ANN).rights_granted_tokens + world_stats(BOB).rights_granted_tokens;
}

/* Cat asks while she hears ann; ann's messages are lost from then on, and bob passes on what she has granted. */
static void passed_on(void)
{
    a_world();
    (void)rights_take(CAT, "key", &slow, 60);
    world_link(ANN, CAT, LINK_CUT);
    world_run(3000);
    OK(world_stats(ANN).rights_granted_tokens > 10, "ann grants %" PRIu64 " tokens to cat",
       world_stats(ANN).rights_granted_tokens);
    OK_U64(world_stats(CAT).rights_received_tokens, granted(), "and cat has all of it, though by bob");
    skip_text();
    world_close();
}

/* The same where ann has started anew, so that cat hears of her by bob first. */
static void of_who_started_anew(void)
{
    a_world();
    world_crash(ANN);
    world_run(1500);
    world_start(ANN);
    world_link(ANN, CAT, LINK_CUT);
    world_run(2000);
    (void)rights_take(CAT, "key", &slow, 60);
    world_run(3000);
    OK_U64(world_stats(CAT).rights_received_tokens, granted(), "cat has all that was granted (%" PRIu64 ")",
           granted());
    skip_text();
    world_close();
}

static void hash(struct test_limits *limits, const struct batch *batch, const struct batch_holder *holders,
                 uint8_t *out)
{
    const struct limit_set set = limits_view(limits);
    batch_hash_granting(batch, &set, holders, out);
}

static void hashes(void)
{
    static struct test_limits limits;
    uint8_t was[TEXT_HASH_BYTES], is[TEXT_HASH_BYTES];
    (void)limits_add(&limits, "a", 100, 10, 1000, 0);
    struct batch *batch = batch_create_granting(0, 1, 2);
    assert(batch);
    struct batch_holder holders[2] = {{bytes_of("somebody-far-away"), 7}, {bytes_of("ann"), 8}};
    batch->first = batch->last = 7;
    batch->spend[0] = (struct spend){.id = {1, 2}, .tokens = 9};
    batch->grant[0] = (struct batch_grant){.id = {1, 2}, .ask = 3, .tokens = 4};
    batch->grant[1] = (struct batch_grant){.id = {1, 2}, .ask = 5, .tokens = 2};
    hash(&limits, batch, holders, was);
    uint64_t *fields[] = {&batch->first,           &batch->spend[0].tokens, &batch->grant[0].ask,
                          &batch->grant[1].tokens, &batch->grant[0].id.low, &holders[0].incarnation};
    bool differs = true;
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        (*fields[f])++;
        hash(&limits, batch, holders, is);
        differs &= memcmp(was, is, sizeof is) != 0;
        (*fields[f])--;
    }
    batch->grant[0].spare++;
    hash(&limits, batch, holders, is);
    differs &= memcmp(was, is, sizeof is) != 0;
    batch->grant[0].spare--;
    holders[0].name = bytes_of("somebody-far-awaz");
    hash(&limits, batch, holders, is);
    OK(differs && memcmp(was, is, sizeof is) != 0,
       "the hash has who holds which grant, of which ask, and how much");
    hash(&limits, batch, NULL, is);
    OK(memcmp(was, is, sizeof is) != 0, "and differs from that without grants");
    holders[0].name.size = 0;
    batch->grant_count = 1;
    hash(&limits, batch, holders, was);
    batch->grant_count = 0;
    hash(&limits, batch, NULL, is);
    OK(memcmp(was, is, sizeof is) != 0, "even where nobody knows the holders");
    batch_destroy(&batch);
}

/* ---- a relay that says something else ---- */

enum { ID_BYTES = sizeof(struct key_id) };

static struct effects changed;
static unsigned changed_count;

/*
 * One token less than was granted: of more than its maker spent nobody takes any. The ask and the tokens are small, so
 * each is a byte behind the id.
 */
static void change(const struct batch_record *record)
{
    const msgpack_object *fields = record->grants.via.array.ptr[0].via.array.ptr;
    char *behind_id = (char *)(uintptr_t)fields[1].via.bin.ptr + ID_BYTES;
    assert(behind_id[1] == (char)message_grant(record, 0).tokens);
    behind_id[1]--;
    changed_count++;
}

/* Bob passes on what ann has granted, and makes it less. */
static struct bytes change_relayed(unsigned from, struct bytes bytes)
{
    static struct message message;
    struct batch_record record;
    if (from != BOB || bytes.size == 0 || !message_unseal(&bytes, &world.host[BOB].options.hash_key))
        return bytes;
    effects_clear(&changed);
    effects_append(&changed, bytes.data, bytes.size);
    if (message_open(&message, (struct bytes){(const char *)changed.arena, changed.arena_size})) {
        for (uint32_t i = 0; i < message.batch_count; i++)
            if (message_batch(&message, i, &record) && record.grant_count > 0 &&
                message.origins[record.origin].member != message.sender)
                change(&record);
        message_close(&message);
    }
    message_seal(&changed, 0, &world.host[BOB].options.hash_key);
    return (struct bytes){(const char *)changed.arena, changed.arena_size};
}

static void changed_on_its_way(void)
{
    a_world();
    effects_init(&changed);
    world.rewrite = change_relayed;
    (void)rights_take(CAT, "key", &slow, 60);
    world_link(ANN, CAT, LINK_CUT);
    world_run(3000);
    OK(changed_count > 0 && world_stats(ANN).rights_granted_tokens > 0, "bob says that ann has granted less");
    OK_U64(world_stats(CAT).rights_received_tokens, world_stats(BOB).rights_granted_tokens,
           "and cat takes nothing of that");
    skip_text();
    world.rewrite = NULL;
    effects_close(&changed);
    world_close();
}

int main(void)
{
    hashes();
    changed_on_its_way();
    passed_on();
    of_who_started_anew();
    return tap_done();
}
