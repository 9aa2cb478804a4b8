#include "tests/lib/drawn_message.h"

struct limit_set limits;

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

static void draw_weights(struct random *random, struct weights_record *weights)
{
    weights->said = true;
    weights->keeps = random_below(random, 2) != 0;
    weights->heard = random_below(random, 2) != 0;
    weights->base.number = draw_u64(random);
    weights->base.maker = draw_u64(random);
    weights->newest.number = draw_u64(random);
    weights->newest.maker = draw_u64(random);
    weights->text = draw_text(random, 0, NODE_ADDRESS_BYTES);
}

static void draw_life(struct random *random, struct life_record *life)
{
    static const enum peer_state states[] = {PEER_JOINING, PEER_ACTIVE, PEER_LEFT};
    static uint8_t bytes[NODE_KEY_BYTES + NODE_PROOF_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random_u64(random);
    *life = (struct life_record){.incarnation = draw_u64(random) / 2,
                                 .config = draw_u64(random),
                                 .state = states[random_below(random, 3)],
                                 .key = bytes,
                                 .proof = bytes + NODE_KEY_BYTES};
}

static void draw_header(struct random *random, struct message *header)
{
    static const enum peer_state states[] = {PEER_JOINING, PEER_ACTIVE, PEER_LEFT};
    memset(header, 0, sizeof *header);
    header->kind = (enum message_kind)random_below(random, 3);
    header->number = draw_u64(random);
    header->floor = draw_u64(random);
    header->member_count = 1 + draw_count(random, NODE_PEERS_MAX - 1);
    header->muted = random_u64(random) & (((uint64_t)1 << (header->member_count - 1)) - 1);
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
        member->refuses = random_below(random, 2) != 0;
        member->grants = random_below(random, 2) != 0;
        member->heeds_uncharged = random_below(random, 2) != 0;
        member->uncharged = random_below(random, 2) != 0;
        member->config = draw_u64(random);
        if (i % 3 == 1)
            draw_life(random, &member->life);
    }
    if (random_below(random, 2) != 0) {
        header->members[header->sender].clock_ns = 1 + draw_u64(random) / 2;
        header->members[header->sender].wall_ms = draw_u64(random);
    }
    if (random_below(random, 2) != 0)
        draw_weights(random, &header->members[header->sender].weights);
    if (random_below(random, 2) != 0)
        header->members[header->sender].demand = (struct demand_record){.said = true,
                                                                        .given = draw_u64(random),
                                                                        .wanted = draw_u64(random),
                                                                        .proposes = random_below(random, 2) != 0};
    if (random_below(random, 2) != 0)
        header->members[header->sender].limits =
            (struct limits_record){.said = true,
                                   .seen = {draw_u64(random), draw_u64(random)},
                                   .sum = draw_u64(random),
                                   .text = draw_text(random, 0, NODE_ADDRESS_BYTES)};
    for (uint32_t i = 0; i < header->origin_count; i++) {
        uint32_t member = (uint32_t)random_below(random, header->member_count);
        uint64_t incarnation = header->members[member].incarnation;
        header->origins[i].member = member;
        header->origins[i].incarnation = incarnation - random_below(random, incarnation + 1) / 2;
        header->origins[i].waiting = random_below(random, 2) != 0;
    }
    for (uint32_t i = 0; i < header->row_count; i++) {
        struct digest_row *row = &header->rows[i];
        row->member = (uint32_t)random_below(random, header->member_count);
        row->number = draw_u64(random);
        row->hears = draw_u64(random);
        for (uint32_t o = 0; o < header->origin_count; o++)
            row->applied[o] = draw_u64(random);
        if (i % 4 == 1)
            row->statement = draw_text(random, 1, NODE_ADDRESS_BYTES);
    }
}

static bool is_log(uint16_t limit)
{
    return limits.limit[limit].kind == LIMIT_LOG;
}

