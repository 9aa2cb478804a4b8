#include "cluster/codec/message.h"

#include "tests/fuzz/message_walk.h"
#include "tests/lib/drawn_message.h"
#include "tests/lib/newer_message.h"
#include "tests/lib/tap.h"

static struct message opened;
static struct effects later;

static bool same_weights(const struct weights_record *x, const struct weights_record *y)
{
    return x->said == y->said && x->keeps == y->keeps && x->heard == y->heard && x->base.number == y->base.number &&
           x->base.maker == y->base.maker && x->newest.number == y->newest.number &&
           x->newest.maker == y->newest.maker && bytes_equal(x->text, y->text);
}

static bool same_life(const struct life_record *x, const struct life_record *y)
{
    return (x->key != NULL) == (y->key != NULL) && x->incarnation == y->incarnation && x->state == y->state &&
           x->config == y->config &&
           (!x->key ||
            (memcmp(x->key, y->key, NODE_KEY_BYTES) == 0 && memcmp(x->proof, y->proof, NODE_PROOF_BYTES) == 0));
}

static bool same_members(const struct message *a, const struct message *b)
{
    bool same = a->member_count == b->member_count;
    for (uint32_t i = 0; same && i < a->member_count; i++) {
        const struct member_record *x = &a->members[i], *y = &b->members[i];
        same = bytes_equal(x->name, y->name) && bytes_equal(x->region, y->region) &&
               bytes_equal(x->gossip_address, y->gossip_address) &&
               bytes_equal(x->snapshot_address, y->snapshot_address) && x->incarnation == y->incarnation &&
               x->retired_incarnation == y->retired_incarnation && x->state == y->state &&
               x->reserved == y->reserved && x->refuses == y->refuses && x->grants == y->grants &&
               x->heeds_uncharged == y->heeds_uncharged && x->uncharged == y->uncharged && x->config == y->config &&
               x->clock_ns == y->clock_ns && x->wall_ms == y->wall_ms && same_weights(&x->weights, &y->weights) &&
               same_life(&x->life, &y->life);
    }
    return same;
}

static bool same_digests(const struct message *a, const struct message *b)
{
    bool same = a->origin_count == b->origin_count && a->row_count == b->row_count;
    for (uint32_t i = 0; same && i < a->origin_count; i++)
        same = a->origins[i].member == b->origins[i].member &&
               a->origins[i].incarnation == b->origins[i].incarnation &&
               a->origins[i].waiting == b->origins[i].waiting;
    for (uint32_t i = 0; same && i < a->row_count; i++) {
        const struct digest_row *x = &a->rows[i], *y = &b->rows[i];
        same = x->member == y->member && x->number == y->number && x->hears == y->hears &&
               bytes_equal(x->statement, y->statement) &&
               memcmp(x->applied, y->applied, a->origin_count * sizeof *x->applied) == 0;
    }
    return same;
}

static bool same_terms(const struct limit_terms *terms, uint16_t limit)
{
    const struct limit_terms expected = limit_terms_of(&limits.limit[limit]);
    return limit_terms_equal(terms, &expected);
}

/* Numbers are written at the time 0. */
static uint64_t live_ns(const struct spend *spend)
{
    return limits.limit[spend->limit].kind == LIMIT_CELL ? spend->expires_ns : 0;
}

/* A page without the field has no parts. */
static bool same_parts(struct number_reader reader, const struct drawn *drawn)
{
    struct number_record record = {0};
    uint32_t log = 0;
    bool same = true;
    while (same && number_next(&reader, &record)) {
        const bool has = record.terms.kind == LIMIT_LOG && drawn->parts_count > 0;
        const struct number_parts none = {0}, *parts = has ? &drawn->parts[log++] : &none;
        same = record.part_count == parts->count;
        for (uint32_t p = 0; p < record.part_count && same; p++) {
            const struct number_part part = number_part(&record, p);
            same = part.left_ns == parts->part[p].left_ns && part.tokens == parts->part[p].tokens;
        }
    }
    return same && log == drawn->parts_count;
}

static bool same_numbers(struct number_reader reader, const struct spend *spends, uint32_t count)
{
    struct number_record record;
    for (uint32_t i = 0; i < count; i++)
        if (!number_next(&reader, &record) || !key_id_equal(record.id, spends[i].id) ||
            record.number != spends[i].tokens || record.returned != spends[i].returned ||
            !same_terms(&record.terms, spends[i].limit) || record.live_ns != live_ns(&spends[i]))
            return false;
    return !number_next(&reader, &record);
}

