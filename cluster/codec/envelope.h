/*
 * envelope: the fields that all messages between peers have in common.
 *
 * A message is [version, reads, kind, sender, incarnation, muted, body] and a seal. The envelope
 * names the sender and the kind, and says whether this daemon can read the message. The kind
 * defines the body (message.h, plane_message.c).
 *
 * The one idea: daemons of different releases speak to each other. A later release appends fields,
 * which this release passes over, and adds kinds, which this release counts and drops. A release
 * raises the version only when it changes a field that exists. docs/protocol.md has the layout byte
 * by byte, and the recipes for a new field and a new kind.
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
    MESSAGE_VERSION = 4,       /* of what this daemon writes; the newest that it reads */
    MESSAGE_VERSION_LEAST = 4, /* the oldest version that this daemon reads */
};

enum message_kind {
    MESSAGE_GOSSIP, /* message.h has the bodies of the first three kinds */
    MESSAGE_REQUEST,
    MESSAGE_REPLY,
    MESSAGE_RULES_ADVERT, /* plane_message.c has the bodies of the last three kinds */
    MESSAGE_RULES_ASK,
    MESSAGE_RULES_PAGE,
    MESSAGE_KINDS,
};

/*
 * A message ends with a keyed hash of all bytes before the hash: SipHash under a key from the
 * cluster's secret. Bytes that were damaged on the way, or sealed under another secret, are not a
 * message.
 */
enum { MESSAGE_SEAL_BYTES = 16 };
/* True: the seal is right, and `bytes` is now the message without its seal. */
bool message_unseal(struct bytes *bytes, const struct hash_key *key);
/* Appends the seal of the arena's bytes from `start` on. */
void message_seal(struct effects *effects, size_t start, const struct hash_key *key);

enum envelope_status {
    ENVELOPE_OPEN,
    ENVELOPE_NONSENSE,
    /* known are `version`, `reads` and `sender` only, as far as they could be read */
    ENVELOPE_OTHER_VERSION,
    ENVELOPE_UNKNOWN_KIND,
};

struct envelope {
    /* the version of the message; the oldest version that its sender reads */
    uint64_t version, reads;
    enum message_kind kind;
    struct bytes sender; /* the sender's name */
    uint64_t incarnation;
    msgpack_object_array muted; /* names of peers that the sender asks to ignore the message */
    msgpack_object body;
    msgpack_unpacked unpacked;
};

/*
 * Opens unsealed bytes. After ENVELOPE_OPEN the caller must call envelope_close; all views are
 * valid until then. After any other status the caller must not call envelope_close.
 */
enum envelope_status envelope_open(struct envelope *envelope, struct bytes bytes);
void envelope_close(struct envelope *envelope);
/* True: the sender asks the peer of that name to ignore the message. */
bool envelope_mutes(const struct envelope *envelope, struct bytes name);

/* ---- writing ---- */

struct envelope_head {
    enum message_kind kind;
    struct bytes sender;
    uint64_t incarnation;
    const struct bytes *muted;
    uint32_t muted_count;
};
/*
 * Writes all fields before the body into the arena; the caller must write the body next. Returns
 * the place in the arena where the message begins.
 */
size_t envelope_begin(msgpack_packer *packer, struct effects *effects, const struct envelope_head *head);

#endif
