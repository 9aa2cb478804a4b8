/*
 * message_write writes the bodies of messages about spends straight into the arena of effects;
 * message_read.c reads them. To save bytes, spends of one limit share its terms, ids stand side by
 * side as one string, and each number takes the fewest bytes that hold it.
 */
#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/life.h"
#include "cluster/codec/message.h"
#include "cluster/codec/message_limits.h"
#include "cluster/codec/message_parts.h"
#include "cluster/codec/message_weights.h"
#include "cluster/codec/pack.h"
#include "limit/kind.h"

#include <assert.h>
#include <string.h>

enum {
    /* all but dependencies, groups and grants: 5 numbers of 9 bytes, 3 of 5, the heads of 5 arrays */
    BATCH_HEAD_ENCODED_MAX_BYTES = 80,
    DEPEND_ENCODED_MAX_BYTES = 9,
};

size_t batch_encoded_max_bytes(uint32_t spend_count, uint32_t group_count, uint32_t depend_count)
{
    return BATCH_HEAD_ENCODED_MAX_BYTES + (size_t)depend_count * DEPEND_ENCODED_MAX_BYTES +
           (size_t)group_count * GROUP_ENCODED_MAX_BYTES + (size_t)spend_count * NUMBER_ENCODED_MAX_BYTES;
}

enum { FIELD_CLOCK = 9, FIELD_WALL, FIELD_WEIGHTS, FIELD_LIFE, FIELD_DEMAND, FIELD_LIMITS };

/* How many fields the record has: those that may be missing are written up to the last one that is not. */
static uint32_t fields_of(const struct member_record *member, bool is_sender)
{
    if (is_sender && member->limits.said)
        return FIELD_LIMITS + 1;
    if (is_sender && member->demand.said)
        return FIELD_DEMAND + 1;
    if (member->life.key != NULL)
        return FIELD_LIFE + 1;
    if (is_sender && member->weights.said)
        return FIELD_WEIGHTS + 1;
    return is_sender && member->clock_ns > 0 ? FIELD_WALL + 1 : FIELD_CLOCK;
}

/* One of the fields that may be missing. */
static void pack_field(msgpack_packer *packer, const struct member_record *member, bool is_sender, uint32_t field)
{
    const bool has_clock = is_sender && member->clock_ns > 0;
    if (field == FIELD_CLOCK && has_clock)
        msgpack_pack_uint64(packer, member->clock_ns);
    else if (field == FIELD_WALL && has_clock)
        msgpack_pack_uint64(packer, member->wall_ms);
    else if (field == FIELD_WEIGHTS && is_sender && member->weights.said)
        weights_record_pack(packer, &member->weights);
    else if (field == FIELD_LIFE && member->life.key != NULL)
        life_pack(packer, &member->life);
    else if (field == FIELD_DEMAND && is_sender && member->demand.said)
        demand_record_pack(packer, &member->demand);
    else if (field == FIELD_LIMITS)
        limits_record_pack(packer, &member->limits);
    else
        msgpack_pack_nil(packer);
}

static void pack_members(msgpack_packer *packer, const struct message *header)
{
    msgpack_pack_array(packer, header->member_count);
    for (uint32_t i = 0; i < header->member_count; i++) {
        const struct member_record *member = &header->members[i];
        /* the envelope has the sender's name and incarnation */
        const bool is_sender = i == header->sender;
        const struct bytes none = {0};
        const uint32_t fields = fields_of(member, is_sender);
        msgpack_pack_array(packer, fields);
        pack_text(packer, is_sender ? none : member->name);
        pack_text(packer, member->region);
        pack_text(packer, member->gossip_address);
        pack_text(packer, member->snapshot_address);
        msgpack_pack_uint64(packer, is_sender ? 0 : member->incarnation);
        msgpack_pack_uint64(packer, member->retired_incarnation);
        msgpack_pack_uint64(packer, (uint64_t)member->state);
        msgpack_pack_uint64(packer, (member->reserved ? MEMBER_RESERVED : 0u) |
                                        (member->forgotten ? MEMBER_FORGOTTEN : 0u) |
                                        (member->stored ? MEMBER_STORED : 0u) |
                                        (member->refuses ? MEMBER_REFUSES : 0u) |
                                        (member->grants ? MEMBER_GRANTS : 0u) |
                                        (member->lists_grants ? MEMBER_LISTS_GRANTS : 0u) |
                                        (member->heeds_uncharged ? MEMBER_HEEDS_UNCHARGED : 0u) |
                                        (member->uncharged ? MEMBER_UNCHARGED : 0u) | member->rights);
        msgpack_pack_uint64(packer, member->config);
        for (uint32_t field = FIELD_CLOCK; field < fields; field++)
            pack_field(packer, member, is_sender, field);
    }
}

