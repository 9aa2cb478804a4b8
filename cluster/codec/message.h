/*
 * message: the bodies of the three kinds of messages about spends: gossip, a request for a part of
 * the table, and the reply.
 *
 * The one idea: every message carries its sender's whole view (members, origins, digests: small),
 * and after the view batches, or the request, or the part of the table. Any message may be lost,
 * because the next message repeats the view.
 *
 * Bodies are msgpack arrays in an envelope (envelope.h); docs/protocol.md has the layout byte by
 * byte. Decoding checks every bound, never trusts a count, and yields views into the bytes. Ages
 * travel, timestamps do not. This file does not judge values: gossip.c decides what to believe.
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
    ORIGINS_MAX = 2 * NODE_PEERS_MAX, /* every member, and as many ended incarnations */
    PARTS_MAX = 1024,                 /* the most parts of one merge */
    /* the most batches of one message: a reader looks at each batch, even at an empty one */
    MESSAGE_BATCHES_MAX = 1024,
    /* the least that the operator may set as the limit of one message */
    MESSAGE_BYTES_MIN = 65536,
    STATEMENT_MAX_BYTES = 8192, /* see statement.h */
    /* asks, digests of others, and their statements take at most this part of message_max each, a batch half of it */
    MESSAGE_PART = 8,
};

/*
 * A cell's remaining life travels in steps of this length, a fifteenth of a second, because a small
 * number takes few bytes.
 */
#define CELL_STEP_NS (UINT64_C(1) << 26)
/* The longest life of a cell, in steps: longer than a year. */
#define CELL_STEPS_MAX (UINT64_C(1) << 31)
/* Steps of the time that the spends of a log have left on a page: about 1 ms. */
#define LEFT_STEP_NS (UINT64_C(1) << 20)
#define LEFT_STEPS_MAX (UINT64_C(1) << 43)

/* below the end of the type, so that a larger incarnation always exists */
#define INCARNATION_MAX (UINT64_MAX / 2)

/* Flags of a member on the wire. A newer peer may set more flags. */
enum {
    MEMBER_RESERVED = 1,
    MEMBER_FORGOTTEN = 2,
    MEMBER_STORED = 4,
    MEMBER_REFUSES = 8,
    MEMBER_GRANTS = 16,
    /* of rights that end by themselves (members/takeover.h). About another member: */
    MEMBER_RENEWED = 32,  /* the sender renews its right */
    MEMBER_DISOWNED = 64, /* the sender has not heard of it for long */
    MEMBER_RECORDED = 128,
    MEMBER_OWED = 256, /* the sender's allowance is lowered for what it may have spent */
    MEMBER_TAKEN = 512,
    /* and about the sender itself: */
    MEMBER_ACTED = 1024,
    MEMBER_STUCK = 2048,
    MEMBER_FIGURES = 4096,
    MEMBER_RIGHTS = 8192 - 32, /* all of these */
    /* of charges that wait (apply/uncharged.h), as of the message whose number stands in its digest row: */
    MEMBER_HEEDS_UNCHARGED = 8192, /* it settles nothing by a digest that names uncharged spends */
    MEMBER_UNCHARGED = 16384,      /* its own digest names spends that it has not charged */
    /* of the sender itself: of any log it lists what is granted as later spends, see limit_granted_at_ns() */
    MEMBER_LISTS_GRANTS = 32768,
};

/* What a member says of weights that change: see members/weights.h. */
struct weights_record {
    bool said;  /* false: it is of a release that does not know them, or says nothing of them */
    bool keeps; /* versions outlive a restart there */
    bool heard; /* it has heard `newest` */
    struct version_stamp base, newest; /* number 0: the config's weights; none */
    struct bytes text;                 /* weights_text.h; "": nobody needs it */
};

/* What a member knows of limits that change: see members/limit_list.h. */
struct limits_record {
    bool said;                 /* false: it is of a release that does not know them */
    struct version_stamp seen; /* number 0: the config's list */
    uint64_t sum;              /* a hash of the text of that version there */
    struct bytes text;         /* limit_list_text.h; "": nobody needs it */
};

