#include "cluster/effects.h"
#include "cluster/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

static const wide units_max = (wide)1 << 61; /* more than any debt that a bucket holds */

enum {
    ASK_AGAIN_INTERVALS = 4,
    GIVE_UP_INTERVALS = 40,
};

/* ---- asking ---- */

int snapshot_donor(const struct node *node)
{
    int best = -1;
    for (int i = 0; i < NODE_PEERS_MAX; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member) || member->state != PEER_ACTIVE || member->silent || member->mute_in ||
            member->number == 0)
            continue;
        if (best < 0 || member->heard_direct_ns > node->member[best].heard_direct_ns)
            best = i;
    }
    return best;
}

void snapshot_abandon(struct node *node)
{
    node->snapshot.running = false;
    node->snapshot.done = false;
    node->snapshot.page_count = 0;
}

void snapshot_start(struct node *node, uint32_t donor)
{
    struct snapshot *snapshot = &node->snapshot;
    snapshot->running = true;
    snapshot->done = false;
    snapshot->donor = donor;
    snapshot->donor_incarnation = node->member[donor].incarnation;
    snapshot->started_ns = node->now_ns;
    snapshot->asked_ns = 0;
    snapshot->page_count = 0;
    snapshot->todo_count = 1;
    snapshot->todo[0].prefix = 0;
    snapshot->todo[0].bits = 0;
}

static void finish(struct node *node, struct effects *effects);

void snapshot_ask(struct node *node, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    if (snapshot->todo_count == 0) {
        if (tell_some(node)) /* whatever all the parts contain will count as heard */
            finish(node, effects);
        else
            node->step_again = true;
        return;
    }
    const struct member *donor = &node->member[snapshot->donor];
    if (snapshot->asked_ns && node->now_ns - snapshot->asked_ns < ASK_AGAIN_INTERVALS * node->options.interval_ns)
        return;
    if (donor->state != PEER_ACTIVE || donor->silent || donor->incarnation != snapshot->donor_incarnation ||
        node->now_ns - snapshot->started_ns > GIVE_UP_INTERVALS * node->options.interval_ns) {
        snapshot_abandon(node);
        return;
    }
    struct message_writer writer;
    gossip_header(node, MESSAGE_REQUEST);
    message_begin(&writer, effects, &node->header);
    message_begin_batches(&writer, 0);
    message_end_with_request(&writer, snapshot->todo[snapshot->todo_count - 1].prefix,
                             snapshot->todo[snapshot->todo_count - 1].bits);
    emit_message(node, &writer, EFFECT_REQUEST, donor->snapshot_address);
    snapshot->asked_ns = node->now_ns;
}

/* ---- taking ---- */

/* What the donor says a key has left, corrected by what this node knows and the donor did not. */
struct staged {
    struct key_id id;
    uint16_t limit;
    uint64_t expires_ns;
    int64_t settled; /* units at now */
    int64_t later;   /* tokens that others spent and the donor did not know of */
    int64_t own;     /* tokens among them that settling will charge here */
    int64_t untold;  /* own tokens that the donor did not know of */
};

static int by_id(const void *a, const void *b)
{
    const struct staged *x = a, *y = b;
    if (x->id.high != y->id.high)
        return x->id.high < y->id.high ? -1 : 1;
    return x->id.low < y->id.low ? -1 : x->id.low > y->id.low;
}

static int64_t units_of_tokens(const struct limit *limit, int64_t tokens)
{
    uint64_t size = tokens < 0 ? 0 - (uint64_t)tokens : (uint64_t)tokens;
    wide units = (wide)size * (uint64_t)limit->units_per_token;
    int64_t most = (int64_t)(units < units_max ? units : units_max);
    return tokens < 0 ? -most : most;
}

/* a + b, both within 2^62, held within what a bucket may have. */
static int64_t add_units(int64_t a, int64_t b)
{
    int64_t sum = a + b, most = (int64_t)units_max;
    return sum > most ? most : sum < -most ? -most : sum;
}