static void pack_digests(msgpack_packer *packer, const struct message *header)
{
    msgpack_pack_array(packer, header->origin_count);
    for (uint32_t i = 0; i < header->origin_count; i++) {
        msgpack_pack_array(packer, 3);
        msgpack_pack_uint64(packer, header->origins[i].member);
        msgpack_pack_uint64(packer, header->origins[i].incarnation);
        msgpack_pack_uint64(packer, header->origins[i].waiting);
    }
    msgpack_pack_array(packer, header->row_count);
    for (uint32_t i = 0; i < header->row_count; i++) {
        const struct digest_row *row = &header->rows[i];
        msgpack_pack_array(packer, row->statement.size > 0 ? 5 : 4);
        msgpack_pack_uint64(packer, row->member);
        msgpack_pack_uint64(packer, row->number);
        msgpack_pack_uint64(packer, row->hears);
        msgpack_pack_array(packer, header->origin_count);
        for (uint32_t o = 0; o < header->origin_count; o++)
            msgpack_pack_uint64(packer, row->applied[o]);
        if (row->statement.size > 0) {
            msgpack_pack_bin(packer, row->statement.size);
            msgpack_pack_bin_body(packer, row->statement.data, row->statement.size);
        }
    }
}

void message_begin(struct message_writer *writer, struct effects *effects, const struct message *header)
{
    const struct member_record *sender = &header->members[header->sender];
    struct bytes muted[NODE_PEERS_MAX];
    uint32_t muted_count = 0;
    for (uint32_t i = 0; i < header->member_count; i++)
        if ((header->muted >> i & 1) != 0)
            muted[muted_count++] = header->members[i].name;
    const struct envelope_head head = {.kind = header->kind,
                                       .sender = sender->name,
                                       .incarnation = sender->incarnation,
                                       .muted = muted,
                                       .muted_count = muted_count};
    msgpack_packer *packer = &writer->packer;
    writer->effects = effects;
    writer->start = envelope_begin(packer, effects, &head);
    msgpack_pack_array(packer, header->ask_count > 0 ? 8 : 7);
    msgpack_pack_uint64(packer, header->number);
    msgpack_pack_uint64(packer, header->floor);
    pack_members(packer, header);
    pack_digests(packer, header);
}

void message_begin_batches(struct message_writer *writer, uint32_t batch_count)
{
    assert(batch_count <= MESSAGE_BATCHES_MAX);
    msgpack_pack_array(&writer->packer, batch_count);
}

static void pack_terms(msgpack_packer *packer, const struct limit_terms *terms)
{
    msgpack_pack_array(packer, 6);
    msgpack_pack_uint64(packer, terms->kind);
    msgpack_pack_uint64(packer, limit_terms_word(terms));
    msgpack_pack_uint64(packer, terms->capacity);
    msgpack_pack_uint64(packer, terms->rate);
    msgpack_pack_uint64(packer, terms->period_ns);
    msgpack_pack_uint64(packer, terms->overshoot);
}

static void pack_id(msgpack_packer *packer, struct key_id id)
{
    msgpack_pack_bin(packer, sizeof id);
    msgpack_pack_bin_body(packer, &id, sizeof id);
}

/*
 * The remaining life in steps. A cell's life is rounded up, so that it lives too long rather than
 * too short. The life of a return to a log is rounded down, so that peers ignore the return too
 * early rather than too late.
 */
