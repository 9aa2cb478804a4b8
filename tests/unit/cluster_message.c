#include "cluster/message.h"

#include "base/random.h"
#include "cluster/effects.h"
#include "tests/fuzz/message_walk.h"
#include "tests/tap.h"

#include <malloc.h>
#include <stdlib.h>

enum { NUMBERS_MAX = 400, BATCHES_MAX = 6 };

/* A message as it was drawn, to be compared with what comes out at the other end. */
struct drawn {
    struct message header;
    uint32_t batch_count;
    struct batch *batch[BATCHES_MAX];
    uint32_t batch_origin[BATCHES_MAX];
    uint64_t batch_age_ns[BATCHES_MAX];
    uint64_t depends[BATCHES_MAX][ORIGINS_MAX];
    uint32_t number_count;
    struct spend number[NUMBERS_MAX];
};

static struct limit_set limits;
static struct message opened;

/* Numbers of every encoded size. */
static uint64_t draw_u64(struct random *random)
{
    return random_u64(random) >> random_below(random, 64);
}

static struct bytes draw_text(struct random *random, size_t least, size_t room)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.:/+_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789-.:/+_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789-.:/+_ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t size = least + random_below(random, room - least);
    return (struct bytes){letters + random_below(random, sizeof letters - size), size};
}

static uint32_t draw_count(struct random *random, uint32_t most)
{
    return (uint32_t)random_below(random, random_below(random, 4) == 0 ? most + 1 : 4);
}

static void draw_header(struct random *random, struct message *header)
{
    static const enum peer_state states[] = {PEER_JOINING, PEER_ACTIVE, PEER_LEFT};
    memset(header, 0, sizeof *header);
    header->kind = (enum message_kind)random_below(random, 3);
    header->config_digest = draw_u64(random);
    header->number = draw_u64(random);
    header->floor = draw_u64(random);
    header->muted = draw_u64(random);
    header->member_count = 1 + draw_count(random, NODE_PEERS_MAX - 1);
    header->sender = (uint32_t)random_below(random, header->member_count);
    header->origin_count = draw_count(random, ORIGINS_MAX);
    header->row_count = draw_count(random, NODE_PEERS_MAX);
    for (uint32_t i = 0; i < header->member_count; i++) {
        struct member_record *member = &header->members[i];
        member->name = draw_text(random, 1, NODE_NAME_BYTES);
        member->region = draw_text(random, 1, NODE_NAME_BYTES);
        member->gossip_address = draw_text(random, 0, NODE_ADDRESS_BYTES);
        member->snapshot_address = draw_text(random, 0, NODE_ADDRESS_BYTES);
        member->incarnation = draw_u64(random) / 2;
        member->retired_incarnation = draw_u64(random) % (member->incarnation + 1);
        member->state = states[random_below(random, 3)];
        member->reserved = random_below(random, 2) != 0;
    }
    for (uint32_t i = 0; i < header->origin_count; i++) {
        uint32_t member = (uint32_t)random_below(random, header->member_count);
        uint64_t incarnation = header->members[member].incarnation;
        header->origins[i] =
            (struct origin_record){member, incarnation - random_below(random, incarnation + 1) / 2};
    }
    for (uint32_t i = 0; i < header->row_count; i++) {
        struct digest_row *row = &header->rows[i];
        row->member = (uint32_t)random_below(random, header->member_count);
        row->number = draw_u64(random);
        row->hears = draw_u64(random);
        for (uint32_t o = 0; o < header->origin_count; o++)
            row->applied[o] = draw_u64(random);
    }
}

static void draw_spends(struct random *random, struct spend *spends, uint32_t count)
{
    uint16_t limit = 0;
    for (uint32_t i = 0; i < count; i++) {
        limit = (uint16_t)(limit + (limit + 1 < limits.count && random_below(random, 20) == 0));
        spends[i] = (struct spend){{random_u64(random), random_u64(random)}, draw_u64(random), limit};
    }
}