static bool same_grants(const struct batch_record *record, const struct batch *batch, const uint32_t *holders)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < batch->grant_count; g++) {
        if (holders[g] == NO_HOLDER)
            continue;
        if (count == record->grant_count)
            return false;
        const struct grant_record grant = message_grant(record, count++);
        const struct batch_grant *of = &batch->grant[g];
        if (grant.holder != holders[g] || !key_id_equal(grant.id, of->id) || grant.ask != of->ask ||
            grant.tokens != of->tokens || grant.spare != of->spare)
            return false;
    }
    return count == record->grant_count;
}

static bool same_asks(const struct drawn *drawn)
{
    struct ask_record ask;
    bool same = opened.ask_count == drawn->header.ask_count;
    for (uint32_t i = 0; same && i < opened.ask_count; i++) {
        const struct ask_record *of = &drawn->ask[i];
        same = message_ask(&opened, i, &ask) && key_id_equal(ask.id, of->id) &&
               limit_terms_equal(&ask.terms, &of->terms) && ask.number == of->number && ask.tokens == of->tokens &&
               ask.parts == of->parts && ask.among == of->among && ask.live_ns == of->live_ns &&
               key_id_equal(ask.previous, of->previous) && ask.window_ns == of->window_ns &&
               ask.left_ns == of->left_ns;
    }
    return same;
}

static bool same_batches(const struct drawn *drawn)
{
    static struct batch_record record;
    bool same = opened.batch_count == drawn->batch_count;
    for (uint32_t b = 0; same && b < drawn->batch_count; b++) {
        const struct batch *batch = drawn->batch[b];
        same =
            message_batch(&opened, b, &record) && record.origin == drawn->batch_origin[b] &&
            record.first == batch->first && record.last == batch->last && record.age_ns == 0 &&
            record.open_ns == batch->open_ns && record.merge == batch->merge && record.part == batch->part &&
            record.parts == batch->parts && record.spend_count == batch->spend_count &&
            memcmp(record.depends, drawn->depends[b], drawn->header.origin_count * sizeof *record.depends) == 0 &&
            same_numbers((struct number_reader){.groups = record.groups}, batch->spend, batch->spend_count) &&
            same_grants(&record, batch, drawn->holders[b]);
    }
    return same;
}

static bool same_page(const struct drawn *drawn)
{
    const struct message *header = &drawn->header;
    struct number_reader reader;
    bool has_numbers = message_page(&opened, &reader);
    if (opened.has_page != header->has_page || has_numbers != (header->has_page && header->kind == MESSAGE_REPLY))
        return false;
    if (!header->has_page)
        return true;
    return opened.page_prefix == header->page_prefix && opened.page_bits == header->page_bits &&
           opened.page_split == header->page_split &&
           (header->kind == MESSAGE_REQUEST || memcmp(opened.page_beyond, header->page_beyond,
                                                      header->origin_count * sizeof header->page_beyond[0]) == 0) &&
           (!has_numbers ||
            (same_numbers(reader, drawn->number, drawn->number_count) && same_parts(reader, drawn)));
}

/* Two members of one name are muted together. */
static uint64_t muted_by_name(const struct message *header)
{
    uint64_t muted = 0;
    for (uint32_t i = 0; i < header->member_count; i++)
        for (uint32_t j = 0; j < header->member_count; j++)
            if ((header->muted >> j & 1) != 0 && bytes_equal(header->members[i].name, header->members[j].name))
                muted |= (uint64_t)1 << i;
    return muted;
}

/* The message as a later release would write it, with up to so many fields more in each record. */
static struct bytes with_later_fields(struct bytes bytes, uint32_t more)
{
    static struct random random = {.state = {1, 2, 3, 4}};
    effects_clear(&later);
    newer_append(&later, bytes, &random, more);
    return (struct bytes){(const char *)later.arena, later.arena_size};
}

static void check_round_trips(const char *how, uint32_t later_fields)
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
        if (later_fields > 0)
            bytes = with_later_fields(bytes, 1 + i % later_fields);
        refused += !message_walk(&walk, bytes) || !message_open(&opened, bytes);
        const struct message *header = &drawn.header;
        changed += opened.kind != header->kind || opened.number != header->number ||
                   opened.floor != header->floor || opened.muted != muted_by_name(header) ||
                   opened.sender != header->sender || !same_members(&opened, header) ||
                   !same_digests(&opened, header) || !same_batches(&drawn) || !same_asks(&drawn) ||
                   !same_page(&drawn);
        message_close(&opened);
        forget(&drawn);
    }
    OK_U64(refused, 0, "2,000 random messages%s are understood", how);
    OK_U64(changed, 0, "and say what they said: headers, digests, batches with grants, asks, pages");
    effects_close(&effects);
}

int main(void)
{
    init_limits();
    check_round_trips("", 0);
    effects_init(&later);
    check_round_trips(" of a later release", LATER_FIELDS_MAX);
    effects_close(&later);
    return tap_done();
}
