/*
 * batch_hash hashes a batch group by group, in the order of the groups' terms, since limits have other places at each
 * member. Spends of one group are sorted by their ids everywhere.
 */
#include "cluster/codec/batch_hash.h"

#include "cluster/codec/batch.h"
#include "limit/limit.h"

#include <stdlib.h>
#include <string.h>

enum { TERMS = 6, PIECE_BYTES = 2048, U64_BYTES = 8 };

struct group {
    uint64_t terms[TERMS];
    uint32_t from, end;
};

/* Numbers, the highest byte first, that are hashed a piece at a time. */
struct piece {
    uint8_t *hash;
    size_t size;
    uint8_t bytes[PIECE_BYTES];
};

static void flush(struct piece *piece)
{
    hash_text(piece->hash, piece->bytes, piece->size);
    piece->size = 0;
}

static void put(struct piece *piece, uint64_t number)
{
    if (piece->size + U64_BYTES > sizeof piece->bytes)
        flush(piece);
    for (unsigned shift = 64; shift > 0;) {
        shift -= 8;
        piece->bytes[piece->size++] = (uint8_t)(number >> shift);
    }
}

static struct group group_at(const struct batch *batch, const struct limit_set *limits, uint32_t from)
{
    const struct limit_terms terms = limit_terms_of(&limits->limit[batch->spend[from].limit]);
    return (struct group){.terms = {terms.kind, limit_terms_word(&terms), terms.capacity, terms.rate,
                                    terms.period_ns, terms.overshoot},
                          .from = from,
                          .end = batch_next_limit(batch, from)};
}

static int group_compare(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    for (unsigned i = 0; i < TERMS; i++)
        if (x->terms[i] != y->terms[i])
            return x->terms[i] < y->terms[i] ? -1 : 1;
    return 0;
}

static void put_group(struct piece *piece, const struct batch *batch, const struct group *group)
{
    for (unsigned i = 0; i < TERMS; i++)
        put(piece, group->terms[i]);
    put(piece, group->end - group->from);
    for (uint32_t i = group->from; i < group->end; i++) {
        const struct spend *spend = &batch->spend[i];
        put(piece, spend->id.high);
        put(piece, spend->id.low);
        put(piece, spend->tokens);
        put(piece, spend->returned);
    }
}

/* Eight bytes in a number, behind their count. */
static void put_text(struct piece *piece, struct bytes text)
{
    put(piece, text.size);
    for (size_t from = 0; from < text.size; from += U64_BYTES) {
        uint64_t number = 0;
        for (size_t i = from; i < from + U64_BYTES; i++)
            number = number << 8 | (i < text.size ? (uint8_t)text.data[i] : 0);
        put(piece, number);
    }
}

/* A number that is first in no batch stands in front: no batch without grants has the hash of one with them. */
static void put_grants(struct piece *piece, const struct batch *batch, const struct batch_holder *holders)
{
    uint64_t count = 0;
    for (uint32_t g = 0; g < batch->grant_count; g++)
        count += holders[g].name.size > 0;
    put(piece, UINT64_MAX);
    put(piece, count);
    for (uint32_t g = 0; g < batch->grant_count; g++) {
        const struct batch_grant *grant = &batch->grant[g];
        if (holders[g].name.size == 0)
            continue;
        put_text(piece, holders[g].name);
        put(piece, holders[g].incarnation);
        put(piece, grant->id.high);
        put(piece, grant->id.low);
        put(piece, grant->ask);
        put(piece, grant->tokens);
        put(piece, grant->spare);
    }
}

void batch_hash_granting(const struct batch *batch, const struct limit_set *limits,
                         const struct batch_holder *holders, uint8_t hash[TEXT_HASH_BYTES])
{
    struct piece piece = {.hash = hash, .size = 0};
    const uint32_t count = spends_groups(batch->spend, batch->spend_count);
    struct group *groups = calloc((size_t)count + 1, sizeof *groups);
    memset(hash, 0, TEXT_HASH_BYTES);
    if (!groups)
        return;
    for (uint32_t g = 0, from = 0; g < count; from = groups[g++].end)
        groups[g] = group_at(batch, limits, from);
    qsort(groups, count, sizeof *groups, group_compare);
    if (holders)
        put_grants(&piece, batch, holders);
    put(&piece, batch->first);
    put(&piece, batch->last);
    put(&piece, batch->merge);
    put(&piece, batch->part);
    put(&piece, batch->parts);
    for (uint32_t g = 0; g < count; g++)
        put_group(&piece, batch, &groups[g]);
    flush(&piece);
    free(groups);
}

void batch_hash(const struct batch *batch, const struct limit_set *limits, uint8_t hash[TEXT_HASH_BYTES])
{
    batch_hash_granting(batch, limits, NULL, hash);
}
