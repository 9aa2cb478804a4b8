/*
 * member_key: the key of this daemon, with which it signs what it says of itself (Ed25519, by libsodium).
 *
 * The one idea: a key is a seed of 32 bytes; both halves come from it. Peers know the public half, which people compare
 * as 64 hexadecimal digits. Keeps nothing: key_file.c does. Decides nothing: cluster/members/proofs.h does.
 */
#ifndef HEADGATE_EDGE_PEERS_MEMBER_KEY_H
#define HEADGATE_EDGE_PEERS_MEMBER_KEY_H

#include "cluster/node.h"

#include <stdint.h>

enum { MEMBER_SEED_BYTES = 32, MEMBER_SECRET_BYTES = 64 };

struct member_key {
    uint8_t seed[MEMBER_SEED_BYTES];
    uint8_t key[NODE_KEY_BYTES]; /* the public half */
    uint8_t secret[MEMBER_SECRET_BYTES];
    struct node_handover handover; /* from the key that it follows */
};

/* A new key. The caller must have called sodium_init, for all functions here. */
void member_key_draw(struct member_key *member_key);
void member_key_from_seed(struct member_key *member_key, const uint8_t seed[MEMBER_SEED_BYTES]);
/* The former key signs the text that the next one follows it: handover_text of cluster/codec/life.h. */
void member_key_follow(struct member_key *next, const struct member_key *former, struct bytes text);
/* The node signs with the key, which must stay where it is, and checks what others sign. */
void member_key_signs(const struct member_key *member_key, struct node_signing *signing);

#endif
