#include "cluster/codec/message.h"

#include "tests/fuzz/message_walk.h"
#include "tests/lib/drawn_message.h"
#include "tests/lib/newer_message.h"
#include "tests/lib/tap.h"

#include <malloc.h>
#include <stdlib.h>

static struct message opened;

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

/* A message with an ask, and with a grant to a holder that it names. */
static bool tells_of_rights(const struct drawn *drawn)
{
    bool granted = false;
    for (uint32_t b = 0; b < drawn->batch_count; b++)
        granted |= drawn->batch[b]->grant_count > 0 && drawn->holders[b][0] != NO_HOLDER;
    return granted && drawn->header.ask_count > 0;
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
             drawn.batch_count < 2 || (kind == MESSAGE_GOSSIP && !tells_of_rights(&drawn)) ||
             drawn.header.has_page != (kind != MESSAGE_GOSSIP) || effects->arena_size > 3000 ||
             drawn.number_count < 2);
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

/* ---- a tree with one value or one count changed ---- */

enum change { NO_CHANGE, ONE_LESS, ONE_MORE, NEGATIVE, NOTHING, CHANGES_END };

struct rewriting {
    msgpack_packer packer;
    struct newer_path path;
    uint32_t target, passed; /* which value of the tree is changed; values passed so far */
    enum change change;
    bool must_refuse; /* the change leaves no sound message */
};

/*
 * Members, origins, rows, batches and asks, groups of numbers, and grants may be more or fewer, names of the muted
 * fewer; returns and lives may be absent.
 */
static bool list_may_vary(const struct newer_path *path, enum change change)
{
    const uint32_t *at = path->at;
    return (path->depth == 1 && at[0] == 5 && change == ONE_LESS) ||
           (path->depth == 2 && at[1] >= 2 && (at[1] <= 5 || at[1] == 7)) ||
           (path->depth == 3 && at[1] == 6 && at[2] == 4) ||
           (path->depth == 4 && at[1] == 5 && (at[3] == 6 || at[3] == 8)) ||
           (path->depth == 5 && at[1] == 6 && at[2] == 4 && at[4] >= 3) ||
           (path->depth == 6 && at[1] == 5 && at[3] == 6 && at[5] >= 3);
}

/* Of a record: fields that are not known may be there, and those may be missing that are read with a default. */
static bool count_may_change(const struct rewriting *rewriting, uint32_t size)
{
    const struct newer_record record = newer_record_at(&rewriting->path);
    if (record.known == 0)
        return list_may_vary(&rewriting->path, rewriting->change);
    return rewriting->change == ONE_MORE ? size >= record.known : size > record.least;
}

/* The value is a field that is read with a default. */
static bool may_be_nothing(const struct newer_path *path)
{
    struct newer_path of_record = *path;
    if (path->depth == 0)
        return false;
    of_record.depth--;
    const struct newer_record record = newer_record_at(&of_record);
    return record.known > 0 && path->at[of_record.depth] >= record.least;
}

static void rewrite(struct rewriting *rewriting, const msgpack_object *object)
{
    bool is_target = rewriting->passed++ == rewriting->target;
    enum change change = is_target ? rewriting->change : NO_CHANGE;
    bool is_array = object->type == MSGPACK_OBJECT_ARRAY;
    uint32_t size = is_array ? object->via.array.size : 0;
    if (is_array && (change == ONE_MORE || (change == ONE_LESS && size > 0)))
        rewriting->must_refuse = !count_may_change(rewriting, size);
    if (change == NEGATIVE || change == NOTHING)
        rewriting->must_refuse = change == NEGATIVE || !may_be_nothing(&rewriting->path);
    if (change == NEGATIVE) {
        msgpack_pack_int64(&rewriting->packer, -1);
    } else if (change == NOTHING) {
        msgpack_pack_nil(&rewriting->packer);
    } else if (!is_array) {
        msgpack_pack_object(&rewriting->packer, *object);
    } else {
        uint32_t kept = change == ONE_LESS && size > 0 ? size - 1 : size;
        msgpack_pack_array(&rewriting->packer, kept + (change == ONE_MORE));
        for (uint32_t i = 0; i < kept; i++) {
            rewriting->path.at[rewriting->path.depth++] = i;
            rewrite(rewriting, &object->via.array.ptr[i]);
            rewriting->path.depth--;
        }
        if (change == ONE_MORE && rewriting->must_refuse && newer_record_at(&rewriting->path).known > 0)
            msgpack_pack_int64(&rewriting->packer, -1); /* no value of a field that may be missing */
        else if (change == ONE_MORE)
            msgpack_pack_uint64(&rewriting->packer, 0);
    }
}