/* What a member was asked for since it started, in tokens over all keys: see members/demand.h. */
struct demand_record {
    bool said; /* false: it is of a release that does not say it */
    uint64_t given;
    uint64_t wanted; /* refused there for its share alone */
    bool proposes;   /* it makes weights by demand, where its name is first */
};

/*
 * What a member says of itself with its signature, wherever it travels: of its record the name, the region, the
 * addresses and the key, and these. life_text() of life.h is what is signed.
 */
struct life_record {
    uint64_t incarnation, config;
    enum peer_state state;
    const uint8_t *key;   /* NODE_KEY_BYTES; NULL: nothing is said, and the rest is 0 */
    const uint8_t *proof; /* NODE_PROOF_BYTES */
    /* The key before that one, and its signature of handover_text(); NULL: there was none. */
    const uint8_t *former, *handover;
};

struct member_record {
    struct bytes name, region, gossip_address, snapshot_address;
    uint64_t incarnation;         /* 0: the member was never heard */
    uint64_t retired_incarnation; /* all peers know everything of incarnations up to this one */
    /* digest of that incarnation's config; 0: not known. A sender always knows its own */
    uint64_t config;
    /*
     * the member decided no request at the time of the message whose number stands in its digest
     * row
     */
    bool refuses;
    enum peer_state state; /* never PEER_SILENT: each node judges for itself who is silent */
    bool reserved;         /* counted in its region's division before this incarnation */
    /* the member left because peers forgot it: it has no claim to its share */
    bool forgotten;
    /*
     * The sender's own record: its store had counters. A record of another member: the sender knows
     * what that member's store had.
     */
    bool stored;
    /* the member answers asks, and tells in its batches whom its grants are for; as of that message, too */
    bool grants;
    bool lists_grants;               /* the sender's own record only */
    bool heeds_uncharged, uncharged; /* see MEMBER_HEEDS_UNCHARGED */
    /*
     * What the sender's raw and wall clocks showed when it made the message; 0: not said. Of other members
     * nothing is said.
     */
    uint64_t clock_ns, wall_ms;
    uint32_t rights;               /* of MEMBER_RIGHTS */
    struct weights_record weights; /* the sender's own record only, as the next one */
    struct demand_record demand;
    struct limits_record limits;
    struct life_record life; /* the member's word, not the sender's */
};

struct origin_record {
    uint32_t member; /* index into members */
    uint64_t incarnation;
    bool waiting; /* the sender has batches of this origin that it cannot apply yet */
};

struct digest_row {
    uint32_t member;
    uint64_t number; /* number of the newest message of that member that the sender knows of */
    /*
     * Bit i: that member hears members[i] directly. The member's own bit: the member is at rest,
     * see spared_ticks.c.
     */
    uint64_t hears;
    uint64_t applied[ORIGINS_MAX];
    struct bytes statement; /* what the member has signed of all that, perhaps of another message; empty: nothing */
};

struct message {
    enum message_kind kind;
    uint32_t sender; /* index into members */
    uint64_t number; /* grows with every message of one incarnation */
    /* the sender's own batches below this number have left its log */
    uint64_t floor;
    uint32_t member_count, origin_count, row_count, batch_count;
    struct member_record members[NODE_PEERS_MAX];
    struct origin_record origins[ORIGINS_MAX];
    struct digest_row rows[NODE_PEERS_MAX];
    uint64_t muted; /* bit i: the sender asks members[i] to ignore this message */
    /* Of MESSAGE_REQUEST and MESSAGE_REPLY: the part of the key space that the page is about. */
    /* page_split: the part is too large for one reply; the asker must ask for its halves */
    bool has_page, page_split;
    uint64_t page_prefix;
    uint32_t page_bits;
    struct table_owed page_owed; /* what evicted keys of that part may owe at the sender */
    /*
     * For each origin: the highest batch of which that part may contain spends although the
     * sender's digest does not cover the batch; 0: none.
     */
    uint64_t page_beyond[ORIGINS_MAX];
    uint32_t ask_count; /* of gossip; a writer sets it before it begins, see message_end_with_asks */
    msgpack_object batches, page, asks;     /* message_batch, message_page and message_ask read these */
    const msgpack_object_array *page_parts; /* and this; NULL: the page has no such field */
};

