/*
 * life: the bytes of what a member signs of itself, as they travel, and as they are signed.
 *
 * The one idea: what is signed is written anew from the fields, never the bytes as they came, so a later release may
 * add fields. This file checks no signature: members/proofs.c does.
 */
#ifndef HEADGATE_CLUSTER_CODEC_LIFE_H
#define HEADGATE_CLUSTER_CODEC_LIFE_H

#include "base/bytes.h"

#include <msgpack.h>
#include <stdbool.h>

struct life_record;
struct member_record;

enum { LIFE_TEXT_MAX_BYTES = 512 };

/* The bytes that a member signs. The record must be sound, with a life. */
struct bytes life_text(const struct member_record *record, char text[LIFE_TEXT_MAX_BYTES]);
/* The bytes that a member signs with the key before the present one: that this one follows it. */
struct bytes handover_text(struct bytes name, const uint8_t *former, const uint8_t *key,
                           char text[LIFE_TEXT_MAX_BYTES]);
/* Of the record of any member; `object` may be NULL: nothing is signed. False: it is malformed. */
bool life_read(const msgpack_object *object, struct life_record *life);
void life_pack(msgpack_packer *packer, const struct life_record *life);

#endif