static void draw_message(struct random *random, struct drawn *drawn)
{
    draw_header(random, &drawn->header);
    drawn->batch_count = drawn->header.origin_count > 0 ? (uint32_t)random_below(random, BATCHES_MAX + 1) : 0;
    for (uint32_t b = 0; b < drawn->batch_count; b++) {
        struct batch *batch = batch_create(0, draw_count(random, NUMBERS_MAX));
        assert(batch);
        draw_spends(random, batch->spend, batch->spend_count);
        batch->first = 1 + draw_u64(random) / 4;
        batch->last = batch->first + random_below(random, 3);
        drawn->batch[b] = batch;
        drawn->batch_origin[b] = (uint32_t)random_below(random, drawn->header.origin_count);
        drawn->batch_age_ns[b] = draw_u64(random);
        for (uint32_t o = 0; o < drawn->header.origin_count; o++)
            drawn->depends[b][o] = draw_u64(random);
    }
    drawn->header.page_bits = (uint32_t)random_below(random, 33);
    drawn->header.page_prefix = random_u64(random) & (((uint64_t)1 << drawn->header.page_bits) - 1);
    drawn->header.page_split = drawn->header.kind == MESSAGE_REPLY && random_below(random, 4) == 0;
    drawn->header.has_page = drawn->header.kind != MESSAGE_GOSSIP && random_below(random, 3) != 0;
    drawn->number_count = draw_count(random, NUMBERS_MAX);
    draw_spends(random, drawn->number, drawn->number_count);
}

static struct bytes encode(struct effects *effects, const struct drawn *drawn)
{
    const struct message *header = &drawn->header;
    struct message_writer writer;
    effects_append(effects, "before", 6); /* a message need not be the first in the arena */
    message_begin(&writer, effects, header);
    message_begin_batches(&writer, drawn->batch_count);
    for (uint32_t b = 0; b < drawn->batch_count; b++) {
        size_t before = message_size(&writer);
        message_put_batch(&writer, drawn->batch_origin[b], drawn->batch_age_ns[b], drawn->batch[b],
                          drawn->depends[b], header->origin_count, &limits);
        assert(message_size(&writer) - before <=
               batch_encoded_max_bytes(drawn->batch[b]->spend_count, header->origin_count));
    }
    if (!header->has_page)
        message_end(&writer);
    else if (header->kind == MESSAGE_REQUEST)
        message_end_with_request(&writer, header->page_prefix, header->page_bits);
    else
        message_end_with_page(&writer, header->page_prefix, header->page_bits, header->page_split,
                              drawn->number, drawn->number_count, &limits);
    assert(message_size(&writer) == effects->arena_size - writer.start);
    return (struct bytes){(const char *)effects->arena + writer.start, message_size(&writer)};
}

static void forget(struct drawn *drawn)
{
    for (uint32_t b = 0; b < drawn->batch_count; b++)
        batch_destroy(&drawn->batch[b]);
    drawn->batch_count = 0;
}

/* ---- equality ---- */

static bool same_members(const struct message *a, const struct message *b)
{
    bool same = a->member_count == b->member_count;
    for (uint32_t i = 0; same && i < a->member_count; i++) {
        const struct member_record *x = &a->members[i], *y = &b->members[i];
        same = bytes_equal(x->name, y->name) && bytes_equal(x->region, y->region) &&
               bytes_equal(x->gossip_address, y->gossip_address) &&
               bytes_equal(x->snapshot_address, y->snapshot_address) && x->incarnation == y->incarnation &&
               x->retired_incarnation == y->retired_incarnation && x->state == y->state &&
               x->reserved == y->reserved;
    }
    return same;
}

static bool same_digests(const struct message *a, const struct message *b)
{
    bool same = a->origin_count == b->origin_count && a->row_count == b->row_count;
    for (uint32_t i = 0; same && i < a->origin_count; i++)
        same = a->origins[i].member == b->origins[i].member &&
               a->origins[i].incarnation == b->origins[i].incarnation;
    for (uint32_t i = 0; same && i < a->row_count; i++) {
        const struct digest_row *x = &a->rows[i], *y = &b->rows[i];
        same = x->member == y->member && x->number == y->number && x->hears == y->hears &&
               memcmp(x->applied, y->applied, a->origin_count * sizeof *x->applied) == 0;
    }
    return same;
}

static bool same_numbers(struct number_reader reader, const struct spend *spends, uint32_t count)
{
    struct number_record record;
    for (uint32_t i = 0; i < count; i++)
        if (!number_next(&reader, &record) || !key_id_equal(record.id, spends[i].id) ||
            record.number != spends[i].tokens || record.limit_id != limits.limit[spends[i].limit].id)
            return false;
    return !number_next(&reader, &record);
}

static bool same_batches(const struct drawn *drawn)
{
    static struct batch_record record;
    bool same = opened.batch_count == drawn->batch_count;
    for (uint32_t b = 0; same && b < drawn->batch_count; b++) {
        const struct batch *batch = drawn->batch[b];
        same = message_batch(&opened, b, &record) && record.origin == drawn->batch_origin[b] &&
               record.first == batch->first && record.last == batch->last &&
               record.age_ns == drawn->batch_age_ns[b] && record.spend_count == batch->spend_count &&
               memcmp(record.depends, drawn->depends[b], drawn->header.origin_count * sizeof *record.depends) ==
                   0 &&
               same_numbers((struct number_reader){.groups = record.groups}, batch->spend, batch->spend_count);
    }
    return same;
}

