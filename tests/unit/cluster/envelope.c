/* Messages of later and of earlier releases: what is understood of them, what is counted, what is said. */
#include "cluster/codec/envelope.h"

#include "tests/lib/cluster_impostor.h"
#include "tests/lib/newer_message.h"
#include "tests/lib/opened_message.h"
#include "tests/lib/plane_world.h"

static struct message opened;
static struct effects later;
static const struct hash_key no_secret;

/* ---- one message ---- */

/* A small sound message of that kind, unsealed. */
static struct bytes plain_message(struct effects *effects, enum message_kind kind)
{
    static struct message header;
    struct message_writer writer;
    header = (struct message){.kind = kind, .member_count = 1};
    header.members[0] =
        (struct member_record){.name = bytes_of("ann"), .region = bytes_of("east"), .incarnation = 1};
    effects_clear(effects);
    message_begin(&writer, effects, &header);
    message_begin_batches(&writer, 0);
    message_end(&writer);
    return (struct bytes){(const char *)effects->arena, effects->arena_size};
}

static bool is_read(struct bytes bytes)
{
    bool read = message_open(&opened, bytes);
    if (read)
        message_close(&opened);
    return read;
}

static void test_count_of_later_fields(void)
{
    struct effects effects;
    struct random random;
    unsigned understood = 0;
    effects_init(&effects);
    random_seed(&random, 5);
    struct bytes bytes = plain_message(&effects, MESSAGE_GOSSIP);
    for (uint32_t more = 0; more <= LATER_FIELDS_MAX; more++) {
        effects_clear(&later);
        newer_append(&later, bytes, &random, more);
        understood += is_read((struct bytes){(const char *)later.arena, later.arena_size});
    }
    OK_U64(understood, LATER_FIELDS_MAX + 1, "up to %d fields that are not known are passed over",
           LATER_FIELDS_MAX);
    effects_clear(&later);
    newer_append(&later, bytes, &random, LATER_FIELDS_MAX + 1);
    OK(!is_read((struct bytes){(const char *)later.arena, later.arena_size}), "not one more");
    effects_close(&effects);
}

/* The message with one field more in its envelope: a string of `size` zeros, or an array of as many. */
static bool is_read_with_field(size_t size, bool array)
{
    static char zeros[2 * LATER_FIELD_MAX_BYTES];
    struct effects effects;
    msgpack_packer packer;
    effects_init(&effects);
    (void)plain_message(&effects, MESSAGE_GOSSIP);
    effects.arena[0]++; /* one more than the fields of an envelope: it has less than 15 */
    msgpack_packer_init(&packer, &effects, write_to_arena);
    if (array)
        msgpack_pack_array(&packer, size);
    else
        msgpack_pack_bin(&packer, size);
    effects_append(&effects, zeros, size);
    bool read = is_read((struct bytes){(const char *)effects.arena, effects.arena_size});
    effects_close(&effects);
    return read;
}

static void test_size_of_later_fields(void)
{
    enum { EACH = 9, VALUES = LATER_FIELD_MAX_BYTES / EACH - 1 };
    OK(is_read_with_field(LATER_FIELD_MAX_BYTES - EACH, false), "a later field may have %d bytes",
       LATER_FIELD_MAX_BYTES - EACH);
    OK(!is_read_with_field(LATER_FIELD_MAX_BYTES - EACH + 1, false), "not one more");
    OK(VALUES > 3 * 16384 && is_read_with_field(VALUES, true),
       "or %d values: some for each key of the largest batch", VALUES);
    OK(!is_read_with_field(VALUES + 1, true), "not one more");
}

/* ---- versions and kinds ---- */

static enum envelope_status status_of(const char *data, size_t size)
{
    struct envelope envelope;
    char *exact = malloc(size > 0 ? size : 1);
    assert(exact);
    memcpy(exact, data, size);
    enum envelope_status status = envelope_open(&envelope, (struct bytes){exact, size});
    if (status == ENVELOPE_OPEN)
        envelope_close(&envelope);
    free(exact);
    return status;
}

#define STATUS(text) status_of(text, sizeof text - 1)