/* Nothing is returned to a log: that would have a time of its own. */
static void draw_spends(struct random *random, struct spend *spends, uint32_t count)
{
    uint16_t limit = 0;
    for (uint32_t i = 0; i < count; i++) {
        limit = (uint16_t)(limit + (limit + 1u < limits.count && random_below(random, 20) == 0));
        spends[i] =
            (struct spend){.id = {random_u64(random), random_u64(random)},
                           .tokens = draw_u64(random),
                           .returned = random_below(random, 8) == 0 && !is_log(limit) ? draw_u64(random) : 0,
                           .expires_ns = random_below(random, CELL_STEPS_MAX) * CELL_STEP_NS,
                           .limit = limit};
    }
}

/* Only a batch that is no merge has grants. */
static struct batch *draw_batch(struct random *random)
{
    const uint32_t spends = draw_count(random, NUMBERS_MAX), grants = draw_count(random, GRANTS_DRAWN_MAX);
    const bool merged = random_below(random, 2) != 0;
    struct batch *batch = batch_create_granting(0, spends, merged ? 0 : grants);
    assert(batch);
    draw_spends(random, batch->spend, batch->spend_count);
    batch->first = 1 + draw_u64(random) / 4;
    batch->last = batch->first + (merged ? random_below(random, 3) : 0);
    batch->open_ns = draw_u64(random);
    batch->parts = merged ? 1 + (uint32_t)random_below(random, PARTS_MAX) : 0;
    batch->part = batch->parts > 0 ? (uint32_t)random_below(random, batch->parts) : 0;
    batch->merge = batch->parts > 0 ? random_u64(random) | 1 : 0;
    for (uint32_t g = 0; g < batch->grant_count; g++)
        batch->grant[g] = (struct batch_grant){.id = {random_u64(random), random_u64(random)},
                                               .spare = (uint32_t)(random_u64(random) >> (64 - SPARE_BITS)),
                                               .ask = draw_u64(random),
                                               .tokens = 1 + draw_u64(random) / 2};
    return batch;
}

static void draw_asks(struct random *random, struct drawn *drawn)
{
    drawn->header.ask_count = drawn->header.kind == MESSAGE_GOSSIP ? draw_count(random, MESSAGE_ASKS_MAX) : 0;
    for (uint32_t i = 0; i < drawn->header.ask_count; i++) {
        struct ask_record *ask = &drawn->ask[i];
        *ask = (struct ask_record){
            .id = {random_u64(random), random_u64(random)},
            .terms = limit_terms_of(&limits.limit[random_below(random, limits.count)]),
            .number = draw_u64(random),
            .tokens = draw_u64(random),
            .parts = (uint32_t)(random_u64(random) >> (64 - SPARE_BITS)),
            .among = 1 + random_below(random, SHARE_ONE),
            .live_ns = random_below(random, CELL_STEPS_MAX) * CELL_STEP_NS,
        };
        ask->whole = ask->terms.kind == LIMIT_BUCKET && random_below(random, 2) == 0;
        if (ask->terms.kind != LIMIT_CELL || random_below(random, 2) == 0)
            continue;
        ask->previous = (struct key_id){random_u64(random), random_u64(random)};
        ask->window_ns = 1 + draw_u64(random) / 2;
        ask->left_ns = random_below(random, ask->window_ns + 1);
    }
}

/* Times are whole steps, which are not rounded. */
static void draw_parts(struct random *random, struct drawn *drawn)
{
    const bool has_beyond = drawn->header.page_prefix % 2 != 0;
    drawn->parts_count = 0;
    for (uint32_t i = 0; i < drawn->number_count && has_beyond; i++) {
        if (!is_log(drawn->number[i].limit))
            continue;
        struct number_parts *parts = &drawn->parts[drawn->parts_count++];
        parts->count = (uint32_t)random_below(random, LOG_PARTS_MAX + 1);
        for (uint32_t p = 0; p < parts->count; p++)
            parts->part[p] = (struct number_part){.left_ns = draw_u64(random) / 4 / LEFT_STEP_NS * LEFT_STEP_NS,
                                                  .tokens = draw_u64(random)};
    }
}

