#include "tests/lib/cluster_impostor.h"

struct message impostor;

uint64_t impostor_number;

void impostor_begin(enum message_kind kind, uint64_t bob_made, uint64_t ann_applied)
{
    memset(&impostor, 0, sizeof impostor);
    impostor.kind = kind;
    impostor.number = ++impostor_number;
    impostor.floor = 1;
    impostor.member_count = impostor.origin_count = 2;
    impostor.row_count = 1;
    for (unsigned m = 0; m < 2; m++) {
        const struct node_options *options = &world.host[m == 0 ? BOB : ANN].options;
        impostor.members[m] = (struct member_record){.name = bytes_of(options->name),
                                                     .region = bytes_of(options->region),
                                                     .gossip_address = bytes_of(options->gossip_address),
                                                     .snapshot_address = bytes_of(options->snapshot_address),
                                                     .incarnation = 1,
                                                     .config = options->config_digest,
                                                     .state = PEER_ACTIVE,
                                                     .reserved = true};
        impostor.origins[m] = (struct origin_record){.member = m, .incarnation = 1};
    }
    impostor.rows[0] = (struct digest_row){.member = 0, .number = impostor_number, .hears = 2};
    impostor.rows[0].applied[0] = bob_made;
    impostor.rows[0].applied[1] = ann_applied;
}

void impostor_deliver(struct effects *effects, struct message_writer *writer, enum event_kind kind)
{
    message_seal(effects, writer->start, &world.host[ANN].options.hash_key);
    step(ANN, (struct event){.kind = kind, .bytes = {(const char *)effects->arena, effects->arena_size}}, BOB);
    effects_close(effects);
}

void impostor_say(struct batch *batch)
{
    static const uint64_t depends[ORIGINS_MAX];
    struct effects effects;
    struct message_writer writer;
    const struct limit_set limits = limits_view(&world.limits);
    effects_init(&effects);
    message_begin(&writer, &effects, &impostor);
    message_begin_batches(&writer, batch != NULL);
    if (batch)
        message_put_batch(&writer, 0, batch->at_ns, batch, depends, impostor.origin_count, NULL, &limits);
    message_end(&writer);
    batch_destroy(&batch);
    impostor_deliver(&effects, &writer, EVENT_MESSAGE);
}

void impostor_request(uint64_t prefix, uint32_t bits)
{
    struct effects effects;
    struct message_writer writer;
    effects_init(&effects);
    message_begin(&writer, &effects, &impostor);
    message_begin_batches(&writer, 0);
    message_end_with_request(&writer, prefix, bits);
    impostor_deliver(&effects, &writer, EVENT_REQUEST);
}

void impostor_reply(uint64_t prefix, uint32_t bits, bool split, const struct spend *numbers, uint32_t count)
{
    struct effects effects;
    struct message_writer writer;
    const struct limit_set limits = limits_view(&world.limits);
    effects_init(&effects);
    message_begin(&writer, &effects, &impostor);
    message_begin_batches(&writer, 0);
    const struct page_content page = {.prefix = prefix,
                                      .bits = bits,
                                      .split = split,
                                      .numbers = numbers,
                                      .number_count = count,
                                      .owed = impostor.page_owed,
                                      .beyond = impostor.page_beyond,
                                      .beyond_count = impostor.page_beyond[0] > 0 ? 2 : 0};
    message_end_with_page(&writer, &page, &limits, 0);
    impostor_deliver(&effects, &writer, EVENT_RESPONSE);
}

/* Versions of rules that make no sense. */
static void impostor_pack_nonsense(msgpack_packer *packer, unsigned versions)
{
    msgpack_pack_array(packer, versions);
    for (unsigned v = 0; v < versions; v++) {
        msgpack_pack_array(packer, 13);
        for (unsigned i = 0; i < 8; i++)
            msgpack_pack_uint64(packer, i == 0 ? v + 1 : 0);
        for (unsigned i = 0; i < 5; i++)
            msgpack_pack_str_with_body(packer, "?", 1);
    }
}

void impostor_rules(unsigned nonsense)
{
    struct effects effects;
    struct message_writer writer;
    effects_init(&effects);
    msgpack_packer *packer = &writer.packer;
    writer.start = envelope_begin(packer, &effects,
                                  &(struct envelope_head){.kind = MESSAGE_RULES_PAGE,
                                                          .sender = bytes_of("bob"),
                                                          .incarnation = 1});
    msgpack_pack_array(packer, 8);
    msgpack_pack_uint64(packer, world.host[ANN].options.incarnation + 1); /* her first question */
    msgpack_pack_array(packer, 3);
    for (unsigned i = 0; i < 3; i++)
        msgpack_pack_uint64(packer, UINT64_MAX);
    msgpack_pack_uint64(packer, 0); /* the digest of an empty book */
    msgpack_pack_uint64(packer, 0);
    msgpack_pack_uint64(packer, 1); /* the last page */
    msgpack_pack_array(packer, 3);
    for (unsigned i = 0; i < 3; i++)
        msgpack_pack_uint64(packer, 0);
    msgpack_pack_uint64(packer, 0);
    impostor_pack_nonsense(packer, nonsense);
    impostor_deliver(&effects, &writer, EVENT_RESPONSE);
}

struct batch *impostor_batch(uint64_t first, uint64_t last, struct key_id id, uint16_t limit, uint64_t tokens)
{
    struct batch *batch = batch_create(0, 1);
    assert(batch);
    batch->first = first;
    batch->last = last;
    batch->spend[0] = (struct spend){.id = id, .tokens = tokens, .limit = limit};
    return batch;
}

void impostor_world(void)
{
    world_init(2);
    world_name_all();
    world_start(ANN);
    world_run(2500);
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor_say(NULL);
    skip_text();
}