/*
 * True: the body of an envelope of one of these three kinds is sound. All views of `message` are
 * valid until envelope_close.
 */
bool message_read(struct message *message, const struct envelope *envelope);

/*
 * The places of a batch's fields. Fields from BATCH_PART on may be missing. A new field comes last,
 * as docs/protocol.md says ("To add a field"): if it may stand behind a missing field, the writer
 * must write nil for that one, and batch_encoded_max_bytes must count the new field.
 */
enum {
    BATCH_ORIGIN,
    BATCH_FIRST,
    BATCH_LAST,
    BATCH_AGE,
    BATCH_OPEN,
    BATCH_DEPENDS,
    BATCH_GROUPS,
    BATCH_PART,
    BATCH_GRANTS,
    BATCH_FIELDS
};

struct batch_record {
    uint32_t origin; /* index into origins */
    uint64_t first, last, age_ns, open_ns;
    uint32_t spend_count;
    uint64_t merge; /* see struct batch */
    uint32_t part, parts;
    uint64_t depends[ORIGINS_MAX]; /* for each origin of the message */
    msgpack_object groups;
    uint32_t grant_count;
    msgpack_object grants; /* message_grant reads it */
};

/* Reads the batch at `index`, which must be below batch_count. False: the batch is malformed. */
bool message_batch(const struct message *message, uint32_t index, struct batch_record *record);

/* A grant in a batch: see struct batch_grant. */
struct grant_record {
    uint32_t holder; /* index into origins */
    struct key_id id;
    uint64_t ask, tokens;
    uint32_t spare;
};
enum { GRANT_ENCODED_MAX_BYTES = 1 + 5 + 18 + 9 + 9 + 5 };
/* Reads the grant at `index`, which must be below grant_count; message_batch has checked it. */
struct grant_record message_grant(const struct batch_record *record, uint32_t index);

/* The sender asks others to spend tokens of the key on its behalf: see voucher.h. */
struct ask_record {
    struct key_id id;
    struct limit_terms terms; /* only the kind and the flags are checked */
    uint64_t number;          /* grows with every ask of the sender */
    uint64_t tokens;
    uint32_t parts;   /* of one token more: see SPARE_BITS */
    uint64_t among;   /* the shares of all who are asked, in 1/SHARE_ONE; above 0 */
    uint64_t live_ns; /* of a cell: the time until it expires, rounded up */
    /* of a sliding window: the key in the window before, how long a window is, and what is left of this one; else 0 */
    struct key_id previous;
    uint64_t window_ns, left_ns; /* left_ns <= window_ns */
    bool whole;                  /* of a bucket: the sender uses whole tokens alone, see voucher_whole.h */
};
enum { MESSAGE_ASKS_MAX = 256, ASK_ENCODED_MAX_BYTES = 1 + 18 + 64 + 5 * 9 + 1 + 18 + 2 * 9 + 1 };
/* Reads the ask at `index`, which must be below ask_count. False: the ask is malformed. */
bool message_ask(const struct message *message, uint32_t index, struct ask_record *ask);

/*
 * Reads numbers of keys, grouped by the limit of the keys: the spends of a batch, or the used
 * tokens of the keys of a page. A group carries its limit's terms, so a peer need not know the rule
 * that a key belongs to.
 */