static uint32_t stage(struct node *node, struct number_reader reader, struct staged *staged, uint32_t room)
{
    struct number_record record;
    uint32_t count = 0;
    uint32_t group = UINT32_MAX;
    int limit = -1;
    while (count < room && number_next(&reader, &record)) {
        if (record.group != group)
            limit = limit_of_terms(node, &record.terms);
        group = record.group;
        if (limit < 0) {
            node->stats.limit_drops++;
            continue;
        }
        if (record.terms.kind == LIMIT_CELL && record.live_ns == 0)
            continue;
        staged[count++] = (struct staged){
            .id = record.id,
            .limit = (uint16_t)limit,
            .expires_ns = record.terms.kind == LIMIT_CELL ? node->now_ns + record.live_ns : 0,
            .settled = bucket_level_of(&node->limits.limit[limit], record.number),
        };
    }
    qsort(staged, count, sizeof *staged, by_id);
    return count;
}

static void correct_key(struct staged *staged, uint32_t count, const struct spend *spend, bool own, bool there)
{
    struct staged key = {.id = spend->id};
    struct staged *found = bsearch(&key, staged, count, sizeof *staged, by_id);
    if (!found)
        return;
    if (own && there) /* what was credited already is not charged again either */
        found->own = add_units(found->own, (int64_t)spend->tokens - (int64_t)spend->credit);
    else if (own)
        found->untold = add_units(found->untold, (int64_t)spend->tokens);
    else if (spend->tokens > spend->returned)
        found->later = add_units(found->later, (int64_t)(spend->tokens - spend->returned));
}

struct stage {
    struct staged *staged;
    uint32_t count;
};

static void correct_untold(void *context, const struct spend *spend)
{
    const struct stage *stage = context;
    correct_key(stage->staged, stage->count, spend, true, false);
}

/*
 * Batches of third peers that are applied here and were not there: charged on top. Own batches that were
 * applied there are still unsettled here: given back, since they will be charged when they settle.
 */
static void correct_stage(struct node *node, const struct page *page, struct staged *staged, uint32_t count)
{
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid)
            continue;
        for (struct list *at = origin->log.next; at != &origin->log; at = at->next) {
            const struct batch *batch = LIST_OWNER(at, const struct batch, link);
            bool there = batch->last <= page->applied[slot], own = slot == node->my_slot;
            for (uint32_t i = 0; i < batch->spend_count && (own || !there); i++)
                correct_key(staged, count, &batch->spend[i], own, there);
        }
    }
    untold_visit(node, correct_untold, &(struct stage){staged, count});
}

struct stage_view {
    const struct staged *staged;
    uint32_t count;
};

static bool is_staged(void *context, const struct entry *entry)
{
    const struct stage_view *view = context;
    struct staged key = {.id = entry->id};
    return bsearch(&key, view->staged, view->count, sizeof *view->staged, by_id) != NULL;
}

/* Units left under `to` of a key that has so many left under `from`: what is used stays used. */
static int64_t level_under(const struct limit *from, const struct limit *to, int64_t level)
{
    if (from == to)
        return level;
    int64_t used = from->capacity_units - level;
    int64_t tokens = used <= 0 ? 0 : (used - 1) / from->units_per_token + 1;
    return add_units(to->capacity_units, -units_of_tokens(to, tokens));
}

/*
 * What settling will charge here of what the donor has charged. A LOG's spends may have ended, here and there, before
 * they settle: what is unsettled now may all be spends that the donor does not know of.
 */
static int64_t own_part(const struct limit *limit, const struct bucket *bucket, const struct staged *staged)
{
    int64_t own = units_of_tokens(limit, staged->own), most = bucket->unsettled;
    if (limit->kind == LIMIT_LOG)
        most -= staged->untold < most ? staged->untold : most;
    return own < most ? own : most;
}