/* Understood whole: the header, each batch, and the page if there is one. */
static bool is_sound(const char *data, size_t size)
{
    struct message_walk walk;
    struct number_reader reader;
    if (!message_walk(&walk, (struct bytes){data, size}) || walk.malformed_batches + walk.malformed_asks > 0)
        return false;
    bool sound = message_open(&opened, (struct bytes){data, size});
    sound = sound && (!opened.has_page || opened.kind != MESSAGE_REPLY || message_page(&opened, &reader));
    message_close(&opened);
    return sound;
}

static void check_structure(enum message_kind kind, const char *name)
{
    struct effects effects;
    msgpack_unpacked tree;
    msgpack_sbuffer buffer;
    size_t offset = 0;
    unsigned changed = 0, slipped = 0;
    bool more = true;
    effects_init(&effects);
    struct bytes bytes = small_message(&effects, kind);
    msgpack_sbuffer_init(&buffer);
    msgpack_unpacked_init(&tree);
    (void)msgpack_unpack_next(&tree, bytes.data, bytes.size, &offset);
    for (uint32_t target = 0; more; target++) {
        for (enum change change = ONE_LESS; change < CHANGES_END; change++) {
            struct rewriting rewriting = {.target = target, .change = change, .path.kind = kind};
            msgpack_sbuffer_clear(&buffer);
            msgpack_packer_init(&rewriting.packer, &buffer, msgpack_sbuffer_write);
            rewrite(&rewriting, &tree.data);
            bool sound = is_sound(buffer.data, buffer.size);
            changed += rewriting.must_refuse;
            if (rewriting.must_refuse && sound && slipped++ == 0)
                printf("# value %u, change %d\n", target, change);
            more = rewriting.passed > target;
        }
    }
    OK(changed > 100 && slipped == 0, "%s: %u changed counts and values are refused", name, changed);
    msgpack_unpacked_destroy(&tree);
    msgpack_sbuffer_destroy(&buffer);
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

static bool opens_with_name_of(uint32_t member, size_t size, char letter)
{
    static struct message header;
    static char name[NODE_ADDRESS_BYTES + 1];
    struct effects effects;
    struct message_writer writer;
    effects_init(&effects);
    memset(name, 'n', sizeof name);
    name[size / 2] = letter;
    header = plain_header(MESSAGE_GOSSIP);
    header.members[header.member_count++] =
        (struct member_record){.name = bytes_of("bob"), .region = bytes_of("west"), .incarnation = 1};
    header.members[member].name = (struct bytes){name, size};
    message_begin(&writer, &effects, &header);
    message_begin_batches(&writer, 0);
    message_end(&writer);
    bool sound = message_open(&opened, (struct bytes){(const char *)effects.arena, effects.arena_size});
    if (sound)
        message_close(&opened);
    effects_close(&effects);
    return sound;
}

/* The sender's name, which stands in the envelope, and another's; 0 if neither may be so, else 2. */
static unsigned opens_with_name(size_t size, char letter)
{
    unsigned opened_count = 0;
    for (uint32_t member = 0; member < 2; member++)
        opened_count += opens_with_name_of(member, size, letter);
    return opened_count;
}

static void check_names(void)
{
    OK(opens_with_name(1, 'n') == 2 && opens_with_name(NODE_NAME_BYTES - 1, 'n') == 2, "names have 1 to 63 bytes");
    OK(!opens_with_name(0, 'n') && !opens_with_name(NODE_NAME_BYTES, 'n'), "not 0, not 64");
    OK(!opens_with_name(5, ' ') && !opens_with_name(5, '\n') && !opens_with_name(5, 0) && !opens_with_name(5, 0x7f),
       "no blanks, no control characters");
}

static void check_seals(void)
{
    struct effects effects;
    struct hash_key key, other;
    hash_key_from_secret(&key, "secret", 6);
    hash_key_from_secret(&other, "Secret", 6);
    effects_init(&effects);
    effects_append(&effects, "before", 6);
    effects_append(&effects, "message", 7);
    message_seal(&effects, 6, &key);
    char *arena = (char *)effects.arena;
    struct bytes bytes = {arena + 6, effects.arena_size - 6}, whole = bytes;
    OK(message_unseal(&bytes, &key) && bytes_equal(bytes, bytes_of("message")), "a sealed message is what it was");
    bytes = whole;
    OK(!message_unseal(&bytes, &other) && bytes.size == whole.size, "not to those with another secret");
    unsigned accepted = 0;
    for (size_t bit = 0; bit < 8 * whole.size; bit++) {
        arena[6 + bit / 8] = (char)(arena[6 + bit / 8] ^ 1 << bit % 8);
        bytes = whole;
        accepted += message_unseal(&bytes, &key);
        arena[6 + bit / 8] = (char)(arena[6 + bit / 8] ^ 1 << bit % 8);
    }
    for (size_t size = 0; size < whole.size; size++) {
        bytes = (struct bytes){whole.data, size};
        accepted += message_unseal(&bytes, &key);
    }
    OK_U64(accepted, 0, "nor with a bit flipped or a byte cut off");
    effects_close(&effects);
}

static bool opens(const struct effects *effects)
{
    return message_open(&opened, (struct bytes){(const char *)effects->arena, effects->arena_size});
}

/* A message that claims to hold `count` batches, followed by so many bytes of filling. */
static void promise(struct effects *effects, uint32_t count, const char *filling)
{
    static struct message header;
    struct message_writer writer;
    header = plain_header(MESSAGE_GOSSIP);
    effects_clear(effects);
    message_begin(&writer, effects, &header);
    msgpack_pack_array(&writer.packer, count);
    effects_append(effects, filling, count);
    message_end(&writer);
}

static void check_memory(void)
{
    enum { BYTES = 1 << 20 };
    static char junk[BYTES];
    struct effects effects;
    struct message_walk walk;
    effects_init(&effects);
    static const unsigned char fillers[] = {0x90, 0x00, 0xa0};
    for (size_t f = 0; f < sizeof fillers; f++) {
        memset(junk, fillers[f], sizeof junk);
        promise(&effects, BYTES, junk);
        size_t before = allocated_bytes();
        OK(!opens(&effects), "a message of a million batches of one byte (0x%02x) is refused",
           (unsigned)fillers[f]);
        OK(allocated_bytes() <= before, "and nothing is kept of it");
        promise(&effects, MESSAGE_BATCHES_MAX, junk);
        before = allocated_bytes();
        bool sound = opens(&effects);
        size_t taken = allocated_bytes() - before;
        OK(sound && opened.batch_count == MESSAGE_BATCHES_MAX, "it may promise %d", MESSAGE_BATCHES_MAX);
        OK(taken <= 64u * effects.arena_size, "it takes %zu times its size while it is open: at most 64",
           taken / effects.arena_size);
        message_close(&opened);
        OK(message_walk(&walk, (struct bytes){(const char *)effects.arena, effects.arena_size}) &&
               walk.malformed_batches == MESSAGE_BATCHES_MAX,
           "and none of them is a batch");
    }
    effects_close(&effects);
}

/* A message of that many batches that are sound and have no spends. */
static bool opens_with_empty_batches(struct effects *effects, uint32_t count)
{
    static struct message header;
    struct message_writer writer;
    header = plain_header(MESSAGE_GOSSIP);
    header.origins[header.origin_count++] = (struct origin_record){.member = 0, .incarnation = 1};
    effects_clear(effects);
    message_begin(&writer, effects, &header);
    msgpack_packer *packer = &writer.packer;
    msgpack_pack_array(packer, count);
    for (uint32_t i = 0; i < count; i++) {
        msgpack_pack_array(packer, 7);
        msgpack_pack_uint64(packer, 0);
        msgpack_pack_uint64(packer, i + 1);
        msgpack_pack_uint64(packer, i + 1);
        msgpack_pack_uint64(packer, 0);
        msgpack_pack_uint64(packer, 0);
        msgpack_pack_array(packer, header.origin_count);
        for (uint32_t o = 0; o < header.origin_count; o++)
            msgpack_pack_uint64(packer, 0);
        msgpack_pack_array(packer, 0);
    }
    message_end(&writer);
    return opens(effects);
}

/* Each batch costs its reader a look, so the work of a message is bounded by their number as well as by its keys. */
static void check_empty_batches(void)
{
    struct effects effects;
    struct batch_record record;
    uint32_t sound = 0;
    effects_init(&effects);
    bool accepted = opens_with_empty_batches(&effects, MESSAGE_BATCHES_MAX);
    for (uint32_t i = 0; accepted && i < opened.batch_count; i++)
        sound += message_batch(&opened, i, &record) && record.spend_count == 0;
    OK_U64(sound, MESSAGE_BATCHES_MAX, "a message may hold %d empty batches", MESSAGE_BATCHES_MAX);
    if (accepted)
        message_close(&opened);
    OK(!opens_with_empty_batches(&effects, MESSAGE_BATCHES_MAX + 1), "not one more");
    OK(!opens_with_empty_batches(&effects, 48000), "nor 48,000");
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
#define OWED "\x93\x00\x00\x00"
#define TERMS "\x96\x00\x00\x01\x01\x01\x00"
#define KEY "\xc4\x10................"
    OK(ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x90"), "a reply may be empty");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00\x00\x90"), "it says what evicted keys owe");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x02" OWED "\x90"), "it is split or not");
    OK(ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95" TERMS KEY "\x91\x01\x90\x90"), "one key, one number");
    OK(ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95" TERMS KEY "\x91\x01\x91\x01\x91\x01"),
       "one key, all its numbers");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95" TERMS KEY "\x92\x01\x01\x90\x90"),
       "one key, two numbers");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95" TERMS KEY "\x91\x01\x92\x01\x01\x90"),
       "one key, two returns");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95" TERMS "\xc4\x0f...............\x91\x01\x90\x90"),
       "a key of 15 bytes");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95" TERMS "\xc4\x00\x90\x90\x90"), "a group of nothing");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95" TERMS KEY "\x91\xff\x90\x90"), "a number below 0");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95" TERMS KEY "\x91\x01\x90\x91\xce\x80\x00\x00\x01"),
       "a cell that lives longer than four years");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95\x96\x03\x00\x01\x01\x01\x00" KEY "\x91\x01\x90\x90"),
       "a kind of limit that there is not");
    OK(!ENDS(MESSAGE_REPLY, "\x95\x00\x00\x00" OWED "\x91\x95\x96\x00\x04\x01\x01\x01\x00" KEY "\x91\x01\x90\x90"),
       "a flag that there is not");
}