static void test_heads(void)
{
    OK(STATUS("\x97\x04\x04\x01\xa3"
              "ann\x01\x90\x90") == ENVELOPE_OPEN,
       "seven fields are an envelope");
    OK(STATUS("\x96\x04\x04\x01\xa3"
              "ann\x01\x90") == ENVELOPE_NONSENSE,
       "six are not");
    OK(STATUS("\x97\x04\x04\x01\xa0\x01\x90\x90") == ENVELOPE_NONSENSE, "the sender has a name");
    OK(STATUS("\x97\x04\x05\x01\xa3"
              "ann\x01\x90\x90") == ENVELOPE_NONSENSE,
       "and reads what it writes");
    OK(STATUS("\x97\x05\x04\x01\xa3"
              "ann\x01\x90\x90") == ENVELOPE_OTHER_VERSION,
       "a later version is not read");
    OK(STATUS("\x9c\x05\x04\x81\xc0\xc0") == ENVELOPE_OTHER_VERSION, "whatever it is made of");
    OK(STATUS("\x9c\x03\x00\xcf\x00\x00\x00\x00\x00\x00\x00\x00") == ENVELOPE_OTHER_VERSION, "nor an earlier one");
    OK(STATUS("\x96\x01\x00\xa3"
              "ann\x01\x90\x90") == ENVELOPE_OTHER_VERSION,
       "nor that which only rules had");
    OK(STATUS("\x97\x04\x04\x06\xa3"
              "ann\x01\x90\x90") == ENVELOPE_UNKNOWN_KIND,
       "a kind more is not known");
    OK(STATUS("\x97\x04\x04\xcd\x10\x00\x81\xc0\xc0") == ENVELOPE_UNKNOWN_KIND, "whatever it is made of");
    OK(STATUS("\x97\x04\x04\xff\xa3"
              "ann\x01\x90\x90") == ENVELOPE_NONSENSE,
       "a kind is a number from 0 on");
    OK(STATUS("\x97\x04\x04") == ENVELOPE_NONSENSE && STATUS("\x97\x04") == ENVELOPE_NONSENSE &&
           STATUS("\x97") == ENVELOPE_NONSENSE && STATUS("") == ENVELOPE_NONSENSE &&
           STATUS("\xc0") == ENVELOPE_NONSENSE,
       "what is cut short is nonsense");
}

/* ---- nodes ---- */

/* Bob hears unsealed bytes from ann. */
static void hear(enum event_kind kind, const char *data, size_t size)
{
    char sealed[256];
    struct key_id seal = hash_128(&no_secret, data, size);
    memcpy(sealed, data, size);
    memcpy(sealed + size, &seal, sizeof seal);
    step(BOB, (struct event){.kind = kind, .bytes = {sealed, size + sizeof seal}}, ANN);
}

#define HEAR(kind, text) hear(kind, text, sizeof text - 1)

static void test_unknown_kinds(void)
{
    world_of(2);
    const struct node_stats before = world_stats(BOB);
    HEAR(EVENT_MESSAGE, "\x97\x04\x04\x06\xa3"
                        "ann\x01\x90\x90");
    HEAR(EVENT_MESSAGE, "\x97\x04\x04\x06\x81\xc0\xcb\x00\x00\x00\x00\x00\x00\x00\x00");
    HEAR(EVENT_RESPONSE, "\x97\x04\x04\x06\xa3"
                         "ann\x01\x90\x90");
    HEAR(EVENT_REQUEST, "\x97\x04\x04\x06\xa3"
                        "ann\x01\x90\x90");
    size_t replies = 0, reply_bytes = 0;
    for (size_t e = 0; e < world.effects.effect_count; e++) {
        const struct effect *effect = &world.effects.effect[e];
        replies += effect->kind == EFFECT_REPLY;
        reply_bytes += effect->kind == EFFECT_REPLY ? effect->size : 0;
    }
    OK(replies == 1 && reply_bytes == 0, "a request of an unknown kind is answered by no bytes");
    const struct node_stats now = world_stats(BOB);
    OK_U64(now.messages_unknown_kind - before.messages_unknown_kind, 4, "messages of unknown kinds are counted");
    OK(now.messages_invalid == before.messages_invalid && now.messages_unreadable == before.messages_unreadable,
       "and their sender is not called wrong");
    world_close();
}

