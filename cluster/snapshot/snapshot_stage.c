/*
 * snapshot_stage collects the donor's figures of one part of a snapshot. First come the keys that
 * the part lists. A key that it does not list was full at the donor, with all spends that the donor
 * had charged, or was evicted there. That refill is not there a second time for spends that the
 * donor lacks: so keys of such spends are staged as well (I12 of docs/accounting.md). Only buckets
 * refill; spends of windows, logs and leases are gone from every figure at the same time.
 */
#include "cluster/snapshot/snapshot_stage.h"

#include "base/array.h"
#include "base/number.h"
#include "cluster/apply/pages.h"
#include "cluster/apply/receive.h"
#include "cluster/codec/batch.h"
#include "cluster/state/node_state.h"
#include "limit/kind.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    return key_id_compare(((const struct staged *)a)->id, ((const struct staged *)b)->id);
}

/*
 * Takes over the parts of a log, with times on this node's clock. The time for which the message travelled makes a
 * part end later than at the donor. A spend from before this clock began counts from its begin. No part may be newer
 * than the part before it: one that the donor calls newer counts as that one.
 */
static bool stage_parts(const struct node *node, const struct number_record *record, struct stage *stage,
                        struct staged *staged)
{
    const uint64_t period_ns = node->limits.limit[staged->limit].period_ns;
    uint64_t at_ns = UINT64_MAX;
    if (!ARRAY_RESERVE(stage->part, stage->part_room, stage->part_count + record->part_count))
        return false;
    staged->first_part = stage->part_count;
    staged->part_count = record->part_count;
    for (uint32_t i = 0; i < record->part_count; i++) {
        const struct number_part part = number_part(record, i);
        const uint64_t left_ns = number_least(part.left_ns, period_ns + GRANTED_AHEAD_NS + GRANTED_STEP_NS);
        at_ns = number_least(at_ns, number_minus(node->now_ns + left_ns, period_ns));
        stage->part[stage->part_count++] = (struct events_part){.at_ns = at_ns, .tokens = part.tokens};
    }
    return true;
}

bool stage_page(struct node *node, struct number_reader reader, struct stage *stage)
{
    struct number_record record = {0};
    uint32_t group = UINT32_MAX;
    int limit = -1;
    stage->room = node->options.message_max_bytes / sizeof(struct key_id) + 1;
    stage->staged = calloc(stage->room, sizeof *stage->staged);
    if (!stage->staged)
        return false;
    while (stage->count < stage->room && number_next(&reader, &record)) {
        if (record.group != group)
            limit = limit_of_terms(node, &record.terms);
        group = record.group;
        if (limit < 0) {
            node->stats.limit_drops++;
            stage->some_unknown = true;
            continue;
        }
        if (kind_expires(record.terms.kind) && record.live_ns == 0)
            continue;
        stage->staged[stage->count++] = (struct staged){
            .id = record.id,
            .limit = (uint16_t)limit,
            .expires_ns = kind_expires(record.terms.kind) ? node->now_ns + record.live_ns : 0,
            .settled = bucket_level_of(&node->limits.limit[limit], record.number),
        };
        if (!stage_parts(node, &record, stage, &stage->staged[stage->count - 1])) {
            stage_close(stage);
            return false;
        }
    }
    qsort(stage->staged, stage->count, sizeof *stage->staged, by_id);
    return true;
}

struct staged *stage_find(const struct stage *stage, struct key_id id)
{
    const struct staged key = {.id = id};
    return bsearch(&key, stage->staged, stage->count, sizeof key, by_id);
}

void stage_close(struct stage *stage)
{
    free(stage->staged);
    free(stage->part);
}

/* What stage_unlisted works with: it appends keys behind those of the stage. */
struct unlisted {
    const struct node *node;
    const struct page *page;
    const struct table_owed *owed;
    struct stage *stage;
    uint32_t end; /* as many keys are in stage->staged by now */
};

static void append(struct unlisted *unlisted, const struct spend *spend, const struct limit *limit)
{
    struct stage *stage = unlisted->stage;
    ARRAY_REQUIRE(stage->staged, stage->room, unlisted->end + 1);
    stage->staged[unlisted->end++] = (struct staged){
        .id = spend->id,
        .limit = spend->limit,
        .unlisted = true,
        .settled = bucket_level_before_full(limit, unlisted->owed->refill_ns),
    };
}

static void append_batch(struct unlisted *unlisted, struct batch *batch)
{
    const uint64_t first = page_first(unlisted->page), last = page_last(unlisted->page);
    for (uint32_t i = 0, end; i < batch->spend_count; i = end) {
        end = batch_next_limit(batch, i);
        const struct limit *limit = &unlisted->node->limits.limit[batch->spend[i].limit];
        if (!kind_refills(limit->kind))
            continue;
        for (i = batch_first_from(batch, first, i, end); i < end && batch->spend[i].id.high <= last; i++)
            if (!stage_find(unlisted->stage, batch->spend[i].id))
                append(unlisted, &batch->spend[i], limit);
    }
}

/* A key may have been appended for several batches. */
static void sort_in(struct unlisted *unlisted)
{
    struct stage *stage = unlisted->stage;
    uint32_t kept = 0;
    qsort(stage->staged, unlisted->end, sizeof *stage->staged, by_id);
    for (uint32_t i = 0; i < unlisted->end; i++)
        if (kept == 0 || !key_id_equal(stage->staged[kept - 1].id, stage->staged[i].id))
            stage->staged[kept++] = stage->staged[i];
    stage->count = kept;
}

void stage_unlisted(const struct node *node, const struct page *page, const struct table_owed *owed,
                    struct stage *stage)
{
    struct unlisted unlisted = {.node = node, .page = page, .owed = owed, .stage = stage, .end = stage->count};
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (!origin->uid)
            continue;
        LIST_EACH(struct batch, batch, &origin->log, link)
            if (batch->last > page->applied[slot])
                append_batch(&unlisted, batch);
    }
    stage->some_unlisted = unlisted.end > stage->count;
    if (stage->some_unlisted)
        sort_in(&unlisted);
}
