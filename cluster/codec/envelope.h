/*
 * envelope: what all messages between peers have in common.
 *
 * A message is [version, reads, kind, sender, incarnation, muted, body] and a seal. The envelope says who speaks, of
 * what, and whether this daemon can read it; what the body means is the concern of its kind (message.h,
 * plane_message.c). One rule lets daemons of different releases speak to each other: a later release appends fields,
 * which this one passes over, and adds kinds, which this one counts and drops. Only a change of what is there already
 * raises the version. docs/protocol.md has the layout byte by byte, and how a field or a kind is added.
 */
#ifndef HEADGATE_CLUSTER_CODEC_ENVELOPE_H
#define HEADGATE_CLUSTER_CODEC_ENVELOPE_H

#include "base/bytes.h"
#include "base/hash.h"
#include "cluster/codec/effects.h"

#include <msgpack.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    MESSAGE_VERSION = 4,       /* of what this daemon writes, and the newest that it reads */
    MESSAGE_VERSION_LEAST = 4, /* the oldest that it reads */
};

enum message_kind {
    MESSAGE_GOSSIP, /* see message.h, as for the next two */
    MESSAGE_REQUEST,
    MESSAGE_REPLY,
    MESSAGE_RULES_ADVERT, /* see plane_message.c, as for the next two */
    MESSAGE_RULES_ASK,
    MESSAGE_RULES_PAGE,
    MESSAGE_KINDS,
};

/*
 * Messages end with a keyed hash of what stands before it (SipHash with the key that the cluster's secret gives):
 * what was changed on the way, or comes from a peer with another secret, is not a message.
 */
enum { MESSAGE_SEAL_BYTES = 16 };
/* True if the seal is right; `bytes` then is without it. */
bool message_unseal(struct bytes *bytes, const struct hash_key *key);
/* Adds the seal of what the arena has from `start` on. */
void message_seal(struct effects *effects, size_t start, const struct hash_key *key);

enum envelope_status {
    ENVELOPE_OPEN,
    ENVELOPE_NONSENSE,
    ENVELOPE_OTHER_VERSION, /* only `version`, `reads` and `sender` are known, as far as they could be read */
    ENVELOPE_UNKNOWN_KIND,
};

struct envelope {
    uint64_t version, reads; /* of the message; the oldest that its sender reads */
    enum message_kind kind;
    struct bytes sender; /* its name */
    uint64_t incarnation;
    msgpack_object_array muted; /* names of peers that the sender asks to ignore the message */
    msgpack_object body;
    msgpack_unpacked unpacked;
};

/* Opens unsealed bytes. After ENVELOPE_OPEN alone envelope_close must follow; until then all views are valid. */
enum envelope_status envelope_open(struct envelope *envelope, struct bytes bytes);
void envelope_close(struct envelope *envelope);
/* The sender asks the peer of that name to ignore the message. */
bool envelope_mutes(const struct envelope *envelope, struct bytes name);

/* ---- writing ---- */

struct envelope_head {
    enum message_kind kind;
    struct bytes sender;
    uint64_t incarnation;
    const struct bytes *muted;
    uint32_t muted_count;
};
/* Writes into the arena what stands before the body, which comes next. Returns where the message begins. */
size_t envelope_begin(msgpack_packer *packer, struct effects *effects, const struct envelope_head *head);

#endif
