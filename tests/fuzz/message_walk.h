/*
 * message_walk: reads all that a peer's message claims to hold, and asserts that it stays within the message.
 *
 * The one idea: whatever the bytes are, decoding either refuses them or yields views and counts that the
 * bytes can account for. Bytes should stand in memory of their exact size, so that reading beyond shows.
 */
#ifndef HEADGATE_TESTS_FUZZ_MESSAGE_WALK_H
#define HEADGATE_TESTS_FUZZ_MESSAGE_WALK_H

#include "cluster/codec/message.h"
#include "cluster/codec/statement.h"
#include "tests/lib/opened_message.h"

#include <assert.h>

struct message_walk {
    uint32_t batches, malformed_batches, grants, asks, malformed_asks;
    uint64_t numbers; /* of batches and pages */
    uint64_t hash;
};

static inline void walk_hash(struct message_walk *walk, uint64_t value)
{
    walk->hash = (walk->hash ^ value) * 0x100000001b3u;
}

static inline void walk_text(struct bytes text, struct bytes all, size_t room)
{
    assert(text.size < room);
    assert(text.data >= all.data && text.data + text.size <= all.data + all.size);
    for (size_t i = 0; i < text.size; i++)
        assert((unsigned char)text.data[i] > ' ');
}

static inline uint64_t walk_numbers(struct message_walk *walk, struct number_reader reader)
{
    struct number_record record;
    uint64_t count = 0;
    while (number_next(&reader, &record)) {
        walk_hash(walk, record.id.high ^ record.id.low);
        walk_hash(walk, record.number ^ record.returned ^ record.live_ns);
        walk_hash(walk, record.terms.kind + record.terms.capacity);
        assert(record.terms.kind < LIMIT_KINDS && record.live_ns <= CELL_STEPS_MAX * CELL_STEP_NS);
        count++;
    }
    walk->numbers += count;
    return count;
}

static inline void walk_statement(struct bytes bytes, struct bytes all)
{
    static struct statement statement;
    assert(bytes.size <= STATEMENT_MAX_BYTES);
    assert(bytes.size == 0 || (bytes.data >= all.data && bytes.data + bytes.size <= all.data + all.size));
    if (!statement_read(&statement, bytes))
        return;
    assert(statement.member_count <= NODE_PEERS_MAX && statement.origin_count <= ORIGINS_MAX);
    for (uint32_t o = 0; o < statement.origin_count; o++)
        assert(statement.origins[o].member < statement.member_count);
}

static inline void walk_header(const struct message *message, struct bytes all)
{
    assert(message->member_count >= 1 && message->member_count <= NODE_PEERS_MAX);
    assert(message->origin_count <= ORIGINS_MAX && message->row_count <= NODE_PEERS_MAX);
    assert(message->sender < message->member_count && message->batch_count <= all.size);
    for (uint32_t i = 0; i < message->member_count; i++) {
        const struct member_record *member = &message->members[i];
        walk_text(member->name, all, NODE_NAME_BYTES);
        walk_text(member->region, all, NODE_NAME_BYTES);
        walk_text(member->gossip_address, all, NODE_ADDRESS_BYTES);
        walk_text(member->snapshot_address, all, NODE_ADDRESS_BYTES);
        assert(member->name.size > 0 && member->region.size > 0);
        assert(member->state == PEER_JOINING || member->state == PEER_ACTIVE || member->state == PEER_LEFT);
    }
    for (uint32_t i = 0; i < message->origin_count; i++)
        assert(message->origins[i].member < message->member_count);
    for (uint32_t i = 0; i < message->row_count; i++) {
        assert(message->rows[i].member < message->member_count);
        walk_statement(message->rows[i].statement, all);
    }
    if (message->has_page) {
        assert(message->kind != MESSAGE_GOSSIP && message->page_bits <= 32);
        assert(message->page_prefix >> message->page_bits == 0);
    }
}

static inline void walk_batches(struct message_walk *walk, const struct message *message)
{
    static struct batch_record record;
    for (uint32_t i = 0; i < message->batch_count; i++) {
        walk->batches++;
        if (!message_batch(message, i, &record)) {
            walk->malformed_batches++;
            continue;
        }
        assert(record.origin < message->origin_count && record.first >= 1 && record.first <= record.last);
        walk_hash(walk, record.first ^ record.last ^ record.age_ns);
        uint64_t count = walk_numbers(walk, (struct number_reader){.groups = record.groups});
        assert(count == record.spend_count);
        for (uint32_t g = 0; g < record.grant_count; g++) {
            const struct grant_record grant = message_grant(&record, g);
            assert(grant.holder < message->origin_count && grant.tokens >= 1 && grant.spare >> SPARE_BITS == 0);
            walk_hash(walk, grant.id.high ^ grant.id.low ^ grant.ask ^ grant.tokens ^ grant.spare);
        }
        assert(record.grant_count <= BATCH_GRANTS_MAX);
        walk->grants += record.grant_count;
    }
}

static inline void walk_asks(struct message_walk *walk, const struct message *message)
{
    struct ask_record ask;
    assert(message->ask_count <= MESSAGE_ASKS_MAX);
    for (uint32_t i = 0; i < message->ask_count; i++) {
        walk->asks++;
        if (!message_ask(message, i, &ask)) {
            walk->malformed_asks++;
            continue;
        }
        assert(ask.terms.kind < LIMIT_KINDS && ask.parts >> SPARE_BITS == 0);
        assert(ask.among >= 1 && ask.among <= SHARE_ONE && ask.live_ns <= CELL_STEPS_MAX * CELL_STEP_NS);
        assert(ask.left_ns <= ask.window_ns && (ask.window_ns == 0 || ask.terms.kind == LIMIT_CELL));
        walk_hash(walk, ask.id.high ^ ask.id.low ^ ask.number ^ ask.tokens ^ ask.parts ^ ask.live_ns);
        walk_hash(walk, ask.previous.high ^ ask.previous.low ^ ask.window_ns ^ ask.left_ns);
    }
}

/* False if the message is refused. */
static inline bool message_walk(struct message_walk *walk, struct bytes bytes)
{
    static struct message message;
    struct number_reader reader;
    *walk = (struct message_walk){.hash = 0xcbf29ce484222325u};
    if (!message_open(&message, bytes))
        return false;
    walk_header(&message, bytes);
    walk_batches(walk, &message);
    walk_asks(walk, &message);
    if (message_page(&message, &reader))
        (void)walk_numbers(walk, reader);
    assert(walk->numbers * (sizeof(struct key_id) + 1) <= bytes.size);
    message_close(&message);
    return true;
}

#endif
