/*
 * message: what peers say to each other about spends, as bytes: the bodies of three kinds of messages.
 *
 * Every message carries its sender's whole view (members, origins, digests: small) and then batches, or a
 * question for a part of the table, or such a part. So any message may be lost: the next one says it again.
 * Encoding is msgpack arrays in an envelope (envelope.h); docs/protocol.md has the layout byte by byte. Decoding
 * checks every bound and yields views into the bytes; it never trusts a count. Ages travel, timestamps do not.
 */
#ifndef HEADGATE_CLUSTER_CODEC_MESSAGE_H
#define HEADGATE_CLUSTER_CODEC_MESSAGE_H

#include "base/bytes.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/envelope.h"
#include "cluster/node.h"

#include <msgpack.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ORIGINS_MAX = 2 * NODE_PEERS_MAX, /* every member and as many ended incarnations */
    PARTS_MAX = 1024,                 /* of what was merged */
    MESSAGE_BATCHES_MAX = 1024,       /* of one message: each costs its reader a look, however empty it is */
    MESSAGE_BYTES_MIN = 65536,        /* the least sensible limit for one message */
};

/* Cells tell how long they live in steps of this, a fifteenth of a second, so that it takes few bytes. */
#define CELL_STEP_NS (UINT64_C(1) << 26)
/* Of a cell, in steps: longer than a year. */
#define CELL_STEPS_MAX (UINT64_C(1) << 31)

#define INCARNATION_MAX (UINT64_MAX / 2) /* there is always a larger one */

/* Flags of a member on the wire. A newer peer may set others. */
enum { MEMBER_RESERVED = 1, MEMBER_FORGOTTEN = 2, MEMBER_STORED = 4, MEMBER_REFUSES = 8 };

struct member_record {
    struct bytes name, region, gossip_address, snapshot_address;
    uint64_t incarnation;         /* 0: never heard */
    uint64_t retired_incarnation; /* everything of incarnations up to this one is known everywhere */
    uint64_t config;              /* digest of that incarnation's config; 0: not known. The sender's own is known */
    bool refuses;                 /* it decided nothing when it made the message that its row names */
    enum peer_state state;        /* never PEER_SILENT: silence is in the ear of the listener */
    bool reserved;                /* counted in its region's division before this incarnation */
    bool forgotten;               /* left because it was forgotten: it has no claim to its share */
    bool stored; /* the sender's own: its store had counters; of others: their stores' are known to it */
};

struct origin_record {
    uint32_t member; /* index into members */
    uint64_t incarnation;
    bool waiting; /* the sender has batches of it that it cannot apply yet */
};

struct digest_row {
    uint32_t member;
    uint64_t number; /* of the newest message of that member that the sender knows of */
    uint64_t hears;  /* bit i: that member hears members[i] directly; its own: it is at rest */
    uint64_t applied[ORIGINS_MAX];
};

struct message {
    enum message_kind kind;
    uint32_t sender; /* index into members */
    uint64_t number; /* grows with every message of this incarnation */
    uint64_t floor;  /* the sender's own batches below this one are gone */
    uint32_t member_count, origin_count, row_count, batch_count;
    struct member_record members[NODE_PEERS_MAX];
    struct origin_record origins[ORIGINS_MAX];
    struct digest_row rows[NODE_PEERS_MAX];
    uint64_t muted; /* bit i: the sender asks members[i] to ignore this message */
    /* MESSAGE_REQUEST and MESSAGE_REPLY: which part of the key space. */
    bool has_page, page_split; /* split: too much for one reply, ask for the halves */
    uint64_t page_prefix;
    uint32_t page_bits;
    struct table_owed page_owed; /* what keys of that part that the sender evicted may owe */
    /* By origin: up to which batch that part may contain some that are not in the sender's digest; 0: none. */
    uint64_t page_beyond[ORIGINS_MAX];
    msgpack_object batches, page; /* read by message_batch and message_page */
};

/* True if the body of an envelope of one of these kinds is sound. Its views are valid until envelope_close. */
bool message_read(struct message *message, const struct envelope *envelope);

struct batch_record {
    uint32_t origin; /* index into origins */
    uint64_t first, last, age_ns, open_ns;
    uint32_t spend_count;
    uint64_t merge; /* see struct batch */
    uint32_t part, parts;
    uint64_t depends[ORIGINS_MAX]; /* per origin of the message */
    msgpack_object groups;
};

/* The batch at `index` < batch_count; false if it is malformed. */
bool message_batch(const struct message *message, uint32_t index, struct batch_record *record);

/*
 * Numbers by key, grouped by the limit that they count under: spends of a batch, or what keys of a page have used.
 * A group carries its limit's terms, so that a peer need not know the rule that a key belongs to.
 */
struct number_reader {
    msgpack_object groups;
    uint32_t group, index;
};
struct number_record {
    struct key_id id;
    uint64_t number, returned; /* returned: of spends */
    uint64_t live_ns;          /* cells: until they expire, rounded up; returns to a log: while they are heeded */
    uint32_t group;            /* counted from 0: whoever looked its limit up need not do so for the next number */
    struct limit_terms terms;  /* not checked, but for the kind and the flags */
};
/* The next one; false at the end. Groups were checked by message_batch or message_page. */
bool number_next(struct number_reader *reader, struct number_record *record);

/* The keys of a reply's page; false if malformed or if there is none. */
bool message_page(const struct message *message, struct number_reader *reader);

/* ---- encoding: into effects->arena, in this order; nothing fails but memory, which is asserted ---- */

struct message_writer {
    struct effects *effects;
    size_t start; /* of this message in the arena */
    msgpack_packer packer;
};

void message_begin(struct message_writer *writer, struct effects *effects, const struct message *header);
/* Then exactly `batch_count` (0 unless gossip, MESSAGE_BATCHES_MAX at most) times message_put_batch. */
void message_begin_batches(struct message_writer *writer, uint32_t batch_count);
void message_put_batch(struct message_writer *writer, uint32_t origin, uint64_t now_ns, const struct batch *batch,
                       const uint64_t *depends, uint32_t depend_count, const struct limit_set *limits);
/* Then one of these. `tokens` of a page's numbers: see bucket_number; sorted by limit. */
void message_end(struct message_writer *writer);
void message_end_with_request(struct message_writer *writer, uint64_t prefix, uint32_t bits);
struct page_content {
    uint64_t prefix; /* of `bits` bits */
    uint32_t bits;
    bool split; /* then without numbers */
    struct table_owed owed;
    const struct spend *numbers;
    uint32_t number_count;
    const uint64_t *beyond; /* by origin of the header: see page_beyond */
    uint32_t beyond_count;  /* as many as the header has origins, or 0: it is left out */
};
void message_end_with_page(struct message_writer *writer, const struct page_content *page,
                           const struct limit_set *limits, uint64_t now_ns);
/* Bytes written since message_begin. */
size_t message_size(const struct message_writer *writer);

/* The most bytes that one number takes, and a group besides its numbers. */
enum { NUMBER_ENCODED_MAX_BYTES = 16 + 9 + 9 + 5, GROUP_ENCODED_MAX_BYTES = 64 };
/* The most bytes that a batch of so many spends, limits and dependencies takes. */
size_t batch_encoded_max_bytes(uint32_t spend_count, uint32_t group_count, uint32_t depend_count);

#endif