#define LOG "\x96\x02\x00\x01\x00\x01\x00"

/* When the spends of logs end. */
static void check_parts(void)
{
#define PAGE(terms, parts) "\x97\x00\x00\x00" OWED "\x91\x93" terms KEY "\x91\x01\x90" parts
    OK(ENDS(MESSAGE_REPLY, PAGE(LOG, "\x93\x01\x05\x01")), "a log has its tokens in one part");
    OK(ENDS(MESSAGE_REPLY, PAGE(LOG, "\x91\x00")), "or says nothing of them");
    OK(ENDS(MESSAGE_REPLY, PAGE(LOG, "\xc0")), "or the page has none at all");
    OK(ENDS(MESSAGE_REPLY, PAGE(TERMS, "\x90")), "a bucket has none");
    OK(!ENDS(MESSAGE_REPLY, PAGE(TERMS, "\x91\x00")), "not one");
    OK(!ENDS(MESSAGE_REPLY, PAGE(LOG, "\x90")), "a log without a count");
    OK(!ENDS(MESSAGE_REPLY, PAGE(LOG, "\x92\x01\x05")), "a part without tokens");
    OK(!ENDS(MESSAGE_REPLY, PAGE(LOG, "\x94\x01\x05\x01\x00")), "a part of no log");
    OK(!ENDS(MESSAGE_REPLY, PAGE(LOG, "\x91\x11")), "seventeen parts");
    OK(!ENDS(MESSAGE_REPLY, PAGE(LOG, "\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff")),
       "more parts than can be counted");
    OK(!ENDS(MESSAGE_REPLY, PAGE(LOG, "\x93\x01\xff\x01")), "a time below 0");
    OK(!ENDS(MESSAGE_REPLY, PAGE(LOG, "\x01")), "parts that are no list");
#undef PAGE
}

int main(void)
{
    init_limits();
    check_damage(MESSAGE_GOSSIP, "gossip");
    check_damage(MESSAGE_REQUEST, "a request");
    check_damage(MESSAGE_REPLY, "a reply");
    check_structure(MESSAGE_GOSSIP, "gossip");
    check_structure(MESSAGE_REQUEST, "a request");
    check_structure(MESSAGE_REPLY, "a reply");
    check_names();
    check_seals();
    check_memory();
    check_empty_batches();
    check_ends();
    check_parts();
    return tap_done();
}