static void test_other_versions(void)
{
    world_of(2);
    HEAR(EVENT_MESSAGE, "\x97\x06\x05\x00\xa3"
                        "ann\x01\x90\x90");
    HEAR(EVENT_MESSAGE, "\x97\x06\x05\x01\xa3"
                        "ann\x01\x90\x90");
    world.now_ns += 120000 * MS;
    HEAR(EVENT_MESSAGE, "\x97\x06\x05\x00\xa3"
                        "ann\x01\x90\x90");
    HEAR(EVENT_MESSAGE, "\x9c\x03\x00\xcf\x00\x00\x00\x00\x00\x00\x00\x00");
    HEAR(EVENT_MESSAGE, "\x9c\x02\x00\xcf\x00\x00\x00\x00\x00\x00\x00\x00");
    const char *told = strstr(world.text, "bob: ann sends");
    OK(told &&
           strstr(told, "bob: ann sends messages of version 6, this daemon reads versions 4 to 4 and drops them: "
                        "upgrade this daemon\n") == told,
       "a later version is told, with who is to be upgraded");
    OK(told && !strstr(strchr(told, '\n'), "version 6"), "once, however often it comes");
    OK(told && strstr(told, "a peer sends messages of version 3, this daemon reads versions 4 to 4 and drops them: "
                            "upgrade that peer"),
       "so is an earlier one");
    OK(told && !strstr(told, "version 2"), "others not within a minute");
    OK_U64(world_stats(BOB).messages_unreadable, 5, "all are counted");
    OK_U64(world_stats(BOB).messages_invalid, 0, "and none is called nonsense");
    world_close();
}

static unsigned newer_hosts; /* bit i: host i is of a later release */
static uint64_t newer_messages;

static struct bytes as_newer(unsigned from, struct bytes bytes)
{
    static struct random random = {.state = {1, 2, 3, 4}};
    if ((newer_hosts >> from & 1) == 0 || bytes.size == 0)
        return bytes;
    bool sealed = message_unseal(&bytes, &no_secret);
    assert(sealed);
    effects_clear(&later);
    newer_append(&later, bytes, &random, 1 + (uint32_t)random_below(&random, 3));
    message_seal(&later, 0, &no_secret);
    newer_messages++;
    return (struct bytes){(const char *)later.arena, later.arena_size};
}

/* Spends, snapshots and rules, with some of three peers of a later release. */
static void test_mixed(unsigned newer)
{
    newer_hosts = newer;
    newer_messages = 0;
    world_init(3);
    world_name_all();
    world.rewrite = as_newer;
    world_start_all();
    world_run(1000);
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    (void)set(BOB, "{id: b, service: s, rate: 6/m}");
    (void)world_spend_many(ANN, "key", 50);
    (void)world_spend_many(CAT, "key", 30);
    world_run(2000);
    world_crash(BOB);
    world_run(200);
    world_start(BOB);
    world_run(3000);
    uint64_t invalid = 0;
    bool settled = true;
    for (unsigned i = 0; i < 3; i++) {
        const struct node_stats stats = world_stats(i);
        invalid += stats.messages_invalid + stats.messages_unreadable + stats.messages_unknown_kind;
        settled = settled && stats.log_keys == 0 && stats.open_keys == 0;
    }
    OK(newer_messages > 0 && invalid == 0, "peers %x of three are newer: nobody calls a message wrong", newer);
    OK(settled && world_stats(BOB).snapshots_taken == 1,
       "what was spent is settled everywhere, a snapshot was taken");
    OK(rulebook_versions(node_rulebook(world.host[BOB].node)) == 2,
       "and rules came, with the digest of the others:");
    OK(rulebook_digest(node_rulebook(world.host[BOB].node)) ==
               rulebook_digest(node_rulebook(world.host[ANN].node)) &&
           rulebook_digest(node_rulebook(world.host[CAT].node)) ==
               rulebook_digest(node_rulebook(world.host[ANN].node)),
       "fields that are not known are in no digest");
    world_close();
}

int main(void)
{
    effects_init(&later);
    test_count_of_later_fields();
    test_size_of_later_fields();
    test_heads();
    test_unknown_kinds();
    test_other_versions();
    for (unsigned newer = 1; newer < 8; newer++)
        test_mixed(newer);
    effects_close(&later);
    return tap_done();
}