static uint64_t live_steps(const struct spend *spend, const struct limit *limit, uint64_t now_ns)
{
    uint64_t live_ns = number_minus(spend->expires_ns, now_ns);
    uint64_t steps = live_ns / CELL_STEP_NS + (kind_expires(limit->kind) && live_ns % CELL_STEP_NS != 0);
    return steps < CELL_STEPS_MAX ? steps : CELL_STEPS_MAX;
}

/*
 * Writes [terms, ids as one string, [number ...], [returned ...], [steps to live ...]]; the last
 * two may be absent.
 */
static void pack_group(msgpack_packer *packer, const struct spend *spends, uint32_t count,
                       const struct limit *limit, uint64_t now_ns)
{
    struct chunk chunk = {.effects = packer->data, .size = 0};
    bool returned = false;
    for (uint32_t i = 0; i < count; i++)
        returned |= spends[i].returned > 0;
    bool lives = kind_travels_with_end(limit->kind, returned);
    msgpack_pack_array(packer, lives ? 5 : returned ? 4 : 3);
    const struct limit_terms terms = limit_terms_of(limit);
    pack_terms(packer, &terms);
    msgpack_pack_bin(packer, (size_t)count * sizeof(struct key_id));
    for (uint32_t i = 0; i < count; i++)
        chunk_bytes(&chunk, &spends[i].id, sizeof spends[i].id);
    chunk_flush(&chunk);
    msgpack_pack_array(packer, count);
    for (uint32_t i = 0; i < count; i++)
        chunk_number(&chunk, spends[i].tokens);
    chunk_flush(&chunk);
    if (returned || lives)
        msgpack_pack_array(packer, returned ? count : 0);
    for (uint32_t i = 0; i < count && returned; i++)
        chunk_number(&chunk, spends[i].returned);
    chunk_flush(&chunk);
    if (lives)
        msgpack_pack_array(packer, count);
    for (uint32_t i = 0; i < count && lives; i++)
        chunk_number(&chunk, live_steps(&spends[i], limit, now_ns));
    chunk_flush(&chunk);
}

static void pack_groups(msgpack_packer *packer, const struct spend *spends, uint32_t count,
                        const struct limit_set *limits, uint64_t now_ns)
{
    msgpack_pack_array(packer, spends_groups(spends, count));
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && spends[end].limit == spends[i].limit;)
            end++;
        pack_group(packer, spends + i, end - i, &limits->limit[spends[i].limit], now_ns);
    }
}

static void pack_part(msgpack_packer *packer, const struct batch *batch)
{
    if (batch->parts == 0) {
        msgpack_pack_nil(packer);
        return;
    }
    msgpack_pack_array(packer, 3);
    msgpack_pack_uint64(packer, batch->merge);
    msgpack_pack_uint64(packer, batch->part);
    msgpack_pack_uint64(packer, batch->parts);
}

static void pack_grants(msgpack_packer *packer, const struct batch *batch, const uint32_t *holders, uint32_t count)
{
    msgpack_pack_array(packer, count);
    for (uint32_t i = 0; i < batch->grant_count; i++) {
        const struct batch_grant *grant = &batch->grant[i];
        if (holders[i] == NO_HOLDER)
            continue;
        msgpack_pack_array(packer, 5);
        msgpack_pack_uint64(packer, holders[i]);
        pack_id(packer, grant->id);
        msgpack_pack_uint64(packer, grant->ask);
        msgpack_pack_uint64(packer, grant->tokens);
        msgpack_pack_uint64(packer, grant->spare);
    }
}