struct number_reader {
    msgpack_object groups;
    uint32_t group, index;
    const msgpack_object_array *parts; /* of a page: see number_parts; NULL: there are none */
    uint32_t part;                     /* where those of the next log begin */
};
struct number_record {
    struct key_id id;
    uint64_t number, returned; /* `returned`: of spends only */
    /*
     * Of a cell: the time until it expires, rounded up. Of returns to a log: the time until peers
     * ignore the return.
     */
    uint64_t live_ns;
    /*
     * index of the group, from 0: a caller that has found the group's limit need not search again
     */
    uint32_t group;
    struct limit_terms terms;         /* only the kind and the flags are checked */
    const msgpack_object *first_part; /* of a log on a page: for number_part */
    uint32_t part_count;              /* at most LOG_PARTS_MAX; 0: the sender does not say when its spends end */
};
/*
 * Reads the next number; false at the end. message_batch or message_page must have checked the
 * groups.
 */
bool number_next(struct number_reader *reader, struct number_record *record);

/* The spends of a log, in parts: when the newest spend of a part ends, and how many tokens it has. */
enum { LOG_PARTS_MAX = 16 };
struct number_part {
    uint64_t left_ns; /* rounded up to steps of LEFT_STEP_NS */
    uint64_t tokens;
};
/* The part at `index`, which must be below part_count: the newest first, as the sender has them. */
struct number_part number_part(const struct number_record *record, uint32_t index);

/* Starts reading the keys of a reply's page. False: the page is malformed, or there is none. */
bool message_page(const struct message *message, struct number_reader *reader);

/*
 * ---- encoding: these calls in this order; bytes go into effects->arena; lack of memory is
 * asserted ----
 */

struct message_writer {
    struct effects *effects;
    size_t start; /* where this message begins in the arena */
    msgpack_packer packer;
};

void message_begin(struct message_writer *writer, struct effects *effects, const struct message *header);
/*
 * The caller must call message_put_batch exactly `batch_count` times next. `batch_count` is at most
 * MESSAGE_BATCHES_MAX, and 0 unless the message is gossip. holders[g]: the index into origins of the
 * holder of batch->grant[g]; NO_HOLDER: the message does not name it, and the grant is left out.
 */
#define NO_HOLDER UINT32_MAX
void message_begin_batches(struct message_writer *writer, uint32_t batch_count);
void message_put_batch(struct message_writer *writer, uint32_t origin, uint64_t now_ns, const struct batch *batch,
                       const uint64_t *depends, uint32_t depend_count, const uint32_t *holders,
                       const struct limit_set *limits);
/*
 * Then the caller must call exactly one of the four that follow. The numbers of a page must be
 * sorted by limit; `tokens` of a number: see bucket_number.
 */
void message_end(struct message_writer *writer);
/* `asks`: at most MESSAGE_ASKS_MAX, of gossip. */
void message_end_with_asks(struct message_writer *writer, const struct ask_record *asks, uint32_t count);
void message_end_with_request(struct message_writer *writer, uint64_t prefix, uint32_t bits);
/* The spends of one log. */
struct number_parts {
    uint32_t count;
    struct number_part part[LOG_PARTS_MAX];
};
struct page_content {
    uint64_t prefix; /* of `bits` bits */
    uint32_t bits;
    bool split; /* true: the page must have no numbers */
    struct table_owed owed;
    const struct spend *numbers;
    uint32_t number_count;
    /* of the numbers of logs, in their order; or none, and the field is left out */
    const struct number_parts *parts;
    uint32_t parts_count;   /* > 0: beyond_count is the header's number of origins */
    const uint64_t *beyond; /* for each origin of the header: see page_beyond */
    /* the header's number of origins; or 0, and the field is left out */
    uint32_t beyond_count;
};
void message_end_with_page(struct message_writer *writer, const struct page_content *page,
                           const struct limit_set *limits, uint64_t now_ns);
/* Bytes written since message_begin. */
size_t message_size(const struct message_writer *writer);

/* The most bytes of one number, and of a group without its numbers. */
enum { NUMBER_ENCODED_MAX_BYTES = 16 + 9 + 9 + 5, GROUP_ENCODED_MAX_BYTES = 72 };
/* The most bytes of a batch with these counts. */
size_t batch_encoded_max_bytes(uint32_t spend_count, uint32_t group_count, uint32_t depend_count);

#endif