static bool same_page(const struct drawn *drawn)
{
    const struct message *header = &drawn->header;
    struct number_reader reader;
    bool has_numbers = message_page(&opened, &reader);
    if (opened.has_page != header->has_page ||
        has_numbers != (header->has_page && header->kind == MESSAGE_REPLY))
        return false;
    if (!header->has_page)
        return true;
    return opened.page_prefix == header->page_prefix && opened.page_bits == header->page_bits &&
           opened.page_split == header->page_split &&
           (!has_numbers || same_numbers(reader, drawn->number, drawn->number_count));
}

static void check_round_trips(void)
{
    static struct drawn drawn;
    struct random random;
    struct effects effects;
    struct message_walk walk;
    unsigned refused = 0, changed = 0;
    random_seed(&random, 7);
    effects_init(&effects);
    for (unsigned i = 0; i < 2000; i++) {
        effects_clear(&effects);
        draw_message(&random, &drawn);
        struct bytes bytes = encode(&effects, &drawn);
        refused += !message_walk(&walk, bytes) || !message_open(&opened, bytes);
        const struct message *header = &drawn.header;
        changed += opened.kind != header->kind || opened.config_digest != header->config_digest ||
                   opened.number != header->number || opened.floor != header->floor ||
                   opened.muted != header->muted || opened.sender != header->sender ||
                   !same_members(&opened, header) || !same_digests(&opened, header) || !same_batches(&drawn) ||
                   !same_page(&drawn);
        message_close(&opened);
        forget(&drawn);
    }
    OK_U64(refused, 0, "2,000 random messages are understood");
    OK_U64(changed, 0, "and say what they said: headers, digests, batches, pages");
    effects_close(&effects);
}

/* ---- nonsense ---- */

static bool walks(const char *data, size_t size)
{
    struct message_walk walk;
    char *exact = malloc(size > 0 ? size : 1);
    assert(exact);
    memcpy(exact, data, size);
    bool sound = message_walk(&walk, (struct bytes){exact, size});
    free(exact);
    return sound;
}

/* A message of a few hundred bytes with something of everything. */
static struct bytes small_message(struct effects *effects, enum message_kind kind)
{
    static struct drawn drawn;
    struct random random;
    random_seed(&random, 11 + (uint64_t)kind);
    do {
        forget(&drawn);
        effects_clear(effects);
        draw_message(&random, &drawn);
        (void)encode(effects, &drawn);
    } while (drawn.header.kind != kind || drawn.header.member_count < 2 || drawn.header.row_count < 1 ||
             drawn.batch_count < 2 || drawn.header.has_page != (kind != MESSAGE_GOSSIP) ||
             effects->arena_size > 3000 || drawn.number_count < 2);
    forget(&drawn);
    return (struct bytes){(const char *)effects->arena + 6, effects->arena_size - 6};
}

static void check_damage(enum message_kind kind, const char *name)
{
    struct effects effects;
    unsigned cut = 0, flipped = 0, understood = 0;
    effects_init(&effects);
    struct bytes bytes = small_message(&effects, kind);
    char *copy = malloc(bytes.size + 1);
    assert(copy);
    memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = 0;
    OK(walks(copy, bytes.size), "%s of %zu bytes is sound", name, bytes.size);
    for (size_t size = 0; size < bytes.size; size++)
        cut += walks(copy, size);
    OK_U64(cut, 0, "cut short anywhere, it is refused");
    OK(!walks(copy, bytes.size + 1), "so it is with a byte too many");
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        understood += walks(copy, bytes.size);
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        flipped++;
    }
    OK(understood > 0 && understood < flipped,
       "of %u flipped bits, %u leave a message that can be read within bounds", flipped, understood);
    free(copy);
    effects_close(&effects);
}

/* ---- counts that lie, and memory ---- */

extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void)
{
    if (__sanitizer_get_current_allocated_bytes)
        return __sanitizer_get_current_allocated_bytes();
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static struct message plain_header(enum message_kind kind)
{
    struct message header = {.kind = kind, .member_count = 1};
    header.members[0] =
        (struct member_record){.name = bytes_of("ann"), .region = bytes_of("east"), .incarnation = 1};
    return header;
}

static void check_memory(void)
{
    enum { BYTES = 1 << 20 };
    static struct message header;
    static char junk[BYTES];
    struct effects effects;
    struct message_writer writer;
    effects_init(&effects);
    header = plain_header(MESSAGE_GOSSIP);
    static const unsigned char fillers[] = {0x90, 0x00, 0xa0};
    for (size_t f = 0; f < sizeof fillers; f++) {
        effects_clear(&effects);
        memset(junk, fillers[f], sizeof junk);
        message_begin(&writer, &effects, &header);
        message_begin_batches(&writer, BYTES);
        effects_append(&effects, junk, sizeof junk);
        message_end(&writer);
        size_t before = allocated_bytes();
        bool sound = message_open(&opened, (struct bytes){(const char *)effects.arena, effects.arena_size});
        size_t taken = allocated_bytes() - before;
        OK(sound && opened.batch_count == BYTES, "a message may promise a million batches of one byte (0x%02x)",
           (unsigned)fillers[f]);
        OK(taken <= 64u * BYTES, "it takes %zu times its size while it is open: at most 64", taken / BYTES);
        message_close(&opened);
        struct message_walk walk;
        OK(message_walk(&walk, (struct bytes){(const char *)effects.arena, effects.arena_size}) &&
               walk.malformed_batches == BYTES,
           "and none of them is a batch");
    }
    effects_close(&effects);
}

/* The message, with its last value replaced by `end`, which is what follows batches. */
static bool opens_with_end(enum message_kind kind, const char *end, size_t size)
{
    static struct message header;
    struct effects effects;
    struct message_writer writer;
    struct number_reader reader;
    effects_init(&effects);
    header = plain_header(kind);
    message_begin(&writer, &effects, &header);
    message_begin_batches(&writer, 0);
    effects_append(&effects, end, size);
    bool sound = message_open(&opened, (struct bytes){(const char *)effects.arena, effects.arena_size});
    if (sound) {
        sound = !opened.has_page || kind == MESSAGE_REQUEST || message_page(&opened, &reader);
        message_close(&opened);
    }
    effects_close(&effects);
    return sound;
}

#define ENDS(kind, end) opens_with_end(kind, end, sizeof end - 1)

static void check_ends(void)
{
    OK(ENDS(MESSAGE_GOSSIP, "\xc0"), "gossip ends with nil");
    OK(!ENDS(MESSAGE_GOSSIP, "\x92\x00\x00"), "not with a page");
    OK(ENDS(MESSAGE_REQUEST, "\x92\x00\x00"), "a request may ask for everything");
    OK(ENDS(MESSAGE_REQUEST, "\x92\x03\x02"), "or for a quarter");
    OK(!ENDS(MESSAGE_REQUEST, "\x92\x04\x02"), "not for the fifth of four");
    OK(!ENDS(MESSAGE_REQUEST, "\x92\x00\x21"), "not for parts smaller than 32 bits tell apart");
    OK(ENDS(MESSAGE_REPLY, "\x94\x00\x00\x00\x90"), "a reply may be empty");
    OK(!ENDS(MESSAGE_REPLY, "\x94\x00\x00\x02\x90"), "it is split or not");
    OK(ENDS(MESSAGE_REPLY, "\x94\x00\x00\x00\x91\x93\x05\xc4\x10................\x91\x01"),
       "one key, one number");
    OK(!ENDS(MESSAGE_REPLY, "\x94\x00\x00\x00\x91\x93\x05\xc4\x10................\x92\x01\x01"),
       "one key, two numbers");
    OK(!ENDS(MESSAGE_REPLY, "\x94\x00\x00\x00\x91\x93\x05\xc4\x0f...............\x91\x01"),
       "a key of 15 bytes");
    OK(!ENDS(MESSAGE_REPLY, "\x94\x00\x00\x00\x91\x93\x05\xc4\x00\x90"), "a group of nothing");
    OK(!ENDS(MESSAGE_REPLY, "\x94\x00\x00\x00\x91\x93\x05\xc4\x10................\x91\xff"),
       "a number below 0");
    OK(!ENDS(MESSAGE_REPLY,
             "\x94\x00\x00\x00\x91\x93\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xc4\x10................\x91\x01"),
       "a limit's id of 33 bits");
}

int main(void)
{
    struct error error;
    limits.count = 3;
    bool valid = limit_init(&limits.limit[0], bytes_of("first"), 100, 100, 1000000000, 0, &error) &&
                 limit_init(&limits.limit[1], bytes_of("second"), 100, 100, 1000000000, 0, &error) &&
                 limit_init(&limits.limit[2], bytes_of("third"), 100, 100, 1000000000, 0, &error);
    OK(valid, "three limits");
    check_round_trips();
    check_damage(MESSAGE_GOSSIP, "gossip");
    check_damage(MESSAGE_REQUEST, "a request");
    check_damage(MESSAGE_REPLY, "a reply");
    check_memory();
    check_ends();
    return tap_done();
}