static void merge_stage(struct node *node, const struct staged *staged, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct entry *entry =
            table_obtain(node->table, staged[i].id, staged[i].limit, staged[i].expires_ns, node->now_ns);
        const struct limit *limit = &node->limits.limit[entry->limit];
        struct bucket *bucket = &entry->bucket;
        bucket_refill(bucket, limit, &node->budget[entry->limit], node->now_ns);
        note_peak(node, entry);
        int64_t level = level_under(&node->limits.limit[staged[i].limit], limit, staged[i].settled);
        int64_t own = own_part(limit, bucket, &staged[i]);
        level = add_units(add_units(level, -units_of_tokens(limit, staged[i].later)), own);
        bucket_renew(bucket, limit, (uint64_t)(staged[i].untold + staged[i].later), node->now_ns);
        bucket_lower_level(bucket, limit, level, node->now_ns);
        counters_touch(node, entry);
    }
}

static bool page_digest(const struct node *node, const struct message *reply, const int *member_map,
                        struct page *page)
{
    memset(page->applied, 0, sizeof page->applied);
    for (uint32_t r = 0; r < reply->row_count; r++) {
        if (reply->rows[r].member != reply->sender)
            continue;
        for (uint32_t o = 0; o < reply->origin_count; o++) {
            int member = member_map[reply->origins[o].member];
            int slot = member < 0 ? -1 : origin_find(node, (uint32_t)member, reply->origins[o].incarnation);
            if (slot >= 0)
                page->applied[slot] = reply->rows[r].applied[o];
        }
        return true;
    }
    return false;
}

static void note_retired(struct node *node, const struct message *reply, const int *member_map)
{
    memset(node->snapshot.retired, 0, sizeof node->snapshot.retired);
    for (uint32_t i = 0; i < reply->member_count; i++)
        if (member_map[i] >= 0)
            node->snapshot.retired[member_map[i]] = reply->members[i].retired_incarnation;
}

/*
 * Batches that are applied or settled here, but kept no longer, cannot be charged on top of what the donor says. Where
 * it has them by now, it is asked again.
 */
static bool page_can_be_merged(const struct node *node, const struct page *page)
{
    const struct member *donor = &node->member[node->snapshot.donor];
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        const struct origin *origin = &node->origin[slot];
        bool late = origin->forgotten > page->applied[slot] && donor->known[slot] >= origin->forgotten;
        if (origin->uid && (late || origin->dropped > page->applied[slot]))
            return false;
    }
    return true;
}

static struct page *page_add(struct snapshot *snapshot)
{
    if (snapshot->page_count == PAGES_MAX)
        return NULL;
    if (snapshot->page_count == snapshot->page_room) {
        uint32_t room = snapshot->page_room ? 2 * snapshot->page_room : 4;
        struct page *grown = realloc(snapshot->page, room * sizeof *grown);
        if (!grown)
            return NULL;
        snapshot->page = grown;
        snapshot->page_room = room;
    }
    return &snapshot->page[snapshot->page_count];
}

/* All parts are here: what every part contains counts as applied; the rest follows as ordinary batches. */
static void finish(struct node *node, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot)
            continue;
        uint64_t base = UINT64_MAX;
        for (uint32_t p = 0; p < snapshot->page_count; p++)
            base = snapshot->page[p].applied[slot] < base ? snapshot->page[p].applied[slot] : base;
        if (base > origin->applied && origin->next_part == 0)
            origin->applied = base;
    }
    for (uint32_t member = 0; member < NODE_PEERS_MAX; member++)
        if (node->member[member].used)
            origins_retire(node, member, snapshot->retired[member]);
    snapshot->running = false;
    snapshot->done = true;
    node->snapshot_wanted = false;
    node->stats.snapshots_taken++;
    node->answer_wanted = true;
    snapshot_forget_pages(node);
    (void)inbox_drain(node);
    effects_notice(effects, NOTICE_INFO, "took a snapshot from %s", node->member[snapshot->donor].name);
}