void draw_message(struct random *random, struct drawn *drawn)
{
    draw_header(random, &drawn->header);
    drawn->batch_count = drawn->header.origin_count > 0 ? (uint32_t)random_below(random, BATCHES_MAX + 1) : 0;
    for (uint32_t b = 0; b < drawn->batch_count; b++) {
        struct batch *batch = drawn->batch[b] = draw_batch(random);
        drawn->batch_origin[b] = (uint32_t)random_below(random, drawn->header.origin_count);
        for (uint32_t g = 0; g < batch->grant_count; g++)
            drawn->holders[b][g] = random_below(random, 8) == 0
                                       ? NO_HOLDER
                                       : (uint32_t)random_below(random, drawn->header.origin_count);
        for (uint32_t o = 0; o < drawn->header.origin_count; o++)
            drawn->depends[b][o] = draw_u64(random);
    }
    drawn->header.page_bits = (uint32_t)random_below(random, 33);
    drawn->header.page_prefix = random_u64(random) & (((uint64_t)1 << drawn->header.page_bits) - 1);
    for (uint32_t o = 0; o < drawn->header.origin_count && drawn->header.page_prefix % 2 != 0; o++)
        drawn->header.page_beyond[o] = drawn->header.page_prefix << o % 32;
    drawn->header.page_split = drawn->header.kind == MESSAGE_REPLY && random_below(random, 4) == 0;
    drawn->header.has_page = drawn->header.kind != MESSAGE_GOSSIP && random_below(random, 3) != 0;
    draw_asks(random, drawn);
    drawn->number_count = draw_count(random, NUMBERS_MAX);
    draw_spends(random, drawn->number, drawn->number_count);
    draw_parts(random, drawn);
}

struct bytes encode(struct effects *effects, const struct drawn *drawn)
{
    const struct message *header = &drawn->header;
    struct message_writer writer;
    effects_append(effects, "before", 6); /* a message need not be the first in the arena */
    message_begin(&writer, effects, header);
    message_begin_batches(&writer, drawn->batch_count);
    for (uint32_t b = 0; b < drawn->batch_count; b++) {
        size_t before = message_size(&writer);
        message_put_batch(&writer, drawn->batch_origin[b], 0, drawn->batch[b], drawn->depends[b],
                          header->origin_count, drawn->holders[b], &limits);
        assert(message_size(&writer) - before <=
               batch_encoded_max_bytes(drawn->batch[b]->spend_count,
                                       spends_groups(drawn->batch[b]->spend, drawn->batch[b]->spend_count),
                                       header->origin_count) +
                   (size_t)drawn->batch[b]->grant_count * GRANT_ENCODED_MAX_BYTES);
    }
    const struct page_content page = {.prefix = header->page_prefix,
                                      .bits = header->page_bits,
                                      .split = header->page_split,
                                      .owed = header->page_owed,
                                      .numbers = drawn->number,
                                      .number_count = drawn->number_count,
                                      .parts = drawn->parts,
                                      .parts_count = drawn->parts_count,
                                      .beyond = header->page_beyond,
                                      .beyond_count = header->page_prefix % 2 == 0 ? 0 : header->origin_count};
    if (header->ask_count > 0)
        message_end_with_asks(&writer, drawn->ask, header->ask_count);
    else if (!header->has_page)
        message_end(&writer);
    else if (header->kind == MESSAGE_REQUEST)
        message_end_with_request(&writer, header->page_prefix, header->page_bits);
    else
        message_end_with_page(&writer, &page, &limits, 0);
    assert(message_size(&writer) == effects->arena_size - writer.start);
    return (struct bytes){(const char *)effects->arena + writer.start, message_size(&writer)};
}

void forget(struct drawn *drawn)
{
    for (uint32_t b = 0; b < drawn->batch_count; b++)
        batch_destroy(&drawn->batch[b]);
    drawn->batch_count = 0;
}

void init_limits(void)
{
    struct error error;
    struct events *events = events_create(LIMIT_LOG_MAX); /* the limits keep it for as long as the program runs */
    bool valid = events && limit_set_init(&limits, 4, events);
    for (uint64_t i = 0; i < 3; i++)
        valid = valid &&
                limit_set_intern(&limits,
                                 &(struct limit_terms){.capacity = 100 + i, .rate = 100, .period_ns = 1000000000},
                                 &error) == (int)i;
    const struct limit_terms log = {.kind = LIMIT_LOG, .capacity = 100, .period_ns = 1000000000};
    valid = valid && limit_set_intern(&limits, &log, &error) == 3;
    assert(valid);
}