void message_put_batch(struct message_writer *writer, uint32_t origin, uint64_t now_ns, const struct batch *batch,
                       const uint64_t *depends, uint32_t depend_count, const uint32_t *holders,
                       const struct limit_set *limits)
{
    msgpack_packer *packer = &writer->packer;
    uint32_t grants = 0;
    for (uint32_t i = 0; i < batch->grant_count; i++)
        grants += holders[i] != NO_HOLDER;
    msgpack_pack_array(packer, grants > 0 ? BATCH_GRANTS + 1 : batch->parts > 0 ? BATCH_PART + 1 : BATCH_PART);
    msgpack_pack_uint64(packer, origin);
    msgpack_pack_uint64(packer, batch->first);
    msgpack_pack_uint64(packer, batch->last);
    msgpack_pack_uint64(packer, now_ns - batch->at_ns);
    msgpack_pack_uint64(packer, batch->open_ns);
    msgpack_pack_array(packer, depend_count);
    for (uint32_t i = 0; i < depend_count; i++)
        msgpack_pack_uint64(packer, depends[i]);
    pack_groups(packer, batch->spend, batch->spend_count, limits, now_ns);
    if (grants > 0 || batch->parts > 0)
        pack_part(packer, batch);
    if (grants > 0)
        pack_grants(packer, batch, holders, grants);
}

void message_end(struct message_writer *writer)
{
    msgpack_pack_nil(&writer->packer);
}

/* What only some asks have. */
static void pack_ask_end(msgpack_packer *packer, const struct ask_record *ask)
{
    if (ask->window_ns > 0) {
        msgpack_pack_array(packer, 3);
        pack_id(packer, ask->previous);
        msgpack_pack_uint64(packer, ask->window_ns);
        msgpack_pack_uint64(packer, ask->left_ns);
    } else if (ask->whole) {
        msgpack_pack_nil(packer);
        msgpack_pack_true(packer);
    }
}

void message_end_with_asks(struct message_writer *writer, const struct ask_record *asks, uint32_t count)
{
    msgpack_packer *packer = &writer->packer;
    message_end(writer);
    msgpack_pack_array(packer, count);
    for (uint32_t i = 0; i < count; i++) {
        msgpack_pack_array(packer, asks[i].window_ns > 0 ? 8 : asks[i].whole ? 9 : 7);
        pack_id(packer, asks[i].id);
        pack_terms(packer, &asks[i].terms);
        msgpack_pack_uint64(packer, asks[i].number);
        msgpack_pack_uint64(packer, asks[i].tokens);
        msgpack_pack_uint64(packer, asks[i].parts);
        msgpack_pack_uint64(packer, asks[i].among);
        uint64_t steps = asks[i].live_ns / CELL_STEP_NS + (asks[i].live_ns % CELL_STEP_NS != 0);
        msgpack_pack_uint64(packer, steps < CELL_STEPS_MAX ? steps : CELL_STEPS_MAX);
        pack_ask_end(packer, &asks[i]);
    }
}

void message_end_with_request(struct message_writer *writer, uint64_t prefix, uint32_t bits)
{
    msgpack_pack_array(&writer->packer, 2);
    msgpack_pack_uint64(&writer->packer, prefix);
    msgpack_pack_uint64(&writer->packer, bits);
}

void message_end_with_page(struct message_writer *writer, const struct page_content *page,
                           const struct limit_set *limits, uint64_t now_ns)
{
    msgpack_packer *packer = &writer->packer;
    msgpack_pack_array(packer, page->parts_count > 0 ? 7 : page->beyond_count > 0 ? 6 : 5);
    msgpack_pack_uint64(packer, page->prefix);
    msgpack_pack_uint64(packer, page->bits);
    msgpack_pack_uint64(packer, page->split);
    msgpack_pack_array(packer, 3);
    msgpack_pack_uint64(packer, page->owed.refill_ns);
    msgpack_pack_uint64(packer, page->owed.window_ns);
    msgpack_pack_uint64(packer, page->owed.window_used);
    pack_groups(packer, page->numbers, page->number_count, limits, now_ns);
    if (page->beyond_count == 0 && page->parts_count == 0)
        return;
    msgpack_pack_array(packer, page->beyond_count);
    for (uint32_t o = 0; o < page->beyond_count; o++)
        msgpack_pack_uint64(packer, page->beyond[o]);
    if (page->parts_count > 0)
        parts_pack(packer, page->parts, page->parts_count);
}

size_t message_size(const struct message_writer *writer)
{
    return writer->effects->arena_size - writer->start;
}