static bool is_expected(const struct node *node, const struct message *reply, const int *member_map)
{
    const struct snapshot *snapshot = &node->snapshot;
    return snapshot->running && member_map[reply->sender] == (int)snapshot->donor &&
           reply->members[reply->sender].incarnation == snapshot->donor_incarnation &&
           reply->page_prefix == snapshot->todo[snapshot->todo_count - 1].prefix &&
           reply->page_bits == snapshot->todo[snapshot->todo_count - 1].bits;
}

/* Something is being applied in parts. */
static bool is_amid_parts(const struct node *node)
{
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++)
        if (node->origin[slot].uid && node->origin[slot].next_part > 0)
            return true;
    return false;
}

void snapshot_take(struct node *node, const struct message *reply, const int *member_map, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    struct number_reader reader;
    if (!is_expected(node, reply, member_map) || !message_page(reply, &reader))
        return;
    if (is_amid_parts(node)) {
        snapshot->asked_ns = 0; /* what is charged here cannot be told apart now */
        return;
    }
    uint64_t prefix = reply->page_prefix;
    uint32_t bits = reply->page_bits;
    snapshot->asked_ns = 0;
    snapshot->started_ns = node->now_ns; /* it makes progress */
    snapshot->todo_count--;
    if (reply->page_split && bits == SNAPSHOT_PREFIX_BITS_MAX) {
        node->stats.messages_invalid++;
        snapshot_abandon(node);
        return;
    }
    if (reply->page_split) {
        for (uint32_t child = 2; child-- > 0;) {
            snapshot->todo[snapshot->todo_count].prefix = 2 * prefix + child;
            snapshot->todo[snapshot->todo_count++].bits = bits + 1;
        }
    } else {
        uint32_t room = (uint32_t)(node->options.message_max_bytes / sizeof(struct key_id)) + 1;
        struct page *page = page_add(snapshot);
        struct staged *staged = calloc(room, sizeof *staged);
        if (!page || !staged || !page_digest(node, reply, member_map, page) || !page_can_be_merged(node, page)) {
            free(staged);
            snapshot_abandon(node);
            return;
        }
        page->prefix = prefix;
        page->bits = bits;
        if (snapshot->page_count == 0)
            note_retired(node, reply, member_map);
        uint32_t count = stage(node, reader, staged, room);
        correct_stage(node, page, staged, count);
        /* What the donor evicted stands in no list: any key that it does not list may be meant. */
        struct stage_view view = {staged, count};
        table_lower(node->table, prefix, bits, &reply->page_owed, node->now_ns, is_staged, &view);
        merge_stage(node, staged, count);
        /* What the donor does not list was full when it said so; it need not have been at earlier spends' time. */
        table_absent_are_full(node->table, node->now_ns);
        snapshot->page_count++;
        free(staged);
    }
    snapshot_ask(node, effects);
}

/* ---- remembering what the parts contained ---- */

static uint64_t page_start(const struct page *page)
{
    return page->bits == 0 ? 0 : page->prefix << (64 - page->bits);
}

bool snapshot_contains(const struct node *node, struct key_id id, uint32_t slot, uint64_t last)
{
    const struct snapshot *snapshot = &node->snapshot;
    uint32_t low = 0, high = snapshot->page_count; /* the last page that starts at or before the id */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (page_start(&snapshot->page[middle]) <= id.high)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    const struct page *page = &snapshot->page[low - 1];
    bool inside = page->bits == 0 || id.high >> (64 - page->bits) == page->prefix;
    return inside && page->applied[slot] >= last;
}

void snapshot_forget_pages(struct node *node)
{
    struct snapshot *snapshot = &node->snapshot;
    if (snapshot->running)
        return;
    for (uint32_t p = 0; p < snapshot->page_count; p++)
        for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++)
            if (node->origin[slot].uid && slot != node->my_slot &&
                snapshot->page[p].applied[slot] > node->origin[slot].applied)
                return;
    snapshot->page_count = 0;
}
