#include "edge/peers/member_key.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

_Static_assert(NODE_KEY_BYTES == crypto_sign_PUBLICKEYBYTES && NODE_PROOF_BYTES == crypto_sign_BYTES &&
                   MEMBER_SEED_BYTES == crypto_sign_SEEDBYTES && MEMBER_SECRET_BYTES == crypto_sign_SECRETKEYBYTES,
               "the sizes of Ed25519");

void member_key_from_seed(struct member_key *member_key, const uint8_t seed[MEMBER_SEED_BYTES])
{
    memmove(member_key->seed, seed, MEMBER_SEED_BYTES);
    memset(&member_key->handover, 0, sizeof member_key->handover);
    const int failed = crypto_sign_seed_keypair(member_key->key, member_key->secret, member_key->seed);
    assert(failed == 0);
}

void member_key_draw(struct member_key *member_key)
{
    uint8_t seed[MEMBER_SEED_BYTES];
    randombytes_buf(seed, sizeof seed);
    member_key_from_seed(member_key, seed);
    sodium_memzero(seed, sizeof seed);
}

static void sign(const void *context, struct bytes text, uint8_t proof[NODE_PROOF_BYTES])
{
    const struct member_key *member_key = context;
    (void)crypto_sign_detached(proof, NULL, (const uint8_t *)text.data, text.size, member_key->secret);
}

static bool check(const uint8_t key[NODE_KEY_BYTES], struct bytes text, const uint8_t proof[NODE_PROOF_BYTES])
{
    return crypto_sign_verify_detached(proof, (const uint8_t *)text.data, text.size, key) == 0;
}

void member_key_follow(struct member_key *next, const struct member_key *former, struct bytes text)
{
    memcpy(next->handover.former, former->key, NODE_KEY_BYTES);
    sign(former, text, next->handover.proof);
    next->handover.is_there = true;
}

void member_key_signs(const struct member_key *member_key, struct node_signing *signing)
{
    memcpy(signing->key, member_key->key, NODE_KEY_BYTES);
    signing->handover = member_key->handover;
    signing->sign = sign;
    signing->check = check;
    signing->context = member_key;
}
